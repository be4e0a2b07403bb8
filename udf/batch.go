package udf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// queue runs the calls of one function. While fewer statements than runners run, a call
// starts at once, in its caller's goroutine if no other call is ready. Otherwise it waits,
// and the next statement runs the waiting calls, as far as they share their slots.
//
// A statement takes as long as its slowest call, but each caller only waits as long as
// its own context allows. A goroutine of the queue serves calls: it ends when none is
// left. When all callers of a statement have gone, the statement is interrupted.
type queue struct {
	run     func(ctx context.Context, calls []*call) error
	runners int
	depth   int // nesting depth of the statements: callers at one depth share a queue

	mu      sync.Mutex
	running int
	waiting []*call // empty unless a runner will take them
}

// leastRunners is the least number of concurrent statements of a function, even on one
// processor: while one runs, the next is prepared.
const leastRunners = 2

func newQueue(depth int, run func(ctx context.Context, calls []*call) error) *queue {
	return &queue{run: run, depth: depth, runners: max(leastRunners, runtime.GOMAXPROCS(0))}
}

// batch is the calls that share a statement.
type batch struct {
	calls  []*call
	live   int // calls that are not finished; guarded by the queue
	cancel context.CancelFunc
}

func (b *batch) only(c *call) bool { return b != nil && len(b.calls) == 1 && b.calls[0] == c }

// do returns when c has its result, when its context ends, which is an error, or when the
// queue is full, which is one too.
func (q *queue) do(ctx context.Context, c *call) error {
	first, err := q.enter(c)
	if err != nil {
		return err
	}
	if first {
		shared, b := q.next()
		if b.only(c) {
			b.cancel()
			defer q.handOver()
			return q.run(ctx, b.calls)
		}
		q.start(shared, b)
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		q.abandon(c)
		return ctx.Err()
	}
}

// enter queues c. The first waiting call gets a runner, if one is free.
func (q *queue) enter(c *call) (first bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= MaxWaiting {
		return false, tools.NewError(errcode.Busy, fmt.Sprintf("%d calls of the function are waiting already", MaxWaiting), "try again in a moment")
	}
	c.done = make(chan struct{})
	q.waiting = append(q.waiting, c)
	if q.running < q.runners {
		q.running++
		return true, nil
	}
	return false, nil
}

// handOver passes the runner of a call that ran alone to the waiting calls.
func (q *queue) handOver() { q.start(q.next()) }

// start runs b, if there is one, and the batches after it.
func (q *queue) start(ctx context.Context, b *batch) {
	if b != nil {
		go q.work(ctx, b)
	}
}

// work runs batches until no calls wait.
func (q *queue) work(ctx context.Context, b *batch) {
	for b != nil {
		q.resolve(ctx, b.calls)
		b.cancel()
		ctx, b = q.next()
	}
}

// next takes the calls of the next statement; nil gives the runner up.
func (q *queue) next() (context.Context, *batch) {
	runtime.Gosched() // let ready callers queue first and share the statement
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(q.waiting), MaxBatch) {
		if bytes += q.waiting[n].bytes; n > 0 && (bytes > MaxBatchBytes || q.waiting[n].who != q.waiting[0].who) {
			break
		}
		n++
	}
	if n == 0 {
		q.running--
		return nil, nil
	}
	b := &batch{calls: slices.Clone(q.waiting[:n]), live: n}
	q.waiting = slices.Delete(q.waiting, 0, n)
	for _, c := range b.calls {
		c.batch = b
	}
	ctx, cancel := context.WithCancel(engine.WithNesting(caller.With(context.Background(), b.calls[0].who), q.depth))
	b.cancel = cancel
	return ctx, b
}

// abandon removes the call of a caller that leaves from its batch, without affecting the
// others.
func (q *queue) abandon(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.batch == nil {
		if i := slices.Index(q.waiting, c); i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
		}
		return
	}
	c.finish()
}

// finish removes a call from the batch, whose statement is cancelled when no call is left.
// The queue is locked.
func (c *call) finish() {
	if c.over {
		return
	}
	c.over = true
	if c.batch.live--; c.batch.live == 0 {
		c.batch.cancel()
	}
}

// resolve gives every call its result. When a statement fails because of a single call, the
// calls are run again by halves, so that the others get their values and that one its own
// error.
func (q *queue) resolve(ctx context.Context, calls []*call) {
	calls = q.wanted(calls)
	if len(calls) == 0 {
		return
	}
	err := q.guarded(ctx, calls)
	if err != nil && len(calls) > 1 && ofOneCall(err) {
		half := len(calls) / 2
		q.resolve(ctx, calls[:half])
		q.resolve(ctx, calls[half:])
		return
	}
	q.deliver(calls, err)
}

// guarded runs calls. A panic, which is a bug of the runtime, fails them and not the
// process.
func (q *queue) guarded(ctx context.Context, calls []*call) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = tools.NewError(errcode.Internal, fmt.Sprintf("the runtime failed on this call: %v", v), "please report it with the function")
		}
	}()
	return q.run(ctx, calls)
}

// wanted returns the calls whose callers still wait.
func (q *queue) wanted(calls []*call) []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	wanted := make([]*call, 0, len(calls))
	for _, c := range calls {
		if !c.over {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// ofOneCall reports whether err may come from one of many calls. A statement over its time
// limit is not run again: the time of the callers is over as well.
func ofOneCall(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && (e.Code == errcode.Execution || e.Code == errcode.Limit)
}

// deliver wakes the callers; err, if any, is the error of all.
func (q *queue) deliver(calls []*call, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range calls {
		if err != nil {
			c.err = err
		}
		c.finish()
		close(c.done)
	}
}
