package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// TestDialect runs what DuckDB's dialect has in addition to plain SELECTs.
func TestDialect(t *testing.T) {
	db, _ := locked(t, Options{})
	for sql, want := range map[string]string{
		"SELECT ([1, 2, 3, 4])[:i]::VARCHAR AS v FROM k WHERE i = 2":        "[1, 2]",
		"SELECT a[:len(a)-1]::VARCHAR AS v FROM (SELECT [1, 2, 3] AS a)":    "[1, 2]",
		"SELECT s[:i] || s[i:] AS v FROM (SELECT 'hello' AS s, 2 AS i)":     "heello",
		"SELECT f[ :i][:j] AS v FROM (SELECT 'hello' AS f, 3 AS i, 2 AS j)": "he",
		"SELECT 1e1000::VARCHAR || (-1e1000)::VARCHAR || " +
			"'Infinity\"NaN' AS v": "inf-infInfinity\"NaN",
		"SELECT 123456789012345678901234567890::BIGNUM AS v": "123456789012345678901234567890",
		"SELECT 'POINT (1 2)'::GEOMETRY AS v":                "POINT (1 2)",
		"SELECT {'a': [1::VARIANT, " +
			"NULL]}::VARIANT AS v;": "{'a': [1, NULL]}",
		"SELECT [1::BIGNUM, NULL] AS v":                                                                                                               "[1, NULL]",
		"SELECT i::BIGNUM AS v FROM k ORDER BY i DESC LIMIT 1 -- the last":                                                                            "99",
		"SELECT * FROM (SELECT 1::BIGNUM AS v, 2 AS v)":                                                                                               "1",
		"SELECT sum(count)::VARCHAR AS v FROM histogram(k, i)":                                                                                        "100",
		"SELECT sum(count)::VARCHAR AS v FROM histogram_values('k', i, bin_count := 2)":                                                               "100",
		"SELECT count(*)::VARCHAR AS v FROM query_table('k')":                                                                                         "100",
		"SELECT count(*)::VARCHAR AS v FROM query_table(public.k) q WHERE q.i < 5":                                                                    "5",
		"SELECT max(i)::VARCHAR AS v FROM query_table((SELECT i FROM k WHERE i < 3))":                                                                 "2",
		"SELECT count(*)::VARCHAR AS v FROM summary((SELECT i FROM k))":                                                                               "100",
		"SELECT count(*)::VARCHAR AS v FROM test_all_types()":                                                                                         "3",
		"SELECT (current_setting('timezone') <> '')::VARCHAR AS v":                                                                                    "true",
		"SELECT t.i::VARCHAR AS v FROM main.k AS t, spice.main.k WHERE t.i = 7 AND k.i = t.i":                                                         "7",
		"SELECT max(v)::VARCHAR AS v FROM tab((SELECT i AS v FROM main.k), 1)":                                                                        "99",
		"WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT a, b + 1 FROM recurring.r WHERE b < 5) SELECT max(b)::VARCHAR AS v FROM r": "5",
		"WITH q AS (FROM query_table('k')) SELECT count(*)::VARCHAR AS v FROM q, q AS q2":                                                             "10000",
	} {
		got, err := texts(t.Context(), db, sql)
		if message, fails := strings.CutPrefix(want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s: %v, want %s", sql, err, message)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %s", sql, got, err, want)
		}
	}
	for _, sql := range []string{
		"SHOW TABLES", "describe tables;;", "EXPLAIN SHOW TABLES",
		"EXPLAIN (FORMAT JSON) SELECT 1", "EXPLAIN (FORMAT 'json', ANALYZE) FROM k", "EXPLAIN (ANALYZE) SELECT 1", "EXPLAIN (FORMAT html) SELECT 1",
		"EXPLAIN (SELECT 1)",
		"FROM test_all_types(use_large_enum := true)",
	} {
		if _, err := run(t.Context(), db, Request{SQL: sql}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestRefusalsHaveTheirReason requires that the hint is true for what was refused, and
// that nothing can be read by a name in an argument but what is declared.
func TestRefusalsHaveTheirReason(t *testing.T) {
	db, root := locked(t, Options{})
	for sql, want := range map[string]string{
		"SELECT setseed(0.5)":                       "changes what other statements see",
		"SELECT current_setting('threads')":         "TimeZone",
		"SELECT current_setting('Time' || 'Zone')":  "TimeZone",
		"SELECT stats(i) FROM k":                    "hidden rows",
		"SELECT sleep_ms(1)":                        "only waits",
		"FROM pragma_table_info('k')":               "DESCRIBE",
		"FROM duckdb_tables()":                      "spiced.datasets",
		"FROM read_csv('in.csv')":                   "reads files",
		"FROM parquet_scan('x')":                    "reads files",
		"FROM query('SELECT 1')":                    "built at run time",
		"SHOW ALL TABLES":                           "SHOW TABLES",
		"FROM (SHOW TABLES) LIMIT 1":                "spiced.datasets",
		"WITH s AS (FROM (DESCRIBE TABLES)) FROM s": "spiced.datasets",
		"FROM recurring.k":                          "not declared",
		"WITH RECURSIVE r(a, b) AS (SELECT 1, 2 UNION SELECT a, b + 1 FROM recurring.r WHERE b < 5) FROM r":               "not declared",
		"WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT a, b + 1 FROM r WHERE b < 5) FROM recurring.r": "not declared",
		"WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT secret, 1 FROM recurring.hidden) FROM r":       "not declared",
		"FROM main.hidden":                                                           "not declared",
		"FROM main.duckdb_tables":                                                    "not declared",
		"EXPLAIN ANALYZE (FORMAT JSON) SELECT 1":                                     "FORMAT",
		"EXPLAIN (VERBOSE) SELECT 1":                                                 "FORMAT",
		"EXPLAIN (FORMAT JSON, ) SELECT 1":                                           "FORMAT",
		"EXPLAIN (FORMAT 'x); DROP TABLE k; --') SELECT 1":                           "FORMAT",
		"FROM query_table('hidden')":                                                 "not declared",
		"FROM query_table(att.main.secret)":                                          "not declared",
		"FROM query_table('" + root + "/in.csv')":                                    "not declared",
		"FROM query_table('duckdb_settings')":                                        "not declared",
		"FROM query_table(['k', 'hidden'])":                                          "takes a table",
		"FROM query_table('hid' || 'den')":                                           "takes a table",
		"FROM query_table($1)":                                                       "takes a table",
		"FROM query_table()":                                                         "must be a declared table",
		"FROM main.query_table('hidden')":                                            "not declared",
		"FROM system.main.query_table('k')":                                          "without a schema",
		"FROM histogram(hidden, secret)":                                             "not declared",
		"FROM histogram(source := hidden, col_name := secret)":                       "must be a declared table",
		"FROM histogram(k, (SELECT max(secret) FROM hidden))":                        "not declared",
		"WITH duckdb_settings AS (SELECT 1 AS i) FROM histogram(duckdb_settings, i)": "must be a declared table",
		"WITH hidden AS (FROM k) FROM query_table('hidden')":                         "must be a declared table",
		"SELECT * FROM k, LATERAL (FROM query_table('hidden'))":                      "not declared",
		"SELECT (SELECT count(*) FROM query_table('hidden'))":                        "not declared",
	} {
		_, err := run(context.Background(), db, Request{SQL: sql})
		if err == nil {
			t.Errorf("%s: it ran", sql)
			continue
		}
		if e := asError(t, err); !strings.Contains(e.Error(), want) || e.Code == errcode.Internal {
			t.Errorf("%s: %v, want %s", sql, e, want)
		}
	}
}

// TestNoRowsAreRanked has statements for which DuckDB returns a row of NULLs where there is
// none (duckdb#25888).
func TestNoRowsAreRanked(t *testing.T) {
	db := fixture(t, Options{})
	for _, sql := range []string{
		"SELECT i FROM k WHERE i > 500 QUALIFY row_number() OVER (ORDER BY i) = 1",
		"SELECT i FROM (SELECT i, row_number() OVER (ORDER BY i DESC) AS r FROM k WHERE i + 1 > 500) WHERE r <= 1",
		"SELECT n FROM (SELECT count(*) AS n FROM k) WHERE n > 500 QUALIFY row_number() OVER (ORDER BY n) = 1",
	} {
		if n, err := run(t.Context(), db, Request{SQL: sql}); err != nil || n != 0 {
			t.Errorf("%s: %d rows, %v", sql, n, err)
		}
	}
	mustInteger(t, db, "SELECT i FROM k QUALIFY row_number() OVER (ORDER BY i DESC) = 1", 99)
}

// TestVolatileCallsAreNotRepeated: a window over values that are computed once must see the
// values that the statement returns (duckdb#24302).
func TestVolatileCallsAreNotRepeated(t *testing.T) {
	db := fixture(t, Options{})
	mustInteger(t, db, "SELECT count(*) FROM (SELECT r, max(r) OVER (PARTITION BY g) AS m FROM (SELECT i % 2 AS g, random() AS r FROM k)) WHERE m < r", 0)
	mustInteger(t, db, "SELECT count(*) FROM (SELECT s, sum(i) OVER () AS actual FROM (SELECT i, sum(i) OVER (PARTITION BY g) AS s FROM (SELECT 1 AS g, i FROM "+
		"k WHERE random() < 0.5))) WHERE s <> actual", 0)
}

// TestArmsOfUnionAreComputedApart: what two arms have in common is not what only one of them
// filters (duckdb#24624).
func TestArmsOfUnionAreComputedApart(t *testing.T) {
	db := openWith(t, Options{})
	catalog := NewCatalog(Contents{Relations: []Relation{{"public", "x"}, {"public", "y"}}})
	publish(t, db, catalog, "CREATE TABLE spice.public.x AS SELECT false AS b", "CREATE TABLE spice.public.y AS SELECT 'a' AS s")
	const condition = "((NOT x.b) AND (substring(y.s FROM -4294967296) <> y.s))"
	const joined = "SELECT * FROM x LEFT JOIN y ON true WHERE "
	mustInteger(t, db, "SELECT count(*) FROM ("+joined+"NOT "+condition+" UNION ALL "+joined+condition+" IS NULL)", 1)
}
