package dml

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Unqualify returns edits of the judged SELECT that make its names of the changed table ones that
// DuckDB resolves: public.orders.id becomes orders.id, and in RETURNING, where INSERT does not
// know the alias, id. query and tree are the SELECT and its parse tree. target reports whether a
// path of one to three names means the table; nil: it has an alias that is not its name, so that
// none does.
func (s *Statement) Unqualify(query string, tree *sqltree.Statement, parts []Part,
	target func(path []string) bool,
) []sqltree.Edit {
	tokens := sqltree.Scan(query)
	returned := func(offset int) bool {
		return slices.ContainsFunc(parts, func(p Part) bool { return p.Span == s.Returning && p.Has(offset) })
	}
	// qualifier returns the edit that shortens the path that begins at token i, if the changed
	// table is its first names: in RETURNING all of them go, elsewhere the last one stays.
	qualifier := func(i int) (e sqltree.Edit, ok bool) {
		var path []string
		for at := i; at+2 < len(tokens) && tokens[at].IsName() && tokens[at+1].Is(query, ".") && len(path) < 3; at += 2 {
			path = append(path, tokens[at].Name(query))
		}
		remove := 0 // how many names
		if len(path) > 0 && sqltree.Fold(path[0]) == sqltree.Fold(s.Alias) {
			if returned(tokens[i].Start) {
				remove = 1
			}
		} else if target != nil {
			for n := len(path); n > 1 && remove == 0; n-- {
				if !target(path[:n]) {
					continue
				}
				if remove = n - 1; returned(tokens[i].Start) {
					remove = n
				}
			}
		}
		return sqltree.Edit{Span: sqltree.Span{Start: tokens[i].Start, End: tokens[i+2*remove].Start}}, remove > 0
	}
	var edits []sqltree.Edit
	for _, c := range tree.Columns {
		first, found := slices.BinarySearchFunc(tokens, c.Offset, func(t sqltree.Token, offset int) int {
			return t.Start - offset
		})
		if !found {
			continue
		}
		if e, ok := qualifier(first); ok && (!c.Inner || returned(c.Offset)) {
			edits = append(edits, e)
		}
	}
	for i := range tokens { // orders.* is no column of the tree
		if i+2 < len(tokens) && tokens[i].IsName() && tokens[i+1].Is(query, ".") && tokens[i+2].Is(query, "*") &&
			returned(tokens[i].Start) {
			if e, ok := qualifier(i); ok {
				edits = append(edits, e)
			}
		}
	}
	return edits
}
