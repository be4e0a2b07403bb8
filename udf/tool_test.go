package udf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func (r *fixture) tool(name string) tools.Tool {
	r.t.Helper()
	f := r.set.Get(name)
	if f == nil {
		r.t.Fatalf("no function %q", name)
	}
	tool, err := Tool(r.db, f, ToolOptions{Functions: r.set})
	if err != nil {
		r.t.Fatal(err)
	}
	return tool
}

// must loads functions that have no problem but warnings.
func (r *fixture) must(yaml string) {
	r.t.Helper()
	for _, p := range r.load(yaml) {
		if p.Severity != spicepod.Warning {
			r.t.Fatal(p)
		}
	}
}

// input decodes arguments as the registry does.
func input(t testing.TB, args string) tools.Input {
	t.Helper()
	value, err := tools.Decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return tools.Input{Arguments: value.(map[string]any), Raw: json.RawMessage(args)}
}

// call1 returns a call's result, or its code and message.
func call1(t testing.TB, tool tools.Tool, args string) string {
	t.Helper()
	out, err := tool.Call(t.Context(), input(t, args))
	if err == nil {
		return string(out.Value)
	}
	var e *tools.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *tools.Error", err)
	}
	return string(e.Code) + ": " + e.Message
}

// identity declares a function v → v of each type, in order.
var identity = []struct{ name, typ string }{
	{"i8", "int8"},
	{"i16", "int16"},
	{"i32", "int32"},
	{"i64", "int64"},
	{"u8", "uint8"},
	{"u16", "uint16"},
	{"u32", "uint32"},
	{"u64", "uint64"},
	{"f32", "float32"},
	{"f64", "float64"},
	{"txt", "utf8"},
	{"flag", "boolean"},
	{"bin", "binary"},
	{"day", "date32"},
	{"day64", "date64"},
	{"ts_s", "timestamp(s)"},
	{"ts_ms", "timestamp(ms)"},
	{"ts_us", "timestamp(us)"},
	{"ts_ns", "timestamp(ns)"},
	{"ts_tz", "timestamp(us, UTC)"},
	{"dec", "decimal(38,10)"},
	{"money", "decimal(4,2)"},
	{"longs", "list<int64>"},
	{"grid", "list<list<uint64>>"},
	{"pair", "struct<z:int32,a:decimal(10,2),list:list<date32>>"},
	{"people", "list<struct<name:utf8,Age:uint8>>"},
}

func identities() string {
	var b strings.Builder
	for _, f := range identity {
		b.WriteString("- name: id_" + f.name + "\n  from: sql\n  signature: { args: [{ name: v, type: '" + f.typ + "', required: false }], returns: '" + f.typ +
			"' }\n  body: v\n")
	}
	return b.String()
}

func TestEveryTypeGoesInAndOut(t *testing.T) {
	r := start(t)
	r.must(identities())
	cases := []struct{ f, in, out string }{ // out "": as in
		{"i8", `-128`, ""},
		{"i8", `127`, ""},
		{"i8", `128`, `invalid_arguments: argument "v": 128 is out of the range of int8, -128 to 127`},
		{"i16", `-32768`, ""},
		{"i16", `32767`, ""},
		{"i32", `-2147483648`, ""},
		{"i32", `2147483647`, ""},
		{"i32", `3.0`, `3`},
		{"i32", `1e3`, `1000`},
		{"i32", `-0`, `0`},
		{"i32", `1.5`, `invalid_arguments: argument "v": 1.5 is not a valid int32`},
		{"i32", `1e999999`, `invalid_arguments: argument "v": 1e999999 is not a valid int32`},
		{"i64", `9007199254740991`, ""},
		{"i64", `9007199254740992`, `"9007199254740992"`},
		{"i64", `-9007199254740991`, ""},
		{"i64", `-9223372036854775808`, `"-9223372036854775808"`},
		{"i64", `"9223372036854775807"`, ""},
		{
			"i64", `"9223372036854775808"`,
			`invalid_arguments: argument "v": "9223372036854775808" is out of the range of int64, -9223372036854775808 to 9223372036854775807`,
		},
		{"u8", `255`, ""},
		{"u8", `-1`, `invalid_arguments: argument "v": -1 is out of the range of uint8, 0 to 255`},
		{"u16", `65535`, ""},
		{"u32", `4294967295`, ""},
		{"u64", `18446744073709551615`, `"18446744073709551615"`},
		{"u64", `"18446744073709551615"`, ""},
		{"u64", `7`, ""},
		{"f32", `1.5`, ""},
		{"f32", `3.4028235e38`, `3.4028235e+38`},
		{"f32", `16777217`, `invalid_arguments: argument "v": 16777217 does not fit exactly: the nearest number of 32 bits is 16777216; pass that, or declare a decimal and not float32`},
		{"f32", `1e39`, `invalid_arguments: argument "v": 1e39 is out of the range of float32`},
		{"f64", `1.7976931348623157e+308`, ""},
		{"f64", `5e-324`, ""},
		{"f64", `-0.0`, ""},
		{"f64", `1`, `1.0`},
		{
			"f64", `9007199254740993`,
			`invalid_arguments: argument "v": 9007199254740993 does not fit exactly: the nearest number of 64 bits is 9007199254740992; pass that, or declare a decimal and not float64`,
		},
		{
			"f64", `"9007199254740993"`,
			`invalid_arguments: argument "v": 9007199254740993 does not fit exactly: the nearest number of 64 bits is 9007199254740992; pass that, or declare a decimal and not float64`,
		},
		{"f64", `1e-400`, `invalid_arguments: argument "v": 1e-400 does not fit exactly: the nearest number of 64 bits is 0; pass that, or declare a decimal and not float64`},
		{"f64", `9007199254740992`, `9007199254740992.0`},
		{"f64", `1e309`, `invalid_arguments: argument "v": 1e309 is out of the range of float64`},
		{"f64", `0.1`, ""},
		{"txt", `"it's \"quoted\" \\ and ünïcödé 🦆"`, ""},
		{"txt", `""`, ""},
		{"txt", `"a\u0000b"`, ""},
		{"flag", `true`, ""},
		{"flag", `false`, ""},
		{"flag", `1`, `invalid_arguments: argument "v": 1 is not a valid boolean`},
		{"bin", `"AP8="`, ""},
		{"bin", `""`, ""},
		{"bin", `"*"`, `invalid_arguments: argument "v": "*" is not base64 text`},
		{"day", `"2024-02-29"`, ""},
		{"day", `"0001-01-01"`, ""},
		{"day", `"9999-12-31"`, ""},
		{"day", `"+5881580-07-10"`, ""},
		{"day", `"-5877641-06-25"`, ""},
		{"day", `"-infinity"`, ""},
		{"day", `"2023-02-29"`, `invalid_arguments: argument "v": "2023-02-29" is not a valid date32; write YYYY-MM-DD`},
		{"day64", `"2024-02-29T00:00:00"`, ""},
		{"ts_s", `"2024-02-29T12:00:00Z"`, `"2024-02-29T12:00:00"`},
		{"ts_ms", `"2024-02-29T12:00:00.123"`, ""},
		{"ts_us", `"2024-02-29T12:00:00.123456"`, ""},
		{"ts_us", `"2024-02-29T12:00:00+02:00"`, `"2024-02-29T10:00:00"`},
		{"ts_us", `"+294246-01-01T00:00:00"`, ""},
		{"ts_us", `"infinity"`, ""},
		{"ts_ns", `"2024-02-29T12:00:00.123456789"`, ""},
		{"ts_ns", `"1677-09-22T00:00:00"`, ""},
		{"ts_ns", `"2262-04-11T23:47:16.854775806"`, ""},
		{"ts_us", `"2024-02-29"`, `"2024-02-29T00:00:00"`},
		{"ts_tz", `"2024-02-29T12:00:00+02:00"`, `"2024-02-29T10:00:00Z"`},
		{"ts_tz", `"2024-02-29T12:00:00"`, `"2024-02-29T12:00:00Z"`},
		{"ts_us", `"noon"`, `invalid_arguments: argument "v": "noon" is not a valid timestamp(us); write YYYY-MM-DDThh:mm:ssZ`},
		{"dec", `1234567890123456789012345678.0123456789`, `"1234567890123456789012345678.0123456789"`},
		{"dec", `"-9999999999999999999999999999.9999999999"`, ""},
		{"dec", `1e3`, `"1000.0000000000"`},
		{"money", `99.99`, `"99.99"`},
		{"money", `1.005`, `invalid_arguments: argument "v": 1.005 has more than 2 digits after the point`},
		{"money", `100`, `invalid_arguments: argument "v": 100 is too large for DECIMAL(4,2)`},
		{"longs", `[]`, ""},
		{"longs", `[1,"9223372036854775807"]`, ""},
		{"grid", `[[],["18446744073709551615",1]]`, ""},
		{"longs", `[1,true]`, `invalid_arguments: argument "v": element 1: true is not a valid int64`},
		{"pair", `{"z":1,"a":"1.50","list":["2024-01-01"]}`, ""},
		{"pair", `{"z":1,"a":1.5,"list":[]}`, `{"z":1,"a":"1.50","list":[]}`},
		{"people", `[{"name":"Ann","Age":30},{"name":"Bo","Age":4}]`, ""},
		{"people", `[{"name":"Ann","Age":30,"x":1}]`, `invalid_arguments: argument "v": element 0: there is no field "x"`},
	}
	for _, f := range identity {
		cases = append(cases, struct{ f, in, out string }{f.name, "null", ""})
	}
	made := map[string]tools.Tool{}
	for _, f := range identity {
		made[f.name] = r.tool("id_" + f.name)
	}
	for _, c := range cases {
		want := c.out
		if want == "" {
			want = c.in
		}
		if got := call1(t, made[c.f], `{"v":`+c.in+`}`); got != want {
			t.Errorf("%s(%s)\ngot  %s\nwant %s", c.f, c.in, got, want)
		}
		schema, err := tools.Compile(made[c.f].Definition().Returns)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(want, "invalid") {
			continue
		}
		value, err := tools.Decode([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if faults := schema.Check(value); len(faults) > 0 {
			t.Errorf("%s: %s does not fit the tool's own schema: %v", c.f, want, faults)
		}
	}
}

func TestDefaultsAndLeftOutArguments(t *testing.T) {
	r := start(t)
	r.must(`
- name: greet
  from: sql
  description: Greets.
  version: 1.2.0
  tags: [b, a]
  limits: { timeout: 3s, concurrency: 2 }
  signature:
    args:
      - { name: who, type: utf8, description: Whom to greet }
      - { name: n, type: int64, default: 2 }
      - { name: price, type: "decimal(5,2)", default: "1.50" }
      - { name: x, type: float64, default: 1e3 }
      - { name: note, type: utf8, required: false }
    returns: utf8
  body: concat_ws('|', who, n, price, x, coalesce(note, 'none'))
- { name: one, from: sql, volatility: immutable, signature: { args: [], returns: int64 }, body: "1" }
- { name: edge, from: sql, signature: { args: [{ name: v, type: float64, default: .inf }], returns: boolean }, body: isinf(v) }
`)
	tool := r.tool("greet")
	for args, want := range map[string]string{
		`{"who":"Ann"}`: `"Ann|2|1.50|1000.0|none"`,
		`{"who":"Ann","n":null,"price":2,"note":"x"}`: `"Ann|2.00|1000.0|x"`,
		`{}`: `invalid_arguments: argument "who": it is missing`,
	} {
		if got := call1(t, tool, args); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	if got := call1(t, r.tool("one"), `{}`); got != "1" {
		t.Error(got)
	}
	if got := call1(t, r.tool("edge"), `{}`); got != "true" {
		t.Error(got)
	}
	d := tool.Definition()
	want := `{"additionalProperties":false,"properties":{"n":{"default":2,"type":"integer"},` +
		`"note":{"type":["string","null"]},"price":{"default":1.50,"type":"number"},` +
		`"who":{"description":"Whom to greet","type":"string"},"x":{"default":1e3,"type":"number"}},"required":["who"],"type":"object"}`
	if string(d.Parameters) != want {
		t.Errorf("parameters\ngot  %s\nwant %s", d.Parameters, want)
	}
	if string(d.Returns) != `{"type":["string","null"]}` {
		t.Error(string(d.Returns))
	}
	if d.Description != "Greets." || d.Version != "1.2.0" || strings.Join(d.Tags, "") != "ab" || d.Source != "function" || d.Owner != "runtime" ||
		d.Declared != "spicepod.yaml:6" || d.Implementation != r.set.Get("greet").Checksum || d.Cacheable {
		t.Errorf("%+v", d)
	}
	if d.Limits == nil || d.Limits.Timeout != 3*time.Second || d.Limits.Concurrency != 2 {
		t.Errorf("%+v", d.Limits)
	}
	if a := d.Annotations; a != (tools.Annotations{ReadOnly: true}) {
		t.Errorf("%+v", a)
	}
	if d := r.tool("one").Definition(); !d.Cacheable || !d.Annotations.Idempotent || d.Limits != nil || !strings.Contains(string(d.Parameters), `"required":[]`) {
		t.Errorf("%+v", d)
	}
}

func TestCacheableIsWhatReadsNothing(t *testing.T) {
	r := start(t)
	r.must(`
- { name: base, from: sql, volatility: stable, signature: { args: [], returns: int64 }, body: (SELECT count(*) FROM orders) }
- { name: over, from: sql, volatility: immutable, signature: { args: [], returns: int64 }, body: base() + 1 }
- { name: dice, from: sql, volatility: immutable, signature: { args: [], returns: float64 }, body: random() }
- { name: calls, from: sql, volatility: immutable, signature: { args: [], returns: int64 }, body: pure() + 1 }
- { name: pure, from: sql, volatility: volatile, signature: { args: [], returns: int64 }, body: "1" }
`)
	for name, want := range map[string]bool{"base": false, "over": false, "dice": false, "calls": true, "pure": false} {
		if got := r.tool(name).Definition().Cacheable; got != want {
			t.Errorf("%s: cacheable is %v", name, got)
		}
	}
}

func TestErrorsOfCalls(t *testing.T) {
	r := start(t)
	r.must(`
- { name: ratio, from: sql, signature: { args: [{ name: v, type: float64 }], returns: float64 }, body: v / 0 }
- { name: nan, from: sql, signature: { args: [{ name: v, type: float64 }], returns: list<float64> }, body: "[1.0, v - v, 'nan'::DOUBLE]" }
- { name: fail, from: sql, signature: { args: [{ name: v, type: utf8 }], returns: int64 }, body: v::BIGINT }
- { name: slow, from: sql, signature: { args: [{ name: n, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM range(n) a, range(1000000) b WHERE hash(a.range, b.range) = 1)" }
- { name: big, from: sql, signature: { args: [], returns: utf8 }, body: "repeat('x', 100000)" }
`)
	const notFinite = "execution_error: float result is NaN or infinite and cannot be represented in JSON"
	if got := call1(t, r.tool("ratio"), `{"v":1}`); got != notFinite {
		t.Error(got)
	}
	if got := call1(t, r.tool("nan"), `{"v":1}`); got != notFinite {
		t.Error(got)
	}
	if got := call1(t, r.tool("fail"), `{"v":"x"}`); got != "execution_error: query failed: Could not convert string 'x' to INT64 when casting from "+
		"source column v" {
		t.Error(got)
	}
	in := input(t, `{"n":1000000000}`)
	in.Limits.Timeout = 20 * time.Millisecond
	var e *tools.Error
	if _, err := r.tool("slow").Call(t.Context(), in); !errors.As(err, &e) || e.Code != errcode.Timeout || !e.Retryable {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.tool("slow").Call(ctx, input(t, `{"n":1000000000}`)); !errors.As(err, &e) || e.Code != errcode.Timeout {
		t.Error(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := r.tool("slow").Call(gone, input(t, `{"n":1000000000}`)); !errors.As(err, &e) || e.Code != errcode.Cancelled {
		t.Error(err)
	}
}

func TestFailureCodes(t *testing.T) {
	for code, want := range map[errcode.Code]errcode.Code{
		errcode.Execution: errcode.Execution, errcode.Timeout: errcode.Timeout, errcode.Busy: errcode.Busy,
		errcode.Limit: errcode.Limit, errcode.Cancelled: errcode.Cancelled, errcode.Internal: errcode.Internal,
		errcode.Parse: errcode.Internal, errcode.Refused: errcode.Internal,
	} {
		var e *tools.Error
		err := failure(t.Context(), &engine.Error{Code: code, Message: "it"})
		if !errors.As(err, &e) || e.Code != want || errors.Is(err, tools.ErrChanged) || !strings.HasSuffix(e.Message, "it") {
			t.Errorf("%s: %#v", code, err)
		}
	}
}

func TestAChangedFunctionIsToldApart(t *testing.T) {
	r := start(t)
	const before = `
- { name: f, from: sql, signature: { args: [{ name: a, type: int64 }], returns: int64 }, body: a }
- { name: g, from: sql, kind: table, as_tool: true, signature: { args: [], returns: [{ name: v, type: int64 }] }, body: SELECT 1 AS v }
`
	r.must(before)
	f, g := r.tool("f"), r.tool("g")
	for name, after := range map[string]string{
		"gone":    ``,
		"renamed": `- { name: f, from: sql, signature: { args: [{ name: b, type: int64 }], returns: int64 }, body: b }`,
		"returns": `- { name: f, from: sql, signature: { args: [{ name: a, type: int64 }], returns: utf8 }, body: a::VARCHAR }` + "\n" +
			`- { name: g, from: sql, kind: table, signature: { args: [], returns: [{ name: w, type: int64 }] }, body: SELECT 1 AS w }`,
		"longer":   `- { name: f, from: sql, signature: { args: [{ name: a, type: int64 }, { name: b, type: int64 }], returns: int64 }, body: a }`,
		"not null": `- { name: f, from: sql, kind: table, signature: { args: [{ name: a, type: int64 }], returns: [{ name: v, type: int64 }] }, body: SELECT 1 AS v }`,
	} {
		r.load(after)
		if _, err := f.Call(t.Context(), input(t, `{"a":1}`)); !errors.Is(err, tools.ErrChanged) {
			t.Errorf("%s: f: %v", name, err)
		}
		if _, err := g.Call(t.Context(), input(t, `{}`)); !errors.Is(err, tools.ErrChanged) {
			t.Errorf("%s: g: %v", name, err)
		}
		r.must(before)
		if got := call1(t, f, `{"a":1}`); got != "1" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

const series = `
- name: series
  from: sql
  kind: table
  as_tool: true
  limits: { max_rows: 3 }
  signature:
    args: [{ name: n, type: int64 }, { name: note, type: utf8, required: false }]
    returns: [{ name: v, type: uint64, description: The number }, { name: price, type: "decimal(5,2)" }, { name: note, type: utf8 }]
  body: SELECT range::UBIGINT AS v, range::DECIMAL(5,2) AS price, (SELECT note FROM args) AS note FROM range((SELECT n FROM args)) ORDER BY v DESC
- { name: free, from: sql, kind: table, as_tool: true, signature: { args: [], returns: [{ name: v, type: int64 }] }, body: SELECT range AS v FROM range(5000) }
- { name: wide, from: sql, kind: table, as_tool: true, signature: { args: [], returns: [{ name: v, type: float64 }] }, body: SELECT 'nan'::DOUBLE AS v }
`

// recorder remembers the first request: others may be trials in the background.
type recorder struct {
	*engine.DB
	once  sync.Once
	first engine.Request
}

func (r *recorder) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	r.once.Do(func() { r.first = req })
	return r.DB.Query(ctx, req)
}

// TestCostlyBodiesAreIsolated: a call whose arguments can hold its process runs in another one.
func TestCostlyBodiesAreIsolated(t *testing.T) {
	r := start(t)
	bodies := map[string]bool{
		"upper(a) || b": false, "lpad(a, 5, b)": false, "regexp_replace(a, '[^0-9]', '', 'g')": false, "a LIKE '%x%'": false,
		"(SELECT count(*) FROM orders WHERE id = length(a))": false, "levenshtein(a, b)": true, "regexp_matches(a, b)": true, "a LIKE b": true,
		"repeat(a, length(b))": true, "list_transform(string_split(a, ','), lambda x: x || b)": true, "json_structure(a::JSON)": true,
		"a::BIGNUM::VARCHAR": true, "(WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < length(a)) SELECT max(n) FROM t)": true,
		"cheap(a)": false, "dear(a)": true,
	}
	yaml := ""
	for i, body := range slices.Sorted(maps.Keys(bodies)) {
		yaml += fmt.Sprintf("- { name: f%d, from: sql, signature: { args: [{ name: a, type: utf8 }, { name: b, type: utf8 }], returns: utf8 }, body: %q }\n", i,
			"CAST(("+body+") AS VARCHAR)")
	}
	r.must(yaml + `- { name: cheap, from: sql, signature: { args: [{ name: a, type: utf8 }], returns: utf8 }, body: lower(a) }
- { name: dear, from: sql, signature: { args: [{ name: a, type: utf8 }], returns: utf8 }, body: "format(a)" }
`)
	for i, body := range slices.Sorted(maps.Keys(bodies)) {
		db := &recorder{DB: r.db}
		tool, err := Tool(db, r.set.Get(fmt.Sprintf("f%d", i)), ToolOptions{Functions: r.set})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = tool.Call(t.Context(), input(t, `{"a": "1", "b": "x"}`))
		if first := db.first; first.SQL == "" || first.Isolate != bodies[body] || first.Isolate && first.Input != nil {
			t.Errorf("%s: isolated: %t", body, first.Isolate)
		}
	}
}

func TestTableFunctions(t *testing.T) {
	r := start(t)
	r.must(series)
	tool := r.tool("series")
	for _, c := range []struct {
		args      string
		maxRows   int
		want      string
		returned  int
		truncated bool
	}{
		{`{"n":0}`, 0, `[]`, 0, false},
		{`{"n":2,"note":"x"}`, 0, `[{"v":1,"price":"1.00","note":"x"},{"v":0,"price":"0.00","note":"x"}]`, 2, false},
		{`{"n":3}`, 0, `[{"v":2,"price":"2.00","note":null},{"v":1,"price":"1.00","note":null},{"v":0,"price":"0.00","note":null}]`, 3, false},
		{`{"n":4}`, 9, `[{"v":3,"price":"3.00","note":null},{"v":2,"price":"2.00","note":null},{"v":1,"price":"1.00","note":null}]`, 3, true},
		{`{"n":2}`, 1, `[{"v":1,"price":"1.00","note":null}]`, 1, true},
	} {
		in := input(t, c.args)
		in.Limits.MaxRows = c.maxRows
		out, err := tool.Call(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if string(out.Value) != c.want || out.Rows == nil || *out.Rows != (tools.Rows{Returned: c.returned, Truncated: c.truncated}) {
			t.Errorf("%s: %s %+v", c.args, out.Value, out.Rows)
		}
	}
	if d := tool.Definition(); !strings.Contains(string(d.Returns), `"description":"The number"`) ||
		!strings.HasPrefix(string(d.Returns), `{"items":{"additionalProperties":false`) {
		t.Error(string(d.Returns))
	}
	out, err := r.tool("free").Call(t.Context(), input(t, `{}`))
	if err != nil || out.Rows.Returned != MaxToolRows || !out.Rows.Truncated {
		t.Errorf("%+v %v", out.Rows, err)
	}
	in := input(t, `{}`)
	in.Limits.MaxBytes = 100
	var e *tools.Error
	if _, err := r.tool("free").Call(t.Context(), in); !errors.As(err, &e) || e.Code != errcode.Limit {
		t.Error(err)
	}
	if got := call1(t, r.tool("wide"), `{}`); !strings.Contains(got, "NaN") {
		t.Error(got)
	}
}

func TestPlanRunsNothing(t *testing.T) {
	r := start(t)
	r.must(haversine + series)
	for _, c := range []struct{ tool, args, sql string }{
		{
			"haversine_km", `{"lat1":1,"lon1":2,"lat2":3,"lon2":4.5}`,
			`SELECT "haversine_km"(CAST('1' AS DOUBLE), CAST('2' AS DOUBLE), CAST('3' AS DOUBLE), CAST('4.5' AS DOUBLE)) AS result`,
		},
		{"series", `{"n":5}`, `SELECT * FROM "series"(CAST('5' AS BIGINT), CAST(NULL AS VARCHAR)) LIMIT 4`},
	} {
		raw, err := r.tool(c.tool).(tools.Planner).Plan(t.Context(), input(t, c.args))
		if err != nil {
			t.Fatal(err)
		}
		var plan struct{ SQL, Plan string }
		if err := json.Unmarshal(raw, &plan); err != nil || plan.SQL != c.sql || !strings.Contains(plan.Plan, "┌") {
			t.Errorf("%s: %s", c.tool, raw)
		}
		if _, err := r.tool(c.tool).(tools.Planner).Plan(t.Context(), tools.Input{Arguments: map[string]any{"n": true}}); err == nil {
			t.Errorf("%s: a wrong argument has a plan", c.tool)
		}
	}
}

func TestToolSet(t *testing.T) {
	r := start(t)
	r.must(pod + series)
	first := NewToolSet(r.db, r.set, ToolOptions{}, nil)
	names := func(s *ToolSet) (list []string) {
		for _, tool := range s.Tools {
			list = append(list, tool.Definition().Name)
		}
		return list
	}
	if got := strings.Join(names(first), " "); got != "Total free series wide" {
		t.Error(got)
	}
	var out []string
	for _, n := range first.NoTools {
		out = append(out, n.Name+": "+n.Reason)
	}
	if got := strings.Join(out, ", "); got != "lines: a table function is a tool only with as_tool: true, twice: it has as_tool: false" {
		t.Error(got)
	}
	r.must(pod + strings.Replace(series, "range(5000)", "range(5001)", 1))
	second := NewToolSet(r.db, r.set, ToolOptions{}, first)
	for i, same := range []bool{true, false, true, true} {
		if (first.Tools[i] == second.Tools[i]) != same {
			t.Errorf("%s: reused is %v", second.Tools[i].Definition().Name, !same)
		}
	}
	if other := NewToolSet(r.db, r.set, ToolOptions{Owner: "agent"}, second); other.Tools[0] == second.Tools[0] || other.Tools[0].Definition().Owner != "agent" {
		t.Error("a tool of another owner was reused")
	}
	r.must(`- { name: lines, from: sql, kind: table, as_tool: true, signature: { tables: [{ name: t, columns: [{ name: v, type: utf8 }] }], returns: [{ name: v, type: utf8 }] }, body: SELECT v FROM t }`)
	if n := NewToolSet(r.db, r.set, ToolOptions{}, second).NoTools; len(n) != 1 || !strings.HasPrefix(n[0].Reason, "it takes the table ") {
		t.Errorf("%+v", n)
	}
	if _, err := Tool(r.db, r.set.Get("lines"), ToolOptions{}); err == nil || !strings.Contains(err.Error(), `it takes the table "t"`) {
		t.Error(err)
	}
}

func TestMaxExactIsWhatDoublesHold(t *testing.T) {
	if f := float64(maxExact); f != math.Trunc(f) || int64(f) != maxExact || float64(maxExact+2) != float64(maxExact)+1 {
		t.Error(maxExact)
	}
}
