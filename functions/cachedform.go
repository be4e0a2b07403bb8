package functions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// DuckDB plans a statement again at each execution if a parameter is used next to a table.
// It caches the plan of a statement that reads the arguments from a table of one row. A body
// has up to three such forms. Which of them DuckDB accepts, and which is the fastest,
// depends on the body, the data and the indexes:
//
//	SELECT note FROM t WHERE id = k AND open    -- the body
//
//	SELECT note FROM t, args WHERE id = args.k AND open
//
//	SELECT note FROM t WHERE id = (SELECT k FROM args) AND open
//
//	WITH found AS MATERIALIZED (SELECT * FROM t WHERE id = (SELECT k FROM args) LIMIT …)
//	SELECT note FROM found WHERE id IS NOT NULL AND open
//
// The last one is for look-ups: DuckDB uses an index only for a scan with one condition, so
// no other condition of the body may reach it.

// CachedForm is a statement of one call that has no parameters, so that DuckDB caches its plan.
type CachedForm struct {
	SQL string
	// Alone says that the statement of a scalar function returns the rows of the body's query:
	// see [engine.Input].
	Alone bool
}

// outer is the outermost query of a body that is one query, which has a FROM and a WHERE.
type outer struct {
	columns int  // byte offset of its select list in the body
	where   int  // byte offset of its WHERE clause in the body
	joins   bool // another relation can be added to its FROM clause
	each    bool // that relation can have a row for each of several calls
}

// Names in a query of a body over its arguments.
const (
	argsTable = "__spiced_args"
	bodyValue = "__spiced_value"
	keyedRows = "__spiced_keyed"
)

// everyRow is a LIMIT that keeps conditions from the query below it.
const everyRow = " LIMIT 9223372036854775807"

// HasCachedForms reports whether there are statements of [Function.CachedForms].
func (f *Function) HasCachedForms() bool {
	reads := len(f.Uses.Relations)+len(f.Uses.Functions) > 0
	return reads && len(f.Args) > 0 && (f.IsTable() && len(f.Tables) == 0 || f.body.args != nil)
}

// CachedForms returns the statements of a call that reads its arguments from a table of one row
// with these columns. DuckDB may refuse some of them.
func (f *Function) CachedForms(args string, columns []string) []CachedForm {
	switch {
	case !f.HasCachedForms():
		return nil
	case f.IsTable():
		return []CachedForm{{SQL: f.cachedTable(args, columns)}}
	}
	var list []CachedForm
	if o := f.body.outer; o != nil && o.joins {
		list = append(list, CachedForm{f.alone(f.overArgs(args, columns)), true})
	}
	list = append(list, f.inSubqueries(args, columns, "", f.body.edits))
	if l := f.body.lookup; l != nil {
		list = append(list, f.keyed(args, columns, l))
	}
	return list
}

// cachedTable is the body of a table function next to its table args.
func (f *Function) cachedTable(args string, columns []string) string {
	var b strings.Builder
	names := f.list(func(_ int, a Arg) string { return engine.Identifier(a.Name) })
	b.WriteString("WITH " + reservedTable + names + " AS (SELECT " + strings.Join(columns, ", ") + " FROM " + args + ") ")
	f.outputs(&b, func() {
		text, _ := f.body.render(Published())
		b.WriteString(text)
	})
	return b.String()
}

// alone is the statement of a query with one column.
func (f *Function) alone(query string) string {
	return "SELECT CAST(" + bodyValue + " AS " + f.Returns.SQL() + ") AS result FROM (\n" + query +
		"\n) AS __spiced_body(" + bodyValue + ")"
}

// inSubqueries returns the statement in which a subquery replaces each argument that the body
// uses in a subquery. An argument outside of them is a column of the statement's own FROM.
func (f *Function) inSubqueries(args string, columns []string, with string, edits []edit) CachedForm {
	edits = slices.Clone(edits)
	from := ""
	for _, e := range f.body.args {
		column := columns[f.argIndex(e.text)]
		text := "(SELECT " + column + " FROM " + args + ")"
		if !e.inner {
			text, from = argsTable+"."+column, " FROM "+args+" AS "+argsTable
		}
		if !slices.ContainsFunc(edits, func(o edit) bool { return o.Start <= e.Start && e.End <= o.End }) {
			edits = append(edits, edit{Span: e.Span, text: text})
		}
	}
	query := f.rendered(edits)
	if f.body.inPlace != nil {
		return CachedForm{with + f.alone(query), true}
	}
	return CachedForm{with + "SELECT CAST((\n" + query + "\n) AS " + f.Returns.SQL() + ") AS result" + from, false}
}

// keyed returns the statement that first looks up the rows with the key. The body's condition
// on the key becomes IS NOT NULL, which still removes the rows that an outer join adds.
func (f *Function) keyed(args string, columns []string, l *lookup) CachedForm {
	with := ""
	edits := slices.Clone(f.body.edits)
	for i, e := range edits {
		if e.Span == l.relation {
			with = "WITH " + keyedRows + " AS MATERIALIZED (SELECT * FROM " +
				engine.Qualified(e.relation.Schema, e.relation.Name) +
				" WHERE " + l.key + " = (SELECT " + columns[l.arg] + " FROM " + args + ")" + everyRow + ") "
			edits[i] = edit{Span: e.Span, text: keyedRows + l.alias}
		}
	}
	edits = append(edits, edit{Span: l.condition, text: l.name + "." + l.key + " IS NOT NULL"})
	return f.inSubqueries(args, columns, with, edits)
}

// OverEach returns a query over a table of the arguments of calls, with these columns and the
// number of the call. It returns that number and the value, or no row for NULL, and more
// than one row where the call is an error; false if the body has no such form. DuckDB
// refuses it if the body aggregates.
func (f *Function) OverEach(args string, columns []string, number string) (query string, ok bool) {
	o := f.body.outer
	if f.body.lookup == nil || o == nil || !o.each {
		return "", false
	}
	text := f.overArgs(args, columns,
		edit{Span: sqltree.Span{Start: o.columns, End: o.columns}, text: " " + argsTable + "." + number + ", "})
	return "SELECT " + number + ", CAST(" + bodyValue + " AS " + f.Returns.SQL() + ") AS result FROM (\n" + text +
		"\n) AS __spiced_body(" + number + ", " + bodyValue + ")", true
}

// overArgs returns the body with a relation for the arguments and further edits.
func (f *Function) overArgs(args string, columns []string, more ...edit) string {
	o := f.body.outer
	edits := append(slices.Clone(f.body.edits),
		edit{Span: sqltree.Span{Start: o.where, End: o.where}, text: ", " + args + " AS " + argsTable + " "})
	for _, e := range f.body.args {
		edits = append(edits, edit{Span: e.Span, text: argsTable + "." + columns[f.argIndex(e.text)]})
	}
	return f.rendered(append(edits, more...))
}

// rendered returns the body with edits in any order.
func (f *Function) rendered(edits []edit) string {
	slices.SortStableFunc(edits, func(x, y edit) int { return cmp.Compare(x.Start, y.Start) })
	text, _ := f.body.renderEdits(Published(), edits)
	return text
}

// findArguments finds where a body uses its arguments, and its outermost query.
func (b *builder) findArguments() error {
	if b.f.IsTable() || !b.f.body.subquery || len(b.f.Args) == 0 {
		return nil
	}
	if len(b.p.st.Lambdas) > 0 || !b.onlyColumns() {
		return nil
	}
	edits := []edit{}
	for _, c := range b.p.st.Columns {
		if b.argIndex(c.Parts[0]) < 0 {
			continue
		}
		span, ok := sqltree.LocateColumn(b.p.text, b.p.tokens, c)
		if !ok || c.JSON {
			return nil
		}
		edits = append(edits, edit{Span: b.inBody(span.Start, span.End), text: c.Parts[0], inner: c.Inner})
	}
	b.f.body.args = edits
	if w := b.words(); b.oneQuery() && w.is(1, "select") {
		b.f.body.outer = w.outer(1, len(w.tokens)-1)
	}
	return nil
}

// outer reads the query from token first to the bracket at end; nil if it has no WHERE, or if
// an argument is used in its FROM.
func (w words) outer(first, end int) *outer {
	s, ok := w.selection(first, end)
	if !ok || w.has(s.where, end, "union", "except", "intersect") ||
		slices.ContainsFunc(w.tokens[s.from:s.where], w.isArgument) {
		return nil
	}
	o := &outer{columns: w.span(first, first).End, where: w.span(s.where, s.where).Start, joins: w.joins()}
	o.each = o.joins && !w.ordered(first, end)
	return o
}

// ordered reports whether which rows the query from token first to end returns depends on
// other rows.
func (w words) ordered(first, end int) bool {
	return w.contains(first, end, "over", "qualify") || w.has(first, end,
		"distinct", "all", "group", "order", "having", "limit", "offset", "window", "fetch", "using")
}

// joins reports whether the outermost query of a body can have another relation: it does not
// refer to all columns, and neither groups by what it selects nor uses an argument in a
// subquery, which would depend on rows.
func (w words) joins() bool {
	for i := 1; i < len(w.tokens); i++ { // 0 is the bracket of the query itself
		switch {
		case w.isStar(i), w.is(i, "columns", "exclude", "natural"), w.is(i-1, "by") && w.is(i, "all"):
			return false
		case w.opensQuery(i) && slices.ContainsFunc(w.tokens[i:w.closing(i)], w.isArgument):
			return false
		}
	}
	return true
}

// isStar reports whether token i is * for all columns, and neither the operator, which follows a
// value, nor that of count(*).
func (w words) isStar(i int) bool {
	if !w.is(i, "*") || w.is(i-2, "count") && w.is(i-1, "(") && w.is(i+1, ")") {
		return false
	}
	value := w.isName(i-1) || w.isKind(i-1, sqltree.Number) || w.is(i-1, ")", "]")
	return !value || w.is(i-1, "select", "distinct", "all", "struct_pack", "unpack")
}
