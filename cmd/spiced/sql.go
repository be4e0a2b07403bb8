package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/spiced-sql/spiced/internal/protocols/repl"
)

// sqlFlags are the flags of `spiced sql`.
type sqlFlags struct {
	connection
	command, output string
	timing          bool
}

func newSQL(std streams) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql [DIR|FILE]",
		Short: "Query a Spicepod from a terminal or a script",
		Long:  "Load the Spicepod in DIR, by default this folder, or connect to a running spiced with --url.\nStatements come from the terminal, from -c, or from standard input. \\? lists the commands of the terminal.",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", f.output, "table", "csv", "json", "ndjson"); err != nil {
				return err
			}
			if err := f.check(args); err != nil {
				return err
			}
			return runSQL(cmd.Context(), std, podPath(args), f, cmd.Flags().Changed("command"))
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringVarP(&f.command, "command", "c", "", "run these statements and exit")
	flags.StringVarP(&f.output, "output", "o", "table", "table, csv, json or ndjson")
	flags.BoolVar(&f.timing, "timing", false, "print how long each statement took")
	return cmd
}

func runSQL(ctx context.Context, std streams, path string, f sqlFlags, once bool) error {
	opts, end, err := f.open(ctx, std, path)
	if err != nil {
		return err
	}
	defer end()
	opts.Format, opts.Timing = f.output, f.timing
	if once {
		err = repl.Exec(ctx, opts, f.command)
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

// onTerminal prepares o for a person, if the input is a terminal: the history is in the
// home folder, and Ctrl-C cancels a statement or an answer and not the program.
func onTerminal(ctx context.Context, std streams, o *repl.Options, history string) (context.Context, context.CancelFunc) {
	in, ok := std.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return ctx, func() {}
	}
	o.Interactive = true
	if home, err := os.UserHomeDir(); err == nil {
		o.History = filepath.Join(home, history)
	}
	return signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
}
