// Package load has what all loads of data share: a clock, which tests replace,
// and progress reports of loads that take longer than a second.
//
//	r := &load.Reporter{Clock: load.Real{}, Report: show}
//	step := r.Start("flights", "fetch", size)
//	defer step.End()
//	_, err := io.Copy(io.MultiWriter(file, step), body)
package load

import (
	"context"
	"time"
)

// Clock tells the time.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time // sends once after d
}

// Real is the system clock.
type Real struct{}

// Now returns [time.Now].
func (Real) Now() time.Time { return time.Now() }

// After returns [time.After].
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Pause waits for d or until ctx ends.
func Pause(ctx context.Context, clock Clock, d time.Duration) error {
	select {
	case <-clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Progress describes a running load.
type Progress struct {
	Dataset string
	Step    string // fetch or load
	Bytes   int64  // fetched so far
	Total   int64  // in bytes; -1 if unknown
	Elapsed time.Duration
	Done    bool
}

// The time before the first report of a step, and between reports.
const (
	delay = time.Second
	every = 500 * time.Millisecond
)

// Reporter reports the steps of loads. It is safe for concurrent use.
type Reporter struct {
	Clock  Clock
	Report func(Progress) // nil: nothing is reported
}

// Step is a step of a load. It counts the bytes that are written to it.
type Step struct {
	r     *Reporter
	now   Progress
	start time.Time
	last  time.Duration // when it was last reported, since start; 0: never
}

// Start begins a step.
func (r *Reporter) Start(dataset, step string, total int64) *Step {
	return &Step{r: r, now: Progress{Dataset: dataset, Step: step, Total: total}, start: r.Clock.Now()}
}

// Write counts p. It never fails.
func (s *Step) Write(p []byte) (int, error) {
	s.now.Bytes += int64(len(p))
	s.tick()
	return len(p), nil
}

func (s *Step) tick() {
	if s.r.Report == nil {
		return
	}
	s.now.Elapsed = s.r.Clock.Now().Sub(s.start)
	if s.now.Elapsed >= delay && (s.last == 0 || s.now.Elapsed-s.last >= every) {
		s.last = s.now.Elapsed
		s.r.Report(s.now)
	}
}

// End reports the end of the step if it was reported before.
func (s *Step) End() {
	if s.last == 0 {
		return
	}
	s.now.Elapsed, s.now.Done = s.r.Clock.Now().Sub(s.start), true
	s.r.Report(s.now)
}

// Watch calls f and reports the step until f returns.
func (s *Step) Watch(f func() error) error {
	if s.r.Report == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	defer s.End()
	for {
		select {
		case err := <-done:
			return err
		case <-s.r.Clock.After(every):
			s.tick()
		}
	}
}
