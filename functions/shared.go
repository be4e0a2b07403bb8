package functions

import (
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Calls of a function that looks rows up by a key can share a statement without reading
// the whole table: a CTE has the rows with the keys of all calls,
//
//	found AS MATERIALIZED (SELECT * FROM t WHERE key IN (SELECT k FROM calls))
//
// and the body reads it in place of the table. DuckDB pushes the keys into the scan.

// lookup is a relation in the outermost query of a subquery of a body. Only its rows with
// key = argument matter.
type lookup struct {
	relation  sqltree.Span // in the body
	condition sqltree.Span // key = argument, in the body
	key       string       // its column
	arg       int
	name      string // of the relation in the query
	alias     string // to add; "" if the body has one
}

// Key returns the relation from which the body only reads rows with column = argument, the column
// as SQL, and the index of the argument; false if the body is no look-up.
func (f *Function) Key() (r engine.Relation, column string, arg int, ok bool) {
	l := f.body.lookup
	if l == nil {
		return r, "", 0, false
	}
	i := slices.IndexFunc(f.body.edits, func(e edit) bool { return e.Span == l.relation })
	return *f.body.edits[i].relation, l.key, l.arg, true
}

// OverCalls returns the function's value as an expression over the table calls, which has
// a column for each argument, and the query of the table found, which it reads. The
// function must have a [Function.Key].
func (f *Function) OverCalls(calls string, columns []string, found string) (value, query string) {
	l := f.body.lookup
	edits := slices.Clone(f.body.edits)
	for i, e := range edits {
		if e.Span == l.relation {
			query = fmt.Sprintf("SELECT * FROM %s WHERE %s IN (SELECT %s FROM %s)",
				engine.Qualified(e.relation.Schema, e.relation.Name), l.key, columns[l.arg], calls)
			edits[i] = edit{Span: e.Span, text: found + l.alias}
		}
	}
	for _, e := range f.body.args {
		edits = append(edits, edit{Span: e.Span, text: calls + "." + columns[f.argIndex(e.text)]})
	}
	return "CAST((\n" + f.rendered(edits) + "\n) AS " + f.Returns.SQL() + ")", query
}

func (f *Function) argIndex(name string) int {
	return slices.IndexFunc(f.Args, func(a Arg) bool { return fold(a.Name) == fold(name) })
}

// findLookup looks for (SELECT … FROM t … WHERE key = argument).
func (b *builder) findLookup() error {
	if b.f.body.args == nil || !b.plainNames() {
		return nil
	}
	w := b.words()
	for i := 0; i < len(w.tokens) && b.f.body.lookup == nil; i++ {
		if !w.opensQuery(i) {
			continue
		}
		end := w.closing(i)
		if w.is(i+1, "select") {
			b.f.body.lookup = w.lookupIn(i+1, end)
		}
		i = end // in a subquery of it, a name may be a column of another table
	}
	return nil
}

// plainNames reports whether columns are named without a schema, and no row number is:
// a subquery in place of the table has neither.
func (b *builder) plainNames() bool {
	return !slices.ContainsFunc(b.p.st.Columns, func(c sqltree.Column) bool {
		return len(c.Parts) > 2 || fold(c.Parts[0]) == engine.Public || fold(c.Parts[len(c.Parts)-1]) == "rowid"
	})
}

// lookupIn returns the look-up of the SELECT from token first to before end, or nil. Rows with other
// keys must not matter to it: the condition on the key is one that every row must meet, and the
// relation is not on the side of a join that keeps rows which do not.
func (w words) lookupIn(first, end int) *lookup {
	s, ok := w.selection(first, end)
	if !ok {
		return nil
	}
	for at := range w.outermost(s.where, end) {
		switch {
		case w.is(at, "or", "between", "case", "union", "except", "intersect"):
			return nil
		case w.is(at, "where", "and"):
			if l := w.lookupBy(s, at+1); l != nil {
				return l
			}
		}
	}
	return nil
}

// lookupBy returns the look-up by the condition at token i, if that is key = argument; else nil.
func (w words) lookupBy(s selection, i int) *lookup {
	column, arg, next := w.equality(i)
	if next == 0 || w.has(next, s.end, "or", "union", "except", "intersect", "sample") {
		return nil
	}
	if next < s.end && !w.is(next, "and", "order", "group", "limit", "having", "qualify", "offset") {
		return nil
	}
	for at := range w.outermost(s.from+1, s.where) {
		if l := w.relationAt(s, at, column.table); l != nil {
			l.key, l.arg, l.condition = engine.Identifier(column.column), arg, w.span(i, next-1)
			return l
		}
	}
	return nil
}

// operand is column or table.column, and the index of the argument that it may mean, or -1.
type operand struct {
	table, column string
	arg           int
}

// equality reads column = argument, or the reverse, at token i, and the token after it, which is 0
// if it is something else.
func (w words) equality(i int) (column operand, arg, next int) {
	left, next := w.operand(i)
	if next == 0 || !w.is(next, "=", "==") {
		return column, -1, 0
	}
	right, next := w.operand(next + 1)
	switch {
	case next == 0:
	case left.arg < 0 && right.arg >= 0:
		return left, right.arg, next
	case right.arg < 0 && left.arg >= 0:
		return right, left.arg, next
	}
	return column, -1, 0
}

// operand reads column or table.column at token i; next is 0 if something else is there.
func (w words) operand(i int) (o operand, next int) {
	switch {
	case !w.isName(i):
		return o, 0
	case w.is(i+1, ".") && w.isName(i+2):
		o, next = operand{w.name(i), w.name(i + 2), -1}, i+3
	default:
		o, next = operand{"", w.name(i), w.b.argIndex(w.name(i))}, i+1
	}
	if w.is(next, ".", "(", "[", "::") || w.isKind(next, sqltree.String) {
		return o, 0
	}
	return o, next
}

// relationAt returns the relation at token i of a FROM clause, if columns of table, by its name or
// alias, are its columns; nil otherwise. No table means the only relation of the clause. A right or
// full join, before or after it, would keep rows of another relation for which it has none.
func (w words) relationAt(s selection, i int, table string) *lookup {
	edits := w.b.f.body.edits
	start := w.span(i, i).Start
	at := slices.IndexFunc(edits, func(e edit) bool { return e.relation != nil && !e.literal && e.Start == start })
	if at < 0 || !w.is(i-1, "from", "join", ",") {
		return nil
	}
	last := slices.IndexFunc(w.tokens, func(t sqltree.Token) bool { return t.End-w.b.p.start == edits[at].End })
	if last < i || last >= s.where {
		return nil
	}
	alias, next := w.name(last), last+1
	l := &lookup{relation: edits[at].Span, alias: " AS " + engine.Identifier(alias)}
	if w.is(next, "as") {
		next++
	}
	if next < s.where && w.isName(next) && !w.is(next, "join", "inner", "left", "right", "full", "cross",
		"natural", "on", "using", "asof", "semi", "anti", "positional") {
		alias, l.alias, next = w.name(next), "", next+1
	}
	only := i == s.from+1 && next == s.where
	named := fold(table) == fold(alias)
	switch {
	case only && (named || table == ""):
	case named && w.is(next, "join", "inner", "left", "cross", ",", "on", "where"):
	default:
		return nil
	}
	l.name = engine.Identifier(alias)
	return l
}
