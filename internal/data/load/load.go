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
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time // sends once after d
	At(t time.Time) <-chan time.Time        // sends once when it is t or later
}

// Real is the system clock.
type Real struct{}

// Now returns [time.Now].
func (Real) Now() time.Time { return time.Now() }

// After returns [time.After].
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// At returns [time.After] for what is left until t.
func (Real) At(t time.Time) <-chan time.Time { return time.After(time.Until(t)) }

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
	Percent int    // done; -1 if unknown
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

	steps sync.Map // of what runs: dataset → *Step
}

// Progress returns the step of a dataset that runs.
func (r *Reporter) Progress(dataset string) (p Progress, ok bool) {
	s, ok := r.steps.Load(dataset)
	if !ok {
		return p, false
	}
	return s.(*Step).progress(), true
}

// Step is a step of a load. It counts the bytes that are written to it.
type Step struct {
	r     *Reporter
	is    Progress // at the start
	bytes atomic.Int64
	start time.Time
	last  time.Duration // when it was last reported, since start; 0: never

	mu      sync.Mutex
	measure func() float64 // the percentage, or less than 0 if it is unknown; nil: there is none
	percent float64        // the highest that was measured
}

// progress describes the step at this moment.
func (s *Step) progress() Progress {
	p := s.is
	p.Bytes, p.Elapsed = s.bytes.Load(), s.r.Clock.Now().Sub(s.start)
	p.Percent = s.measured()
	if p.Total > 0 && p.Bytes > 0 {
		p.Percent = int(min(100*p.Bytes/p.Total, 100))
	}
	return p
}

// measured returns the measured percentage, which never falls: the first of a load's
// statements takes the longest. It returns -1 if it is unknown.
func (s *Step) measured() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.measure != nil {
		s.percent = min(max(s.percent, s.measure()), 99)
	}
	if s.percent == 0 {
		return -1
	}
	return int(math.Floor(s.percent))
}

// Measure makes percent the source of the percentage of the step until stop is called,
// after which percent is not called again.
func (s *Step) Measure(percent func() float64) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measure = percent
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.measure = nil
	}
}

// Start begins a step.
func (r *Reporter) Start(dataset, step string, total int64) *Step {
	s := &Step{r: r, is: Progress{Dataset: dataset, Step: step, Total: total}, start: r.Clock.Now()}
	r.steps.Store(dataset, s)
	return s
}

// Write counts p. It never fails.
func (s *Step) Write(p []byte) (int, error) {
	s.Add(int64(len(p)))
	return len(p), nil
}

// Add counts bytes.
func (s *Step) Add(bytes int64) {
	s.bytes.Add(bytes)
	s.tick()
}

func (s *Step) tick() {
	if s.r.Report == nil {
		return
	}
	p := s.progress()
	if p.Elapsed >= delay && (s.last == 0 || p.Elapsed-s.last >= every) {
		s.last = p.Elapsed
		s.r.Report(p)
	}
}

// End ends the step. It is reported if the step was reported before.
func (s *Step) End() {
	s.r.steps.CompareAndDelete(s.is.Dataset, s)
	if s.last == 0 {
		return
	}
	p := s.progress()
	p.Done = true
	s.r.Report(p)
}

// Watch calls f and reports the step until f returns.
func (s *Step) Watch(f func() error) error {
	defer s.End()
	if s.r.Report == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	for {
		select {
		case err := <-done:
			return err
		case <-s.r.Clock.After(every):
			s.tick()
		}
	}
}
