package engine

import (
	"errors"
	"time"

	// The mapping package lacks the two calls of the C API that stream a result instead
	// of collecting it, so they are taken from the bindings below it. DuckDB marks them as
	// deprecated but has no other way to read a large result in bounded memory. See
	// docs/decisions.
	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// producer runs one statement on its connection and fills its Rows.
type producer struct {
	db           *DB
	c            *lent        // nil once another process has the statement
	joined       *Transaction // on whose connection and catalog it runs; nil: none
	rows         *Rows
	req          Request
	catalog      *Catalog
	verdict      *verdict
	held         held
	isolated     bool          // it runs in another process
	dependencies []*Dependency // that the other process needs
	remote       RemoteRows    // nil: it runs in this process
	reads        *Snapshot     // of what only this process can read, for the other one
	epoch        uint64        // of the catalog
	s            *stmt         // nil until it is prepared
	began        time.Time
	work         *work // nil unless DuckDB executes it
	result       mapping.Result
	active       bool // DuckDB may still work on the statement
	ran          bool // it has begun to run
	announced    bool // Query has returned, or will
	open         bool // its own transaction may be open: of a write, or see current
	changed      bool // the columns of the result differ from those it was prepared with
	only         onlyRow
	gathered     [][]*string      // the values of a write to a table that is not DuckDB's
	declared     map[string]*Type // for a description: see parameters.types
	replan       bool             // a commit outdated its plan: it is planned in the transaction that it runs in
}

// run is the whole life of the statement: it starts, Query returns, its rows are sent, and what it
// used is given back.
//
// The order of the end matters. The caller of a write that failed gets the error after the
// rollback, because until then the statement locks the rows that it changed, and the caller may
// try again at once. The channel of the rows is closed before DuckDB has cleaned up, so that
// a reader does not wait for that. What the statement holds of the catalog is released when
// nothing of DuckDB uses it any more. The connection is last: [DB.Close] waits for it and then closes
// what all the rest needs.
func (p *producer) run() {
	p.began = time.Now()
	err := p.guarded(p.start)
	if err != nil && p.open {
		p.end()
	}
	if err != nil || !p.req.Whole {
		p.announce(err)
	}
	if err == nil {
		if err = p.guarded(p.feed); err == nil {
			err = p.sendOnly()
		}
		if err == nil {
			err = p.guarded(p.explainCalls)
		}
		p.only.destroy()
		p.rows.err = err
	}
	p.rows.clock.end()
	p.rows.ended.Store(true)
	close(p.rows.chunks)

	whole := err == nil && !p.active
	p.end()
	// A plan keeps the state of its last run, such as hash tables and lists, and to plan a long
	// statement again costs little compared to running it. So it is cached only if the statement
	// ran quickly and to the end, its columns are unchanged, and its text is short.
	if p.s != nil && (!whole || p.changed || time.Since(p.began) > p.db.maxRun || len(p.s.key.sql) > textCached) {
		p.c.prepared.Delete(p.s.key)
	}
	p.held.release()
	if p.reads != nil {
		p.reads.Close()
	}
	if p.rows.closed.Load() { // else Close, which comes after the last chunk, frees them
		p.rows.discard()
	}
	if p.catalog != nil {
		p.catalog.release()
	}
	p.leave(err)
	if p.c != nil {
		p.disconnect()
	} else { // another process ran it
		p.db.remotes.Add(-1)
		p.db.remote.Done()
	}
	p.announce(nil)
}

// announce returns from Query with err; further calls do nothing.
func (p *producer) announce(err error) {
	if !p.announced {
		p.announced = true
		p.rows.started <- err
	}
}

// disconnect gives the connection back.
func (p *producer) disconnect() {
	p.db.running.Delete(p.c.id)
	p.c.giveBack()
	p.c = nil
}

// guarded calls f. A panic, which is a bug of the runtime, fails the statement and
// not the process.
func (p *producer) guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = NewError(errcode.Internal, hintReport, "the runtime failed on this statement: %v", v)
		}
	}()
	return f()
}

// end stops a statement whose rows were not all read. Destroying its result is not
// enough: DuckDB's threads would continue, its transaction would stay open, and
// the connection's next statement would wait for it.
func (p *producer) end() {
	p.work.end()
	p.work = nil
	if p.joined != nil && p.c != nil {
		p.c.calm() // an interrupt of what follows would end the transaction
	}
	if p.active {
		p.c.interrupt()
	}
	mapping.DestroyResult(&p.result)
	switch { // either statement cleans up first, even if it fails
	case p.open:
		_ = p.conclude("ROLLBACK")
	case p.active:
		_ = p.c.exec("SELECT 1")
	}
	p.active, p.open = false, false
}

// maxPlanRun is how long a statement may run for its plan to stay cached.
const maxPlanRun = 20 * time.Millisecond

// start judges, prepares, binds and begins the statement under one catalog. After
// a concurrent publication it starts over.
func (p *producer) start() error {
	for again := false; ; again = true {
		natives := newNativeCalls(p.rows.ctx, p.req.Input)
		p.db.running.Store(p.c.id, natives)
		pending, s, current, err := p.planOnce(again)
		if current {
			if err != nil {
				return err
			}
			close(natives.begun)
			switch {
			case p.isolated || p.supplied():
				if err = p.runRemote(); errors.Is(err, errStale) {
					continue
				}
				return err
			case p.req.describe:
				p.rows.described = s.description(p.verdict).with(p.declared)
				return nil
			case p.verdict.outside != nil:
				return p.writeOutside()
			}
			return p.execute(pending, s)
		}
		close(natives.dropped)
		mapping.DestroyPending(&pending)
		p.end()
		p.restart()
		if p.rows.ctx.Err() != nil {
			return stopped(p.rows.ctx, p.rows.limits)
		}
	}
}

// restart drops what belongs to the catalog of an attempt.
func (p *producer) restart() {
	p.held.release()
	p.catalog.release()
	p.catalog = nil
	if p.joined != nil {
		p.leave(errStale)
		p.c = p.c.back(p.rows.ctx)
	}
}

// planOnce plans the statement under the current catalog. It is not current if there was a
// publication meanwhile; then, the next publication waits for the plan.
func (p *producer) planOnce(again bool) (pending mapping.PendingResult, s *stmt, current bool, err error) {
	if again {
		defer p.db.planning.begin()()
	}
	p.catalog, p.epoch = p.db.acquire()
	pending, s, err = p.plan()
	if p.joined != nil && p.joined.work.settled {
		return pending, s, true, err // it sees what the first statement of its transaction saw
	}
	return pending, s, p.db.epoch.Load() == p.epoch && (err != nil || p.current()), err
}

// plan prepares the statement up to the start of DuckDB's transaction. It returns
// no s if the statement runs in another process.
func (p *producer) plan() (pending mapping.PendingResult, s *stmt, err error) {
	defer func() {
		if err != nil {
			err = p.explain(err)
		}
	}()
	if p.req.Trusted {
		p.verdict = &verdict{text: p.req.SQL, origin: func(offset int) int { return offset }}
		p.verdict.write = p.req.describe && dml.Begins(p.req.SQL, sqltree.Scan(p.req.SQL)) // see source.typed
	} else if p.verdict, err = p.db.judge(p.rows.ctx, p.c.conn, p.catalog, p.req, &p.held); err != nil {
		return pending, nil, err
	}
	if err = p.checkJudged(); err != nil {
		return pending, nil, err
	}
	if p.joined == nil && p.joins() {
		return p.planJoined()
	}
	if p.req.describe {
		if p.declared, err = p.c.declaredTypes(p.verdict.types); err != nil {
			return pending, nil, err
		}
	}
	if p.isolated, err = p.isolable(); p.isolated || err != nil {
		return pending, nil, err
	}
	if err = p.checkHere(); err != nil {
		return pending, nil, err
	}
	if p.supplied() {
		p.dependencies, err = p.verdict.source.dependencies()
		return pending, nil, err
	}
	if s, err = p.prepare(); err != nil {
		return pending, nil, err
	}
	if s, err = p.readable(s); err != nil {
		return pending, nil, err
	}
	if err = s.checkResult(p.verdict.write); err != nil {
		return pending, nil, err
	}
	if p.req.describe {
		return pending, s, nil
	}
	if err = s.bind(p.req.Params); err != nil {
		return pending, nil, err
	}
	if p.verdict.write {
		if err = p.begin(); err != nil {
			return pending, nil, err
		}
	}
	if p.verdict.outside != nil {
		return pending, s, p.gather()
	}
	if duckdb.PendingPreparedStreaming(s.raw, &pending) != mapping.StateSuccess {
		err = p.c.failure(mapping.PendingError(pending))
		mapping.DestroyPending(&pending)
		return pending, s, err
	}
	p.active, p.ran = true, true
	return pending, s, nil
}

// prepare returns the judged statement, planned for the current data. The
// statement's transaction must not see commits after its plan was made, because
// the plan's statistics do not include them: see current.
func (p *producer) prepare() (s *stmt, err error) {
	text, serial, revision := p.verdict.text, p.catalog.serial, uint64(noRevision)
	if p.req.describe && (p.verdict.traits.Files || p.req.Trusted) {
		p.c.prepared.Delete(stmtKey{serial, text}) // its columns may be outdated
	}
	if p.verdict.traits.Written {
		revision = p.db.commits.revision()
		p.replan = p.replan || revision == noRevision && !p.req.describe
		if p.replan {
			p.c.prepared.Delete(stmtKey{serial, text})
			if err = p.begin(); err != nil {
				return nil, err
			}
		}
	}
	if s, err = p.c.prepare(text, serial, revision); err == nil {
		p.s = s
	}
	return s, err
}

// current reports whether the plan includes all commits that the statement's
// transaction sees. If not, the statement is planned again in the transaction
// that it runs in, which does not see later commits.
func (p *producer) current() bool {
	if p.s == nil || !p.verdict.traits.Written || p.replan || p.req.describe || p.db.commits.holds(p.s.revision) {
		return true
	}
	p.replan = true
	return false
}

// checkResult refuses a statement that passed the guard but is not a query, and
// types whose values cannot be read.
func (s *stmt) checkResult(write bool) error {
	switch mapping.PreparedStatementType(s.raw) {
	case mapping.StatementTypeSelect, mapping.StatementTypeExplain:
		if write {
			return NewError(errcode.Internal, "", "a statement that writes became one that reads")
		}
	case mapping.StatementTypeInsert, mapping.StatementTypeUpdate, mapping.StatementTypeDelete:
		if !write {
			return NewError(errcode.Refused, "", "only SELECT-like statements may run")
		}
	default:
		return NewError(errcode.Refused, "", "only SELECT-like statements may run")
	}
	return checkTypes(s.columns)
}

func (p *producer) execute(pending mapping.PendingResult, s *stmt) error {
	defer mapping.DestroyPending(&pending)
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	p.work = p.c.helpers.begin()
	if len(p.db.extensions) > 0 || p.verdict.source != nil {
		p.work.watch() // one task may wait for a server for long
	}
	p.runTasks(pending)
	if mapping.ExecutePending(pending, &p.result) != mapping.StateSuccess {
		p.active = false
		return p.explain(p.c.failure(mapping.ResultError(&p.result)))
	}
	p.rows.columns = s.columns
	if !hasColumns(&p.result, s.columns) {
		p.changed = !s.unresolved()
		p.rows.columns = resultColumns(&p.result)
		if err := checkTypes(p.rows.columns); err != nil {
			return err
		}
	}
	p.describeRows()
	if p.verdict.write {
		return p.commit()
	}
	return nil
}

// Pauses of a statement's own thread while DuckDB's other threads have all its tasks.
const (
	firstPause = 20 * time.Microsecond
	lastPause  = 320 * time.Microsecond
)

// runTasks runs the statement until it has rows. ExecutePending would do so, too, but it
// asks for tasks without a pause while other threads have them all, which takes about
// a fifth of the processor's time of a short statement.
func (p *producer) runTasks(pending mapping.PendingResult) {
	pause := firstPause
	for p.rows.ctx.Err() == nil {
		switch duckdb.PendingExecuteTask(pending) {
		case mapping.PendingStateResultNotReady:
			pause = firstPause
			p.work.check()
		case mapping.PendingStateNoTasksAvailable:
			time.Sleep(pause)
			pause = min(2*pause, lastPause)
		default:
			return
		}
	}
}

// describeRows copies what the statement saw to its rows.
func (p *producer) describeRows() {
	r := p.rows
	r.catalog, r.serial = p.catalog.Generation, p.catalog.serial
	r.calls, r.traits, r.reads = p.verdict.calls, p.verdict.traits, p.verdict.reads
}

// feed sends the chunks to the reader.
func (p *producer) feed() error {
	switch {
	case p.remote != nil:
		return p.feedRemote()
	case p.rows.written, p.rows.described != nil:
		return nil
	}
	var size int64
	for n := 0; ; n++ {
		if n > 0 {
			p.work.watch()
		}
		var raw mapping.DataChunk
		if duckdb.StreamFetchChunk(p.result, &raw) != mapping.StateSuccess {
			p.active = false
			if text := mapping.ResultError(&p.result); text != "" {
				return p.explain(p.c.failure(text))
			}
			return nil
		}
		if mapping.DataChunkGetSize(raw) == 0 {
			p.active = false
			mapping.DestroyDataChunk(&raw)
			return nil
		}
		if err := checkChunk(raw, p.rows.columns); err != nil {
			mapping.DestroyDataChunk(&raw)
			return err
		}
		chunk := loadChunk(raw, p.rows.columns)
		size += p.size(chunk)
		if err := p.send(chunk, size); err != nil {
			return err
		}
	}
}

// sendOnly gives the reader the row of a statement that has exactly one.
func (p *producer) sendOnly() error {
	if p.verdict == nil || !p.verdict.alone || p.rows.described != nil {
		return nil
	}
	return p.pass(p.only.take(p.rows.columns))
}

// send gives the reader a chunk, with which the result has size bytes.
func (p *producer) send(chunk *Chunk, size int64) error {
	if limit := p.rows.limits.MaxBytes; limit > 0 && size > limit {
		chunk.Destroy()
		return NewError(errcode.Limit, "select less, or raise runtime.query.max_bytes",
			"the result has more than %d bytes", limit)
	}
	if p.verdict.alone {
		if err := p.only.hold(chunk); err != nil {
			return p.redact(err)
		}
		return nil
	}
	return p.pass(chunk)
}

// pass gives the reader a chunk.
func (p *producer) pass(chunk *Chunk) error {
	select {
	case p.rows.chunks <- chunk:
		return nil
	default:
	}
	p.announce(nil)
	p.rows.clock.pause()
	defer p.rows.clock.resume()
	if p.work != nil {
		p.work.pause()
		defer p.work.resume()
	}
	select {
	case p.rows.chunks <- chunk:
		return nil
	case <-p.rows.ctx.Done():
		chunk.Destroy()
		return stopped(p.rows.ctx, p.rows.limits)
	}
}

// size is the number of bytes a chunk's values take, when bytes are limited.
func (p *producer) size(chunk *Chunk) int64 {
	if p.rows.limits.MaxBytes == 0 {
		return 0
	}
	return chunk.Size(0)
}
