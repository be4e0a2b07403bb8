package functions

import (
	"fmt"
	"strings"
	"testing"
)

// ofText is a function over s utf8 with a body.
func ofText(returns, body string) string {
	return "- name: f\n  from: sql\n  signature:\n    args: [{ name: s, type: utf8 }]\n    returns: " + returns + "\n  body: |\n    " +
		strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}

func TestCorrelatedCTEs(t *testing.T) {
	db := open(t)
	const column = "SELECT f(s)::VARCHAR FROM (VALUES (1, 'a b'), (2, 'b'), (3, 'cc d e'), (4, NULL), (5, 'b')) AS v(i, s) ORDER BY i"
	for _, tt := range []struct{ name, returns, body, want string }{
		{
			"subquery in FROM of a subquery", "utf8",
			`(WITH parts AS (SELECT unnest(string_split(s, ' ')) AS w) SELECT (SELECT string_agg(w, '|') FROM (SELECT w FROM parts ORDER BY w) WHERE w <> s))`,
			"a|b; NULL; cc|d|e; NULL; NULL",
		},
		{"smallest", "int64", `(WITH nt AS (SELECT length(s) AS n) SELECT (SELECT count(*) FROM (SELECT n AS i FROM nt) WHERE s = 'b'))`, "0; 1; 0; 0; 1"},
		{
			"not materialized", "int64", `(WITH nt AS NOT MATERIALIZED (SELECT length(s) AS n) SELECT (SELECT count(*) FROM (SELECT n AS i FROM nt) WHERE s = 'b'))`,
			"0; 1; 0; 0; 1",
		},
		{
			"materialized", "int64", `(WITH nt AS MATERIALIZED (SELECT length(s) AS n) SELECT (SELECT count(*) FROM (SELECT n AS i FROM nt) WHERE s = 'b'))`,
			"0; 1; 0; 0; 1",
		},
		{"EXISTS", "boolean", `(WITH nt AS (SELECT length(s) AS n) SELECT EXISTS (SELECT 1 FROM (FROM nt) WHERE s = 'b'))`, "false; true; false; false; true"},
		{
			"column names", "int64",
			`(WITH nt(n, twice) AS (SELECT length(s), 2 * length(s)) SELECT (SELECT sum(x.twice) FROM (SELECT q.* FROM nt AS q) AS x(n, twice) WHERE s = 'b'))`,
			"NULL; 2; NULL; NULL; 2",
		},
		{
			"renamed columns", "int64",
			`(WITH nt(n, twice) AS (SELECT length(s), 2 * length(s)) SELECT (SELECT sum(i + j) FROM (SELECT * FROM nt AS q(i, j)) WHERE s = 'b'))`,
			"NULL; 3; NULL; NULL; 3",
		},
		{
			"one that reads another", "int64",
			"(WITH a AS (SELECT length(s) AS n), -- the length\n b AS (SELECT n + 1 AS m FROM a), other AS (SELECT count(*) AS k FROM orders)\nSELECT (SELECT sum(m) " +
				"+ (SELECT k FROM other) FROM (FROM b) WHERE s = 'b'))", "NULL; 11; NULL; NULL; 11",
		},
		{
			"read several times", "int64",
			`(WITH nt AS (SELECT length(s) AS n) SELECT (SELECT sum(x.n * y.n) FROM nt AS x, (SELECT n FROM nt) AS y WHERE s <> 'b') FROM nt)`,
			"9; NULL; 36; NULL; NULL",
		},
		{
			"inner WITH", "int64", `(SELECT max(id) FROM orders WHERE id < (WITH nt AS (SELECT length(s) AS n) SELECT (SELECT sum(n) FROM (FROM nt) WHERE s <> 'b')))`,
			"2; NULL; 5; NULL; NULL",
		},
		{
			"shadowed name", "int64",
			`(WITH nt AS (SELECT length(s) AS n) SELECT (WITH nt AS (SELECT 1 AS n) SELECT sum(n) FROM (FROM nt) WHERE s = 'b') + (SELECT sum(n) FROM (FROM nt) WHERE s = 'b'))`, "NULL; 2; NULL; NULL; 2",
		},
		{
			"over a dataset", "int64", `(WITH mine AS (SELECT amount FROM orders WHERE id = length(s)) SELECT (SELECT sum(amount) FROM (FROM mine) WHERE s <> 'b'))`,
			"30; NULL; 60; NULL; NULL",
		},
		{
			"set operation", "int64", `(WITH nt AS (SELECT length(s) AS n) SELECT (SELECT sum(n) FROM (FROM nt UNION ALL FROM nt) WHERE s <> 'b'))`,
			"6; NULL; 12; NULL; NULL",
		},
		{
			"recursive, not in a subquery", "int64", `(WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < length(s)) SELECT sum(i) FROM r)`,
			"6; 1; 21; 1; 1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, problems := publish(t, db, load(t, ofText(tt.returns, tt.body)), nil); len(problems) > 0 {
				t.Fatal(problems)
			}
			if got, err := query(t, db, column); err != nil || got != tt.want {
				t.Errorf("over a column: %s %v, want %s", got, err, tt.want)
			}
			for i, arg := range []string{"'a b'", "'b'", "'cc d e'", "NULL"} {
				want := strings.Split(tt.want, "; ")[i]
				if got, err := query(t, db, fmt.Sprintf("SELECT f(%s)::VARCHAR", arg)); err != nil || got != want {
					t.Errorf("f(%s): %s %v, want %s", arg, got, err, want)
				}
			}
		})
	}
}

func TestCTEsThatAreRefused(t *testing.T) {
	db := open(t)
	for _, tt := range []struct{ name, body, want string }{
		{
			"recursive", "(WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < length(s))\n SELECT (SELECT sum(i) FROM (FROM r) WHERE s = 'b'))",
			"11:21 function f: DuckDB may return the values of other rows for the CTE r, which depends on an outer query and is read in a subquery; it is recursive " +
				"(write WITH RECURSIVE at the start of the body",
		},
		{
			"recursive, without the argument",
			"(WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) SELECT (SELECT sum(n * i) FROM (SELECT length(s) AS n), r WHERE s <> 'b'))",
			"it is recursive",
		},
		{
			"recursive in a subquery",
			"(SELECT max(id) FROM orders WHERE id < (WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < length(s)) SELECT sum(i) FROM r))",
			"it is recursive",
		},
		{
			"recursive, read in its own subquery",
			"(WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < (SELECT max(i) + length(s) - 1 FROM r)) SELECT sum(i) FROM r)",
			"it is recursive",
		},
		{
			"volatile", "(WITH r AS (SELECT length(s) + random() AS i)\n SELECT (SELECT sum(i) FROM (FROM r) WHERE s = 'b')::BIGINT)",
			"11:11 function f: DuckDB may return the values of other rows for the CTE r, which depends on an outer query and is read in a subquery; random returns " +
				"another value each time (call it outside of the CTE)",
		},
		{"TABLE", "(WITH r AS (SELECT length(s) AS i) SELECT (SELECT sum(i) FROM (TABLE r) WHERE s = 'b'))", "it is not read in FROM (write SELECT * FROM r)"},
		{
			"ambiguous", "(SELECT max(id) FROM orders WHERE (WITH r AS (SELECT id AS i) SELECT (SELECT sum(i) FROM numbers, (FROM r) WHERE s = 'b')) > 1)",
			"in its place, id might be another column (qualify the column",
		},
		{
			"too many copies", "(WITH a AS (SELECT length(s) AS i), " + doubled(20) + " SELECT (SELECT sum(i) FROM (FROM a20) WHERE s = 'b'))",
			"its query would be repeated too often",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, problems := publish(t, db, load(t, ofText("int64", tt.body)), nil)
			if got := show(problems); !strings.Contains(got, tt.want) || set.Len() != 0 {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	// A fault that only DuckDB's binder finds has its place in the declared body.
	_, problems := publish(t, db, load(t, ofText("int64", "(WITH nt AS (SELECT lenth(s) AS n)\n  SELECT (SELECT sum(m) FROM (FROM nt) WHERE s = 'b'))")), nil)
	if got := show(problems); !strings.Contains(got, `11:25 function f: there is no function "lenth"`) {
		t.Error(got)
	}
	_, problems = publish(t, db, load(t, ofText("int64", "(WITH nt AS (SELECT length(s) AS n)\n  SELECT (SELECT sum(m) FROM (FROM nt) WHERE s = 'b'))")), nil)
	if got := show(problems); !strings.Contains(got, "12:26 function f: Referenced column") {
		t.Error(got)
	}
}

// doubled is a list of CTEs, each of which reads the one before it twice.
func doubled(n int) string {
	list := make([]string, n)
	last := "a"
	for i := range list {
		name := fmt.Sprintf("a%d", i+1)
		list[i] = fmt.Sprintf("%s AS (SELECT x.i FROM %s AS x, %s AS y)", name, last, last)
		last = name
	}
	return strings.Join(list, ", ")
}
