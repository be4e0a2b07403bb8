package udf

import (
	"context"
	"errors"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// codeTool calls a scalar function that is not SQL. It needs a connection of the database
// only to convert arguments, not while the function runs.
type codeTool struct {
	*scalarTool
	batch   engine.BatchHandler
	convert string // a SELECT of the arguments; "": none needs a conversion
}

var _ tools.Planner = (*codeTool)(nil)

// newCodeTool returns the tool of a function that is not SQL, or nil if DuckDB has to convert
// its values.
func newCodeTool(t *scalarTool, o ToolOptions) *codeTool {
	code := t.f.Code()
	if code == nil || o.Batch == nil || code.Returns.String() != t.f.Returns.SQL() {
		return nil
	}
	c := &codeTool{scalarTool: t, batch: o.Batch}
	var columns []string
	converted := false
	for i, a := range t.args {
		to := code.Args[i].Type
		columns = append(columns, "CAST("+a.sql(i+1)+" AS "+to.String()+")")
		converted = converted || a.carrier.String() != to.String() || !engine.InputType(to)
	}
	if converted {
		c.convert = "SELECT " + strings.Join(columns, ", ")
	}
	return c
}

// Call evaluates the function once.
func (t *codeTool) Call(ctx context.Context, in tools.Input) (tools.Output, error) {
	values, err := convertAll(t.args, in.Arguments)
	if err != nil {
		return tools.Output{}, err
	}
	ctx, cancel := within(ctx, in.Limits)
	defer cancel()
	args, err := t.row(ctx, values)
	if err != nil {
		return tools.Output{}, failure(ctx, err)
	}
	defer args.Destroy()
	code := t.f.Code()
	result, err := t.batch(ctx, code.ID, code.Returns, args)
	if err != nil {
		return tools.Output{}, codeFailure(ctx, err)
	}
	defer result.Destroy()
	value, err := appendValue(nil, result.Column(0), 0)
	if err != nil {
		return tools.Output{}, failure(ctx, err)
	}
	return tools.Output{Value: value}, nil
}

// row returns the arguments as a chunk of one row.
func (t *codeTool) row(ctx context.Context, values []any) (*engine.Chunk, error) {
	if t.convert == "" {
		return engine.NewRow(t.f.Code().Args, values)
	}
	rows, err := t.db.Query(ctx, engine.Request{
		SQL: t.convert, Params: engine.Params{Positional: values}, Limits: engine.Limits{MaxRows: 1}, Whole: true,
		Internal: true,
	})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return nil, err
		}
		return chunk.Detach(), nil
	}
	return nil, errors.New("internal error: the arguments have no row")
}

// codeFailure converts the error of a call to a [*tools.Error].
func codeFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return gone(ctx)
	}
	cause := engine.AsError(err)
	out := tools.NewError(cause.Code, cause.Message, cause.Hint)
	if cause.Code == errcode.Argument || cause.Code == errcode.NotFound {
		out.Code = errcode.Execution
	}
	out.Cause = err
	return out
}
