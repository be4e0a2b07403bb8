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

// lookup is a relation of a body, in the outermost query of a subquery, of which only rows
// with key = argument matter.
type lookup struct {
	relation  sqltree.Span // in the body
	condition sqltree.Span // key = argument, in the body
	key       string       // its column
	arg       int
	name      string // of the relation in the query
	alias     string // to add; "" if the body has one
}

// Key returns the relation of which the body only reads rows with an equal column and
// argument, the column as SQL, and the index of the argument; false if the body is no look-up.
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

// findLookup looks for FROM t … WHERE key = argument.
func (b *builder) findLookup() error {
	if b.f.body.args == nil || !b.plainNames() {
		return nil
	}
	w := b.words()
	tokens := w.tokens
	for i := 0; i < len(tokens) && b.f.body.lookup == nil; i++ {
		if !w.is(i, "(") || i+1 == len(tokens) || !queryWords[fold(tokens[i+1].Text(b.p.text))] {
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

// lookupIn looks in the query from token i to the bracket at end.
func (w words) lookupIn(i, end int) *lookup {
	clauses := w.clauses(i, end)
	from, where := clauses["from"], clauses["where"]
	if from == 0 || where < from || slices.ContainsFunc(w.tokens[from:where], w.matchesRows) {
		return nil
	}
	for at := where; at < end; at++ {
		if w.depth(where, at) != 0 {
			continue
		}
		if w.is(at, "or", "between", "case", "union", "except", "intersect") {
			return nil
		}
		if !w.is(at, "where", "and") {
			continue
		}
		table, key, arg, next := w.equality(at + 1)
		if arg < 0 || next < end && !w.is(next, "and", "order", "group", "limit", "having", "qualify", "offset") ||
			w.later(next, end, "or", "union", "except", "intersect", "sample") {
			continue
		}
		if l := w.relationOf(from, where, table); l != nil {
			l.key, l.arg = key, arg
			l.condition = sqltree.Span{Start: w.tokens[at+1].Start - w.b.p.start, End: w.tokens[next-1].End - w.b.p.start}
			return l
		}
	}
	return nil
}

// clauses returns the tokens of the words FROM and WHERE of a query.
func (w words) clauses(i, end int) map[string]int {
	found := map[string]int{}
	for at := i; at < end; at++ {
		for _, word := range []string{"from", "where"} {
			if w.is(at, word) && w.depth(i, at) == 0 && found[word] == 0 && !w.is(at-1, "distinct") {
				found[word] = at
			}
		}
	}
	return found
}

// matchesRows reports whether a join matches rows by their order, in which rows with other
// keys matter.
func (w words) matchesRows(t sqltree.Token) bool {
	return t.Kind == sqltree.Ident && slices.Contains([]string{"asof", "positional"}, fold(t.Text(w.b.p.text)))
}

// depth is the number of brackets that are open at token at, of those after from.
func (w words) depth(from, at int) int {
	n := 0
	for _, t := range w.tokens[from:at] {
		n += t.Nesting(w.b.p.text)
	}
	return n
}

// later reports whether one of the words follows in a query.
func (w words) later(from, end int, of ...string) bool {
	for at := from; at < end; at++ {
		if w.is(at, of...) && w.depth(from, at) == 0 {
			return true
		}
	}
	return false
}

// equality reads column = argument, or the reverse, at token i. arg is -1 if it is
// something else; next is the token after it.
func (w words) equality(i int) (table, key string, arg, next int) {
	t1, k1, n1 := w.name(i)
	if n1 == 0 || !w.is(n1, "=", "==") {
		return "", "", -1, 0
	}
	t2, k2, n2 := w.name(n1 + 1)
	if n2 == 0 {
		return "", "", -1, 0
	}
	if a := w.b.argIndex(k2); t2 == "" && a >= 0 && (t1 != "" || w.b.argIndex(k1) < 0) {
		return t1, engine.Identifier(k1), a, n2
	}
	if a := w.b.argIndex(k1); t1 == "" && a >= 0 && (t2 != "" || w.b.argIndex(k2) < 0) {
		return t2, engine.Identifier(k2), a, n2
	}
	return "", "", -1, 0
}

// name reads column or table.column at token i; next is 0 if something else is there.
func (w words) name(i int) (table, column string, next int) {
	if i >= len(w.tokens) || !w.tokens[i].IsName() {
		return "", "", 0
	}
	column, next = w.tokens[i].Name(w.b.p.text), i+1
	if w.is(next, ".") && next+1 < len(w.tokens) && w.tokens[next+1].IsName() {
		table, column, next = column, w.tokens[next+1].Name(w.b.p.text), next+2
	}
	if w.is(next, ".", "(", "[", "::") || next < len(w.tokens) && w.tokens[next].Kind == sqltree.String {
		return "", "", 0
	}
	return table, column, next
}

// relationOf finds the relation of that name, or alias, between FROM and WHERE; any name
// means the only one.
func (w words) relationOf(from, where int, table string) *lookup {
	for _, e := range w.b.f.body.edits {
		if e.relation == nil || e.literal {
			continue
		}
		i := slices.IndexFunc(w.tokens, func(t sqltree.Token) bool { return t.Start-w.b.p.start == e.Start })
		last := slices.IndexFunc(w.tokens, func(t sqltree.Token) bool { return t.End-w.b.p.start == e.End })
		if i <= from || last < i || last >= where || w.depth(from, i) != 0 || !w.is(i-1, "from", "join", ",") {
			continue
		}
		alias, next := w.tokens[last].Name(w.b.p.text), last+1
		l := &lookup{relation: e.Span, alias: " AS " + engine.Identifier(alias)}
		if w.is(next, "as") {
			next++
		}
		if next < where && w.tokens[next].IsName() && !w.is(next, "join", "inner", "left", "right", "full", "cross",
			"natural", "on", "using", "asof", "semi", "anti", "positional") {
			alias, l.alias, next = w.tokens[next].Name(w.b.p.text), "", next+1
		}
		alone := i == from+1 && next == where
		if table == "" && !alone || table != "" && fold(table) != fold(alias) ||
			!alone && !w.is(next, "join", "inner", "left", "cross", ",", "on", "where") {
			continue
		}
		l.name = engine.Identifier(alias)
		return l
	}
	return nil
}
