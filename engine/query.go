package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Request is a statement of a user's or a model's.
type Request struct {
	SQL    string
	Params Params
	Limits Limits // zero fields take the database's
	// Allow limits the relations that the statement itself may name; nil is
	// all that are declared. Another one is refused as if there were none of
	// its name. Views and functions read what they read.
	Allow func(Relation) bool
	// Isolate says that the statement runs outside of this process, if the
	// database has an [Isolator].
	Isolate bool
	// Write permits INSERT, UPDATE and DELETE on relations that are writable.
	Write bool

	trusted bool // judged already: see QueryTrusted
}

// Rows is the result of a statement, streamed. Close it.
type Rows struct {
	columns []Column
	catalog uint64 // generation
	serial  uint64
	calls   []callSite
	traits  Traits
	limits  Limits
	ctx     context.Context
	cancel  context.CancelFunc
	grace   time.Duration
	started chan error
	chunks  chan mapping.DataChunk
	err     error // of the producer; read after chunks is closed
	rows    int64
	closed  atomic.Bool
}

// chunksAhead is how many chunks DuckDB may be ahead of the reader.
const chunksAhead = 4

// Query judges a statement and starts it. The error is an [*Error].
//
// The statement sees one generation, the current one, to its end. When ctx
// ends or the time limit passes, it is interrupted; if it does not react
// within [Options.Grace], Query and the loop over [Rows.Chunks] return all the
// same and its connection is given up.
func (db *DB) Query(ctx context.Context, req Request) (*Rows, error) {
	pool, err := db.poolFor(ctx)
	if err != nil {
		return nil, err
	}
	limits := db.limits(req.Limits)
	ctx, cancel := db.bound(ctx, limits.Timeout)
	c, err := pool.get(ctx)
	if err != nil {
		defer cancel()
		return nil, waitError(ctx, err, limits)
	}
	r := &Rows{
		limits: limits, ctx: ctx, cancel: cancel, grace: db.opts.Grace,
		started: make(chan error, 1), chunks: make(chan mapping.DataChunk, chunksAhead),
	}
	p := &producer{db: db, pool: pool, c: c, rows: r, req: req}
	go p.run()
	err = r.waitStarted()
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// The causes of a statement's end that are ours.
var (
	errTimeout = errors.New("over the time limit")
	errClosing = errors.New("the runtime is shutting down")
)

// bound ends a statement's context with its time limit and with the database.
func (db *DB) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	ctx, cancelCause := context.WithCancelCause(ctx)
	stop := context.AfterFunc(db.life, func() { cancelCause(errClosing) })
	return ctx, func() { stop(); cancel() }
}

func (db *DB) limits(l Limits) Limits {
	if l.Timeout == 0 {
		l.Timeout = db.opts.Limits.Timeout
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

// stopped is the error of a statement whose context ended.
func stopped(ctx context.Context, limits Limits) *Error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return newError(CodeTimeout, "make it cheaper, or raise runtime.query.timeout",
			"the statement took longer than %s", limits.Timeout)
	case errors.Is(cause, context.DeadlineExceeded):
		return newError(CodeTimeout, "", "the statement took longer than its caller waits")
	case errors.Is(cause, errClosing):
		return newError(CodeCancelled, "", "%s", errClosing)
	}
	return newError(CodeCancelled, "", "the statement was cancelled")
}

// waitStarted waits until the statement runs or has failed, and not longer
// than its limit and the grace.
func (r *Rows) waitStarted() error {
	select {
	case err := <-r.started:
		return err
	case <-r.ctx.Done():
	}
	grace := time.NewTimer(r.grace)
	defer grace.Stop()
	select {
	case <-r.started:
	case <-grace.C:
	}
	return stopped(r.ctx, r.limits)
}

// Columns describes the result.
func (r *Rows) Columns() []Column { return r.columns }

// Generation is the generation the statement sees.
func (r *Rows) Generation() uint64 { return r.catalog }

// Serial is the [Catalog.Serial] of the catalog that the statement sees.
func (r *Rows) Serial() uint64 { return r.serial }

// Traits are those of all that the statement reads and calls.
func (r *Rows) Traits() Traits { return r.traits }

// Functions returns the declared functions that the statement itself calls,
// once each, in the order of their first call.
func (r *Rows) Functions() []string {
	var names []string
	for _, c := range r.calls {
		if !slices.Contains(names, c.function.Name) {
			names = append(names, c.function.Name)
		}
	}
	return names
}

// Read is the number of rows read so far.
func (r *Rows) Read() int64 { return r.rows }

// Chunks iterates over the rows. An error is an [*Error] and the last thing
// yielded; rows before it are valid but incomplete.
func (r *Rows) Chunks() iter.Seq2[*Chunk, error] {
	return func(yield func(*Chunk, error) bool) {
		chunk := &Chunk{}
		for {
			raw, err := r.next()
			if err != nil {
				yield(nil, err)
				return
			}
			if raw.Ptr == nil {
				return
			}
			chunk.load(raw, r.columns)
			r.rows += int64(chunk.rows)
			err = r.overLimit()
			more := err == nil && yield(chunk, nil)
			mapping.DestroyDataChunk(&chunk.raw)
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
		return newError(CodeLimit, "add LIMIT, or raise runtime.query.max_rows",
			"the result has more than %d rows", r.limits.MaxRows)
	}
	return nil
}

// next returns the next chunk, or a nil one at the end.
func (r *Rows) next() (mapping.DataChunk, error) {
	select {
	case raw, ok := <-r.chunks:
		if ok {
			return raw, nil
		}
		return mapping.DataChunk{}, r.err
	default:
	}
	select {
	case raw, ok := <-r.chunks:
		if ok {
			return raw, nil
		}
		return mapping.DataChunk{}, r.err
	case <-r.ctx.Done():
		return mapping.DataChunk{}, stopped(r.ctx, r.limits)
	}
}

// Close ends the statement if it still runs. It does not wait for a statement
// that ignores the interrupt. Closing again does nothing.
func (r *Rows) Close() {
	if r.closed.Swap(true) {
		return
	}
	r.cancel()
	r.discard()
}

// discard frees the chunks nobody will read. What the producer adds later, it
// frees itself.
func (r *Rows) discard() {
	for {
		select {
		case raw, ok := <-r.chunks:
			if !ok {
				return
			}
			mapping.DestroyDataChunk(&raw)
		default:
			return
		}
	}
}

// producer runs one statement on its connection and feeds its Rows.
type producer struct {
	db      *DB
	pool    *pool
	c       *conn
	rows    *Rows
	req     Request
	catalog *Catalog
	verdict *verdict
	held    held
	remote  RemoteRows // nil: it runs here
	result  mapping.Result
	active  bool // DuckDB may still work on the statement
}

func (p *producer) run() {
	i := &interrupter{raw: p.c.raw}
	stopInterrupt := context.AfterFunc(p.rows.ctx, i.run)
	abandon := p.abandonLater()
	if err := p.guarded(p.start); err != nil {
		p.rows.started <- err
	} else {
		p.rows.started <- nil
		p.rows.err = p.guarded(p.feed)
	}
	close(p.rows.chunks)
	p.end()
	stopInterrupt()
	i.stop()
	p.db.running.Delete(p.c.id)
	p.held.release()
	p.finish(abandon())
}

// guarded calls f. A panic, which is a fault of ours, fails the statement and
// not the process.
func (p *producer) guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newError(CodeInternal, "please report it with the statement", "the runtime failed on this statement: %v", v)
		}
	}()
	return f()
}

// abandonLater watches for a statement that goes on after its context and the
// grace ended. The returned function ends the watch and returns how to give
// the connection back.
func (p *producer) abandonLater() func() func(*conn) {
	done := make(chan struct{})
	giveBack := make(chan func(*conn), 1)
	stop := context.AfterFunc(p.rows.ctx, func() {
		t := time.NewTimer(p.rows.grace)
		defer t.Stop()
		select {
		case <-done:
			giveBack <- p.pool.put
		case <-t.C:
			giveBack <- p.pool.abandon()
		}
	})
	return func() func(*conn) {
		close(done)
		if stop() {
			return p.pool.put
		}
		return <-giveBack
	}
}

// end stops a statement that was not read to its end. To destroy its result is
// not enough: DuckDB's threads would work on, its transaction would stay open,
// and the connection's next statement would wait for it.
func (p *producer) end() {
	if p.active {
		mapping.Interrupt(p.c.raw)
	}
	mapping.DestroyResult(&p.result)
	if p.active {
		_ = p.c.exec("SELECT 1") // begins with cleaning up, whatever becomes of it
		p.active = false
	}
}

// finish frees what the statement held and gives the connection back.
func (p *producer) finish(giveBack func(*conn)) {
	if p.rows.closed.Load() { // else Close, which comes after the last chunk, frees them
		p.rows.discard()
	}
	if p.catalog != nil {
		p.catalog.release()
	}
	giveBack(p.c)
}

// start judges, prepares, binds and begins the statement under one catalog.
// When a publication comes between, it begins again.
func (p *producer) start() error {
	for {
		var epoch uint64
		p.catalog, epoch = p.db.acquire()
		natives := newNativeCalls(p.rows.ctx)
		p.db.running.Store(p.c.id, natives)
		pending, s, err := p.plan()
		if p.db.epoch.Load() == epoch {
			if err != nil {
				return err
			}
			close(natives.begun)
			if s == nil {
				return p.isolate()
			}
			return p.execute(pending, s)
		}
		close(natives.dropped)
		p.held.release()
		mapping.DestroyPending(&pending)
		p.end()
		p.catalog.release()
		p.catalog = nil
		if p.rows.ctx.Err() != nil {
			return stopped(p.rows.ctx, p.rows.limits)
		}
	}
}

// plan brings the statement to the point where DuckDB's transaction has begun.
// Without s it is one to be run in another process.
func (p *producer) plan() (pending mapping.PendingResult, s *stmt, err error) {
	defer func() {
		if err != nil {
			err = p.explain(err)
		}
	}()
	if p.req.trusted {
		p.verdict = &verdict{text: p.req.SQL, origin: func(offset int) int { return offset }}
	} else if p.verdict, err = p.db.judge(p.rows.ctx, p.c, p.catalog, p.req, &p.held); err != nil {
		return pending, nil, err
	}
	if p.req.Isolate && p.db.isolator != nil && !p.verdict.write {
		return pending, nil, nil
	}
	if s, err = p.c.prepare(p.verdict.text, p.catalog.serial); err != nil {
		return pending, nil, err
	}
	if err = s.checkResult(p.verdict.write); err != nil {
		return pending, nil, err
	}
	if err = s.bind(p.req.Params); err != nil {
		return pending, nil, err
	}
	if pendingStreaming(s.raw, &pending) != mapping.StateSuccess {
		err = newDuckError(mapping.PendingError(pending))
		mapping.DestroyPending(&pending)
		return pending, s, err
	}
	p.active = true
	return pending, s, nil
}

// checkResult refuses what slipped through the guard as no query, and types
// whose values cannot be read.
func (s *stmt) checkResult(write bool) error {
	switch mapping.PreparedStatementType(s.raw) {
	case mapping.StatementTypeSelect, mapping.StatementTypeExplain:
		if write {
			return newError(CodeInternal, "", "a statement that writes became one that reads")
		}
	case mapping.StatementTypeInsert, mapping.StatementTypeUpdate, mapping.StatementTypeDelete:
		if !write {
			return newError(CodeRefused, "", "only SELECT-like statements may run")
		}
	default:
		return newError(CodeRefused, "", "only SELECT-like statements may run")
	}
	for _, c := range s.columns {
		if !c.Type.Supported() && c.Type.ID != mapping.TypeInvalid {
			return newError(CodeArgument, fmt.Sprintf("write CAST(%s AS VARCHAR)", Identifier(c.Name)),
				"column %q has a type that cannot be returned", c.Name)
		}
	}
	return nil
}

func (p *producer) execute(pending mapping.PendingResult, s *stmt) error {
	defer mapping.DestroyPending(&pending)
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	if mapping.ExecutePending(pending, &p.result) != mapping.StateSuccess {
		p.active = false
		return p.explain(newDuckError(mapping.ResultError(&p.result)))
	}
	p.rows.columns = s.columns
	if len(s.columns) == 0 || s.columns[0].Type.ID == mapping.TypeInvalid {
		p.rows.columns = resultColumns(&p.result)
	}
	p.describeRows()
	return nil
}

// describeRows tells the reader what the statement saw.
func (p *producer) describeRows() {
	r := p.rows
	r.catalog, r.serial = p.catalog.Generation, p.catalog.serial
	r.calls, r.traits = p.verdict.calls, p.verdict.traits
}

// feed hands the chunks over until the end.
func (p *producer) feed() error {
	if p.remote != nil {
		return p.feedRemote()
	}
	var size int64
	for {
		var raw mapping.DataChunk
		if fetchStreaming(p.result, &raw) != mapping.StateSuccess {
			p.active = false
			if text := mapping.ResultError(&p.result); text != "" {
				return p.explain(newDuckError(text))
			}
			return nil
		}
		if mapping.DataChunkGetSize(raw) == 0 {
			p.active = false
			mapping.DestroyDataChunk(&raw)
			return nil
		}
		size += p.size(raw)
		if err := p.hand(raw, size); err != nil {
			return err
		}
	}
}

// hand gives the reader a chunk, with which the result has size bytes.
func (p *producer) hand(raw mapping.DataChunk, size int64) error {
	if limit := p.rows.limits.MaxBytes; limit > 0 && size > limit {
		mapping.DestroyDataChunk(&raw)
		return newError(CodeLimit, "select less, or raise runtime.query.max_bytes", "the result has more than %d bytes", limit)
	}
	select {
	case p.rows.chunks <- raw:
		return nil
	case <-p.rows.ctx.Done():
		mapping.DestroyDataChunk(&raw)
		return stopped(p.rows.ctx, p.rows.limits)
	}
}

// size is the number of bytes a chunk's values take, when bytes are limited.
func (p *producer) size(raw mapping.DataChunk) int64 {
	if p.rows.limits.MaxBytes == 0 {
		return 0
	}
	var chunk Chunk
	chunk.load(raw, p.rows.columns)
	var n int64
	for i := range chunk.cols {
		n += chunk.cols[i].size(0, chunk.rows)
	}
	return n
}

// explain makes any error of the statement an [*Error] about its own text.
func (p *producer) explain(err error) error {
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	var e *duckError
	if !errors.As(err, &e) {
		return AsError(err)
	}
	origin := func(offset int) int { return offset }
	if p.verdict != nil {
		origin = p.verdict.origin
	}
	out := e.describe(p.req.SQL, origin)
	p.db.improve(out, e, p.verdict, p.catalog)
	return out
}
