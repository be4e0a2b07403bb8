package diff

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// statement is a generated statement.
type statement struct {
	seed    uint64
	size    int // levels of its expressions
	sql     string
	inline  string // for plain DuckDB
	params  []param
	ordered bool // its rows have one order
	tool    *toolCall
}

// newStatement makes a statement that depends on its seed and size only.
func newStatement(seed uint64, size int) statement {
	var g *generator
	var e expr
	var ordered bool
	for _, parameters := range []bool{true, false} {
		g = &generator{r: rand.New(rand.NewPCG(seed, 0))}
		g.prefer = g.chance(2) && parameters
		e, ordered = g.pickForm()(g, size)
		if g.allUsed(e.calls) {
			break
		}
	}
	return statement{seed: seed, size: size, sql: e.calls, inline: e.inline, params: g.params, ordered: ordered, tool: g.tool}
}

// allUsed reports whether each parameter is in the text: a part with one may have been
// made and not taken.
func (g *generator) allUsed(text string) bool {
	for i := range g.params {
		if !regexp.MustCompile(fmt.Sprintf(`\$%d\b`, i+1)).MatchString(text) {
			return false
		}
	}
	return true
}

// form makes a statement and reports whether its rows have one order.
type form func(g *generator, size int) (e expr, ordered bool)

// forms are the forms of statements, with their weights.
var forms = []struct {
	weight int
	make   form
}{
	{4, plainSelect},
	{3, joinSelect},
	{3, groupSelect},
	{2, windowSelect},
	{3, subquerySelect},
	{2, lateralSelect},
	{3, tableFunctionSelect},
	{2, setSelect},
	{2, cteSelect},
	{2, constantSelect},
	{3, toolSelect},
	{1, pivotSelect},
}

func (g *generator) pickForm() form {
	sum := 0
	for _, f := range forms {
		sum += f.weight
	}
	at := g.r.IntN(sum)
	for _, f := range forms {
		if at -= f.weight; at < 0 {
			return f.make
		}
	}
	return plainSelect
}

// from is a table in FROM, with what its columns are called.
func (g *generator) from(bare bool) (sql expr, s scope) {
	t, alias := pick(g.r, sources()), g.name("t")
	return same(t.name + " " + alias), scope{fields: fieldsOf(t, alias, bare)}
}

// outputs are the kinds of columns of results whose equal values look equal.
var outputs = []kind{integer, integer, text, text, boolean, list, object, date, timestamp, decimal, double}

// simple are those that have an order, too.
var simple = []kind{integer, text, boolean}

func (g *generator) output(size int, s scope) expr {
	if g.chance(4) {
		if f := pick(g.r, s.fields); f.kind == opaque {
			return g.opaque(f, size, s)
		}
	}
	return g.expr(pick(g.r, outputs), size, s)
}

// opaque makes an expression of a type that the grammar does not know.
func (g *generator) opaque(f field, size int, s scope) expr {
	switch g.r.IntN(3) {
	case 0:
		return format("CASE WHEN %s THEN %s END", g.expr(boolean, size-1, s), f.expr)
	case 1:
		return format("coalesce(%s, %s)", f.expr, f.expr)
	}
	return f.expr
}

// list joins n parts that make a column each.
func columnList(n int, make func() expr) expr {
	var parts []expr
	var layout []string
	for i := range n {
		parts = append(parts, make())
		layout = append(layout, fmt.Sprintf("%%s AS v%d", i+1))
	}
	return format(strings.Join(layout, ", "), parts...)
}

// tail makes an optional WHERE.
func (g *generator) where(size int, s scope) expr {
	if g.chance(3) {
		return same("")
	}
	return format(" WHERE %s", g.expr(boolean, size, s))
}

// plainSelect has expressions in SELECT, WHERE and ORDER BY.
func plainSelect(g *generator, size int) (expr, bool) {
	from, s := g.from(g.chance(2))
	if g.chance(3) {
		e := format("SELECT %s FROM %s%s", columnList(1+g.r.IntN(3), func() expr { return g.expr(pick(g.r, simple), size, s) }), from, g.where(size, s))
		if g.chance(2) {
			return format("%s ORDER BY ALL LIMIT %s", e, same(fmt.Sprint(1+g.r.IntN(20)))), true
		}
		return format("%s ORDER BY ALL", e), true
	}
	if g.chance(5) {
		return format("SELECT * FROM %s%s", from, g.where(size, s)), false
	}
	e := format("SELECT %s FROM %s%s", columnList(1+g.r.IntN(3), func() expr { return g.output(size, s) }), from, g.where(size, s))
	if g.chance(4) {
		e = format("%s ORDER BY %s", e, g.expr(pick(g.r, simple), size, s))
	}
	return e, false
}

// joinSelect has expressions in ON.
func joinSelect(g *generator, size int) (expr, bool) {
	a, sa := g.from(false)
	b, sb := g.from(false)
	s := sa.with(sb.fields...)
	kind := pick(g.r, []string{"JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"})
	on := format("%s = %s", g.expr(integer, size, sa), g.expr(integer, size, sb))
	if g.chance(3) && kind == "JOIN" {
		on = format("%s AND %s", on, g.expr(boolean, size-1, s))
	}
	if kind == "SEMI JOIN" || kind == "ANTI JOIN" {
		s = sa
	}
	e := format("SELECT %s FROM %s "+kind+" %s ON %s%s", columnList(2, func() expr { return g.output(size-1, s) }), a, b, on, g.where(size-1, s))
	return e, false
}

// groupSelect has expressions in GROUP BY, HAVING and aggregates.
func groupSelect(g *generator, size int) (expr, bool) {
	from, s := g.from(g.chance(2))
	key := g.expr(pick(g.r, simple), size, s)
	agg := g.aggregate(size, s)
	outer := scope{fields: []field{{expr: format("max(%s)", g.expr(integer, size-1, s)), kind: integer}}, plain: true, lambda: true}
	e := format("SELECT %s AS g, %s AS v, %s AS w FROM %s%s GROUP BY %s", key, agg, g.expr(integer, 1, outer), from, g.where(size, s),
		pick(g.r, []expr{key, same("g"), same("ALL")}))
	if g.chance(2) {
		e = format("%s HAVING %s", e, g.expr(boolean, 1, outer))
	}
	return e, false
}

// aggregate makes an aggregate that does not depend on the order of rows.
func (g *generator) aggregate(size int, s scope) expr {
	switch g.r.IntN(7) {
	case 0:
		return format("count(%s)", g.output(size-1, s))
	case 1:
		return format("sum(%s %% 1000)", g.expr(integer, size, s))
	case 2:
		return format("max(%s)", g.expr(pick(g.r, simple), size, s))
	case 3:
		return format("min(%s) FILTER (%s)", g.expr(text, size, s), g.expr(boolean, size, s))
	case 4:
		return format("count(DISTINCT %s)", g.expr(integer, size, s))
	case 5:
		return format("bool_or(%s)", g.expr(boolean, size, s))
	}
	return same("count(*)")
}

// aggregateOf makes an aggregate over the inner rows of a correlated subquery. In SQL, one
// without their columns belongs to the outer query.
func (g *generator) aggregateOf(size int, inner, both scope) expr {
	if g.chance(2) {
		return format("sum((%s %% 1000 + %s %% 1000) %% 7)", inner.fields[0].expr, g.expr(integer, size, both))
	}
	inner.plain = true
	return g.aggregate(size, inner)
}

// windowSelect has expressions in OVER and QUALIFY. Rows that are equal in the window's
// order get equal values.
func windowSelect(g *generator, size int) (expr, bool) {
	from, s := g.from(false)
	window := same(pick(g.r, []string{"rank()", "dense_rank()", "count(*)"}))
	if g.chance(2) {
		window = format("max(%s)", g.expr(pick(g.r, simple), size, s))
	}
	over := format("PARTITION BY %s ORDER BY %s", g.expr(pick(g.r, simple), size, s), g.expr(pick(g.r, simple), size, s))
	if g.chance(3) {
		return format("SELECT %s AS v FROM %s QUALIFY %s OVER (%s) > %s", g.output(size, s), from, same("rank()"), over, g.literal(integer)), false
	}
	return format("SELECT %s AS v, %s OVER (%s) AS w FROM %s%s", g.output(size-1, s), window, over, from, g.where(size-1, s)), false
}

// subquerySelect has a correlated subquery.
func subquerySelect(g *generator, size int) (expr, bool) {
	from, s := g.from(false)
	inner, si := g.from(false)
	both := si.with(s.fields...)
	both.plain = true
	if g.chance(3) {
		return format("SELECT %s AS v FROM %s WHERE %s IN (SELECT %s FROM %s WHERE %s)", g.output(size-1, s), from,
			g.expr(integer, size-1, s), g.expr(integer, size-1, si), inner, g.expr(boolean, size-1, si)), false
	}
	sub := format("(SELECT %s FROM %s WHERE %s = %s AND %s)", g.aggregateOf(size-1, si, both), inner, g.expr(integer, 1, si), g.leaf(integer, s),
		g.expr(boolean, size-1, both))
	if g.chance(2) {
		return format("SELECT %s AS v FROM %s WHERE %s IS NOT NULL", g.output(size-1, s), from, sub), false
	}
	return format("SELECT %s AS v, %s AS w FROM %s", g.output(size-1, s), sub, from), false
}

// lateralSelect has expressions over a row in FROM.
func lateralSelect(g *generator, size int) (expr, bool) {
	from, s := g.from(false)
	s.plain, s.flat = true, true
	l := g.name("l")
	k := pick(g.r, simple)
	inner := s.with(field{expr: same(l + ".z"), kind: k})
	return format("SELECT %s AS v, "+l+".z AS w FROM %s, LATERAL (SELECT %s AS z) "+l+"%s", g.expr(pick(g.r, simple), size-1, inner), from, g.expr(k, size, s),
		g.where(1, inner)), false
}

// tableCall makes a call of a table function.
func (g *generator) tableCall(size int, s scope) (expr, function) {
	f := pick(g.r, tableFunctions)
	s.lambda, s.plain = true, true
	calls, inline := make([]string, len(f.args)), make([]string, len(f.args))
	for i, a := range f.args {
		e := g.argument(a.kind, size, s)
		calls[i], inline[i] = e.calls, e.inline
	}
	return expr{f.name + "(" + strings.Join(calls, ", ") + ")", f.derived(inline)}, f
}

func tableFunctionSelect(g *generator, size int) (expr, bool) {
	a := g.name("f")
	switch g.r.IntN(3) {
	case 0:
		from, s := g.from(false)
		call, f := g.tableCall(1, s)
		inner := s.with(field{expr: same(a + "." + f.columns[0].name), kind: f.columns[0].kind})
		return format("SELECT %s AS v FROM %s, LATERAL %s "+a+"%s", g.output(size-1, inner), from, call, g.where(1, inner)), false
	case 1:
		f := pick(g.r, overTables)
		from, s := g.from(false)
		of := format("(SELECT %s AS value FROM %s%s)", g.expr(integer, size-1, s), from, g.where(1, s))
		n := g.literal(integer)
		return expr{
			fmt.Sprintf("SELECT %s.%s AS v FROM %s(%s, %s) %s", a, f.columns[0].name, f.name, of.calls, n.calls, a),
			fmt.Sprintf("SELECT %s.%s AS v FROM %s %s", a, f.columns[0].name, f.derived([]string{n.inline}, of.inline), a),
		}, false
	}
	call, f := g.tableCall(0, scope{})
	var s scope
	for _, c := range f.columns {
		s.fields = append(s.fields, field{expr: same(a + "." + c.name), kind: c.kind})
	}
	return format("SELECT %s FROM %s "+a+"%s", columnList(2, func() expr { return g.expr(pick(g.r, simple), size-1, s) }), call, g.where(size-1, s)), false
}

func setSelect(g *generator, size int) (expr, bool) {
	a, sa := g.from(false)
	b, sb := g.from(false)
	k := pick(g.r, simple)
	op := pick(g.r, []string{"UNION ALL", "UNION", "EXCEPT", "INTERSECT", "UNION BY NAME"})
	return format("SELECT %s AS v FROM %s%s "+op+" SELECT %s AS v FROM %s%s", g.expr(k, size, sa), a, g.where(size-1, sa), g.expr(k, size, sb),
		b, g.where(size-1, sb)), false
}

// cteSelect names its CTE as a table that bodies read.
func cteSelect(g *generator, size int) (expr, bool) {
	from, s := g.from(false)
	k := pick(g.r, simple)
	c := field{expr: same("c.key"), kind: k}
	inner := scope{fields: []field{c, {expr: same("c.id"), kind: integer}}}
	e := format("WITH c AS (SELECT %s AS key, %s AS id FROM %s%s) SELECT DISTINCT %s AS v, %s AS w FROM c", g.expr(k, size-1, s), g.expr(integer, size-1, s),
		from, g.where(1, s),
		g.expr(k, size-1, inner), g.expr(integer, size-1, inner))
	return e, false
}

// constantSelect has no table.
func constantSelect(g *generator, size int) (expr, bool) {
	return format("SELECT %s", columnList(1+g.r.IntN(2), func() expr { return g.expr(pick(g.r, outputs), size, scope{}) })), false
}

// pivotSelect has aggregates by the values of a column.
func pivotSelect(g *generator, size int) (expr, bool) {
	from, s := g.from(false)
	return format("SELECT * FROM (SELECT %s AS key, %s AS v, %s AS w FROM %s) PIVOT (count(v), max(w) FOR key IN (true, false))",
		g.expr(boolean, size, s), g.expr(text, size-1, s), g.expr(text, 1, s), from), false
}
