package portable

import (
	"fmt"
	"slices"
)

// from makes what stands in FROM, with the fields that it has.
func (g *generator) from(depth int, outer []field) (sql string, fields []field) {
	sql, fields = g.item(depth, outer)
	for depth > 0 && g.chance(3) {
		depth--
		sql, fields = g.join(sql, fields, depth, outer)
	}
	return sql, fields
}

// table is a table of the catalog.
func (g *generator) table() (sql string, fields []field) {
	t, alias := choose(g, g.catalog.Tables...), g.name("t")
	for _, c := range tableColumns {
		fields = append(fields, field{alias + "." + c.name, c.kind})
	}
	return t.Name + " AS " + alias, fields
}

// item is one relation of FROM. It may use fields around its query.
func (g *generator) item(depth int, outer []field) (sql string, fields []field) {
	if len(g.ctes) > 0 && g.chance(2) {
		c, alias := choose(g, g.ctes...), g.name("r")
		if g.chance(2) {
			return fmt.Sprintf("(SELECT * FROM %s) AS %s", c.name, alias), fieldsOf(alias, c.kinds)
		}
		return c.name + " AS " + alias, fieldsOf(alias, c.kinds)
	}
	if depth > 0 {
		switch g.n(6) {
		case 3, 4:
			return g.derived(depth, outer)
		case 5:
			return g.using()
		}
	}
	return g.table()
}

// derived is a query in FROM.
func (g *generator) derived(depth int, outer []field) (sql string, fields []field) {
	g.use("derived table")
	alias, kinds := g.name("d"), g.kinds(3)
	return fmt.Sprintf("(%s) AS %s (%s)", g.query(kinds, depth-1, outer), alias, columnNames("", len(kinds))), fieldsOf(alias, kinds)
}

// using is a join whose columns are merged, in a derived table of its own: outside, names
// without a table would be those of subqueries.
func (g *generator) using() (sql string, fields []field) {
	g.use("USING")
	column := choose(g, tableColumns[0], tableColumns[1], tableColumns[2], tableColumns[6])
	a, b := choose(g, g.catalog.Tables...), choose(g, g.catalog.Tables...)
	alias, x, y := g.name("u"), choose(g, tableColumns...), choose(g, tableColumns...)
	return fmt.Sprintf("(SELECT %s AS c1, a.%s AS c2, b.%s AS c3 FROM %s AS a %s %s AS b USING (%[1]s)) AS %[7]s",
			column.name, x.name, y.name, a.Name, choose(g, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"), b.Name, alias),
		fieldsOf(alias, []Kind{column.kind, x.kind, y.kind})
}

// join adds a relation to FROM.
func (g *generator) join(left string, fields []field, depth int, outer []field) (string, []field) {
	if g.chance(3) {
		return g.lateral(left, fields, depth, outer)
	}
	right, more := g.item(depth, outer)
	both := append(fields[:len(fields):len(fields)], more...)
	kind := choose(g, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
	a := choose(g, fields...)
	at := slices.IndexFunc(more, func(f field) bool { return f.kind == a.kind })
	if at < 0 { // PostgreSQL joins on columns of both sides only where the join is full
		kind = "CROSS JOIN"
	}
	g.use(kind)
	if kind == "CROSS JOIN" {
		return left + " CROSS JOIN " + right, both
	}
	on := a.sql + " = " + more[at].sql
	if kind != "FULL JOIN" && g.chance(2) {
		s := scope{inner: both, outer: outer, flat: kind != "JOIN"}
		on = choose(g, on+" AND ", "") + g.condition(1, s)
	}
	return fmt.Sprintf("%s %s %s ON %s", left, kind, right, on), both
}

// lateral adds a relation that uses the fields on its left.
func (g *generator) lateral(left string, fields []field, depth int, outer []field) (string, []field) {
	g.use("LATERAL")
	around := append(fields[:len(fields):len(fields)], outer...)
	alias := g.name("l")
	var right string
	var kinds []Kind
	switch g.n(5) {
	case 2:
		g.use("unnest")
		kinds = []Kind{choose(g, Integer, Text)}
		right = fmt.Sprintf("unnest(ARRAY[%s, %s]) AS %s (c1)", g.leaf(kinds[0], scope{inner: fields}), g.leaf(kinds[0], scope{inner: fields}), alias)
	case 3:
		g.use("string_to_array")
		kinds = []Kind{Text}
		right = fmt.Sprintf("LATERAL (SELECT unnest(string_to_array(%s || ' x', ' ')) AS c1) AS %s", g.leaf(Text, scope{inner: fields}), alias)
	case 4:
		if f, ok := g.tableFunction(); ok {
			g.use("table function")
			kinds = f.returns
			right = fmt.Sprintf("LATERAL %s AS %s", g.callOf(f, 1, scope{inner: fields, outer: outer, flat: true}), alias)
		}
	}
	if right == "" {
		kinds = g.kinds(2)
		right = fmt.Sprintf("LATERAL (%s) AS %s", g.query(kinds, depth, around), alias)
	}
	both := append(fields[:len(fields):len(fields)], fieldsOf(alias, kinds)...)
	if g.chance(3) {
		g.use("LEFT JOIN LATERAL")
		return left + " LEFT JOIN " + right + " ON true", both
	}
	return left + " CROSS JOIN " + right, both
}

func (g *generator) tableFunction() (Function, bool) {
	var of []Function
	for _, f := range g.catalog.Functions {
		if f.Table {
			of = append(of, f)
		}
	}
	if len(of) == 0 {
		return Function{}, false
	}
	return choose(g, of...), true
}
