package toolcall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/arrowjson"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/toolcall"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// specOf is the specification of f(x int64, y utf8 optional) with that result.
func specOf(t *testing.T, returns spicepod.Returns) (body.Spec, *arrowjson.Form) {
	t.Helper()
	d := spicepod.Function{Name: "f", Kind: spicepod.KindScalar, Signature: spicepod.Signature{
		Args: []spicepod.Arg{{Name: "x", Type: "int64"}, {Name: "y", Type: "utf8", HasDefault: true}}, Returns: returns,
	}}
	parse := func(declared string) *engine.Type {
		typ, err := functions.ParseType(declared)
		if err != nil {
			t.Fatal(err)
		}
		return typ.Duck()
	}
	result := &engine.Type{ID: engine.List, Elem: &engine.Type{ID: engine.Struct}}
	if returns.Columns == nil {
		result = parse(returns.Type)
	} else {
		d.Kind = spicepod.KindTable
		for _, c := range returns.Columns {
			result.Elem.Fields = append(result.Elem.Fields, engine.Field{Name: c.Name, Type: parse(c.Type)})
		}
	}
	columns := []engine.Column{{Name: "x", Type: parse("int64")}, {Name: "y", Type: parse("utf8")}, {Name: "r", Type: result}}
	schema := format.ArrowSchema(arrowrows.Columns(format.ArrowSchema(columns)))
	form, err := arrowjson.OfTool(result, schema.Field(2).Type)
	if err != nil {
		t.Fatal(err)
	}
	return body.Spec{Declared: d, Args: schema, Returns: schema.Field(2).Type}, form
}

// batch has rows (0, NULL), (1, 'y'), (2, NULL), …
func batch(spec body.Spec, rows int) arrow.RecordBatch {
	x, y := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		x.Append(int64(i))
		if i%2 == 0 {
			y.AppendNull()
		} else {
			y.Append("y")
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(spec.Args.Fields()[:2], nil), []arrow.Array{x.NewArray(), y.NewArray()}, int64(rows))
}

func TestResults(t *testing.T) {
	columns := spicepod.Returns{Columns: []spicepod.Column{{Name: "a", Type: "int64"}, {Name: "b", Type: "utf8"}}}
	one := spicepod.Returns{Columns: columns.Columns[:1]}
	of := func(declared string) spicepod.Returns { return spicepod.Returns{Type: declared} }
	for _, c := range []struct {
		returns      spicepod.Returns
		result, want string
	}{
		{of("utf8"), `"x"`, `"x"`},
		{of("utf8"), `12`, `"12"`},
		{of("utf8"), `"{}"`, `"{}"`},
		{of("utf8"), ` null`, `null`},
		{of("utf8"), `{"a":1}`, `error: {"a":1} is not a valid VARCHAR`},
		{of("int64"), `"42"`, `42`},
		{of("int64"), `[1]`, `error: [1] is not a valid BIGINT`},
		{of("binary"), `"AP8="`, `"AP8="`},
		{of("json"), `{"a": [1]}`, `{"a":[1]}`},
		{of("json"), `"text"`, `"text"`},
		{of("struct<a: int64>"), `{"a":1,"c":2}`, `{"a":1}`},
		{of("struct<a: int64>"), `"{\"a\":1}"`, `{"a":1}`},
		{of("list<int64>"), `"[1,2]"`, `[1,2]`},
		{columns, `[{"a":1,"b":"x"},{"a":2}]`, `[{"a":1,"b":"x"},{"a":2,"b":null}]`},
		{columns, `{"result":[{"a":1}]}`, `[{"a":1,"b":null}]`},
		{columns, `{"a":1,"b":"x"}`, `[{"a":1,"b":"x"}]`},
		{columns, `"[{\"a\":1}]"`, `[{"a":1,"b":null}]`},
		{columns, `null`, `[]`},
		{columns, `[]`, `[]`},
		{columns, `7`, `error: the result has no rows`},
		{columns, `[1]`, `error: 1 is not a valid STRUCT`},
		{of("utf8"), `{"text":"x \"y\"","usage":{"rounds":1}}`, `"x \"y\""`}, // of an agent
		{of("utf8"), `{"text":"x"}`, `error: {"text":"x"} is not a valid VARCHAR`},
		{of("utf8"), `{"text":"x","usage":{},"more":1}`, `error: is not a valid VARCHAR`},
		{of("utf8"), `{"text":null,"usage":{}}`, `error: is not a valid VARCHAR`},
		{of("int64"), `{"text":"3","usage":{}}`, `3`},
		{of("int64"), `{"result": 3}`, `3`},
		{of("int64"), `{"result":3,"more":1}`, `error: is not a valid BIGINT`},
		{of("json"), `{"result":3}`, `{"result":3}`},
		{of("struct<a: int64>"), `{"result":{"a":1}}`, `{"a":1}`},
		{of("struct<result: int64>"), `{"result":3}`, `{"result":3}`},
		{of("list<int64>"), `{"result":[1]}`, `[1]`},
		{columns, `{"result":null}`, `[]`},
		{columns, `{"result":{"a":1}}`, `[{"a":1,"b":null}]`},
		{of("int64"), `{"text":"three","usage":{}}`, `error: "three" is not a valid BIGINT`},
		{of("json"), `{"text":"x","usage":{}}`, `{"text":"x","usage":{}}`},
		{of("struct<a: int64>"), `{"text":"{\"a\":1}","usage":{}}`, `{"a":1}`},
		{of("struct<a: int64>"), `{"text":"It is 1.","usage":{}}`, `error: "It is 1." is not a valid STRUCT`},
		{of("struct<text: utf8>"), `{"text":"{\"text\":1}","usage":{}}`, `{"text":"{\"text\":1}"}`},
		{columns, `{"text":"[{\"a\":1}]","usage":{}}`, `[{"a":1,"b":null}]`},
		{columns, `{"text":"None.","usage":{}}`, `error: the result has no rows`},
		{one, `[1,2]`, `[{"a":1},{"a":2}]`},
		{one, `{"items":["3"]}`, `[{"a":3}]`},
		{one, `[{"a":4}]`, `[{"a":4}]`},
	} {
		spec, form := specOf(t, c.returns)
		b, err := toolcall.New(spec, func(context.Context, json.RawMessage) tools.Result {
			return tools.Result{OK: true, Result: json.RawMessage(c.result)}
		})
		if err != nil {
			t.Fatal(err)
		}
		values, err := b.Call(t.Context(), batch(spec, 1))
		if wrong, ok := strings.CutPrefix(c.want, "error: "); ok {
			var row *body.Error
			if err == nil || !strings.Contains(err.Error(), wrong) || !errors.As(err, &row) ||
				!strings.HasPrefix(err.Error(), "tool-backed function 'f' call failed: ") {
				t.Errorf("%s: error %v, want %s", c.result, err, wrong)
			}
			continue
		}
		if err != nil || string(form.Append(nil, values, 0)) != c.want {
			t.Errorf("%s: got %v, %v; want %s", c.result, values, err, c.want)
		}
	}
}

func TestCallsAtOnceInOrder(t *testing.T) {
	spec, _ := specOf(t, spicepod.Returns{Type: "json"})
	var running, most, calls atomic.Int32
	var full sync.WaitGroup
	full.Add(toolcall.Concurrency) // the first calls wait for each other
	b, err := toolcall.New(spec, func(_ context.Context, arguments json.RawMessage) tools.Result {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if calls.Add(1) <= toolcall.Concurrency {
			full.Done()
			full.Wait()
		}
		return tools.Result{OK: true, Result: arguments}
	})
	if err != nil {
		t.Fatal(err)
	}
	values, err := b.Call(t.Context(), batch(spec, 100))
	if err != nil {
		t.Fatal(err)
	}
	for i := range values.Len() {
		want := fmt.Sprintf(`{"x":%d}`, i) // an optional argument that is NULL is left out
		if i%2 == 1 {
			want = fmt.Sprintf(`{"x":%d,"y":"y"}`, i)
		}
		if got := values.(*array.String).Value(i); got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
	if most.Load() != toolcall.Concurrency || calls.Load() != 100 {
		t.Errorf("%d calls, %d at once", calls.Load(), most.Load())
	}
}

func TestFailures(t *testing.T) {
	spec, _ := specOf(t, spicepod.Returns{Type: "int64"})
	for name, c := range map[string]struct {
		result tools.Result
		want   string
	}{
		"error": {tools.Result{Error: tools.NewError(errcode.Busy, "too many", "try later")}, "tool-backed function 'f' call failed: too many"},
		"truncated": {
			tools.Result{OK: true, Result: json.RawMessage(`[1]`), Rows: &tools.Rows{Returned: 1, Truncated: true}},
			"the result has more rows than the 1 that the tool may return",
		},
	} {
		b, err := toolcall.New(spec, func(context.Context, json.RawMessage) tools.Result { return c.result })
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Call(t.Context(), batch(spec, 3))
		var own *engine.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || name == "error" && (!errors.As(err, &own) || own.Code != errcode.Busy || own.Hint != "try later") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, err := toolcall.New(spec, func(ctx context.Context, _ json.RawMessage) tools.Result {
		cancel()
		<-ctx.Done()
		return tools.Result{OK: true, Result: json.RawMessage(`1`)}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Call(ctx, batch(spec, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
