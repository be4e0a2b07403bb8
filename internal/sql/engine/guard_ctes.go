package engine

import (
	"errors"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// prepareText returns the text, from start on, that is examined: plain, with reserved words
// quoted where they name arguments, with queries in place of the calls of [Contents.Written],
// and with correlated CTEs in place of their names. The
// function maps its offsets to those of sql.
func (db *DB) prepareText(c *conn, cat *Catalog, names Names, sql string, tokens []sqltree.Token,
	start int,
) (string, func(int) int, error) {
	text, back := sqltree.Apply(plainText(sql, tokens)[start:], db.builtins.quoteNames(sql, tokens, start))
	relocate := func(offset int) int { return back(offset) + start }
	text, written, err := db.writeCalls(c, cat, names, text)
	if err != nil {
		return "", nil, moveError(err, sql, relocate)
	}
	relocate = func(offset int) int { return back(written(offset)) + start }
	if !nestsWith(sql, tokens) {
		return text, relocate, nil
	}
	out, origin, err := db.inlined(c, names, text)
	return out, func(offset int) int { return relocate(origin(offset)) }, moveError(err, sql, relocate)
}

// nestsWith reports whether the text has a WITH clause in brackets. Only there can a CTE
// use columns of an outer query.
func nestsWith(text string, tokens []sqltree.Token) bool {
	for i, t := range tokens {
		if t.Is(text, "(") && sqltree.Are(text, tokens, i+1, "with") {
			return true
		}
	}
	return false
}

// inlined returns the text of a statement in which no subquery reads a CTE that uses columns
// of an outer query: DuckDB would compute it from the values of other rows (see
// [sqltree.Statement.InlineCTEs]). The function maps its offsets to those of text. What
// cannot be written so is refused.
func (db *DB) inlined(c *conn, names Names, text string) (string, func(int) int, error) {
	numbered, first := sqltree.Apply(text, numberedParams(text, sqltree.Scan(text))) // a copy has the same parameters
	st, err := parse(c, numbered, names)
	if err != nil {
		return text, unmoved, nil // it is refused when it is examined
	}
	out, second, err := db.InlineCTEs(numbered, st, names)
	if err != nil {
		return text, unmoved, moveError(err, text, first)
	}
	if out == numbered {
		return text, unmoved, nil
	}
	return out, func(offset int) int { return first(second(offset)) }, nil
}

func unmoved(offset int) int { return offset }

// InlineCTEs is inlined for a text that was parsed as st.
func (db *DB) InlineCTEs(text string, st *sqltree.Statement, names Names) (string, func(int) int, error) {
	if !st.ReadsOuter() {
		return text, unmoved, nil
	}
	out, origin, err := st.InlineCTEs(text, sqltree.Scan(text), sqltree.InlineOptions{
		Whole: true,
		Volatile: func(call sqltree.Call) bool {
			if f := declared(call, names); f != nil {
				return f.Random || f.Traits.Volatile
			}
			return db.builtins.Random(call.Name)
		},
	})
	var fault *sqltree.CTEError
	if errors.As(err, &fault) {
		err = NewError(errcode.Refused, fault.Hint, "%s", fault.Message).at(text, fault.Offset)
	}
	return out, origin, err
}

// CheckCTEs refuses a text that [DB.InlineCTEs] would change: where it is a part of another
// one, which is composed by its offsets.
func (db *DB) CheckCTEs(text string, st *sqltree.Statement, names Names) error {
	out, _, err := db.InlineCTEs(text, st, names)
	if err == nil && out != text {
		at := st.Reads[0].Offset
		err = NewError(errcode.Refused, "write the query of the CTE in place of its name",
			"DuckDB may return the values of other rows for a CTE that depends on an outer query and is read in a subquery").
			at(text, at)
	}
	return err
}
