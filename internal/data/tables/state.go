package tables

import (
	"sync"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// State is the state of a table's refreshes and the position of its declaration.
// It is safe for concurrent use.
type State struct {
	mu       sync.Mutex
	busy     bool
	err      error
	tries    int // consecutive failures
	finished time.Time
	retry    time.Time
	position spicepod.Position
}

// Position returns the position of the declaration.
func (s *State) Position() spicepod.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// Move sets the position of the declaration.
func (s *State) Move(p spicepod.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = p
}

// Begin records that a refresh runs.
func (s *State) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.retry = true, time.Time{}
}

// Loaded records that a version was loaded.
func (s *State) Loaded(v *Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.err, s.tries, s.finished, s.retry = false, v.Stale, 0, v.Stats.Refreshed, time.Time{}
}

// Failed records a failure, from which the interval starts again, and returns
// the number of consecutive failures.
func (s *State) Failed(err error, at time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.err, s.finished = false, err, at
	s.tries++
	return s.tries
}

// RetryAt sets the time of the next attempt.
func (s *State) RetryAt(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retry = t
}

// Due returns the time of the next retry or, if every is not 0, of the next
// refresh; zero if there is none.
func (s *State) Due(every time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.retry
	if every > 0 && !s.finished.IsZero() {
		if at := s.finished.Add(every); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}

// Snapshot reports whether a refresh runs and returns the last error.
func (s *State) Snapshot() (busy bool, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		message = s.err.Error()
	}
	return s.busy, message
}
