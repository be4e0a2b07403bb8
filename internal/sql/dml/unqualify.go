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
	var edits []sqltree.Edit
	shorten := func(i int) {
		start := tokens[i].Start
		if n := s.qualifier(pathAt(query, tokens, i), target, returned(start)); n > 0 {
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: start, End: tokens[i+2*n].Start}})
		}
	}
	for _, c := range tree.Columns {
		first, found := slices.BinarySearchFunc(tokens, c.Offset, func(t sqltree.Token, offset int) int {
			return t.Start - offset
		})
		if found && (!c.Inner || returned(c.Offset)) {
			shorten(first)
		}
	}
	for i, t := range tokens { // orders.* is no column of the tree
		if t.IsName() && sqltree.Are(query, tokens, i+1, ".", "*") && returned(t.Start) {
			shorten(i)
		}
	}
	return edits
}

// pathAt returns the names that qualify the one that ends the path at token i, at most three.
func pathAt(query string, tokens []sqltree.Token, i int) (path []string) {
	for ; i+2 < len(tokens) && len(path) < 3; i += 2 {
		if !tokens[i].IsName() || !tokens[i+1].Is(query, ".") {
			break
		}
		path = append(path, tokens[i].Name(query))
	}
	return path
}

// qualifier returns how many names at the beginning of a path are to go, if they mean the changed
// table: in RETURNING all of them, elsewhere all but the last.
func (s *Statement) qualifier(path []string, target func(path []string) bool, returned bool) int {
	n := 0
	switch {
	case len(path) == 0:
		return 0
	case sqltree.Fold(path[0]) == sqltree.Fold(s.Alias):
		n = 1
	case target != nil:
		for n = len(path); n > 1 && !target(path[:n]); n-- {
		}
		if n == 1 {
			return 0
		}
	}
	if !returned {
		n--
	}
	return n
}
