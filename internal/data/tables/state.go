package tables

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
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
	spread   float64   // of the next refresh: from -1, early, to 1, late
	checked  time.Time // when rows were last checked for removal; begins with the first load
	notes    map[string]error
	reported bool      // as one without rows
	snapshot time.Time // when rows were last stored outside of this machine
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
	s.ended(cmp.Or(v.Stale, v.ReadOnly), v.Stats.Refreshed)
	s.tries, s.retry = 0, time.Time{}
	if s.checked.IsZero() {
		s.checked = v.Stats.Refreshed
	}
}

// Failed records a failure, from which the interval starts again, and returns
// the number of consecutive failures.
func (s *State) Failed(err error, at time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(err, at)
	s.tries++
	return s.tries
}

func (s *State) ended(err error, at time.Time) {
	s.busy, s.err, s.finished, s.spread = false, err, at, 2*rand.Float64()-1
}

// Err returns the error of the last load, or nil.
func (s *State) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Report records whether a table is reported as one without rows, and returns whether that
// is new.
func (s *State) Report(unloaded bool) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.reported != unloaded
	s.reported = unloaded
	return changed
}

// Checked records that rows were checked for removal.
func (s *State) Checked(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = at
}

// LastCheck returns when rows were last checked for removal, or first loaded.
func (s *State) LastCheck() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checked
}

// Note records the error of a task that is not a refresh, or nil. It reports whether that is
// new.
func (s *State) Note(task string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes[task] == nil && err == nil {
		return false
	}
	if s.notes == nil {
		s.notes = map[string]error{}
	}
	if s.notes[task] = err; err == nil {
		delete(s.notes, task)
	}
	return true
}

// SetSnapshot records when the rows of the last snapshot were read.
func (s *State) SetSnapshot(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = at
}

// LastSnapshot returns when the rows of the last snapshot were read; zero if this process
// has written none.
func (s *State) LastSnapshot() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

// RetryAt sets the time of the next attempt.
func (s *State) RetryAt(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retry = t
}

// Due returns the time of the next retry or, if it is earlier, of the next refresh;
// zero if there is none. next returns the time of the refresh after one that ended; spread
// is a random number from -1 to 1.
func (s *State) Due(next func(ended time.Time, spread float64) time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.retry
	if s.finished.IsZero() {
		return due
	}
	if at := next(s.finished, s.spread); due.IsZero() || !at.IsZero() && at.Before(due) {
		due = at
	}
	return due
}

// Snapshot reports whether a refresh runs and returns its last error, or that of another
// task.
func (s *State) Snapshot() (busy bool, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.busy, s.err.Error()
	}
	for _, task := range slices.Sorted(maps.Keys(s.notes)) {
		return s.busy, s.notes[task].Error()
	}
	return s.busy, ""
}
