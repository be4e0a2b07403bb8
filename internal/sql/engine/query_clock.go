package engine

import (
	"context"
	"sync"
	"time"
)

// clock limits the work of a statement whose rows are read in parts: the time
// between two parts belongs to the reader and does not count. It stands still
// while the statement waits for its reader, for maxIdle times its limit at most.
type clock struct {
	limit  time.Duration
	mu     sync.Mutex
	timer  *time.Timer
	idle   *time.Timer // while it is paused
	cancel func()
	began  time.Time // when the timer was started
	left   time.Duration
	paused bool
	ended  bool
}

// maxIdle is for how many time limits a statement waits for a reader that does not come:
// it has one of the few slots of the engine.
const maxIdle = 10

// newClock starts a clock that cancels a context with [errTimeout].
func newClock(limit time.Duration, cancel context.CancelCauseFunc) *clock {
	end := func() { cancel(errTimeout) }
	return &clock{limit: limit, left: limit, began: time.Now(), timer: time.AfterFunc(limit, end), cancel: end}
}

// pause stops a clock. A nil clock has no effect.
func (c *clock) pause() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused && !c.ended && c.timer.Stop() {
		c.paused = true
		c.left -= time.Since(c.began)
		c.idle = time.AfterFunc(maxIdle*c.limit, c.cancel)
	}
}

// resume continues a clock that was paused.
func (c *clock) resume() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused && !c.ended {
		c.idle.Stop()
		c.paused, c.began = false, time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// restart gives the statement its whole limit again.
func (c *clock) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = c.limit
	if c.paused && !c.ended && c.idle.Stop() {
		c.idle.Reset(maxIdle * c.limit)
	}
	if !c.paused && !c.ended && c.timer.Stop() {
		c.began = time.Now()
		c.timer.Reset(c.limit)
	}
}

// end stops a clock for good.
func (c *clock) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.timer.Stop()
	if c.idle != nil {
		c.idle.Stop()
	}
}

// boundParts is bound for a statement whose rows are read in parts.
func (db *DB) boundParts(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, *clock) {
	ctx, stop := db.living(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	c := newClock(limit, cancel)
	return ctx, func() { c.end(); cancel(nil); stop() }, c
}

// NextPart gives a statement with [Request.Parts] its time limit again, for the
// next part of its rows.
func (r *Rows) NextPart() {
	if r.clock != nil {
		r.clock.restart()
	}
}
