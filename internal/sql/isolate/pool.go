package isolate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// level are the workers for one nesting depth of statements: a statement that waits
// for an inner one, through a function of the runtime, must not hold the worker that
// the inner one needs. The pool's mutex guards idle and alive.
type level struct {
	slots *fair.Queue // one slot for each statement that has a worker
	idle  []*worker   // available to the next statement; the last one was used last
	alive int
}

func newLevel(workers int) *level {
	return &level{slots: fair.New(fair.Options{Slots: workers, Waiting: maxWaiting})}
}

// enter waits until the statement may have a worker.
func (l *level) enter(ctx context.Context) (*fair.Slot, error) {
	who := caller.From(ctx)
	slot, err := l.slots.Acquire(ctx, who.Share(), who.Weight)
	switch {
	case errors.Is(err, fair.ErrFull):
		return nil, engine.NewError(errcode.Busy, "try again in a moment", "%d statements are waiting for a worker already", maxWaiting)
	case err != nil:
		return nil, engine.NewError(errcode.Cancelled, "", "the statement was cancelled while it waited for a worker")
	}
	return slot, nil
}

// acquire returns a worker, which the caller owns until it calls release. The error
// is an [*engine.Error].
func (p *Pool) acquire(ctx context.Context) (*worker, error) {
	l := p.levels[engine.Nesting(ctx)]
	slot, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	for {
		w, err := p.take(l)
		if err != nil {
			slot.Release()
			return nil, err
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
			err = engine.NewError(errcode.Cancelled, "", "the statement was cancelled while its worker started")
		}
		if err == nil && w.failed != nil {
			err = notStarted(w.failed)
		}
		if err == nil && !w.over() {
			w.slot = slot
			return w, nil
		}
		p.putBack(w)
		if err != nil {
			slot.Release()
			return nil, err
		}
	}
}

func notStarted(why error) error {
	return engine.NewError(errcode.Internal, "try again in a moment", "no worker could be started: %s", why)
}

// take returns an idle worker, or one that starts.
func (p *Pool) take(l *level) (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, engine.ErrClosing
	}
	for len(l.idle) > 0 {
		w := l.idle[len(l.idle)-1]
		l.idle = l.idle[:len(l.idle)-1]
		if w.retire.Stop() && !w.over() {
			p.work.Add(1)
			return w, nil
		}
	}
	w, err := p.launch(l)
	if err != nil {
		return nil, notStarted(err)
	}
	p.work.Add(1)
	return w, nil
}

// launch starts a worker. The caller holds the pool's mutex.
func (p *Pool) launch(l *level) (*worker, error) {
	ready := make(chan struct{})
	w := &worker{
		level: l, opts: &p.opts, has: map[string]*engine.Dependency{},
		frames: make(chan frame, framesAhead), ready: ready, killer: make(chan struct{}), exited: make(chan struct{}),
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	w.retire = time.AfterFunc(idleLimit, w.kill)
	w.retire.Stop()
	l.alive++
	p.work.Go(func() {
		err := w.begin(p.life)
		p.mu.Lock()
		if w.failed = err; err == nil {
			p.stats.Started++
		} else if !p.closed {
			p.opts.Log.Warn("worker did not start", "error", err)
		}
		p.mu.Unlock()
		if err != nil {
			w.kill()
		}
		close(ready)
		w.wait()
		p.lost(w)
	})
	return w, nil
}

// release takes back a worker that is between statements or gone.
func (p *Pool) release(w *worker) {
	slot := w.slot
	p.putBack(w)
	slot.Release()
}

func (p *Pool) putBack(w *worker) {
	defer p.work.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.park(w)
}

// park makes a worker available to the next statement. The caller holds the pool's
// mutex.
func (p *Pool) park(w *worker) {
	switch {
	case w.over():
	case p.closed || w.spent:
		w.kill()
	default:
		w.level.idle = append(w.level.idle, w)
		w.retire.Reset(idleLimit)
		p.closeFiles(w)
	}
}

// Retain makes workers close the files of all dependencies but these, by their
// names, as soon as no statement runs in them.
func (p *Pool) Retain(files map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = files
	for _, l := range p.levels {
		for _, w := range slices.Clone(l.idle) {
			p.closeFiles(w)
		}
	}
}

// closeFiles makes an idle worker close outdated files. It is not ready meanwhile.
// The caller holds the pool's mutex.
func (p *Pool) closeFiles(w *worker) {
	if p.files == nil || p.closed || !closed(w.ready) {
		return
	}
	var outdated []string
	for name, d := range w.has {
		if d.File && !p.files[name] {
			outdated = append(outdated, d.Drop...)
			delete(w.has, name)
		}
	}
	if len(outdated) == 0 {
		return
	}
	ready := make(chan struct{})
	w.ready = ready
	p.work.Go(func() {
		w.change(p.life, outdated)
		p.mu.Lock()
		defer p.mu.Unlock()
		close(ready)
		if slices.Contains(w.level.idle, w) {
			p.closeFiles(w) // of a later call of Retain
		}
	})
}

// lost records that a worker is gone. If it was in use, another one starts, so that
// the next statement does not wait for it.
func (p *Pool) lost(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := w.level
	l.alive--
	if w.failed == nil && !w.killed() {
		p.stats.Crashed++
	}
	w.retire.Stop()
	if i := slices.Index(l.idle, w); i >= 0 {
		l.idle = slices.Delete(l.idle, i, i+1)
		return
	}
	if p.closed || w.failed != nil || l != p.levels[0] || len(l.idle) > 0 || l.alive >= p.opts.Workers {
		return
	}
	if spare, err := p.launch(l); err == nil {
		p.park(spare)
	}
}
