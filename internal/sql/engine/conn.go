package engine

import (
	"context"
	"sync"
	"time"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/kit/lru"
)

// conn is one DuckDB connection. One goroutine uses it at a time; interrupt
// may be called by another.
type conn struct {
	raw     mapping.Connection
	in      *instance
	id      uint64 // see [instance.number]
	helpers *helpers
	// interrupted is called when the connection is interrupted; nil: nothing is.
	interrupted func()
	parse       mapping.PreparedStatement // SELECT json_serialize_sql($1)

	prepared *lru.Cache[stmtKey, *stmt]
	serial   uint64 // no statement of an older catalog is in prepared

	slot  *fair.Slot // that it is lent with
	share string     // [caller.Caller.Share] of whom it is lent to
}

type stmtKey struct {
	serial uint64
	sql    string
}

// stmt is a prepared statement of a connection. Its plan belongs to the catalog
// it was bound under: DuckDB never binds it to newer functions.
type stmt struct {
	key      stmtKey
	revision uint64 // of the data at planning time, see [commits]
	raw      mapping.PreparedStatement
	columns  []Column
	params   []param
}

type param struct {
	name string
	typ  *Type // nil while DuckDB has not resolved it
}

// connect opens a connection and runs setup, if any, on it.
func (db *DB) connect(setup string) (*conn, error) { return db.duck.Load().connect(setup) }

// connect opens a connection to this instance, which may be retired.
func (in *instance) connect(setup string) (*conn, error) {
	if !in.hold() {
		return nil, newLostError()
	}
	c := &conn{in: in, helpers: in.helpers}
	c.prepared = lru.New(statementsCached, 0, func(_ stmtKey, s *stmt) { mapping.DestroyPrepare(&s.raw) })
	if mapping.Connect(in.raw, &c.raw) != mapping.StateSuccess {
		in.release()
		return nil, NewError(errcode.Internal, "", "DuckDB did not open a connection")
	}
	c.id = in.number(connectionID(c.raw))
	for _, sql := range []string{"SET errors_as_json = true", setup} {
		if sql == "" {
			continue
		}
		if err := c.exec(sql); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// interrupt interrupts what runs.
func (c *conn) interrupt() {
	mapping.Interrupt(c.raw)
	if c.interrupted != nil {
		c.interrupted()
	}
}

func connectionID(raw mapping.Connection) uint64 {
	var client mapping.ClientContext
	mapping.ConnectionGetClientContext(raw, &client)
	defer mapping.DestroyClientContext(&client)
	return uint64(mapping.ClientContextGetConnectionId(client))
}

func (c *conn) close() {
	c.prepared.DeleteFunc(func(stmtKey, *stmt) bool { return true })
	if c.parse.Ptr != nil {
		mapping.DestroyPrepare(&c.parse)
	}
	mapping.Disconnect(&c.raw)
	c.in.release()
}

// exec runs internal SQL and discards its rows.
func (c *conn) exec(sql string) error {
	w := c.helpers.begin()
	defer w.end()
	w.watch()
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(c.raw, sql, &res) != mapping.StateSuccess {
		return c.failure(mapping.ResultError(&res))
	}
	return nil
}

// each runs internal SQL and calls f with every chunk.
func (c *conn) each(sql string, f func(*Chunk) error) error {
	w := c.helpers.begin()
	defer w.end()
	w.watch()
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(c.raw, sql, &res) != mapping.StateSuccess {
		return c.failure(mapping.ResultError(&res))
	}
	columns := resultColumns(&res)
	var chunk Chunk
	for {
		raw := mapping.FetchChunk(res)
		if raw.Ptr == nil {
			return nil
		}
		chunk.load(raw, columns)
		err := f(&chunk)
		mapping.DestroyDataChunk(&raw)
		if err != nil {
			return err
		}
	}
}

// stream runs internal SQL and calls f with every chunk, as they are computed. After an
// error of f, the rest is not read; the transaction stays as it was.
func (c *conn) stream(sql string, f func(*Chunk) error) error {
	var s mapping.PreparedStatement
	defer mapping.DestroyPrepare(&s)
	if mapping.Prepare(c.raw, sql, &s) != mapping.StateSuccess {
		return c.failure(mapping.PrepareError(s))
	}
	var pending mapping.PendingResult
	defer mapping.DestroyPending(&pending)
	if duckdb.PendingPreparedStreaming(s, &pending) != mapping.StateSuccess {
		return c.failure(mapping.PendingError(pending))
	}
	w := c.helpers.begin()
	defer w.end()
	w.watch()
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.ExecutePending(pending, &res) != mapping.StateSuccess {
		return c.failure(mapping.ResultError(&res))
	}
	columns := resultColumns(&res)
	for {
		var raw mapping.DataChunk
		if duckdb.StreamFetchChunk(res, &raw) != mapping.StateSuccess {
			if text := mapping.ResultError(&res); text != "" {
				return c.failure(text)
			}
			return nil
		}
		if mapping.DataChunkGetSize(raw) == 0 {
			mapping.DestroyDataChunk(&raw)
			return nil
		}
		chunk := loadChunk(raw, columns)
		err := f(chunk)
		chunk.Destroy()
		if err != nil {
			return err
		}
	}
}

func resultColumns(res *mapping.Result) []Column {
	columns := make([]Column, mapping.ColumnCount(res))
	for i := range columns {
		at := mapping.IdxT(i)
		columns[i] = Column{mapping.ColumnName(res, at), newType(mapping.ColumnLogicalType(res, at))}
	}
	return columns
}

// serialize returns DuckDB's parse tree of sql, as JSON.
func (c *conn) serialize(sql string) ([]byte, error) {
	if c.parse.Ptr == nil {
		if mapping.Prepare(c.raw, "SELECT json_serialize_sql($1::VARCHAR)::VARCHAR", &c.parse) != mapping.StateSuccess {
			defer mapping.DestroyPrepare(&c.parse)
			return nil, c.failure(mapping.PrepareError(c.parse))
		}
	}
	v := mapping.CreateVarchar(sql)
	defer mapping.DestroyValue(&v)
	if mapping.BindValue(c.parse, 1, v) != mapping.StateSuccess {
		return nil, NewError(errcode.Parse, "", "the statement cannot be bound as text")
	}
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.ExecutePrepared(c.parse, &res) != mapping.StateSuccess {
		return nil, c.failure(mapping.ResultError(&res))
	}
	raw := mapping.FetchChunk(res)
	if raw.Ptr == nil {
		return nil, NewError(errcode.Internal, "", "DuckDB returned no parse tree")
	}
	defer mapping.DestroyDataChunk(&raw)
	var chunk Chunk
	chunk.load(raw, []Column{{"", &Type{ID: Varchar}}})
	return append([]byte(nil), chunk.Column(0).Bytes(0)...), nil
}

// prepare returns the statement for sql, bound under the catalog numbered
// serial and planned for this revision of the data, from the connection's cache
// if present.
func (c *conn) prepare(sql string, serial, revision uint64) (*stmt, error) {
	key := stmtKey{serial, sql}
	if s, ok := c.prepared.Get(key); ok {
		if s.revision == revision {
			return s, nil
		}
		c.prepared.Delete(key)
	}
	s := &stmt{key: key, revision: revision}
	if mapping.Prepare(c.raw, sql, &s.raw) != mapping.StateSuccess {
		err := c.failure(mapping.PrepareError(s.raw))
		mapping.DestroyPrepare(&s.raw)
		return nil, err
	}
	s.describe()
	c.prepared.Put(key, s, 0)
	return s, nil
}

func (s *stmt) describe() {
	n := mapping.PreparedStatementColumnCount(s.raw)
	s.columns = make([]Column, n)
	for i := range s.columns {
		at := mapping.IdxT(i)
		s.columns[i] = Column{
			mapping.PreparedStatementColumnName(s.raw, at),
			newType(mapping.PreparedStatementColumnLogicalType(s.raw, at)),
		}
	}
	s.params = make([]param, mapping.NParams(s.raw))
	for i := range s.params {
		at := mapping.IdxT(i + 1)
		s.params[i].name = mapping.ParameterName(s.raw, at)
		if lt := mapping.ParamLogicalType(s.raw, at); lt.Ptr != nil {
			s.params[i].typ = newType(lt)
		}
	}
}

// unresolved reports whether the columns of the result depend on the parameters.
// DuckDB then describes it as one column without a type.
func (s *stmt) unresolved() bool {
	return len(s.columns) == 0 || s.columns[0].Type.ID == mapping.TypeInvalid
}

// forgetBefore drops the statements of catalogs older than serial.
func (c *conn) forgetBefore(serial uint64) {
	if serial <= c.serial {
		return
	}
	c.serial = serial
	c.prepared.DeleteFunc(func(key stmtKey, _ *stmt) bool { return key.serial < serial })
}

// lent is a connection while a statement has it. The end of the statement's
// context interrupts what it runs, and abandons it if it does not react.
type lent struct {
	*conn
	interrupter interrupter
	stop        func() bool // stops interrupting with the context
	put         func(*conn) // gives the connection back
	pool        *pool
	under       *conn // whose slot it has; nil: its own
}

func (p *pool) lend(ctx context.Context, c *conn, grace time.Duration) *lent {
	l := &lent{conn: c, put: p.put, pool: p}
	l.interrupter.conn, l.interrupter.grace = c, grace
	l.interrupter.late = func() { l.put = p.abandon(c) }
	l.stop = context.AfterFunc(ctx, l.interrupter.run)
	return l
}

// calm ends the interrupts.
func (l *lent) calm() {
	l.stop()
	l.interrupter.end()
}

// instead lends another connection in the place of this one, which waits for its end.
func (l *lent) instead(ctx context.Context, other *conn) *lent {
	l.calm()
	c, p, put := l.conn, l.pool, l.put
	out := &lent{conn: other, put: func(*conn) { put(c) }, pool: p, under: c}
	out.interrupter.conn, out.interrupter.grace = other, l.interrupter.grace
	out.interrupter.late = func() {
		recovered := p.abandon(c)
		out.put = func(*conn) { recovered(c) }
	}
	out.stop = context.AfterFunc(ctx, out.interrupter.run)
	return out
}

// back lends the connection again that another was lent instead of.
func (l *lent) back(ctx context.Context) *lent {
	l.calm()
	out := l.pool.lend(ctx, l.under, l.interrupter.grace)
	out.put = l.put
	return out
}

// giveBack returns the connection to its pool.
func (l *lent) giveBack() {
	l.calm()
	l.put(l.conn)
}

// interrupter interrupts a connection from another goroutine until it ends. An
// interrupt that arrives before DuckDB begins the statement is lost, so it is
// repeated.
type interrupter struct {
	conn  *conn
	grace time.Duration // after which late is called, unless it has ended
	late  func()        // nil: never

	mu   sync.Mutex // held while it interrupts
	done bool
	quit chan struct{} // made by run
}

const interruptEvery = 5 * time.Millisecond

func (i *interrupter) run() {
	quit := make(chan struct{})
	i.mu.Lock()
	i.quit = quit
	i.mu.Unlock()
	again, grace := time.NewTimer(interruptEvery), time.NewTimer(i.grace)
	defer again.Stop()
	defer grace.Stop()
	for wait := interruptEvery; i.unlessDone(i.conn.interrupt); {
		select {
		case <-quit:
			return
		case <-grace.C:
			if i.late != nil {
				i.unlessDone(i.late)
			}
		case <-again.C:
			wait = min(2*wait, 50*interruptEvery)
			again.Reset(wait)
		}
	}
}

// unlessDone calls f, or reports false after the end.
func (i *interrupter) unlessDone(f func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.done {
		f()
	}
	return !i.done
}

// end returns when no further interrupt can come.
func (i *interrupter) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.done = true
	if i.quit != nil {
		close(i.quit)
		i.quit = nil
	}
}
