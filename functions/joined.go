package functions

import (
	"cmp"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A body that is one look-up can join the relation with a table of one row, the arguments:
//
//	SELECT note FROM t WHERE id = k
//	SELECT note FROM t, args WHERE id = args.k
//
// If the table gets its row from the engine and not from parameters, DuckDB keeps the plan.
// The condition on the key returns no row for NULL, as before.

// Joins reports whether the body has the form of [Function.OverArgs].
func (f *Function) Joins() bool {
	l := f.body.lookup
	return l != nil && l.joins && f.body.inPlace != nil
}

// OverEach returns a query over a table of the arguments of calls, with these columns and the
// number of the call. It returns that number and the value, or no row for NULL, and more
// than one row where the call is an error; false if the body has no such form. DuckDB
// refuses it if the body aggregates.
func (f *Function) OverEach(args string, columns []string, number string) (query string, ok bool) {
	if !f.Joins() || !f.body.lookup.each {
		return "", false
	}
	at := f.body.lookup.columns
	text := f.overArgs(args, columns, edit{Span: sqltree.Span{Start: at, End: at}, text: " " + argsTable + "." + number + ", "})
	return "SELECT " + number + ", CAST(" + bodyValue + " AS " + f.Returns.SQL() + ") AS result FROM (\n" + text + "\n) AS __spiced_body(" + number + ", " + bodyValue + ")", true
}

// OverArgs returns the query of [engine.Function.Alone] over a table of the arguments, which
// has one row and these columns; false if the body has no such form. DuckDB may refuse it.
func (f *Function) OverArgs(args string, columns []string) (query string, ok bool) {
	if !f.Joins() {
		return "", false
	}
	return "SELECT CAST(" + bodyValue + " AS " + f.Returns.SQL() + ") AS result FROM (\n" + f.overArgs(args, columns) + "\n) AS __spiced_body(" + bodyValue + ")", true
}

// Names in a query of a body over its arguments.
const (
	argsTable = "__spiced_args"
	bodyValue = "__spiced_value"
)

// overArgs returns the body with a relation for the arguments and further edits.
func (f *Function) overArgs(args string, columns []string, more ...edit) string {
	l := f.body.lookup
	edits := append(slices.Clone(f.body.edits), edit{Span: sqltree.Span{Start: l.where, End: l.where}, text: ", " + args + " AS " + argsTable + " "})
	for _, e := range l.args {
		edits = append(edits, edit{Span: e.Span, text: argsTable + "." + columns[f.argIndex(e.text)]})
	}
	edits = append(edits, more...)
	slices.SortStableFunc(edits, func(x, y edit) int { return cmp.Compare(x.Start, y.Start) })
	text, _ := f.body.renderEdits(Published(), edits)
	return text
}

// ordered reports whether which rows the query from token i to end returns depends on
// other rows.
func (w words) ordered(i, end int) bool {
	for at := i; at < end; at++ {
		if w.is(at, "over", "qualify") || w.depth(i, at) == 0 && w.is(at, "distinct", "all", "group", "order", "having", "limit", "offset", "window", "fetch", "using") {
			return true
		}
	}
	return false
}

// joins reports whether the outermost query of a body can have another relation: it does not
// refer to all columns, and neither groups by what it selects nor uses an argument in a
// subquery, which would depend on rows.
func (w words) joins() bool {
	for i, t := range w.tokens {
		switch {
		case t.Is(w.b.p.text, "*"):
			if w.is(i-1, "(") && w.is(i-2, "count") && w.is(i+1, ")") {
				continue
			}
			if before := w.tokens[i-1]; w.is(i-1, "(", ",", "select", "distinct", "all", ".", "struct_pack", "unpack") || !before.IsName() && before.Kind != sqltree.Number && !w.is(i-1, ")", "]") {
				return false
			}
		case w.is(i, "columns", "exclude", "natural") || w.is(i, "all") && w.is(i-1, "by"):
			return false
		case i > 0 && w.is(i, "(") && i+1 < len(w.tokens) && queryWords[fold(w.tokens[i+1].Text(w.b.p.text))]:
			if slices.ContainsFunc(w.tokens[i:w.closing(i)], func(t sqltree.Token) bool { return t.IsName() && w.b.argIndex(t.Name(w.b.p.text)) >= 0 }) {
				return false
			}
		}
	}
	return true
}
