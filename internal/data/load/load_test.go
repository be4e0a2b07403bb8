package load

import (
	"testing"
	"time"
)

// TestPercentages shows that a fetch counts bytes, that a load is measured and never goes
// back, and that nothing is measured after its end.
func TestPercentages(t *testing.T) {
	r := &Reporter{Clock: Real{}}
	percent := func() int {
		p, _ := r.Progress("t")
		return p.Percent
	}
	fetch := r.Start("t", "fetch", 200)
	if n := percent(); n != -1 {
		t.Errorf("before the first byte: %d", n)
	}
	fetch.Write(make([]byte, 50))
	if n := percent(); n != 25 {
		t.Errorf("after 50 bytes of 200: %d", n)
	}
	fetch.End()

	measured := -1.0
	step := r.Start("t", "load", 200)
	stop := step.Measure(func() float64 { return measured })
	for _, c := range []struct {
		measured float64
		want     int
	}{{-1, -1}, {0, -1}, {12.7, 12}, {80, 80}, {3, 80}, {100, 99}} {
		measured = c.measured
		if n := percent(); n != c.want {
			t.Errorf("measured %v: %d, want %d", c.measured, n, c.want)
		}
	}
	stop()
	measured = -1
	if n := percent(); n != 99 {
		t.Errorf("after the end: %d", n)
	}
}

// TestLoadsAreReported shows that the percentage of a load reaches its reports.
func TestLoadsAreReported(t *testing.T) {
	clock := &steps{now: time.Unix(0, 0)}
	var reported []int
	r := &Reporter{Clock: clock, Report: func(p Progress) { reported = append(reported, p.Percent) }}
	step := r.Start("t", "load", -1)
	percent := 0.0
	defer step.Measure(func() float64 { percent += 10; return percent })()
	end := make(chan bool)
	clock.at = func(n int) {
		if n == 6 {
			close(end)
		}
	}
	step.Watch(func() error { <-end; return nil })
	if len(reported) < 4 || reported[0] <= 0 || reported[3] <= reported[0] {
		t.Errorf("reported %v", reported)
	}
}

// steps is a clock on which each wait ends at once.
type steps struct {
	now   time.Time
	waits int
	at    func(waits int)
}

func (s *steps) Now() time.Time { return s.now }

func (s *steps) At(t time.Time) <-chan time.Time { return s.After(t.Sub(s.now)) }

func (s *steps) After(d time.Duration) <-chan time.Time {
	s.waits++
	s.at(s.waits)
	c := make(chan time.Time, 1)
	if s.waits <= 6 {
		s.now = s.now.Add(d)
		c <- s.now
	}
	return c
}
