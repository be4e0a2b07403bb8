package udf

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/tools"
)

// Results stores results that are larger than a call may return.
// *[results.Store] is one.
type Results interface {
	// Save stores the chunks that were read of a result, which it destroys, and the
	// rest, for the caller of ctx, and returns a summary. The error is the
	// statement's.
	Save(ctx context.Context, first []*engine.Chunk, rest *engine.Rows, shown []json.RawMessage) (results.Summary, error)
	// Schema is the JSON Schema of what Save returns.
	Schema() json.RawMessage
}

// StoredSchema is the schema of rows, or of a reference to a stored result.
func StoredSchema(rows json.RawMessage, r Results) json.RawMessage {
	return fmt.Appendf(nil, `{"anyOf":[%s,%s]}`, rows, r.Schema())
}

// noLimit is a LIMIT that no result reaches; DuckDB accepts no larger one as a parameter.
const noLimit = 1<<62 - 1

// tableTool calls a table function.
type tableTool struct {
	*callee
	sql     string
	choice  *formChoice
	results Results // nil: rows beyond the limit are cut off
}

var _ tools.Planner = (*tableTool)(nil)

func newTableTool(c *callee, o ToolOptions) *tableTool {
	t := &tableTool{callee: c, results: o.Results}
	t.choice = newFormChoice(o.Trials, func() []functions.CachedForm {
		list := c.cachedForms(o)
		for i := range list {
			list[i].SQL += fmt.Sprint(" LIMIT ", t.most(t.maxRows(tools.Limits{})))
		}
		return list
	})
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = engine.Identifier(a.name) + " := " + a.sql(i+1)
	}
	t.sql = fmt.Sprintf("SELECT * FROM %s(%s) LIMIT $%d::BIGINT", engine.Identifier(c.f.Name), strings.Join(args, ", "),
		len(args)+1)
	return t
}

// Call returns the rows of the function, up to the limit, or a reference to a larger
// result.
func (t *tableTool) Call(ctx context.Context, in tools.Input) (tools.Output, error) {
	args, err := convertAll(t.args, in.Arguments)
	if err != nil {
		return tools.Output{}, err
	}
	limit := t.maxRows(in.Limits)
	most := t.most(limit)
	base, input := engine.Request{
		SQL: t.sql, Params: engine.Params{Positional: append(slices.Clip(args), most)},
		Limits: engine.Limits{Timeout: in.Limits.Timeout, MaxRows: most}, Whole: true, Isolate: t.unsafe, Internal: true,
	}, [][]any{args}
	choice := noChoice
	if limit == t.maxRows(tools.Limits{}) { // as the other statements have it
		choice = t.choice
	}
	req := base
	if k := choice.form(); k != nil {
		req = formRequest(base, *k, input)
	}
	out, err := t.execute(ctx, req, limit, in.Limits)
	if req.SQL != base.SQL && failedOnData(err) {
		out, err = t.execute(ctx, base, limit, in.Limits)
	}
	if err != nil {
		return tools.Output{}, failure(ctx, err)
	}
	choice.called(ctx, t.db, base, input)
	return out, nil
}

// most is the number of rows that a statement may return: one more than a call, unless the
// others are stored.
func (t *tableTool) most(limit int) int64 {
	if t.results != nil {
		return noLimit
	}
	return int64(limit) + 1
}

// execute runs a statement of a call.
func (t *tableTool) execute(ctx context.Context, req engine.Request, limit int,
	limits tools.Limits,
) (tools.Output, error) {
	rows, err := t.db.Query(ctx, req)
	if err != nil {
		return tools.Output{}, err
	}
	defer rows.Close()
	out, err := t.output(ctx, rows, limit, t.maxBytes(limits))
	if err != nil {
		return tools.Output{}, err
	}
	if !out.Rows.Truncated {
		out.Version = t.readVersion(rows)
	}
	return out, nil
}

// Plan returns the statement of a call, with its arguments, and DuckDB's plan.
func (t *tableTool) Plan(ctx context.Context, in tools.Input) (json.RawMessage, error) {
	call, err := t.callText(in.Arguments)
	if err != nil {
		return nil, err
	}
	return t.plan(ctx, fmt.Sprintf("SELECT * FROM %s LIMIT %d", call, t.maxRows(in.Limits)+1), t.choice, in)
}

func (t *tableTool) maxRows(l tools.Limits) int { return stricter(l.MaxRows, t.def.Limits.MaxRows) }

func (t *tableTool) maxBytes(l tools.Limits) int {
	return int(cmp.Or(stricter(l.MaxBytes, t.def.Limits.MaxBytes), MaxToolBytes))
}

// stricter is the lower of two limits; 0 means no limit.
func stricter[T int | int64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// output returns the rows, or a summary of them.
func (t *tableTool) output(ctx context.Context, rows *engine.Rows, limit, maxBytes int) (tools.Output, error) {
	p := &page{limit: limit, maxBytes: maxBytes, detach: t.results != nil}
	err := t.read(rows, p)
	if err != nil || t.results == nil || !p.cut() {
		p.destroy()
		return p.output(err)
	}
	s, err := t.results.Save(ctx, p.first, rows, p.rows)
	if err == nil && (len(s.Value) > maxBytes || p.tooLarge && s.More == nil) { // the summary does not fit either
		return p.output(nil)
	}
	return tools.Cut(s.Value, s.Rows, s.More), err
}

// page is the first rows of a result.
type page struct {
	limit, maxBytes int
	detach          bool // first collects the chunks that were read
	first           []*engine.Chunk
	rows            []json.RawMessage
	size            int  // of the rows as a JSON array
	more            bool // the result has more rows
	tooLarge        bool // the rows exceed the byte limit
}

// cut reports whether rows are missing.
func (p *page) cut() bool { return p.more || p.tooLarge }

func (p *page) destroy() {
	for _, chunk := range p.first {
		chunk.Destroy()
	}
}

// output returns the rows as a JSON array with their extent, unless err is set.
func (p *page) output(err error) (tools.Output, error) {
	switch {
	case err != nil:
		return tools.Output{}, err
	case p.tooLarge:
		return tools.Output{}, tools.NewError(errcode.Limit, fmt.Sprintf("the result has more than %d bytes", p.maxBytes),
			"request fewer rows")
	}
	value := make([]byte, 0, p.size+1)
	value = append(value, '[')
	for i, row := range p.rows {
		if i > 0 {
			value = append(value, ',')
		}
		value = append(value, row...)
	}
	return tools.Output{Value: append(value, ']'), Rows: &tools.Rows{Returned: len(p.rows), Truncated: p.more}}, nil
}

// add adds as many rows of a chunk as fit, and reports whether more may fit.
func (p *page) add(keys [][]byte, chunk *engine.Chunk) (bool, error) {
	for i := range chunk.Len() {
		if p.more = len(p.rows) == p.limit; p.more {
			return false, nil
		}
		row, err := appendRow(nil, keys, chunk, i)
		if err != nil {
			return false, err
		}
		p.size += len(row) + 1 // with the preceding bracket or comma
		if p.tooLarge = p.size > p.maxBytes; p.tooLarge {
			return false, nil
		}
		p.rows = append(p.rows, row)
	}
	return true, nil
}

// read fills a page.
func (t *tableTool) read(rows *engine.Rows, p *page) error {
	keys, err := t.keys(rows.Columns())
	if err != nil {
		return err
	}
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return err
		}
		if p.detach {
			p.first = append(p.first, chunk.Detach())
		}
		if room, err := p.add(keys, chunk); err != nil || !room {
			return err
		}
	}
	return nil
}

// keys are the rendered member names of a row, if the columns are the declared ones.
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

func appendRow(buf []byte, keys [][]byte, chunk *engine.Chunk, i int) ([]byte, error) {
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
