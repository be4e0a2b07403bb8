package main

import (
	"fmt"
	"strings"
)

// castTargets are the types to which constructs cast.
var castTargets = strings.Split("BOOLEAN|TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|"+
	"UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT|BIGNUM|FLOAT|DOUBLE|DECIMAL(1,1)|DECIMAL(18,3)|DECIMAL(38,38)|"+
	"VARCHAR|BLOB|BIT|UUID|DATE|TIME|TIME_NS|TIMETZ|TIMESTAMP|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP_NS|TIMESTAMPTZ|INTERVAL|JSON|VARIANT|GEOMETRY|"+
	"INTEGER[]|VARCHAR[][]|JSON[]|FLOAT[3]|VARCHAR[1][1]|STRUCT(a INTEGER)|STRUCT(a VARCHAR, b STRUCT(c JSON))|MAP(VARCHAR, INTEGER)|MAP(VARCHAR, JSON)|UNION(a "+
	"INTEGER, b VARCHAR)|ENUM('a', 'b')|STRUCT(a VARIANT)|VARIANT[]|MAP(VARCHAR, VARIANT)", "|")

// templates are parts of SQL that are no functions, as expressions or statements;
// $1, $2 and so on are values.
var templates = map[string]string{
	"(comparison)":          "$1 = $2",
	"(less)":                "$1 < $2",
	"(distinct from)":       "$1 IS DISTINCT FROM $2",
	"(in)":                  "$1 IN ($2, $3)",
	"(not in)":              "$1 NOT IN ($2, NULL)",
	"(between)":             "$1 BETWEEN $2 AND $3",
	"(case)":                "CASE $1 WHEN $2 THEN $3 ELSE $1 END",
	"(coalesce)":            "COALESCE(NULL, $1, $2)",
	"(collate)":             "($1 COLLATE NOCASE.NOACCENT) = ($2)",
	"(similar to)":          "($1) SIMILAR TO ($2)",
	"(like escape)":         "($1) LIKE ($2) ESCAPE ($3)",
	"(glob)":                "($1) GLOB ($2)",
	"(at time zone)":        "($1) AT TIME ZONE ($2)",
	"(extract)":             "extract('epoch' FROM ($1))",
	"(subscript)":           "($1)[$2]",
	"(slice)":               "($1)[$2:$3]",
	"(slice with step)":     "($1)[$2:$3:$4]",
	"(field)":               "($1).a",
	"(struct star)":         "SELECT s.* FROM (SELECT ($1) AS s)",
	"(try)":                 "TRY($1 / $2)",
	"(any list)":            "($1) = ANY ($2)",
	"(all subquery)":        "($1) >= ALL (SELECT $2)",
	"(comprehension)":       "[x FOR x IN ($1) IF x IS NOT NULL]",
	"(order by)":            "SELECT v FROM (VALUES ($1), ($2), ($3), (NULL)) t(v) ORDER BY v DESC NULLS LAST",
	"(order by limit)":      "SELECT v FROM (VALUES ($1), ($2), ($3), (NULL)) t(v) ORDER BY v LIMIT 2",
	"(group by)":            "SELECT v, count(*) FROM (VALUES ($1), ($2), ($1), (NULL)) t(v) GROUP BY v",
	"(grouping sets)":       "SELECT v, w, grouping(v, w), count(*) FROM (VALUES ($1, $2), ($1, NULL)) t(v, w) GROUP BY CUBE (v, w)",
	"(distinct)":            "SELECT DISTINCT v FROM (VALUES ($1), ($2), ($1), (NULL)) t(v)",
	"(distinct on)":         "SELECT DISTINCT ON (v) v, w FROM (VALUES ($1, $2), ($1, $3)) t(v, w) ORDER BY w",
	"(join)":                "SELECT a.v FROM (VALUES ($1), ($2)) a(v) JOIN (VALUES ($1), ($3)) b(v) ON a.v = b.v",
	"(full join)":           "SELECT a.v FROM (VALUES ($1), ($2)) a(v) FULL JOIN (VALUES ($1), ($3)) b(v) USING (v)",
	"(range join)":          "SELECT a.v FROM (VALUES ($1), ($2)) a(v) JOIN (VALUES ($1), ($3)) b(v) ON a.v < b.v",
	"(asof join)":           "SELECT a.v FROM (VALUES ($1), ($2)) a(v) ASOF LEFT JOIN (VALUES ($1), ($3)) b(v) ON a.v >= b.v",
	"(semi join)":           "SELECT v FROM (VALUES ($1), ($2)) a(v) WHERE v NOT IN (SELECT w FROM (VALUES ($3)) b(w))",
	"(union)":               "SELECT $1 AS v UNION SELECT $2",
	"(union by name)":       "SELECT $1 AS v UNION ALL BY NAME SELECT $2 AS w",
	"(except)":              "SELECT $1 AS v EXCEPT ALL SELECT $2",
	"(intersect)":           "SELECT $1 AS v INTERSECT SELECT $2",
	"(recursive)":           "WITH RECURSIVE r(v, n) AS (SELECT $1, 0 UNION SELECT v, n + 1 FROM r WHERE n < 100) SELECT v FROM r",
	"(recursive key)":       "WITH RECURSIVE r(v, n) USING KEY (v) AS (SELECT $1, 0 UNION SELECT v, n + 1 FROM r WHERE n < 100) SELECT v FROM r",
	"(limit)":               "SELECT v FROM (VALUES ($1)) t(v) LIMIT ($2) OFFSET ($3)",
	"(limit percent)":       "SELECT n FROM range(100) t(n) LIMIT ($1) %",
	"(unnest)":              "SELECT unnest($1), unnest($2)",
	"(unnest recursive)":    "SELECT unnest($1, recursive := true)",
	"(unnest depth)":        "SELECT unnest($1, max_depth := 3)",
	"(pivot)":               "PIVOT (VALUES ($1, $2), ($3, NULL)) t(v, w) ON v IN ('a', 1) USING count(w)",
	"(unpivot)":             "UNPIVOT (SELECT $1 AS v, $2 AS w) ON v, w",
	"(lateral)":             "SELECT x.u FROM (VALUES ($1)) t(v), LATERAL (SELECT v AS u, $2 AS z) x",
	"(correlated)":          "SELECT (SELECT max(b.w) FROM (VALUES ($2), ($3)) b(w) WHERE b.w >= t.v) FROM (VALUES ($1), (NULL)) t(v)",
	"(summarize)":           "SUMMARIZE SELECT $1 AS v",
	"(window order)":        "SELECT row_number() OVER (ORDER BY v), max(v) OVER (PARTITION BY v) FROM (VALUES ($1), ($2), (NULL)) t(v)",
	"(range frame)":         "SELECT count(*) OVER (ORDER BY v RANGE BETWEEN ($2) PRECEDING AND ($3) FOLLOWING) FROM (VALUES ($1), (NULL)) t(v)",
	"(rows frame)":          "SELECT list(n) OVER (ORDER BY n ROWS BETWEEN ($1) PRECEDING AND ($2) FOLLOWING) FROM range(100) t(n)",
	"(columns)":             "SELECT COLUMNS(c -> c IS NOT NULL) FROM (SELECT $1 AS a, $2 AS b)",
	"(sample)":              "SELECT * FROM range(3000) t(n) USING SAMPLE 10 PERCENT (bernoulli, 7)",
	"(qualify)":             "SELECT v FROM (VALUES ($1), ($2)) t(v) QUALIFY lag(v) OVER (ORDER BY v) IS DISTINCT FROM ($3)",
	"(positional join)":     "SELECT * FROM (VALUES ($1), ($2)) a(v) POSITIONAL JOIN (SELECT $3 AS w)",
	"(exists)":              "SELECT EXISTS (SELECT 1 FROM (VALUES ($1)) a(v) WHERE v = ($2))",
	"(row comparison)":      "($1, $2) < ($3, $4)",
	"(struct)":              "{'a': $1, 'b': [$2, $3]}",
	"(list)":                "[$1, $2, $3]",
	"(map)":                 "MAP {$1: $2, $3: $4}",
	"(not)":                 "NOT ($1)",
	"(and)":                 "($1) AND ($2) OR ($3)",
	"(minus)":               "-($1)",
	"(concatenation order)": "SELECT string_agg(v::VARCHAR, ',' ORDER BY v) FROM (VALUES ($1), ($2)) t(v)",
}

// constructs returns casts and the templates as functions.
func constructs() []*function {
	var all []*function
	add := func(name string, kind string, params int) {
		s := signature{kind: kind, params: make([]string, params)}
		all = append(all, &function{name: name, signatures: []signature{s}})
	}
	for _, typ := range castTargets {
		add(fmt.Sprintf("(cast to %s)", strings.ToLower(typ)), "CAST($1 AS "+typ+")", 1)
		add(fmt.Sprintf("(try_cast to %s)", strings.ToLower(typ)), "TRY_CAST($1 AS "+typ+")", 1)
	}
	for name, text := range templates {
		n := 0
		for strings.Contains(text, fmt.Sprintf("$%d", n+1)) {
			n++
		}
		add(name, text, max(n, 1))
	}
	return all
}
