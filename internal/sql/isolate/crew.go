package isolate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// crew are the workers of one catalog. The pool's mutex guards it.
type crew struct {
	key      crewKey
	catalog  *engine.Catalog
	alive    int // workers that are there or begin
	starting int // those of them that begin
	idle     []*worker
	waiting  []chan hired // in the order they came; each gets one value

	failures int           // of the script, since it last ran through
	broken   *engine.Error // the script fails, made anew too: there will be no worker
	fault    *engine.Error // why the last worker did not begin; nil when it did
	rest     time.Duration // between attempts
	retry    time.Time     // not before
}

// hired is a worker for who waits, or why there is none.
type hired struct {
	worker *worker
	err    *engine.Error
}

// crewKey is of which catalog a crew is, and for statements of which depth: a
// statement that waits for an inner one, through a function of the runtime's,
// must not hold the worker that the inner one needs.
type crewKey struct {
	serial uint64
	depth  int
}

// crewOf returns the crew of a catalog, which may be the newest from now on.
func (p *Pool) crewOf(cat *engine.Catalog, depth int) *crew {
	key := crewKey{cat.Serial(), depth}
	c, ok := p.crews[key]
	if !ok {
		c = &crew{key: key, catalog: cat}
		p.crews[key] = c
	}
	if p.newest < key.serial {
		p.newest = key.serial
		for _, old := range p.crews {
			p.forget(old)
		}
	}
	return c
}

// current reports whether c is of the newest catalog.
func (p *Pool) current(c *crew) bool { return c.key.serial == p.newest }

// prewarmed reports whether c is to be complete before anybody waits.
func (p *Pool) prewarmed(c *crew) bool { return p.current(c) && c.key.depth == 0 }

// forget drops a crew that nobody needs any more.
func (p *Pool) forget(c *crew) {
	if !p.current(c) && c.alive == 0 && len(c.waiting) == 0 {
		delete(p.crews, c.key)
	}
}

// hire returns a worker of the catalog, which is the caller's until it calls
// settle. The error is an [*engine.Error].
func (p *Pool) hire(ctx context.Context, cat *engine.Catalog) (*worker, error) {
	p.mu.Lock()
	c := p.crewOf(cat, engine.Nesting(ctx))
	if err := p.refusal(c); err != nil {
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
	ch := make(chan hired, 1)
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
		p.leave(c, ch)
		return nil, newError(engine.CodeCancelled, "the statement was cancelled while it waited for a worker", "")
	}
}

// refusal is why no worker of c will come.
func (p *Pool) refusal(c *crew) error {
	switch {
	case p.closed:
		return newError(engine.CodeCancelled, errClosed.Error(), "")
	case c.broken != nil:
		return c.broken
	case c.fault != nil && c.alive == 0 && time.Now().Before(c.retry):
		return c.fault
	}
	return nil
}

// leave stops waiting. What has been handed over meanwhile goes back.
func (p *Pool) leave(c *crew, ch chan hired) {
	p.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other chan hired) bool { return other == ch })
	p.forget(c)
	p.mu.Unlock()
	select {
	case h := <-ch:
		if h.worker != nil {
			p.settle(h.worker)
			return
		}
	default:
	}
	p.work.Done()
}

// settle takes a worker back that is between statements, or gone.
func (p *Pool) settle(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready(w)
	p.work.Done()
}

// ready gives a worker to who waits the longest, or keeps it.
func (p *Pool) ready(w *worker) {
	c := w.crew
	switch {
	case w.over():
	case p.closed || w.spent:
		w.kill()
	case len(c.waiting) > 0:
		c.waiting[0] <- hired{worker: w}
		c.waiting = c.waiting[1:]
	case !p.current(c) && p.settled():
		w.kill()
	default:
		c.idle = append(c.idle, w)
	}
}

// settled reports whether the first worker of the newest catalog has begun, or
// will not.
func (p *Pool) settled() bool {
	c := p.crews[crewKey{serial: p.newest}]
	return c != nil && (c.alive > c.starting || c.broken != nil || c.fault != nil)
}

// refuse tells all who wait that no worker will come.
func (c *crew) refuse(err *engine.Error) {
	for _, ch := range c.waiting {
		ch <- hired{err: err}
	}
	c.waiting = nil
}

func (c *crew) dismissIdle() {
	for _, w := range c.idle {
		w.kill()
	}
	c.idle = nil
}

// fillUp starts the next worker that a crew lacks, one after the other, so
// that their beginning leaves the processors to others.
func (p *Pool) fillUp(c *crew) {
	wanted := len(c.waiting)
	if p.prewarmed(c) {
		wanted = p.opts.Workers
	}
	if c.starting == 0 && c.alive < min(wanted, p.opts.Workers) && c.broken == nil && !p.closed {
		p.start(c)
	}
}

// start begins a worker for c.
func (p *Pool) start(c *crew) {
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
		if p.settled() {
			p.dismissOthers()
		}
		p.forget(c)
	})
}

func (p *Pool) started(c *crew, w *worker) {
	c.fault, c.rest, c.failures = nil, 0, 0
	p.stats.Started++
	p.ready(w)
	p.fillUp(c)
}

// failed notes that a worker did not begin. Who waits is told, unless another
// worker may come.
func (p *Pool) failed(c *crew, err error) {
	c.alive--
	if p.closed {
		return
	}
	var bad *scriptError
	if errors.As(err, &bad) {
		if c.failures++; c.failures < maxScripts {
			p.fillUp(c) // what the script names may be gone: data that a refresh has replaced since
			return
		}
		if c.broken == nil {
			p.opts.Log.Error("statements cannot be isolated", "serial", c.key.serial, "error", bad)
		}
		c.broken = newError(engine.CodeInternal, fmt.Sprintf("the worker cannot run the statement: %s", bad), "")
		c.refuse(c.broken)
		return
	}
	p.opts.Log.Warn("a worker did not start", "error", err)
	c.postpone(newError(engine.CodeInternal, fmt.Sprintf("no worker starts: %s", err), "try again in a moment"))
	if c.alive == 0 {
		c.refuse(c.fault)
	}
}

// postpone says why the next worker begins later.
func (c *crew) postpone(why *engine.Error) {
	c.fault = why
	c.rest = min(max(2*c.rest, minBackoff), maxBackoff)
	c.retry = time.Now().Add(c.rest)
}

// dismissOthers ends the idle workers of catalogs that are not the newest.
func (p *Pool) dismissOthers() {
	for _, c := range p.crews {
		if !p.current(c) {
			c.dismissIdle()
			p.forget(c)
		}
	}
}

// lost notes that a worker that had begun is gone, and has another take its
// place. One that was idle and ended by itself is a fault.
func (p *Pool) lost(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := w.crew
	c.alive--
	if !w.killed() {
		p.stats.Crashed++
	}
	if i := slices.Index(c.idle, w); i >= 0 {
		c.idle = slices.Delete(c.idle, i, i+1)
		if w.served == 0 && !p.closed {
			p.opts.Log.Warn("an idle worker ended", "error", w.fate)
			c.postpone(newError(engine.CodeInternal, w.fate.Message, "try again in a moment"))
			if c.alive == 0 {
				c.refuse(c.fault)
			}
			return
		}
	}
	p.fillUp(c)
	p.forget(c)
}
