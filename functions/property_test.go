package functions

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// expression is a random SQL expression over a (BIGINT), b (DOUBLE) and
// s (VARCHAR), in two spellings: with calls of declared functions, and with
// the bodies of those functions in their place.
type expression struct{ calls, inline string }

func leaf(s string) expression { return expression{s, s} }

func joined(format string, parts ...expression) expression {
	calls, inline := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		calls[i], inline[i] = p.calls, p.inline
	}
	return expression{fmt.Sprintf(format, calls...), fmt.Sprintf(format, inline...)}
}

// called calls a function whose body is given with %[1]s for its argument.
func called(name, body string, arg expression) expression {
	return expression{name + "(" + arg.calls + ")", strings.ReplaceAll(body, "$", "("+arg.inline+")")}
}

func number(r *rand.Rand, depth int) expression {
	if depth == 0 {
		return leaf([]string{"a", "b", "1", "2.5", "NULL", "a", "-3"}[r.IntN(6)])
	}
	x := func() expression { return number(r, depth-1) }
	switch r.IntN(12) {
	case 0:
		return joined("(%s + %s)", x(), x())
	case 1:
		return joined("(%s * 0.5 - %s)", x(), x())
	case 2:
		return joined("CASE WHEN %s > %s THEN %s ELSE b END", x(), x(), x())
	case 3:
		return joined("coalesce(%s, %s)", x(), x())
	case 4:
		return joined("length(%s)", text(r, depth-1))
	case 5:
		return called("twice", "CAST((CAST($ AS DOUBLE) + CAST($ AS DOUBLE)) AS DOUBLE)", joined("CAST(%s AS DOUBLE)", x()))
	case 6:
		arg := x()
		if strings.Contains(arg.calls, "lambda") || strings.Contains(arg.calls, " for ") { // DuckDB has no lambda in a subquery that sees an outer column
			return arg
		}
		return called("big", "CAST((SELECT count(*) FROM spice.public.numbers WHERE value < $) AS BIGINT)", joined("CAST(%s AS BIGINT)", joined("(%s\n %% 7)", arg)))
	case 7:
		if depth > 2 {
			return x()
		}
		return joined([]string{"list_sum(list_transform([%s, %s], lambda e: e + a))", "list_sum([x + b for x in [%s, %s] if x > a])"}[r.IntN(2)], x(), x())
	case 8:
		return joined("acos(%s / 1e9)", x())
	case 9:
		return joined("(- %s)", x())
	case 10:
		return joined("abs(%s) -- comment\n", x())
	}
	return joined("greatest(%s, %s)", x(), x())
}

func text(r *rand.Rand, depth int) expression {
	if depth == 0 {
		return leaf([]string{"s", "'x'", "'it''s -- é'", "NULL::VARCHAR", "''"}[r.IntN(5)])
	}
	x := func() expression { return text(r, depth-1) }
	switch r.IntN(5) {
	case 0:
		return joined("(%s || %s)", x(), x())
	case 1:
		return joined("upper(%s)", x())
	case 2:
		return joined("CASE WHEN %s IS NULL THEN %s ELSE s END", number(r, depth-1), x())
	case 3:
		return called("echo", "CAST(($ || '/' || $) AS VARCHAR)", x())
	}
	return joined("substr(%s, 2)", x())
}

// TestACallIsItsBody: whatever the body, calling the function gives what the
// body gives where it is written by hand.
func TestACallIsItsBody(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	db := open(t)
	const n = 60
	var yaml strings.Builder
	yaml.WriteString("- { name: twice, from: sql, signature: { args: [{ name: x, type: float64 }], returns: float64 }, body: x + x }\n" +
		"- { name: big, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: (SELECT count(*) FROM numbers WHERE value < x) }\n" +
		"- { name: echo, from: sql, signature: { args: [{ name: x, type: utf8 }], returns: utf8 }, body: \"x || '/' || x\" }\n")
	bodies := make([]expression, n)
	for i := range bodies {
		returns := "float64"
		if bodies[i] = joined("CAST(%s AS DOUBLE)", number(r, 1+r.IntN(3))); i%4 == 0 {
			bodies[i], returns = text(r, 1+r.IntN(3)), "utf8"
		}
		fmt.Fprintf(&yaml, "- name: p%d\n  from: sql\n  signature: { args: [{ name: a, type: int64 }, { name: b, type: float64 }, { name: s, type: utf8 "+
			"}], returns: "+
			"%s }\n  body: %q\n",
			i, returns, bodies[i].calls)
	}
	set, problems := publish(t, db, load(t, yaml.String()), nil)
	if len(problems) > 0 || set.Len() != n+3 {
		t.Fatal(problems)
	}
	// The calls give columns whose names the lambdas in the bodies have.
	const rows = "(SELECT *, a AS e, b AS x FROM (VALUES (1, 2.5::DOUBLE, 'abc'), (NULL, NULL, NULL), (-7, 1e3, ''), (0, -0.0, 'é漢'), (41, 'nan', 'x')) " +
		"AS v(a, b, s)) AS x"
	for i, body := range bodies {
		sql := fmt.Sprintf("SELECT count(*) FILTER (p%d(e, x.x, s) IS DISTINCT FROM (%s\n)) FROM %s", i, body.inline, rows)
		got, err := query(t, db, sql)
		if err != nil {
			if _, inline := query(t, db, fmt.Sprintf("SELECT (%s\n) FROM %s", body.inline, rows)); inline == nil {
				t.Errorf("%s\n%v", body.calls, err)
			}
			continue
		}
		if got != "0" {
			t.Errorf("%s\nis not\n%s\nin %s rows", body.calls, body.inline, got)
		}
	}
}

// FuzzCompile: no body makes Compile fail in another way than with a problem
// in the body, or creates anything but its function.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"x", "1, (x, y) AS 2", "TABLE SELECT 1", "1; CREATE TABLE pwned(i int)", "1) FROM orders WHERE (1=1", "x --", "x /*", "'", "\"", "$$", "e'\\'",
		"(SELECT max(id) FROM orders WHERE id = x)", "named_struct('a', x).a", "list_transform([x], lambda e: e + x)[1]",
		"list_reduce([x], lambda a, b: a.abs() + b + x)", "[[e + x + y for y in [e] if y > x] for e, i in [x]][1][1]", "[x].list_transform(x -> struct_pack(x))[1].x",
		"(x -> x) || list_filter([x], lambda \"a b\", c: x)",
		"x.f()", "f(x)", "1 AS (", "((", "))", ")(", "\x00", "\xff", "é",
	} {
		f.Add(s, false)
		f.Add("SELECT "+s+" AS v FROM orders", true)
	}
	db := open(f)
	f.Fuzz(func(t *testing.T, body string, table bool) {
		d := spicepod.Function{Name: "f", From: "sql", Enabled: true, Kind: spicepod.KindScalar, Volatility: spicepod.Volatile, Body: body}
		d.Signature = spicepod.Signature{Args: []spicepod.Arg{{Name: "x", Type: "int64"}}, Returns: spicepod.Returns{Type: "int64"}}
		if table {
			d.Kind, d.Signature.Returns = spicepod.KindTable, spicepod.Returns{Columns: []spicepod.Column{{Name: "v", Type: "int64"}}}
		}
		pod := &spicepod.Pod{Functions: []spicepod.Function{d}}
		set, problems := Compile(t.Context(), db, pod, relations, nil)
		if set.Len() == 0 && len(problems) == 0 {
			t.Fatal("neither a function nor a problem")
		}
		if set.Len() == 0 {
			return
		}
		stage, err := db.Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stage.Close()
		set.All()[0].Create(stage, pod, Staged(set.All(), nil))
		columns, err := stage.Describe("SELECT count(*) FROM duckdb_tables() WHERE temporary OR table_name = 'pwned' HAVING count(*) > 0")
		if err != nil || len(columns) != 1 {
			t.Fatal(err)
		}
		left, err := stage.Describe("SELECT * FROM pwned")
		if err == nil {
			t.Fatalf("%q made a table: %v", body, left)
		}
	})
}
