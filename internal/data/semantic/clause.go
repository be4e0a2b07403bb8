package semantic

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Parse returns DuckDB's parse tree of a SELECT.
type Parse func(text string) (*sqltree.Statement, error)

// clause is an expression with the places of the columns that it names.
type clause struct {
	text    string
	columns []columnAt
}

// columnAt is a column in the text of a [clause].
type columnAt struct {
	name  string // "" if it has several parts
	parts []string
	span  sqltree.Span
}

// clauseStart is before an expression that is parsed by itself: without brackets, so that one that
// closes brackets or adds columns is no expression.
const clauseStart = "SELECT\n"

// parseClause reads a single expression of one row: no subquery, no window function, no parameter
// that is not named or numbered. The offsets of errors are those in text.
func parseClause(text string, parse Parse) (clause, *sqltree.Statement, *engine.Error) {
	at := func(offset int, hint, format string, args ...any) *engine.Error {
		e := invalid(hint, format, args...)
		e.Offset = max(offset-len(clauseStart), 0)
		return e
	}
	source := clauseStart + text + "\n"
	st, err := parse(source)
	if err != nil {
		e := *engine.AsError(err)
		if e.Offset >= 0 {
			e.Offset = min(max(e.Offset-len(clauseStart), 0), len(text))
		}
		return clause{}, nil, &e
	}
	const advice = "write one expression, such as status = 'paid' AND region IN ('EU', 'US')"
	shape := st.Shape
	if !shape.Plain || shape.From || shape.Columns != 1 || shape.Alias || shape.Star {
		return clause{}, nil, at(0, advice, "it is not one expression")
	}
	if st.Subquery || len(st.Relations) > 0 {
		return clause{}, nil, at(0, "declare what it computes as a column of a view", "it has a subquery")
	}
	tokens := sqltree.Scan(source)
	for _, t := range tokens {
		if t.Kind == sqltree.Param && source[t.Start] == '?' {
			return clause{}, nil, at(t.Start, "write $name, or $1", "it has a parameter without a name or number")
		}
	}
	for _, c := range st.Calls {
		if c.Window {
			return clause{}, nil, at(c.Offset, "declare what it computes as a column of a view",
				"it has the window function %s", c.Name)
		}
	}
	c := clause{text: text}
	for _, col := range st.Columns {
		i := slices.IndexFunc(tokens, func(t sqltree.Token) bool { return t.Start == col.Offset })
		if i < 0 {
			return clause{}, nil, at(col.Offset, advice, "the form of column %q is not supported", strings.Join(col.Parts, "."))
		}
		found := columnAt{parts: col.Parts, span: sqltree.Span{
			Start: tokens[i].Start - len(clauseStart), End: tokens[i].End - len(clauseStart),
		}}
		if len(col.Parts) == 1 {
			found.name = col.Parts[0]
		}
		c.columns = append(c.columns, found)
	}
	return c, st, nil
}

// write returns the text with what replace returns in place of the columns; "" keeps a column.
func (c clause) write(replace func(columnAt) string) string {
	var edits []sqltree.Edit
	for _, col := range c.columns {
		if text := replace(col); text != "" {
			edits = append(edits, sqltree.Edit{Span: col.span, New: text})
		}
	}
	out, _ := sqltree.Apply(c.text, edits)
	return out
}
