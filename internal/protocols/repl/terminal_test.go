package repl

import (
	"errors"
	"os"
	"testing"
)

// prompts is a writer that sends what is written to it.
type prompts chan string

func (p prompts) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}

// TestInterruptedPromptLeavesTheNextLine interrupts prompts whose read cannot be cancelled, as
// in a narrow terminal: the next prompt gets the next line, and none is lost.
func TestInterruptedPromptLeavesTheNextLine(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	lines, shown := make(chan string), make(prompts, 1)
	terminal := &terminal{notes: shown, prompt: func(prompt string) (string, error) {
		shown <- prompt
		return <-lines, nil
	}}
	for _, want := range []string{"once? ", "\nonce? "} {
		ended := make(chan error, 1)
		go func() {
			_, err := terminal.ReadLine(t.Context(), "once? ")
			ended <- err
		}()
		if got := <-shown; got != want {
			t.Errorf("shown %q, want %q", got, want)
		}
		if err := self.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, errAborted) {
			t.Fatalf("an interrupted prompt: %v", err)
		}
	}
	for _, c := range []struct{ line, shown string }{{"hello", "\nyou> "}, {"again", "you> "}} {
		go func() { lines <- c.line }()
		if got, err := terminal.ReadLine(t.Context(), "you> "); got != c.line || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got := <-shown; got != c.shown {
			t.Errorf("shown %q, want %q", got, c.shown)
		}
	}
}
