package engine

import (
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

const hintDelete = "write DELETE FROM the dataset WHERE …"

// Remaining parses a DELETE by the grammar of writes, and returns a SELECT of the rows that it
// leaves, with a function from offsets in that to those in text. The query is for the
// caller to judge: only the grammar is checked.
func (db *DB) Remaining(text string) (query string, origin func(int) int, err error) {
	tokens, err := db.checkText(text)
	if err != nil {
		return "", nil, err
	}
	if !sqltree.Are(text, tokens, 0, string(VerbDelete)) {
		return "", nil, NewError(errcode.Refused, hintDelete, "the text is not one DELETE statement").at(text, 0)
	}
	c, err := db.builtins.parseChange(text, tokens)
	switch {
	case err != nil:
		return "", nil, err
	case c.returning != (sqltree.Span{}):
		return "", nil, NewError(errcode.Refused, hintDelete, "RETURNING is refused").at(text, c.returning.Start)
	case c.where == (sqltree.Span{}):
		return "", nil, NewError(errcode.Refused, hintDelete, "without WHERE it would remove all rows").at(text, tokens[0].Start)
	}
	const head = "SELECT *"
	start := tokens[0].End
	query = head + text[start:c.where.Start] + "("
	condition := len(query)
	query += text[c.where.Start:c.where.End] + "\n) IS NOT TRUE"
	return query, func(offset int) int {
		if offset >= condition {
			return min(offset-condition+c.where.Start, c.where.End)
		}
		return max(offset-len(head)+start, 0)
	}, nil
}
