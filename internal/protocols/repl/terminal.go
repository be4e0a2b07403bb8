package repl

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"

	"github.com/peterh/liner"
)

// terminal reads lines with editing, history and completion.
//
// Where liner cannot edit (TERM=dumb, a terminal too narrow for the prompt or of unknown width),
// it reads whole lines and Ctrl-C is a signal. A read cannot be cancelled, so that one outlives
// the prompt that the signal ends, and its line answers the next prompt: a second read would
// compete with it for the lines.
type terminal struct {
	prompt  func(string) (string, error) // shows a prompt and reads a line
	notes   io.Writer                    // where a prompt is shown while the read of another one goes on
	reading chan typedLine               // of the read that goes on; nil: none does
	state   *liner.State
	history *history
}

var _ lineReader = (*terminal)(nil)

// typedLine is how a read ended.
type typedLine struct {
	line string
	err  error
}

func newTerminal(h *history, complete liner.WordCompleter) *terminal {
	state := liner.NewLiner()
	state.SetCtrlCAborts(true)
	state.SetTabCompletionStyle(liner.TabPrints)
	state.SetWordCompleter(complete)
	for _, entry := range h.entries {
		state.AppendHistory(entry)
	}
	return &terminal{prompt: state.Prompt, notes: os.Stdout, state: state, history: h} // liner writes there too
}

// ReadLine reads one line.
func (t *terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	interrupted, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if t.reading == nil {
		lines := make(chan typedLine, 1)
		t.reading = lines
		go func() {
			line, err := t.prompt(prompt)
			lines <- typedLine{line, err}
		}()
	} else if _, err := io.WriteString(t.notes, "\n"+prompt); err != nil {
		return "", err
	}
	select {
	case got := <-t.reading:
		t.reading = nil
		switch {
		case errors.Is(got.err, liner.ErrPromptAborted):
			return "", errAborted
		case errors.Is(got.err, io.EOF):
			return "", io.EOF
		}
		return got.line, got.err
	case <-interrupted.Done():
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", errAborted
	}
}

// Remember adds a statement to the history.
func (t *terminal) Remember(text string) {
	if line := t.history.add(text); line != "" {
		t.state.AppendHistory(line)
	}
}

// Close restores the terminal.
func (t *terminal) Close() error { return t.state.Close() }
