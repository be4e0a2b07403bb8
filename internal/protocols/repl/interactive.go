package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

// Prompts for a new statement and for continuation lines.
const (
	prompt         = "spiced> "
	promptContinue = "    -> "
)

// lineReader reads lines from a terminal.
type lineReader interface {
	// ReadLine returns io.EOF after Ctrl-D and errAborted after Ctrl-C.
	ReadLine(ctx context.Context, prompt string) (string, error)
	// Remember adds a statement or command to the history.
	Remember(text string)
}

// errAborted means that Ctrl-C ended a prompt.
var errAborted = errors.New("aborted")

// loop runs the lines of a terminal with enter until the input ends or enter returns
// errQuit, the only error that it returns. aborted is called after Ctrl-C at the prompt.
func loop(ctx context.Context, t lineReader, notes io.Writer, prompt func() string, aborted func(),
	enter func(line string) error,
) error {
	for {
		line, err := t.ReadLine(ctx, prompt())
		switch {
		case errors.Is(err, errAborted):
			aborted()
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(notes)
			return nil
		case err != nil:
			return err
		}
		if err := enter(line); errors.Is(err, errQuit) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// attempt calls do, which Ctrl-C cancels, and reports an error. The only error it
// returns is errQuit.
func attempt(ctx context.Context, notes io.Writer, report func(error), do func(context.Context) error) error {
	running, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := do(running)
	switch {
	case err == nil || errors.Is(err, errQuit):
		return err
	case running.Err() != nil:
		fmt.Fprintln(notes, "\ncancelled")
	default:
		report(err)
	}
	return nil
}

// interact runs a session at a terminal.
func (s *session) interact(ctx context.Context, t lineReader) error {
	fmt.Fprintln(s.err, `spiced SQL: statements end with a semicolon. \? for help, \q to quit.`)
	pending := newSplitter()
	current := func() string {
		if pending.idle() {
			return prompt
		}
		return promptContinue
	}
	return loop(ctx, t, s.err, current, func() {
		pending = newSplitter()
	}, func(line string) error { return s.enter(ctx, t, pending, line) })
}

// enter runs one line of the terminal. The only error it returns is errQuit.
func (s *session) enter(ctx context.Context, t lineReader, pending *splitter, line string) error {
	idle := pending.idle()
	if command, ok := plainWord(line); ok && idle {
		line = command
	}
	if isCommand(line) && idle {
		t.Remember(line)
		return attempt(ctx, s.err, s.report, func(ctx context.Context) error { return s.command(ctx, line) })
	}
	if err := pending.add(line); err != nil {
		s.report(err)
		*pending = *newSplitter()
		return nil
	}
	for _, st := range pending.take() {
		t.Remember(st.typed)
		err := attempt(ctx, s.err, s.report, func(ctx context.Context) error {
			return s.run(ctx, "", []statement{{SQL: st.SQL}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) report(err error) {
	if failed := (*StatementError)(nil); errors.As(err, &failed) {
		failed.WriteText(s.err)
		return
	}
	fmt.Fprintf(s.err, "error: %s\n", printable(err.Error()))
}

// plainWord is the command for exit, quit and help typed alone.
func plainWord(line string) (string, bool) {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "exit", "quit", "exit;", "quit;":
		return `\q`, true
	case "help", "help;":
		return `\?`, true
	}
	return "", false
}
