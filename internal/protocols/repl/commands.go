package repl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// command is a command of the session.
type command struct {
	name    string
	aliases []string
	args    string // as listed by \?
	help    string
	run     func(s *session, ctx context.Context, arg string) error
}

// commands lists the commands in the order of \?. It is a function because \?
// itself reads the list.
func commands() []command {
	return []command{
		{`\d`, []string{".schema"}, "[NAME]", "list tables and views, or describe one", (*session).describe},
		{`\dt`, []string{".tables"}, "[PATTERN]", "list tables and views", (*session).listTables},
		{`\dv`, nil, "[PATTERN]", "list views", (*session).listViews},
		{`\df`, []string{".functions"}, "[PATTERN]", "list functions", (*session).listFunctions},
		{`\df+`, nil, "[PATTERN]", "list functions with volatility, file and line", (*session).listFunctionsMore},
		{`\sf`, nil, "NAME", "show the definition of a function", (*session).showFunction},
		{`\e`, []string{".edit"}, "", "edit the last statement with $VISUAL or $EDITOR, and run it", (*session).edit},
		{`\o`, []string{".mode"}, "[FORMAT]", "show or set the output: " + strings.Join(formats, ", "), (*session).setFormat},
		{`\x`, nil, "[on|off]", "print one line for each value", func(s *session, _ context.Context, arg string) error {
			return s.toggle("expanded output", &s.expanded, arg)
		}},
		{`\pager`, nil, "[on|off]", "show long results with $PAGER", (*session).setPager},
		{`\timing`, []string{".timer"}, "[on|off]", "print how long statements take", (*session).setTiming},
		{`\i`, []string{".read"}, "FILE", "run a script", (*session).include},
		{`\?`, []string{`\h`, ".help"}, "", "this list", (*session).help},
		{`\q`, []string{".quit", ".exit"}, "", "leave", func(*session, context.Context, string) error { return errQuit }},
	}
}

// commandNames are the names and aliases of all commands.
func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(append(names, c.name), c.aliases...)
	}
	return names
}

// isCommand reports whether a line is a command: no SQL starts like one.
func isCommand(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, `\`) ||
		len(line) > 1 && line[0] == '.' && 'a' <= line[1]|0x20 && line[1]|0x20 <= 'z'
}

// command runs one command line.
func (s *session) command(ctx context.Context, line string) error {
	name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	name = strings.TrimSuffix(name, ";")
	arg = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(arg), ";"))
	for _, c := range commands() {
		if name == c.name || slices.Contains(c.aliases, name) {
			return c.run(s, ctx, arg)
		}
	}
	hint := `\? lists the commands`
	if near := nearest.Name(name, commandNames()); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Errorf("unknown command %s (%s)", printable(name), hint)
}

func (s *session) help(context.Context, string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", c.name, c.args, c.help, strings.Join(c.aliases, " "))
	}
	return w.Flush()
}

func (s *session) setFormat(_ context.Context, arg string) error {
	if arg == "" {
		fmt.Fprintf(s.err, "output is %s\n", s.format)
		return nil
	}
	f, err := parseFormat(arg)
	if err != nil {
		return err
	}
	s.format = f
	return nil
}

func (s *session) setTiming(_ context.Context, arg string) error {
	return s.toggle("timing", &s.timing, arg)
}

func (s *session) setPager(_ context.Context, arg string) error {
	on := s.pager != ""
	if err := s.toggle("pager", &on, arg); err != nil {
		return err
	}
	if s.pager = ""; on {
		s.pager = Pager()
	}
	return nil
}

// Pager returns the user's command for long results.
func Pager() string { return cmp.Or(os.Getenv("PAGER"), "less -S -R -F -X") }

// toggle changes a setting to arg, or to its opposite if arg is "".
func (s *session) toggle(name string, setting *bool, arg string) error {
	switch strings.ToLower(arg) {
	case "":
		*setting = !*setting
	case "on":
		*setting = true
	case "off":
		*setting = false
	default:
		return fmt.Errorf("%s must be on or off, got %q", name, arg)
	}
	state := "off"
	if *setting {
		state = "on"
	}
	fmt.Fprintf(s.err, "%s is %s\n", name, state)
	return nil
}

// edit opens the last statement in the user's editor and runs what was saved.
func (s *session) edit(ctx context.Context, _ string) error {
	file, err := os.CreateTemp("", "spiced-*.sql")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(s.last + ";\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	run := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file.Name())
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return fmt.Errorf("the editor %q failed: %w", editor, err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	return s.script(ctx, "", bytes.NewReader(text))
}

func (s *session) include(ctx context.Context, arg string) error {
	if arg == "" {
		return errors.New(`\i takes a file`)
	}
	if s.depth >= maxInclude {
		return fmt.Errorf("scripts include each other more than %d deep", maxInclude)
	}
	file, err := os.Open(arg)
	if err != nil {
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("cannot read %q: %w", arg, err)
	}
	defer file.Close()
	s.depth++
	defer func() { s.depth-- }()
	return s.script(ctx, arg, file)
}
