package sqlapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// stream writes a result to a client. What a form or net/http holds back is
// sent after flushEvery at the latest, however long DuckDB needs for the next
// rows.
type stream struct {
	w http.ResponseWriter

	mu    sync.Mutex
	form  format.Writer
	timer *time.Timer
	armed bool
	done  bool
	err   error // of a flush
}

// Begin takes the description of the result.
func (s *stream) Begin(columns []engine.Column) error { return s.form.Begin(columns) }

// Write takes the next rows.
func (s *stream) Write(chunk *engine.Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if err := s.form.Write(chunk); err != nil {
		return err
	}
	if !s.armed {
		s.armed = true
		if s.timer == nil {
			s.timer = time.AfterFunc(flushEvery, s.late)
		} else {
			s.timer.Reset(flushEvery)
		}
	}
	return nil
}

// late sends what waits for the next rows.
func (s *stream) late() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if !s.done && s.err == nil {
		s.err = s.flush()
	}
}

func (s *stream) flush() error {
	if err := s.form.Flush(); err != nil {
		return err
	}
	if x, ok := s.w.(*responseWriter); ok && x.status != 0 {
		return x.flush()
	}
	return nil
}

// Flush sends what was held back.
func (s *stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// End completes the result.
func (s *stream) End() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.err != nil {
		return s.err
	}
	return s.form.End()
}

// stop ends the use of the ResponseWriter, which is not ours after the
// handler.
func (s *stream) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
