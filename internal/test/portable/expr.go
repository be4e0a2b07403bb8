package portable

import "fmt"

// scope is what an expression may use.
type scope struct {
	inner []field // of the FROM of its query
	outer []field // of the queries around it
	flat  bool    // no subqueries
}

// all are the fields as those around a subquery.
func (s scope) all() []field {
	return append(s.inner[:len(s.inner):len(s.inner)], s.outer...)
}

// leaf makes a column or a literal.
func (g *generator) leaf(k Kind, s scope) string {
	of := s.inner
	if len(s.outer) > 0 && (len(of) == 0 || g.chance(3)) {
		of = s.outer
	}
	var fit []string
	for _, f := range of {
		if f.kind == k {
			fit = append(fit, f.sql)
		}
	}
	if len(fit) > 0 && !g.chance(5) {
		return choose(g, fit...)
	}
	return g.literal(k)
}

// literal makes a literal or NULL.
func (g *generator) literal(k Kind) string {
	if g.chance(10) {
		return cast("NULL", k)
	}
	switch k {
	case Integer:
		return choose(g, "1", "0", "2", "-3", "7", "100")
	case Text:
		return choose(g, "'a'", "''", "'b'", "'a b'", "'é漢'", "'it''s'", "'10'")
	case Boolean:
		return choose(g, "true", "false")
	case Double:
		return cast(choose(g, "0.5", "0", "-2.25", "100.125"), Double)
	case Numeric:
		return cast(choose(g, "1.5", "0", "-2.125", "0.005"), Numeric)
	case Date:
		return "DATE " + choose(g, "'2024-02-29'", "'1970-01-01'", "'1999-12-31'")
	case Timestamp:
		return "TIMESTAMP " + choose(g, "'2024-02-29 13:14:15.5'", "'1970-01-01 00:00:00'", "'2024-03-31 02:30:00'")
	}
	return "INTERVAL " + choose(g, "'1 day'", "'1 month'", "'90 minutes'", "'-3 days'", "'1 year 2 months'", "'0 days'")
}

// expr makes an expression of a kind with at most depth levels.
func (g *generator) expr(k Kind, depth int, s scope) string {
	if depth <= 0 {
		return g.leaf(k, s)
	}
	switch g.n(12) {
	case 0, 1:
		return g.leaf(k, s)
	case 2:
		return g.caseOf(k, depth-1, s)
	case 3:
		return fmt.Sprintf("coalesce(%s, %s)", g.expr(k, depth-1, s), g.leaf(k, s))
	case 4:
		return fmt.Sprintf("nullif(%s, %s)", g.expr(k, depth-1, s), g.leaf(k, s))
	case 5:
		if k != Interval && k != Boolean {
			return fmt.Sprintf("%s(%s, %s)", choose(g, "greatest", "least"), g.expr(k, depth-1, s), g.leaf(k, s))
		}
	case 6:
		if !s.flat {
			return g.scalarSubquery(k, depth, s)
		}
	case 7, 8:
		if !s.flat {
			if call, ok := g.call(k, depth, s); ok {
				return call
			}
		}
	}
	return g.operator(k, depth-1, s)
}

// caseOf makes a CASE of either form.
func (g *generator) caseOf(k Kind, depth int, s scope) string {
	g.use("CASE")
	if g.chance(3) {
		of := choose(g, Integer, Text, Boolean)
		return fmt.Sprintf("CASE %s WHEN %s THEN %s ELSE %s END", g.expr(of, depth, s), g.leaf(of, s), g.expr(k, depth, s), g.leaf(k, s))
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(depth, s), g.expr(k, depth, s), g.leaf(k, s))
}

// operator makes an expression of operators and functions that fail for no value.
func (g *generator) operator(k Kind, depth int, s scope) string {
	e := func(of Kind) string { return g.expr(of, depth, s) }
	switch k {
	case Integer:
		return g.integer(depth, s)
	case Text:
		return g.text(depth, s)
	case Boolean:
		return g.condition(depth, s)
	case Double:
		return choose(g,
			func() string { return fmt.Sprintf("(%s + %s)", e(Double), g.leaf(Double, s)) },
			func() string { return fmt.Sprintf("(%s * 0.5)", e(Double)) },
			func() string { return fmt.Sprintf("abs(%s)", e(Double)) },
			func() string { return fmt.Sprintf("%s(%s)", choose(g, "floor", "ceil"), e(Double)) },
			func() string { return cast(e(Integer), Double) },
			func() string { return cast(e(Numeric), Double) },
			func() string { return fmt.Sprintf("(%s - %s)", g.leaf(Double, s), g.leaf(Double, s)) },
		)()
	case Numeric:
		return choose(g,
			func() string { return cast(fmt.Sprintf("%s + %s", e(Numeric), g.leaf(Numeric, s)), Numeric) },
			func() string { return cast(fmt.Sprintf("%s - %s", e(Numeric), g.leaf(Numeric, s)), Numeric) },
			func() string { return cast(fmt.Sprintf("%s * %s", g.leaf(Numeric, s), g.leaf(Numeric, s)), Numeric) },
			func() string { return fmt.Sprintf("abs(%s)", e(Numeric)) },
			func() string {
				return cast(fmt.Sprintf("%s(%s)", choose(g, "round", "trunc", "floor", "ceil"), e(Numeric)), Numeric)
			},
			func() string { return cast(fmt.Sprintf("round(%s, %d)", e(Numeric), 1+g.n(2)), Numeric) },
			func() string { return cast(fmt.Sprintf("%s %% 1000", e(Integer)), Numeric) },
		)()
	}
	return g.time(k, depth, s)
}

func (g *generator) integer(depth int, s scope) string {
	e := func(of Kind) string { return g.expr(of, depth, s) }
	return choose(g,
		func() string { return fmt.Sprintf("(%s + %s)", e(Integer), e(Integer)) },
		func() string { return fmt.Sprintf("(%s - %s)", e(Integer), g.leaf(Integer, s)) },
		func() string { return fmt.Sprintf("(%s %% 100 * (%s %% 100))", e(Integer), e(Integer)) },
		func() string { return cast(fmt.Sprintf("%s(%s)", choose(g, "abs", "sign", "-"), e(Integer)), Integer) },
		func() string { return fmt.Sprintf("(%s %% %s)", e(Integer), choose(g, "7", "2", "-3")) },
		func() string { return fmt.Sprintf("length(%s)", e(Text)) },
		func() string { return fmt.Sprintf("strpos(%s, %s)", e(Text), g.leaf(Text, s)) },
		func() string { return fmt.Sprintf("position(%s IN %s)", g.leaf(Text, s), e(Text)) },
		func() string { return fmt.Sprintf("(%s - %s)", e(Date), g.leaf(Date, s)) },
		func() string {
			g.use("EXTRACT")
			part := choose(g, "year", "month", "day", "hour", "minute", "quarter", "doy", "dow", "isodow", "week", "isoyear", "decade")
			return cast(fmt.Sprintf("EXTRACT(%s FROM %s)", part, e(Timestamp)), Integer)
		},
		func() string { return fmt.Sprintf("CASE WHEN %s THEN 1 ELSE 0 END", e(Boolean)) },
		func() string {
			return fmt.Sprintf("CASE WHEN %[1]s BETWEEN -1000000 AND 1000000 THEN CAST(%[1]s AS bigint) END", g.leaf(Double, s))
		},
		func() string { return cast(e(Numeric), Integer) },
		func() string { return fmt.Sprintf("((%s & 255) | (%s & 15))", e(Integer), g.leaf(Integer, s)) },
		func() string { return fmt.Sprintf("CAST(CAST(%s AS text) AS bigint)", e(Integer)) },
	)()
}

func (g *generator) text(depth int, s scope) string {
	e := func() string { return g.expr(Text, depth, s) }
	small := func() string { return choose(g, "1", "0", "2", "3", "5") }
	g.use("text function")
	return choose(g,
		func() string { return cast(fmt.Sprintf("%s || %s", e(), g.leaf(Text, s)), Text) }, // without the cast, a constant NULL has no type
		func() string {
			return fmt.Sprintf("%s(%s)", choose(g, "upper", "lower", "trim", "reverse", "md5"), e())
		},
		func() string { return fmt.Sprintf("substr(%s, %s, %s)", e(), choose(g, "1", "2", "4"), small()) },
		func() string {
			return fmt.Sprintf("%s(%s, %s)", choose(g, "left", "right"), e(), choose(g, "1", "2", "-1", "0"))
		},
		func() string { return fmt.Sprintf("%s(%s, %s, '*')", choose(g, "lpad", "rpad"), e(), small()) },
		func() string { return fmt.Sprintf("repeat(%s, %s)", cast(e(), Text), choose(g, "2", "0", "1")) },
		func() string { return fmt.Sprintf("replace(%s, %s, 'z')", e(), choose(g, "'a'", "' '", "'é'")) },
		func() string { return fmt.Sprintf("translate(%s, 'abc', 'xy')", e()) },
		func() string { return fmt.Sprintf("split_part(%s, ' ', %s)", e(), choose(g, "1", "2", "-1")) },
		func() string { return fmt.Sprintf("concat(%s, '-', %s)", e(), g.leaf(Integer, s)) },
		func() string { return fmt.Sprintf("concat_ws('/', %s, %s)", e(), g.leaf(Text, s)) },
		func() string { return fmt.Sprintf("%s(%s, 'a')", choose(g, "ltrim", "rtrim"), e()) },
		func() string { return fmt.Sprintf("regexp_replace(%s, '[a-c]+', '.', 'g')", e()) },
		func() string { return cast(g.expr(choose(g, Integer, Boolean, Date, Timestamp), depth, s), Text) },
		func() string { return cast(cast(g.expr(Numeric, depth, s), Numeric), Text) },
	)()
}

// time makes a date, a timestamp or an interval.
func (g *generator) time(k Kind, depth int, s scope) string {
	e := func(of Kind) string { return g.expr(of, depth, s) }
	g.use(types[k].sql)
	switch k {
	case Date:
		return choose(g,
			func() string {
				return fmt.Sprintf("(%s %s %s)", e(Date), choose(g, "+", "-"), choose(g, "1", "30", "-400"))
			},
			func() string { return cast(e(Timestamp), Date) },
			func() string { return cast(fmt.Sprintf("%s + %s", e(Date), g.leaf(Interval, s)), Date) },
			func() string { return cast(fmt.Sprintf("date_trunc('%s', %s)", g.unit(), e(Date)), Date) },
			func() string {
				return fmt.Sprintf("make_date(%s, %s, %s)", choose(g, "2024", "1970"), choose(g, "1", "12"), choose(g, "1", "28"))
			},
		)()
	case Timestamp:
		return choose(g,
			func() string {
				return fmt.Sprintf("(%s %s %s)", e(Timestamp), choose(g, "+", "-"), g.leaf(Interval, s))
			},
			func() string { return cast(e(Date), Timestamp) },
			func() string { return fmt.Sprintf("date_trunc('%s', %s)", g.unit(), e(Timestamp)) },
			func() string { return fmt.Sprintf("(%s + %s)", e(Date), g.leaf(Interval, s)) },
		)()
	}
	return choose(g,
		func() string { return fmt.Sprintf("(%s - %s)", g.leaf(Timestamp, s), g.leaf(Timestamp, s)) },
		func() string { return fmt.Sprintf("(%s * %s)", g.leaf(Interval, scope{}), choose(g, "2", "-1", "0")) },
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.leaf(Interval, s), choose(g, "+", "-"), g.leaf(Interval, s))
		},
	)()
}

func (g *generator) unit() string {
	return choose(g, "month", "year", "day", "week", "quarter", "hour", "decade")
}
