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

// interact runs a session at a terminal.
func (s *session) interact(ctx context.Context, t lineReader) error {
	fmt.Fprintln(s.err, `spiced SQL: statements end with a semicolon. \? for help, \q to quit.`)
	pending := newSplitter()
	for {
		p := prompt
		if !pending.idle() {
			p = promptContinue
		}
		line, err := t.ReadLine(ctx, p)
		switch {
		case errors.Is(err, errAborted):
			pending = newSplitter()
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.err)
			return nil
		case err != nil:
			return err
		}
		if err := s.enter(ctx, t, pending, line); errors.Is(err, errQuit) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// enter runs one line of the terminal. The only error it returns is errQuit.
func (s *session) enter(ctx context.Context, t lineReader, pending *splitter, line string) error {
	idle := pending.idle()
	if command, ok := plainWord(line); ok && idle {
		line = command
	}
	if isCommand(line) && idle {
		t.Remember(line)
		return s.attempt(ctx, func(ctx context.Context) error { return s.command(ctx, line) })
	}
	if err := pending.add(line); err != nil {
		s.report(err)
		*pending = *newSplitter()
		return nil
	}
	for _, st := range pending.take() {
		t.Remember(st.typed)
		err := s.attempt(ctx, func(ctx context.Context) error {
			return s.run(ctx, "", []statement{{SQL: st.SQL}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attempt calls do, which Ctrl-C cancels, and prints the error.
func (s *session) attempt(ctx context.Context, do func(context.Context) error) error {
	running, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := do(running)
	switch {
	case err == nil || errors.Is(err, errQuit):
		return err
	case running.Err() != nil:
		fmt.Fprintln(s.err, "\ncancelled")
	default:
		s.report(err)
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
