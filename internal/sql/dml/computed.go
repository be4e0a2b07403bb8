package dml

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A worker computes the costly parts of a write: the rows of an INSERT, or the values and the
// condition of an UPDATE or DELETE. What else is costly, in RETURNING and DO UPDATE, is computed
// where the table is.

// Computed reports whether a worker computes a costly part of the judged SELECT.
func (s *Statement) Computed(c sqltree.Costly, parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		if s.Verb == VerbInsert && p.Span != s.Rows || p.Span == s.Returning {
			return false
		}
		return len(parts) == 1 && s.Verb == VerbInsert || p.Has(c.Offset)
	})
}

// ComputedSpans are the parts that a worker computes.
func (s *Statement) ComputedSpans() []sqltree.Span {
	if s.Verb == VerbInsert {
		return []sqltree.Span{s.Rows}
	}
	return slices.DeleteFunc(append(slices.Clone(s.Values), s.Where), func(span sqltree.Span) bool {
		return span == sqltree.Span{}
	})
}

// ComputedQuery returns a SELECT of what a worker computes, over the relation, whose name is given
// as SQL.
func (s *Statement) ComputedQuery(text, relation string) string {
	if s.Verb == VerbInsert {
		return text[s.Rows.Start:s.Rows.End]
	}
	sql := "SELECT 1"
	for _, v := range s.Values {
		if v != (sqltree.Span{}) {
			sql += ", (" + text[v.Start:v.End] + "\n)"
		}
	}
	sql += " FROM " + relation + " AS " + sqltree.Identifier(s.Alias)
	if s.Where != (sqltree.Span{}) {
		sql += " WHERE (" + text[s.Where.Start:s.Where.End] + "\n)"
	}
	return sql
}

// CheckWholeRows refuses expressions over all columns of a row of the named table in what a worker
// computes, to which it adds the rowid. tree is the parse tree of [Statement.ComputedQuery].
func (s *Statement) CheckWholeRows(text, table string, columns []string, tree *sqltree.Statement) error {
	refuse := func(at int) error {
		return fail(errcode.Refused, at, "name the columns",
			"an expression over all columns of a row is refused in a part of a write that a worker computes")
	}
	named := func(name string) bool {
		return slices.ContainsFunc(columns, func(c string) bool { return sqltree.Fold(c) == sqltree.Fold(name) })
	}
	if named("rowid") {
		return fail(errcode.Refused, s.Target.Offset, "compute the values first, in a SELECT",
			"table %q has a column \"rowid\", so no worker can compute what the statement writes to it", table)
	}
	for _, c := range tree.Columns {
		if len(c.Parts) == 1 && sqltree.Fold(c.Parts[0]) == sqltree.Fold(s.Alias) && !named(s.Alias) {
			return refuse(s.Target.Offset)
		}
	}
	for _, span := range s.ComputedSpans() {
		part := text[span.Start:span.End]
		tokens := sqltree.Scan(part)
		for i, t := range tokens {
			if wholeRow(part, tokens, i) {
				return refuse(span.Start + t.Start)
			}
		}
	}
	return nil
}

// wholeRow reports whether token i is COLUMNS(…), or * for all columns, which follows a bracket,
// other than in count(*), or a comma.
func wholeRow(text string, tokens []sqltree.Token, i int) bool {
	switch {
	case !tokens[i].Is(text, "*"):
		return sqltree.Are(text, tokens, i, "columns", "(")
	case sqltree.Are(text, tokens, i-1, "("):
		return !sqltree.Are(text, tokens, i-2, "count")
	}
	return sqltree.Are(text, tokens, i-1, ",")
}

// ValueRows returns the values of each row of an INSERT … VALUES (…), …; nil if its rows are another
// query's.
func (s *Statement) ValueRows(text string) (rows [][]sqltree.Span) {
	part := text[s.Rows.Start:s.Rows.End]
	tokens := sqltree.Scan(part)
	if !sqltree.Are(part, tokens, 0, "values") {
		return nil
	}
	var row []sqltree.Span
	depth, start := 0, 0
	for i, t := range tokens[1:] { // tokens[i] is the one before t
		outside := depth == 0
		depth += t.Nesting(part)
		switch {
		case outside && t.Is(part, "("):
			row, start = nil, t.End
		case outside && t.Is(part, ",") && tokens[i].Is(part, ")"):
		case outside:
			return nil
		case depth == 0, depth == 1 && t.Is(part, ","):
			row = append(row, sqltree.Span{Start: s.Rows.Start + start, End: s.Rows.Start + tokens[i].End})
			if start = t.End; depth == 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
