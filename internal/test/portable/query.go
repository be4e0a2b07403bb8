package portable

import (
	"fmt"
	"strings"
)

func list(parts []string) string { return strings.Join(parts, ", ") }

// query makes a query with columns c1, c2, … of these kinds. It may use the fields of the
// queries around it.
func (g *generator) query(kinds []Kind, depth int, outer []field) string {
	mark := len(g.ctes)
	defer func() { g.ctes = g.ctes[:mark] }()
	if depth <= 0 {
		return g.selectOnly(kinds, depth, outer)
	}
	switch g.n(14) {
	case 6:
		return g.group(kinds, depth, outer)
	case 7:
		return g.window(kinds, depth, outer)
	case 8:
		return g.setOperation(kinds, depth, outer)
	case 9, 10:
		with := g.with(depth-1, outer)
		return with + g.selectOnly(kinds, depth-1, outer)
	case 11:
		return g.first(kinds, depth, outer)
	case 12:
		return g.distinctOn(kinds, depth, outer)
	case 13:
		if g.chance(2) {
			return g.recursive(kinds, depth, outer)
		}
		return g.values(kinds, outer)
	}
	return g.selectOnly(kinds, depth, outer)
}

// selectOnly makes SELECT … FROM … WHERE ….
func (g *generator) selectOnly(kinds []Kind, depth int, outer []field) string {
	if len(outer) > 0 && g.chance(6) {
		g.use("SELECT without FROM")
		return g.selectFrom(kinds, depth, "", nil, outer)
	}
	from, inner := g.from(depth-1, outer)
	return g.selectFrom(kinds, depth, " FROM "+from, inner, outer)
}

// selectFrom makes a SELECT with the FROM that it gets, which may be "".
func (g *generator) selectFrom(kinds []Kind, depth int, from string, inner, outer []field) string {
	s := scope{inner: inner, outer: outer}
	var outputs []string
	for i, k := range kinds {
		outputs = append(outputs, fmt.Sprintf("%s AS c%d", g.expr(k, depth-1, s), i+1))
	}
	distinct := ""
	if g.chance(8) {
		g.use("DISTINCT")
		distinct = "DISTINCT "
	}
	return "SELECT " + distinct + list(outputs) + from + g.where(depth-1, s)
}

func (g *generator) where(depth int, s scope) string {
	if !g.chance(2) {
		return ""
	}
	return " WHERE " + g.condition(depth, s)
}

// with makes a WITH clause, whose relations what follows may read. They may use the fields
// around them.
func (g *generator) with(depth int, outer []field) string {
	g.use("WITH")
	if len(g.ctes) > 0 {
		g.use("nested WITH")
	}
	if len(outer) > 0 {
		g.use("correlated WITH")
	}
	var parts []string
	for range 1 + g.n(2) {
		kinds := g.kinds(3)
		sql := g.query(kinds, depth, outer)
		c := relation{g.name("w"), kinds}
		parts = append(parts, fmt.Sprintf("%s (%s) AS %s(%s)", c.name, columnNames("", len(kinds)), choose(g, "", "", "", "MATERIALIZED ", "NOT MATERIALIZED "), sql))
		g.ctes = append(g.ctes, c)
	}
	return "WITH " + list(parts) + " "
}

// setOperation makes UNION, INTERSECT or EXCEPT.
func (g *generator) setOperation(kinds []Kind, depth int, outer []field) string {
	op := choose(g, "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
	g.use(op)
	side := func() string {
		q := g.name("q")
		var casts []string
		for i, k := range kinds {
			casts = append(casts, fmt.Sprintf("%s AS c%d", cast(fmt.Sprintf("%s.c%d", q, i+1), k), i+1))
		}
		return fmt.Sprintf("SELECT %s FROM (%s) AS %s", list(casts), g.query(kinds, depth-1, outer), q)
	}
	return side() + " " + op + " " + side()
}

// totalOrder orders the rows of a query by all of its columns.
func (g *generator) totalOrder(sql string, kinds []Kind) string {
	g.use("ORDER BY")
	q := g.name("q")
	return fmt.Sprintf("SELECT %s FROM (%s) AS %s%s", columnNames(q+".", len(kinds)), sql, q, g.orderBy(len(kinds), 1))
}

// orderBy orders by the columns from a position on.
func (g *generator) orderBy(n, from int) string {
	var order []string
	for i := from; i <= n; i++ {
		order = append(order, fmt.Sprintf("%d %s", i, choose(g, "NULLS LAST", "NULLS FIRST", "DESC NULLS LAST", "DESC NULLS FIRST")))
	}
	return " ORDER BY " + list(order)
}

// first makes a query with LIMIT over a total order.
func (g *generator) first(kinds []Kind, depth int, outer []field) string {
	g.use("LIMIT")
	sql := g.totalOrder(g.query(kinds, depth-1, outer), kinds) + choose(g, " LIMIT 3", " LIMIT 1", " LIMIT 0", "")
	if g.chance(3) {
		g.use("OFFSET")
		sql += " OFFSET 1"
	}
	return sql
}

// distinctOn takes the first row for each value of the first column.
func (g *generator) distinctOn(kinds []Kind, depth int, outer []field) string {
	g.use("DISTINCT ON")
	q := g.name("q")
	return fmt.Sprintf("SELECT DISTINCT ON (%s.c1) %s FROM (%s) AS %s%s", q, columnNames(q+".", len(kinds)), g.query(kinds, depth-1, outer),
		q, g.orderBy(len(kinds), 1))
}

// values makes a list of rows.
func (g *generator) values(kinds []Kind, outer []field) string {
	g.use("VALUES")
	q := g.name("q")
	var rows []string
	for range 1 + g.n(3) {
		var row []string
		for _, k := range kinds {
			row = append(row, cast(g.leaf(k, scope{outer: outer}), k))
		}
		rows = append(rows, "("+list(row)+")")
	}
	return fmt.Sprintf("SELECT * FROM (VALUES %s) AS %s (%s)", list(rows), q, columnNames("", len(kinds)))
}

// recursive makes a WITH RECURSIVE of a few rounds.
func (g *generator) recursive(kinds []Kind, depth int, outer []field) string {
	g.use("WITH RECURSIVE")
	w := g.name("w")
	var first, next []string
	fields := fieldsOf(w, kinds)
	for i, k := range kinds {
		first = append(first, cast(g.expr(k, depth-1, scope{outer: outer, flat: true}), k))
		if k == Numeric { // no product, which would grow
			next = append(next, cast(fields[i].sql+" + 1.5", k))
			continue
		}
		next = append(next, cast(g.operator(k, 0, scope{inner: []field{fields[i]}, flat: true}), k))
	}
	return fmt.Sprintf("WITH RECURSIVE %[1]s (n, %[2]s) AS (SELECT 1, %[3]s UNION ALL SELECT %[1]s.n + 1, %[4]s FROM %[1]s WHERE %[1]s.n < %[5]s) SELECT "+
		"%[6]s FROM %[1]s",
		w, columnNames("", len(kinds)), list(first), list(next), choose(g, "2", "4"), columnNames(w+".", len(kinds)))
}
