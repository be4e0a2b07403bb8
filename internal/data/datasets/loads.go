package datasets

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
)

// This file has the states of a declared dataset: without an outcome it is loading,
// with one it is ready or has an error. A load of a dataset that has an outcome
// changes nothing until it has ended. Outcomes change only in Prepare, so that they
// hold until the generation that is being built is published.

// loads runs loads, a limited number at a time.
type loads struct {
	entries map[string]*entry // the datasets of the last Prepare, by tables.Key
	queue   []*Load
	running map[*Load]context.CancelFunc
	limit   int // of running
	closed  bool
	done    sync.WaitGroup

	requests background // of statements
}

// background runs functions until it is ended.
type background struct {
	start func(func(context.Context)) bool // false: it is ended
	end   func()                           // cancels them and waits for them
}

func newBackground() background {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var running sync.WaitGroup
	return background{
		start: func(f func(context.Context)) bool {
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() != nil {
				return false
			}
			running.Go(func() { f(ctx) })
			return true
		},
		end: func() {
			mu.Lock()
			cancel()
			mu.Unlock()
			running.Wait()
		},
	}
}

// entry is a dataset that the last Prepare found declared.
type entry struct {
	hash string
	load *Load   // nil: none runs
	last outcome // of the last load; zero before the first
}

// outcome is how a load ended: with a dataset or an error.
type outcome struct {
	made       *Dataset
	stale, err error
	reported   bool // by an earlier Prepare

	load *Load // the first one, which runs; nothing else is set
}

func (o outcome) known() bool { return o.made != nil || o.err != nil }

// Load is a load that runs.
type Load struct {
	Dataset *Dataset // as compiled, without a version

	m       *Manager
	before  *Dataset // that is known for the same declaration, or nil
	started time.Time
	done    chan struct{}
	ended   bool // outcome is set
	awaited bool // a Prepare has returned without the outcome
	dropped bool // no Prepare will return the outcome
	outcome outcome
}

// Progress describes the load. Total and Percent are -1 if they are unknown.
func (l *Load) Progress() load.Progress {
	p, ok := l.m.progress.Progress(l.Dataset.Name)
	if !ok {
		p = load.Progress{Dataset: l.Dataset.Name, Total: -1, Percent: -1}
	}
	p.Elapsed = l.m.opts.Clock.Now().Sub(l.started)
	return p
}

// beginLoads makes the compiled datasets those that are declared, and returns the loads
// to wait for: all of them if the caller waits for all, else those that begin now.
func (m *Manager) beginLoads(r Request, compiled []*Dataset) []*Load {
	var wait []*Load
	var unused []*resource.Resource
	m.mu.Lock()
	m.loads.limit = cmp.Or(r.Pod.Runtime.DatasetLoadParallelism, runtime.GOMAXPROCS(0))
	next := map[string]*entry{}
	for _, d := range compiled {
		if d == nil {
			continue
		}
		key := tables.Key(d.Relation)
		live := m.liveDataset(key)
		if live != nil && (live.Hash != d.Hash || live.Current().Lost()) {
			live = nil
		}
		e := m.loads.entries[key]
		if e == nil || e.hash != d.Hash {
			e = &entry{hash: d.Hash, last: outcome{made: live}}
		}
		next[key] = e
		unused = append(unused, m.noteOutcome(e)...)
		if e.load == nil && e.due(r, d) {
			e.load = m.newLoad(d, cmp.Or(e.last.made, live))
			wait = append(wait, e.load)
		} else if e.load != nil && r.Enough == nil {
			wait = append(wait, e.load)
		}
	}
	for key, e := range m.loads.entries {
		if next[key] != e {
			unused = append(unused, m.dropEntry(e)...)
		}
	}
	m.loads.entries = next
	m.startLoads()
	m.mu.Unlock()
	resource.Release(unused...)
	return wait
}

// due reports whether a load must begin. A copy is loaded once; its refreshes are
// those of package refresh.
func (e *entry) due(r Request, d *Dataset) bool {
	switch {
	case !e.last.known():
		return true
	case e.last.made != nil && d.eager && e.last.made.Current().Unopened:
		return true
	case e.last.made != nil && d.Acceleration != nil:
		return false
	}
	return !r.Loaded
}

// newLoad queues a load. The caller holds m.mu.
func (m *Manager) newLoad(d, before *Dataset) *Load {
	l := &Load{Dataset: d, m: m, before: before, started: m.opts.Clock.Now(), done: make(chan struct{})}
	m.loads.queue = append(m.loads.queue, l)
	return l
}

// startLoads starts queued loads up to the limit. The caller holds m.mu.
func (m *Manager) startLoads() {
	for len(m.loads.queue) > 0 && len(m.loads.running) < m.loads.limit && !m.loads.closed {
		l := m.loads.queue[0]
		m.loads.queue = m.loads.queue[1:]
		if l.dropped {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		m.loads.running[l] = cancel
		m.loads.done.Go(func() { m.runLoad(ctx, l) })
	}
}

func (m *Manager) runLoad(ctx context.Context, l *Load) {
	var o outcome
	o.made, o.stale, o.err = m.make(ctx, l.Dataset, l.before)
	var unused []*resource.Resource
	m.mu.Lock()
	l.outcome, l.ended = o, true
	if l.dropped {
		unused = m.unpublished(o.made)
	}
	report := l.awaited && !l.dropped && (o.made == nil || o.made != l.before)
	m.loads.running[l]()
	delete(m.loads.running, l)
	m.startLoads()
	m.mu.Unlock()
	resource.Release(unused...)
	close(l.done)
	if report && m.opts.Loaded != nil {
		m.opts.Loaded()
	}
}

// noteOutcome moves the outcome of a load that has ended to the entry. It returns what
// is not used any more. The caller holds m.mu.
func (m *Manager) noteOutcome(e *entry) (unused []*resource.Resource) {
	if e.load == nil || !e.load.ended {
		return nil
	}
	o := e.load.outcome
	if e.last.made != o.made {
		unused = m.unpublished(e.last.made)
	}
	e.load, e.last = nil, o
	return unused
}

// dropEntry cancels the load of a dataset that is no longer declared. It returns what is
// not used any more. The caller holds m.mu.
func (m *Manager) dropEntry(e *entry) (unused []*resource.Resource) {
	unused = m.noteOutcome(e)
	if e.load != nil {
		e.load.dropped = true
		if cancel := m.loads.running[e.load]; cancel != nil {
			cancel()
		}
	}
	return append(unused, m.unpublished(e.last.made)...)
}

// unpublished returns the resources of a dataset, unless it is nil or serves. The
// caller holds m.mu.
func (m *Manager) unpublished(d *Dataset) []*resource.Resource {
	if d == nil || m.liveDataset(tables.Key(d.Relation)) == d {
		return nil
	}
	return d.Current().Resources
}

// outcomes returns the outcomes of the compiled datasets; the zero outcome for nil.
func (m *Manager) outcomes(compiled []*Dataset) []outcome {
	all := make([]outcome, len(compiled))
	var unused []*resource.Resource
	m.mu.Lock()
	for i, d := range compiled {
		if d == nil {
			continue
		}
		e := m.loads.entries[tables.Key(d.Relation)]
		unused = append(unused, m.noteOutcome(e)...)
		if e.load != nil {
			e.load.awaited = true
			e.load.Dataset.State.Move(d.State.Position())
		}
		if !e.last.known() {
			all[i] = outcome{load: e.load}
			continue
		}
		if e.last.made != nil {
			e.last.made.Path = d.Path
			e.last.made.State.Move(d.State.Position())
		}
		all[i] = e.last
		e.last.reported = true
	}
	m.mu.Unlock()
	resource.Release(unused...)
	return all
}

// closeLoads cancels all loads and waits for them.
func (m *Manager) closeLoads() {
	m.mu.Lock()
	m.loads.closed = true
	for _, cancel := range m.watched {
		cancel()
	}
	for _, cancel := range m.loads.running {
		cancel()
	}
	m.mu.Unlock()
	m.loads.done.Wait()
}
