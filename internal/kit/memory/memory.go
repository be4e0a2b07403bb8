// Package memory bounds what requests hold in memory at once.
//
// The body of a request, an answer of a model provider and a result of an MCP server may each
// have tens of megabytes. One of them is no burden, but a hundred at once end the process. So
// requests share a [Budget], and one caller gets at most half of it. What does not fit waits for a
// while and is then refused, before it is read:
//
//	ctx, end := budget.Begin(ctx, principal) // a request
//	defer end()
//	err := memory.Take(ctx, size)             // before something large is read; ErrShort
//	body, err := memory.Body(ctx, body, size) // of known size, from a sender that may be slow
//	body = memory.Reader(ctx, body)           // of unknown size
//	free, err := memory.Hold(ctx, size)       // for a part of the request
//
// The first bytes of a request are free, so that usual requests neither wait nor are refused.
package memory

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// Free is how many bytes of a request, with what it reads for its answer, do not count.
	Free = 64 << 10
	// Copies is how many times its length a text takes, as JSON of short values does once it is
	// decoded.
	Copies = 8
	// patience is how long a request waits for the memory of others.
	patience = 10 * time.Second
	// least is the smallest budget.
	least = 512 << 20
)

// ErrShort is returned for a request whose memory the others of its caller, or all others, hold.
var ErrShort = errors.New("large requests that run already hold as much memory as they may")

// Available is the memory of the machine in bytes or, if that is less, of the control group of
// this process, as a container has one; 0 if unknown.
func Available() int64 {
	memory, err := memlimit.FromSystem()
	if err != nil {
		memory = 0
	}
	if group, err := memlimit.FromCgroup(); err == nil && (group < memory || memory == 0) {
		memory = group
	}
	return int64(min(memory, math.MaxInt64))
}

// Budget is the memory of all requests together. A nil Budget has no limit.
type Budget struct {
	total int64
	share int64 // of one caller

	mu     sync.Mutex
	all    sums
	owners map[string]*owner
	freed  chan struct{} // closed when memory is given back
}

// sums are bytes that requests hold, and of these the ones of requests that wait for more.
type sums struct{ used, stuck int64 }

// owner is a caller with requests.
type owner struct {
	sums
	requests int
}

// NewBudget makes a budget of that many bytes of decoded texts; 0: a quarter of what is
// [Available].
func NewBudget(total int64) *Budget {
	if total <= 0 {
		total = max(Available()/4, least)
	}
	return &Budget{total: total, share: total / 2, owners: map[string]*owner{}, freed: make(chan struct{})}
}

type heldKey struct{}

// held is what one request holds.
type held struct {
	budget *Budget
	owner  *owner

	taking sync.Mutex // held during Take; the rest is guarded by budget.mu
	asked  int64      // bytes of texts
	taken  int64      // of the budget
	stuck  bool       // it waits for more
	ended  bool
}

// Begin begins a request of a caller. What it takes is free again after end.
func (b *Budget) Begin(ctx context.Context, caller string) (in context.Context, end func()) {
	if b == nil {
		return ctx, func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.owners[caller]
	if o == nil {
		o = &owner{}
		b.owners[caller] = o
	}
	o.requests++
	h := &held{budget: b, owner: o}
	return context.WithValue(ctx, heldKey{}, h), func() { b.end(h, caller) }
}

// end gives back what a request holds.
func (b *Budget) end(h *held, caller string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.ended = true
	b.giveBack(h, h.taken)
	if h.owner.requests--; h.owner.requests == 0 {
		delete(b.owners, caller)
	}
}

// giveBack lets others have what a request does not need any more. The caller must hold mu.
func (b *Budget) giveBack(h *held, bytes int64) {
	if bytes <= 0 {
		return
	}
	h.taken -= bytes
	b.all.used -= bytes
	h.owner.used -= bytes
	if h.stuck {
		b.all.stuck -= bytes
		h.owner.stuck -= bytes
	}
	close(b.freed)
	b.freed = make(chan struct{})
}

// Take takes memory for a text of so many bytes, for the request of the context, until that
// ends. It waits a while for other requests, and returns [ErrShort] if they hold too much, or the
// error of ctx. A request that is larger than its share gets the whole share.
func Take(ctx context.Context, bytes int64) error {
	_, err := Hold(ctx, bytes)
	return err
}

// Hold is [Take] for a part of the request, which gives the memory back with free, or else when
// the request ends.
func Hold(ctx context.Context, bytes int64) (free func(), err error) {
	h, _ := ctx.Value(heldKey{}).(*held)
	if h == nil {
		return func() {}, nil
	}
	h.taking.Lock()
	defer h.taking.Unlock()
	if err := h.budget.take(ctx, h, bytes); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { h.free(bytes) }), nil
}

// free undoes take.
func (h *held) free(bytes int64) {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	h.asked -= bytes
	h.budget.giveBack(h, h.taken-h.needed())
}

// needed is what a request needs of the budget. The caller must hold the budget's mu.
func (h *held) needed() int64 {
	if h.ended {
		return 0
	}
	return min(min(max(h.asked-Free, 0), math.MaxInt64/Copies)*Copies, h.budget.share)
}

func (b *Budget) take(ctx context.Context, h *held, bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.asked += bytes
	if err := b.await(ctx, h); err != nil {
		h.asked -= bytes
		return err
	}
	if more := h.needed() - h.taken; more > 0 {
		b.all.used += more
		h.owner.used += more
		h.taken += more
	}
	return nil
}

// await waits until there is room for what a request needs. The caller must hold mu.
//
// Requests that hold a part and wait for the rest could wait for each other. So one that would be
// the last of its caller's, or of all, to wait fails at once, and requests that hold nothing yet
// let those of their caller go first that do.
func (b *Budget) await(ctx context.Context, h *held) error {
	fits := func() bool {
		more := h.needed() - h.taken
		return more <= 0 || b.all.used+more <= b.total && h.owner.used+more <= b.share && (h.taken > 0 || h.owner.stuck == 0)
	}
	if fits() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrShort)
	defer cancel()
	h.stuck = true
	b.all.stuck += h.taken
	h.owner.stuck += h.taken
	defer func() {
		h.stuck = false
		b.all.stuck -= h.taken
		h.owner.stuck -= h.taken
	}()
	for !fits() {
		if h.taken > 0 && (h.owner.used == h.owner.stuck || b.all.used == b.all.stuck) {
			return ErrShort
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Body takes memory for a body of so many bytes, as [Take] does, and returns the body. What has
// not arrived after a while is given back, so that a slow sender does not keep others from it,
// and taken when it arrives: then errors of the body may be [ErrShort].
func Body(ctx context.Context, body io.ReadCloser, size int64) (io.ReadCloser, error) {
	h, _ := ctx.Value(heldKey{}).(*held)
	if h == nil {
		return body, nil
	}
	if err := Take(ctx, size); err != nil || size <= Free {
		return body, err
	}
	d := &declared{
		reader:  reader{ReadCloser: body, take: func(bytes int64) error { return Take(ctx, bytes) }},
		awaited: size,
	}
	d.timer = time.AfterFunc(arrival, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		h.free(d.awaited)
		d.late = true
	})
	return d, nil
}

// arrival is how long a body may take to arrive while its whole size is held.
const arrival = 2 * time.Second

// declared is a body that has memory for its size.
type declared struct {
	reader
	timer *time.Timer

	mu      sync.Mutex
	awaited int64 // bytes with memory that have not arrived
	late    bool  // these bytes have none any more
}

func (d *declared) Read(p []byte) (int, error) {
	if d.isLate() {
		return d.reader.Read(p)
	}
	n, err := d.ReadCloser.Read(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.late { // while it was read
		d.owed += int64(n)
	} else {
		d.awaited -= int64(n)
	}
	return n, err
}

func (d *declared) isLate() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.late
}

func (d *declared) Close() error {
	d.timer.Stop()
	return d.ReadCloser.Close()
}

// Reader returns r, which takes memory for what it has read. Its error may be [ErrShort].
func Reader(ctx context.Context, r io.ReadCloser) io.ReadCloser {
	if ctx.Value(heldKey{}) == nil {
		return r
	}
	return &reader{ReadCloser: r, take: func(bytes int64) error { return Take(ctx, bytes) }}
}

type reader struct {
	io.ReadCloser
	take func(bytes int64) error // for the request
	owed int64                   // bytes that are read and not taken yet
}

func (r *reader) Read(p []byte) (int, error) {
	if r.owed >= Free {
		if err := r.take(r.owed); err != nil {
			return 0, err
		}
		r.owed = 0
	}
	n, err := r.ReadCloser.Read(p)
	r.owed += int64(n)
	return n, err
}
