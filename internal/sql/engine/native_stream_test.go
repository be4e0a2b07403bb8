package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// numbers is a reader of rows of a number, NULL for those of 7, and a text.
type numbers struct {
	ctx     context.Context
	columns []int
	next    int
	end     int // fails there if fail is set, or blocks if wait is set
	fail    error
	wait    chan struct{}
	closed  *int
}

func (n *numbers) Close() { *n.closed++ }

func (n *numbers) Next() (*Chunk, error) {
	rows := min(ChunkRows, n.end-n.next)
	switch {
	case rows == 0 && n.wait != nil:
		close(n.wait)
		<-n.ctx.Done()
		return nil, n.ctx.Err()
	case rows == 0:
		return nil, n.fail
	}
	var columns []Vector
	for _, c := range n.columns {
		v := Vector{Type: streamColumns[c].Type}
		mask := make([]byte, ChunkRows/8)
		var values, texts, ends []byte
		for i := range rows {
			number := n.next + i
			if number%7 != 0 {
				mask[i/8] |= 1 << (i % 8)
			}
			values = binary.LittleEndian.AppendUint64(values, uint64(number))
			texts = fmt.Append(texts, "number ", number)
			ends = binary.LittleEndian.AppendUint32(ends, uint32(len(texts)))
		}
		v.SetValidity(mask)
		if c == 0 {
			v.SetValues(values)
		} else {
			v.SetTexts(texts, ends)
		}
		columns = append(columns, v)
	}
	n.next += rows
	return NewChunk(rows, columns, nil), nil
}

var streamColumns = []Column{{"n", &Type{ID: BigInt}}, {"t", &Type{ID: Varchar}}}

// openStream adds a stream of numbers, and returns its table, the columns that a scan
// asked for last, and how often one was closed.
func openStream(t *testing.T, db *DB, proto numbers) (from string, asked *[]int, closed *int) {
	asked, closed = new([]int), new(int)
	from, remove := db.AddStream(&Stream{Columns: streamColumns, Open: func(ctx context.Context, columns []int) (StreamReader, error) {
		n := proto
		n.ctx, n.columns, n.closed = ctx, columns, closed
		*asked = columns
		return &n, nil
	}})
	t.Cleanup(remove)
	return from, asked, closed
}

func TestStream(t *testing.T) {
	db := open(t)
	from, asked, closed := openStream(t, db, numbers{end: 10_000})
	for i, c := range []struct {
		sql, want string
		asked     []int // where it only counts, DuckDB reads the first
	}{
		{"SELECT count(*) FROM " + from, "10000", []int{0}},
		{"SELECT sum(n) FROM " + from, "42852858", []int{0}},
		{"SELECT max(t) FROM " + from + " WHERE n IS NOT NULL", "number 9999", []int{0, 1}},
		{"SELECT count(*) FROM " + from + " WHERE n = 8 AND t = 'number 8'", "1", []int{0, 1}},
		{"SELECT count(*) FROM " + from + " a JOIN " + from + " b USING (n)", "8571", []int{0}},
		{"SELECT count(*) FROM (FROM " + from + " LIMIT 3)", "3", []int{0}},
	} {
		got := ""
		if err := stageQuery(t, db, t.Context(), "SELECT ("+c.sql+")::VARCHAR", &got); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.sql, got, err, c.want)
		}
		slices.Sort(*asked)
		if !slices.Equal(*asked, c.asked) {
			t.Errorf("%d: asked for %v, want %v", i, *asked, c.asked)
		}
	}
	if *closed != 7 {
		t.Errorf("%d scans were closed, want 7", *closed)
	}
}

func TestStreamThatFails(t *testing.T) {
	db := open(t)
	from, _, closed := openStream(t, db, numbers{end: 5_000, fail: errors.New("the server has gone")})
	err := stageQuery(t, db, t.Context(), "SELECT sum(n)::VARCHAR FROM "+from, new(string))
	if err == nil || !strings.Contains(err.Error(), "the server has gone") || *closed != 1 {
		t.Errorf("%v, closed %d times", err, *closed)
	}
	wait := make(chan struct{})
	from, _, closed = openStream(t, db, numbers{end: 5_000, wait: wait})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-wait
		cancel()
	}()
	err = stageQuery(t, db, ctx, "SELECT sum(n)::VARCHAR FROM "+from, new(string))
	if !errors.Is(err, context.Canceled) || *closed != 1 {
		t.Errorf("%v, closed %d times", err, *closed)
	}
	from, remove := db.AddStream(&Stream{Columns: streamColumns, Open: func(context.Context, []int) (StreamReader, error) { return nil, errors.New("no server") }})
	if err := stageQuery(t, db, t.Context(), "SELECT sum(n)::VARCHAR FROM "+from, new(string)); err == nil || !strings.Contains(err.Error(), "no server") {
		t.Error(err)
	}
	remove()
	if err := stageQuery(t, db, t.Context(), "SELECT sum(n)::VARCHAR FROM "+from, new(string)); err == nil ||
		!strings.Contains(err.Error(), "the source of the table is closed") {
		t.Error(err)
	}
}

func TestStatementsCannotReadStreams(t *testing.T) {
	db := open(t)
	from, _, closed := openStream(t, db, numbers{end: 10})
	for _, sql := range []string{"FROM " + from, "SELECT * FROM main." + from, "SELECT * FROM system.main." + from, `SELECT * FROM "__SPICED_stream"(1)`} {
		_, err := db.Query(t.Context(), Request{SQL: sql})
		if e := AsError(err); err == nil || e.Code != errcode.NotFound && e.Code != errcode.Refused {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if *closed != 0 {
		t.Error("a statement read a stream")
	}
}

// stageQuery runs a query of one text on a stage.
func stageQuery(t *testing.T, db *DB, ctx context.Context, sql string, out *string) error {
	t.Helper()
	s, err := db.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx, func() error {
		return s.Query(sql, func(c *Chunk) error {
			*out = string(c.Column(0).Bytes(0))
			return nil
		})
	})
}
