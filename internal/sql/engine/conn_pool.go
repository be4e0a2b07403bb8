package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
)

// pool lends connections to callers, who share them fairly.
type pool struct {
	open    func() (*conn, error)
	slots   *fair.Queue
	limit   int   // slots, without the extra ones
	waiting int   // who may wait
	memory  int64 // resident bytes of the process above which a caller with abandoned statements gets no connection

	mu        sync.Mutex
	idle      []*conn
	serial    uint64 // of the newest catalog
	closed    bool
	stuck     int            // statements that ignore interrupts
	stuckWith map[string]int // of these, each caller's
}

func newPool(opts Options, memory int64, open func() (*conn, error)) *pool {
	return &pool{
		open: open, slots: fair.New(fair.Options{Slots: opts.Connections, Waiting: opts.Queue}),
		limit: opts.Connections, waiting: opts.Queue, memory: memory, stuckWith: map[string]int{},
	}
}

// get waits for a connection. The error is an [*Error] with [errcode.Busy] when too
// many wait already or the caller has abandoned statements, or ctx's.
func (p *pool) get(ctx context.Context) (*conn, error) {
	who := caller.From(ctx)
	slot, err := p.slots.Acquire(ctx, who.Share(), who.Weight)
	switch {
	case errors.Is(err, fair.ErrFull):
		return nil, NewError(errcode.Busy, "try again in a moment, or raise runtime.query.max_queued_queries",
			"more statements wait than the limit of %d", p.waiting)
	case err != nil:
		return nil, err
	}
	c, err := p.take(who.Share())
	if err != nil {
		slot.Release()
		return nil, err
	}
	c.slot, c.share = slot, who.Share()
	return c, nil
}

func (p *pool) take(share string) (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosing
	}
	if err := p.overloaded(share); err != nil {
		p.mu.Unlock()
		return nil, err
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !c.in.retired.Load() {
			p.mu.Unlock()
			return c, nil
		}
		c.close()
	}
	p.mu.Unlock()
	return p.open()
}

// overloaded returns why a caller gets no connection although one is free, or nil: its
// abandoned statements continue to use processors and memory that no limit bounds. Those of
// others are never the reason.
func (p *pool) overloaded(share string) error {
	n := p.stuckWith[share]
	if n == 0 || n <= max(p.limit/2, leastAbandoned) && residentBytes() <= p.memory {
		return nil
	}
	return NewError(errcode.Busy, "try again when they have ended",
		"statements of this caller that ignore their cancellation: %d", n)
}

// add adds a connection that no one has.
func (p *pool) add(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// dropRetired closes the idle connections of retired instances.
func (p *pool) dropRetired() {
	p.mu.Lock()
	idle := p.idle
	p.idle = slices.DeleteFunc(slices.Clone(idle), func(c *conn) bool { return c.in.retired.Load() })
	p.mu.Unlock()
	for _, c := range idle {
		if c.in.retired.Load() {
			c.close()
		}
	}
}

// put takes a connection back.
func (p *pool) put(c *conn) {
	slot := c.slot
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < p.limit && !c.in.retired.Load()
	if keep {
		c.forgetBefore(p.serial)
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.close()
	}
	slot.Release()
}

// forgetBefore drops the prepared statements of catalogs older than serial, on
// idle connections now and on the others when they are returned: they hold
// resources of these catalogs.
func (p *pool) forgetBefore(serial uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serial = serial
	for _, c := range p.idle {
		c.forgetBefore(serial)
	}
}

// abandon gives up the slot of a connection that does not react, so that others
// may run, unless too many are in that state. The caller calls the returned
// function instead of put when the connection is free again.
func (p *pool) abandon(c *conn) (recovered func(*conn)) {
	p.mu.Lock()
	p.stuck++
	p.stuckWith[c.share]++
	many := p.stuck > maxAbandoned
	p.mu.Unlock()
	if !many {
		c.slot.Release()
	}
	return func(c *conn) {
		if !many {
			c.close()
		}
		p.mu.Lock()
		p.stuck--
		if p.stuckWith[c.share]--; p.stuckWith[c.share] == 0 {
			delete(p.stuckWith, c.share)
		}
		p.mu.Unlock()
		if many {
			p.put(c)
		}
	}
}

func (p *pool) abandoned() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stuck
}

func (p *pool) stats() Stats {
	s := p.slots.Stats()
	return Stats{Running: s.Running, Waiting: s.Waiting, Abandoned: p.abandoned()}
}

// close closes idle connections now and the others when they are returned. It
// waits for those as quiet does, and reports whether all are closed.
func (p *pool) close(patience time.Duration) bool {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
	return p.quiet(patience)
}

// quiet waits at most patience until no connection is in use, and reports whether
// that is the case.
func (p *pool) quiet(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.slots.Idle():
		return p.abandoned() == 0
	case <-timer.C:
		return false
	}
}
