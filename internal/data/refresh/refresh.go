// Package refresh refreshes accelerated datasets and views: on request, at their
// interval, and after a failure. The old rows are served until a refresh
// completes.
//
//	s := refresh.New(refresh.Options{DB: db, Clock: load.Real{}, Log: log, Publish: publish, Retry: reload})
//	defer s.Close()
//	s.Replace(targets) // when a generation is published
//	go s.Run(ctx)      // the schedule
//	err := s.Refresh(ctx, "flights", refresh.Override{})
//
// One refresh of a table runs at a time. Equal requests share the next one.
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

	"github.com/robfig/cron/v3"

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
	ErrOverride       = errors.New("invalid override")
)

// Override replaces settings of an acceleration for one refresh. Zero fields
// keep the settings.
type Override struct {
	RefreshSQL  string
	RefreshMode spicepod.RefreshMode
	JitterMax   time.Duration // refresh_jitter_max: the maximum of a random delay
}

// Target is a served dataset or view.
type Target interface {
	Base() *tables.Table
	Check(context.Context, Override) error // is called if it is accelerated
	Load(context.Context, Override) (*tables.Version, error)
	Save(*tables.Version) // records the version that is served
	// Prune returns a version without the rows that the retention removes, or nil if
	// there are none.
	Prune(context.Context) (*tables.Version, error)
	// Gather returns a version with the rows that were fetched for statements, or nil if
	// there are none. ended is called when it is served, or with the reason why it is not.
	Gather(context.Context) (v *tables.Version, ended func(error), err error)
}

// Options configures [New]. All fields are required.
type Options struct {
	DB    *engine.DB
	Clock load.Clock
	Log   *slog.Logger
	// Publish runs build, which publishes version v of the table, in a transaction of
	// the current generation. Publications do not overlap.
	Publish func(ctx context.Context, t *tables.Table, v *tables.Version, build func(*engine.Tx) error) error
	// Began is called when a refresh has begun.
	Began func(t *tables.Table)
	// Ended is called after each refresh, with the reason if it failed.
	Ended func(ctx context.Context, t *tables.Table, err error)
	// Noted is called when the error of a table may have changed other than by a refresh.
	Noted func(ctx context.Context, t *tables.Table)
	// Retry requests a reload, which loads the failed datasets again. It must
	// return at once.
	Retry func()
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

// target is a target with its queue, which the mutex of the scheduler guards.
type target struct {
	Target
	cron    cron.Schedule // nil: none
	running bool
	waiting []job
	opening *opening // nil: none
}

// opening is the first load of a table for the statements that wait for it.
type opening struct {
	done chan struct{}
	err  error // read after done is closed
}

// job is what a target waits for.
type job struct {
	task
	Override // of a refresh
}

// task is a kind of job.
type task string

const (
	refreshing task = "refresh"
	pruning    task = "retention"
	gathering  task = "request"
)

// New returns a scheduler without targets.
func New(o Options) *Scheduler {
	return &Scheduler{
		opts: o, wake: make(chan struct{}, 1), background: newBackground(),
		targets: map[string]*target{}, failures: map[string]Failure{},
	}
}

// Replace sets the targets. Those whose table is already a target keep their
// queue.
func (s *Scheduler) Replace(targets []Target) {
	s.mu.Lock()
	next := make(map[string]*target, len(targets))
	for _, t := range targets {
		key := tables.Key(t.Base().Relation)
		next[key] = &target{Target: t, cron: cronOf(t.Base().Acceleration)}
		if last := s.targets[key]; last != nil && last.Base() == t.Base() {
			next[key] = last
		}
	}
	s.targets = next
	s.mu.Unlock()
	s.poke()
}

// Refresh queues a refresh of an accelerated dataset or view. Errors are
// [ErrUnknown], [ErrNotAccelerated] and [ErrOverride]; those of the refresh are
// logged and in [tables.State].
func (s *Scheduler) Refresh(ctx context.Context, name string, o Override) error {
	t, err := s.find(ctx, name, o)
	if err != nil {
		return err
	}
	return s.enqueue(t, job{refreshing, o})
}

// Start queues refreshes of tables that are served.
func (s *Scheduler) Start(relations []engine.Relation) { s.start(refreshing, relations) }

// Gather queues a publication of the rows that were fetched for statements.
func (s *Scheduler) Gather(b *tables.Table) error {
	s.mu.Lock()
	t := s.targets[tables.Key(b.Relation)]
	s.mu.Unlock()
	if t == nil || t.Base() != b {
		return ErrReplaced
	}
	return s.enqueue(t, job{task: gathering})
}

// gather publishes the rows that were fetched.
func (s *Scheduler) gather(ctx context.Context, t *target) {
	v, ended, err := t.Gather(ctx)
	if err == nil && v != nil {
		err = s.publish(ctx, t, v)
	}
	ended(err)
	s.note(ctx, t, gathering, err)
}

// Prune queues checks of the retention.
func (s *Scheduler) Prune(relations []engine.Relation) { s.start(pruning, relations) }

func (s *Scheduler) start(task task, relations []engine.Relation) {
	for _, r := range relations {
		s.mu.Lock()
		t := s.targets[tables.Key(r)]
		s.mu.Unlock()
		if t != nil {
			_ = s.enqueue(t, job{task: task})
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
		err := fmt.Errorf("dataset %q %w", name, ErrUnknown)
		if hint := nearest.Hint(name, names, ""); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return nil, err
	case t.Base().Acceleration == nil:
		return nil, fmt.Errorf("dataset %q %w; add acceleration: to it", name, ErrNotAccelerated)
	case o != Override{}:
		if o.RefreshMode != "" && o.RefreshMode != spicepod.RefreshFull && o.RefreshMode != spicepod.RefreshAppend {
			return nil, fmt.Errorf("%w: refresh_mode must be full or append, got %q", ErrOverride, o.RefreshMode)
		}
		if err := t.Check(ctx, o); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOverride, err)
		}
	}
	return t, nil
}

// enqueue adds a job unless an equal one waits.
func (s *Scheduler) enqueue(t *target, j job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(t.waiting, j) {
		t.waiting = append(t.waiting, j)
	}
	t.running = t.running || s.background.start(func(ctx context.Context) { s.drain(ctx, t) })
	if !t.running {
		return errors.New("the runtime is shutting down")
	}
	return nil
}

// Open loads and publishes a table that is not open. Statements share the load, which goes
// on when one stops waiting.
func (s *Scheduler) Open(ctx context.Context, r engine.Relation) error {
	s.mu.Lock()
	t := s.targets[tables.Key(r)]
	if t == nil || !t.Base().Current().Unopened { // a publication came between
		s.mu.Unlock()
		return nil
	}
	o := t.opening
	if o == nil {
		o = &opening{done: make(chan struct{})}
		if !s.background.start(func(ctx context.Context) { s.open(ctx, t, o) }) {
			s.mu.Unlock()
			return errors.New("the runtime is shutting down")
		}
		t.opening = o
	}
	s.mu.Unlock()
	select {
	case <-o.done:
		if errors.Is(o.err, ErrReplaced) {
			return nil
		}
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open loads and publishes the first version of a table.
func (s *Scheduler) open(ctx context.Context, t *target, o *opening) {
	defer close(o.done)
	b := t.Base()
	started := s.opts.Clock.Now()
	v, err := t.Load(ctx, Override{})
	if err == nil {
		v.Stats.Took = s.opts.Clock.Now().Sub(started)
		err = s.publish(ctx, t, v)
	}
	if err != nil {
		b.State.Failed(err, s.opts.Clock.Now())
	}
	s.opts.Ended(ctx, b, err)
	s.mu.Lock()
	t.opening = nil
	s.mu.Unlock()
	o.err = err
	s.poke()
}

// drain runs the waiting jobs in order.
func (s *Scheduler) drain(ctx context.Context, t *target) {
	for {
		s.mu.Lock()
		if len(t.waiting) == 0 {
			t.running = false
			s.mu.Unlock()
			s.poke()
			return
		}
		j := t.waiting[0]
		s.mu.Unlock()
		if j.JitterMax > 0 {
			_ = load.Pause(ctx, s.opts.Clock, rand.N(j.JitterMax))
		}
		s.mu.Lock()
		t.waiting = t.waiting[1:] // later requests may expect newer data
		s.mu.Unlock()
		switch j.task {
		case pruning:
			s.prune(ctx, t)
		case gathering:
			s.gather(ctx, t)
		default:
			s.refresh(ctx, t, j.Override)
		}
	}
}

// note records the error of a job that is no refresh, or that it has none.
func (s *Scheduler) note(ctx context.Context, t *target, task task, err error) {
	b := t.Base()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.opts.Log.Error(string(task)+" failed", b.Kind, b.Name, "error", err)
	}
	if b.State.Note(string(task), err) {
		s.opts.Noted(ctx, b)
	}
}

// prune removes rows once.
func (s *Scheduler) prune(ctx context.Context, t *target) {
	b := t.Base()
	v, err := t.Prune(ctx)
	b.State.Checked(s.opts.Clock.Now())
	if err == nil && v != nil {
		before := b.Current().Stats.Rows
		if err = s.publish(ctx, t, v); err == nil {
			s.opts.Log.Info("removed rows", b.Kind, b.Name, "removed", before-v.Stats.Rows, "rows", v.Stats.Rows)
		}
	}
	s.note(ctx, t, pruning, err)
}

// refresh loads and publishes once, and records the result.
func (s *Scheduler) refresh(ctx context.Context, t *target, o Override) {
	b := t.Base()
	started := s.opts.Clock.Now()
	b.State.Begin()
	s.opts.Began(b)
	v, err := t.Load(ctx, o)
	if err == nil {
		v.Stats.Took = s.opts.Clock.Now().Sub(started)
		err = s.publish(ctx, t, v)
	}
	if err != nil {
		now := s.opts.Clock.Now()
		b.State.RetryAt(retryTime(b.Acceleration, b.State.Failed(err, now), now))
		message := "refresh failed; the old rows are served"
		if b.LoadFault() != nil {
			message = "load failed; there are no rows to serve"
		}
		s.opts.Log.Error(message, b.Kind, b.Name, "error", err)
		s.opts.Ended(ctx, b, err)
		return
	}
	s.opts.Ended(ctx, b, nil)
	s.opts.Log.Info("refreshed", b.Kind, b.Name, "rows", v.Stats.Rows, "took", v.Stats.Took)
}

// publish switches to a new version and frees the one before.
func (s *Scheduler) publish(ctx context.Context, t *target, v *tables.Version) error {
	b := t.Base()
	last := b.Current()
	err := s.opts.Publish(ctx, b, v, func(tx *engine.Tx) error {
		if !s.serves(t) {
			return ErrReplaced
		}
		if last.Query != v.Query { // otherwise rows were inserted into the database
			for _, sql := range b.DDLOf(v) {
				if err := tx.Exec(sql); err != nil {
					return err
				}
			}
		}
		tx.Switched(func() { b.Serve(v) })
		tx.Committed(func() {
			if !v.Pruned() {
				b.State.Loaded(v)
			}
			t.Save(v)
			s.Free(last.Resources)
		})
		return nil
	})
	if err != nil {
		resource.Release(v.Resources...)
	}
	return err
}

// ErrReplaced ends the publication of a table that a reload has replaced.
var ErrReplaced = errors.New("it was replaced by a reload during the refresh")

func (s *Scheduler) serves(t *target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.targets[tables.Key(t.Base().Relation)] == t
}

// background runs goroutines until it is closed.
type background struct {
	run    func(f func(context.Context)) // with a context that cancel ends
	ending <-chan struct{}               // closed by cancel
	cancel context.CancelFunc

	mu      sync.Mutex
	running int
	idle    sync.Cond // running is 0
}

func newBackground() *background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{ending: ctx.Done(), cancel: cancel}
	b.run = func(f func(context.Context)) { f(ctx) }
	b.idle.L = &b.mu
	return b
}

// start runs f in a goroutine. It reports false if b is closed.
func (b *background) start(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.ending:
		return false
	default:
	}
	b.running++
	go func() {
		defer b.ended()
		b.run(f)
	}()
	return true
}

func (b *background) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running--; b.running == 0 {
		b.idle.Broadcast()
	}
}

// wait waits until nothing runs, at one moment; unlike a WaitGroup, while others
// start.
func (b *background) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.running > 0 {
		b.idle.Wait()
	}
}

// Wait waits until no refresh runs and freed resources are released.
func (s *Scheduler) Wait() { s.background.wait() }

// Close cancels what runs and waits for it.
func (s *Scheduler) Close() {
	s.background.mu.Lock()
	s.background.cancel()
	s.background.mu.Unlock()
	s.Wait()
}

// Free releases resources when no statement reads the catalogs before the current
// one.
func (s *Scheduler) Free(list []*resource.Resource) {
	if len(list) > 0 {
		s.opts.DB.Drained(func() { s.background.start(func(context.Context) { resource.Release(list...) }) })
	}
}
