package portable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Function is a function that the Spicepod declares and PostgreSQL has as a SQL function.
type Function struct {
	Name    string
	Body    string // an expression or, of a table function, a query
	args    []Kind // a1, a2, …
	returns []Kind // one, or the columns c1, c2, … of a table function
	Table   bool
	calls   []string
}

// Arguments are random constants for a call, some of them NULL.
func (f Function) Arguments(r *rand.Rand) []string {
	args := make([]string, len(f.args))
	for i, k := range f.args {
		at := slices.IndexFunc(tableColumns, func(c tableColumn) bool { return c.kind == k })
		args[i] = tableColumns[at].value(r)
	}
	return args
}

// arguments are the fields that bodies use. No column has their names.
func arguments(kinds []Kind) []field {
	fields := make([]field, len(kinds))
	for i, k := range kinds {
		fields[i] = field{fmt.Sprintf("a%d", i+1), k}
	}
	return fields
}

// function makes the function of this index, which may call those before it.
func (c *Catalog) function(r *rand.Rand, index int, table bool) Function {
	g := &generator{catalog: c, choices: Random(r)}
	f := Function{Name: fmt.Sprintf("f%d", index+1), Table: table}
	for range 1 + g.n(3) {
		f.args = append(f.args, g.argumentKind())
	}
	depth := 1 + g.n(2)
	if !table {
		f.returns = []Kind{g.argumentKind()}
		f.Body = g.body(f.returns[0], depth, arguments(f.args))
		f.calls = g.called()
		return f
	}
	for range 1 + g.n(2) {
		f.returns = append(f.returns, g.argumentKind())
	}
	// args is a relation of one row.
	fields := fieldsOfArgs("args", f.args)
	from, inner := " FROM args", fields
	if g.chance(2) {
		item, more := g.table()
		from, inner = " FROM args, "+item, append(fields[:len(fields):len(fields)], more...)
	}
	f.Body = g.selectFrom(f.returns, depth, from, inner, nil)
	f.calls = g.called()
	return f
}

// body makes the body of a scalar function. Most have a subquery over an argument, since
// what is rewritten for columns differs from what constants need.
func (g *generator) body(k Kind, depth int, args []field) string {
	s := scope{outer: args}
	if g.chance(3) {
		return g.expr(k, depth+1, scope{inner: args})
	}
	return g.scalarSubquery(k, depth+1, s)
}

// argumentKind chooses a kind that signatures have.
func (g *generator) argumentKind() Kind {
	return choose(g, Integer, Text, Integer, Text, Boolean, Numeric, Double, Date, Timestamp)
}

func fieldsOfArgs(alias string, kinds []Kind) []field {
	fields := arguments(kinds)
	for i := range fields {
		fields[i].sql = alias + "." + fields[i].sql
	}
	return fields
}

// Postgres is the statement that makes the function there.
func (f Function) Postgres() string {
	var params, args, columns []string
	for i, k := range f.args {
		params = append(params, fmt.Sprintf("a%d %s", i+1, types[k].sql))
		args = append(args, fmt.Sprintf("$%d AS a%d", i+1, i+1))
	}
	for i, k := range f.returns {
		columns = append(columns, fmt.Sprintf("c%d %s", i+1, types[k].sql))
	}
	returns, body := types[f.returns[0]].sql, "SELECT "+cast("("+f.Body+")", f.returns[0])
	if f.Table {
		var casts []string
		for i, k := range f.returns {
			casts = append(casts, cast(fmt.Sprintf("q.c%d", i+1), k))
		}
		returns = "TABLE(" + strings.Join(columns, ", ") + ")"
		body = fmt.Sprintf("WITH args AS (SELECT %s) SELECT %s FROM (%s) AS q", strings.Join(args, ", "), strings.Join(casts, ", "), f.Body)
	}
	return fmt.Sprintf("CREATE FUNCTION %s(%s) RETURNS %s LANGUAGE sql STABLE AS $body$ %s $body$", f.Name, strings.Join(params, ", "), returns, body)
}

// YAML is the declaration in a Spicepod.
func (f Function) YAML() string {
	var args []string
	for i, k := range f.args {
		args = append(args, fmt.Sprintf("{ name: a%d, type: '%s' }", i+1, types[k].declared))
	}
	kind, returns := "", "'"+types[f.returns[0]].declared+"'"
	if f.Table {
		var columns []string
		for i, k := range f.returns {
			columns = append(columns, fmt.Sprintf("{ name: c%d, type: '%s' }", i+1, types[k].declared))
		}
		kind, returns = "\n  kind: table", "["+strings.Join(columns, ", ")+"]"
	}
	return fmt.Sprintf("- name: %s%s\n  from: sql\n  signature: { args: [%s], returns: %s }\n  body: |\n    %s\n", f.Name, kind, strings.Join(args, ", "),
		returns, f.Body)
}

// call makes a call of a scalar function of the kind, if there is one.
func (g *generator) call(k Kind, depth int, s scope) (string, bool) {
	var of []Function
	for _, f := range g.catalog.Functions {
		if !f.Table && f.returns[0] == k {
			of = append(of, f)
		}
	}
	if len(of) == 0 {
		return "", false
	}
	f := choose(g, of...)
	g.use("function")
	return g.callOf(f, depth, s), true
}

// callOf is the call of a function with expressions as arguments.
func (g *generator) callOf(f Function, depth int, s scope) string {
	if g.calls == nil {
		g.calls = map[string]bool{}
	}
	g.calls[f.Name] = true
	args := make([]string, len(f.args))
	for i, k := range f.args {
		args[i] = cast(g.expr(k, depth-1, s), k)
	}
	return f.Name + "(" + strings.Join(args, ", ") + ")"
}
