package sandbox_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// withPyarrow returns an interpreter that has pyarrow.
func withPyarrow(t *testing.T) interpreter {
	t.Helper()
	path := clients.Find(t, "PYARROW", "python/bin/python")
	python, err := findPython(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// arrowProgram answers each batch of Arrow with what answer returns.
const arrowProgram = `#!%s
import json, sys
import pyarrow as pa

def answer(batch, request):
%s
while True:
    line = sys.stdin.buffer.readline()
    if not line:
        break
    request = json.loads(line)
    batch = pa.ipc.open_stream(sys.stdin.buffer.read(request["bytes"])).read_next_batch()
    reply, values = {"id": request["id"]}, answer(batch, request)
    if isinstance(values, dict):
        reply.update(values)
        data = b""
    else:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([pa.field("value", values.type)])) as stream:
            stream.write_batch(pa.record_batch([values], names=["value"]))
        data = sink.getvalue().to_pybytes()
        reply["bytes"] = len(data)
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n" + data)
    sys.stdout.buffer.flush()
`

// arrowPool has a program that answers with the value of a function's body.
func arrowPool(t *testing.T, python interpreter, body string) *sandbox.Pool {
	t.Helper()
	return newPool(t, sandbox.Options{
		Name: "arrow", Lines: true, Arrow: true, Shim: options(t).Shim, Workers: 1, ReadOnly: python.ReadOnly, Output: 1 << 20,
		Script: fmt.Sprintf(arrowProgram, python.Path, indent(body)),
	})
}

func TestArrowPrograms(t *testing.T) {
	python := withPyarrow(t)
	pair := arrow.StructOf(arrow.Field{Name: "a", Type: int64s, Nullable: true}, arrow.Field{Name: "b", Type: arrow.ListOf(texts), Nullable: true})
	for _, c := range []struct {
		name, body string
		returns    arrow.DataType
		columns    []column
		want       string
	}{
		{
			"numbers", "import pyarrow.compute as pc\nreturn pc.multiply(batch.column(0), batch.column(1))", int64s,
			[]column{{"x", int64s, "[1,null,3]"}, {"y", int64s, "[4,5,-6]"}},
			"[4,null,-18]",
		},
		{
			"texts", "import pyarrow.compute as pc\nreturn pc.utf8_upper(batch.column(0))", texts,
			[]column{{"x", texts, `["a","é\u0000",null]`}},
			`["A","É\u0000",null]`,
		},
		{
			"as they are", "return batch.column(0)", pair,
			[]column{{"x", pair, `[{"a":1,"b":["x",null]},null,{"a":null,"b":[]}]`}},
			`[{"a":1,"b":["x",null]},null,{"a":null,"b":[]}]`,
		},
		{"no arguments", "return pa.array([batch.num_rows])", int64s, nil, "[1]"},
		{"an error of a row", "return {'error': 'no title', 'row': 1}", texts, []column{{"x", int64s, "[1,2]"}}, "no title row 1"},
		{"another type", "return pa.array(['x'])", int64s, nil, "answered Arrow data that is not as declared: column 0 expected 'value: int64', got 'value: utf8'"},
		{"another number", "return pa.array([1, 2])", int64s, nil, "answered 2 values for 1 row"},
		{"the id of another request", "return {'id': 7, 'error': 'late'}", int64s, nil, "the id of the request is"},
		{"too much", "return pa.array(['x' * (2 << 20)])", texts, nil, "the limit is 1048576 (limits.output)"},
		{"no values", "return {'values': [1]}", int64s, nil, `a line without bytes; it must answer {"id": …, "bytes": …} and that many bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := arrowPool(t, python, c.body)
			for range 2 { // of one worker, unless it is replaced
				got, err := call(t, p, "", c.returns, c.columns...)
				if err != nil {
					got = shown(err)
				}
				if !strings.Contains(got, c.want) {
					t.Fatalf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

// TestHostileArrowPrograms: what a program answers is checked before Arrow's library reads it.
func TestHostileArrowPrograms(t *testing.T) {
	batch := batchOf(t, column{"value", texts, `["abcdefghijklmnop"]`})
	var stream bytes.Buffer
	if err := arrowipc.Encode(&stream, batch); err != nil {
		t.Fatal(err)
	}
	good := stream.Bytes()
	lie := bytes.Clone(good)
	copy(lie[60:], "\xF0\xFF\xFF\x7F\xF0\xFF\xFF\x7F")
	var packed bytes.Buffer
	w := ipc.NewWriter(&packed, ipc.WithSchema(batch.Schema()), ipc.WithZstd())
	if err := w.Write(batchOf(t, column{"value", texts, `["` + strings.Repeat("x", 4<<20) + `"]`})); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, c := range []struct {
		name   string
		head   string // of the answer
		stream []byte
		want   string
	}{
		{"good", `{"bytes": %d}`, good, `["abcdefghijklmnop"]`},
		{"junk", `{"bytes": %d}`, []byte("what is no Arrow data"), "not a reply: no Arrow IPC stream"},
		{"half", `{"bytes": %d}`, good[:len(good)/2], "not a reply: no Arrow IPC stream"},
		{"a length that is a lie", `{"bytes": %d}`, lie, "not a reply: no Arrow IPC stream"},
		{"text that is not UTF-8", `{"bytes": %d}`, bytes.ReplaceAll(good, []byte("abc"), []byte("a\xFFc")), `the text of row 0 is not UTF-8`},
		{"packed", `{"bytes": %d}`, packed.Bytes(), "the values take more than 1048576 bytes"},
		{"nothing", `{"bytes": %d}`, nil, "answered 0 values for 1 row"},
		{"more than it says", `{"bytes": 8}`, good, "more than one line"},
		{"less than it says", `{"bytes": 1%d}`, good, "ended during a call"},
		{"a negative number", `{"bytes": -1}`, nil, "a line without bytes"},
		{"a large number", `{"bytes": 9000000000000000000}`, nil, "the limit is 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			head := c.head
			if strings.Contains(head, "%d") {
				head = fmt.Sprintf(head, len(c.stream))
			}
			p := newPool(t, sandbox.Options{
				Name: "arrow", Lines: true, Arrow: true, Shim: options(t).Shim, Workers: 1, Output: 1 << 20,
				Script: "#!/bin/sh\nread -r line\n{ echo '" + head + "'; base64 -d <<X\n" + base64.StdEncoding.EncodeToString(c.stream) + "\nX\n}\n",
			})
			got, err := call(t, p, "", texts, column{"x", texts, `["x"]`})
			if err != nil {
				got = shown(err)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestArrowFunctions(t *testing.T) {
	python := withPyarrow(t)
	o := options(t)
	o.Command, o.ReadOnly = sandbox.PythonCommand(python.Path), python.ReadOnly
	p := newPool(t, o)
	const compute = "import pyarrow as pa, pyarrow.compute as pc\n"
	for _, c := range []struct {
		name, code string
		returns    arrow.DataType
		columns    []column
		want       string
	}{
		{"numbers", "def f(x, y): return pc.multiply(x, y)", int64s, []column{{"x", int64s, "[1,null,3]"}, {"y", int64s, "[4,5,-6]"}}, "[4,null,-18]"},
		{"by name", "def f(y, x): return pc.subtract(x, y)", int64s, []column{{"x", int64s, "[1,2]"}, {"y", int64s, "[4,6]"}}, "[-3,-4]"},
		{"a cast", "def f(x): return pc.cast(x, pa.int8())", int64s, []column{{"x", int64s, "[1,null]"}}, "[1,null]"},
		{"a list", "def f(x): return [v.as_py() for v in x]", int64s, []column{{"x", int64s, "[1,null]"}}, "[1,null]"},
		{"chunks", "def f(x): return pa.chunked_array([x.slice(0, 1), x.slice(1)])", int64s, []column{{"x", int64s, "[1,2]"}}, "[1,2]"},
		{"async", "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x", int64s, []column{{"x", int64s, "[1,2]"}}, "[1,2]"},
		{"no arguments", "def f(): return [7]", int64s, nil, "[7]"},
		{"out of range", "def f(x): return pa.array([1 << 40])", arrow.PrimitiveTypes.Int32, []column{{"x", int64s, "[1]"}}, "ArrowInvalid"},
		{"another type", "def f(x): return 'x'", int64s, []column{{"x", int64s, "[1]"}}, "Arrow"},
		{"an error", "def f(x): raise ValueError('no')", int64s, []column{{"x", int64s, "[1]"}}, "ValueError: no line 2"},
		{"another number", "def f(x): return [1, 2]", int64s, []column{{"x", int64s, "[1]"}}, "answered 2 values for 1 row"},
		{"too much", "def f(x): return ['x' * (2 << 20)]", texts, []column{{"x", int64s, "[1]"}}, "the limit is 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch := batchOf(t, c.columns...)
			f, err := sandbox.NewFunction(sandbox.Declaration{
				Name: "f", Source: compute + c.code, File: "f.py", Entrypoint: "f", Args: batch.Schema(),
				Returns: c.returns, Arrow: true,
			}, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			values, err := p.Call(t.Context(), f, batch)
			got := ""
			if err != nil {
				got = shown(err)
			} else {
				text, _ := values.MarshalJSON()
				got = strings.ReplaceAll(string(text), "\n", "")
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	batch := batchOf(t, column{"x", int64s, "[1]"})
	f, err := sandbox.NewFunction(sandbox.Declaration{
		Name: "f", Source: "def f(x): return x", File: "f.py", Entrypoint: "f", Args: batch.Schema(),
		Returns: int64s, Arrow: true,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := newPool(t, options(t)).Load(t.Context(), f); err != nil && !strings.Contains(err.Error(), "No module named 'pyarrow'") {
		t.Error(err)
	}
}
