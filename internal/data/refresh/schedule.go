package refresh

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/spiced-sql/spiced/internal/data/fault"
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

// parser reads the cron expressions that Spice has, and descriptors such as @hourly.
var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.Descriptor)

// cronOf returns the schedule of refresh_cron, or nil.
func cronOf(a *spicepod.Acceleration) cron.Schedule {
	if a == nil || a.RefreshCron == "" {
		return nil
	}
	s, err := parser.Parse(a.RefreshCron)
	if err != nil {
		return nil // Check refuses it
	}
	return s
}

// Check returns an error if the schedule of an acceleration is wrong.
func Check(a *spicepod.Acceleration) error {
	if a.RefreshCron != "" {
		const hint = "write minute hour day month weekday, such as 0 3 * * *"
		s, err := parser.Parse(a.RefreshCron)
		switch {
		case err != nil:
			return fault.New("acceleration.refresh_cron", hint, "%q is not a cron expression: %s", a.RefreshCron, err)
		case strings.Contains(a.RefreshCron, "@every"):
			return fault.New("acceleration.refresh_cron", "write refresh_check_interval", "@every is an interval")
		case s.Next(time.Unix(0, 0).UTC()).IsZero():
			return fault.New("acceleration.refresh_cron", hint, "%q names no time", a.RefreshCron)
		}
	}
	switch {
	case !a.RefreshJitterEnabled:
	case a.RefreshCron == "" && a.RefreshCheckInterval == 0:
		return fault.New("acceleration.refresh_jitter_enabled", "set refresh_check_interval or refresh_cron",
			"there is no schedule to spread")
	case a.RefreshCron != "" && a.RefreshJitterMax == 0:
		return fault.New("acceleration.refresh_jitter_enabled", "set refresh_jitter_max",
			"with refresh_cron, refreshes have no default jitter")
	case a.RefreshCron == "" && a.RefreshJitterMax >= a.RefreshCheckInterval:
		return fault.New("acceleration.refresh_jitter_max", "set it to less than refresh_check_interval",
			"the jitter is as long as the interval")
	}
	switch {
	case !a.RetentionCheckEnabled:
	case a.RetentionPeriod == 0 && a.RetentionSQL == "":
		return fault.New("acceleration.retention_check_enabled", "set retention_period or retention_sql",
			"nothing says which rows are removed")
	case a.RetentionCheckInterval == 0:
		return fault.New("acceleration.retention_check_enabled", "set retention_check_interval",
			"nothing says how often rows are removed")
	}
	return nil
}

// scheduled returns the time of the refresh after one that ended, or zero.
func (t *target) scheduled(ended time.Time, spread float64) time.Time {
	a := t.Base().Acceleration
	var jitter time.Duration
	if a.RefreshJitterEnabled {
		jitter = cmp.Or(a.RefreshJitterMax, a.RefreshCheckInterval/10)
	}
	switch {
	case t.cron != nil:
		return t.cron.Next(ended.UTC()).Add(time.Duration(float64(jitter) * (spread + 1) / 2))
	case a.RefreshCheckInterval > 0:
		return ended.Add(a.RefreshCheckInterval + time.Duration(float64(jitter)*spread))
	}
	return time.Time{}
}

// nextCheck returns when rows are checked for removal, or zero.
func (t *target) nextCheck() time.Time {
	a, last := t.Base().Acceleration, t.Base().State.LastCheck()
	if !a.RetentionCheckEnabled || last.IsZero() {
		return time.Time{}
	}
	return last.Add(a.RetentionCheckInterval)
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

// Run refreshes tables by their schedules, removes rows, retries failed refreshes,
// and requests reloads for datasets that could not be loaded. It returns when ctx
// ends or the scheduler is closed.
func (s *Scheduler) Run(ctx context.Context) error {
	for {
		var due <-chan time.Time
		if next := s.runDue(); !next.IsZero() {
			due = s.opts.Clock.At(next)
		}
		select {
		case <-due:
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
	var refresh, prune []*target
	retry := false
	s.mu.Lock()
	for _, t := range s.targets {
		if t.Base().Acceleration == nil || t.running {
			continue
		}
		if due(t.Base().State.Due(t.scheduled)) {
			refresh = append(refresh, t)
		}
		if due(t.nextCheck()) {
			prune = append(prune, t)
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
		_ = s.enqueue(t, job{task: refreshing})
	}
	for _, t := range prune {
		_ = s.enqueue(t, job{task: pruning})
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
