package isolate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// level are the workers for one nesting depth of statements: a statement that waits
// for an inner one, through a function of the runtime, must not hold the worker that
// the inner one needs. The pool's mutex guards the rest.
type level struct {
	slots   *fair.Queue // one slot for each statement that has a worker
	queue   int         // how many statements may wait for one
	idle    []*worker   // available to the next statement; the last one was used last
	waiting []chan grant
	alive   int

	suspects map[string]*suspect // by share
}

// grant is what a statement with a slot waits for.
type grant struct {
	worker *worker
	err    error
}

func newLevel(workers, queue int) *level {
	return &level{
		slots: fair.New(fair.Options{Slots: workers, Waiting: queue, Long: longHold}), queue: queue,
		suspects: map[string]*suspect{},
	}
}

// suspect is a caller one of whose statements ended its worker not long ago. Its
// statements have one worker at a time, so that the others are for other callers.
type suspect struct {
	turns *fair.Queue // of one slot
	until time.Time
}

// Waits of other callers for what one caller's statements hold.
const (
	longHold  = 50 * time.Millisecond // a worker, until others get a slot although none is free
	spareHold = 25 * time.Millisecond // a worker, until another one starts for the next statement
)

// suspicion is how long a caller is suspect.
const suspicion = 10 * time.Second

// suspected returns the turns of a caller, nil for one that is not suspect.
func (p *Pool) suspected(l *level, share string) *fair.Queue {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := l.suspects[share]
	if s == nil {
		return nil
	}
	if time.Now().After(s.until) && s.turns.Stats() == (fair.Stats{}) {
		delete(l.suspects, share)
		return nil
	}
	return s.turns
}

// suspect makes a caller suspect. The caller holds the pool's mutex.
func (l *level) suspect(share string) {
	maps.DeleteFunc(l.suspects, func(_ string, s *suspect) bool {
		return time.Now().After(s.until) && s.turns.Stats() == (fair.Stats{})
	})
	s := l.suspects[share]
	if s == nil {
		s = &suspect{turns: fair.New(fair.Options{Slots: 1, Waiting: l.queue})}
		l.suspects[share] = s
	}
	s.until = time.Now().Add(suspicion)
}

// permit is what a statement needs for a worker: slots of the level and, of a suspect,
// of its turns.
type permit struct {
	share string // the caller's
	slots []*fair.Slot
}

func (p permit) release() {
	for _, s := range p.slots {
		s.Release()
	}
}

// enter waits until the statement may have a worker.
func (p *Pool) enter(ctx context.Context, l *level) (permit, error) {
	who := caller.From(ctx)
	got := permit{share: who.Share()}
	for _, q := range []*fair.Queue{p.suspected(l, got.share), l.slots} {
		if q == nil {
			continue
		}
		slot, err := q.Acquire(ctx, got.share, who.Weight)
		if err != nil {
			got.release()
			if errors.Is(err, fair.ErrFull) {
				return got, engine.NewError(errcode.Busy, "try again in a moment, or raise runtime.query.max_queued_queries",
					"more statements wait for a worker than the limit of %d", p.opts.Queue)
			}
			return got, engine.NewError(errcode.Cancelled, "", "the statement was cancelled while it waited for a worker")
		}
		got.slots = append(got.slots, slot)
	}
	return got, nil
}

// acquire returns a worker, which the caller owns until it calls release. The error
// is an [*engine.Error].
func (p *Pool) acquire(ctx context.Context) (*worker, error) {
	l := p.levels[engine.Nesting(ctx)]
	may, err := p.enter(ctx, l)
	if err != nil {
		return nil, err
	}
	for {
		w, err := p.take(ctx, l)
		if err != nil {
			may.release()
			return nil, err
		}
		if !w.over() {
			p.mu.Lock()
			w.owner = may
			p.mu.Unlock()
			w.held = time.AfterFunc(spareHold, func() { p.prepare(l) })
			return w, nil
		}
		p.putBack(w)
	}
}

func notStarted(why error) error {
	return engine.NewError(errcode.Internal, "try again in a moment", "no worker could be started: %s", why)
}

// take returns an idle worker, or the first one that becomes ready.
func (p *Pool) take(ctx context.Context, l *level) (*worker, error) {
	due := make(chan grant, 1)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, engine.ErrClosing
	}
	l.waiting = append(l.waiting, due)
	p.assign(l)
	p.mu.Unlock()
	select {
	case g := <-due:
		return g.worker, g.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(l.waiting, due)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 {
		if g := <-due; g.worker != nil {
			p.putBack(g.worker)
		}
	}
	return nil, engine.NewError(errcode.Cancelled, "", "the statement was cancelled while its worker started")
}

// assign gives the idle workers that are ready, the one that was used last first, to
// those who wait for one, and starts workers for the others. The caller holds the
// pool's mutex.
func (p *Pool) assign(l *level) {
	for i := len(l.idle) - 1; i >= 0 && len(l.waiting) > 0; i-- {
		w := l.idle[i]
		if !closed(w.ready) {
			continue
		}
		l.idle = slices.Delete(l.idle, i, i+1)
		stopped := w.retire.Stop()
		switch {
		case w.failed != nil:
			l.grant(grant{err: notStarted(w.failed)})
		case stopped && !w.over():
			p.work.Add(1)
			l.grant(grant{worker: w})
		}
	}
	for len(l.waiting) > len(l.idle) {
		w, err := p.launch(l)
		if err != nil {
			l.grant(grant{err: notStarted(err)})
			continue
		}
		p.park(w)
	}
}

// prepare starts a worker if statements hold all of them, so that the next statement, which
// may be that of another caller, need not wait for its start. A pool of one worker saves
// memory, and has none to spare.
func (p *Pool) prepare(l *level) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.opts.Workers == 1 || len(l.idle) > 0 || l.alive == 0 || l.alive > p.opts.Workers {
		return
	}
	if w, err := p.launch(l); err == nil { // otherwise the statement that needs one says why
		p.park(w)
	}
}

// grant answers the one who waits for longest. The caller holds the pool's mutex.
func (l *level) grant(g grant) {
	l.waiting[0] <- g
	l.waiting = l.waiting[1:]
}

// launch starts a worker. The caller holds the pool's mutex.
func (p *Pool) launch(l *level) (*worker, error) {
	ready := make(chan struct{})
	w := &worker{
		level: l, opts: &p.opts, has: map[string]*engine.Dependency{},
		frames: make(chan frame, framesAhead), ready: ready, killer: make(chan struct{}), exited: make(chan struct{}),
		replaced: make(chan struct{}),
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	w.retire = time.AfterFunc(idleLimit, w.kill)
	w.retire.Stop()
	l.alive++
	p.work.Go(func() {
		err := w.begin(p.life)
		if err != nil {
			w.kill()
		}
		p.mu.Lock()
		if w.failed = err; err == nil {
			p.stats.Started++
		} else if !p.closed {
			p.opts.Log.Warn("worker did not start", "error", err)
		}
		close(ready)
		p.assign(l)
		p.mu.Unlock()
		w.wait()
		if spare := p.lost(w); spare != nil {
			<-spare
		}
		close(w.replaced)
	})
	return w, nil
}

// release takes back a worker that is between statements or gone. A caller whose
// statement ended its worker has its slot until another one has started.
func (p *Pool) release(w *worker) {
	p.work.Add(1)
	defer p.work.Done()
	w.held.Stop()
	owner := w.owner
	p.putBack(w)
	if !w.over() {
		owner.release()
		return
	}
	p.work.Go(func() {
		<-w.replaced
		owner.release()
	})
}

func (p *Pool) putBack(w *worker) {
	defer p.work.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.park(w)
	p.assign(w.level)
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
		p.assign(w.level)
	})
}

// lost records that a worker is gone. It does so before the worker's statement fails, so
// that a caller who crashed it is a suspect when its next statement arrives. If the worker
// was in use, lost starts another one ahead of the next statement, and returns a channel
// that is closed when that one is ready.
func (p *Pool) lost(w *worker) (spare <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := w.level
	l.alive--
	defer p.assign(l)
	if w.failed == nil && !w.killed() {
		p.stats.Crashed++
		l.suspect(w.owner.share)
	}
	close(w.exited)
	w.retire.Stop()
	if i := slices.Index(l.idle, w); i >= 0 {
		l.idle = slices.Delete(l.idle, i, i+1)
		return nil
	}
	if p.closed || w.failed != nil || l != p.levels[0] || l.alive >= p.opts.Workers {
		return nil
	}
	other, err := p.launch(l)
	if err != nil {
		return nil
	}
	spare = other.ready
	p.park(other)
	return spare
}
