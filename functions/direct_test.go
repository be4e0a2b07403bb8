package functions

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// bodies are the kinds of bodies that read data. Each is called with a constant, and
// compared with the same SQL written by hand and with a call over a column.
const bodies = `
- { name: by_key, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE id = k)" }
- { name: by_key_and_more, from: sql, signature: { args: [{ name: k, type: int64 }, { name: least, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE id = k AND amount >= least)" }
- { name: in_range, from: sql, signature: { args: [{ name: lo, type: int64 }, { name: hi, type: int64 }], returns: int64 }, body: "(SELECT sum(amount) FROM items WHERE id BETWEEN lo AND hi)" }
- { name: how_many, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k)" }
- { name: joined, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT g.name FROM items i JOIN kinds g ON g.kind = i.kind WHERE i.id = k)" }
- { name: next_id, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT (SELECT min(o.id) FROM items o WHERE o.kind = i.kind AND o.id > i.id) FROM items i WHERE i.id = k)" }
- { name: no_index, from: sql, signature: { args: [{ name: a, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE amount = a)" }
- { name: first_of, from: sql, signature: { args: [{ name: g, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE kind = g ORDER BY id LIMIT 1)" }
- { name: with_default, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "coalesce((SELECT note FROM items WHERE id = k), 'none of ' || k)" }
- { name: whole, from: sql, signature: { args: [{ name: k, type: int64 }], returns: 'struct<id:int64, note:utf8>' }, body: "(SELECT named_struct('id', id, 'note', note) FROM items WHERE id = k)" }
- { name: small, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT amount FROM items WHERE kind = k)" }
- { name: as_alias, from: sql, signature: { args: [{ name: n, type: int64 }], returns: int64 }, body: "(SELECT amount AS n FROM items WHERE id = 3 ORDER BY n LIMIT 1)" }
- name: up_from
  from: sql
  signature: { args: [{ name: k, type: int64 }], returns: int64 }
  body: "(WITH RECURSIVE up AS (SELECT id, parent FROM items WHERE id = k UNION ALL SELECT i.id, i.parent FROM items i JOIN up ON i.id = up.parent) SELECT count(*) FROM up)"
- { name: rows_of, from: sql, kind: table, signature: { args: [{ name: k, type: int64 }], returns: [{ name: id, type: int64 }, { name: note, type: utf8 }] }, body: "SELECT id, note FROM items WHERE id = (SELECT k FROM args)" }
- { name: rows_joined, from: sql, kind: table, signature: { args: [{ name: k, type: int64 }], returns: [{ name: id, type: int64 }, { name: k, type: int64 }] }, body: "SELECT i.id, args.k FROM items i, args WHERE i.id = args.k" }
- { name: rows_between, from: sql, kind: table, signature: { args: [{ name: lo, type: int64 }, { name: hi, type: int64 }], returns: [{ name: id, type: int64 }] }, body: "SELECT i.id FROM items i JOIN args ON i.id >= args.lo AND i.id <= args.hi ORDER BY i.id" }
- { name: rows_padded, from: sql, kind: table, signature: { args: [{ name: k, type: int64 }], returns: [{ name: k, type: int64 }, { name: id, type: int64 }] }, body: "SELECT args.k, i.id FROM args LEFT JOIN items i ON i.id = args.k" }
`

func openItems(t testing.TB) *engine.DB {
	t.Helper()
	db := open(t)
	for _, sql := range []string{
		"CREATE TABLE spice.core.items (id BIGINT PRIMARY KEY, kind BIGINT, amount BIGINT, note VARCHAR, parent BIGINT)",
		"INSERT INTO spice.core.items SELECT i, i % 100, i * 10, 'n' || i, CASE WHEN i > 0 THEN i // 2 END FROM range(20000) t(i)",
		"CREATE VIEW spice.public.items AS SELECT * FROM spice.core.items",
		"CREATE TABLE spice.public.kinds AS SELECT i AS kind, 'kind ' || i AS name FROM range(100) t(i)",
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	with := append([]engine.Relation{{Schema: "public", Name: "items"}, {Schema: "public", Name: "kinds"}}, relations...)
	before := relations
	relations = with
	t.Cleanup(func() { relations = before })
	if _, problems := publish(t, db, load(t, bodies), nil); len(problems) > 0 {
		t.Fatal(problems)
	}
	return db
}

func TestConstantArguments(t *testing.T) {
	db := openItems(t)
	for _, tt := range []struct {
		call   string
		params []any
		want   string // "!": an error
		index  bool   // the plan uses the index
	}{
		{"SELECT by_key(7)", nil, "n7", true},
		{"SELECT by_key($1)", []any{int64(7)}, "n7", true},
		{"SELECT by_key('7') AS note", nil, "n7", true},
		{"SELECT by_key(3 + 4) x;", nil, "n7", true},
		{"SELECT by_key(k := length('1234567'))", nil, "n7", true},
		{"SELECT by_key(NULL)", nil, "NULL", false},
		{"SELECT by_key(-1)", nil, "NULL", false},
		{"SELECT by_key(7), by_key(8)", nil, "n7 n8", true},
		{"SELECT by_key(7) || by_key(8)", nil, "n7n8", true},
		{"SELECT kind, by_key(9) FROM kinds WHERE kind < 2", nil, "0 n9; 1 n9", true},
		{"SELECT by_key(id) FROM (SELECT 7 AS id)", nil, "n7", false},
		{"SELECT by_key(k) FROM (SELECT 7 AS k)", nil, "n7", false},
		{"SELECT by_key((SELECT 7))", nil, "n7", false},
		{"SELECT (7).by_key()", nil, "n7", false},
		{"SELECT note FROM (SELECT by_key(7) AS note)", nil, "n7", true},
		{"SELECT by_key_and_more(7, 70), by_key_and_more(least := 71, k := 7)", nil, "n7 NULL", false},
		{"SELECT by_key_and_more(7, 70)", nil, "n7", false},
		{"SELECT in_range(5, 7)", nil, "180", false},
		{"SELECT how_many(5)", nil, "1", true},
		{"SELECT how_many(-5)", nil, "0", false},
		{"SELECT how_many(NULL)", nil, "0", false},
		{"SELECT joined(205)", nil, "kind 5", true},
		{"SELECT next_id(205)", nil, "305", true},
		{"SELECT no_index(50)", nil, "1", false},
		{"SELECT first_of(5)", nil, "n5", false},
		{"SELECT with_default(7)", nil, "n7", true},
		{"SELECT with_default(-7)", nil, "none of -7", false},
		{"SELECT small(5)", nil, "!More than one row", false},
		{"SELECT small(500)", nil, "NULL", false},
		{"SELECT 1 + small(5)", nil, "!More than one row", false},
		{"SELECT as_alias(0)", nil, "30", true},
		{"SELECT up_from(1024)", nil, "12", true},
		{"SELECT (whole(7)).note", nil, "n7", true},
		{"FROM rows_of(7)", nil, "7 n7", true},
		{"FROM rows_of($1)", []any{int64(7)}, "7 n7", true},
		{"FROM rows_of(k := 7)", nil, "7 n7", true},
		{"FROM rows_of(NULL)", nil, "", false},
		{"SELECT r.note FROM kinds, rows_of(kinds.kind) r WHERE kinds.kind = 7", nil, "n7", true},
		{"FROM rows_joined(7)", nil, "7 7", true},
		{"FROM rows_between(lo := 7, hi := 9)", nil, "7; 8; 9", false},
		{"FROM rows_between(hi := 9, lo := 7)", nil, "7; 8; 9", false},
		{"FROM rows_padded(7)", nil, "7 7", true},
		{"FROM rows_padded(-7)", nil, "-7 NULL", false},
	} {
		got, err := query(t, db, tt.call, tt.params...)
		if want, ok := strings.CutPrefix(tt.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %q, %v; want error %q", tt.call, got, err, want)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.call, got, err, tt.want)
		}
		if plan := explain(t, db, tt.call, tt.params...); strings.Contains(plan, "Index Scan") != tt.index {
			t.Errorf("%s: index %v\n%s", tt.call, !tt.index, plan)
		}
	}
}

// explain returns the plan of a statement that has run.
func explain(t testing.TB, db *engine.DB, sql string, params ...any) string {
	t.Helper()
	rows, err := db.Query(context.Background(), engine.Request{SQL: "EXPLAIN ANALYZE " + sql, Params: engine.Params{Positional: params}})
	if err != nil {
		t.Fatal(sql, err)
	}
	defer rows.Close()
	var plan strings.Builder
	for chunk, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(sql, err)
		}
		for i := range chunk.Len() {
			fmt.Fprintln(&plan, string(chunk.Column(len(rows.Columns())-1).Bytes(i)))
		}
	}
	return plan.String()
}
