package datasets

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Override replaces settings of a dataset's acceleration for one refresh.
// Zero fields change nothing.
type Override struct {
	RefreshSQL  string
	RefreshMode spicepod.RefreshMode
	JitterMax   time.Duration // refresh_jitter_max: wait a random time up to this
}

// refreshQueue lets one refresh of a dataset run at a time. Callers that ask
// for the same while one waits share it.
type refreshQueue struct {
	mu      sync.Mutex
	running bool
	waiting []*refreshCall
}

type refreshCall struct {
	override Override
	done     chan struct{}
	err      error
}

// Refresh loads an accelerated dataset or view anew and waits for it. The old
// rows serve until the new ones are there, and go on serving after a failure.
// The refresh goes on when ctx ends. Errors are [ErrUnknown],
// [ErrNotAccelerated], [ErrOverride], [ErrReplaced] or the source's.
func (m *Manager) Refresh(ctx context.Context, name string, o Override) error {
	s, err := m.accelerated(ctx, name, o)
	if err != nil {
		return err
	}
	return m.refresh(ctx, s, o)
}

// Trigger begins a refresh and returns at once; its errors are those that can
// be told before it runs.
func (m *Manager) Trigger(ctx context.Context, name string, o Override) error {
	s, err := m.accelerated(ctx, name, o)
	if err != nil {
		return err
	}
	m.enqueue(s, o)
	return nil
}

// accelerated finds what a refresh is about and checks the override.
func (m *Manager) accelerated(ctx context.Context, name string, o Override) (*served, error) {
	schema, table := spicepod.Dataset{Name: name}.Qualified()
	relation, err := relationOf(schema, table)
	m.mu.Lock()
	s := m.live[relationKey(relation)]
	names := make([]string, 0, len(m.live))
	for _, l := range m.live {
		names = append(names, l.name)
	}
	m.mu.Unlock()
	switch {
	case s == nil || err != nil:
		slices.Sort(names)
		if near := nearest.Name(name, names); near != "" {
			return nil, fmt.Errorf("dataset %q %w; did you mean %q?", name, ErrUnknown, near)
		}
		return nil, fmt.Errorf("dataset %q %w", name, ErrUnknown)
	case s.acceleration == nil:
		return nil, fmt.Errorf("dataset %q %w; add acceleration: to it", name, ErrNotAccelerated)
	}
	return s, m.checkOverride(ctx, s, o)
}

func (m *Manager) checkOverride(ctx context.Context, s *served, o Override) error {
	switch {
	case o == Override{}:
		return nil
	case s.view != nil && (o.RefreshSQL != "" || o.RefreshMode == spicepod.RefreshAppend):
		return fmt.Errorf("%w: a view is refreshed as a whole", ErrOverride)
	case s.policy != nil && o.RefreshSQL != "":
		return fmt.Errorf("%w: the copy of a dataset with a row_filter or column_mask holds what the Spicepod says", ErrOverride)
	case o.RefreshMode != "" && o.RefreshMode != spicepod.RefreshFull && o.RefreshMode != spicepod.RefreshAppend:
		return fmt.Errorf("%w: refresh_mode %q is not full or append", ErrOverride, o.RefreshMode)
	case o.RefreshMode == spicepod.RefreshAppend && s.dataset.Declared.TimeColumn == "":
		return fmt.Errorf("%w: refresh_mode append needs a time_column", ErrOverride)
	case o.RefreshSQL != "":
		if _, err := m.refreshQuery(ctx, s.dataset, o.RefreshSQL); err != nil {
			return fmt.Errorf("%w: %w", ErrOverride, err)
		}
	}
	return nil
}

// refresh asks for a refresh and waits for it.
func (m *Manager) refresh(ctx context.Context, s *served, o Override) error {
	call := m.enqueue(s, o)
	select {
	case <-call.done:
		return call.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enqueue joins a waiting refresh with the same override, or adds one.
func (m *Manager) enqueue(s *served, o Override) *refreshCall {
	q := &s.common.refresh
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.waiting {
		if c.override == o {
			return c
		}
	}
	call := &refreshCall{override: o, done: make(chan struct{})}
	q.waiting = append(q.waiting, call)
	if !q.running {
		q.running = m.tasks.run(func() { m.drainQueue(s, q) })
		if !q.running {
			q.waiting = nil
			call.err = errors.New("the runtime is shutting down")
			close(call.done)
		}
	}
	return call
}

// drainQueue runs the waiting refreshes one after the other.
func (m *Manager) drainQueue(s *served, q *refreshQueue) {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.running = false
			q.mu.Unlock()
			m.poke()
			return
		}
		call := q.waiting[0]
		q.mu.Unlock()
		if call.override.JitterMax > 0 {
			_ = m.pause(m.ctx, rand.N(call.override.JitterMax))
		}
		q.mu.Lock()
		q.waiting = q.waiting[1:] // who asks from now on may mean newer data
		q.mu.Unlock()
		call.err = m.refreshNow(m.ctx, s, call.override)
		close(call.done)
	}
}

// refreshNow loads once and notes how it went.
func (m *Manager) refreshNow(ctx context.Context, s *served, o Override) error {
	started := m.clock.Now()
	s.state.begin()
	v, err := m.load(ctx, s, o)
	if err == nil {
		v.stats.Took = m.clock.Now().Sub(started)
		err = m.switchVersion(ctx, s, v)
	}
	if err != nil {
		s.state.retryAt(m.retryTime(s.common, s.state.failedWith(err, m.clock.Now())))
		m.log.Error("refresh failed; the old rows stay", s.kind, s.name, "error", err)
		return fmt.Errorf("refresh of %s %q: %w", s.kind, s.name, err)
	}
	m.log.Info("refreshed", s.kind, s.name, "rows", v.stats.Rows, "took", v.stats.Took)
	return nil
}

// retryTime is when a failed refresh is tried again before its interval; zero
// when it is not.
func (m *Manager) retryTime(c *common, failures int) time.Time {
	a := c.acceleration
	if !a.RefreshRetryEnabled || a.RefreshRetryMaxAttempts > 0 && failures > a.RefreshRetryMaxAttempts {
		return time.Time{}
	}
	return m.clock.Now().Add(m.limits.backoff(failures))
}

func (m *Manager) load(ctx context.Context, s *served, o Override) (*version, error) {
	if s.view != nil {
		return m.loadView(ctx, s.view)
	}
	return m.loadDataset(ctx, s.dataset, o)
}

// switchVersion publishes a new version. The one before is freed when no
// statement sees it any more.
func (m *Manager) switchVersion(ctx context.Context, s *served, v *version) error {
	last := s.current.Load()
	if m.opts.Publish == nil {
		m.release(v.resources...)
		return errors.New("datasets: Options.Publish is missing")
	}
	err := m.opts.Publish(ctx, "refresh of "+s.component(), func(tx *engine.Tx) error {
		if !m.isLive(s.common) {
			return ErrReplaced
		}
		for _, sql := range s.ddl(v) {
			if last != nil && last.query == v.query {
				break // rows were added in place
			}
			if err := tx.Exec(sql); err != nil {
				return err
			}
		}
		tx.Committed(func() {
			s.current.Store(v)
			s.state.loaded(v)
			if s.dataset != nil {
				m.keep(s.dataset, v, false)
			}
			if last != nil {
				m.releaseDrained(last.resources)
			}
		})
		return nil
	})
	if err != nil {
		m.release(v.resources...)
	}
	return err
}

func (m *Manager) isLive(c *common) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.live[relationKey(c.relation)]
	return s != nil && s.common == c
}
