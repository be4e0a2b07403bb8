package portable

import "fmt"

// condition makes a BOOLEAN, often NULL.
func (g *generator) condition(depth int, s scope) string {
	if depth < 0 {
		return g.leaf(Boolean, s)
	}
	of := choose(g, Integer, Text, Integer, Numeric, Double, Date, Timestamp, Boolean, Interval)
	e := func(k Kind) string { return g.expr(k, depth-1, s) }
	simple := []func() string{
		func() string { return fmt.Sprintf("(%s %s %s)", e(of), choose(g, "=", "<", ">=", "<>"), g.leaf(of, s)) },
		func() string { return fmt.Sprintf("(%s IS %s)", e(of), choose(g, "NULL", "NOT NULL")) },
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.condition(depth-1, s), choose(g, "AND", "OR"), g.condition(depth-1, s))
		},
		func() string { return fmt.Sprintf("(NOT %s)", g.condition(depth-1, s)) },
		func() string {
			g.use("IS DISTINCT FROM")
			return fmt.Sprintf("(%s IS %s FROM %s)", e(of), choose(g, "DISTINCT", "NOT DISTINCT"), g.leaf(of, s))
		},
		func() string {
			g.use("IN list")
			return fmt.Sprintf("(%s %s (%s, %s))", e(of), choose(g, "IN", "NOT IN"), g.leaf(of, s), g.leaf(of, s))
		},
		func() string {
			g.use("BETWEEN")
			return fmt.Sprintf("(%s %s %s AND %s)", e(of), choose(g, "BETWEEN", "NOT BETWEEN"), g.leaf(of, s), g.leaf(of, s))
		},
		func() string {
			g.use("IS TRUE")
			return fmt.Sprintf("(%s IS %s)", g.condition(depth-1, s), choose(g, "TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"))
		},
		func() string {
			g.use("LIKE")
			return fmt.Sprintf("(%s %s %s)", e(Text), choose(g, "LIKE", "NOT LIKE", "ILIKE"), choose(g, "'a%'", "'%b'", "'_'", "'%''%'", "'A _'", "''"))
		},
		func() string { return fmt.Sprintf("starts_with(%s, %s)", e(Text), g.leaf(Text, s)) },
		func() string {
			g.use("ANY array")
			return fmt.Sprintf("(%s = ANY (ARRAY[%s, %s]))", e(Integer), g.leaf(Integer, s), g.leaf(Integer, s))
		},
	}
	if depth > 0 && !s.flat && g.chance(3) {
		return g.subqueryCondition(depth-1, s)
	}
	return choose(g, simple...)()
}

// subqueryCondition makes EXISTS, IN, ANY or ALL.
func (g *generator) subqueryCondition(depth int, s scope) string {
	outer := s.all()
	of := choose(g, Integer, Text, Numeric, Date, Boolean, Double)
	switch g.n(5) {
	case 1:
		g.use("IN subquery")
		return fmt.Sprintf("(%s %s (%s))", g.leaf(of, s), choose(g, "IN", "NOT IN"), g.query([]Kind{of}, depth, outer))
	case 2:
		g.use("ANY subquery")
		return fmt.Sprintf("(%s %s (%s))", g.leaf(of, s), choose(g, "= ANY", "< ANY", ">= ANY", "<> ANY"), g.query([]Kind{of}, depth, outer))
	case 3:
		g.use("ALL subquery")
		return fmt.Sprintf("(%s %s (%s))", g.leaf(of, s), choose(g, "= ALL", "< ALL", ">= ALL", "<> ALL"), g.query([]Kind{of}, depth, outer))
	case 4:
		// DuckDB gives NULL for false if a row has a NULL in any column
		g.use("row IN subquery")
		return fmt.Sprintf("coalesce((%s, %s) IN (%s), false)", g.leaf(of, s), g.leaf(Integer, s), g.query([]Kind{of, Integer}, depth, nil))
	}
	g.use("EXISTS")
	return fmt.Sprintf("%s(%s)", choose(g, "EXISTS ", "NOT EXISTS "), g.query(g.kinds(2), depth, outer))
}

// scalarSubquery makes a subquery of one row: an aggregate, or the first row in a total
// order.
func (g *generator) scalarSubquery(k Kind, depth int, s scope) string {
	g.use("scalar subquery")
	outer := s.all()
	mark := len(g.ctes)
	defer func() { g.ctes = g.ctes[:mark] }()
	with := ""
	if g.chance(3) {
		with = g.with(depth-1, outer)
		if g.chance(2) {
			g.use("SELECT without FROM")
			if g.chance(2) {
				return "(" + with + "SELECT " + g.indirect(k, outer) + ")"
			}
			return "(" + with + "SELECT " + g.expr(k, depth-1, scope{outer: outer}) + ")"
		}
	}
	if g.chance(3) {
		q := g.name("q")
		return fmt.Sprintf("(%sSELECT %s.c1 FROM (%s) AS %s (c1) ORDER BY 1 %s LIMIT 1)", with, q, g.query([]Kind{k}, depth-1, outer), q,
			choose(g, "NULLS LAST", "NULLS FIRST"))
	}
	from, inner := g.from(depth-1, outer)
	inside := scope{inner: inner, outer: outer}
	where := g.where(depth-1, inside)
	return fmt.Sprintf("(%sSELECT %s FROM %s%s)", with, g.aggregate(k, depth-1, inside), from, where)
}

// indirect makes a subquery that reads the last CTE through a subquery in FROM, which is
// where DuckDB 1.5 gives values of other rows.
func (g *generator) indirect(k Kind, outer []field) string {
	g.use("WITH read through FROM")
	c, alias := g.ctes[len(g.ctes)-1], g.name("r")
	s := scope{inner: fieldsOf(alias, c.kinds), outer: outer}
	return fmt.Sprintf("(SELECT %s FROM (SELECT * FROM %s) AS %s WHERE %s)", g.aggregate(k, 1, s), c.name, alias, g.condition(1, s))
}
