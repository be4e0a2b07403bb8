package arrowjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/arrowjson"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

func form(t testing.TB, declared string) *arrowjson.Form {
	t.Helper()
	typ, err := functions.ParseType(declared)
	if err != nil {
		t.Fatal(err)
	}
	f, err := arrowjson.Of(typ.Duck(), carried(typ.Duck()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// carried is the type in which Arrow carries values of a type.
func carried(t *engine.Type) arrow.DataType {
	columns := arrowrows.Columns(format.ArrowSchema([]engine.Column{{Name: "x", Type: t}}))
	return format.ArrowType(columns[0].Type)
}

// written is a list in JSON after it was read as a type.
func written(t testing.TB, f *arrowjson.Form, list string) string {
	t.Helper()
	a, err := f.Array([]byte(list), 1)
	if err != nil {
		t.Fatalf("%s: %s: %v", f.Type, list, err)
	}
	defer a.Release()
	if !arrow.TypeEqual(a.DataType(), f.Arrow) {
		t.Fatalf("%s: the array is %s", f.Type, a.DataType())
	}
	return show(f, a)
}

func show(f *arrowjson.Form, a arrow.Array) string {
	buf := []byte{'['}
	for i := range a.Len() {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = f.Append(buf, a, i)
	}
	return string(append(buf, ']'))
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ declared, given, want string }{
		{"boolean", `[true, false ,null]`, `[true,false,null]`},
		{"int8", `[-128,"7",3.0,1e1]`, `[-128,7,3,10]`},
		{"int16", `[32767]`, ""},
		{"int32", `[-2147483648]`, ""},
		{"int64", `[9007199254740993,-9223372036854775808,"9223372036854775807",1e3]`, `[9007199254740993,-9223372036854775808,9223372036854775807,1000]`},
		{"uint8", `[255]`, ""},
		{"uint16", `[65535]`, ""},
		{"uint32", `[4294967295]`, ""},
		{"uint64", `[18446744073709551615]`, ""},
		{"hugeint", `[99999999999999999999999999999999999999,-170141183460469231731687303715884105]`, ""},
		{"uhugeint", `[340282366920938463463374607431768211455,0]`, ""},
		{"float32", `[1.5,0.1]`, ""},
		{"float64", `[0.1,1e300,"2.5",-0.0,null,"NaN"]`, `[0.1,1e+300,2.5,-0,null,null]`},
		{"decimal(38,10)", `[1234567890123456789012345678.0123456789,"-0.5",1]`, `[1234567890123456789012345678.0123456789,-0.5000000000,1.0000000000]`},
		{"utf8", `["Zürich","a\"b\\\u0001\n","",null]`, ""},
		{"utf8", `["\u00e9\ud83d\ude00"]`, `["é😀"]`},
		{"json", `[{"a": [1, "x"]},"x",3,null]`, `[{"a":[1,"x"]},"x",3,null]`},
		{"uuid", `["01234567-89AB-4def-8123-456789abcdef"]`, `["01234567-89ab-4def-8123-456789abcdef"]`},
		{"binary", `["00ff","", null]`, `["00ff","",null]`},
		{"bit", `["0101"]`, ""},
		{"date", `["2024-02-29","1969-12-31","infinity"]`, ""},
		{"time", `["12:30:00.000001","23:59:59"]`, ""},
		{"time_ns", `["12:30:00.000000001"]`, ""},
		{"timetz", `["12:30:00+02:00"]`, ""},
		{"timestamp", `["2024-02-29T12:30:00.123456","1900-01-01 00:00:00","-infinity"]`, `["2024-02-29T12:30:00.123456","1900-01-01T00:00:00","-infinity"]`},
		{"timestamp_s", `["2024-02-29T12:30:00"]`, ""},
		{"timestamp_ms", `["1969-12-31T23:59:59.500"]`, ""},
		{"timestamp_ns", `["2024-02-29T12:30:00.000000001"]`, ""},
		{"timestamptz", `["2024-02-29T12:30:00Z","2024-02-29T14:30:00+02:00"]`, `["2024-02-29T12:30:00Z","2024-02-29T12:30:00Z"]`},
		{"interval", `["1 day 02:00:00","P1DT2H"]`, `["1 day 02:00:00","1 day 02:00:00"]`},
		{"enum('low', 'high')", `["high",null,"low"]`, ""},
		{"list<int64>", `[[1,null,3],[],null]`, ""},
		{"list<list<utf8>>", `[[["a"],null,[]]]`, ""},
		{"int64[2]", `[[1,2],null,[3,null]]`, ""},
		{
			"struct<a: int64, b: list<struct<c: decimal(4,2)>>>", `[{"b":[{"c":1.25},null],"x":{"y":[1]},"a":1},null,{}]`,
			`[{"a":1,"b":[{"c":1.25},null]},null,{"a":null,"b":null}]`,
		},
		{"list<enum('a', 'b')>", `[["b"],["a","b"]]`, ""},
		{"map<utf8, int64>", `[{"x":1,"y":null},{},null]`, ""},
		{"map<int64, list<utf8>>", `[{"1":["a"]}]`, ""},
	} {
		f := form(t, c.declared)
		want := c.want
		if want == "" {
			want = c.given
		}
		if got := written(t, f, c.given); got != want {
			t.Errorf("%s: %s becomes %s, want %s", c.declared, c.given, got, want)
		}
	}
}

// A part of an array has the values of that part.
func TestParts(t *testing.T) {
	for declared, values := range map[string][]string{
		"list<int64>":            {"[1]", "[2,3]", "[4]"},
		"int64[1]":               {"[1]", "[2]", "[3]"},
		"struct<a: list<int64>>": {`{"a":[1]}`, `{"a":[2]}`, `{"a":[3]}`},
		"map<utf8, list<int64>>": {`{"a":[1]}`, `{"b":[2]}`, `{"c":[3]}`},
		"enum('a', 'b')":         {`"a"`, `"b"`, `"a"`},
	} {
		f := form(t, declared)
		a, err := f.Array([]byte("["+strings.Join(values, ",")+"]"), 3)
		if err != nil {
			t.Fatal(err)
		}
		part := array.NewSlice(a, 1, 3)
		if got, want := show(f, part), "["+strings.Join(values[1:], ",")+"]"; got != want {
			t.Errorf("%s: got %s, want %s", declared, got, want)
		}
	}
}

func TestWrongValues(t *testing.T) {
	for _, c := range []struct{ declared, given, want string }{
		{"int64", `[1,"x"]`, `value 1: "x" is not a valid BIGINT`},
		{"int64", `[9223372036854775808]`, `value 0: 9223372036854775808 is out of the range of BIGINT`},
		{"int8", `[128]`, `out of the range of TINYINT, -128 to 127`},
		{"int64", `[true]`, `value 0: true is not a valid BIGINT`},
		{"int64", `[1.5]`, `1.5 is not a valid BIGINT`},
		{"boolean", `["true"]`, `"true" is not a valid BOOLEAN`},
		{"float64", `[{}]`, `{} is not a valid DOUBLE`},
		{"float32", `[1e300]`, `1e300 is out of the range of float32`},
		{"decimal(4,2)", `[1.234]`, `has more than 2 digits after the point`},
		{"decimal(4,2)", `[1e9]`, `is too large for DECIMAL(4,2)`},
		{"decimal(4,2)", `["x"]`, `"x" is not a valid DECIMAL(4,2)`},
		{"utf8", `[1]`, `1 is not a valid VARCHAR`},
		{"binary", `["xyz"]`, `is not hexadecimal text`},
		{"date", `["2024-02-30"]`, `write YYYY-MM-DD`},
		{"uuid", `["x"]`, `write 32 hexadecimal digits`},
		{"enum('a', 'b')", `["c"]`, `"c" is not one of ["a","b"]`},
		{"list<int64>", `[1]`, `1 is not a valid BIGINT[]`},
		{"list<int64>", `[[1,[]]]`, `element 1: [] is not a valid BIGINT`},
		{"int64[2]", `[[1]]`, `1 elements are not a valid BIGINT[2]: it has 2`},
		{"struct<a: int64>", `[[1]]`, `[1] is not a valid STRUCT`},
		{"struct<a: int64>", `[{"a":"x"}]`, `value 0: field "a": "x" is not a valid BIGINT`},
		{"map<int64, int64>", `[{"x":1}]`, `key "x": "x" is not a valid BIGINT`},
		{"map<utf8, int64>", `[{"x":1,"x":2}]`, `key "x" appears twice`},
		{"hugeint", `[170141183460469231731687303715884105727]`, `is too large for DECIMAL(38,0)`},
		{"int64", `{"a":1}`, `not a list`},
	} {
		_, err := form(t, c.declared).Array([]byte(c.given), 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: error %v, want %s", c.declared, c.given, err, c.want)
		}
		var wrong *arrowjson.ValueError
		if is := errors.As(err, &wrong); is == (c.want == "not a list") {
			t.Errorf("%s: %T", c.given, err)
		}
	}
}

func TestTypesWithoutForm(t *testing.T) {
	for _, declared := range []string{"union(n int64, s utf8)", "list<union(n int64)>", "struct<a: union(n int64)>"} {
		typ, err := functions.ParseType(declared)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := arrowjson.Of(typ.Duck(), carried(typ.Duck())); err == nil || !strings.Contains(err.Error(), "has no form in JSON") {
			t.Errorf("%s: %v", declared, err)
		}
	}
}

func TestBinaryOfTools(t *testing.T) {
	typ := form(t, "list<binary>").Type
	f, err := arrowjson.OfTool(typ, carried(typ))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, f, `[["AP8=",""]]`); got != `[["AP8=",""]]` {
		t.Errorf("got %s", got)
	}
	for given, want := range map[string]string{`[["?"]]`: "is not base64 text", `[[1]]`: "1 is not a valid BLOB"} {
		if _, err := f.Array([]byte(given), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestMember(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{"values" : [1, {"values":2}] , "x":3}`, `[1, {"values":2}]`},
		{`{"a":"}{\"","values":"\\"}`, `"\\"`},
		{`{"a":1}`, ""},
		{`{"v\u0061lues":7}`, `7`},
	} {
		raw, err := arrowjson.Member([]byte(c.object), "values")
		if err != nil || string(raw) != c.want {
			t.Errorf("%s: %q, %v", c.object, raw, err)
		}
	}
	if _, err := arrowjson.Member([]byte(`[1]`), "values"); err == nil {
		t.Error("a list has members")
	}
}

// What is read is written and read again as the same.
func FuzzArray(f *testing.F) {
	types := []string{
		"int64", "float64", "decimal(38,10)", "utf8", "json", "binary", "date", "timestamptz", "interval", "uuid", "time", "hugeint",
		"list<struct<a: int64, b: enum('x', 'y')>>", "int64[2]", "map<utf8, list<boolean>>", "struct<a: map<int64, utf8>>",
	}
	for i, seed := range []string{
		`[1,null]`, `[1e3]`, `["0.1"]`, `["\u00e9\ud800"]`, `[{"a":[]}]`, `["00"]`, `["infinity"]`, `["2024-02-29T12:30:00Z"]`, `["P1D"]`,
		`[""]`, `["24:00:00"]`, `["-1"]`, `[[{"a":1,"b":"x"},null]]`, `[[1,2]]`, `[{"a":[true]}]`, `[{"a":{"1":"x"}}]`,
	} {
		f.Add(i, seed)
	}
	f.Fuzz(func(t *testing.T, which int, list string) {
		if !json.Valid([]byte(list)) || which < 0 {
			return
		}
		f := form(t, types[which%len(types)])
		a, err := f.Array([]byte(list), 1)
		if err != nil {
			return
		}
		first := show(f, a)
		if !json.Valid([]byte(first)) {
			t.Fatalf("%s: %s is not JSON", f.Type, first)
		}
		if second := written(t, f, first); second != first {
			t.Errorf("%s: %s becomes %s", f.Type, first, second)
		}
	})
}
