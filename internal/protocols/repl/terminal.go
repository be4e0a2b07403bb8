package repl

import (
	"context"
	"errors"
	"io"

	"github.com/peterh/liner"
)

// terminal reads lines with editing, history and completion.
type terminal struct {
	state   *liner.State
	history *history
}

var _ lineReader = (*terminal)(nil)

func newTerminal(h *history, complete liner.WordCompleter) *terminal {
	state := liner.NewLiner()
	state.SetCtrlCAborts(true)
	state.SetTabCompletionStyle(liner.TabPrints)
	state.SetWordCompleter(complete)
	for _, entry := range h.entries {
		state.AppendHistory(entry)
	}
	return &terminal{state: state, history: h}
}

// ReadLine reads one line. If ctx ends first, the reading goroutine remains
// until the process ends: a terminal read cannot be cancelled.
func (t *terminal) ReadLine(ctx context.Context, prompt string) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := t.state.Prompt(prompt)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		switch {
		case errors.Is(a.err, liner.ErrPromptAborted):
			return "", errAborted
		case errors.Is(a.err, io.EOF):
			return "", io.EOF
		}
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
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
