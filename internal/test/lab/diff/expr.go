package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// expr is an expression in two spellings: with calls of declared functions, and with
// their bodies in place.
type expr struct{ calls, inline string }

func same(sql string) expr { return expr{sql, sql} }

// format is fmt.Sprintf for both spellings.
func format(layout string, parts ...expr) expr {
	calls, inline := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		calls[i], inline[i] = p.calls, p.inline
	}
	return expr{fmt.Sprintf(layout, calls...), fmt.Sprintf(layout, inline...)}
}

// param is a parameter of a statement.
type param struct {
	kind  kind // integer, double, text or boolean
	value any  // of the Go type of its kind; nil: NULL
	sql   string
}

// field is a name that an expression may use.
type field struct {
	expr
	kind kind
	bare bool // its name has no table, so that a subquery might have it, too
}

// scope is what is around an expression.
type scope struct {
	fields []field
	lambda bool // in a lambda DuckDB has no subqueries
	plain  bool // in the argument of a subquery it has no lambdas
	flat   bool // in LATERAL it has no subqueries in arguments of typed macros
}

// with is the scope with further fields.
func (s scope) with(fields ...field) scope {
	s.fields = append(fields, s.fields...)
	return s
}

// qualified is the scope for a subquery.
func (s scope) qualified() scope {
	s.fields = slices.Clone(s.fields)
	for i, f := range s.fields {
		if f.bare {
			s.fields[i].expr = same(f.inline)
		}
	}
	return s
}

// generator makes expressions and statements.
type generator struct {
	r      *rand.Rand
	params []param
	names  int  // of lambdas, aliases and columns that were made
	prefer bool // parameters are allowed
	tool   *toolCall
}

// name is a name that no other part of the statement has.
func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s_%d", prefix, g.names)
}

func (g *generator) chance(of int) bool { return g.r.IntN(of) == 0 }

// expr makes an expression of a kind with at most depth levels.
func (g *generator) expr(k kind, depth int, s scope) expr {
	if depth <= 0 {
		return g.leaf(k, s)
	}
	switch g.r.IntN(10) {
	case 0, 1, 2, 3:
		if e, ok := g.call(k, depth, s); ok {
			return e
		}
	case 4:
		return format("CASE WHEN %s THEN %s ELSE %s END", g.expr(boolean, depth-1, s), g.expr(k, depth-1, s), g.leaf(k, s))
	case 5:
		return format("coalesce(%s, %s)", g.expr(k, depth-1, s), g.leaf(k, s))
	}
	return g.operator(k, depth, s)
}

// leaf makes a column, a literal or NULL.
func (g *generator) leaf(k kind, s scope) expr {
	var of []field
	for _, f := range s.fields {
		if f.kind == k {
			of = append(of, f)
		}
	}
	if len(of) > 0 && !g.chance(4) {
		return pick(g.r, of).expr
	}
	return g.constant(k)
}

// constant makes a literal of exactly the type of the kind.
func (g *generator) constant(k kind) expr {
	if g.chance(8) {
		return same("CAST(NULL AS " + sqlTypes[k].sql + ")")
	}
	for _, c := range columns {
		if c.kind == k && c.name != "id" {
			return same(fmt.Sprintf("CAST(%s AS %s)", pick(g.r, c.values), c.typ))
		}
	}
	return same("NULL")
}

// operator makes an expression of DuckDB's own operators and functions, which fail for
// no value.
func (g *generator) operator(k kind, depth int, s scope) expr {
	e := func(of kind) expr { return g.expr(of, depth-1, s) }
	switch k {
	case boolean:
		return g.condition(depth, s)
	case integer:
		switch g.r.IntN(6) {
		case 0:
			return format("(%s %% 1000 + %s %% 1000)", e(integer), e(integer))
		case 1:
			return format("length(%s)", e(text))
		case 2:
			return format("len(%s)", e(list))
		case 3:
			return format("(%s).a", e(object))
		case 4:
			return format("(%s)[1]", e(list))
		}
		return format("abs(%s %% 1000)", e(integer))
	case double:
		return format("(%s * 0.25)", e(double))
	case text:
		switch g.r.IntN(4) {
		case 0:
			return format("upper(%s)", e(text))
		case 1:
			return format("CAST(%s AS VARCHAR)", e(integer))
		case 2:
			return format("(%s).b", e(object))
		}
		return format("substr(%s || %s, 1, 20)", e(text), e(text))
	case list:
		return g.listOf(depth, s)
	case object:
		return format("{'a': %s, 'b': %s}", e(integer), e(text))
	case decimal:
		return format("CAST(%s * 0 AS DECIMAL(18,3))", e(decimal))
	}
	return g.leaf(k, s)
}

// listOf makes a list, often by a lambda.
func (g *generator) listOf(depth int, s scope) expr {
	q := g.name("q")
	outer := s
	outer.lambda = true
	inner := outer.with(field{expr: same(q), kind: integer})
	form := g.r.IntN(4)
	if s.plain {
		form = 3
	}
	switch form {
	case 0:
		return format("list_transform(%s, lambda "+q+": %s)", g.expr(list, depth-1, outer), g.expr(integer, depth-1, inner))
	case 1:
		return format("list_filter(%s, lambda "+q+": %s)", g.expr(list, depth-1, outer), g.expr(boolean, depth-1, inner))
	case 2:
		return format("[%s for "+q+" in %s]", g.expr(integer, depth-1, inner), g.expr(list, depth-1, outer))
	}
	return format("[%s, %s]", g.expr(integer, depth-1, s), g.expr(integer, depth-1, s))
}

// condition makes a BOOLEAN.
func (g *generator) condition(depth int, s scope) expr {
	e := func(of kind) expr { return g.expr(of, depth-1, s) }
	of := pick(g.r, []kind{integer, integer, text, date, double, decimal})
	switch g.r.IntN(8) {
	case 0:
		return format("(%s AND %s)", e(boolean), e(boolean))
	case 1:
		return format("(%s OR NOT %s)", e(boolean), e(boolean))
	case 2:
		return format("(%s IS NULL)", e(pick(g.r, []kind{integer, text, list, object, boolean})))
	case 3:
		return format("(%s IS DISTINCT FROM %s)", e(of), e(of))
	case 4:
		return format("(%s IN (%s, %s))", e(of), g.leaf(of, s), g.leaf(of, s))
	case 5:
		return format("(%s BETWEEN %s AND %s)", e(of), g.leaf(of, s), g.leaf(of, s))
	case 6:
		if !s.lambda {
			return g.exists(depth, s)
		}
	}
	return format("(%s "+pick(g.r, []string{"=", "<", ">=", "<>"})+" %s)", e(of), g.argument(of, depth-1, s))
}

// exists makes a correlated subquery.
func (g *generator) exists(depth int, s scope) expr {
	s = s.qualified()
	t := pick(g.r, tables)
	alias := g.name("x")
	inner := s.with(fieldsOf(t, alias, false)...)
	inner.plain = true
	return format("EXISTS (FROM "+t.name+" "+alias+" WHERE %s = %s AND %s)", same(alias+".id"), g.leaf(integer, s), g.expr(boolean, min(depth-1, 1), inner))
}

// call makes a call of a declared function, if there is one of the kind.
func (g *generator) call(k kind, depth int, s scope) (expr, bool) {
	var of []function
	for _, f := range scalars {
		if f.returns == k && (f.plain || !s.lambda) && (!f.lambda() || !s.plain) {
			of = append(of, f)
		}
	}
	if len(of) == 0 {
		return expr{}, false
	}
	f := pick(g.r, of)
	if !f.plain {
		s.lambda, s.plain = true, true
	}
	s.lambda = s.lambda || s.flat
	calls, inline := make([]string, len(f.args)), make([]string, len(f.args))
	named := g.chance(6)
	for i, a := range f.args {
		e := g.argument(a.kind, depth-1, s)
		calls[i], inline[i] = e.calls, e.inline
		if named {
			calls[i] = a.name + " := " + calls[i]
		}
	}
	return expr{f.name + "(" + strings.Join(calls, ", ") + ")", f.written(inline)}, true
}

// argument makes an expression where a literal needs no cast: as an argument, or next to
// an operator.
func (g *generator) argument(k kind, depth int, s scope) expr {
	switch {
	case g.chance(5):
		return g.literal(k)
	case g.prefer && g.chance(4) && k <= text:
		return g.param(k)
	case g.chance(10):
		return expr{"NULL", "CAST(NULL AS " + sqlTypes[k].sql + ")"}
	}
	return g.expr(k, depth, s)
}

// literal makes a literal that the function casts to its argument's type.
func (g *generator) literal(k kind) expr {
	switch k {
	case integer:
		n := fmt.Sprint(g.r.IntN(200) - 20)
		return expr{n, "CAST(" + n + " AS BIGINT)"}
	case double:
		n := pick(g.r, []string{"1", "2.5", "-3"})
		return expr{n, "CAST(" + n + " AS DOUBLE)"}
	case date:
		return expr{"DATE '2024-02-29'", "CAST('2024-02-29' AS DATE)"}
	case text:
		return same(pick(g.r, []string{"'a'", "''", "'it''s'", "'é'"}))
	}
	return g.constant(k)
}

// param makes a parameter.
func (g *generator) param(k kind) expr {
	p := param{kind: k}
	switch k {
	case boolean:
		p.value = g.chance(2)
	case integer:
		p.value = pick(g.r, []int64{0, 1, 5, 150, -1, 9223372036854775807})
	case double:
		p.value = pick(g.r, []float64{0.5, -1, 1e300})
	case text:
		p.value = pick(g.r, []string{"a", "", "é漢", "it's"})
	}
	p.sql = fmt.Sprintf("CAST(%s AS %s)", literal(p.value), sqlTypes[k].sql)
	g.params = append(g.params, p)
	return expr{fmt.Sprintf("$%d", len(g.params)), p.sql}
}

func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case float64:
		return fmt.Sprintf("%g::DOUBLE", v)
	}
	return fmt.Sprint(v)
}

// fieldsOf are the columns of a table. Calls may name them without the table's alias.
func fieldsOf(t table, alias string, bare bool) []field {
	var out []field
	for _, c := range t.columns {
		e := same(alias + "." + c.name)
		if bare {
			e.calls = c.name
		}
		out = append(out, field{e, c.kind, bare})
	}
	return out
}
