package sqlapi

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// keepAlive is a comment (HTML Living Standard, 9.2.6), which clients pass
// over.
const keepAlive = ": keep-alive\n\n"

// sse sends server-sent events. Each but the last leaves at once. After a while
// of silence a comment shows the client, and proxies, that the connection
// lives; before the first event, too.
type sse struct {
	w     http.ResponseWriter
	every time.Duration
	alive func() string           // what silence sends; nil: keepAlive
	gone  context.CancelCauseFunc // called when the client does not read

	mu    sync.Mutex
	timer *time.Timer
	begun bool // the header is sent
	done  bool
	err   error // of a comment
}

func newSSE(w http.ResponseWriter, every time.Duration, gone context.CancelCauseFunc) *sse {
	return newSSEWith(w, every, gone, nil)
}

// newSSEWith is newSSE with what is sent after silence, in place of keepAlive.
func newSSEWith(w http.ResponseWriter, every time.Duration, gone context.CancelCauseFunc, alive func() string) *sse {
	s := &sse{w: w, every: every, gone: gone, alive: alive}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(every, s.silence)
	return s
}

// Write is for what send runs.
func (s *sse) Write(p []byte) (int, error) { return s.w.Write(p) }

// send sends what write writes.
func (s *sse) send(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if !s.done {
		s.timer.Reset(s.every)
	}
	return s.push(write)
}

// last writes what ends the stream. It leaves when the handler has returned
// and released its slot: a client may send the next request at once.
func (s *sse) last(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.timer.Stop()
	if s.err != nil {
		return s.err
	}
	return s.write(write)
}

func (s *sse) push(write func() error) error {
	if err := s.write(write); err != nil {
		return err
	}
	if x, ok := s.w.(*responseWriter); ok {
		return x.flush()
	}
	return nil
}

func (s *sse) write(write func() error) error {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
		s.w.WriteHeader(http.StatusOK)
	}
	return write()
}

// silence sends a comment.
func (s *sse) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done || s.err != nil {
		return
	}
	text := keepAlive
	if s.alive != nil {
		text = s.alive()
	}
	s.err = s.push(func() error {
		_, err := io.WriteString(s.w, text)
		return err
	})
	if s.err != nil {
		s.gone(s.err)
		return
	}
	s.timer.Reset(s.every)
}

// stop ends the comments: the ResponseWriter is not ours after the handler. It
// reports whether something was sent, so that an error cannot have a status.
func (s *sse) stop() (begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.timer.Stop()
	return s.begun
}
