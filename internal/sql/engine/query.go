package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/plural"
)

// Request is a statement of a user or a model.
type Request struct {
	SQL    string
	Params Params
	Limits Limits // zero fields take the database's
	// Allow limits the relations that the statement itself may name; nil allows
	// all. Any other relation is reported as undeclared. Views and functions are
	// not limited.
	Allow func(Relation) bool
	// Isolate runs the statement outside this process, if the database has an
	// [Isolator] that can run it. If not, functions and types that can end the
	// process are refused.
	Isolate bool
	// Write permits INSERT, UPDATE and DELETE on writable relations. The result is
	// one BIGINT, the number of rows. A statement that ends with an error, including
	// a limit or a cancellation, has changed nothing.
	Write bool

	// Transaction is what the statement is a part of; nil: it is a transaction of its own.
	Transaction *Transaction

	// Whole says that the caller needs the rows all at once: Query returns when the
	// statement has ended, or when the caller must read some before it can continue.
	Whole bool

	// Parts says that the caller reads the rows in parts, at the pace of a client: the
	// time limit is one of the statement's work for each part (see [Rows.NextPart]).
	Parts bool

	// Input is the rows of the table [InputFrom]; nil if the statement has none. Such a
	// statement runs in this process.
	Input *Input

	// Peek says that Describe need not open relations ([Contents.Open]): it describes them as
	// they are known.
	Peek bool

	// Internal says that the runtime wrote the statement: it may call functions that are
	// hidden from the caller ([Contents.Hides]).
	Internal bool

	// Trusted skips the guard: another process of the runtime has judged the statement.
	Trusted  bool
	describe bool // and do not run it: see Describe
	again    bool // what it names was opened
}

// Rows is the result of a statement, streamed. Close it.
type Rows struct {
	columns   []Column
	catalog   uint64 // generation
	serial    uint64
	calls     []callSite
	traits    Traits
	reads     []Relation
	limits    Limits
	ctx       context.Context
	cancel    context.CancelFunc
	grace     time.Duration
	clock     *clock // nil unless the rows are read in parts
	started   chan error
	chunks    chan *Chunk
	claimed   atomic.Bool  // see claim
	written   bool         // it has changed rows, and committed unless it is in a transaction; set before started
	described *Description // instead of rows; set before started
	err       error        // of the producer; read after chunks is closed
	rows      int64
	ended     atomic.Bool // no chunk comes after those in chunks
	closed    atomic.Bool
	onClose   func()
}

// chunksAhead is how many chunks DuckDB may be ahead of the reader: about as many
// as the reader sends at once, otherwise DuckDB waits meanwhile.
const chunksAhead = 8

// Query judges a statement and starts it. The error is an [*Error].
//
// The statement sees the current generation until it ends. When ctx ends or the
// time limit passes, it is interrupted; if it does not react within
// [Options.Grace], Query and the iteration over [Rows.Chunks] return nevertheless
// and its connection is abandoned. A write that is already committing is waited
// for: it is not interrupted, and its outcome is returned.
//
// If the statement names a relation that is not open ([Contents.Open]), Query opens it first,
// without holding a connection, for as long as the statement may take.
func (db *DB) Query(ctx context.Context, req Request) (*Rows, error) {
	for range maxOpens {
		rows, err := db.query(ctx, req)
		if isLost(err) && db.opts.Lost != nil {
			continue // it waits for another DuckDB
		}
		var unopened *unopenedError
		if !errors.As(err, &unopened) {
			return rows, err
		}
		if err := db.openFor(ctx, req, unopened); err != nil {
			return nil, err
		}
		req.again = true
	}
	return nil, NewError(errcode.Loading, "try again in a moment", "the tables of the statement are being replaced")
}

// maxOpens is how often a statement opens what it names: a publication in between may have
// closed that again.
const maxOpens = 8

// unopenedError ends a statement before it begins, which names what must be opened.
type unopenedError struct {
	open func(context.Context) error
}

// Error is not shown: Query opens it.
func (*unopenedError) Error() string { return "the statement names a relation that is not open" }

// open returns what opens the relations that the statement names and fetches what it asks
// for, or nil.
func (c *Catalog) open(v *verdict, req *Request) (func(context.Context) error, error) {
	if c.contents.Open == nil || len(v.waits.names) == 0 && len(v.waits.asks) == 0 || req.Peek && req.describe {
		return nil, nil
	}
	r := Reading{Relations: v.waits.names, Again: req.again}
	if !req.describe {
		var err error
		if r.Asked, err = AskedOf(v.waits.asks, &req.Params); err != nil {
			return nil, err
		}
	}
	return c.contents.Open(r), nil
}

// openFor opens what a statement names, within its time limit.
func (db *DB) openFor(ctx context.Context, req Request, unopened *unopenedError) error {
	limits := db.limits(req.Limits)
	ctx, cancel := db.bound(ctx, limits.Timeout)
	defer cancel()
	err := unopened.open(ctx)
	if err != nil && ctx.Err() != nil {
		return stopped(ctx, limits)
	}
	return err
}

// query is Query for a statement whose relations may not be open.
func (db *DB) query(ctx context.Context, req Request) (*Rows, error) {
	pool, err := db.poolFor(ctx)
	if err != nil {
		return nil, err
	}
	limits := db.limits(req.Limits)
	ctx = withStatement(ctx)
	var clock *clock
	var cancel context.CancelFunc
	if req.Parts {
		ctx, cancel, clock = db.boundParts(ctx, limits.Timeout)
	} else {
		ctx, cancel = db.bound(ctx, limits.Timeout)
	}
	if err := db.recovery.wait(ctx); err != nil {
		defer cancel()
		return nil, waitError(ctx, err, limits)
	}
	c, err := pool.get(ctx)
	if err != nil {
		defer cancel()
		return nil, waitError(ctx, err, limits)
	}
	r := &Rows{
		limits: limits, ctx: ctx, cancel: cancel, grace: db.opts.Grace, clock: clock,
		started: make(chan error, 1), chunks: make(chan *Chunk, chunksAhead),
	}
	p := &producer{db: db, c: pool.lend(ctx, c, r.grace), rows: r, req: req}
	go p.run()
	err = r.waitStarted()
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// errTimeout is why a statement ends that is over its time limit.
var errTimeout = errors.New("over the time limit")

// bound limits a statement's context to its time limit and the database's life.
func (db *DB) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	ctx, stop := db.living(ctx)
	return ctx, func() { stop(); cancel() }
}

// living limits a context to the database's life.
func (db *DB) living(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(db.life, func() { cancel(ErrClosing) })
	return ctx, func() { stop(); cancel(nil) }
}

// Timeout is the longest time that a statement may take.
func (db *DB) Timeout() time.Duration { return db.opts.Limits.Timeout }

func (db *DB) limits(l Limits) Limits {
	if most := db.Timeout(); l.Timeout == 0 || l.Timeout > most {
		l.Timeout = most
	}
	if l.MaxRows == 0 {
		l.MaxRows = db.opts.Limits.MaxRows
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = db.opts.Limits.MaxBytes
	}
	return l
}

func waitError(ctx context.Context, err error, limits Limits) error {
	if ctx.Err() != nil {
		return stopped(ctx, limits)
	}
	return AsError(err)
}

// stopped returns the error of a statement whose context ended: the cause of the
// context, if that is an [*Error].
func stopped(ctx context.Context, limits Limits) *Error {
	var own *Error
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &own):
		return own
	case errors.Is(cause, errTimeout):
		return NewError(errcode.Timeout, "make it cheaper, or raise runtime.query.timeout",
			"the statement took longer than %s", limits.Timeout)
	case errors.Is(cause, context.DeadlineExceeded):
		return NewError(errcode.Timeout, "", "the statement exceeded its caller's deadline")
	case errors.Is(cause, ErrClosing):
		return ErrClosing
	}
	return NewError(errcode.Cancelled, "", "the statement was cancelled")
}

// waitStarted waits until the statement runs or has failed, at most for its limit
// and the grace unless it is a write that commits.
func (r *Rows) waitStarted() error {
	select {
	case err := <-r.started:
		return err
	case <-r.ctx.Done():
	}
	grace := time.NewTimer(r.grace)
	defer grace.Stop()
	var err error
	select {
	case err = <-r.started:
	case <-grace.C:
		if r.claim() {
			return stopped(r.ctx, r.limits)
		}
		err = <-r.started
	}
	if err == nil && r.written {
		return nil
	}
	return stopped(r.ctx, r.limits)
}

// claim reports whether the call is the first one. Either the write claims its
// rows and then commits, or the waiting caller does and then gives up.
func (r *Rows) claim() bool { return r.claimed.CompareAndSwap(false, true) }

// Context returns a context that ends when the statement is closed, cancelled or
// over its time limit.
func (r *Rows) Context() context.Context { return r.ctx }

// Columns describes the result.
func (r *Rows) Columns() []Column { return r.columns }

// Generation is the generation the statement sees.
func (r *Rows) Generation() uint64 { return r.catalog }

// Serial is the [Catalog.Serial] of the catalog the statement sees.
func (r *Rows) Serial() uint64 { return r.serial }

// Traits are the combined traits of all that the statement reads and calls.
func (r *Rows) Traits() Traits { return r.traits }

// Reads are the relations that the statement reads, also through views and functions:
// while their [DB.Version] is not greater than Serial, an equal statement that is neither
// volatile nor live has the same rows. They must not be changed.
func (r *Rows) Reads() []Relation { return r.reads }

// Functions returns the declared functions that the statement itself calls, without
// duplicates, in the order of their first call.
func (r *Rows) Functions() []string {
	var names []string
	for _, c := range r.calls {
		if !slices.Contains(names, c.function.Name) {
			names = append(names, c.function.Name)
		}
	}
	return names
}

// Written reports whether the statement has changed rows, and has committed unless it is a part
// of a [Transaction]. Failing to read the result does not undo that.
func (r *Rows) Written() bool { return r.written }

// Read is the number of rows read so far.
func (r *Rows) Read() int64 { return r.rows }

// Chunks iterates over the rows. An error is an [*Error] and ends the iteration;
// rows before it are valid but incomplete.
func (r *Rows) Chunks() iter.Seq2[*Chunk, error] {
	return func(yield func(*Chunk, error) bool) {
		for {
			chunk, err := r.next()
			if err != nil {
				yield(nil, err)
				return
			}
			if chunk == nil {
				return
			}
			r.rows += int64(chunk.rows)
			err = r.overLimit()
			more := err == nil && yield(chunk, nil)
			chunk.Destroy()
			if err != nil {
				yield(nil, err)
			}
			if !more {
				return
			}
		}
	}
}

func (r *Rows) overLimit() error {
	if r.limits.MaxRows > 0 && r.rows > r.limits.MaxRows {
		return NewError(errcode.Limit, "add LIMIT, or raise runtime.query.max_rows",
			"the result has more than %s", plural.Of(int(r.limits.MaxRows), "row"))
	}
	return nil
}

// Ready reports whether the next chunk, or the end, is there already.
func (r *Rows) Ready() bool { return len(r.chunks) > 0 || r.ended.Load() }

// next returns the next chunk, or nil at the end.
func (r *Rows) next() (*Chunk, error) {
	if r.written {
		return <-r.chunks, nil // and then nil: the channel is closed
	}
	var chunk *Chunk
	select {
	case chunk = <-r.chunks:
	default:
		select {
		case chunk = <-r.chunks:
		case <-r.ctx.Done():
			return nil, stopped(r.ctx, r.limits)
		}
	}
	if chunk == nil {
		return nil, r.err
	}
	return chunk, nil
}

// Close ends the statement if it still runs. It does not wait for a statement that
// ignores the interrupt. Further calls do nothing.
func (r *Rows) Close() {
	if r.closed.Swap(true) {
		return
	}
	r.cancel()
	r.discard()
	if r.onClose != nil {
		r.onClose()
	}
}

// OnClose sets what Close calls when it first closes the rows.
func (r *Rows) OnClose(f func()) { r.onClose = f }

// discard frees the chunks that no one will read. The producer frees those that it
// adds later.
func (r *Rows) discard() {
	for {
		select {
		case chunk := <-r.chunks:
			if chunk == nil { // closed
				return
			}
			chunk.Destroy()
		default:
			return
		}
	}
}
