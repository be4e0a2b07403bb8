package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// fuzzed are the limits of what a fuzzer makes up. What is asked about it
// afterwards has the database's: a busy machine may take longer to answer.
var fuzzed = Limits{Timeout: 20 * time.Millisecond}

// FuzzGuard sends random text to a locked database: no panic, no hang, nothing
// changes.
func FuzzGuard(f *testing.F) {
	for _, attacks := range corpus(f, "/nowhere") {
		for i, a := range attacks {
			if i%8 == 0 {
				f.Add(a.sql)
			}
		}
	}
	db, _ := locked(f, Options{MemoryLimit: "256MB", Limits: Limits{MaxRows: 1000, MaxBytes: 1 << 20}})
	before, runs := state(f, db), 0
	f.Fuzz(func(t *testing.T, sql string) {
		start := time.Now()
		_, err := run(context.Background(), db, Request{SQL: sql, Limits: fuzzed})
		if took := time.Since(start); took > db.opts.Grace+reaction {
			t.Errorf("took %s", took)
		}
		if err != nil && asError(t, err).Code == errcode.Internal {
			t.Errorf("internal: %v", err)
		}
		if err := checkAlive(db); err != nil {
			t.Error(err)
		}
		if runs++; runs%50 != 0 {
			return
		}
		if after := state(t, db); after != before {
			t.Errorf("the database has changed\nbefore %s\nafter  %s", before, after)
		}
	})
}

// FuzzChange sends random text for a caller who may write: only what begins as
// a change may change rows, and only those of the table that may be written.
func FuzzChange(f *testing.F) {
	all := corpus(f, "/nowhere")
	for i, a := range append(all["readers"], all["changes"]...) {
		if i%5 == 0 {
			f.Add(a.sql)
		}
	}
	f.Add("UPDATE orders SET name = \"x\" AS c0 FROM \"spice\", price = (1 WHERE (2))")
	f.Add("UPDATE orders SET name = CASE WHEN a THEN {'b': [1, 2]} END, price = x -> x + $1 WHERE $$a$$ = ?")
	db, _ := writing(f, Options{MemoryLimit: "256MB", Limits: Limits{MaxRows: 1000, MaxBytes: 1 << 20}})
	before, rows, runs := others(f, db), contents(f, db), 0
	f.Fuzz(func(t *testing.T, sql string) {
		_, err := run(context.Background(), db, Request{SQL: sql, Limits: fuzzed, Write: true})
		idle(t, db)
		if err != nil && asError(t, err).Code == errcode.Internal {
			t.Errorf("internal: %v", err)
		}
		if e := (*Error)(nil); errors.As(err, &e) && e.Offset > len(sql) {
			t.Errorf("offset %d of %d", e.Offset, len(sql))
		}
		if after := contents(t, db); after != rows {
			if err != nil || !dml.Begins(sql, sqltree.Scan(sql)) {
				t.Errorf("orders has changed: %s (%v)", after, err)
			}
			reset(t, db)
		}
		if runs++; err != nil && runs%50 != 0 {
			return
		}
		if after := others(t, db); after != before {
			t.Fatalf("another table has changed\nbefore %s\nafter  %s", before, after)
		}
	})
}

// FuzzParseChange takes random text apart: the parts lie apart from each other,
// in order, and no bracket or quoted text is open at the end of one.
func FuzzParseChange(f *testing.F) {
	all := corpus(f, "/nowhere")
	for _, a := range append(all["readers"], all["changes"]...) {
		f.Add(a.sql)
	}
	reserved := set("select where set from")
	f.Fuzz(func(t *testing.T, sql string) {
		tokens := sqltree.Scan(sql)
		text := sqltree.Plain(sql, tokens)
		if !dml.Begins(text, tokens) {
			return
		}
		ch, err := dml.Parse(text, tokens, reserved)
		if err != nil {
			if e := (*dml.Error)(nil); !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		end := 0
		for _, s := range append(append([]sqltree.Span{ch.Rows}, ch.Values...), ch.Where, ch.Returning) {
			if s == (sqltree.Span{}) {
				continue
			}
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("part %v of %d bytes after %d", s, len(text), end)
			}
			end = s.End
			part := sqltree.Scan(text[s.Start:s.End] + "\n)")
			if n := len(part); n < 2 || part[n-1].End-part[n-1].Start != 1 {
				t.Errorf("%q is open at its end", text[s.Start:s.End])
			}
		}
		if ch.Verb == dml.VerbUpdate && (len(ch.Set) == 0 || len(ch.Set) != len(ch.Values)) {
			t.Errorf("%d columns, %d values", len(ch.Set), len(ch.Values))
		}
	})
}

// others describes all tables but the one that may be written.
func others(t testing.TB, db *DB) string {
	t.Helper()
	var out strings.Builder
	for _, sql := range []string{
		"SELECT string_agg(concat_ws('.', database_name, schema_name, table_name, estimated_size), ' ' ORDER BY ALL) FROM duckdb_tables() WHERE table_name <> 'o'",
		"SELECT sum(i)::VARCHAR FROM spice.public.k",
		"SELECT sum(secret)::VARCHAR FROM (FROM spice.public.hidden UNION ALL FROM spice.public.keys UNION ALL FROM spice.spiced.internal UNION ALL FROM " +
			"att.main.secret)",
		"SELECT string_agg(id || name, ' ' ORDER BY ALL) FROM att.main.s",
		"SELECT sum(i)::VARCHAR FROM att.main.k",
	} {
		err := db.duck.Load().writer.each(sql, func(c *Chunk) error {
			fmt.Fprintf(&out, "%s\n", c.Column(0).Bytes(0))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}
