// Package load has what all loads of data share: the time, as schedules and
// retries see it, and reports of how far a load is once it takes longer than a
// moment. Tests move the time.
//
//	r := &load.Reporter{Clock: load.Real{}, Report: show, Delay: time.Second}
//	step := r.Start("flights", "fetch", size)
//	defer step.End()
//	step.Bytes(n)
package load

import (
	"context"
	"time"
)

// Clock is the time; tests have one of their own.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time // sends once after d
}

// Real is the machine's clock.
type Real struct{}

// Now returns the time of the machine.
func (Real) Now() time.Time { return time.Now() }

// After starts a timer.
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Pause waits for d or until ctx ends.
func Pause(ctx context.Context, clock Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Progress is how far a load is.
type Progress struct {
	Dataset string
	Step    string // fetch or load
	Bytes   int64  // fetched so far
	Total   int64  // of all bytes; -1 if unknown
	Elapsed time.Duration
	Done    bool
}

// every is the time between reports.
const every = 500 * time.Millisecond

// Reporter reports the steps of loads. Several goroutines may use it.
type Reporter struct {
	Clock  Clock
	Report func(Progress) // nil: nothing is reported
	Delay  time.Duration  // of the first report
}

// Step is one step of a load.
type Step struct {
	r     *Reporter
	now   Progress
	start time.Time
	last  time.Duration // of the last report; 0: none yet
}

// Start begins a step.
func (r *Reporter) Start(dataset, step string, total int64) *Step {
	return &Step{r: r, now: Progress{Dataset: dataset, Step: step, Total: total}, start: r.Clock.Now()}
}

// Bytes sets how much is there.
func (s *Step) Bytes(n int64) {
	s.now.Bytes = n
	s.tick()
}

func (s *Step) tick() {
	if s.r.Report == nil {
		return
	}
	s.now.Elapsed = s.r.Clock.Now().Sub(s.start)
	if s.now.Elapsed >= s.r.Delay && (s.last == 0 || s.now.Elapsed-s.last >= every) {
		s.last = s.now.Elapsed
		s.r.Report(s.now)
	}
}

// End reports the end of a step that was reported before.
func (s *Step) End() {
	if s.last == 0 {
		return
	}
	s.now.Elapsed, s.now.Done = s.r.Clock.Now().Sub(s.start), true
	s.r.Report(s.now)
}

// Watch runs f and reports while it runs.
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
