package refresh

import (
	"context"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// The time between attempts of a failed load.
const (
	retryMin = 5 * time.Second
	retryMax = 5 * time.Minute
)

// Backoff returns the time to wait after a number of consecutive failures.
func Backoff(failures int) time.Duration {
	wait := retryMin
	for i := 1; i < failures && wait < retryMax; i++ {
		wait *= 2
	}
	return min(wait, retryMax)
}

// retryTime returns when a failed refresh is retried, or zero if it is not.
func retryTime(a *spicepod.Acceleration, failures int, now time.Time) time.Time {
	if !a.RefreshRetryEnabled || a.RefreshRetryMaxAttempts > 0 && failures > a.RefreshRetryMaxAttempts {
		return time.Time{}
	}
	return now.Add(Backoff(failures))
}

// Failure is a dataset that could not be loaded. A later attempt may succeed.
type Failure struct {
	Name, Hash string // Hash is of the declaration
	Known      bool   // Fail has been called with it: its retry stays scheduled

	tries int
	next  time.Time
}

// Fail sets the datasets to retry.
func (s *Scheduler) Fail(failures []Failure) {
	s.mu.Lock()
	next := make(map[string]Failure, len(failures))
	for _, f := range failures {
		f.tries = 1
		if last, ok := s.failures[f.Name]; ok && last.Hash == f.Hash {
			if f.Known {
				next[f.Name] = last
				continue
			}
			f.tries = last.tries + 1
		}
		f.next = s.opts.Clock.Now().Add(Backoff(f.tries))
		next[f.Name] = f
	}
	s.failures = next
	s.mu.Unlock()
	s.poke()
}

// Run refreshes tables with a refresh_check_interval, retries failed refreshes,
// and requests reloads for datasets that could not be loaded. It returns when ctx
// ends or the scheduler is closed.
func (s *Scheduler) Run(ctx context.Context) error {
	for {
		next := s.runDue()
		wait := time.Duration(1<<63 - 1)
		if !next.IsZero() {
			wait = next.Sub(s.opts.Clock.Now())
		}
		select {
		case <-s.opts.Clock.After(max(wait, 0)):
		case <-s.wake:
		case <-ctx.Done():
			return nil
		case <-s.background.ending:
			return nil
		}
	}
}

// runDue starts what is due and returns when more is due; zero for never.
func (s *Scheduler) runDue() time.Time {
	now := s.opts.Clock.Now()
	var next time.Time
	// due reports whether at has come; otherwise next is at most at.
	due := func(at time.Time) bool {
		if at.IsZero() || !at.After(now) {
			return !at.IsZero()
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
		return false
	}
	var refresh []*target
	retry := false
	s.mu.Lock()
	for _, t := range s.targets {
		if a := t.Base().Acceleration; a != nil && !t.running && due(t.Base().State.Due(a.RefreshCheckInterval)) {
			refresh = append(refresh, t)
		}
	}
	for name, f := range s.failures {
		if due(f.next) {
			f.next = now.Add(Backoff(f.tries + 1)) // until Fail sets it
			s.failures[name] = f
			due(f.next)
			retry = true
		}
	}
	s.mu.Unlock()
	for _, t := range refresh {
		_ = s.enqueue(t, Override{})
	}
	if retry {
		s.opts.Retry()
	}
	return next
}

// poke makes [Scheduler.Run] compute what is due again.
func (s *Scheduler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
