package dml

import (
	"slices"
	"strings"

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
			star := t.Is(part, "*") && i > 0 &&
				(tokens[i-1].Is(part, "(") && !(i > 1 && sqltree.Are(part, tokens, i-2, "count")) || tokens[i-1].Is(part, ","))
			if star || sqltree.Are(part, tokens, i, "columns") && i+1 < len(tokens) && tokens[i+1].Is(part, "(") {
				return refuse(span.Start + t.Start)
			}
		}
	}
	return nil
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
	for i, t := range tokens[1:] {
		symbol := t.Kind == sqltree.Symbol
		switch word := t.Text(part); {
		case depth == 0 && (!symbol || word != "(" && (word != "," || !tokens[i].Is(part, ")"))):
			return nil
		case symbol && strings.Contains("([{", word):
			if depth++; depth == 1 {
				row, start = nil, t.End
			}
		case symbol && depth == 1 && (word == "," || word == ")"):
			row = append(row, sqltree.Span{Start: s.Rows.Start + start, End: s.Rows.Start + tokens[i].End})
			if start = t.End; word == ")" {
				rows, depth = append(rows, row), 0
			}
		case symbol && strings.Contains(")]}", word):
			depth--
		}
	}
	return rows
}
