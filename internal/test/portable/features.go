package portable

// Features are what statements may have; each occurs in some thousand statements.
var Features = []string{
	"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "USING", "LATERAL", "LEFT JOIN LATERAL", "unnest", "string_to_array", "derived table",
	"scalar subquery", "EXISTS", "IN subquery", "ANY subquery", "ALL subquery", "row IN subquery", "SELECT without FROM",
	"WITH", "nested WITH", "correlated WITH", "WITH read through FROM", "WITH RECURSIVE", "VALUES",
	"UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL",
	"aggregate", "FILTER", "string_agg", "statistics", "GROUP BY", "HAVING", "ROLLUP", "CUBE", "GROUPING SETS",
	"window", "WINDOW clause", "lag, first_value", "ROWS frame", "RANGE frame", "GROUPS frame", "EXCLUDE",
	"DISTINCT", "DISTINCT ON", "ORDER BY", "LIMIT", "OFFSET",
	"CASE", "IS DISTINCT FROM", "IN list", "BETWEEN", "IS TRUE", "LIKE", "ANY array", "EXTRACT", "text function", "date", "timestamp", "interval",
	"function", "table function",
}
