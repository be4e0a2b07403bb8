package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// pool lends connections, at most limit at once, to callers in order of arrival,
// of which at most queue wait.
type pool struct {
	open    func() (*conn, error)
	slots   chan struct{}
	queue   int64
	waiting atomic.Int64
	stuck   atomic.Int64 // connections whose statement ignores interrupts

	mu     sync.Mutex
	idle   []*conn
	serial uint64 // of the newest catalog
	closed bool
}

func newPool(limit, queue int, open func() (*conn, error)) *pool {
	return &pool{open: open, slots: make(chan struct{}, limit), queue: int64(queue)}
}

// get waits for a connection. The error is an [*Error] with [errcode.Busy] when the
// queue is full, or ctx's.
func (p *pool) get(ctx context.Context) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
	c, err := p.take()
	if err != nil {
		<-p.slots
	}
	return c, err
}

func (p *pool) wait(ctx context.Context) error {
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > p.queue {
		return NewError(errcode.Busy, "try again in a moment", "%d statements are waiting already", p.queue)
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pool) take() (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosing
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	return p.open()
}

// put takes a connection back.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		c.forgetBefore(p.serial)
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if closed {
		c.close()
	}
	<-p.slots
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
func (p *pool) abandon() (recovered func(*conn)) {
	if p.stuck.Add(1) > maxAbandoned {
		return func(c *conn) { p.stuck.Add(-1); p.put(c) }
	}
	<-p.slots
	return func(c *conn) { c.close(); p.stuck.Add(-1) }
}

func (p *pool) abandoned() int { return int(p.stuck.Load()) }

func (p *pool) stats() Stats {
	return Stats{Running: len(p.slots), Waiting: int(p.waiting.Load()), Abandoned: p.abandoned()}
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
	for i := range cap(p.slots) { // every slot free: every connection back
		select {
		case p.slots <- struct{}{}:
		case <-timer.C:
			for range i {
				<-p.slots
			}
			return false
		}
	}
	for range cap(p.slots) { // callers from now on fail at once
		<-p.slots
	}
	return p.abandoned() == 0
}
