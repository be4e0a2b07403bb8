package udf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// queue runs the calls of one function. While fewer statements than runners run, a call
// starts at once, in its caller's goroutine if no other call is ready. Otherwise it waits,
// and the next statement runs the waiting calls of one caller, if that pays.
//
// A line has a runner while it has waiting calls: a call that enters it starts one, up to the
// number of runners, and a runner leaves the line when it finds no call there, both under the
// queue's lock. So no call waits for a runner that does not come. A runner holds a slot for one
// statement and then waits for another, so that the callers share the slots fairly.
//
// A statement takes as long as its slowest call, but each caller only waits as long as its own
// context allows. When all callers of a statement have gone, the statement is interrupted.
type queue struct {
	run   func(ctx context.Context, calls []*call) error
	slots *fair.Queue // the runners
	most  int         // calls in a statement
	depth int         // nesting depth of the statements: callers at one depth share a queue

	runners int

	mu      sync.Mutex
	lines   map[caller.Caller]*line // of callers with waiting calls or runners
	waiting int                     // calls in all lines
	pace
}

// line is the waiting calls of one caller. It is guarded by the queue.
type line struct {
	who     caller.Caller
	waiting []*call
	serving int // runners that the line has or waits for; one takes what is in waiting
}

// pace compares how long statements take: sharing one does not pay for a few calls if it
// has to be planned each time.
type pace struct{ alone, shared time.Duration } // recent averages; 0: not known

// pays reports whether n calls are faster in one statement than one after another.
func (p *pace) pays(n int) bool {
	if p.alone == 0 || p.shared == 0 || time.Duration(n)*p.alone > p.shared {
		return true
	}
	p.shared -= p.shared / 1024 // try again some time
	return false
}

// triedAgain is assumed for a statement of calls that must not share one: after some
// thousand calls, they may try again.
const triedAgain = 10 * time.Second

// add adds the time of a statement of n calls.
func (p *pace) add(n int, took time.Duration) {
	average := &p.alone
	if n > 1 {
		average = &p.shared
	}
	if *average == 0 {
		*average = took
	}
	*average += (took - *average) / 8
}

// leastRunners is the least number of concurrent statements of a function, even on one
// processor: while one runs, the next is prepared.
const leastRunners = 2

func newQueue(depth, most int, run func(ctx context.Context, calls []*call) error) *queue {
	runners := max(leastRunners, runtime.GOMAXPROCS(0))
	return &queue{
		run: run, depth: depth, most: most, runners: runners, lines: map[caller.Caller]*line{},
		slots: fair.New(fair.Options{Slots: runners, Waiting: MaxWaiting}),
	}
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
	l, runner, err := q.enter(c)
	if err != nil {
		return err
	}
	if runner {
		slot := q.slots.Try(l.who.Share(), l.who.Weight)
		if slot == nil {
			go q.serve(l)
		} else if shared, b := q.next(l); b.only(c) {
			b.cancel()
			defer q.handOver(l, slot)
			return q.timed(ctx, b.calls)
		} else {
			go func() {
				if q.work(shared, b, slot) {
					q.serve(l)
				}
			}()
		}
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		q.abandon(c)
		return ctx.Err()
	}
}

// enter puts c in the line of its caller. It reports whether the line gets another runner.
func (q *queue) enter(c *call) (l *line, runner bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= MaxWaiting {
		return nil, false, errFull()
	}
	if l = q.lines[c.who]; l == nil {
		l = &line{who: c.who}
		q.lines[c.who] = l
	}
	c.done = make(chan struct{})
	l.waiting = append(l.waiting, c)
	q.waiting++
	if l.serving < q.runners {
		l.serving++
		return l, true, nil
	}
	return l, false, nil
}

func errFull() error {
	return tools.NewError(errcode.Busy, fmt.Sprintf("%d calls of the function are waiting already", MaxWaiting),
		"try again in a moment")
}

// handOver gives up the slot of a call that ran alone, and serves the calls that wait.
func (q *queue) handOver(l *line, slot *fair.Slot) {
	slot.Release()
	q.mu.Lock()
	more := len(l.waiting) > 0
	if !more {
		q.leave(l)
	}
	q.mu.Unlock()
	if more {
		go q.serve(l)
	}
}

// leave ends a runner of a line. The queue is locked.
func (q *queue) leave(l *line) {
	if l.serving--; l.serving == 0 {
		delete(q.lines, l.who)
	}
}

// serve runs the calls of a line until none waits. It gives its slot up after each
// statement, to whomever it is due.
func (q *queue) serve(l *line) {
	for {
		slot, err := q.slots.Acquire(context.Background(), l.who.Share(), l.who.Weight)
		if err != nil {
			q.refuse(l)
			return
		}
		ctx, b := q.next(l)
		if !q.work(ctx, b, slot) {
			return
		}
	}
}

// work runs a batch and gives its slot up. It reports whether there was one: nil ends the runner.
func (q *queue) work(ctx context.Context, b *batch, slot *fair.Slot) bool {
	defer slot.Release()
	if b == nil {
		return false
	}
	q.resolve(ctx, b.calls)
	b.cancel()
	return true
}

// refuse fails the calls of a line that gets no runner, unless it has another.
func (q *queue) refuse(l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leave(l)
	if l.serving > 0 {
		return
	}
	q.waiting -= len(l.waiting)
	for _, c := range l.waiting {
		c.err = errFull()
		close(c.done)
	}
	l.waiting = nil
}

// next takes the calls of the next statement of a line; nil ends its runner.
func (q *queue) next(l *line) (context.Context, *batch) {
	runtime.Gosched() // let ready callers queue first and share the statement
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(l.waiting), q.most) {
		if bytes += l.waiting[n].bytes; n > 0 && bytes > MaxBatchBytes {
			break
		}
		n++
	}
	switch {
	case n == 0:
		q.leave(l)
		return nil, nil
	case n > 1 && !q.pays(n):
		n = 1
	}
	b := &batch{calls: slices.Clone(l.waiting[:n]), live: n}
	l.waiting = slices.Delete(l.waiting, 0, n)
	q.waiting -= n
	for _, c := range b.calls {
		c.batch = b
	}
	ctx, cancel := context.WithCancel(engine.WithNesting(caller.With(context.Background(), l.who), q.depth))
	b.cancel = cancel
	return ctx, b
}

// abandon removes the call of a caller that leaves from its batch, without affecting the
// others.
func (q *queue) abandon(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.batch == nil {
		if l := q.lines[c.who]; l != nil {
			if i := slices.Index(l.waiting, c); i >= 0 {
				l.waiting = slices.Delete(l.waiting, i, i+1)
				q.waiting--
			}
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
	if errors.Is(err, errAlone) {
		q.mu.Lock()
		q.shared = triedAgain
		q.mu.Unlock()
		for i := range calls {
			q.resolve(ctx, calls[i:i+1])
		}
		return
	}
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
			err = tools.NewError(errcode.Internal, fmt.Sprintf("the runtime failed on this call: %v", v),
				"please report it with the function")
		}
	}()
	return q.timed(ctx, calls)
}

// timed runs calls and records how long they took.
func (q *queue) timed(ctx context.Context, calls []*call) error {
	began := time.Now()
	err := q.run(ctx, calls)
	if err == nil {
		q.mu.Lock()
		q.add(len(calls), time.Since(began))
		q.mu.Unlock()
	}
	return err
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
