package dml

import (
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Excluded is the name of the row that an INSERT could not add.
const Excluded = "excluded"

// The columns of [Assembler.Streamed] of an UPDATE or DELETE, and the alias of its rows.
const (
	RowID    = "__spiced_row"
	rowAlias = "__spiced_rows"
)

// ValueColumn is the column of [Assembler.Streamed] with the value of SET's column i.
func ValueColumn(i int) string { return "__spiced_value_" + strconv.Itoa(i) }

// Query returns a SELECT with the parts of the statement: the query of an INSERT, or the values,
// the condition and what RETURNING lists, over the relation, whose name is given as SQL. The parts
// that may have parameters are in the order of the text.
func (s *Statement) Query(text, relation string) (string, []Part) {
	if s.Rows != (sqltree.Span{}) && s.Conflict != ConflictUpdate && s.Returning == (sqltree.Span{}) {
		return text[s.Rows.Start:s.Rows.End], []Part{{s.Rows, 0}}
	}
	var b strings.Builder
	var parts []Part
	add := func(before string, span sqltree.Span, after string) {
		if span != (sqltree.Span{}) {
			b.WriteString(before)
			parts = append(parts, Part{span, b.Len()})
			b.WriteString(text[span.Start:span.End] + after)
		}
	}
	b.WriteString("SELECT 1")
	add(", ", s.Returning, "\n")
	b.WriteString(" FROM ")
	add("(", s.Rows, "\n) AS \"rows\", ")
	b.WriteString(relation + " AS " + sqltree.Identifier(s.Alias))
	if s.Conflict == ConflictUpdate {
		b.WriteString(", " + relation + " AS " + Excluded)
	}
	b.WriteString(" WHERE true")
	for _, value := range s.Values {
		add(" AND (", value, "\n) IS NULL")
	}
	add(" AND (", s.Where, "\n)")
	return b.String(), parts
}

// Compose composes the statement that DuckDB gets, for a table whose name is given as SQL. It
// reports false when an edit of the judged SELECT is in none of the parts.
func (s *Statement) Compose(out *Assembler, table string) bool {
	switch s.Verb {
	case VerbInsert:
		s.ComposeInsert(out, table)
	case VerbUpdate:
		out.Own("UPDATE " + table + " AS " + sqltree.Identifier(s.Alias) + " SET ")
		s.composeSet(out)
	case VerbDelete:
		out.Own("DELETE FROM " + table + " AS " + sqltree.Identifier(s.Alias))
	}
	if out.Streamed != "" && s.Verb != VerbInsert {
		out.Own(map[Verb]string{VerbUpdate: " FROM", VerbDelete: " USING"}[s.Verb] + " (" + out.Streamed +
			") AS " + rowAlias +
			" WHERE " + sqltree.Identifier(s.Alias) + ".rowid = " + rowAlias + "." + RowID)
	} else if s.Where != (sqltree.Span{}) {
		out.Within(" WHERE (", s.Where, ")")
	}
	if s.Returning != (sqltree.Span{}) {
		out.List(" RETURNING ", s.Returning)
	}
	return out.used == len(out.Judged.Edits)
}

// ComposeInsert composes an INSERT up to its RETURNING.
func (s *Statement) ComposeInsert(out *Assembler, table string) {
	out.Own("INSERT INTO " + table + " AS " + sqltree.Identifier(s.Alias))
	if s.ByName {
		out.Own(" BY NAME")
	}
	out.names(s.Columns)
	if s.Rows == (sqltree.Span{}) {
		out.Own(" DEFAULT VALUES")
	} else if out.Streamed != "" {
		out.Own(" (" + out.Streamed + ")")
	} else {
		out.Within(" (", s.Rows, ")")
	}
	if s.Conflict == ConflictFails {
		return
	}
	out.Own(" ON CONFLICT")
	out.names(s.Keys)
	out.Own(" " + string(s.Conflict))
	if s.Conflict == ConflictUpdate {
		out.Own(" SET ")
		s.composeSet(out)
	}
}

func (s *Statement) composeSet(out *Assembler) {
	for i, column := range s.Set {
		if i > 0 {
			out.Own(", ")
		}
		out.name(column)
		switch {
		case s.Values[i] == (sqltree.Span{}):
			out.Own(" = DEFAULT")
		case out.Streamed != "" && s.Verb == VerbUpdate:
			out.Own(" = " + rowAlias + "." + ValueColumn(i))
		default:
			out.Within(" = (", s.Values[i], ")")
		}
	}
}
