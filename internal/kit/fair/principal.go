package fair

import (
	"container/list"
	"context"
	"maps"
)

// minSweep is the number of principals below which none is removed.
const minSweep = 64

// principal is one who takes slots. The mutex of the queue guards it.
type principal struct {
	weight  int
	running int       // slots that it holds
	long    int       // of these, long ones
	turn    float64   // grows with each slot by 1/weight: the smallest was served least recently
	waiting list.List // of *Request, in order of arrival
}

// Request is a request for a slot.
type Request struct {
	queue     *Queue
	principal *principal
	number    uint64 // in order of arrival
	element   *list.Element
	ready     chan struct{} // closed when slot or err is set
	slot      *Slot
	err       error
}

// Ready is closed when [Request.Wait] need not wait.
func (r *Request) Ready() <-chan struct{} { return r.ready }

// Wait returns the slot when there is one for the request. When ctx ends before, the
// request is withdrawn. The error is [ErrFull], if others took its place among those
// who wait, or that of ctx.
func (r *Request) Wait(ctx context.Context) (*Slot, error) {
	select {
	case <-r.ready:
		return r.slot, r.err
	case <-ctx.Done():
		r.queue.leave(r)
		return nil, ctx.Err()
	}
}

func (q *Queue) principal(name string, weight int) *principal {
	p, ok := q.principals[name]
	if !ok {
		if len(q.principals) >= q.sweepAt {
			maps.DeleteFunc(q.principals, func(_ string, p *principal) bool { return p.running == 0 && p.waiting.Len() == 0 })
			q.sweepAt = max(minSweep, 2*len(q.principals))
		}
		p = &principal{turn: q.virtual}
		q.principals[name] = p
	}
	p.weight = weight
	return p
}

func (p *principal) first() *Request { return p.waiting.Front().Value.(*Request) }

// before reports whether a slot that both wait for goes to p. Both wait.
func (p *principal) before(other *principal) bool {
	a, b := p.running*other.weight, other.running*p.weight
	switch {
	case a != b:
		return a < b
	case p.turn != other.turn:
		return p.turn < other.turn
	}
	return p.first().number < other.first().number
}

// enqueue lets a call of p wait, in place of another one if necessary and fair.
func (q *Queue) enqueue(p *principal) (*Request, error) {
	if q.waiters >= q.opts.Waiting {
		most := p
		for _, other := range q.principals {
			if other.waiting.Len() > most.waiting.Len() {
				most = other
			}
		}
		if most.waiting.Len() <= p.waiting.Len()+1 {
			return nil, ErrFull
		}
		last := q.dequeue(most.waiting.Back().Value.(*Request))
		last.err = ErrFull
		close(last.ready)
	}
	q.waiters++
	q.arrivals++
	w := &Request{queue: q, principal: p, number: q.arrivals, ready: make(chan struct{})}
	w.element = p.waiting.PushBack(w)
	p.turn = max(p.turn, q.virtual) // it gains nothing by having been away
	return w, nil
}

// dequeue ends the wait of w.
func (q *Queue) dequeue(w *Request) *Request {
	w.principal.waiting.Remove(w.element)
	w.element = nil
	q.waiters--
	return w
}

// leave ends a wait whose caller does not wait any longer. A slot that it has got
// meanwhile goes to others.
func (q *Queue) leave(w *Request) {
	q.mu.Lock()
	if w.element != nil {
		q.dequeue(w)
		now := q.now()
		q.age(now)
		q.dispatch(now) // another may now be alone
		q.arm(now)
	}
	s := w.slot
	q.mu.Unlock()
	if s != nil {
		s.Release()
	}
}
