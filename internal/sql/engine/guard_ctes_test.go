package engine

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ofRows puts a list for its select list in FROM of rows of columns n and s.
func ofRows(list string) string {
	return "SELECT " + list + "::VARCHAR AS c FROM (VALUES (1, 'a b'), (2, 'b'), (3, 'cc d e'), (4, NULL), (5, 'b')) AS t(n, s) ORDER BY t.n"
}

// TestCorrelatedCTEs has statements that DuckDB computes from the values of other rows.
func TestCorrelatedCTEs(t *testing.T) {
	db := fixture(t, Options{})
	for _, tt := range []struct{ name, list, want string }{
		{"smallest", "(WITH w AS (SELECT length(s) AS k) SELECT (SELECT count(*) FROM (SELECT k AS i FROM w) WHERE s = 'b'))", "0 1 0 0 1"},
		{
			"qualified", "(WITH w AS (SELECT length(t.s) AS k) SELECT (SELECT count(*) FROM k AS j, (SELECT k AS i FROM w) AS x WHERE t.s = 'b' AND j.i < 3))",
			"0 3 0 0 3",
		},
		{
			"words", "(WITH parts AS (SELECT unnest(string_split(s, ' ')) AS w) SELECT (SELECT string_agg(w, '|') FROM (SELECT w FROM parts ORDER BY w) WHERE w <> s))",
			"a|b NULL cc|d|e NULL NULL",
		},
		{"over a table", "(WITH w AS (SELECT i + n AS j FROM k WHERE i < n) SELECT (SELECT sum(j) FROM (FROM w) WHERE s = 'b'))", "NULL 5 NULL NULL 35"},
		{
			"one that reads another", "(WITH a AS (SELECT length(s) AS v), b AS (SELECT v + 1 AS v FROM a) SELECT (SELECT sum(v) FROM (FROM b) WHERE s = 'b'))",
			"NULL 2 NULL NULL 2",
		},
		{"EXISTS", "(WITH w AS (SELECT length(s) AS k) SELECT EXISTS (SELECT 1 FROM (FROM w) WHERE s = 'b'))", "false true false false true"},
		{
			"an error that ended the database",
			"(WITH v AS (SELECT i FROM k), w(a, b) AS (SELECT t.s, j.i FROM k AS j WHERE j.i < 2) SELECT (SELECT bool_or(starts_with(r.a, 'b')) FROM (SELECT * FROM " +
				"w) AS r WHERE t.n IN (SELECT t.i FROM k AS t WHERE t.i > 1)))", "NULL true false NULL true",
		},
		{"calls", "(WITH w AS (SELECT twice(length(s)) AS k) SELECT (SELECT max(twice(i))::BIGINT FROM (SELECT k AS i FROM w) WHERE s = 'b'))", "NULL 4 NULL NULL 4"},
	} {
		if got, err := texts(t.Context(), db, ofRows(tt.list)); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	lateral := "SELECT q.c::VARCHAR FROM (VALUES (1, 'a'), (2, 'b'), (3, 'cc')) AS t(n, s), LATERAL (WITH w AS (SELECT length(t.s) AS k) SELECT " +
		"(SELECT count(*) " +
		"FROM (SELECT k FROM w) WHERE t.s = 'b') AS c) AS q ORDER BY t.n"
	if got, err := texts(t.Context(), db, lateral); err != nil || got != "0 1 0" {
		t.Errorf("LATERAL: %s, %v", got, err)
	}
	// k is the outer table where the CTE's own is named k but called j, or k only in a subquery.
	for _, list := range []string{"k.i AS b", "k.i AS b, (SELECT max(k.i) FROM k) AS c", "k.i AS b, (SELECT max(k.i) FROM k AS k) AS c"} {
		named := "SELECT (WITH w AS (SELECT j.i AS a, " + list +
			" FROM k AS j WHERE j.i < 3) SELECT (SELECT sum(r.a) FROM (SELECT * FROM w) AS r WHERE r.a = k.i))::VARCHAR FROM k WHERE k.i < 4 ORDER BY k.i"
		if got, err := texts(t.Context(), db, named); err != nil || got != "0 1 2 NULL" {
			t.Errorf("%s: %s, %v", named, got, err)
		}
	}
	params := ofRows("? || (WITH w AS (SELECT length(s) + ? AS k) SELECT (SELECT sum(x.i + y.i) FROM (SELECT k AS i FROM w) AS x, w AS y(i) WHERE s = ?))")
	if got, err := texts(t.Context(), db, strings.Replace(params, "w AS y(i)", "(SELECT k FROM w) AS y(i)", 1), "v", 10, "b"); err == nil || got != "" {
		t.Errorf("a name that may be another column: %s, %v", got, err)
	}
	params = ofRows("? || (WITH w AS (SELECT length(t.s) + ? AS k) SELECT (SELECT sum(x.i + y.i) FROM (SELECT k AS i FROM w) AS x, w AS y(i) WHERE t.s = ?))")
	if got, err := texts(t.Context(), db, params, "v", 10, "b"); err != nil || got != "NULL v22 NULL NULL v22" {
		t.Errorf("parameters: %s, %v", got, err)
	}
}

// TestCTEsThatStay has statements that DuckDB computes correctly: they keep their CTEs.
func TestCTEsThatStay(t *testing.T) {
	db := fixture(t, Options{})
	for _, tt := range []struct{ sql, want string }{
		{"WITH w AS (SELECT random() AS r, i FROM k) SELECT (count(*) = (SELECT count(*) FROM (SELECT r FROM w)))::VARCHAR FROM w", "true"},
		{"SELECT c FROM (WITH w AS (SELECT random() AS r), v AS (SELECT * FROM w WHERE r IN (SELECT r FROM w)) SELECT count(*)::VARCHAR AS c FROM v)", "1"},
		{"WITH RECURSIVE r AS (SELECT 1 AS j UNION ALL SELECT j + 1 FROM r WHERE j < 3) SELECT (SELECT sum(j) FROM (FROM r) WHERE j <= i)::VARCHAR FROM k WHERE " +
			"i < 3 ORDER BY i", "NULL 1 3"},
		{"SELECT m::VARCHAR FROM (SELECT i, (WITH RECURSIVE r AS (SELECT t.i AS j UNION ALL SELECT r.j + 1 FROM r WHERE r.j < 2 * t.i) SELECT j FROM r ORDER BY " +
			"j DESC LIMIT 1) AS m FROM k AS t WHERE t.i < 4) ORDER BY i", "0 2 4 6"},
		{"SELECT i::VARCHAR FROM k WHERE i IN (WITH RECURSIVE r AS (SELECT 1 AS j UNION ALL SELECT j + 1 FROM r WHERE j < 3) SELECT j FROM r) ORDER BY i", "1 2 3"},
		{"SELECT i::VARCHAR FROM k WHERE i IN (WITH w AS (SELECT i + 1 AS j FROM k) SELECT x.j FROM (SELECT j FROM w) AS x, k AS y WHERE y.i = x.j AND " +
			"x.j < 3) ORDER BY i", "1 2"},
	} {
		if got, err := texts(t.Context(), db, tt.sql); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.sql, got, err, tt.want)
		}
	}
}

func TestCTEsOfStatementsThatAreRefused(t *testing.T) {
	db, _ := writing(t, Options{})
	for _, tt := range []struct{ name, sql, want, hint string }{
		{"recursive", ofRows("(WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) SELECT (SELECT sum(k * i) FROM (SELECT length(s) AS " +
			"k), r WHERE s <> 'b'))"), "it is recursive", "at the start of the statement"},
		{
			"another column", ofRows("(WITH w AS (SELECT length(s) AS k) SELECT (SELECT count(*) FROM k AS j, (SELECT k AS i FROM w) WHERE s = 'b'))"),
			"in its place, s might be another column", "qualify the column",
		},
		{
			"an alias", ofRows("(WITH w AS (SELECT length(s) AS k) SELECT (SELECT count(*) FROM (SELECT 'x' AS s, (SELECT k FROM w) AS i) WHERE i = 1))"),
			"in its place, s might be another column", "qualify the column",
		},
		{"another table", ofRows("(WITH w AS (SELECT length(t.s) + i AS j FROM k) SELECT (WITH k AS (SELECT 7 AS i) SELECT count(*) FROM (SELECT j FROM " +
			"w), k WHERE t.s = 'b'))"), "in its place, k might be another table", "give the CTE k another name"},
		{
			"volatile", ofRows("(WITH w AS (SELECT length(s) + random() AS k) SELECT (SELECT count(*) FROM (SELECT k AS i FROM w) WHERE s = 'b'))"),
			"random returns another value each time", "outside of the CTE",
		},
	} {
		_, err := texts(t.Context(), db, tt.sql)
		if err == nil {
			t.Errorf("%s is accepted", tt.name)
			continue
		}
		e := asError(t, err)
		at := regexp.MustCompile(`WITH (RECURSIVE )?`).FindStringIndex(tt.sql)[1]
		if !strings.Contains(e.Message, tt.want) || !strings.Contains(e.Hint, tt.hint) || e.Offset != at {
			t.Errorf("%s: %s (%s) at %d", tt.name, e.Message, e.Hint, e.Offset)
		}
	}
	_, err := changeRows(context.Background(),
		db, "UPDATE orders SET price = (WITH w AS (SELECT length(name) AS n) SELECT (SELECT count(*) FROM (SELECT n AS i FROM w) WHERE name = 'two'))")
	if err == nil || !strings.Contains(err.Error(), "the values of other rows for a CTE") {
		t.Error(err)
	}
}

// TestInliningIsLinear inlines CTEs of statements that are long.
func TestInliningIsLinear(t *testing.T) {
	db := fixture(t, Options{})
	var chain, same strings.Builder
	for i := range 3000 {
		chain.WriteString(", w" + strconv.Itoa(i+1) + " AS (SELECT x FROM w" + strconv.Itoa(i) + ")")
		same.WriteString(", (WITH w AS (SELECT x) SELECT (SELECT max(x) FROM (SELECT x FROM w)))")
	}
	for _, sql := range []string{
		"SELECT (WITH w0 AS (SELECT x)" + chain.String() + " SELECT (SELECT max(x) FROM (FROM w3000))) FROM (VALUES (1)) AS t(x)",
		"SELECT x" + same.String() + " FROM (VALUES (1)) AS t(x)",
	} {
		st, err := db.Parse(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(8*time.Second, func() { panic("inlining 3,000 CTEs takes too long") })
		text, _, err := db.InlineCTEs(sql, st, fixtureCatalog())
		if late.Stop(); err != nil || text == sql {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
