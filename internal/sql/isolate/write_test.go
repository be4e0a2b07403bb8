package isolate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
)

// crash is an expression that ends its process.
const crash = "json_structure((repeat('[', 100000) || repeat(']', 100000))::JSON)"

// writes makes a world with tables that statements may write.
func writes(t *testing.T, options ...func(*isolate.Options)) *world {
	t.Helper()
	w := newWorld(t, options...)
	home(t, w)
	return w
}

// write runs a statement of a caller who may write.
func (w *world) write(sql string, params ...any) result {
	return w.result(engine.Request{SQL: sql, Write: true, Isolate: true, Params: engine.Params{Positional: params}})
}

// TestWritesCannotHarmTheParent: a worker computes the costly parts of a write; what cannot be in
// one is refused, and nothing is written.
func TestWritesCannotHarmTheParent(t *testing.T) {
	w := writes(t)
	for sql, want := range map[string]string{
		"INSERT INTO goods (t) SELECT " + crash:                                                                  "ended its worker",
		"INSERT INTO goods (t) VALUES ('a'), (" + crash + ")":                                                    "ended its worker",
		"INSERT INTO goods (t) SELECT " + crash + " FROM small ON CONFLICT DO NOTHING":                           "ended its worker",
		"INSERT INTO goods (n, t) SELECT n, (SELECT " + crash + ") FROM small RETURNING n":                       "ended its worker",
		"UPDATE goods SET t = " + crash:                                                                          "ended its worker",
		"UPDATE goods SET t = 'x' WHERE t = " + crash + " RETURNING *":                                           "ended its worker",
		"DELETE FROM goods WHERE t = " + crash:                                                                   "ended its worker",
		"DELETE FROM goods WHERE n IN (SELECT length(" + crash + ") FROM small)":                                 "ended its worker",
		"INSERT INTO goods (n, t) SELECT 1, 'x' ON CONFLICT (n) DO UPDATE SET t = " + crash:                      "json_structure is refused here",
		"INSERT INTO goods (n, t) SELECT n, t FROM small ON CONFLICT (n) DO UPDATE SET t = repeat('x', goods.n)": "repeat of a size that is computed is refused here",
		"INSERT INTO goods (t) VALUES ('x') RETURNING " + crash:                                                  "json_structure is refused here",
		"UPDATE goods SET t = 'x' RETURNING t::VARIANT":                                                          "VARIANT is refused here",
		"DELETE FROM goods RETURNING levenshtein(t, t)":                                                          "levenshtein is refused here",
		"DELETE FROM goods RETURNING printf('%1000000000d', n)":                                                  "printf is refused here",
		"INSERT INTO goods (n, t) VALUES (1, 'x') ON CONFLICT (n) DO UPDATE SET t = format('{:>1000000000}', t)": "format is refused here",
		"DELETE FROM goods RETURNING list_transform([n], lambda x: x * 2)":                                       "list_transform is refused here",
		"UPDATE goods SET t = 'x' RETURNING t LIKE t": "LIKE with a long or computed pattern " +
			"is refused here",
		"DELETE FROM goods RETURNING unlist([n])":     "unlist is refused here",
		"DELETE FROM goods RETURNING $1":              "DuckDB takes no parameter here",
		"DELETE FROM goods RETURNING rpad(t, n, 'x')": "rpad of a size that is computed is refused here",
	} {
		if got := w.write(sql); got.Err == nil || !strings.Contains(got.Err.Message, want) {
			t.Errorf("%s: got %+v, want %q", sql, got, want)
		}
	}
	if got := w.isolated("SELECT n, t FROM goods", 0); got.JSON != `[{"n":1,"t":"one"},{"n":2,"t":"two"}]` {
		t.Errorf("afterwards: got %+v", got)
	}
}

// TestWritesNameMissingFunctions: a call of a function that does not exist is that error in each
// part of a write, before what the part would compute.
func TestWritesNameMissingFunctions(t *testing.T) {
	w := writes(t)
	const conflict = "INSERT INTO goods (n, t) VALUES (1, 'x') ON CONFLICT (n) DO UPDATE SET t = "
	for _, sql := range []string{
		"DELETE FROM goods RETURNING ^nosuch(n)",
		"DELETE FROM goods RETURNING *, printf('%d', ^nosuch(n))",
		"DELETE FROM goods WHERE ^nosuch(n)",
		"DELETE FROM goods RETURNING main.^nosuch(n)",
		"UPDATE goods SET t = 'x' RETURNING ^nosuch(goods.n)",
		"UPDATE goods SET t = ^nosuch(t)",
		"UPDATE goods SET t = list_transform([t], lambda x: ^nosuch(x))",
		"INSERT INTO goods (n) VALUES (^nosuch(1))",
		"INSERT INTO goods (n) SELECT ^nosuch(n) FROM small",
		"INSERT INTO goods (t) VALUES ('x') RETURNING ^nosuch(t)",
		conflict + "^nosuch(goods.t)",
		conflict + "format('{}', ^nosuch(excluded.t))",
		conflict + "'y' WHERE ^nosuch(goods.t)",
	} {
		before, after, _ := strings.Cut(sql, "^")
		got := w.write(before + after)
		if got.Err == nil || got.Err.Code != errcode.NotFound || got.Err.Message != `there is no function "nosuch"` ||
			got.Err.Offset != len(strings.TrimSuffix(before, "main.")) {
			t.Errorf("%s: got %+v", sql, got)
		}
	}
	const similar = "DELETE FROM goods RETURNING levenshtien(t, t)"
	if got := w.write(similar); got.Err == nil || got.Err.Hint != `did you mean "levenshtein"?` {
		t.Errorf("%s: got %+v", similar, got)
	}
}

// TestWritesWithComputedParts: a write whose parts a worker computes writes what DuckDB would,
// and has DuckDB's errors.
func TestWritesWithComputedParts(t *testing.T) {
	w := writes(t)
	const all = "SELECT n, t, d::VARCHAR AS d, l FROM goods ORDER BY n"
	for _, c := range []struct {
		sql, want, rows string
		params          []any
	}{
		{
			sql: "INSERT INTO goods SELECT n + 10, t, NULL, [] FROM small WHERE n > 0", want: `[{"Count":2}]`,
			rows: `{"n":11,"t":"name 1","d":null,"l":[]},{"n":12,"t":"name 2","d":null,"l":[]}`,
		},
		{
			sql: "INSERT INTO goods (d, n) SELECT '2020-01-0' || n, n + 10 FROM small WHERE n = 1", want: `[{"Count":1}]`,
			rows: `{"n":11,"t":"none","d":"2020-01-01","l":null}`,
		},
		{
			sql: "INSERT INTO goods BY NAME SELECT n + 10 AS n, NULL AS d, (SELECT 'x') AS t FROM small WHERE n = 1", want: `[{"Count":1}]`,
			rows: `{"n":11,"t":"x","d":null,"l":null}`,
		},
		{
			sql: "INSERT INTO goods BY NAME SELECT t, n + 10 AS n FROM small WHERE n = 1 RETURNING n, upper(t) AS u", want: `[{"n":11,"u":"NAME 1"}]`,
			rows: `{"n":11,"t":"name 1","d":null,"l":null}`,
		},
		{
			sql: "INSERT INTO goods (n, t) VALUES (11, 1.10), ((SELECT max(n) + 1 FROM goods), 2), (?, ?)", params: []any{int64(13), "x"}, want: `[{"Count":3}]`,
			rows: `{"n":3,"t":"2","d":null,"l":null},{"n":11,"t":"1.10","d":null,"l":null},{"n":13,"t":"x","d":null,"l":null}`,
		},
		{
			sql:    "INSERT INTO goods (n, t) SELECT n, ? FROM small WHERE n = ? ON CONFLICT (n) DO UPDATE SET t = excluded.t || ? RETURNING t",
			params: []any{"a", int64(2), "b"},
			want:   `[{"t":"ab"}]`, rows: `2`,
		},
		{
			sql:    "UPDATE goods SET l = list_transform([t, $2], lambda x: upper(x)), d = '2021-01-01', t = DEFAULT WHERE regexp_matches(t, $1) RETURNING *",
			params: []any{"^tw", "z"},
			want:   `[{"n":2,"t":"none","d":"2021-01-01","l":["TWO","Z"]}]`, rows: `2`,
		},
		{sql: "UPDATE goods AS g SET t = (SELECT string_agg(t, '+' ORDER BY n) FROM goods WHERE n <> g.n), n = g.n WHERE g.n = 1", want: `[{"Count":1}]`, rows: `1`},
		{sql: "DELETE FROM goods WHERE n = 1 RETURNING list_sort([2, n]) AS s, list_aggregate([n], 'sum') AS a", want: `[{"s":[1,2],"a":1}]`, rows: `1`},
		{sql: "DELETE FROM goods g WHERE EXISTS (FROM small s WHERE s.n = g.n AND s.n > 1) RETURNING g.n", want: `[{"n":2}]`, rows: `2`},
		{sql: "UPDATE goods SET t = 'x' WHERE n IN (SELECT n + 50 FROM small)", want: `[{"Count":0}]`},
		{sql: "INSERT INTO goods SELECT n FROM small", want: "has 4 columns but 1 values were supplied"},
		{sql: "INSERT INTO goods (n, d) SELECT n, 'x' FROM small", want: "invalid date field format"},
		{sql: "INSERT INTO goods (n, d) SELECT n, 1 FROM small", want: "Unimplemented type for cast"},
		{sql: "INSERT INTO goods (n) SELECT n FROM small", want: "Duplicate key"},
		{sql: "INSERT INTO goods (n) VALUES (1), (DEFAULT), ((SELECT 3))", want: "DEFAULT is refused"},
		{sql: "UPDATE goods SET t = regexp_replace(goods, 'a', t)", want: "over all columns"},
		{sql: "UPDATE goods SET t = format('{}', COLUMNS(*))", want: "over all columns"},
		{sql: "UPDATE goods SET t = regexp_extract(nosuch, t)", want: `Referenced column "nosuch" not found`},
	} {
		tx := &engine.Transaction{}
		got := w.result(engine.Request{SQL: c.sql, Write: true, Isolate: true, Params: engine.Params{Positional: c.params}, Transaction: tx})
		text := got.JSON
		if got.Err != nil {
			text = got.Err.Message
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: got %+v, want %s", c.sql, got, c.want)
		}
		if got.Err == nil {
			there := w.result(engine.Request{SQL: all, Isolate: true, Transaction: tx})
			here := w.result(engine.Request{SQL: all, Transaction: tx})
			if there.JSON != here.JSON || len(c.rows) > 1 && !strings.Contains(here.JSON, c.rows) {
				t.Errorf("%s: then %s, in a worker %s, want %s", c.sql, here.JSON, there.JSON, c.rows)
			}
		}
		tx.Rollback()
		other := &engine.Transaction{}
		plain := w.result(engine.Request{SQL: c.sql, Write: true, Params: engine.Params{Positional: c.params}, Transaction: other})
		other.Rollback()
		if got.Err == nil && plain.JSON != got.JSON {
			t.Errorf("%s: got %s, in the parent alone %+v", c.sql, got.JSON, plain)
		}
	}
}

// TestWritesThatMoveManyRows: rows that a transaction computes of its own rows are spooled to a file
// until they are written, within a limit; others are written as they come.
func TestWritesThatMoveManyRows(t *testing.T) {
	w := writes(t)
	for _, sql := range []string{
		"INSERT INTO goods (n, t) SELECT n + 10, t FROM large", "UPDATE goods SET t = regexp_replace(t, 'name', t) WHERE n >= 900010",
		"DELETE FROM goods WHERE n IN (SELECT n + 10 FROM large)",
	} {
		if got := w.write(sql); got.Err != nil || !strings.Contains(got.JSON, "100000") {
			t.Fatalf("%s: got %+v", sql, got)
		}
	}
	w = writes(t, func(o *isolate.Options) { o.Spool = 1 << 20 })
	if got := w.write("INSERT INTO goods (n, t) SELECT n + 10, t FROM large"); got.Err == nil || !strings.Contains(got.Err.Message, "take more than 1 MiB") {
		t.Errorf("got %+v", got)
	}
	if got := w.write("INSERT INTO goods (n, t) SELECT i + 10, 'name ' || i FROM range(1000000) r(i)"); got.JSON != `[{"Count":1000000}]` {
		t.Errorf("got %+v", got)
	}
}

// TestComputedWritesAreDescribed: parameters have the types of the columns that they are for.
func TestComputedWritesAreDescribed(t *testing.T) {
	w := writes(t)
	describe := func(sql string, isolate bool) string {
		d, err := w.Describe(t.Context(), engine.Request{SQL: sql, Write: true, Isolate: isolate})
		if err != nil {
			return err.Error()
		}
		out := fmt.Sprint(d.Write, d.Returning)
		for _, p := range d.Params {
			out += " $" + p.Name + " " + typeName(p.Type)
		}
		for _, c := range d.Columns {
			out += " " + c.Name + " " + typeName(c.Type)
		}
		return out
	}
	for sql, want := range map[string]string{
		"INSERT INTO goods (d, n, t) SELECT $2, n + $1, $3 FROM small ON CONFLICT (n) DO UPDATE SET l = $4 RETURNING n, l": "$4 VARCHAR[] n BIGINT l VARCHAR[]",
		"INSERT INTO goods (n, d) VALUES ((SELECT max(n) FROM small), ?)":                                                  "$1 DATE Count BIGINT",
		"INSERT INTO goods (n, d) VALUES ($2, $1), ((SELECT 1), $3)":                                                       "$1 DATE $2 BIGINT $3 DATE Count BIGINT",
		"UPDATE goods SET d = $1, t = (SELECT t FROM small LIMIT 1) WHERE n = $2 RETURNING *": "$1 DATE $2 BIGINT n BIGINT t VARCHAR " +
			"d DATE l VARCHAR[]",
		"DELETE FROM goods WHERE n IN (SELECT n FROM small WHERE t = ?)": "$1 VARCHAR Count BIGINT",
		"DELETE FROM goods WHERE n IN (SELECT nosuch FROM small)":        `"nosuch" not found`,
	} {
		if got, here := describe(sql, true), describe(sql, false); got != here && !strings.Contains(here, "?") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, in the parent alone %s, want %s", sql, got, here, want)
		}
	}
	if _, err := w.Describe(t.Context(), engine.Request{SQL: "INSERT INTO goods (t) SELECT " + crash, Write: true, Isolate: true}); err == nil ||
		!strings.Contains(err.Error(), "ended its worker") {
		t.Errorf("got %v", err)
	}
}

// typeName is the name of a type, which is not known of some parameters.
func typeName(t *engine.Type) string {
	if t == nil {
		return "?"
	}
	return t.String()
}
