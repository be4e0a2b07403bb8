package udf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// queue runs the calls of one function. While fewer statements than runners
// run, a call starts at once; if no other is ready, in its caller's goroutine.
// Otherwise it waits, and the next statement takes all that wait.
//
// A statement takes as long as its slowest call, and each caller waits no
// longer than its own context says. A goroutine of the queue belongs to the
// calls it works for: it ends when none is left, and when all callers of its
// statement have gone, that is interrupted.
type queue struct {
	run     func(ctx context.Context, calls []*call) error
	runners int
	depth   int // of its statements inside others: callers of one depth share a queue

	mu      sync.Mutex
	running int
	waiting []*call // not empty only while a runner is on its way to them
}

// leastRunners is how many statements of a function run at once, even on one
// processor: while one runs, the next is on its way.
const leastRunners = 2

func newQueue(depth int, run func(ctx context.Context, calls []*call) error) *queue {
	return &queue{run: run, depth: depth, runners: max(leastRunners, runtime.GOMAXPROCS(0))}
}

// batch is the calls that share a statement.
type batch struct {
	calls  []*call
	live   int // calls that are not over; guarded by the queue
	cancel context.CancelFunc
}

func (b *batch) only(c *call) bool { return b != nil && len(b.calls) == 1 && b.calls[0] == c }

// do returns when c has its result or is not waited for any more; that, and a
// full queue, is an error.
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

// enter puts c among the calls that wait. The first of them gets a runner, if
// there is one.
func (q *queue) enter(c *call) (first bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= MaxWaiting {
		return false, tools.NewError(tools.CodeBusy, fmt.Sprintf("%d calls of the function are waiting already", MaxWaiting), "try again in a moment")
	}
	c.done = make(chan struct{})
	q.waiting = append(q.waiting, c)
	if q.running < q.runners {
		q.running++
		return true, nil
	}
	return false, nil
}

// handOver gives the runner of a call that ran alone to those that wait.
func (q *queue) handOver() { q.start(q.next()) }

// start runs b, if there is one, and what comes after it.
func (q *queue) start(ctx context.Context, b *batch) {
	if b != nil {
		go q.work(ctx, b)
	}
}

// work runs batches until nobody waits.
func (q *queue) work(ctx context.Context, b *batch) {
	for b != nil {
		q.settle(ctx, b.calls)
		b.cancel()
		ctx, b = q.next()
	}
}

// next takes the calls for the next statement; nil gives the runner up.
func (q *queue) next() (context.Context, *batch) {
	runtime.Gosched() // callers that are ready come first, and share the statement
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(q.waiting), MaxBatch) {
		if bytes += q.waiting[n].bytes; n > 0 && bytes > MaxBatchBytes {
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
	ctx, cancel := context.WithCancel(engine.WithNesting(context.Background(), q.depth))
	b.cancel = cancel
	return ctx, b
}

// abandon is for a caller that leaves. The others of its batch are not
// disturbed.
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

// finish takes a call out of its batch, whose statement is of no use without
// any. The queue is locked.
func (c *call) finish() {
	if c.over {
		return
	}
	c.over = true
	if c.batch.live--; c.batch.live == 0 {
		c.batch.cancel()
	}
}

// settle gives every call its result. When a statement fails on what one of
// its calls brought, the calls are run again by halves, so that the others
// have their values and that one its own error.
func (q *queue) settle(ctx context.Context, calls []*call) {
	calls = q.wanted(calls)
	if len(calls) == 0 {
		return
	}
	err := q.guarded(ctx, calls)
	if err != nil && len(calls) > 1 && ofOneCall(err) {
		half := len(calls) / 2
		q.settle(ctx, calls[:half])
		q.settle(ctx, calls[half:])
		return
	}
	q.deliver(calls, err)
}

// guarded runs calls. A panic, which is a fault of ours, fails them and not
// the process.
func (q *queue) guarded(ctx context.Context, calls []*call) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = tools.NewError(tools.CodeInternal, fmt.Sprintf("the runtime failed on this call: %v", v), "please report it with the function")
		}
	}()
	return q.run(ctx, calls)
}

// wanted returns the calls somebody waits for.
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

// ofOneCall reports whether err may come from one of many calls. A statement
// over its time limit is not run again: its callers' time is up as well.
func ofOneCall(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && (e.Code == engine.CodeExecution || e.Code == engine.CodeLimit)
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
