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

// OverArgs returns the query of [engine.Function.Alone] over a table of the arguments, which
// has one row and these columns; false if the body has no such form. DuckDB may refuse it.
func (f *Function) OverArgs(args string, columns []string) (query string, ok bool) {
	if !f.Joins() {
		return "", false
	}
	l := f.body.lookup
	const table, value = "__spiced_args", "__spiced_value"
	edits := append(slices.Clone(f.body.edits), edit{Span: sqltree.Span{Start: l.where, End: l.where}, text: ", " + args + " AS " + table + " "})
	for _, e := range l.args {
		edits = append(edits, edit{Span: e.Span, text: table + "." + columns[f.argIndex(e.text)]})
	}
	slices.SortStableFunc(edits, func(x, y edit) int { return cmp.Compare(x.Start, y.Start) })
	text, _ := f.body.renderEdits(Published(), edits)
	return "SELECT CAST(" + value + " AS " + f.Returns.SQL() + ") AS result FROM (\n" + text + "\n) AS __spiced_body(" + value + ")", true
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
