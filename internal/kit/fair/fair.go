// Package fair lends a bounded number of slots to principals, none of which can
// keep the others out.
//
//	q := fair.New(fair.Options{Slots: 8, Waiting: 1024})
//	slot, err := q.Acquire(ctx, "ann", 1) // ErrFull: too many wait already
//	defer slot.Release()
//
// [Queue.Request] asks for a slot without waiting for it.
//
// A slot is long once it has been held for 100 ms, and short until then. Slots are
// never taken back. With S slots, and H half of them (rounded up):
//
//   - A free slot goes to the waiting principal that holds the fewest slots in
//     proportion to its weight; among equals to the one served least recently, then
//     to the one that waits longest. Within a principal, the first to arrive is first.
//   - A principal can hold all slots. The long slots of the others count against it
//     as H at most, so that it finds a slot although they hold all of them. There are
//     at most S such extra slots, and a principal gets one only if it holds fewer than
//     half of those that are left: several principals cannot use them up quickly.
//   - A principal with more than H long slots gets no other while another principal
//     runs or waits.
//   - If as many wait as may, the principal with the most waiting gives up its newest
//     one for a principal with fewer.
//
// It follows that a principal that holds no slot waits at most 100 ms, unless S is 1
// or all extra slots are in use.
package fair

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull means that too many are waiting already.
var ErrFull = errors.New("too many are waiting")

// Options configures [New].
type Options struct {
	Slots   int           // lent at once, without the extra ones; at least 1
	Waiting int           // how many may wait
	Long    time.Duration // after which a slot is long; 0: 100 ms
}

// Queue lends slots. It is safe for concurrent use.
type Queue struct {
	opts  Options
	half  int       // of the slots, rounded up
	epoch time.Time // of all times

	mu         sync.Mutex
	principals map[string]*principal
	sweepAt    int // number of principals at which those without slots are removed
	short      slotList
	running    int     // slots that are held
	long       int     // of these, long ones
	waiters    int     // of all principals
	arrivals   uint64  // numbers the waiters
	virtual    float64 // the turn of the principal served last
	timer      *time.Timer
	armed      bool // timer will fire
	idle       []chan struct{}
}

// Stats are the current numbers.
type Stats struct {
	Running int // slots that are held
	Long    int // of these, long ones
	Waiting int
}

// New makes a queue.
func New(opts Options) *Queue {
	opts.Slots = max(opts.Slots, 1)
	if opts.Long == 0 {
		opts.Long = 100 * time.Millisecond
	}
	return &Queue{
		opts: opts, half: (opts.Slots + 1) / 2, epoch: time.Now(),
		principals: map[string]*principal{}, sweepAt: minSweep,
	}
}

// Acquire takes a slot for a principal, whose weight counts from now on; 0 is 1. It
// waits for one until ctx ends. The error is [ErrFull] or that of ctx.
func (q *Queue) Acquire(ctx context.Context, name string, weight int) (*Slot, error) {
	s, r, err := q.ask(name, weight)
	if r == nil {
		return s, err
	}
	return r.Wait(ctx)
}

// Request is [Queue.Acquire] without the wait: the caller must call [Request.Wait]. The
// error is [ErrFull].
func (q *Queue) Request(name string, weight int) (*Request, error) {
	s, r, err := q.ask(name, weight)
	if r == nil && err == nil {
		r = &Request{queue: q, slot: s, ready: make(chan struct{})}
		close(r.ready)
	}
	return r, err
}

// ask takes a slot, or joins those who wait.
func (q *Queue) ask(name string, weight int) (*Slot, *Request, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	p, s := q.take(name, weight, now)
	if s != nil {
		return s, nil, nil
	}
	r, err := q.enqueue(p)
	q.arm(now)
	return nil, r, err
}

// Try takes a slot for a principal, as Acquire does, or returns nil if it would have to
// wait.
func (q *Queue) Try(name string, weight int) *Slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, s := q.take(name, weight, q.now())
	return s
}

// take lends the principal a slot that is free for it, or returns nil.
func (q *Queue) take(name string, weight int, now time.Duration) (*principal, *Slot) {
	p := q.principal(name, max(weight, 1))
	if q.waiters > 0 && q.age(now) {
		q.dispatch(now)
	}
	// No one who waits can use the slot that p takes here: dispatch has served them.
	if p.waiting.Len() > 0 || !q.admits(p, now) {
		return p, nil
	}
	s := q.lend(p, now)
	q.arm(now)
	return p, s
}

// Stats returns the current numbers.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.age(q.now())
	return Stats{Running: q.running, Long: q.long, Waiting: q.waiters}
}

// Idle returns a channel that is closed when no slot is held.
func (q *Queue) Idle() <-chan struct{} {
	c := make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == 0 {
		close(c)
	} else {
		q.idle = append(q.idle, c)
	}
	return c
}

func (q *Queue) now() time.Duration { return time.Since(q.epoch) }

// arm sets the timer to when the oldest short slot becomes long, which may admit
// those who wait.
func (q *Queue) arm(now time.Duration) {
	if q.armed || q.waiters == 0 || q.short.first == nil {
		return
	}
	q.armed = true
	wait := q.short.first.began + q.opts.Long - now
	if q.timer == nil {
		q.timer = time.AfterFunc(wait, q.fire)
	} else {
		q.timer.Reset(wait)
	}
}

func (q *Queue) fire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = false
	if q.waiters == 0 {
		return
	}
	now := q.now()
	q.age(now)
	q.dispatch(now)
	q.arm(now)
}

// age makes short slots long whose time has come, and reports whether there were any.
func (q *Queue) age(now time.Duration) bool {
	before := q.long
	for s := q.short.first; s != nil && now-s.began >= q.opts.Long; s = q.short.first {
		q.short.remove(s)
		s.long = true
		s.principal.long++
		q.long++
	}
	return q.long > before
}

// admits reports whether p may take a slot now. Slots that have become long are only
// looked for if it depends on them.
func (q *Queue) admits(p *principal, now time.Duration) bool {
	if q.running < q.half { // too few are long to matter
		return true
	}
	q.age(now)
	extra := 2*q.opts.Slots - q.running // that are left, at and beyond Slots
	switch others := q.long - p.long; {
	case p.long > q.half && (q.running > p.running || q.waiters > p.waiting.Len()):
		return false // over its half, and not alone
	case q.running >= q.opts.Slots && 2*p.running >= extra:
		return false
	default:
		return q.running-others+min(others, q.half) < q.opts.Slots
	}
}

// dispatch lends slots to those who wait until no one can use another.
func (q *Queue) dispatch(now time.Duration) {
	for q.waiters > 0 && q.running < 2*q.opts.Slots && q.running-q.long < q.opts.Slots {
		var next *principal
		for _, p := range q.principals {
			if p.waiting.Len() > 0 && (next == nil || p.before(next)) && q.admits(p, now) {
				next = p
			}
		}
		if next == nil {
			return
		}
		w := q.dequeue(next.first())
		w.slot = q.lend(next, now)
		close(w.ready)
	}
}

// lend takes a slot for p.
func (q *Queue) lend(p *principal, now time.Duration) *Slot {
	s := &Slot{queue: q, principal: p, began: now}
	q.short.add(s)
	q.running++
	p.running++
	q.virtual = max(p.turn, q.virtual)
	p.turn = q.virtual + 1/float64(p.weight)
	return s
}

// release takes a slot back.
func (q *Queue) release(s *Slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := s.principal
	if p == nil { // released before
		return
	}
	s.principal = nil
	if s.long {
		q.long--
		p.long--
	} else {
		q.short.remove(s)
	}
	q.running--
	p.running--
	if q.waiters > 0 {
		now := q.now()
		q.age(now)
		q.dispatch(now)
		q.arm(now)
	}
	if q.running == 0 {
		for _, c := range q.idle {
			close(c)
		}
		q.idle = nil
	}
}
