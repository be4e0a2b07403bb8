// Package dml parses and composes INSERT, UPDATE and DELETE. It works on text and tokens alone: it
// knows no catalog, and DuckDB never sees what it parses.
//
// json_serialize_sql, on which the guard relies, takes SELECT only. So a small grammar of tokens
// parses the statement ([Parse]). Its parts, the query or the expressions, are judged as parts of
// a SELECT ([Statement.Query]), and what DuckDB gets is composed of these judged parts and of quoted
// names ([Statement.Compose]). What the grammar does not know is refused.
//
//	s, err := dml.Parse(text, sqltree.Scan(text), reserved)
//	query, parts := s.Query(text, `spice.public."orders"`)
//	// the guard judges query, and returns the edits of it
//	out := &dml.Assembler{Judged: &dml.Judged{Text: text, Parts: parts, Edits: edits}}
//	ok := s.Compose(out, "db.main.orders")
//	sql := out.Text()
package dml

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Error is why a statement is refused.
type Error struct {
	Code          errcode.Code
	Message, Hint string
	Offset        int // in the statement
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func fail(code errcode.Code, offset int, hint, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint, Offset: offset}
}

const (
	hintForms = "write INSERT INTO t (a, b) SELECT … or VALUES …, UPDATE t SET a = … WHERE …, or DELETE FROM t WHERE " +
		"…, each with RETURNING … if wanted"
	hintDelete = "write DELETE FROM the dataset WHERE …"
)

// Begins reports whether the text begins with INSERT, UPDATE or DELETE.
func Begins(text string, tokens []sqltree.Token) bool {
	return sqltree.Are(text, tokens, 0, "insert") || sqltree.Are(text, tokens, 0, "update") ||
		sqltree.Are(text, tokens, 0, "delete")
}

// Inside returns the position at which a text that begins with WITH continues with a statement
// that changes rows, and the verb of that; -1 if it does not.
func Inside(text string, tokens []sqltree.Token) (at int, verb string) {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.Is(text, "("):
			depth++
		case t.Is(text, ")"):
			depth--
		case depth == 0 && (Begins(text, tokens[i:]) || sqltree.Are(text, tokens, i, "merge")):
			return t.Start, strings.ToUpper(t.Text(text))
		}
	}
	return -1, ""
}

// Remaining parses a DELETE, and returns a SELECT of the rows that it leaves, with a function from
// offsets in that to those in text. Errors are [*Error]s.
func Remaining(text string, tokens []sqltree.Token,
	reserved map[string]bool,
) (query string, origin func(int) int, err error) {
	if !sqltree.Are(text, tokens, 0, string(VerbDelete)) {
		return "", nil, fail(errcode.Refused, 0, hintDelete, "the text is not one DELETE statement")
	}
	s, err := Parse(text, tokens, reserved)
	switch {
	case err != nil:
		return "", nil, err
	case s.Returning != (sqltree.Span{}):
		return "", nil, fail(errcode.Refused, s.Returning.Start, hintDelete, "RETURNING is refused")
	case s.Where == (sqltree.Span{}):
		return "", nil, fail(errcode.Refused, tokens[0].Start, hintDelete, "without WHERE it would remove all rows")
	}
	const head = "SELECT *"
	start := tokens[0].End
	query = head + text[start:s.Where.Start] + "("
	condition := len(query)
	query += text[s.Where.Start:s.Where.End] + "\n) IS NOT TRUE"
	return query, func(offset int) int {
		if offset >= condition {
			return min(offset-condition+s.Where.Start, s.Where.End)
		}
		return max(offset-len(head)+start, 0)
	}, nil
}
