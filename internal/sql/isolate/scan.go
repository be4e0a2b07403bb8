package isolate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// A worker reads what only the parent can read, such as the runtime's own tables, as a
// stream: a scan of its DuckDB asks for rows, one frame after another, of the columns that
// the statement needs. The parent reads them from the [engine.Snapshot] of the statement.

// scan asks for the next rows of a scan. It is answered as a batch is, with rows.
type scan struct {
	Number  int    // of the query
	ID      uint64 // of the answer
	Scan    uint64 // which of the statement's scans
	Table   string // [engine.SnapshotTable.Name]
	Columns []int
	Close   bool // no more rows are wanted: there is no answer
}

// maxScans is how many scans of the parent's tables a statement may have at once.
const maxScans = 4096

// tableScan is the parent's side of a scan.
type tableScan struct {
	spool   *spool
	stopped atomic.Bool
}

// errScanStopped ends the reading for a scan that wants no more rows.
var errScanStopped = errors.New("no more rows are wanted")

// takeScan answers a scan with its next rows.
func (x *execution) takeScan(ctx context.Context, f frame) error {
	s, err := decodeJSON[scan](f)
	if err != nil {
		return err
	}
	t := x.scans[s.Scan]
	switch {
	case s.Close && s.Number != x.worker.served:
		return nil // DuckDB freed it late
	case s.Close:
		if t != nil {
			t.stopped.Store(true)
			t.spool.close()
			delete(x.scans, s.Scan)
		}
		return nil
	case t == nil:
		if t, err = x.openScan(ctx, &s); err != nil {
			return err
		}
	}
	return x.answer(s.Number, func() {
		payload, err := t.spool.take(ctx)
		replyRows(x.worker, s.ID, payload, err)
	})
}

// openScan begins to read the rows of a scan.
func (x *execution) openScan(ctx context.Context, s *scan) (*tableScan, error) {
	var table *engine.SnapshotTable
	for _, d := range x.job.Dependencies {
		if d.Table != nil && d.Table.Name == s.Table {
			table = d.Table
		}
	}
	switch {
	case table == nil || x.snapshot == nil:
		return nil, fmt.Errorf("%w: a scan of %q, which the statement does not read", errFrame,
			truncate.Ellipsis(s.Table, 100))
	case s.Number != x.worker.served || len(s.Columns) > len(table.Columns) ||
		slices.ContainsFunc(s.Columns, func(n int) bool { return n < 0 || n >= len(table.Columns) }):
		return nil, fmt.Errorf("%w: an invalid scan of %q", errFrame, table.Name)
	case len(x.scans) >= maxScans:
		return nil, fmt.Errorf("%w: more than %d scans at once", errFrame, maxScans)
	}
	p := x.pool
	t := &tableScan{spool: newSpool(p.opts.TempDir, &p.spool, func() bool { return x.reading.Load() > 1 })}
	t.spool.eager = true
	x.scans[s.Scan] = t
	x.reading.Add(1)
	x.calls.Go(func() {
		defer x.reading.Add(-1)
		t.spool.finish(x.read(ctx, t, table, s.Columns))
	})
	return t, nil
}

// read reads the rows of a scan into its spool. A view of PostgreSQL's catalog scans a small
// table many times, and a query costs more than its rows: they are cached for the statement if
// they fit in one frame.
func (x *execution) read(ctx context.Context, t *tableScan, table *engine.SnapshotTable, columns []int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error: %v", v)
		}
	}()
	var e encoder
	send := func() error {
		payload := e.buf
		e.buf = nil
		return t.spool.put(ctx, payload)
	}
	key := fmt.Sprint(table.Name, columns)
	rows, ok := x.scanned.get(key)
	switch {
	case ok && len(rows) > 0:
		return t.spool.put(ctx, rows)
	case ok:
		return nil
	}
	long := false
	err = x.snapshot.Scan(table, columns, func(chunk *engine.Chunk) error {
		if t.stopped.Load() || ctx.Err() != nil {
			return errScanStopped
		}
		if e.chunk(chunk, len(columns)); len(e.buf) < sendBytes {
			return nil
		}
		long = true
		return send()
	})
	switch {
	case errors.Is(err, errSlowReader):
		return engine.NewError(errcode.Limit,
			"read less of it: name the columns, and select in the tables rather than in joins of them",
			"the rows of %s that wait for others of the statement take more than %d MiB", table.Name, x.pool.opts.Spool>>20)
	case err != nil:
		return err
	case !long:
		x.scanned.add(key, e.buf)
	}
	if len(e.buf) > 0 {
		return send()
	}
	return nil
}

// scanned are the encoded rows of a statement's scans that fit in one frame.
type scanned struct {
	mu   sync.Mutex
	rows map[string][]byte // by table and columns; they must not be changed
}

// maxScanned is how many of them a statement keeps: at most about 16 MiB.
const maxScanned = 64

func (s *scanned) get(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, ok := s.rows[key]
	return rows, ok
}

func (s *scanned) add(key string, rows []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string][]byte{}
	}
	if len(s.rows) < maxScanned {
		s.rows[key] = rows
	}
}

// replyRows answers a scan with rows, or with their end, if the worker still runs.
func replyRows(w *worker, id uint64, rows []byte, err error) {
	_ = answerWith(w, id, err, func(*encoder) []byte { return rows })
}

// tableReader is the worker's side of a scan.
type tableReader struct {
	server  *server
	ctx     context.Context // of the statement
	scan    scan
	columns []engine.Column
	rows    decoder // of the last answer
	ended   bool    // no more rows come
}

var _ engine.StreamReader = (*tableReader)(nil)

// openTable returns [engine.Stream.Open] for a table of the parent's.
func (s *server) openTable(t *engine.SnapshotTable) func(context.Context, []int) (engine.StreamReader, error) {
	return func(ctx context.Context, columns []int) (engine.StreamReader, error) {
		number, _ := ctx.Value(numberKey{}).(int)
		r := &tableReader{
			server: s, ctx: ctx,
			scan: scan{Number: number, Scan: s.lastID.Add(1), Table: t.Name, Columns: columns},
		}
		for _, n := range columns {
			r.columns = append(r.columns, t.Columns[n])
		}
		return r, nil
	}
}

// Next implements [engine.StreamReader].
func (r *tableReader) Next() (*engine.Chunk, error) {
	for {
		chunk, err := r.rows.next()
		if chunk != nil || err != nil || r.ended {
			return chunk, err
		}
		if err := r.ask(); err != nil {
			r.ended = true
			return nil, err
		}
	}
}

// ask asks the parent for more rows.
func (r *tableReader) ask() error {
	r.scan.ID = r.server.lastID.Add(1)
	ch := make(chan frame, 1)
	r.server.calls.Store(r.scan.ID, ch)
	defer r.server.calls.Delete(r.scan.ID)
	if err := r.server.out.send(kindScan, r.scan); err != nil {
		return err
	}
	f, rest, err := receiveValues(r.ctx, ch)
	if err != nil {
		return err
	}
	r.rows = newDecoder(r.columns, f.payload)
	r.rows.rest, r.ended = rest, len(rest) == 0
	return nil
}

// Close implements [engine.StreamReader]. DuckDB may call it long after the statement.
func (r *tableReader) Close() {
	if !r.ended && r.scan.ID != 0 && r.ctx.Err() == nil && int(r.server.number.Load()) == r.scan.Number {
		r.ended, r.scan.Close = true, true
		_ = r.server.out.send(kindScan, r.scan)
	}
}
