package main

import "testing"

// TestDataFusionDifferences runs what docs/sql.md says to write instead of DataFusion's SQL.
func TestDataFusionDifferences(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: empty\n"))
	for _, c := range []struct{ sql, want string }{
		{"SELECT 7 / 2 AS a, 7 // 2 AS b", `[{"a":3.5,"b":3}]`},
		{`SELECT "A" AS b FROM (SELECT 1 AS a)`, `[{"b":1}]`},
		{"SELECT * EXCLUDE (a) FROM (SELECT 1 AS a, 2 AS b)", `[{"b":2}]`},
		{"SELECT 'abc' ~ 'b' AS a, regexp_matches('abc', 'b') AS b, regexp_like('abc', 'b') AS c", `[{"a":false,"b":true,"c":true}]`},
		{"SELECT CAST(1 AS BIGINT) AS a, typeof(1) AS b", `[{"a":1,"b":"INTEGER"}]`},
		{"SELECT TIMESTAMPTZ '2024-01-01T00:00:00Z' AS a, to_timestamp(0) AS b", `[{"a":"2024-01-01T00:00:00Z","b":"1970-01-01T00:00:00Z"}]`},
		{"SELECT [1, 2] AS a, {'a': 1} AS b, len([1, 2]) AS c, cardinality(MAP {'a': 1}) AS d", `[{"a":[1,2],"b":{"a":1},"c":2,"d":1}]`},
		{"SELECT approx_count_distinct(x) AS a, approx_quantile(x, 0.5) AS b FROM (VALUES (1), (1)) t(x)", `[{"a":1,"b":1}]`},
		{"SELECT hex('a') AS a, to_hex(255) AS b, strlen('é') AS c", `[{"a":"61","b":"FF","c":2}]`},
		{"SELECT first(x ORDER BY x) AS a, median(x) AS b, corr(x, x) AS c FROM (VALUES (1), (3)) t(x)", `[{"a":1,"b":2.0,"c":1.0}]`},
		{
			"SELECT nvl(NULL, 1) AS a, ifnull(NULL, 1) AS b, date_bin(INTERVAL '1 hour', TIMESTAMP '2024-01-01 10:30:00', TIMESTAMP '2024-01-01') AS c",
			`[{"a":1,"b":1,"c":"2024-01-01T10:00:00"}]`,
		},
		{
			"SELECT to_date('2024-01-01') AS a, from_unixtime(0) AS b, date_format(TIMESTAMP '2024-01-01', '%Y') AS c",
			`[{"a":"2024-01-01","b":"1970-01-01T00:00:00","c":"2024"}]`,
		},
		{"SELECT initcap('ab cd') AS a, strpos('abc', 'c') AS b, btrim(' a ') AS c, split_part('a,b', ',', 1) AS d, array_to_string(string_to_array('a,b', " +
			"','), '+') AS e", `[{"a":"Ab Cd","b":3,"c":"a","d":"a","e":"a+b"}]`},
		{"SELECT array_has([1], 1) AS a, array_position([1, 2], 2) AS b, array_append([1], 2) AS c, array_length([1, 2]) AS d", `[{"a":true,"b":2,"c":[1,2],"d":2}]`},
		{"SELECT * FROM generate_series(1, 2)", `[{"generate_series":1},{"generate_series":2}]`},
	} {
		p.want(p.do("POST", "/v1/sql", c.sql), 200, c.want)
	}
	for _, c := range []struct{ sql, hint string }{
		{"SELECT first_value(x) FROM (SELECT 1 AS x)", "it is a window function: write first_value(…) OVER (…)"},
		{"SELECT '10' + 1 + CAST('1' AS INTEGER) + '2'", "explicit type cast"},
	} {
		p.want(p.do("POST", "/v1/sql", c.sql), 400, c.hint)
	}
}
