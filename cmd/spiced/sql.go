package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/spiced-sql/spiced/internal/protocols/repl"
)

// sqlFlags are the flags of `spiced sql`.
type sqlFlags struct {
	connection
	sources       []repl.Source
	output        string
	csv, expanded bool
	timing        bool
}

// sourceFlag is -c or -f, which may be repeated and mixed: they run in order.
type sourceFlag struct {
	kind    string
	sources *[]repl.Source
}

// Set adds a script.
func (f sourceFlag) Set(text string) error {
	source := repl.Source{Text: text}
	if f.kind == "file" {
		if text == "" {
			return errors.New("want a file, or - for the standard input")
		}
		source = repl.Source{File: text}
	}
	*f.sources = append(*f.sources, source)
	return nil
}

// String is the default.
func (f sourceFlag) String() string { return "" }

// Type is the kind of value that help shows.
func (f sourceFlag) Type() string { return f.kind }

func newSQL(std streams) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql [DIR|FILE]",
		Short: "Query a Spicepod from a terminal or a script",
		Long: "Load the Spicepod in DIR, by default this folder, or connect to a running spiced with --url.\nStatements " +
			"come from -c and -f, in their order, else from the terminal or standard input. \\? lists the commands " +
			"of the terminal.",
		Example: `  spiced sql -c '\dt' -c 'SELECT * FROM airports LIMIT 3' examples/quickstart
  spiced sql --url localhost:8090 -f report.sql --csv`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", f.output, repl.Formats()...); err != nil {
				return err
			}
			if f.csv {
				f.output = "csv"
			}
			if err := f.check(args); err != nil {
				return err
			}
			return runSQL(cmd.Context(), std, podPath(args), f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.VarP(sourceFlag{"statements", &f.sources}, "command", "c", "run these statements and exit; may be repeated")
	flags.VarP(sourceFlag{"file", &f.sources}, "file",
		"f", "run the statements of this file and exit; - is the standard input; may be repeated")
	flags.StringVarP(&f.output, "output", "o", "table", strings.Join(repl.Formats(), ", "))
	flags.BoolVar(&f.csv, "csv", false, "the same as -o csv")
	flags.BoolVarP(&f.expanded, "expanded", "x", false, "print one line for each value")
	flags.BoolVar(&f.timing, "timing", false, "print how long each statement took")
	return cmd
}

func runSQL(ctx context.Context, std streams, path string, f sqlFlags) error {
	opts, end, err := f.open(ctx, std, path)
	if err != nil {
		return err
	}
	defer end()
	opts.Format, opts.Timing, opts.Expanded = f.output, f.timing, f.expanded
	opts.Size = terminalSize(std.out)
	if len(f.sources) > 0 {
		err = repl.Exec(ctx, opts, f.sources...)
	} else {
		ctx, stop := onTerminal(ctx, std, &opts, ".spiced_history")
		defer stop()
		err = repl.Run(ctx, opts)
	}
	var failed *repl.StatementError
	if errors.As(err, &failed) {
		failed.WriteText(std.err)
		return shownError{err}
	}
	return err
}

// terminalSize returns the size of the terminal w; nil if w is something else.
func terminalSize(w io.Writer) func() (width, height int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (width, height int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return width, height
	}
}

// onTerminal prepares o for a person, if the input is a terminal: the history is in the
// home folder, and Ctrl-C cancels a statement or an answer and not the program.
func onTerminal(ctx context.Context, std streams, o *repl.Options,
	history string,
) (context.Context, context.CancelFunc) {
	in, ok := std.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return ctx, func() {}
	}
	o.Interactive, o.Pager = true, repl.Pager()
	if home, err := os.UserHomeDir(); err == nil {
		o.History = filepath.Join(home, history)
	}
	return signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
}
