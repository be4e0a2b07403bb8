package engine

import "github.com/spiced-sql/spiced/internal/kit/errcode"

// onlyRow is the one row of a statement that is [Function.Alone].
type onlyRow struct{ row *Chunk }

// hold takes a chunk of the statement.
func (o *onlyRow) hold(chunk *Chunk) *Error {
	switch rows := chunk.Len(); {
	case rows > 1 || rows == 1 && o.row != nil:
		chunk.Destroy()
		return NewError(errcode.Execution, hintRows, "%s", tooManyRows)
	case rows == 0:
		chunk.Destroy()
	default:
		o.row = chunk
	}
	return nil
}

// take returns the row, NULL if there was none.
func (o *onlyRow) take(columns []Column) *Chunk {
	row := o.row
	o.row = nil
	if row == nil {
		row = newDuckChunk(columns)
		row.Column(0).setNull(0)
		row.setLen(1)
	}
	return row
}

func (o *onlyRow) destroy() {
	if o.row != nil {
		o.row.Destroy()
	}
}

// DuckDB's error about a subquery with several rows.
const (
	tooManyRows = "More than one row returned by a subquery used as an expression - scalar subqueries can only return " +
		"a single row."
	hintRows = "add a condition, an aggregate, or ORDER BY … LIMIT 1"
)
