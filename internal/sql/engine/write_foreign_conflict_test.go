package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
)

// recorder is a [Writer] that records what it is asked to write.
type recorder struct {
	table  OutsideTable
	change *RowChange
	locked int
	ended  string
}

func (r *recorder) Table() *OutsideTable                            { return &r.table }
func (r *recorder) Check(*RowChange) error                          { return nil }
func (r *recorder) Begin(context.Context) (WriteTx, error)          { r.ended = ""; return r, nil }
func (r *recorder) Lock(_ context.Context, change *RowChange) error { r.locked++; return nil }
func (r *recorder) Commit(context.Context) error                    { r.ended = "commit"; return nil }
func (r *recorder) Rollback()                                       { r.ended += "." }
func (r *recorder) Apply(_ context.Context, c *RowChange) (*Changed, error) {
	r.change = c
	out := &Changed{Count: 1}
	if c.Returning {
		one, text := "1", "t"
		out.Rows = [][]*string{{&one, &text, nil}}
	}
	return out, nil
}

// outsider is the locked fixture with a relation whose table a recorder writes.
func outsider(t testing.TB) (*DB, *recorder) {
	t.Helper()
	db := fixture(t, Options{})
	r := &recorder{table: OutsideTable{
		Columns: []OutsideColumn{
			{Column: Column{"id", &Type{ID: BigInt}}, NotNull: true},
			{Column: Column{"name", &Type{ID: Varchar}}},
			{Column: Column{"price", &Type{ID: Double}}, Exact: true},
		},
		Primary: []string{"id"},
	}}
	if err := db.Lock(nil); err != nil {
		t.Fatal(err)
	}
	cat := NewCatalog(Contents{
		Generation: 2, Relations: []Relation{orders, stock}, Functions: []*Function{twice},
		Targets: map[Relation]Target{orders: {Table: StandIn(orders), Writer: r}},
	})
	publish(t, db, cat, append(r.table.DDL(orders), "CREATE VIEW spice.public.orders AS SELECT 1::BIGINT AS id, 'a' AS name, 1.5::DOUBLE AS price",
		"CREATE VIEW spice.public.stock AS SELECT 1::BIGINT AS id")...)
	return db, r
}

// exprText writes an expression as SQL does.
func exprText(e *dml.Expr) string {
	if e == nil {
		return "DEFAULT"
	}
	var args []string
	for _, a := range e.Args {
		args = append(args, exprText(a))
	}
	switch {
	case e.Op == dml.OpColumn:
		return "t." + e.Column
	case e.Op == dml.OpExcluded:
		return "x." + e.Column
	case e.Op == dml.OpValue && e.Text == nil:
		return "NULL"
	case e.Op == dml.OpValue:
		return "<" + *e.Text + " " + e.Type + " " + e.Column + ">"
	case e.Op.Function():
		return string(e.Op) + "(" + strings.Join(args, ", ") + ")"
	case len(args) == 1 && e.Op == dml.OpNot:
		return "(NOT " + args[0] + ")"
	case len(args) == 1:
		return "(" + args[0] + " " + string(e.Op) + ")"
	}
	return "(" + args[0] + " " + string(e.Op) + " " + args[1] + ")"
}

func TestConflictExpressions(t *testing.T) {
	db, r := outsider(t)
	for _, c := range []struct{ set, want string }{
		{"name = excluded.name", "x.name"},
		{"name = orders.name || '!' || excluded.name", "((t.name || <! VARCHAR >) || x.name)"},
		{"price = orders.price + 2 * excluded.price - 1.5", "((t.price + (<2 INTEGER > * x.price)) - <1.5 DECIMAL(2,1) >)"},
		{"price = 0.1", "<0.1  price>"},
		{"name = upper($1)", "<A  name>"},
		{"price = public.orders.price + $1::INTEGER", "(t.price + <7 INTEGER >)"},
		{"price = (orders.price + -1) * (1 + 2)", "((t.price + <-1 INTEGER >) * <3 INTEGER >)"},
		{"name = coalesce(excluded.name, orders.name, 'none')", "COALESCE(x.name, t.name, <none VARCHAR name>)"},
		{"name = NULL", "NULL"},
		{"name = DEFAULT", "DEFAULT"},
		{
			"name = 'x' WHERE NOT orders.id = 1 OR orders.name IS NULL AND excluded.id <= orders.id * 2",
			"<x  name> WHERE ((NOT (t.id = <1 INTEGER id>)) OR ((t.name IS NULL) AND (x.id <= (t.id * <2 INTEGER >))))",
		},
		{
			"name = 'x' WHERE orders.name IS DISTINCT FROM excluded.name AND orders.name != 'y'",
			"<x  name> WHERE ((t.name IS DISTINCT FROM x.name) AND (t.name <> <y VARCHAR name>))",
		},
		{"name = 'x' WHERE true", "<x  name> WHERE <true BOOLEAN >"},
	} {
		var params Params
		if strings.Contains(c.set, "upper($1)") {
			params.Positional = []any{"a"}
		} else if strings.Contains(c.set, "$1") {
			params.Positional = []any{int64(7)}
		}
		rows, err := db.Query(t.Context(),
			Request{SQL: "INSERT INTO orders (id, name) VALUES (1, 'n') ON CONFLICT (id) DO UPDATE SET " + c.set, Write: true, Params: params})
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		rows.Close()
		got := exprText(r.change.Set[0].Value)
		if r.change.Where != nil {
			got += " WHERE " + exprText(r.change.Where)
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.set, got, c.want)
		}
	}
	for _, set := range []string{
		"name = upper(orders.name)", "price = orders.price / 2", "price = orders.price ** 2", "name = orders.name LIKE 'x'", "price = -orders.price",
		"name = orders.name[1]",
		"price = orders.price::INTEGER", "name = CASE WHEN orders.id = 1 THEN 'a' END", "name = orders.name COLLATE nocase", "name = 'x' WHERE orders.id IN (1, 2)",
		"name = 'x' WHERE orders.id BETWEEN 1 AND 2", "name = coalesce(orders.name", "name = concat(orders.name, 'x')", "price = orders.price + 1 + stock.id",
		"price = orders.price + (SELECT max(id) FROM stock)",
	} {
		_, err := db.Query(t.Context(), Request{SQL: "INSERT INTO orders (id, name) VALUES (1, 'n') ON CONFLICT (id) DO UPDATE SET " + set, Write: true})
		var e *Error
		if !errors.As(err, &e) || e.Code != errcode.Refused && e.Code != errcode.Argument && e.Code != errcode.Parse && e.Code != errcode.NotFound {
			t.Errorf("%s: got %v", set, err)
		}
	}
}

// TestOutsideWrites has what a writer gets, and that nothing is committed after an error.
func TestOutsideWrites(t *testing.T) {
	db, r := outsider(t)
	run := func(sql string, params ...any) error {
		rows, err := db.Query(t.Context(), Request{SQL: sql, Write: true, Params: Params{Positional: params}})
		if err == nil {
			rows.Close()
		}
		return err
	}
	if err := run("UPDATE orders SET price = ?, name = name || ? WHERE id = ?", 1.25, "!", int64(1)); err != nil || r.locked != 1 || r.ended != "commit." {
		t.Fatalf("an UPDATE: %v, %+v", err, r)
	}
	for i, want := range []string{"1", "1.25", "a!"} {
		if got := *r.change.Values[i][0]; got != want {
			t.Errorf("value %d is %s, want %s", i, got, want)
		}
	}
	if err := run("INSERT INTO orders VALUES (1, 'a', 2) RETURNING id / 0, CAST(name AS INTEGER)"); err == nil || r.ended != "." {
		t.Errorf("an error in RETURNING: %v, %s", err, r.ended)
	}
	r.ended = "none"
	if err := run("INSERT INTO orders SELECT error('no')"); err == nil || r.ended != "none" {
		t.Errorf("an error in the rows: %v, %s", err, r.ended)
	}
	if n, err := changeRows(t.Context(), db, "DELETE FROM orders WHERE id = 1"); err != nil || n != 1 {
		t.Errorf("a DELETE: %d, %v", n, err)
	}
}

func FuzzConflict(f *testing.F) {
	for _, seed := range []string{
		"name = excluded.name", "price = orders.price + 1 WHERE orders.id = 2", "name = coalesce(orders.name, ')')", "price = (orders.id", "name = $1::INT",
		"id = id = id",
		"name = orders.name || (1", "price = orders.price +- 1", "name = CASE WHEN id THEN 1", "name = orders.", "name = \"orders\".\"name\" WHERE NOT",
		"price = -1 * - orders.price",
		"name = orders.name)) SELECT 1 --", "name = coalesce(excluded.name)::x(", "name = excluded.name RETURNING (", "name = 1 BETWEEN orders.id AND 2",
	} {
		f.Add(seed)
	}
	db, _ := outsider(f)
	f.Fuzz(func(t *testing.T, set string) {
		_, err := db.Describe(t.Context(), Request{SQL: "INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET " + set, Write: true})
		var e *Error
		if errors.As(err, &e) && e.Code == errcode.Internal {
			t.Errorf("%q: %v", set, err)
		}
	})
}

// TestOutsideWritesNameMissingFunctions: a call of a function that does not exist is that error in
// each part of a write to a table that is not DuckDB's, and nothing is written.
func TestOutsideWritesNameMissingFunctions(t *testing.T) {
	db, r := outsider(t)
	const conflict = "INSERT INTO orders VALUES (1, 'a', 2) ON CONFLICT (id) DO UPDATE SET name = "
	for _, sql := range []string{
		"DELETE FROM orders RETURNING ^nosuch(id)",
		"DELETE FROM orders WHERE ^nosuch(id)",
		"UPDATE orders SET name = ^nosuch(name)",
		"UPDATE orders SET name = 'x' RETURNING levenshtein(^nosuch(name), name)",
		"INSERT INTO orders VALUES (^nosuch(1), 'a', 2)",
		"INSERT INTO orders SELECT ^nosuch(id), 'a', 2 FROM stock",
		conflict + "^nosuch(orders.name)",
		conflict + "^nosuch('a')",
		conflict + "'b' WHERE ^nosuch(orders.name)",
	} {
		before, after, _ := strings.Cut(sql, "^")
		_, err := run(t.Context(), db, Request{SQL: before + after, Write: true, Isolate: true})
		var e *Error
		if !errors.As(err, &e) || e.Code != errcode.NotFound || e.Message != `there is no function "nosuch"` ||
			e.Offset != len(before) {
			t.Errorf("%s: got %v", sql, err)
		}
	}
	if r.change != nil {
		t.Errorf("written: %+v", r.change)
	}
}
