package engine

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// unqualify returns edits of the judged SELECT of a change that make its names of the
// changed table ones that DuckDB resolves: public.orders.id becomes orders.id, and in
// RETURNING, where INSERT does not know the alias, id.
func (ch *change) unqualify(query string, st *sqltree.Statement, names Names, parts []part) []sqltree.Edit {
	tokens := sqltree.Scan(query)
	var edits []sqltree.Edit
	for _, c := range st.Columns {
		first, found := slices.BinarySearchFunc(tokens, c.Offset, func(t sqltree.Token, offset int) int { return t.Start - offset })
		if !found {
			continue
		}
		if e, ok := ch.qualifier(query, tokens[first:], names, parts); ok && (!c.Inner || ch.isReturned(parts, c.Offset)) {
			edits = append(edits, e)
		}
	}
	for i := range tokens { // orders.* is no column of the tree
		if i+2 < len(tokens) && tokens[i].IsName() && tokens[i+1].Is(query, ".") && tokens[i+2].Is(query, "*") && ch.isReturned(parts, tokens[i].Start) {
			if e, ok := ch.qualifier(query, tokens[i:], names, parts); ok {
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// isReturned reports whether an offset of the judged SELECT is in the list of RETURNING.
func (ch *change) isReturned(parts []part, offset int) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return p.Span == ch.returning && offset >= p.at && offset <= p.at+p.len()
	})
}

// qualifier returns the edit for the path at the beginning of tokens, if the changed
// table is its first names.
func (ch *change) qualifier(query string, tokens []sqltree.Token, names Names, parts []part) (sqltree.Edit, bool) {
	var path []string
	for i := 0; i+2 < len(tokens) && tokens[i].IsName() && tokens[i+1].Is(query, ".") && len(path) < 3; i += 2 {
		path = append(path, tokens[i].Name(query))
	}
	returned := ch.isReturned(parts, tokens[0].Start)
	edit := func(n int) (sqltree.Edit, bool) {
		return sqltree.Edit{Span: sqltree.Span{Start: tokens[0].Start, End: tokens[2*n].Start}}, true
	}
	if len(path) > 0 && sqltree.Fold(path[0]) == sqltree.Fold(ch.alias) {
		if returned {
			return edit(1)
		}
		return sqltree.Edit{}, false
	}
	for n := len(path); n > 1 && ch.alias == ch.relation.Name; n-- {
		catalog, schema, name := pathOf(path[:n])
		if r, ok := names.Relation(catalog, schema, name); ok && r == ch.relation {
			if returned {
				return edit(n)
			}
			return edit(n - 1)
		}
	}
	return sqltree.Edit{}, false
}
