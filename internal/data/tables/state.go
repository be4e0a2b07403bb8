package tables

import (
	"sync"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// State is how the refreshes of a table went, and where it is declared.
type State struct {
	mu       sync.Mutex
	busy     bool
	err      error
	tries    int // failures in a row
	finished time.Time
	retry    time.Time
	position spicepod.Position
}

// Position is where the table is declared; Move changes it.
func (s *State) Position() spicepod.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// Move sets where the table is declared now.
func (s *State) Move(p spicepod.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = p
}

// Begin notes that a refresh runs.
func (s *State) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.retry = true, time.Time{}
}

// Loaded notes the version that was loaded.
func (s *State) Loaded(v *Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.err, s.tries, s.finished, s.retry = false, v.Stale, 0, v.Stats.Refreshed, time.Time{}
}

// Failed notes a failure at a time, from which the interval counts again, and
// returns how many there are in a row.
func (s *State) Failed(err error, at time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.err, s.finished = false, err, at
	s.tries++
	return s.tries
}

// RetryAt sets when to try again.
func (s *State) RetryAt(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retry = t
}

// Due returns when the next refresh begins, with one at every interval; zero
// for never.
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

// Snapshot reports whether a refresh runs, and the last error.
func (s *State) Snapshot() (busy bool, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		message = s.err.Error()
	}
	return s.busy, message
}
