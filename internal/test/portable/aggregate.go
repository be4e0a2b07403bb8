package portable

import "fmt"

// aggregate makes an aggregate of a kind over the rows of the query. Its argument has a
// column of them, or none at all: one with columns of the queries around it alone would
// belong to those.
func (g *generator) aggregate(k Kind, depth int, s scope) string {
	g.use("aggregate")
	own := scope{inner: s.inner, flat: s.flat}
	e := func(k Kind) string { return g.expr(k, min(depth, 2), own) }
	filter := func(sql string) string {
		if g.chance(6) {
			g.use("FILTER")
			return fmt.Sprintf("%s FILTER (WHERE %s)", sql, g.condition(1, own))
		}
		return sql
	}
	extreme := func() string { return filter(fmt.Sprintf("%s(%s)", choose(g, "max", "min"), e(k))) }
	switch k {
	case Integer:
		return choose(g,
			func() string { return filter("count(*)") },
			func() string { return cast(filter(fmt.Sprintf("sum(%s)", e(Integer))), Integer) },
			func() string {
				return filter(fmt.Sprintf("count(%s%s)", choose(g, "", "DISTINCT "), e(choose(g, Integer, Text, Boolean, Numeric, Date))))
			},
			extreme,
			func() string {
				if len(s.outer) == 0 || len(s.inner) == 0 {
					return "count(*)"
				}
				return cast(fmt.Sprintf("sum(%s + CASE WHEN %s IS NULL THEN 0 ELSE 1 END)", g.leaf(Integer, scope{outer: s.outer}), choose(g, s.inner...).sql), Integer)
			},
			func() string { return filter(fmt.Sprintf("%s(%s)", choose(g, "bit_or", "bit_and"), e(Integer))) },
		)()
	case Text:
		if g.chance(2) {
			g.use("string_agg")
			x := e(Text)
			return filter(fmt.Sprintf("string_agg(%s, ',' ORDER BY %s || '' %s)", x, x, choose(g, "NULLS LAST", "DESC NULLS LAST")))
		}
	case Boolean:
		return filter(fmt.Sprintf("%s(%s)", choose(g, "bool_or", "bool_and"), g.condition(min(depth, 1), own)))
	case Numeric:
		if g.chance(2) {
			return cast(filter(fmt.Sprintf("sum(%s)", e(Numeric))), Numeric)
		}
	case Double:
		if g.chance(2) {
			return filter(fmt.Sprintf("%s(%s)", choose(g, "sum", "avg"), g.leaf(Double, own)))
		}
	case Interval:
		t := e(Timestamp)
		return fmt.Sprintf("(max(%s) - min(%s))", t, t)
	}
	return extreme()
}

// rounded makes a query whose aggregates of floats depend on the order of additions.
func (g *generator) rounded(depth int) (sql string, columns []Column) {
	g.use("statistics")
	from, inner := g.from(depth-1, nil)
	s := scope{inner: inner}
	where := g.where(depth-1, s)
	x := func() string { return cast(g.expr(choose(g, Integer, Numeric), depth-1, s)+" % 1000", Double) }
	of := choose(g,
		func() string { return fmt.Sprintf("avg(%s)", x()) },
		func() string {
			return fmt.Sprintf("%s(%s)", choose(g, "stddev_pop", "stddev_samp", "var_pop", "var_samp", "stddev", "variance"), x())
		},
		func() string {
			return fmt.Sprintf("%s(%s, %s)", choose(g, "covar_pop", "covar_samp", "regr_count"), x(), x())
		},
		func() string { return fmt.Sprintf("percentile_cont(0.25) WITHIN GROUP (ORDER BY %s)", x()) },
		func() string { return fmt.Sprintf("percentile_disc(0.5) WITHIN GROUP (ORDER BY %s)", x()) },
	)()
	key, columns := choose(g, Text, Integer, Boolean), []Column{{}, {Kind: Double, Rounded: true}}
	columns[0].Kind = key
	if g.chance(2) {
		return fmt.Sprintf("SELECT %s AS c1, %s AS c2 FROM %s%s", cast("NULL", key), of, from, where), columns
	}
	return fmt.Sprintf("SELECT %s AS c1, %s AS c2 FROM %s%s GROUP BY 1", g.leaf(key, s), of, from, where), columns
}

// group makes a query with GROUP BY.
func (g *generator) group(kinds []Kind, depth int, outer []field) string {
	g.use("GROUP BY")
	q := g.name("q")
	keys := g.kinds(2)
	all := append(keys[:len(keys):len(keys)], g.kinds(2)...)
	from := fmt.Sprintf("(%s) AS %s", g.query(all, depth-1, outer), q)
	fields := fieldsOf(q, all)
	inside := scope{inner: fields, outer: outer, flat: true}
	var outputs []string
	for i, k := range kinds {
		outputs = append(outputs, fmt.Sprintf("%s AS c%d", g.groupOutput(k, fields[:len(keys)], inside), i+1))
	}
	sql := "SELECT " + list(outputs) + " FROM " + from + g.where(0, inside) + " GROUP BY " + g.grouping(fields[:len(keys)])
	if g.chance(3) {
		g.use("HAVING")
		sql += " HAVING " + choose(g, "count(*) > 1", "count("+fields[len(keys)].sql+") > 0", "count(DISTINCT "+fields[len(keys)].sql+") < 3")
	}
	return sql
}

// groupOutput is a key of the kind, or an aggregate.
func (g *generator) groupOutput(k Kind, keys []field, s scope) string {
	for _, key := range keys {
		if key.kind == k && !g.chance(3) {
			return key.sql
		}
	}
	return g.aggregate(k, 1, s)
}

// grouping is what stands behind GROUP BY.
func (g *generator) grouping(keys []field) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.sql)
	}
	switch g.n(6) {
	case 3:
		g.use("ROLLUP")
		return "ROLLUP (" + list(names) + ")"
	case 4:
		g.use("CUBE")
		return "CUBE (" + list(names) + ")"
	case 5:
		g.use("GROUPING SETS")
		return "GROUPING SETS ((" + list(names) + "), (" + names[0] + "), ())"
	}
	return list(names)
}

// window makes a query with window functions.
func (g *generator) window(kinds []Kind, depth int, outer []field) string {
	g.use("window")
	q := g.name("q")
	inner := append([]Kind{Integer, choose(g, Text, Boolean, Numeric, Date)}, g.kinds(2)...)
	// without equal rows, whose values in two windows would be of one row or of two
	from := fmt.Sprintf("(SELECT DISTINCT * FROM (%s) AS %s) AS %[2]s", g.query(inner, depth-1, outer), q)
	s := scope{inner: fieldsOf(q, inner), outer: outer, flat: true}
	named, over := "", ""
	if g.chance(3) {
		g.use("WINDOW clause")
		named, over = fmt.Sprintf(" WINDOW w AS (%s)", g.over(s.inner, true)), "w"
	}
	var outputs []string
	for i, k := range kinds {
		output := ""
		switch {
		case g.chance(3):
			output = g.leaf(k, scope{inner: s.inner})
		case over != "" && g.chance(2):
			call, _ := g.windowFunction(k, s)
			output = call + " OVER w"
		default:
			call, ordered := g.windowFunction(k, s)
			output = call + " OVER (" + g.over(s.inner, ordered) + ")"
		}
		outputs = append(outputs, fmt.Sprintf("%s AS c%d", cast(output, k), i+1))
	}
	return "SELECT " + list(outputs) + " FROM " + from + named
}

// windowFunction makes a window function of a kind, over columns, and reports whether it
// depends on the order of rows that a RANGE calls equal.
func (g *generator) windowFunction(k Kind, s scope) (call string, ordered bool) {
	x := cast(g.leaf(k, scope{inner: s.inner}), k)
	if g.chance(2) {
		g.use("lag, first_value")
		return choose(g,
			fmt.Sprintf("first_value(%s)", x), fmt.Sprintf("last_value(%s)", x), fmt.Sprintf("nth_value(%s, 2)", x),
			fmt.Sprintf("lag(%s)", x), fmt.Sprintf("lead(%s)", x), fmt.Sprintf("lag(%s, 2)", x),
		), true
	}
	switch k {
	case Integer:
		if g.chance(2) {
			return choose(g, "row_number()", "ntile(3)"), true
		}
		return choose(g, "rank()", "dense_rank()", "count(*)", fmt.Sprintf("sum(%s)", x), fmt.Sprintf("count(%s)", x), fmt.Sprintf("max(%s)", x)), false
	case Double:
		return choose(g, "cume_dist()", "percent_rank()", fmt.Sprintf("max(%s)", x)), false
	case Boolean:
		return fmt.Sprintf("%s(%s)", choose(g, "bool_and", "bool_or"), x), false
	case Numeric:
		return fmt.Sprintf("%s(%s)", choose(g, "sum", "min", "max"), x), false
	}
	return fmt.Sprintf("%s(%s)", choose(g, "min", "max"), x), false
}

// over is a window: partitions, an order, a frame. The order is total, except of RANGE.
func (g *generator) over(fields []field, ordered bool) string {
	partition := ""
	if g.chance(2) {
		partition = "PARTITION BY " + choose(g, fields...).sql + " "
	}
	var order []string
	for _, f := range fields {
		order = append(order, f.sql+" "+choose(g, "NULLS LAST", "DESC NULLS FIRST", "NULLS FIRST", "DESC NULLS LAST"))
	}
	exclude := choose(g, "", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP")
	if exclude != "" {
		g.use("EXCLUDE")
	}
	form := g.n(4)
	if form == 2 && ordered {
		form = 3
	}
	switch form {
	case 1:
		g.use("ROWS frame")
		return partition + "ORDER BY " + list(order) + " ROWS BETWEEN " + g.frame("1", "2") + exclude
	case 2:
		g.use("RANGE frame")
		return partition + "ORDER BY " + fields[0].sql + choose(g, " NULLS LAST", " NULLS FIRST") + " RANGE BETWEEN " + g.frame("1", "3") + exclude
	case 3:
		g.use("GROUPS frame")
		return partition + "ORDER BY " + list(order) + " GROUPS BETWEEN " + g.frame("1", "2") + exclude
	}
	return partition + "ORDER BY " + list(order)
}

func (g *generator) frame(a, b string) string {
	return choose(g, "UNBOUNDED PRECEDING AND CURRENT ROW", a+" PRECEDING AND "+b+" FOLLOWING", "CURRENT ROW AND UNBOUNDED FOLLOWING",
		b+" PRECEDING AND "+a+" PRECEDING", a+" FOLLOWING AND "+b+" FOLLOWING", "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW")
}
