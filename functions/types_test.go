package functions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/types"
)

func TestParseType(t *testing.T) {
	for _, tt := range []struct{ text, sql, arrow string }{
		{"int8", "TINYINT", "Int8"},
		{"INT", "INTEGER", "Int32"},
		{"Int64", "BIGINT", "Int64"},
		{"uint64", "UBIGINT", "UInt64"},
		{" float ", "FLOAT", "Float32"},
		{"double", "DOUBLE", "Float64"},
		{"string", "VARCHAR", "Utf8"},
		{"LargeUtf8", "VARCHAR", "LargeUtf8"},
		{"bool", "BOOLEAN", "Boolean"},
		{"large_binary", "BLOB", "LargeBinary"},
		{"date32", "DATE", "Date32"},
		{"date64", "TIMESTAMP_MS", "Date64"},
		{"decimal(10,2)", "DECIMAL(10,2)", "Decimal128(10, 2)"},
		{"Decimal128(38, 10)", "DECIMAL(38,10)", "Decimal128(38, 10)"},
		{"decimal256(38,0)", "DECIMAL(38,0)", "Decimal256(38, 0)"},
		{"timestamp(s)", "TIMESTAMP_S", "Timestamp(Second, None)"},
		{"timestamp(ms, none)", "TIMESTAMP_MS", "Timestamp(Millisecond, None)"},
		{"timestamp(us)", "TIMESTAMP", "Timestamp(Microsecond, None)"},
		{"Timestamp(Nanosecond, None)", "TIMESTAMP_NS", "Timestamp(Nanosecond, None)"},
		{`Timestamp(Microsecond, Some("UTC"))`, "TIMESTAMP WITH TIME ZONE", `Timestamp(Microsecond, Some("UTC"))`},
		{"timestamp(ms, utc)", "TIMESTAMP WITH TIME ZONE", `Timestamp(Millisecond, Some("utc"))`},
		{"double  precision", "DOUBLE", "Float64"},
		{"timestamp", "TIMESTAMP", "Timestamp(Microsecond, None)"},
		{"timestamp(3)", "TIMESTAMP_MS", "Timestamp(Millisecond, None)"},
		{"TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", `Timestamp(Microsecond, Some("UTC"))`},
		{"time64(ns)", "TIME_NS", "Time64(Nanosecond)"},
		{"numeric", "DECIMAL(18,3)", "Decimal128(18, 3)"},
		{"decimal(10)", "DECIMAL(10,0)", "Decimal128(10, 0)"},
		{"character varying(20)", "VARCHAR", "Utf8"},
		{"uuid", "UUID", "UUID"},
		{"int[3][]", "INTEGER[3][]", "List(FixedSizeList(3 x Int32))"},
		{`STRUCT(a INTEGER, "b ""c" VARCHAR[])`, `STRUCT(a INTEGER, "b ""c" VARCHAR[])`, `Struct("a": Int32, "b \"c": List(Utf8))`},
		{"map<utf8, int64>", "MAP(VARCHAR, BIGINT)", "Map(Utf8, Int64)"},
		{"ENUM('a', 'it''s')", "ENUM('a', 'it''s')", "ENUM('a', 'it''s')"},
		{"list<int64>", "BIGINT[]", "List(Int64)"},
		{"List(List(Utf8))", "VARCHAR[][]", "List(List(Utf8))"},
		{"largelist(bool)", "BOOLEAN[]", "LargeList(Boolean)"},
		{"List(nullable Int64)", "BIGINT[]", "List(Int64)"},
		{"struct<a:int64, b : list<utf8>>", `STRUCT(a BIGINT, b VARCHAR[])`, `Struct("a": Int64, "b": List(Utf8))`},
		{`Struct("x y": Utf8, 'q:,>': decimal(3,1))`, `STRUCT("x y" VARCHAR, "q:,>" DECIMAL(3,1))`, `Struct("x y": Utf8, "q:,>": Decimal128(3, 1))`},
	} {
		got, err := ParseType(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got.SQL() != tt.sql || got.Arrow() != tt.arrow || got.String() != strings.TrimSpace(tt.text) {
			t.Errorf("%s: got %s, %s, %s; want %s, %s", tt.text, got.SQL(), got.Arrow(), got, tt.sql, tt.arrow)
		}
	}
}

func TestParseTypeRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"": "", "int65": "", "map<a,b>": `no type "a"`, "list": "write list<int64>", "list<>": "",
		"list<int64": "", "list(int64>": "", "int64>": "", "list<int64>>": "", "decimal<10,2>": "", "decimal(0,0)": "", "geometry": "write varchar",
		"map<json,int>": "keys of a map", "enum(a)": "in quotes", "int[0]": "size of an array",
		"decimal(2,3)": "scale is larger", "decimal256(39,0)": "at most 38 digits", "struct<>": "no struct without fields",
		"struct<a>": "", "struct<a:int64,A:int64>": `"A" occurs twice`, "struct<:int64>": "no name", "timestamp(fs)": "", "timestamp(us, )": "",
		`struct<"a:int64>`: "", strings.Repeat("list<", 40) + "int64" + strings.Repeat(">", 40): "nested deeper", "int64; DROP TABLE x": "",
	} {
		_, err := ParseType(text)
		if err == nil {
			t.Errorf("%q was accepted", text)
			continue
		}
		if !strings.Contains(err.Error(), "'"+text+"'") || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "Use Arrow display types") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseType(strings.Repeat("x", MaxTypeText+1)); err == nil {
		t.Error("a type without end was accepted")
	}
}

func TestArrowNamesParse(t *testing.T) {
	for _, text := range types.Words() {
		if types.Named(text) == nil {
			continue
		}
		a, err := ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseType("struct<x: list<" + a.Arrow() + ">>")
		if err != nil || b.fields[0].typ.elem.SQL() != a.SQL() {
			t.Errorf("%s: %v %v", text, b, err)
		}
	}
}

func TestJSONSchema(t *testing.T) {
	for text, want := range map[string]string{
		"int8":           `{"maximum":127,"minimum":-128,"type":"integer"}`,
		"int64":          `{"type":"integer"}`,
		"float64":        `{"type":"number"}`,
		"binary":         `{"contentEncoding":"base64","type":"string"}`,
		"date32":         `{"format":"date","type":"string"}`,
		"list<utf8>":     `{"items":{"type":"string"},"type":"array"}`,
		"struct<a:bool>": `{"additionalProperties":false,"properties":{"a":{"type":"boolean"}},"required":["a"],"type":"object"}`,
	} {
		typ, err := ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(typ.JSONSchema()); string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestCoercible compares the rule with what the declared type may hold.
func TestCoercible(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"int32", "int64", true},
		{"int64", "int32", false},
		{"uint32", "uint64", true},
		{"uint32", "int64", true},
		{"int32", "uint64", false},
		{"uint64", "int64", false},
		{"int64", "float64", true},
		{"uint64", "float64", true},
		{"float32", "float64", true},
		{"float64", "float32", false},
		{"int16", "float32", true},
		{"int32", "float32", false},
		{"int64", "utf8", false},
		{"utf8", "large_utf8", true},
		{"large_utf8", "utf8", true},
		{"decimal(4,2)", "decimal(6,3)", true},
		{"decimal(4,2)", "decimal(4,3)", false},
		{"decimal(4,2)", "float64", true},
		{"decimal(4,2)", "float32", false},
		{"decimal(4,2)", "int64", false},
		{"int32", "decimal(12,2)", true},
		{"int32", "decimal(10,2)", false},
		{"date32", "timestamp(us)", true},
		{"timestamp(us)", "date32", false},
		{"timestamp(s)", "timestamp(ns)", true},
		{"timestamp(us)", "timestamp(ms)", false},
		{"timestamp(us, UTC)", "timestamp(us)", false},
		{"timestamp(us, UTC)", "timestamp(s, UTC)", true},
		{"list<int32>", "list<int64>", true},
		{"list<int64>", "list<int32>", false},
		{"list<int64>", "int64", false},
		{"struct<b:int32,a:utf8>", "struct<a:utf8,b:int64>", true},
		{"struct<a:utf8>", "struct<b:utf8>", false},
		{"struct<a:utf8>", "struct<a:utf8,b:utf8>", false},
		{"bool", "int64", false},
		{"int64", "bool", false},
		{"binary", "utf8", false},
	} {
		from, _ := ParseType(tt.from)
		to, _ := ParseType(tt.to)
		if got := coercible(from.duck, to.duck); got != tt.want {
			t.Errorf("%s → %s: got %v", tt.from, tt.to, got)
		}
	}
	bigint := &engine.Type{ID: engine.BigInt}
	for id, want := range map[engine.TypeID]bool{engine.HugeInt: true, engine.Null: true, engine.Interval: false} {
		if got := coercible(&engine.Type{ID: id}, bigint); got != want {
			t.Errorf("%v → int64: got %v", id, got)
		}
	}
}

func TestLiteral(t *testing.T) {
	n := func(s string) json.Number { return json.Number(s) }
	for _, tt := range []struct {
		typ   string
		value any
		want  string
	}{
		{"int64", n("9007199254740993"), "CAST('9007199254740993' AS BIGINT)"},
		{"int64", "12", "CAST('12' AS BIGINT)"},
		{"int64", n("3.0"), "CAST('3' AS BIGINT)"},
		{"int64", n("3.5"), "!3.5 is not a valid int64"},
		{"int8", n("300"), "!out of the range of int8, -128 to 127"},
		{"int64", n("1e999999999"), "!is not a valid int64"},
		{"int64", true, "!true is not a valid int64"},
		{"float64", n("1e3"), "CAST('1000' AS DOUBLE)"},
		{"utf8", "it's", "CAST('it''s' AS VARCHAR)"},
		{"utf8", n("1"), "!1 is not a valid utf8"},
		{"bool", true, "CAST(true AS BOOLEAN)"},
		{"binary", "aGk=", "CAST(from_base64('aGk=') AS BLOB)"},
		{"binary", "?", "!not base64"},
		{"list<int8>", []any{n("1"), nil}, "CAST([CAST('1' AS TINYINT), CAST(NULL AS TINYINT)] AS TINYINT[])"},
		{"struct<a:int8>", map[string]any{"a": n("1")}, "CAST({'a': CAST('1' AS TINYINT)} AS STRUCT(a TINYINT))"},
		{"struct<a:int8>", map[string]any{"b": n("1")}, `!no field "b"`},
	} {
		typ, _ := ParseType(tt.typ)
		got, err := typ.Literal(tt.value)
		if want, ok := strings.CutPrefix(tt.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %v: got %s, %v", tt.typ, tt.value, got, err)
			}
		} else if got != tt.want || err != nil {
			t.Errorf("%s %v: got %s, %v", tt.typ, tt.value, got, err)
		}
	}
}

// FuzzParseType: what is accepted is accepted again in Arrow's spelling, with
// the same meaning.
func FuzzParseType(f *testing.F) {
	for _, s := range []string{"int64", "list<struct<a:int8,'b c':utf8>>", "timestamp(us, Some(\"UTC\"))", "decimal(38,10)", "struct<\"", "list((("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := ParseType(text)
		if err != nil || strings.ContainsAny(typ.Arrow(), "\\") { // an odd field name that Go quotes with escapes
			return
		}
		again, err := ParseType(typ.Arrow())
		if err != nil || again.SQL() != typ.SQL() {
			if !strings.ContainsAny(text, "\"'`") {
				t.Errorf("%q → %q: %v", text, typ.Arrow(), err)
			}
		}
	})
}
