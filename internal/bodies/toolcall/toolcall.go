// Package toolcall has functions whose body is a tool: entries of `tools:` with as_sql. Each
// row is one call; up to [Concurrency] run at once.
//
//	b, err := toolcall.New(spec, caller)
//	values, err := b.Call(ctx, batch)
//
// The result of a call becomes a value of the declared type:
//
//	a type      the result itself; a text that is JSON, if the type is no text
//	json        the result itself
//	a table     a list of objects; an object with one list; one object, as a row; a list of
//	            values, if there is one column
//
// Where json is not declared, an object that only wraps a value is that value: see unwrap.
package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/arrowjson"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/tools"
)

// Concurrency is how many calls of a function run at once, in all statements.
const Concurrency = 16

// Caller calls the tool for a statement, with arguments as JSON.
type Caller func(ctx context.Context, arguments json.RawMessage) tools.Result

// Tool is a function whose body is a tool.
type Tool struct {
	name   string
	call   Caller
	slots  chan struct{}
	inputs []input
	result *arrowjson.Form // of a value
	table  bool
}

// input is an argument.
type input struct {
	key      []byte // "name":
	optional bool   // NULL is left out
	form     *arrowjson.Form
}

var _ body.Body = (*Tool)(nil)

// New makes the body of a function. The spec's signature is complete.
func New(spec body.Spec, call Caller) (*Tool, error) {
	t := &Tool{name: spec.Declared.Name, call: call, slots: make(chan struct{}, Concurrency), table: spec.IsTable()}
	signature := spec.Declared.Signature
	for i, a := range signature.Args {
		form, err := formOf(a.Type, spec.Args.Field(i).Type)
		if err != nil {
			return nil, t.refuse(err)
		}
		t.inputs = append(t.inputs, input{append(format.AppendString(nil, a.Name), ':'), !a.IsRequired(), form})
	}
	if !t.table {
		form, err := formOf(signature.Returns.Type, spec.Returns)
		if err != nil {
			return nil, t.refuse(err)
		}
		t.result = form
		return t, nil
	}
	row := &engine.Type{ID: engine.Struct}
	for _, c := range signature.Returns.Columns {
		parsed, err := functions.ParseType(c.Type)
		if err != nil {
			return nil, t.refuse(err)
		}
		row.Fields = append(row.Fields, engine.Field{Name: c.Name, Type: parsed.Duck()})
	}
	form, err := arrowjson.OfTool(&engine.Type{ID: engine.List, Elem: row}, spec.Returns)
	if err != nil {
		return nil, t.refuse(err)
	}
	t.result = form
	return t, nil
}

func (t *Tool) refuse(err error) error {
	return fmt.Errorf("cannot expose tool '%s' as SQL: %w", t.name, err)
}

func formOf(declared string, carried arrow.DataType) (*arrowjson.Form, error) {
	parsed, err := functions.ParseType(declared)
	if err != nil {
		return nil, err
	}
	return arrowjson.OfTool(parsed.Duck(), carried)
}

// Close does nothing.
func (t *Tool) Close() error { return nil }

// Call calls the tool for each row.
func (t *Tool) Call(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	results := make([][]byte, batch.NumRows())
	group, limited := errgroup.WithContext(ctx)
	for i := range results {
		arguments := t.arguments(batch, i)
		select {
		case t.slots <- struct{}{}:
			group.Go(func() (err error) {
				defer func() { <-t.slots }()
				results[i], err = t.row(limited, arguments)
				if err != nil {
					return &body.Error{Row: i, Err: err}
				}
				return nil
			})
			continue
		case <-limited.Done():
		}
		break
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b := t.result.NewBuilder()
	defer b.Release()
	for i, raw := range results {
		if err := t.result.Read(raw, b); err != nil {
			return nil, &body.Error{
				Row: i,
				Err: fmt.Errorf("tool-backed function '%s' call failed: the result is not what signature.returns declares: %w",
					t.name, err),
			}
		}
	}
	return b.NewArray(), nil
}

// arguments are the arguments of a row as JSON. Optional ones that are NULL are left out.
func (t *Tool) arguments(batch arrow.RecordBatch, row int) []byte {
	buf := []byte{'{'}
	for c, in := range t.inputs {
		if in.optional && batch.Column(c).IsNull(row) {
			continue
		}
		if len(buf) > 1 {
			buf = append(buf, ',')
		}
		buf = in.form.Append(append(buf, in.key...), batch.Column(c), row)
	}
	return append(buf, '}')
}

// row calls the tool and returns its result as JSON of the form of a value.
func (t *Tool) row(ctx context.Context, arguments []byte) ([]byte, error) {
	result := t.call(ctx, arguments)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !result.OK:
		return nil, engine.NewError(codeOf(result.Error), result.Error.Hint, "tool-backed function '%s' call failed: %s",
			t.name, result.Error.Message)
	case result.Rows != nil && result.Rows.Truncated:
		return nil, fmt.Errorf("tool-backed function '%s' call failed: the result has more rows than the %d that the tool "+
			"may return; raise limits.max_rows of the tool, or ask for fewer", t.name, result.Rows.Returned)
	}
	raw := t.unwrap(bytes.TrimSpace(result.Result))
	if t.textual() {
		return t.asText(raw), nil
	}
	raw = unwrapText(raw)
	if !t.table {
		return raw, nil
	}
	rows, err := t.rows(raw)
	if err != nil {
		return nil, fmt.Errorf("tool-backed function '%s' call failed: %w", t.name, err)
	}
	return rows, nil
}

// codeOf is the code of a statement for the error of a call. A tool that is not there is like a
// name in the statement.
func codeOf(e *tools.Error) errcode.Code {
	switch e.Code {
	case errcode.ToolNotFound, errcode.ModelNotFound:
		return errcode.NotFound
	}
	return e.Code
}

// unwrap returns the value in an object that only carries it: result, in which some servers
// wrap what is no object, or the text of an agent, in addition to usage. It does not if the function
// returns JSON, or rows or a struct with a field of that name.
func (t *Tool) unwrap(raw []byte) []byte {
	var members map[string]json.RawMessage
	if t.result.Type.JSON || !bytes.HasPrefix(raw, []byte("{")) || json.Unmarshal(raw, &members) != nil {
		return raw
	}
	result, wrapped := members["result"]
	switch text := members["text"]; {
	case len(members) == 1 && wrapped && !t.has("result"):
		return result
	case len(members) != 2 || t.has("text"):
		return raw
	case bytes.HasPrefix(text, []byte(`"`)) && bytes.HasPrefix(members["usage"], []byte("{")):
		return text
	}
	return raw
}

// textual reports whether the function returns texts or JSON as they are.
func (t *Tool) textual() bool {
	switch t.result.Type.ID {
	case engine.Varchar, engine.Blob, engine.UUID, engine.Enum, engine.Bit:
		return true
	}
	return false
}

// asText returns a number or a boolean as a text, if the function returns one.
func (t *Tool) asText(raw []byte) []byte {
	isText := t.result.Type.ID == engine.Varchar && !t.result.Type.JSON
	if isText && !bytes.ContainsAny(raw[:1], `"{[n`) { // not a text, an object, a list or null
		return format.AppendString(nil, raw)
	}
	return raw
}

// unwrapText returns the JSON in a text, which is how many servers return it.
func unwrapText(raw []byte) []byte {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil || len(text) == 0 {
		return raw
	}
	if inner := []byte(text); (inner[0] == '{' || inner[0] == '[') && json.Valid(inner) {
		return inner
	}
	return raw
}

var errNoRows = errors.New("the result has no rows: it must be a list of objects, an object with one list, " +
	"or one object")

// rows returns the list of rows in a result.
func (t *Tool) rows(raw []byte) ([]byte, error) {
	switch {
	case string(raw) == "null":
		return []byte("[]"), nil
	case raw[0] == '[':
		return t.column1(raw)
	case raw[0] != '{':
		return nil, fmt.Errorf("%w, not %s", errNoRows, truncate.Line(string(raw), 60))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if len(members) == 1 {
		for name, member := range members {
			if member[0] == '[' && !t.has(name) {
				return t.column1(member)
			}
		}
	}
	return append(append([]byte{'['}, raw...), ']'), nil
}

// has reports whether the table has a column, or the struct a field, of that name.
func (t *Tool) has(name string) bool {
	of := t.result.Type
	if t.table {
		of = of.Elem
	}
	return slices.ContainsFunc(of.Fields, func(f engine.Field) bool { return f.Name == name })
}

// column1 makes rows of a list of values, if the table has one column.
func (t *Tool) column1(list []byte) ([]byte, error) {
	fields := t.result.Type.Elem.Fields
	var items []json.RawMessage
	if len(fields) != 1 || json.Unmarshal(list, &items) != nil {
		return list, nil
	}
	key := append(format.AppendString([]byte{'{'}, fields[0].Name), ':')
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		if item[0] == '{' {
			out = append(out, item...)
			continue
		}
		out = append(append(append(out, key...), item...), '}')
	}
	return append(out, ']'), nil
}
