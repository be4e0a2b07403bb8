package repl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
		{`\df`, []string{".functions"}, "[PATTERN]", "list functions", (*session).listFunctions},
		{`\o`, []string{".mode"}, "[FORMAT]", "show or set the output: " + strings.Join(formats, ", "), (*session).setFormat},
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
	switch strings.ToLower(arg) {
	case "":
		s.timing = !s.timing
	case "on":
		s.timing = true
	case "off":
		s.timing = false
	default:
		return fmt.Errorf(`\timing takes on or off, not %q`, arg)
	}
	state := "off"
	if s.timing {
		state = "on"
	}
	fmt.Fprintf(s.err, "timing is %s\n", state)
	return nil
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
