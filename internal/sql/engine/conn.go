package engine

import (
	"context"
	"sync"
	"time"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/kit/lru"
)

// conn is one DuckDB connection. One goroutine uses it at a time; interrupt
// may be called by another.
type conn struct {
	raw     mapping.Connection
	id      uint64 // DuckDB's connection id
	helpers *helpers
	parse   mapping.PreparedStatement // SELECT json_serialize_sql($1)

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
func (db *DB) connect(setup string) (*conn, error) {
	c := &conn{helpers: db.helpers}
	c.prepared = lru.New(statementsCached, 0, func(_ stmtKey, s *stmt) { mapping.DestroyPrepare(&s.raw) })
	if mapping.Connect(db.raw, &c.raw) != mapping.StateSuccess {
		return nil, NewError(errcode.Internal, "", "DuckDB did not open a connection")
	}
	c.id = connectionID(c.raw)
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
}

// exec runs internal SQL and discards its rows.
func (c *conn) exec(sql string) error {
	defer c.helpers.begin()()
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(c.raw, sql, &res) != mapping.StateSuccess {
		return newDuckError(mapping.ResultError(&res))
	}
	return nil
}

// each runs internal SQL and calls f with every chunk.
func (c *conn) each(sql string, f func(*Chunk) error) error {
	defer c.helpers.begin()()
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(c.raw, sql, &res) != mapping.StateSuccess {
		return newDuckError(mapping.ResultError(&res))
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
			return nil, newDuckError(mapping.PrepareError(c.parse))
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
		return nil, newDuckError(mapping.ResultError(&res))
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
		err := newDuckError(mapping.PrepareError(s.raw))
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
	pool        *pool
	interrupter *interrupter
	stop        func() bool              // stops interrupting with the context
	returned    func() (put func(*conn)) // ends the watch over the grace
	ended       func()                   // of helpers.begin
}

func (p *pool) lend(ctx context.Context, c *conn, grace time.Duration) *lent {
	l := &lent{conn: c, pool: p, interrupter: &interrupter{raw: c.raw}, ended: c.helpers.begin()}
	l.stop = context.AfterFunc(ctx, l.interrupter.run)
	l.returned = l.watch(ctx, grace)
	return l
}

// watch watches for a statement that continues after the context and the grace
// end. The returned function ends the watch and returns how to give the
// connection back.
func (l *lent) watch(ctx context.Context, grace time.Duration) func() func(*conn) {
	done := make(chan struct{})
	giveBack := make(chan func(*conn), 1)
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-done:
			giveBack <- l.pool.put
		case <-t.C:
			giveBack <- l.pool.abandon(l.conn)
		}
	})
	return func() func(*conn) {
		close(done)
		if stop() {
			return l.pool.put
		}
		return <-giveBack
	}
}

// giveBack returns the connection to its pool.
func (l *lent) giveBack() {
	l.stop()
	l.ended()
	l.interrupter.stop()
	l.returned()(l.conn)
}

// interrupter interrupts a connection from another goroutine until it is
// stopped. An interrupt that arrives before DuckDB begins the statement is lost,
// so it is repeated.
type interrupter struct {
	mu   sync.Mutex
	done bool
	quit chan struct{} // made by run
	raw  mapping.Connection
}

const interruptEvery = 5 * time.Millisecond

func (i *interrupter) run() {
	quit := make(chan struct{})
	i.mu.Lock()
	i.quit = quit
	i.mu.Unlock()
	timer := time.NewTimer(interruptEvery)
	defer timer.Stop()
	for wait := interruptEvery; i.interrupt(); {
		select {
		case <-timer.C:
		case <-quit:
			return
		}
		wait = min(2*wait, 50*interruptEvery)
		timer.Reset(wait)
	}
}

// interrupt interrupts the connection, and reports false once stopped.
func (i *interrupter) interrupt() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done {
		return false
	}
	mapping.Interrupt(i.raw)
	return true
}

// stop returns when no further interrupt can come.
func (i *interrupter) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.done = true
	if i.quit != nil {
		close(i.quit)
		i.quit = nil
	}
}
