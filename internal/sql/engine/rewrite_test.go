package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// volatile differs at each evaluation; same(a, b) is 0 only when each argument
// is evaluated once a row.
const (
	volatile = "(random()::VARCHAR || repeat('x', (random() * 9)::INT))"
	ctes     = "WITH q AS (SELECT 7::BIGINT AS v) "
)

// callCases are statements with calls of declared functions; -1 only runs.
var callCases = []struct {
	sql    string
	params []any
	want   int64
}{
	{"SELECT twice('21')::BIGINT", nil, 42},
	{"SELECT twice(21)::BIGINT", nil, 42},
	{"SELECT twice($$21$$)::BIGINT", nil, 42},
	{"SELECT twice(e'2\\x31')::BIGINT", nil, 42},
	{"SELECT twice(21.0)::BIGINT", nil, 42},
	{"SELECT twice(x := '21')::BIGINT", nil, 42},
	{"SELECT twice(x => '21')::BIGINT", nil, 42},
	{"SELECT twice(X:=21)::BIGINT", nil, 42},
	{"SELECT twice(?)::BIGINT", []any{"21"}, 42},
	{"SELECT twice($1)::BIGINT + twice($1)::BIGINT", []any{int64(21)}, 84},
	{"SELECT twice(twice(?))::BIGINT", []any{"10.5"}, 42},
	{"SELECT twice(NULL) IS NULL AND twice(21) = 42 THEN_ FROM (SELECT 1)", nil, -1},
	{"SELECT sum(twice(i))::BIGINT FROM k", nil, 9900},
	{"SELECT (SELECT ({'a': twice(k.i)}).a)::BIGINT FROM k WHERE i = 21", nil, 42},
	{"SELECT l.z::BIGINT FROM k, LATERAL (SELECT struct_pack(a := i, b := twice(twice(k.i))).b AS z) l WHERE i = 7", nil, 28},
	{"SELECT (SELECT struct_insert({'a': 1}, b := twice(x := k.i)).b)::BIGINT FROM k WHERE i = 21", nil, 42},
	{"SELECT (SELECT ({'a': same(k.i, " + volatile + ")}).a)::BIGINT FROM k LIMIT 1", nil, 0},
	{"SELECT (SELECT ({'a': twice('21')}).a)::BIGINT FROM k LIMIT 1", nil, 42},
	{"SELECT \"twice('21')\"::BIGINT FROM (SELECT twice('21'))", nil, 42}, // the title is what was written
	{"WITH q AS (SELECT twice(x := '21') FROM range(1)) SELECT \"twice(x := '21')\"::BIGINT FROM q", nil, 42},
	{"SELECT max(\"twice('21')\")::BIGINT FROM (SELECT twice('21') UNION ALL SELECT '0' ORDER BY twice('21'))", nil, 42},
	{"SELECT sum(i.twice())::BIGINT FROM k", nil, 9900},
	{"SELECT sum(k.i.twice())::BIGINT FROM k", nil, 9900},
	{"SELECT ('21').twice()::BIGINT", nil, 42},
	{"SELECT (21).twice()::BIGINT", nil, 42},
	{"SELECT ($1).twice()::BIGINT", []any{"21"}, 42},
	{"SELECT \"TWICE\" ( /* ) */ '21' -- '\n )::BIGINT", nil, 42},
	{"SELECT spice . public . twice ('21')::BIGINT", nil, 42},
	{"SELECT\u00a0'\u00a0' || twice('21'), 1", nil, -1},
	{"SELECT count(*) FROM range(1000) WHERE same(random(), 'x') <> 0", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE same(1, " + volatile + ") <> 0", nil, 0},
	{"SELECT count(*) FILTER (same(random(), '5') <> 0) FROM range(1000)", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE same(b := " + volatile + ", a := '1') <> 0", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE CASE WHEN range > 5 THEN same(random() + 1, 'x') END <> 0", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE same(same(random(), 'x') + random(), 'x') <> 0", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE random().same('x') <> 0", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE (random() * 5).same('x').same(" + volatile + ") <> 0", nil, 0},
	{"SELECT count(*) FROM range(1000) WHERE range.same(" + volatile + ") <> 0", nil, 0},
	{"SELECT sum(same(random(), 'x'))::BIGINT FROM range(1000)", nil, 0},
	{"SELECT max(v)::BIGINT FROM (SELECT same(random(), 'x') AS v FROM range(1000) GROUP BY ALL ORDER BY same(random(), 'x'))", nil, 0},
	{"SELECT same(random(), 'x')::BIGINT FROM k GROUP BY same(random(), 'x') LIMIT 1", nil, 0},
	{"SELECT same(random() + ?, ?)::BIGINT", []any{int64(1), "y"}, 0},
	{"SELECT count(*) FROM tab(k, 1)", nil, 100},
	{"SELECT count(*) FROM tab('k', 1)", nil, 100},
	{"SELECT count(*) FROM tab('PUBLIC.k', n := '1')", nil, 100},
	{"SELECT v FROM tab(\"my table.x\", 1)", nil, 42},
	{"SELECT v + n FROM tab((SELECT 40 AS v), '2')", nil, 42},
	{"SELECT v + n FROM tab((SELECT ? AS v), ?) WHERE ? = 'x'", []any{int64(40), int64(2), "x"}, 42},
	{"SELECT ?::BIGINT - v FROM tab((SELECT ?::BIGINT AS v), 1)", []any{int64(50), int64(8)}, 42},
	{"SELECT v FROM tab((SELECT * FROM tab((SELECT twice('21')::BIGINT AS v), '5')), '6')", nil, 42},
	{"SELECT a.v * b.v FROM tab((SELECT 6::BIGINT AS v), 1) a, tab((SELECT 7::BIGINT AS v), 1) b", nil, 42},
	{"SELECT twice('21')::BIGINT FROM tab((SELECT 1), 1)", nil, 42},
	{ctes + "SELECT v FROM tab(q, 1)", nil, 7},
	{ctes + "SELECT v FROM tab('q', 1)", nil, 7},
	{ctes + "SELECT count(*) + max(v) FROM q, tab((SELECT * FROM k), 1)", nil, 107},
	{"WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 3) SELECT count(*) FROM r, tab((SELECT 1), 1)", nil, 3},
	{"WITH \"Q q\" AS (SELECT 7::BIGINT AS v) SELECT v FROM tab(\"q Q\", 1)", nil, 7},
	{"WITH \"a.b\" AS (SELECT 7::BIGINT AS v) SELECT v FROM tab('a.b', 1)", nil, 7},
	{"WITH k AS (SELECT 1) SELECT count(*) FROM tab(public.k, 1)", nil, 100},
}

func TestCallsBehaveAsBuiltInOnes(t *testing.T) {
	db := fixture(t, Options{})
	for _, c := range callCases {
		if c.want < 0 {
			if _, err := run(context.Background(), db, Request{SQL: c.sql}); err != nil && !strings.Contains(c.sql, "THEN_") {
				t.Errorf("%s: %v", c.sql, err)
			}
			continue
		}
		mustInteger(t, db, c.sql, c.want, c.params...)
	}
}

func TestNamedParameters(t *testing.T) {
	db := fixture(t, Options{})
	for _, c := range []struct {
		sql  string
		want int64
	}{
		{"SELECT twice(:x)::BIGINT", 42},
		{"SELECT twice($x)::BIGINT", 42},
		{"SELECT twice( :x )::BIGINT -- :y", 42},
		{"SELECT [1, 42, 3][$x-19]::BIGINT", 42},
		{"SELECT len([1, 2, 3][:len([:x])]) * 42", 42},
		{"SELECT len([1,2,3][1:2])::BIGINT + :x + 19", 42},
		{"SELECT {'a':CAST(:x AS BIGINT)}.a * 2", 42},
		{"SELECT a:(CAST(:x AS BIGINT) * 2)", 42},
		{"SELECT v * 2 FROM tab((SELECT :x::BIGINT AS v), 1)", 42},
	} {
		rows, err := db.Query(context.Background(), Request{SQL: c.sql, Params: Params{Named: map[string]any{"x": int64(21)}}})
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		for chunk, err := range rows.Chunks() {
			if err != nil || Value[int64](chunk.Column(0), 0) != c.want {
				t.Errorf("%s: %v", c.sql, err)
			}
		}
		rows.Close()
	}
}

func TestOnceIsNeeded(t *testing.T) {
	db := fixture(t, Options{})
	// Without the twin the arguments are evaluated twice: the test above can fail.
	n, err := integer(context.Background(), db, "SELECT count(*) FROM (SELECT random() AS a, random() AS b FROM range(1000)) WHERE a - b <> 0")
	if err != nil || n < 900 {
		t.Fatal(n, err)
	}
	v := judged(t, db, "SELECT same(random(), 'x'), same(1, 'x')")
	if want := `SELECT (list_transform([{'a': random(), 'b': CAST('x' AS VARCHAR)}], lambda __spiced_once: spice."public"."same"(__spiced_once."a", __spiced_once."b"))[1])` +
		` AS "same(random(), 'x')", same(CAST(1 AS DOUBLE), CAST('x' AS VARCHAR)) AS "same(1, 'x')"`; v.text != want {
		t.Errorf("got  %s\nwant %s", v.text, want)
	}
	v = judged(t, db, "SELECT random().same('x')")
	if want := `SELECT (list_transform([{'a': random(), 'b': CAST('x' AS VARCHAR)}], lambda __spiced_once: spice."public"."same"(__spiced_once."a", __spiced_once."b"))[1]) AS "random().same('x')"`; strings.ReplaceAll(v.text, "  ", " ") != want {
		t.Errorf("got  %s\nwant %s", v.text, want)
	}
}

func judged(t testing.TB, db *DB, sql string) *verdict {
	t.Helper()
	c, err := db.pools[0].get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer db.pools[0].put(c)
	v, err := db.judge(context.Background(), c, db.Current(), Request{SQL: sql}, &held{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestErrorsPointIntoTheCallersText(t *testing.T) {
	db := fixture(t, Options{})
	for _, c := range []struct {
		sql  string // ^ marks the place of the error
		code errcode.Code
		text string
	}{
		{"SELECT twice('1'), ^nosuch(2)", errcode.NotFound, "nosuch"},
		{"SELECT 'é€😀', twice('1'), twice('2'), ^iy FROM k", errcode.NotFound, "iy"},
		{"SELECT 'é',\n  twice('1'),\r\n\t'😀', ^nosuch(2)", errcode.NotFound, "nosuch"},
		{"EXPLAIN /* é */ ANALYZE\n SELECT twice('1'), ^nosuch(2)", errcode.NotFound, "nosuch"},
		{"EXPLAIN SELECT ^read_text('x')", errcode.Refused, "read_text"},
		{"SELECT\u00a0'\u00a0',\u2003^iy FROM k", errcode.NotFound, "iy"},
		{"SELECT same(random(), 'é'), ^iy FROM k", errcode.NotFound, "iy"},
		{"SELECT random().same('é'), ^iy FROM k", errcode.NotFound, "iy"},
		{"SELECT i FROM tab((SELECT 1 AS i), 1) WHERE twice('é') = ^iy", errcode.NotFound, "iy"},
		{"SELECT 'é', ^twice([1])", errcode.Argument, "twice(x float64) → float64 does not take these arguments"},
		{"SELECT twice('1'), ^twice([1])", errcode.Argument, "twice(x float64)"},
		{"SELECT twice('1'), ^twice(1, 2)", errcode.Argument, "twice(x float64) → float64: expected 1 argument, got 2"},
		{"SELECT 1 FROM ^hiddn", errcode.NotFound, "hiddn"},
		{"SELECT 'ü' FROM tab(^nope, 1)", errcode.NotFound, "nope"},
		{"SELECT 'ü' ^FORM k WHERE", errcode.Parse, ""},
	} {
		at := strings.IndexByte(c.sql, '^')
		sql := c.sql[:at] + c.sql[at+1:]
		_, err := run(context.Background(), db, Request{SQL: sql})
		if err == nil {
			t.Errorf("%q was allowed", sql)
			continue
		}
		e := asError(t, err)
		if c.code == errcode.Parse { // the parser's place is its own
			if e.Code != c.code {
				t.Errorf("%q: %s %v", sql, e.Code, e)
			}
			continue
		}
		want := new(Error).at(sql, at)
		if e.Code != c.code || e.Offset != want.Offset || e.Line != want.Line || e.Column != want.Column || !strings.Contains(e.Message, c.text) {
			t.Errorf("%q: got %s at %d (%d:%d) %s; want %s at %d (%d:%d)", sql, e.Code, e.Offset, e.Line, e.Column, e.Message,
				c.code, want.Offset, want.Line, want.Column)
		}
	}
}

func TestArgumentsThatCannotBeBoundOnceAreRefused(t *testing.T) {
	db := open(t)
	f := *twice
	f.Once, f.NotOnce = false, "its body has a subquery"
	publish(t, db, NewCatalog(Contents{Generation: 1, Functions: []*Function{&f}}), "CREATE FUNCTION spice.public.twice(x DOUBLE) AS x + x")
	_, err := run(context.Background(), db, Request{SQL: "SELECT twice(random())"})
	if e := asError(t, err); e.Code != errcode.Argument || !strings.Contains(e.Message, "and its body has a subquery") || e.Column != 8 {
		t.Error(e)
	}
	f2 := *twice
	f2.Name, f2.Random = "dice", true
	publish(t, db, NewCatalog(Contents{Generation: 2, Functions: []*Function{&f, &f2}}), "CREATE FUNCTION spice.public.dice(x DOUBLE) AS random() * x")
	if _, err := run(context.Background(), db, Request{SQL: "SELECT twice(dice(6))"}); err == nil {
		t.Error("a declared function that is random passed as an argument")
	}
}
