package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// TestBoundsInTheRuntime refuses what DuckDB would plan or evaluate for long, or with much
// memory, in the runtime's process, before it gets it. The first five are those of issue 34.
func TestBoundsInTheRuntime(t *testing.T) {
	t.Parallel()
	db := fixture(t, Options{})
	stars := series("WITH c0 AS (SELECT * FROM k)", ", c# AS (SELECT * FROM c@ a, c@ b)", " SELECT * FROM c#")
	for name, c := range map[string]struct{ sql, text, at string }{
		"list": {
			"SELECT list_transform(range(300000000), lambda x: x * x)[1] FROM k LIMIT 1",
			"range gives a list of 300000000 elements; at most 2000000", "range",
		},
		"columns":    {stars(39), "the stars of the statement give more than 32768 columns", ""},
		"digits":     {"SELECT repeat('9', 3000000)::BIGNUM", "the text of a BIGNUM has 3000000 bytes; at most 16384", "repeat"},
		"expression": {"SELECT regexp_matches('9', repeat('9?', 200000))", "the pattern of regexp_matches has 400000 bytes; at most 16384", "regexp_matches"},
		"LIKE":       {"SELECT '9' LIKE repeat('%9', 50000)", "the pattern of ~~ has 100000 bytes", "'9'"},
		"columns a.*": {
			series("WITH c0 AS (SELECT * FROM k)", ", c# AS (SELECT a.*, b.* FROM c@ a JOIN c@ b ON true)", " SELECT 1 FROM c#")(20),
			"the stars", "",
		},
		"columns, nested": {nested("SELECT 1 WHERE EXISTS (SELECT * FROM ", "(SELECT *, * FROM ", "k", ")", ")")(15), "the stars", ""},
		"COLUMNS":         {series("WITH c0 AS (SELECT * FROM k)", ", c# AS (SELECT COLUMNS(*) + 1 FROM c@ a, c@ b)", " SELECT 1 FROM c#")(20), "the stars", ""},
		"FROM first":      {series("WITH c0 AS (FROM k)", ", c# AS (FROM c@ a, c@ b)", " FROM c#")(20), "the stars", ""},
		"joins":           {series("SELECT 1 FROM k t0", " JOIN k t# ON t#.i = t@.i", "")(64), "the statement joins 65 tables at once; at most 64", ""},
		"joins in CTEs": {"WITH " + series("a AS (SELECT t0.i FROM k t0", " JOIN k t# USING (i)", ")")(40) +
			series(", b AS (SELECT t0.i FROM k t0", " JOIN k t# USING (i)", ")")(40) + " SELECT 1 FROM a JOIN b USING (i)", "joins 82 tables", ""},
		"joins in subquery": {"SELECT 1 FROM k JOIN (" + series("SELECT t0.i FROM k t0", ", k t#", "")(63) + ") u USING (i)", "joins 65 tables", ""},
		"calls":             {nested("SELECT ", "lower(", "'A'", ")", "")(501), "calls and operators are nested more than 500 deep", "lower"},
		"operators":         {nested("SELECT 1", " + 1", "", "", "")(501), "calls and operators", "1"},
		"computed":          {"SELECT generate_series(1, 3000 * 100000)[1]", "generate_series gives a list", "generate_series"},
		"steps":             {"SELECT len(range(0, 1000000000, 2))", "a list of 500000000 elements", "range"},
		"backwards":         {"SELECT len(range(1000000000, 0, -1))", "a list of 1000000000 elements", "range"},
		"text":              {"SELECT length(repeat(repeat('ab', 10000), 10000))", "repeat gives a value of at least 200000000 bytes; at most 33554432", "repeat"},
		"lpad":              {"SELECT lpad(name, 2000000000, 'x') FROM (SELECT 'a' AS name)", "lpad gives a value of at least 2000000000 bytes", "lpad"},
		"repeat a column":   {"SELECT repeat(i::VARCHAR, 1000000000) FROM k", "repeat gives a value of at least 1000000000 bytes", "repeat"},
		"list_resize":       {"SELECT list_resize([1], 1000000000)", "list_resize gives a list of 1000000000 elements", "list_resize"},
		"distance":          {"SELECT levenshtein(repeat('a', 200000), 'b')", "a text for levenshtein has 200000 bytes", "levenshtein"},
		"in a subquery":     {"SELECT (SELECT len(range(300000000)))", "a list of 300000000", "range"},
		"in ORDER BY":       {"SELECT i FROM k ORDER BY len(range(300000000))", "a list of 300000000", "range"},
		"EXPLAIN":           {"EXPLAIN SELECT len(range(300000000))", "a list of 300000000", "range"},
	} {
		_, err := run(t.Context(), db, Request{SQL: c.sql})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		e := asError(t, err)
		if e.Code != errcode.Refused || !strings.Contains(e.Message, c.text) || e.Hint == "" {
			t.Errorf("%s: %s: %v; want %q", name, e.Code, err, c.text)
		}
		if e.Offset <= 0 || !strings.HasPrefix(c.sql[e.Offset:], c.at) {
			t.Errorf("%s: at %d, want %q there", name, e.Offset, c.at)
		}
	}
}

// TestWithinBounds runs what programs and people write.
func TestWithinBounds(t *testing.T) {
	t.Parallel()
	db := fixture(t, Options{})
	for name, sql := range map[string]string{
		"rows":               "SELECT count(*) FROM range(300000000)",
		"rows of a table":    "SELECT count(*) FROM generate_series(1, 3000000) t(n)",
		"list":               "SELECT len(range(1000000))",
		"list of a column":   "SELECT len(range(i)) FROM k LIMIT 1",
		"text":               "SELECT length(repeat('ab', 1000000))",
		"pattern":            "SELECT 'a' LIKE 'b%', regexp_matches('a', '" + strings.Repeat("word|", 2000) + "')",
		"BIGNUM":             "SELECT repeat('9', 1000)::BIGNUM IS NULL",
		"distance":           "SELECT levenshtein('kitten', 'sitting')",
		"many columns":       series("SELECT 0 AS c0", ", # AS c#", "")(3000),
		"and stars":          "WITH w AS (" + series("SELECT 0 AS c0", ", # AS c#", "")(1000) + ") SELECT * FROM (SELECT * FROM (SELECT * FROM w))",
		"CTEs":               series("WITH a0 AS (SELECT 1 AS v)", ", a# AS (SELECT * FROM a@ UNION ALL SELECT * FROM a@)", " FROM a#")(12),
		"calls":              nested("SELECT ", "lower(", "'A'", ")", "")(100),
		"conditions":         nested("SELECT 1 WHERE 1 > 0", " AND 2 <> 1", "", "", "")(1_000),
		"joins":              series("SELECT count(*) FROM (SELECT 1 AS i) t0", " JOIN (SELECT 1 AS i) t# USING (i)", "")(30),
		"joins of aggregate": series("SELECT count(*) FROM (SELECT 1 AS i) t0", " JOIN (SELECT a.i FROM k a JOIN k b USING (i) GROUP BY a.i) t# USING (i)", "")(25),
		"USING":              series("WITH c0 AS (SELECT 1 AS v)", ", c# AS (SELECT * FROM c@ a JOIN c@ b USING (v))", " SELECT * FROM c#")(14),
	} {
		if _, err := run(t.Context(), db, Request{SQL: sql}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBoundsOfWrites: writes run in the runtime's process always.
func TestBoundsOfWrites(t *testing.T) {
	t.Parallel()
	db, _ := writing(t, Options{})
	for _, c := range []struct{ sql, at string }{
		{"INSERT INTO orders (id) SELECT len(range(300000000))", "range"},
		{"UPDATE orders SET name = repeat('x', 1000000000)", "repeat"},
		{"DELETE FROM orders WHERE name LIKE repeat('%9', 50000)", "name"},
	} {
		_, err := run(context.Background(), db, Request{SQL: c.sql, Write: true})
		e := asError(t, err)
		if e.Code != errcode.Refused || !strings.Contains(e.Message, "in the runtime's process") {
			t.Errorf("%s: %v", c.sql, err)
		}
		if e.Offset <= 0 || !strings.HasPrefix(c.sql[e.Offset:], c.at) {
			t.Errorf("%s: at %d, want %q there", c.sql, e.Offset, c.at)
		}
	}
}
