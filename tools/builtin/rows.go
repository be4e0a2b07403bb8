package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// rows is a result that is a list of rows, each a JSON object.
type rows struct {
	lines     [][]byte
	truncated bool
}

// Output is the rows as a JSON array with their extent.
func (r rows) Output() (tools.Output, error) {
	value := append([]byte{'['}, bytes.Join(r.lines, []byte{','})...)
	return tools.Output{
		Value: append(value, ']'),
		Rows:  &tools.Rows{Returned: len(r.lines), Truncated: r.truncated},
	}, nil
}

// extent is the maximum size of a result.
type extent struct {
	rows  int
	bytes int64
}

// extentOf is the extent of at most n rows within the call's limits.
func extentOf(l tools.Limits, n int) extent {
	e := extent{n, DefaultBytes}
	if l.MaxRows > 0 {
		e.rows = min(e.rows, l.MaxRows)
	}
	if l.MaxBytes > 0 {
		e.bytes = l.MaxBytes
	}
	return e
}

// query runs a statement and collects its rows up to an extent. It reads one
// more row to detect truncation. Errors are [*tools.Error]s.
func query(ctx context.Context, db udf.Querier, req engine.Request, e extent) (rows, error) {
	return read(ctx, db, req, e, func(*engine.Chunk) {})
}

// read is query that also passes every chunk to each.
func read(ctx context.Context, db udf.Querier, req engine.Request, e extent, each func(*engine.Chunk)) (rows, error) {
	result, err := begin(ctx, db, req)
	if err != nil {
		return rows{}, err
	}
	defer result.Close()
	lines, err := collect(result, e, each)
	if err != nil {
		return rows{}, err
	}
	return fit(lines, e)
}

// begin runs a statement. Rows beyond an extent are not an error: they are cut
// off or stored.
func begin(ctx context.Context, db udf.Querier, req engine.Request) (*engine.Rows, error) {
	req.Limits.MaxRows = math.MaxInt64
	result, err := db.Query(ctx, req)
	if err != nil {
		return nil, SQLError(err)
	}
	return result, nil
}

// queryOrStore is query that stores a result beyond its extent, if possible, and
// returns the summary. The functions of the statement count as used.
func queryOrStore(ctx context.Context, env Env, req engine.Request, e extent) (out output, err error) {
	began := env.now()()
	result, err := begin(ctx, env.SQL, req)
	if err != nil {
		return output{}, err
	}
	defer func() {
		result.Close()
		if env.Used == nil {
			return
		}
		code := ""
		if err != nil {
			code = string(tools.AsError(err).Code)
		}
		env.Used(result.Functions(), caller.From(ctx), began, code, result.Read())
	}()
	var first []*engine.Chunk
	lines, err := collect(result, e, func(chunk *engine.Chunk) {
		if env.Results != nil {
			first = append(first, chunk.Detach())
		}
	})
	shown, tooLarge := fit(lines, e)
	if env.Results == nil || err != nil || tooLarge == nil && !shown.truncated {
		for _, chunk := range first {
			chunk.Destroy()
		}
		return shown.output(cmp.Or(err, tooLarge))
	}
	s, err := env.Results.Save(ctx, first, result, rawLines(shown.lines))
	switch {
	case err != nil:
		return output{}, SQLError(err)
	case int64(len(s.Value)) > e.bytes || tooLarge != nil && s.More == nil: // the summary is too large as well
		return shown.output(tooLarge)
	}
	return output(tools.Cut(s.Value, s.Rows, s.More)), nil
}

func rawLines(lines [][]byte) []json.RawMessage {
	list := make([]json.RawMessage, len(lines))
	for i, line := range lines {
		list[i] = line
	}
	return list
}

// output is a complete output.
type output tools.Output

// Output returns the output.
func (o output) Output() (tools.Output, error) { return tools.Output(o), nil }

// output returns the output of the rows, or the error.
func (r rows) output(err error) (output, error) {
	if err != nil {
		return output{}, err
	}
	out, err := r.Output()
	return output(out), err
}

// collect reads rows as JSON, one a line, up to one more than the extent. It
// passes every chunk to each.
func collect(result *engine.Rows, e extent, each func(*engine.Chunk)) ([][]byte, error) {
	c := &excerpt{extent: e}
	form, _ := format.ByName("ndjson")
	w := form.NewWriter(c)
	if err := w.Begin(result.Columns()); err != nil {
		return nil, err
	}
	for chunk, err := range result.Chunks() {
		if err != nil {
			return nil, SQLError(err)
		}
		each(chunk)
		if err = w.Write(chunk); err == nil {
			err = w.Flush()
		}
		if errors.Is(err, errFull) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return c.lines(), nil
}

// errFull stops writing rows that will not be used.
var errFull = errors.New("the result is full")

// excerpt collects rows, one a line, up to one more than the extent.
type excerpt struct {
	extent extent
	buf    []byte
	ends   int // lines that another line follows
}

func (c *excerpt) Write(p []byte) (int, error) {
	c.buf = append(c.buf, p...)
	c.ends += bytes.Count(p, []byte{'\n'})
	if c.ends >= c.extent.rows || int64(len(c.buf)) > c.extent.bytes {
		return len(p), errFull
	}
	return len(p), nil
}

// lines are the rows; the last may be incomplete if it is beyond the extent.
func (c *excerpt) lines() [][]byte {
	if len(c.buf) == 0 {
		return nil
	}
	return bytes.Split(c.buf, []byte{'\n'})
}

// fit returns the lines that fit the extent. If not even the first fits, that
// is an error: an empty list would mean no rows.
func fit(lines [][]byte, e extent) (rows, error) {
	size := int64(1) // for the brackets, less the comma that the first row does not need
	for i, line := range lines {
		size += int64(len(line)) + 1
		switch {
		case i == e.rows:
			return rows{lines[:i], true}, nil
		case size > e.bytes && i == 0:
			return rows{}, tools.NewError(errcode.Limit,
				fmt.Sprintf("the first row has %d bytes; the limit of a result is %d", len(line), e.bytes),
				"select fewer columns, or a part of the long ones")
		case size > e.bytes:
			return rows{lines[:i], true}, nil
		}
	}
	return rows{lines: lines}, nil
}

// sampled runs a statement for a sample of a dataset: at most n rows, with long
// strings truncated.
func sampled(ctx context.Context, db udf.Querier, sql string, n int, in tools.Input) (rows, error) {
	e := extentOf(in.Limits, n)
	wide := e
	wide.bytes = max(e.bytes, maxRawSample) // before strings are truncated
	r, err := query(ctx, db, engine.Request{SQL: sql, Limits: engine.Limits{Timeout: in.Limits.Timeout}}, wide)
	if err != nil {
		return rows{}, err
	}
	for i, line := range r.lines {
		r.lines[i] = cutStrings(line)
	}
	cut, err := fit(r.lines, e)
	cut.truncated = cut.truncated || r.truncated
	return cut, err
}

// cutStrings truncates the strings of a JSON text to MaxText characters.
func cutStrings(line []byte) []byte {
	if len(line) <= MaxText {
		return line
	}
	var out []byte
	for i := 0; i < len(line); {
		if line[i] != '"' {
			out = append(out, line[i])
			i++
			continue
		}
		end, cut := stringEnd(line, i)
		if cut < end {
			out = append(append(out, line[i:cut]...), "…\""...)
		} else {
			out = append(out, line[i:end]...)
		}
		i = end
	}
	return out
}

// stringEnd returns the end of the JSON string at start, and where to cut it:
// at the end, unless it has more than MaxText characters.
func stringEnd(line []byte, start int) (end, cut int) {
	characters := 0
	for i := start + 1; i < len(line); characters++ {
		switch {
		case line[i] == '"':
			if cut == 0 || characters <= MaxText {
				cut = i + 1
			}
			return i + 1, cut
		case characters == MaxText:
			cut = i
		}
		i += characterLen(line[i:])
	}
	return len(line), len(line)
}

// characterLen is the length of the next character in a JSON string.
func characterLen(s []byte) int {
	if s[0] != '\\' {
		_, n := utf8.DecodeRune(s)
		return n
	}
	if len(s) >= 6 && s[1] == 'u' {
		return 6
	}
	return min(2, len(s))
}

// clamp limits a number to the bounds of a schema, for callers that do not
// check one.
func clamp(n, least, most int) int { return min(max(n, least), most) }
