package sandbox_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
)

func stringReader(s string) io.Reader { return strings.NewReader(s) }

var (
	int64s  = arrow.PrimitiveTypes.Int64
	texts   = arrow.BinaryTypes.String
	micros  = &arrow.TimestampType{Unit: arrow.Microsecond}
	zoned   = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	nanos   = &arrow.TimestampType{Unit: arrow.Nanosecond}
	money   = &arrow.Decimal128Type{Precision: 10, Scale: 2}
	person  = arrow.StructOf(arrow.Field{Name: "name", Type: texts, Nullable: true}, arrow.Field{Name: "born", Type: arrow.PrimitiveTypes.Date32, Nullable: true})
	numbers = arrow.ListOf(int64s)
	people  = arrow.ListOf(person)
	counts  = arrow.MapOf(texts, int64s)
	pair    = arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
)

// Every type goes to Python and back unchanged, with nulls.
func TestTypes(t *testing.T) {
	p := newPool(t, options(t))
	for _, c := range []struct {
		typ          arrow.DataType
		values, kind string // JSON; the class in Python of the first
	}{
		{int64s, `[1,null,-9223372036854775808,9223372036854775807]`, "int"},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615,null,0]`, "int"},
		{arrow.PrimitiveTypes.Int8, `[-128,null,127]`, "int"},
		{arrow.PrimitiveTypes.Uint8, `[0,null,255]`, "int"},
		{arrow.PrimitiveTypes.Int16, `[1,2]`, "int"},
		{arrow.PrimitiveTypes.Uint32, `[4294967295]`, "int"},
		{arrow.PrimitiveTypes.Float64, `[1.5,null,"NaN","+Inf","-Inf"]`, "float"},
		{arrow.PrimitiveTypes.Float32, `[1.5,null,0.1]`, "float"},
		{arrow.FixedWidthTypes.Boolean, `[true,null,false]`, "bool"},
		{texts, `["a",null,"","ü😀"]`, "str"},
		{texts, `["a\u0000b",null,"\u0000"]`, "str"},
		{texts, `[""]`, "str"},
		{arrow.BinaryTypes.Binary, `["AAEC/w==",null,""]`, "bytes"},
		{arrow.PrimitiveTypes.Date32, `["2024-02-29",null,"0001-01-01","9999-12-31"]`, "date"},
		{micros, `["2024-02-29 12:34:56.789012",null,"1900-01-01 00:00:00"]`, "datetime"},
		{zoned, `["2024-02-29T12:34:56.789012Z",null]`, "datetime"},
		{nanos, `["2024-02-29 12:34:56.789012",null]`, "datetime"},
		{&arrow.TimestampType{Unit: arrow.Second}, `["1969-12-31 23:59:59",null]`, "datetime"},
		{&arrow.TimestampType{Unit: arrow.Millisecond}, `["2024-02-29 12:34:56.789",null]`, "datetime"},
		{arrow.FixedWidthTypes.Time64us, `["12:34:56.789012",null]`, "time"},
		{money, `["12345678.90",null,"-0.01"]`, "Decimal"},
		{numbers, `[[1,null,3],null,[]]`, "list"},
		{pair, `[[1.5,2],null]`, "list"},
		{people, `[[{"name":"Ann","born":"2000-01-01"},{"name":null,"born":null}],null]`, "list"},
		{person, `[{"name":"Ann","born":"2000-01-01"},null]`, "dict"},
		{counts, `[[{"key":"a","value":1},{"key":"b","value":null}],null]`, "dict"},
		{
			arrow.FixedWidthTypes.MonthDayNanoInterval,
			`[{"months":0,"days":3,"nanoseconds":4000},{"months":0,"days":0,"nanoseconds":-1000},{"months":0,"days":-3,"nanoseconds":-4000}]`, "timedelta",
		},
	} {
		source := "def f(x):\n    assert x == None or type(x).__name__ == '" + c.kind + "', type(x)\n    return x\n"
		batch := batchOf(t, column{"x", c.typ, c.values})
		text, err := batch.Column(0).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(string(text), "\n", "")
		got, err := call(t, p, source, c.typ, column{"x", c.typ, c.values})
		if err != nil || got != want {
			t.Errorf("%s: got %s %v, want %s", c.typ, got, err, want)
		}
	}
}

func TestResults(t *testing.T) {
	p := newPool(t, options(t))
	one := column{"x", int64s, "[1,2]"}
	for _, c := range []struct {
		source  string
		returns arrow.DataType
		want    string // values, or part of the error
	}{
		{"async def f(x): return x + 1", int64s, "[2,3]"},
		{"def f(*, x): return x", int64s, "[1,2]"},
		{"def f(y=5, x=0): return x + y", int64s, "[6,7]"},
		{"def f(**k): return k['x']", int64s, "[1,2]"},
		{"class C:\n    def __call__(self, x): return x\nf = C()", int64s, "[1,2]"},
		{"import functools\ndef d(g):\n    @functools.wraps(g)\n    def h(*a, **k): return g(*a, **k)\n    return h\n@d\ndef f(x): return x", int64s, "[1,2]"},
		{"def f(x): return {'success': True, 'data': x}", int64s, "[1,2]"},
		{"def f(x): return {'success': False, 'error': 'no user'}", int64s, "no user"},
		{"from jazzmine.core.tools import ToolResponse\ndef f(x): return ToolResponse(success=x < 2, data=x, error='too large')", int64s, "too large row 1"},
		{"def f(x): return {'success': True, 'data': None}", int64s, "[null,null]"},
		{"def f(x): return 'a'", int64s, "returned the str 'a'; int64 needs an int row 0"},
		{
			"import datetime\ndef f(x): return datetime.timedelta(microseconds=-x)", arrow.FixedWidthTypes.MonthDayNanoInterval,
			`[{"months":0,"days":0,"nanoseconds":-1000},{"months":0,"days":0,"nanoseconds":-2000}]`,
		},
		{"def f(x): return True", int64s, "returned the bool True; int64 needs an int"},
		{"def f(x): return 1.0", int64s, "returned the float 1.0; int64 needs an int"},
		{"def f(x): return x * 100", arrow.PrimitiveTypes.Int8, "returned 200, which is out of the range of int8: -128 to 127 row 1"},
		{"def f(x): return 1 << 63", int64s, "out of the range of int64"},
		{"def f(x): return 1e300", arrow.PrimitiveTypes.Float32, "out of the range of float32"},
		{"def f(x): return x", arrow.PrimitiveTypes.Float64, "[1,2]"},
		{"def f(x): return 1 << 2000", arrow.PrimitiveTypes.Float64, "out of the range of float64"},
		{"def f(x): return 1", arrow.FixedWidthTypes.Boolean, "bool needs a bool"},
		{"def f(x): return b'x'", texts, "utf8 needs a str"},
		{"def f(x): return '\\ud800'", texts, "lone surrogate"},
		{"def f(x): return 'x'", arrow.BinaryTypes.Binary, "binary needs bytes"},
		{"import datetime\ndef f(x): return datetime.datetime(2024, 1, 1)", arrow.PrimitiveTypes.Date32, "needs a datetime.date"},
		{"import datetime\ndef f(x): return datetime.datetime(2024, 1, 1)", zoned, "needs one with a time zone"},
		{"import decimal\ndef f(x): return decimal.Decimal('1.005')", money, `["1.01","1.01"]`},
		{"def f(x): return 10 ** 9", money, "out of the range"},
		{"def f(x): return 0.5", money, "needs a decimal.Decimal or an int"},
		{"def f(x): return {'name': 'a'}", person, "without 'born'"},
		{"def f(x): return {'name': 'a', 'born': None, 'c': 1}", person, "with 'c'"},
		{"def f(x): return {'name': 1, 'born': None}", person, "returned the int 1 in name; utf8 needs a str"},
		{"def f(x): return [1, 'a']", numbers, "in [1]; int64 needs an int"},
		{"def f(x): return (i for i in range(x))", numbers, "[[0],[0,1]]"},
		{"def f(x): return [1.0]", pair, "returned a list of 1 values"},
		{"def f(x):\n    if x == 2:\n        raise ValueError('bad')\n    return x", int64s, "ValueError: bad line 3 row 1"},
		{"def f(x): raise KeyError()", int64s, "KeyError line 1 row 0"},
		{"def g(): pass", int64s, "the code has no function f [g]"},
		{"def f(y): return y", int64s, "the signature has the argument x, and the function has no such parameter (its parameters: y)"},
		{"def f(x, z): return x", int64s, "the function needs the parameter z"},
		{"x = 1\ndef f(:", int64s, "syntax error"},
		{"import nosuchmodule", int64s, "No module named 'nosuchmodule' line 1"},
		{"raise RuntimeError('at load')", int64s, "RuntimeError: at load line 1"},
	} {
		got, err := call(t, p, c.source, c.returns, one)
		if err != nil {
			got = shown(err)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.source, got, c.want)
		}
	}
	if got, err := call(t, p, "def f(): return 'x'", texts); err != nil || got != `["x"]` {
		t.Error(got, err)
	}
}

// JSON is what json.loads returns and json.dumps takes, wherever it is in a type.
func TestJSON(t *testing.T) {
	p := newPool(t, options(t))
	text := sandbox.Type{JSON: true}
	of := func(parts ...sandbox.Type) sandbox.Type { return sandbox.Type{Parts: parts} }
	object := arrow.StructOf(arrow.Field{Name: "n", Type: int64s, Nullable: true}, arrow.Field{Name: "j", Type: texts, Nullable: true})
	const value, loaded = `"{\"a\": [1, null]}"`, `{'a': [1, None]}`
	for _, c := range []struct {
		name           string
		typ            arrow.DataType
		declared       sandbox.Type
		values, python string // the first value in Python
	}{
		{"alone", texts, text, `[` + value + `,null]`, loaded},
		{"a list", arrow.ListOf(texts), of(text), `[[` + value + `,null],null]`, `[` + loaded + `, None]`},
		{"a list of fixed size", arrow.FixedSizeListOf(1, texts), of(text), `[[` + value + `],null]`, `[` + loaded + `]`},
		{"a struct", object, of(sandbox.Type{}, text), `[{"n":1,"j":` + value + `},null]`, `{'n': 1, 'j': ` + loaded + `}`},
		{"a map", arrow.MapOf(texts, texts), of(text, text), `[[{"key":"{}","value":` + value + `}]]`, `{'{}': ` + loaded + `}`},
		{"rows", arrow.ListOf(object), of(of(sandbox.Type{}, text)), `[[{"n":1,"j":` + value + `}]]`, `[{'n': 1, 'j': ` + loaded + `}]`},
	} {
		batch := batchOf(t, column{"x", c.typ, c.values})
		f, err := sandbox.NewFunction(sandbox.Declaration{
			Name: "f", Source: "def f(x):\n    assert x == None or x == " + c.python + ", x\n    return x\n", File: "f.py", Entrypoint: "f",
			Args: batch.Schema(), ArgTypes: []sandbox.Type{c.declared}, Returns: c.typ, ReturnType: c.declared,
		}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Call(t.Context(), f, batch)
		if err != nil || !array.Equal(got, batch.Column(0)) {
			t.Errorf("%s: got %v %v, want %s", c.name, got, err, c.values)
		}
	}
	batch := batchOf(t)
	f, err := sandbox.NewFunction(sandbox.Declaration{
		Name: "f", Source: "def f(): return [{'n': 1, 'j': {1, 2}}]", File: "f.py", Entrypoint: "f", Args: batch.Schema(),
		Returns: arrow.ListOf(object), ReturnType: of(of(sandbox.Type{}, text)),
	}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), f, batch); err == nil ||
		!strings.Contains(err.Error(), "returned a value in [0].j that is not JSON: Object of type set is not JSON serializable") {
		t.Error(err)
	}
}

// shown is an error with its line and row.
func shown(err error) string {
	var code *sandbox.CodeError
	if !errors.As(err, &code) {
		return err.Error()
	}
	text := code.Error()
	if len(code.Defined) > 0 {
		text += " [" + strings.Join(code.Defined, " ") + "]"
	}
	if code.Line > 0 {
		text += " line " + string(rune('0'+code.Line))
	}
	if code.Row != nil {
		text += " row " + string(rune('0'+*code.Row))
	}
	return text
}

func TestSecretsAreMasked(t *testing.T) {
	o := options(t)
	o.Env, o.Secrets = []string{"TOKEN=tok-12345"}, []string{"tok-12345"}
	p := newPool(t, o)
	_, err := call(t, p, "import os\ndef f(): raise ValueError('bad ' + os.environ['TOKEN'])", texts)
	if err == nil || strings.Contains(err.Error(), "tok-") || !strings.Contains(err.Error(), "ValueError: bad ***") {
		t.Error(err)
	}
	if got, err := call(t, p, "import os\ndef f(): return ','.join(sorted(os.environ))", texts); err != nil || !strings.Contains(got, "PATH,TMPDIR,TOKEN") ||
		strings.Contains(got, "SPICED") {
		t.Error(got, err)
	}
}

// Code that does not end its load is stopped, and named at its first line.
func TestLoadsAreBounded(t *testing.T) {
	o := options(t)
	o.Load = 200 * time.Millisecond
	p := newPool(t, o)
	batch := batchOf(t)
	for name, code := range map[string]string{"a loop": "while True: pass", "a wait": "import time\ntime.sleep(600)"} {
		err := p.Load(t.Context(), function(t, code+"\ndef f(): return 1", int64s, batch))
		if err == nil || shown(err) != "the code took longer than 200ms to load line 1" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The code of a function that is refused does not stay in a worker.
func TestRefusedCodeDoesNotStay(t *testing.T) {
	p := newPool(t, options(t))
	const mark = "import os\nos.environ['LEFT'] = 'yes'\n"
	for _, code := range []string{mark + "def g(): pass", mark + "def f(x): pass", mark + "raise ValueError('no')"} {
		if _, err := call(t, p, code, int64s); err == nil {
			t.Errorf("%s: it is loaded", code)
		}
		got, err := call(t, p, "import os\ndef f(): return os.environ.get('LEFT', 'nothing')", texts)
		if got != `["nothing"]` || err != nil {
			t.Errorf("%s: left %s %v", code, got, err)
		}
	}
}

// The code is executed once by each worker, and its state stays.
func TestModulesStayWarm(t *testing.T) {
	p := newPool(t, options(t))
	batch := batchOf(t)
	f := function(t, "n = 0\ndef f():\n    global n\n    n += 1\n    return n", int64s, batch)
	for want := int64(1); want <= 3; want++ {
		values, err := p.Call(t.Context(), f, batch)
		if err != nil || values.ValueStr(0) != string(rune('0'+want)) {
			t.Fatal(values, err)
		}
	}
}

func TestLines(t *testing.T) {
	o := sandbox.Options{Name: "lines", Lines: true, Shim: options(t).Shim, Workers: 1}
	o.Script = "#!/bin/sh\nwhile read -r line; do\ncase $line in\n*'[{\"x\":1}]'*) echo '{\"values\": [7]}';;\n*'\"x\":2'*) echo '{\"error\": \"two " +
		"is refused\", " +
		"\"row\": 0}';;\n*'\"x\":3'*) echo nonsense;;\n*) echo '{\"values\": []}';;\nesac\ndone\n"
	p := newPool(t, o)
	for _, c := range []struct{ values, want string }{
		{"[1]", "[7]"},
		{"[2]", "two is refused row 0"},
		{"[3]", "not a JSON object; it must answer"},
		{"[4]", "answered 0 values for 1 row"},
	} {
		got, err := call(t, p, "", int64s, column{"x", int64s, c.values})
		if err != nil {
			got = shown(err)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.values, got, c.want)
		}
	}
}

// Threads, tasks and callbacks that a call leaves end before the next call, those of the load stay.
func TestThreadsThatACallLeavesEnd(t *testing.T) {
	p := newPool(t, options(t))
	const head = "import asyncio, threading, time, _thread\nn = 0\ndef count():\n    global n\n    n += 1\n    return n\n"
	for _, c := range []struct {
		name, code string
		stays      bool // the worker
	}{
		{"none", "def f(): return count()", true},
		{"a thread", "def f():\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n    return count()", false},
		{
			"a thread of an error",
			"def f():\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n    if count() < 3: raise ValueError('no')", false,
		},
		{"a thread without its module", "def f():\n    _thread.start_new_thread(time.sleep, (600,))\n    return count()", false},
		{"a thread that ends", "def f():\n    t = threading.Thread(target=time.sleep, args=(0,)); t.start(); t.join()\n    return count()", true},
		{"a thread of the load", "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\ndef f(): return count()", true},
		{"a task", "async def f():\n    global task\n    task = asyncio.ensure_future(asyncio.sleep(600))\n    return count()", false},
		{"a task that ends", "async def f():\n    await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))\n    return count()", true},
		{"a timer", "async def f():\n    asyncio.get_running_loop().call_later(600, print)\n    return count()", false},
		{"a timer of an error", "async def f():\n    asyncio.get_running_loop().call_later(600, print)\n    if count() < 3: raise ValueError('no')", false},
		{"a timer that is cancelled", "async def f():\n    await asyncio.wait_for(asyncio.sleep(0), 600)\n    return count()", true},
		{"a callback that is due", "async def f():\n    asyncio.get_running_loop().call_soon(print)\n    return count()", true},
		{"a callback without end", "def again(): asyncio.get_running_loop().call_soon(again)\nasync def f():\n    again()\n    return count()", false},
		{
			"a generator that is not read to its end",
			"async def g():\n    yield 1\n    yield 2\nasync def f():\n    async for _ in g(): break\n    return count()", true,
		},
		{"a few open files", "import os\nkept = []\ndef f():\n    kept.append(open('/dev/null'))\n    return count()", true},
		{"many open files", "import os\nkept = []\ndef f():\n    kept.extend(open('/dev/null') for _ in range(200))\n    return count()", false},
		{"descriptors that are lost", "import os\ndef f():\n    for _ in range(80): os.pipe()\n    return count()", false},
		{"a thread of asyncio", "async def f():\n    await asyncio.to_thread(time.sleep, 0)\n    return count()", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch := batchOf(t)
			f := function(t, head+c.code, int64s, batch)
			for i, want := range []string{"1", map[bool]string{true: "2", false: "1"}[c.stays], map[bool]string{true: "3", false: "1"}[c.stays]} {
				values, err := p.Call(t.Context(), f, batch)
				if strings.Contains(c.name, "error") {
					if err == nil || !strings.Contains(err.Error(), "no") {
						t.Fatalf("call %d: %v %v: the worker that has a thread left is used again", i, values, err)
					}
					continue
				}
				if err != nil || values.ValueStr(0) != want {
					t.Fatalf("call %d: %v %v, want %s", i, values, err, want)
				}
			}
		})
	}
}

// A line that is no answer of a call is not taken for the answer of the next one.
func TestLinesThatAreNoAnswers(t *testing.T) {
	shim := options(t).Shim
	const id = `id=${line#*'"id":'}; id=${id%%,*}`
	const answers = `{\"id\": $id, \"values\": [$n]}`
	for _, c := range []struct {
		name, script string
		want         [3]string // of the calls; "!x": anything but x
	}{
		{"no ids", `n=6; while read -r line; do n=$((n+1)); echo "{\"values\": [$n]}"; done`, [3]string{"[7]", "[7]", "[7]"}},
		{"ids", `n=6; while read -r line; do n=$((n+1)); ` + id + `; echo "` + answers + `"; done`, [3]string{"[7]", "[8]", "[9]"}},
		{
			"two lines", `read -r line; printf '{"values": [7]}\n{"values": [8]}\n'; read -r line`,
			[3]string{"more than one line", "more than one line", "more than one line"},
		},
		{"two lines, one after the other", `while read -r line; do echo '{"values": [7]}'; echo '{"values": [8]}'; done`, [3]string{"!8", "!8", "!8"}},
		{"a part of a line", `while read -r line; do printf '{"values": [7]}\n{'; done`, [3]string{"more than one line", "more than one line", "more than one line"}},
		{
			"the id of another request", `while read -r line; do ` + id + `; echo "{\"values\": [7], \"id\": ${last:-$id}}"; last=$id; done`,
			[3]string{"[7]", "the id of the request is", "[7]"},
		},
		{"a line that no one asked for, before an answer", `n=6; while read -r line; do n=$((n+1)); ` + id + `; [ $n = 8 ] && echo '{"values": [99]}'; echo "` +
			answers + `"; done`, [3]string{"[7]", "!99", "[7]"}},
		{
			"a line that no one asked for, after an answer", `n=6; while read -r line; do n=$((n+1)); ` + id + `; echo "` + answers + `"; echo '{"values": [99]}'; done`,
			[3]string{"!99", "!99", "!99"},
		},
		{
			"a late line", `n=6; while read -r line; do n=$((n+1)); ` + id + `; (sleep 0.05; echo "{\"id\": $id, \"values\": [99]}") & echo "` + answers + `"; done`,
			[3]string{"[7]", "!99", "!99"},
		},
		{"a line at the start", `echo hello; while read -r line; do ` + id + `; n=7; echo "` + answers + `"; done`, [3]string{"!99", "!99", "!99"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, sandbox.Options{Name: "lines", Lines: true, Shim: shim, Workers: 1, Script: "#!/bin/sh\n" + c.script + "\n"})
			for i, want := range c.want {
				got, err := call(t, p, "", int64s, column{"x", int64s, "[1]"})
				if err != nil {
					got = err.Error()
				}
				if part, not := strings.CutPrefix(want, "!"); not == strings.Contains(got, part) {
					t.Errorf("call %d: got %s, want %s", i, got, want)
				}
			}
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	p := newPool(t, options(t))
	batch := batchOf(t)
	f := function(t, "import time\ndef f(): time.sleep(600)", texts, batch)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 400)
	for range 300 {
		go func() { _, err := p.Call(ctx, f, batch); failed <- err }()
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "256 calls wait for the 1 workers of sandbox test") {
		t.Error(err)
	}
}
