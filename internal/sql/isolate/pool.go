package isolate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// group are the workers of one catalog and depth. The pool's mutex guards it.
type group struct {
	key      groupKey
	catalog  *engine.Catalog
	alive    int // workers that run or start
	starting int // of these, workers that start
	idle     []*worker
	waiting  []chan assignment // in order of arrival; each gets one value

	failures int           // of the script since it last succeeded
	broken   *engine.Error // the script fails repeatedly: there will be no worker
	fault    *engine.Error // why the last worker did not start; nil when it did
	backoff  time.Duration // between attempts
	retry    time.Time     // time of the next attempt
}

// assignment is a worker for a waiting statement, or the error.
type assignment struct {
	worker *worker
	err    *engine.Error
}

// groupKey identifies a group by the catalog and the nesting depth of statements: a
// statement that waits for an inner one, through a function of the runtime, must
// not hold the worker that the inner one needs.
type groupKey struct {
	serial uint64
	depth  int
}

// groupOf returns the group of a catalog, which becomes the newest if its serial is
// higher.
func (p *Pool) groupOf(cat *engine.Catalog, depth int) *group {
	key := groupKey{cat.Serial(), depth}
	c, ok := p.groups[key]
	if !ok {
		c = &group{key: key, catalog: cat}
		p.groups[key] = c
	}
	if p.newest < key.serial {
		p.newest = key.serial
		for _, old := range p.groups {
			p.forget(old)
		}
	}
	return c
}

// current reports whether c belongs to the newest catalog.
func (p *Pool) current(c *group) bool { return c.key.serial == p.newest }

// prewarmed reports whether all workers of c start before statements wait for them.
func (p *Pool) prewarmed(c *group) bool { return p.current(c) && c.key.depth == 0 }

// forget drops a group that is no longer needed.
func (p *Pool) forget(c *group) {
	if !p.current(c) && c.alive == 0 && len(c.waiting) == 0 {
		delete(p.groups, c.key)
	}
}

// acquire returns a worker of the catalog, which the caller owns until it calls release.
// The error is an [*engine.Error].
func (p *Pool) acquire(ctx context.Context, cat *engine.Catalog) (*worker, error) {
	p.mu.Lock()
	c := p.groupOf(cat, engine.Nesting(ctx))
	if err := p.unavailable(c); err != nil {
		p.forget(c)
		p.mu.Unlock()
		return nil, err
	}
	p.work.Add(1)
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		p.mu.Unlock()
		return w, nil
	}
	ch := make(chan assignment, 1)
	c.waiting = append(c.waiting, ch)
	if c.starting < len(c.waiting) && c.alive < p.opts.Workers {
		p.start(c)
	}
	p.mu.Unlock()
	select {
	case h := <-ch:
		if h.err != nil {
			p.work.Done()
			return nil, h.err
		}
		return h.worker, nil
	case <-ctx.Done():
		p.stopWaiting(c, ch)
		return nil, engine.NewError(errcode.Cancelled, "", "the statement was cancelled while it waited for a worker")
	}
}

// unavailable returns why no worker of c will start, or nil.
func (p *Pool) unavailable(c *group) error {
	switch {
	case p.closed:
		return engine.ErrClosing
	case c.broken != nil:
		return c.broken
	case c.fault != nil && c.alive == 0 && time.Now().Before(c.retry):
		return c.fault
	}
	return nil
}

// stopWaiting ends a wait, and returns a worker that has been assigned meanwhile.
func (p *Pool) stopWaiting(c *group, ch chan assignment) {
	p.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other chan assignment) bool { return other == ch })
	p.forget(c)
	p.mu.Unlock()
	select {
	case h := <-ch:
		if h.worker != nil {
			p.release(h.worker)
			return
		}
	default:
	}
	p.work.Done()
}

// release takes back a worker that is between statements or gone.
func (p *Pool) release(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready(w)
	p.work.Done()
}

// ready gives a worker to the statement that waits longest, or keeps it idle.
func (p *Pool) ready(w *worker) {
	c := w.group
	switch {
	case w.over():
	case p.closed || w.spent:
		w.kill()
	case len(c.waiting) > 0:
		c.waiting[0] <- assignment{worker: w}
		c.waiting = c.waiting[1:]
	case !p.current(c) && p.warmed():
		w.kill()
	default:
		c.idle = append(c.idle, w)
	}
}

// warmed reports whether the first worker of the newest catalog has started, or
// will not start.
func (p *Pool) warmed() bool {
	c := p.groups[groupKey{serial: p.newest}]
	return c != nil && (c.alive > c.starting || c.broken != nil || c.fault != nil)
}

// refuse fails all waiting statements.
func (c *group) refuse(err *engine.Error) {
	for _, ch := range c.waiting {
		ch <- assignment{err: err}
	}
	c.waiting = nil
}

func (c *group) killIdle() {
	for _, w := range c.idle {
		w.kill()
	}
	c.idle = nil
}

// fillUp starts the next missing worker of a group. One starts at a time, to leave
// processors to running statements.
func (p *Pool) fillUp(c *group) {
	wanted := len(c.waiting)
	if p.prewarmed(c) {
		wanted = p.opts.Workers
	}
	if c.starting == 0 && c.alive < min(wanted, p.opts.Workers) && c.broken == nil && !p.closed {
		p.start(c)
	}
}

// start starts a worker for c.
func (p *Pool) start(c *group) {
	c.alive++
	c.starting++
	p.work.Go(func() {
		w, err := p.newWorker(c)
		p.mu.Lock()
		defer p.mu.Unlock()
		c.starting--
		if err != nil {
			p.failed(c, err)
		} else {
			p.started(c, w)
		}
		if p.warmed() {
			p.killOutdated()
		}
		p.forget(c)
	})
}

func (p *Pool) started(c *group, w *worker) {
	c.fault, c.backoff, c.failures = nil, 0, 0
	p.stats.Started++
	p.ready(w)
	p.fillUp(c)
}

// failed records that a worker did not start. It fails the waiting statements,
// unless another worker may start.
func (p *Pool) failed(c *group, err error) {
	c.alive--
	if p.closed {
		return
	}
	var bad *scriptError
	if errors.As(err, &bad) {
		if c.failures++; c.failures < maxScripts {
			p.fillUp(c) // the script may name data that a refresh has replaced since
			return
		}
		if c.broken == nil {
			p.opts.Log.Error("statements cannot be isolated", "serial", c.key.serial, "error", bad)
		}
		c.broken = engine.NewError(errcode.Internal, "", "the worker cannot run the statement: %s", bad)
		c.refuse(c.broken)
		return
	}
	p.opts.Log.Warn("worker did not start", "error", err)
	c.postpone(engine.NewError(errcode.Internal, "try again in a moment", "no worker could be started: %s", err))
	if c.alive == 0 {
		c.refuse(c.fault)
	}
}

// postpone delays the start of the next worker, for the given reason.
func (c *group) postpone(why *engine.Error) {
	c.fault = why
	c.backoff = min(max(2*c.backoff, minBackoff), maxBackoff)
	c.retry = time.Now().Add(c.backoff)
}

// killOutdated ends the idle workers of all but the newest catalog.
func (p *Pool) killOutdated() {
	for _, c := range p.groups {
		if !p.current(c) {
			c.killIdle()
			p.forget(c)
		}
	}
}

// lost records that a started worker is gone, and starts a replacement. It is a
// fault if the worker was idle and ended by itself.
func (p *Pool) lost(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := w.group
	c.alive--
	if !w.killed() {
		p.stats.Crashed++
	}
	if i := slices.Index(c.idle, w); i >= 0 {
		c.idle = slices.Delete(c.idle, i, i+1)
		if w.served == 0 && !p.closed {
			p.opts.Log.Warn("idle worker ended", "error", w.fate)
			c.postpone(engine.NewError(errcode.Internal, "try again in a moment", "%s", w.fate.Message))
			if c.alive == 0 {
				c.refuse(c.fault)
			}
			return
		}
	}
	p.fillUp(c)
	p.forget(c)
}
