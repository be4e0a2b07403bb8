package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shapeSizes are the sizes of the statements of one shape; those over the limit of a
// statement's bytes are left out.
var shapeSizes = []int{8, 30, 100, 400, 900, 2_000, 6_000, 20_000, 100_000, 400_000}

// mostBytes is the default limit of a statement.
const mostBytes = 1 << 20

// shapes are statements as a whole, which grow. The guard judges them.
var shapes = map[string]func(n int) string{
	"(parentheses)":       nest("SELECT ", "(", "1", ")", ""),
	"(minus signs)":       nest("SELECT ", "- ", "1", "", ""),
	"(nots)":              nest("SELECT ", "NOT ", "true", "", ""),
	"(sum)":               nest("SELECT 1", "+1", "", "", ""),
	"(sum of columns)":    nest("SELECT n", "+n", "", "", " FROM range(9) t(n)"),
	"(right sum)":         nest("SELECT ", "(1+", "1", ")", ""),
	"(ands)":              nest("SELECT n", " > 1 AND n", " > 2", "", " FROM range(9) t(n)"),
	"(ors)":               nest("SELECT n FROM range(9) t(n) WHERE n = 1", " OR n = 2", "", "", ""),
	"(and or)":            nest("SELECT n FROM range(9) t(n) WHERE ", "(n > 1 AND n < 9 OR ", "true", ")", ""),
	"(concatenation)":     nest("SELECT 'a'", " || 'a'", "", "", ""),
	"(casts)":             nest("SELECT 1", "::INT", "", "", ""),
	"(casts to and fro)":  nest("SELECT n", "::VARCHAR::INT", "", "", " FROM range(9) t(n)"),
	"(calls)":             nest("SELECT ", "lower(", "'a'", ")", ""),
	"(calls of columns)":  nest("SELECT ", "abs(", "n", ")", " FROM range(9) t(n)"),
	"(method calls)":      nest("SELECT 'a'", ".lower()", "", "", ""),
	"(cases)":             nest("SELECT ", "CASE WHEN n > 1 THEN ", "1", " ELSE 0 END", " FROM range(9) t(n)"),
	"(case branches)":     nest("SELECT CASE n ", "WHEN 1 THEN 2 ", "", "", "ELSE 3 END FROM range(9) t(n)"),
	"(coalesces)":         nest("SELECT ", "COALESCE(NULL, ", "n", ")", " FROM range(9) t(n)"),
	"(tries)":             nest("SELECT ", "TRY(", "1", ")", ""),
	"(in list)":           nest("SELECT n FROM range(9) t(n) WHERE n IN (0", ",1", "", "", ")"),
	"(in list of texts)":  nest("SELECT n FROM range(9) t(n) WHERE n::VARCHAR IN ('0'", ",'ab'", "", "", ")"),
	"(nested in)":         nest("SELECT n FROM range(9) t(n) WHERE n IN ", "(SELECT n FROM range(9) t(n) WHERE n IN ", "(1)", ")", ""),
	"(subqueries)":        nest("", "SELECT * FROM (", "SELECT 1", ")", ""),
	"(scalar subqueries)": nest("SELECT ", "(SELECT ", "1", ")", ""),
	"(correlated)":        nest("SELECT n FROM range(9) t(n) WHERE ", "n > (SELECT max(n) FROM range(9) u(m) WHERE ", "true", ")", ""),
	"(exists)":            nest("SELECT 1 WHERE ", "EXISTS (SELECT 1 WHERE ", "true", ")", ""),
	"(array subqueries)":  nest("SELECT ", "ARRAY(SELECT ", "1", ")", ""),
	"(laterals)":          nest("SELECT 1 FROM range(1) t(n)", ", LATERAL (SELECT n) ", "", "", ""),
	"(unions)":            nest("SELECT 1", " UNION ALL SELECT 1", "", "", ""),
	"(distinct unions)":   nest("SELECT 1", " UNION SELECT 1", "", "", ""),
	"(nested unions)":     nest("", "(SELECT 1 UNION ALL ", "SELECT 1", ")", ""),
	"(excepts)":           nest("SELECT 1", " EXCEPT SELECT 2", "", "", ""),
	"(joins)":             nest("SELECT 1 FROM range(1) t", ", range(1)", "", "", ""),
	"(natural joins)":     nest("SELECT 1 FROM range(1) t(n)", " NATURAL JOIN range(1) u(n)", "", "", ""),
	"(left joins)":        nest("SELECT 1 FROM range(1) t(n)", " LEFT JOIN range(1) u(m) ON true", "", "", ""),
	"(positional joins)":  nest("SELECT 1 FROM range(1) t(n)", " POSITIONAL JOIN range(1) u(m)", "", "", ""),
	"(nested joins)":      nest("SELECT 1 FROM ", "(range(1) JOIN ", "range(1)", " ON true)", ""),
	"(columns)":           nest("SELECT 1", ",1", "", "", ""),
	"(columns of rows)":   nest("SELECT n", ",n+1", "", "", " FROM range(9) t(n)"),
	"(distinct columns)":  nest("SELECT DISTINCT n", ",n+1", "", "", " FROM range(9) t(n)"),
	"(order by)":          nest("SELECT n FROM range(9) t(n) ORDER BY n", ",n+1", "", "", ""),
	"(group by)":          nest("SELECT 1 FROM range(9) t(n) GROUP BY n", ",n+1", "", "", ""),
	"(aggregates)":        nest("SELECT sum(n)", ",sum(n+1)", "", "", " FROM range(9) t(n)"),
	"(distinct sums)":     nest("SELECT sum(DISTINCT n)", ",sum(DISTINCT n+1)", "", "", " FROM range(9) t(n)"),
	"(windows)":           nest("SELECT n", ",sum(n) OVER (ORDER BY n)", "", "", " FROM range(9) t(n)"),
	"(nested windows)":    nest("SELECT ", "(SELECT sum(n) OVER (ORDER BY ", "n", ") LIMIT 1)", " FROM range(9) t(n)"),
	"(rows)":              nest("VALUES (1)", ",(1)", "", "", ""),
	"(wide rows)":         nest("VALUES (1", ",1", "", "", ")"),
	"(lists)":             nest("SELECT ", "[", "1", "]", ""),
	"(lists of columns)":  nest("SELECT ", "[", "n", "]", " FROM range(9) t(n)"),
	"(empty lists)":       nest("SELECT ", "[", "", "]", ""),
	"(list texts)":        nest("SELECT ", "[", "n", "]", "::VARCHAR FROM range(9) t(n)"),
	"(structs)":           nest("SELECT ", "{'a': ", "1", "}", ""),
	"(structs as JSON)":   nest("SELECT to_json(", "{'a': ", "n", "}", ") FROM range(9) t(n)"),
	"(rows of rows)":      nest("SELECT ", "row(", "1", ")", ""),
	"(maps)":              nest("SELECT ", "MAP {1: ", "1", "}", ""),
	"(maps as keys)":      nest("SELECT ", "MAP {", "1", ": 1}", ""),
	"(unions of values)":  nest("SELECT ", "union_value(a := ", "1", ")", ""),
	"(wide struct)":       func(n int) string { return "SELECT {" + series(n, "'a%d': 1") + "}" },
	"(wide list)":         nest("SELECT [1", ",1", "", "", "]"),
	"(list types)":        nest("SELECT NULL::INT", "[]", "", "", ""),
	"(array types)":       nest("SELECT NULL::INT", "[1]", "", "", ""),
	"(struct types)":      nest("SELECT NULL::", "STRUCT(a ", "INT", ")", ""),
	"(map types)":         nest("SELECT NULL::", "MAP(INT, ", "INT", ")", ""),
	"(union types)":       nest("SELECT NULL::", "UNION(a ", "INT", ")", ""),
	"(list of JSON)":      nest("SELECT '1'::JSON::JSON", "[]", "", "", ""),
	"(text as lists)":     nest("SELECT '[]'::INT", "[]", "", "", ""),
	"(enum)":              func(n int) string { return "SELECT NULL::ENUM(" + series(n, "'a%d'") + ")" },
	"(comprehensions)":    nest("SELECT ", "[x FOR x IN ", "[1]", "]", ""),
	"(inner comprehens.)": nest("SELECT ", "[", "1", " FOR x IN [1]]", ""),
	"(lambdas)":           nest("SELECT ", "list_transform([1], lambda x: ", "1", ")", ""),
	"(unnests)":           nest("SELECT ", "unnest([", "1", "])", ""),
	"(subscripts)":        nest("SELECT NULL::INT[]", "[1]", "", "", ""),
	"(fields)":            nest("SELECT a", ".a", "", "", ""),
	"(JSON paths)":        nest("SELECT '{}'::JSON", "->'a'", "", "", ""),
	"(JSON texts)":        nest("SELECT '{}'::JSON", "->>'a'", "", "", ""),
	"(collations)":        nest("SELECT 'a'", " COLLATE NOCASE", "", "", ""),
	"(time zones)":        nest("SELECT TIMESTAMP '2000-01-01'", " AT TIME ZONE 'UTC'", "", "", ""),
	"(intervals)":         nest("SELECT DATE '2000-01-01'", " + INTERVAL 1 DAY", "", "", ""),
	"(betweens)":          nest("SELECT ", "1 BETWEEN 0 AND (", "1", ")::INT", ""),
	"(is null)":           nest("SELECT 1", " IS NULL", "", "", ""),
	"(long text)":         nest("SELECT '", "x", "", "", "'"),
	"(long name)":         nest(`SELECT 1 AS "`, "x", "", "", `"`),
	"(long number)":       nest("SELECT 1", "0", "", "", ""),
	"(long fraction)":     nest("SELECT 0.", "1", "", "", ""),
	"(long pattern)":      nest("SELECT 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx' LIKE '", "%x", "", "", "y'"),
	"(long regexp)":       nest("SELECT regexp_matches('a', '", "(a", "", ")", "')"),
	"(CTEs)":              func(n int) string { return "WITH a0 AS (SELECT 1 AS v)" + chain(n, ", a%d AS (FROM a%d)") + " FROM a0" },
	"(CTE chain)": func(n int) string {
		return "WITH a0 AS (SELECT 1 AS v)" + chain(n, ", a%d AS (FROM a%d)") + fmt.Sprintf(" FROM a%d", n)
	},
	"(doubling CTEs)": func(n int) string {
		return "WITH a0 AS (SELECT 1 AS v)" + chain(n, ", a%d AS (FROM a%[2]d UNION ALL FROM a%[2]d)") + fmt.Sprintf(" SELECT count(*) FROM a%d", n)
	},
	"(materialized doubling CTEs)": func(n int) string {
		return "WITH a0 AS (SELECT 1 AS v)" + chain(n, ", a%d AS MATERIALIZED (FROM a%[2]d UNION ALL FROM a%[2]d)") + fmt.Sprintf(" SELECT count(*) FROM a%d", n)
	},
	"(nested CTEs)":       nest("", "WITH a AS (", "SELECT 1 AS v", ") FROM a", ""),
	"(recursive CTE)":     nest("WITH RECURSIVE r(n) AS (SELECT 0", " UNION ALL SELECT n + 1 FROM r WHERE n < 9", "", "", ") FROM r"),
	"(endless recursion)": func(int) string { return "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r) FROM r" },
	"(doubling recursion)": func(int) string {
		return "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r, range(2)) SELECT count(*) FROM r"
	},
	"(growing recursion)": func(int) string {
		return "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT count(*) FROM r"
	},
	"(cube)": func(n int) string {
		return "SELECT 1 FROM (SELECT " + series(n, "1 AS a%d") + ") GROUP BY CUBE (" + series(n, "a%d") + ")"
	},
	"(rollup)": func(n int) string {
		return "SELECT 1 FROM (SELECT " + series(n, "1 AS a%d") + ") GROUP BY ROLLUP (" + series(n, "a%d") + ")"
	},
	"(cubes)":         nest("SELECT 1 FROM range(3) t(n) GROUP BY CUBE (n, n + 1)", ", CUBE (n, n + 1)", "", "", ""),
	"(grouping sets)": nest("SELECT 1 FROM range(3) t(n) GROUP BY GROUPING SETS (()", ", (n)", "", "", ")"),
	"(pivot)":         func(n int) string { return "PIVOT range(9) t(n) ON n IN (" + series(n, "%d") + ") USING count(*)" },
	"(pivot of pivots)": func(n int) string {
		return "PIVOT range(9) t(n) ON " + strings.Repeat("n IN (1, 2), ", n) + "n IN (1, 2) USING count(*)"
	},
	"(unpivot)":       func(n int) string { return "UNPIVOT (SELECT " + series(n, "1 AS a%d") + ") ON COLUMNS(*)" },
	"(columns stars)": nest("SELECT ", "COLUMNS(*) + ", "1", "", " FROM (SELECT 1 AS a, 2 AS b)"),
	"(stars)":         nest("SELECT *", ", *", "", "", " FROM (SELECT 1 AS a, 2 AS b)"),
	"(nested stars)":  nest("", "SELECT *, * FROM (", "SELECT 1", ")", ""),
	"(exclude)": func(n int) string {
		return "SELECT * EXCLUDE (" + series(n, "a%d") + ") FROM (SELECT " + series(n+1, "1 AS a%d") + ")"
	},
	"(replace)": func(n int) string {
		return "SELECT * REPLACE (" + series(n, "2 AS a%d") + ") FROM (SELECT " + series(n, "1 AS a%d") + ")"
	},
	"(describes)":    nest("", "FROM (DESCRIBE ", "SELECT 1", ")", ""),
	"(summaries)":    nest("", "FROM (SUMMARIZE ", "SELECT 1 AS a", ")", ""),
	"(wide summary)": func(n int) string { return "SUMMARIZE SELECT " + series(n, "1 AS a%d") },
	"(samples)":      nest("", "SELECT * FROM (", "SELECT 1", ") USING SAMPLE 1", ""),
	"(limits)":       nest("", "SELECT * FROM (", "SELECT 1", " LIMIT 9)", ""),
	"(semi joins)":   nest("SELECT 1 FROM range(1) t(n)", " SEMI JOIN range(1) u(n) USING (n)", "", "", ""),
	"(asof joins)":   nest("SELECT 1 FROM range(1) t(n)", " ASOF JOIN range(1) u(m) ON n >= m", "", "", ""),
	"(comments)":     nest("SELECT ", "/*", "", "*/", "1"),
	"(list over all)": func(n int) string {
		return fmt.Sprintf("SELECT length(array_agg(n) OVER ()) FROM range(%d) t(n)", 100*n)
	},
	"(distinct over)": func(n int) string {
		return fmt.Sprintf("SELECT count(DISTINCT n) OVER (ORDER BY n) FROM range(%d) t(n)", 10*n)
	},
	"(text of list over)": func(n int) string {
		return fmt.Sprintf("SELECT string_agg(n::VARCHAR) OVER (ORDER BY n) FROM range(%d) t(n)", n)
	},
	"(quantiles over)": func(n int) string {
		return fmt.Sprintf("SELECT median(n) OVER (ORDER BY n %% 7 ROWS BETWEEN 1000 PRECEDING AND 1000 FOLLOWING) FROM range(%d) t(n)", 10*n)
	},
	"(list of lists)": func(n int) string { return fmt.Sprintf("SELECT length(list(range(%d))) FROM range(%[1]d)", n) },
	"(map of list)":   func(n int) string { return fmt.Sprintf("SELECT cardinality(histogram(n)) FROM range(%d) t(n)", 100*n) },
	"(cross of generators)": func(n int) string {
		return fmt.Sprintf("SELECT count(*) FROM range(%d), range(%[1]d), range(%[1]d) t(n) WHERE n < 0", n)
	},
	"(list of products)": func(n int) string {
		return fmt.Sprintf("SELECT length([x + y for x in range(%d) if (SELECT true)]) FROM range(9) t(y)", n)
	},
}

// nest returns a shape: n times begin, then inner, then n times end.
func nest(before, begin, inner, end, after string) func(n int) string {
	return func(n int) string {
		if n*(len(begin)+len(end)) > mostBytes {
			return ""
		}
		return before + strings.Repeat(begin, n) + inner + strings.Repeat(end, n) + after
	}
}

// series is n numbered texts.
func series(n int, format string) string {
	var b strings.Builder
	for i := 0; i < n && b.Len() < mostBytes; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// chain is n texts with their own number and the one before.
func chain(n int, format string) string {
	var b strings.Builder
	for i := 1; i <= n && b.Len() < mostBytes; i++ {
		fmt.Fprintf(&b, format, i, i-1)
	}
	return b.String()
}

// statements returns the shapes as functions.
func statements() []*function {
	var all []*function
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		f := &function{name: name}
		for _, n := range shapeSizes {
			if sql := shapes[name](n); sql != "" && len(sql) <= mostBytes && !slices.Contains(f.whole, sql) {
				f.whole = append(f.whole, sql)
			}
		}
		all = append(all, f)
	}
	return all
}
