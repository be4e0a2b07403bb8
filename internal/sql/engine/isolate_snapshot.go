package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// SnapshotTable is a relation that only this process can read: a table of the runtime, or
// one in a file that is attached for writing. In another process it is a stream, whose
// rows a [Snapshot] reads here when the statement there asks for them.
type SnapshotTable struct {
	Name     string   // unique in a catalog
	Relation Relation `json:"-"`
	Columns  []Column
	Rows     int64 // how many there were at the load, about; 0: unknown
	// From is the relation in a FROM clause in this process. It never reaches another one.
	From string `json:"-"`
	// Handler is the name of the [Handler] that From calls for its rows; "" if it calls none.
	Handler string `json:"-"`
}

// Stream is the table in a FROM clause of another process: see [DB.SetStream].
func (t *SnapshotTable) Stream() string { return streamTable + "(" + Literal(t.Name) + ")" }

// errStale ends the attempt at a statement whose catalog was replaced before it began.
var errStale = errors.New("the catalog was replaced")

// Snapshot is the state of some tables at one moment, for a statement in another process.
//
// It is one transaction. DuckDB begins the transaction of each attached database when a
// statement first reads it, so all tables are touched at once, and again if a statement
// that changes rows began to commit meanwhile: the snapshot never has a later change
// without an earlier one. Rows that the runtime computes in Go are computed then, too, and
// each handler is called once. Scans run one after another: a connection has one result at
// a time.
type Snapshot struct {
	db     *DB
	c      *conn
	tables map[*SnapshotTable]string // with a condition, or ""
	turn   chan struct{}             // holds a value while a scan runs, or after Close
	stop   context.CancelFunc
	ctx    context.Context // of the statement, until Close
	once   sync.Once
	inside bool   // a [Transaction], which has the connection
	target string // that the statement writes, on its own connection; "": the connection is the snapshot's
}

// snapshot begins to read tables of the statement's catalog. The error is [errStale] if
// there is a newer one.
func (p *producer) snapshot(tables map[*SnapshotTable]string) (*Snapshot, error) {
	s := &Snapshot{db: p.db, tables: tables, turn: make(chan struct{}, 1)}
	switch {
	case p.joined != nil:
		s.c, s.inside = p.joined.work.c, true
	case p.verdict.write:
		s.c, s.target, p.open = p.c.conn, Qualified(p.verdict.target.Schema, p.verdict.target.Name), true
	default:
		var err error
		if s.c, err = p.db.snapshots.get(p.db); err != nil {
			return nil, err
		}
	}
	s.ctx, s.stop = context.WithCancel(p.rows.ctx)
	natives := newNativeCalls(s.ctx, nil)
	natives.memo = &memo{}
	close(natives.begun)
	p.db.running.Store(s.c.id, natives)
	if err := s.begin(tables, natives.memo, p.epoch); err != nil {
		s.Close()
		return nil, p.explain(err)
	}
	return s, nil
}

// begin begins the transaction.
func (s *Snapshot) begin(tables map[*SnapshotTable]string, m *memo, epoch uint64) error {
	return interruptible(s.ctx, s.c, func() error {
		for began := uint64(0); ; {
			began = s.db.commits.began.Load()
			if err := s.touch(tables, m); err != nil || s.inside {
				return err
			}
			if s.db.epoch.Load() != epoch {
				return errStale
			}
			if len(tables) == 1 && s.target == "" || s.db.commits.began.Load() == began {
				return nil
			}
			if err := errors.Join(s.ctx.Err(), s.c.exec("ROLLBACK")); err != nil {
				return err
			}
		}
	})
}

// touch begins the transactions of the databases that have the tables.
func (s *Snapshot) touch(tables map[*SnapshotTable]string, m *memo) error {
	if !s.inside {
		if err := s.c.exec("BEGIN TRANSACTION"); err != nil {
			return err
		}
	}
	if s.target != "" {
		if err := s.c.exec("SELECT NULL FROM " + s.target + " LIMIT 0"); err != nil {
			return err
		}
	}
	for t := range tables {
		if t.Handler != "" {
			h, ok := s.db.handler(t.Handler)
			if !ok {
				return NewError(errcode.Internal, hintReport, "there is no handler %q", t.Handler)
			}
			if _, err := m.answer(WithNesting(s.ctx, Nesting(s.ctx)+1), t.Handler, "", h); err != nil {
				return err
			}
		}
		if err := s.c.exec("SELECT NULL FROM " + t.From + " LIMIT 0"); err != nil {
			return err
		}
	}
	return nil
}

// errSnapshotOver ends a scan of a snapshot that is closed.
var errSnapshotOver = errors.New("the statement has ended")

// Scan reads the columns of these numbers of a table, and calls f with each chunk, which f
// must not keep. An error of f ends the scan and is returned; any other is an [*Error].
// Concurrent scans wait for each other.
func (s *Snapshot) Scan(t *SnapshotTable, columns []int, f func(*Chunk) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-s.ctx.Done():
		return errSnapshotOver
	}
	list := make([]string, len(columns))
	for i, n := range columns {
		list[i] = Identifier(t.Columns[n].Name)
	}
	if len(list) == 0 {
		list = []string{"true"} // only the number of rows counts
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + t.From
	if where := s.tables[t]; where != "" {
		sql += " WHERE " + where
	}
	ctx, stop := s.interrupts()
	defer stop()
	err := interruptible(ctx, s.c, func() error {
		return s.c.stream(sql, func(c *Chunk) error {
			if s.ctx.Err() != nil {
				return errSnapshotOver
			}
			return f(c)
		})
	})
	var duck *duckError
	switch {
	case s.ctx.Err() != nil:
		return errSnapshotOver
	case errors.As(err, &duck):
		return duck.describe(sql, func(int) int { return -1 })
	}
	return err
}

// interrupts returns a context that ends when a scan must be interrupted. An interrupt ends a
// transaction of DuckDB; within a [Transaction], a scan whose rows are no longer wanted ends with
// its next chunk, and is interrupted only if that takes longer than the grace.
func (s *Snapshot) interrupts() (ctx context.Context, stop func()) {
	if !s.inside {
		return s.ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	late := context.AfterFunc(s.ctx, func() { time.AfterFunc(s.db.opts.Grace, cancel) })
	return ctx, func() { late(); cancel() }
}

// Close ends the scans and the transaction. Further calls do nothing.
func (s *Snapshot) Close() {
	s.once.Do(func() {
		s.stop()
		s.turn <- struct{}{}
		s.db.running.Delete(s.c.id)
		if !s.inside && s.target == "" {
			s.db.snapshots.put(s.c)
		}
	})
}

// snapshotConns are connections of snapshots between statements.
type snapshotConns struct {
	mu     sync.Mutex
	idle   []*conn
	closed bool
}

// idleSnapshots is how many idle ones are pooled.
const idleSnapshots = 8

func (l *snapshotConns) get(db *DB) (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := len(l.idle); n > 0; n = len(l.idle) {
		c := l.idle[n-1]
		l.idle = l.idle[:n-1]
		if !c.in.retired.Load() {
			return c, nil
		}
		c.close()
	}
	return db.connect(searchPath)
}

// put takes a connection back and ends its transaction.
func (l *snapshotConns) put(c *conn) {
	ended := c.exec("ROLLBACK") == nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ended || l.closed || len(l.idle) >= idleSnapshots || c.in.retired.Load() {
		c.close()
		return
	}
	l.idle = append(l.idle, c)
}

func (l *snapshotConns) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.idle {
		c.close()
	}
	l.idle = nil
}

// memo has the answers of a statement's handlers.
type memo struct {
	mu      sync.Mutex
	answers map[[2]string]string
}

// maxAnswer is the most bytes of rows that the runtime computes for a statement in another
// process.
const maxAnswer = 64 << 20

// answer returns the answer of the first call with this input. A nil memo has none.
func (m *memo) answer(ctx context.Context, handler, input string, h Handler) (string, error) {
	if m == nil {
		return h(ctx, input)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{handler, input}
	if text, ok := m.answers[key]; ok {
		return text, nil
	}
	text, err := h(ctx, input)
	if err != nil {
		return "", err
	}
	if len(text) > maxAnswer {
		return "", NewError(errcode.Limit, "read it over HTTP, in parts",
			"the rows of %s take %d MiB; a statement can read at most %d MiB of them",
			handler, len(text)>>20, maxAnswer>>20)
	}
	if m.answers == nil {
		m.answers = map[[2]string]string{}
	}
	m.answers[key] = text
	return text, nil
}

// tables returns the tables that the statement needs of this process, each with the
// condition on the rows that it needs.
func (p *producer) tables() map[*SnapshotTable]string {
	tables := map[*SnapshotTable]string{}
	for _, d := range p.dependencies {
		if t := d.Table; t != nil {
			tables[t] = p.verdict.conditions.where(t, p.dependencies, &p.req.Params)
		}
	}
	return tables
}
