// Package refresh loads accelerated datasets and views again: when asked, at
// their interval, and after a failure. The old rows are served until the new
// ones are there, and after a failure they still are.
//
//	s := refresh.New(refresh.Options{DB: db, Clock: load.Real{}, Log: log, Publish: publish, Retry: reload})
//	defer s.Close()
//	s.Replace(targets) // whenever a generation is published
//	go s.Run(ctx)      // the schedule
//	err := s.Refresh(ctx, "flights", refresh.Override{})
//
// One refresh of a table runs at a time; requests for the same share the next.
package refresh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Errors of [Scheduler.Refresh], for errors.Is.
var (
	ErrUnknown        = errors.New("not found")
	ErrNotAccelerated = errors.New("does not have acceleration enabled")
	ErrReplaced       = errors.New("was replaced by a reload meanwhile")
	ErrOverride       = errors.New("invalid override")
)

// Override replaces settings of an acceleration for one refresh. Zero fields
// change nothing.
type Override struct {
	RefreshSQL  string
	RefreshMode spicepod.RefreshMode
	JitterMax   time.Duration // refresh_jitter_max: wait a random time up to this
}

// Target is a served dataset or view.
type Target interface {
	Base() *tables.Table
	Check(context.Context, Override) error // of an accelerated one
	Load(context.Context, Override) (*tables.Version, error)
	Save(*tables.Version) // is called when the version is served
}

// Options configures [New]. All are needed.
type Options struct {
	DB    *engine.DB
	Clock load.Clock
	Log   *slog.Logger
	// Publish runs build in a publishing transaction of the current
	// generation, after and before any other publication, never beside one.
	Publish func(ctx context.Context, what string, build func(*engine.Tx) error) error
	// Retry asks for a reload because these datasets, which could not be
	// loaded, may be there now. Run waits for it: return quickly.
	Retry func(ctx context.Context, datasets []string)
}

// Scheduler runs refreshes. It is safe for concurrent use.
type Scheduler struct {
	opts       Options
	wake       chan struct{} // the schedule changed
	background *background

	mu       sync.Mutex
	targets  map[string]*target // by tables.Key
	failures map[string]Failure
}

// target is a target with its queue. The scheduler's mutex guards the queue.
type target struct {
	Target
	running bool
	waiting []*call
}

// call is a requested refresh.
type call struct {
	override Override
	done     chan struct{}
	err      error
}

// New returns a scheduler without targets.
func New(o Options) *Scheduler {
	return &Scheduler{
		opts: o, wake: make(chan struct{}, 1), background: newBackground(),
		targets: map[string]*target{}, failures: map[string]Failure{},
	}
}

// Replace sets what is served. A target whose table was served before goes on
// with its queue.
func (s *Scheduler) Replace(targets []Target) {
	s.mu.Lock()
	next := make(map[string]*target, len(targets))
	for _, t := range targets {
		key := tables.Key(t.Base().Relation)
		next[key] = &target{Target: t}
		if last := s.targets[key]; last != nil && last.Base() == t.Base() {
			next[key] = last
		}
	}
	s.targets = next
	s.mu.Unlock()
	s.poke()
}

// Refresh refreshes an accelerated dataset or view and waits for it. The
// refresh goes on when ctx ends. Errors are [ErrUnknown], [ErrNotAccelerated],
// [ErrOverride], [ErrReplaced] or the source's.
func (s *Scheduler) Refresh(ctx context.Context, name string, o Override) error {
	t, err := s.find(ctx, name, o)
	if err != nil {
		return err
	}
	c := s.enqueue(t, o)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Trigger begins a refresh and returns at once, with the errors that can be
// reported before it runs.
func (s *Scheduler) Trigger(ctx context.Context, name string, o Override) error {
	t, err := s.find(ctx, name, o)
	if err == nil {
		s.enqueue(t, o)
	}
	return err
}

// Start begins refreshes of tables that are served.
func (s *Scheduler) Start(relations []engine.Relation) {
	for _, r := range relations {
		s.mu.Lock()
		t := s.targets[tables.Key(r)]
		s.mu.Unlock()
		if t != nil {
			s.enqueue(t, Override{})
		}
	}
}

// find returns the accelerated target of a name and checks the override.
func (s *Scheduler) find(ctx context.Context, name string, o Override) (*target, error) {
	relation, err := tables.Relation(spicepod.Dataset{Name: name}.Qualified())
	s.mu.Lock()
	t := s.targets[tables.Key(relation)]
	names := make([]string, 0, len(s.targets))
	for _, l := range s.targets {
		names = append(names, l.Base().Name)
	}
	s.mu.Unlock()
	switch {
	case t == nil || err != nil:
		slices.Sort(names)
		if near := nearest.Name(name, names); near != "" {
			return nil, fmt.Errorf("dataset %q %w; did you mean %q?", name, ErrUnknown, near)
		}
		return nil, fmt.Errorf("dataset %q %w", name, ErrUnknown)
	case t.Base().Acceleration == nil:
		return nil, fmt.Errorf("dataset %q %w; add acceleration: to it", name, ErrNotAccelerated)
	case o != Override{}:
		if o.RefreshMode != "" && o.RefreshMode != spicepod.RefreshFull && o.RefreshMode != spicepod.RefreshAppend {
			return nil, fmt.Errorf("%w: refresh_mode %q is not full or append", ErrOverride, o.RefreshMode)
		}
		if err := t.Check(ctx, o); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOverride, err)
		}
	}
	return t, nil
}

// enqueue joins a waiting refresh with the same override, or adds one.
func (s *Scheduler) enqueue(t *target, o Override) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range t.waiting {
		if c.override == o {
			return c
		}
	}
	c := &call{override: o, done: make(chan struct{})}
	t.waiting = append(t.waiting, c)
	if !t.running {
		t.running = s.background.start(func(ctx context.Context) { s.drain(ctx, t) })
		if !t.running {
			t.waiting = nil
			c.err = errors.New("the runtime is shutting down")
			close(c.done)
		}
	}
	return c
}

// drain runs the waiting refreshes one after the other.
func (s *Scheduler) drain(ctx context.Context, t *target) {
	for {
		s.mu.Lock()
		if len(t.waiting) == 0 {
			t.running = false
			s.mu.Unlock()
			s.poke()
			return
		}
		c := t.waiting[0]
		s.mu.Unlock()
		if c.override.JitterMax > 0 {
			_ = load.Pause(ctx, s.opts.Clock, rand.N(c.override.JitterMax))
		}
		s.mu.Lock()
		t.waiting = t.waiting[1:] // later requests may mean newer data
		s.mu.Unlock()
		c.err = s.refresh(ctx, t, c.override)
		close(c.done)
	}
}

// refresh loads once and notes how it went.
func (s *Scheduler) refresh(ctx context.Context, t *target, o Override) error {
	b := t.Base()
	started := s.opts.Clock.Now()
	b.State.Begin()
	v, err := t.Load(ctx, o)
	if err == nil {
		v.Stats.Took = s.opts.Clock.Now().Sub(started)
		err = s.publish(ctx, t, v)
	}
	if err != nil {
		now := s.opts.Clock.Now()
		b.State.RetryAt(retryTime(b.Acceleration, b.State.Failed(err, now), now))
		s.opts.Log.Error("refresh failed; the old rows stay", b.Kind, b.Name, "error", err)
		return fmt.Errorf("refresh of %s %q: %w", b.Kind, b.Name, err)
	}
	s.opts.Log.Info("refreshed", b.Kind, b.Name, "rows", v.Stats.Rows, "took", v.Stats.Took)
	return nil
}

// publish switches to a new version. The one before is freed when no statement
// reads it any more.
func (s *Scheduler) publish(ctx context.Context, t *target, v *tables.Version) error {
	b := t.Base()
	last := b.Current()
	err := s.opts.Publish(ctx, "refresh of "+b.Component(), func(tx *engine.Tx) error {
		if !s.serves(t) {
			return ErrReplaced
		}
		if last == nil || last.Query != v.Query { // else rows were added in place
			for _, sql := range b.DDLOf(v) {
				if err := tx.Exec(sql); err != nil {
					return err
				}
			}
		}
		tx.Committed(func() {
			b.Serve(v)
			b.State.Loaded(v)
			t.Save(v)
			if last != nil {
				s.Free(last.Resources)
			}
		})
		return nil
	})
	if err != nil {
		resource.Release(v.Resources...)
	}
	return err
}

func (s *Scheduler) serves(t *target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.targets[tables.Key(t.Base().Relation)] == t
}
