package datasets

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// failure is a dataset that could not be loaded.
type failure struct {
	declared spicepod.Dataset
	path     string
	position spicepod.Position
	err      *fault
	hash     string
	tries    int
	next     time.Time // when to try again; zero: when the Spicepod changes
}

// noteFailures keeps what Prepare could not load, and when to try again.
func (m *Manager) noteFailures(pod *spicepod.Pod, faults [][]error) {
	next := map[string]*failure{}
	m.mu.Lock()
	for i, list := range faults {
		for _, err := range list {
			f := asFault(err)
			if f.warning && !f.retry {
				continue
			}
			decl := pod.Datasets[i]
			path := fmt.Sprintf("datasets[%d]", i)
			n := &failure{declared: decl, path: path, position: pod.At(path), err: f, hash: spicepod.Fingerprint(decl), tries: 1}
			if was := m.failed[decl.Name]; was != nil && was.hash == n.hash {
				n.tries = was.tries + 1
			}
			if f.retry {
				n.next = m.clock.Now().Add(m.limits.backoff(n.tries))
			}
			next[decl.Name] = n
		}
	}
	m.failed = next
	m.mu.Unlock()
	m.poke()
}

// Run keeps the schedule: it refreshes what has a refresh_check_interval,
// tries failed refreshes again and asks for a reload when a source that could
// not be loaded may be back. It returns when ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	for {
		next := m.runDue(ctx)
		wait := time.Duration(1<<63 - 1)
		if !next.IsZero() {
			wait = next.Sub(m.clock.Now())
		}
		tick, stop := m.clock.After(max(wait, 0))
		select {
		case <-tick:
		case <-m.wake:
		case <-ctx.Done():
			stop()
			return nil
		case <-m.ctx.Done():
			stop()
			return nil
		}
		stop()
	}
}

// runDue starts what is due and returns when something is due next; zero for
// never.
func (m *Manager) runDue(ctx context.Context) time.Time {
	now := m.clock.Now()
	var next time.Time
	soonest := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	var due []*served
	var retry []string
	m.mu.Lock()
	for _, s := range m.live {
		at := s.dueAt()
		switch {
		case at.IsZero() || s.common.refresh.busy():
		case at.After(now):
			soonest(at)
		default:
			due = append(due, s)
		}
	}
	for name, f := range m.failed {
		switch {
		case f.next.IsZero():
		case f.next.After(now):
			soonest(f.next)
		default:
			f.next = now.Add(m.limits.backoff(f.tries + 1)) // Prepare sets it anew
			soonest(f.next)
			retry = append(retry, name)
		}
	}
	m.mu.Unlock()
	for _, s := range due {
		m.enqueue(s, Override{})
	}
	if len(retry) > 0 && m.opts.Retry != nil {
		slices.Sort(retry)
		m.opts.Retry(ctx, retry)
	}
	return next
}

func (q *refreshQueue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// dueAt is when the next refresh begins; zero for never.
func (c *common) dueAt() time.Time {
	if c.acceleration == nil {
		return time.Time{}
	}
	last, retry := c.state.times()
	due := retry
	if every := c.acceleration.RefreshCheckInterval; every > 0 && !last.IsZero() {
		if at := last.Add(every); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}
