package udf

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/format"
	"github.com/spiced-sql/spiced/tools"
)

// tableTool calls a table function.
type tableTool struct {
	*callee
	sql string
}

var _ tools.Planner = (*tableTool)(nil)

func newTableTool(c *callee) *tableTool {
	t := &tableTool{callee: c}
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = engine.Identifier(a.name) + " := " + a.sql(i+1, "")
	}
	t.sql = fmt.Sprintf("SELECT * FROM %s(%s) LIMIT $%d::BIGINT", engine.Identifier(c.f.Name), strings.Join(args, ", "), len(args)+1)
	return t
}

// Call returns the rows that the function gives, no more than the limit.
func (t *tableTool) Call(ctx context.Context, in tools.Input) (tools.Output, error) {
	args, err := convertAll(t.args, in.Arguments)
	if err != nil {
		return tools.Output{}, err
	}
	limit := t.maxRows(in.Limits)
	rows, err := t.db.Query(ctx, engine.Request{
		SQL: t.sql, Params: engine.Params{Positional: append(args, int64(limit)+1)},
		Limits: engine.Limits{Timeout: in.Limits.Timeout, MaxRows: int64(limit) + 1},
	})
	if err != nil {
		return tools.Output{}, failure(ctx, err)
	}
	defer rows.Close()
	out, err := t.read(rows, limit, t.maxBytes(in.Limits))
	if err != nil {
		return tools.Output{}, failure(ctx, err)
	}
	return out, nil
}

// Plan shows the statement of a call, with its arguments, and DuckDB's plan.
func (t *tableTool) Plan(ctx context.Context, in tools.Input) (json.RawMessage, error) {
	call, err := t.callText(in.Arguments)
	if err != nil {
		return nil, err
	}
	return t.plan(ctx, fmt.Sprintf("SELECT * FROM %s LIMIT %d", call, t.maxRows(in.Limits)+1))
}

func (t *tableTool) maxRows(l tools.Limits) int { return stricter(l.MaxRows, t.def.Limits.MaxRows) }

func (t *tableTool) maxBytes(l tools.Limits) int {
	return int(cmp.Or(stricter(l.MaxBytes, t.def.Limits.MaxBytes), MaxToolBytes))
}

// stricter is the lower of two limits; 0 is none.
func stricter[T int | int64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// read renders at most limit rows, of which there is one more if the result is
// truncated.
func (t *tableTool) read(rows *engine.Rows, limit, maxBytes int) (tools.Output, error) {
	keys, err := t.keys(rows.Columns())
	if err != nil {
		return tools.Output{}, err
	}
	extent := &tools.Rows{}
	buf := []byte{'['}
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return tools.Output{}, err
		}
		for i := range chunk.Len() {
			if extent.Truncated = extent.Returned == limit; extent.Truncated {
				break
			}
			if buf, err = appendRow(buf, keys, chunk, i, extent.Returned > 0); err != nil {
				return tools.Output{}, err
			}
			extent.Returned++
			if len(buf) > maxBytes {
				return tools.Output{}, tools.NewError(tools.CodeLimit, fmt.Sprintf("the result has more than %d bytes", maxBytes), "ask for less")
			}
		}
	}
	return tools.Output{Value: append(buf, ']'), Rows: extent}, nil
}

// keys are the members' names of a row, rendered, if the columns are those
// that the function declares.
func (t *tableTool) keys(columns []engine.Column) ([][]byte, error) {
	if len(columns) != len(t.f.Columns) {
		return nil, fmt.Errorf("%w: it had %d columns", tools.ErrChanged, len(t.f.Columns))
	}
	keys := make([][]byte, len(columns))
	for i, c := range t.f.Columns {
		if columns[i].Name != c.Name || columns[i].Type.String() != c.Type.SQL() {
			return nil, fmt.Errorf("%w: it had a column %q of type %s", tools.ErrChanged, c.Name, c.Type)
		}
		keys[i] = append(format.AppendString(nil, c.Name), ':')
	}
	return keys, nil
}

func appendRow(buf []byte, keys [][]byte, chunk *engine.Chunk, i int, more bool) ([]byte, error) {
	if more {
		buf = append(buf, ',')
	}
	buf = append(buf, '{')
	for n, key := range keys {
		if n > 0 {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = appendValue(append(buf, key...), chunk.Column(n), i); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}
