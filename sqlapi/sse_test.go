package sqlapi

import (
	"io"
	"net/http/httptest"
	"testing"
	"time"
)

// flushed keeps what had left when it was last flushed.
type flushed struct {
	*httptest.ResponseRecorder
	left string
}

func (f *flushed) Flush() { f.left = f.Body.String() }

// TestTheLastEventLeavesWithTheHandler: a client that has read it would find
// its place taken otherwise.
func TestTheLastEventLeavesWithTheHandler(t *testing.T) {
	w := &flushed{ResponseRecorder: httptest.NewRecorder()}
	s := newSSE(newResponseWriter(w, time.Minute), time.Hour, nil)
	event := func(text string) func() error {
		return func() error { _, err := io.WriteString(s, text); return err }
	}
	if err := s.send(event("data: a\n\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.last(event("data: [DONE]\n\n")); err != nil {
		t.Fatal(err)
	}
	if want := "data: a\n\n"; w.left != want {
		t.Errorf("%q left before the handler's end, want %q", w.left, want)
	}
	if got, want := w.Body.String(), "data: a\n\ndata: [DONE]\n\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	if !s.stop() {
		t.Error("nothing was begun")
	}
}
