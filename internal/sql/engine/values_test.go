package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// render writes value i of v in a way every type can be compared in.
func render(v *Vector, i int) string {
	if !v.Valid(i) {
		return "NULL"
	}
	switch v.Type.ID {
	case Boolean:
		return fmt.Sprint(Value[bool](v, i))
	case TinyInt:
		return fmt.Sprint(Value[int8](v, i))
	case SmallInt:
		return fmt.Sprint(Value[int16](v, i))
	case Integer, Date:
		return fmt.Sprint(Value[int32](v, i))
	case BigInt, Time, TimeNS, Timestamp, TimestampS, TimestampMS, TimestampNS, TimestampTZ:
		return fmt.Sprint(Value[int64](v, i))
	case TimeTZ, UBigInt:
		return fmt.Sprint(Value[uint64](v, i))
	case UTinyInt:
		return fmt.Sprint(Value[uint8](v, i))
	case USmallInt:
		return fmt.Sprint(Value[uint16](v, i))
	case UInteger:
		return fmt.Sprint(Value[uint32](v, i))
	case HugeInt, UHugeInt, UUID:
		return fmt.Sprintf("%x:%x", uint64(Value[value.Int128](v, i).High), Value[value.Int128](v, i).Low)
	case Float:
		return fmt.Sprint(Value[float32](v, i))
	case Double:
		return fmt.Sprint(Value[float64](v, i))
	case Interval:
		return fmt.Sprint(Value[value.Interval](v, i))
	case Varchar, Blob, Bit:
		return fmt.Sprintf("%q", v.Bytes(i))
	case Enum:
		return v.Type.Values[v.EnumIndex(i)]
	}
	return renderNested(v, i)
}

func renderNested(v *Vector, i int) string {
	var parts []string
	elements := func(from, n int) string {
		for j := range n {
			parts = append(parts, render(v.Elem(), from+j))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	switch v.Type.ID {
	case List, Map:
		e := Value[ListEntry](v, i)
		return elements(int(e.Offset), int(e.Length))
	case Array:
		return elements(i*v.Type.Size, v.Type.Size)
	case Struct:
		for j, f := range v.Type.Fields {
			parts = append(parts, f.Name+":"+render(v.Field(j), i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case Union:
		tag := int(Value[uint8](v.Field(0), i))
		return v.Type.Fields[tag].Name + "=" + render(v.Field(tag+1), i)
	case Decimal:
		switch {
		case v.Type.Width <= 4:
			return fmt.Sprint(Value[int16](v, i))
		case v.Type.Width <= 9:
			return fmt.Sprint(Value[int32](v, i))
		case v.Type.Width <= 18:
			return fmt.Sprint(Value[int64](v, i))
		}
		return fmt.Sprintf("%x:%x", uint64(Value[value.Int128](v, i).High), Value[value.Int128](v, i).Low)
	}
	return "?"
}

// values returns the first column, rendered.
func values(db *DB, sql string, p Params) (out []string, typ string, err error) {
	rows, err := db.Query(context.Background(), Request{SQL: sql, Params: p})
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	for c, err := range rows.Chunks() {
		if err != nil {
			return nil, "", err
		}
		for i := range c.Len() {
			out = append(out, render(c.Column(0), i))
		}
	}
	return out, rows.Columns()[0].Type.String(), nil
}

// typeCases hold a value of each type, as render writes it.
var typeCases = []struct{ sql, typ, want string }{
	{"true", "BOOLEAN", "true"},
	{"(-128)::TINYINT", "TINYINT", "-128"},
	{"(-32768)::SMALLINT", "SMALLINT", "-32768"},
	{"(-2147483648)::INTEGER", "INTEGER", "-2147483648"},
	{"(-9223372036854775808)::BIGINT", "BIGINT", "-9223372036854775808"},
	{"255::UTINYINT", "UTINYINT", "255"},
	{"65535::USMALLINT", "USMALLINT", "65535"},
	{"4294967295::UINTEGER", "UINTEGER", "4294967295"},
	{"18446744073709551615::UBIGINT", "UBIGINT", "18446744073709551615"},
	{"(-1)::HUGEINT", "HUGEINT", "ffffffffffffffff:ffffffffffffffff"},
	{"340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT", "ffffffffffffffff:ffffffffffffffff"},
	{"1.5::FLOAT", "FLOAT", "1.5"},
	{"'nan'::DOUBLE", "DOUBLE", "NaN"},
	{"(-1.5)::DECIMAL(4,1)", "DECIMAL(4,1)", "-15"},
	{"1.5::DECIMAL(9,1)", "DECIMAL(9,1)", "15"},
	{"1.5::DECIMAL(18,1)", "DECIMAL(18,1)", "15"},
	{"(-1.5)::DECIMAL(38,1)", "DECIMAL(38,1)", "ffffffffffffffff:fffffffffffffff1"},
	{"''", "VARCHAR", `""`},
	{"'twelve bytes'", "VARCHAR", `"twelve bytes"`},
	{"repeat('ä', 100)", "VARCHAR", `"` + strings.Repeat("ä", 100) + `"`},
	{"'{\"a\":1}'::JSON", "JSON", `"{\"a\":1}"`},
	{"'\\x00\\xFF'::BLOB", "BLOB", `"\x00\xff"`},
	{"DATE '1969-12-31'", "DATE", "-1"},
	{"TIME '00:00:01'", "TIME", "1000000"},
	{"'00:00:01'::TIME_NS", "TIME_NS", "1000000000"},
	{"TIMESTAMP '1970-01-01 00:00:01'", "TIMESTAMP", "1000000"},
	{"'1970-01-01 00:00:01'::TIMESTAMP_S", "TIMESTAMP_S", "1"},
	{"'1970-01-01 00:00:01'::TIMESTAMP_MS", "TIMESTAMP_MS", "1000"},
	{"'1970-01-01 00:00:01'::TIMESTAMP_NS", "TIMESTAMP_NS", "1000000000"},
	{"'1970-01-01 00:00:01+00'::TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "1000000"},
	{"INTERVAL '1 month 2 days 3 microseconds'", "INTERVAL", "{1 2 3}"},
	{"'00000000-0000-0000-0000-000000000001'::UUID", "UUID", "8000000000000000:1"},
	{"'b'::ENUM ('a', 'b')", "ENUM('a', 'b')", "b"},
	{"[1, NULL, 3]", "INTEGER[]", "[1 NULL 3]"},
	{"[]::VARCHAR[]", "VARCHAR[]", "[]"},
	{"[[1], NULL, []]", "INTEGER[][]", "[[1] NULL []]"},
	{"[1, 2]::INT[2]", "INTEGER[2]", "[1 2]"},
	{"[[1, 2], NULL]::INT[2][]", "INTEGER[2][]", "[[1 2] NULL]"},
	{"{'a': 1, 'B c': [NULL, 'x']}", `STRUCT(a INTEGER, "B c" VARCHAR[])`, `{a:1 B c:[NULL "x"]}`},
	{"MAP {'a': 1, 'b': NULL}", "MAP(VARCHAR, INTEGER)", `[{key:"a" value:1} {key:"b" value:NULL}]`},
	{"union_value(num := 2)::UNION(num INTEGER, str VARCHAR)", "UNION(num INTEGER, str VARCHAR)", "num=2"},
	{"'x'::UNION(num INTEGER, str VARCHAR)", "UNION(num INTEGER, str VARCHAR)", `str="x"`},
	{"[{'a': MAP {1: [1.5]}}]", "STRUCT(a MAP(INTEGER, DECIMAL(2,1)[]))[]", "[{a:[{key:1 value:[15]}]}]"},
	{"NULL", "INTEGER", "NULL"},
}

func TestEveryTypeIsRead(t *testing.T) {
	db := open(t)
	for _, c := range typeCases {
		// First the value, then NULL, then the value after three chunks.
		null := "CASE WHEN range = 1 THEN NULL ELSE v END"
		if strings.HasSuffix(c.typ, "[2]") { // CASE does not know ARRAY
			null = "[v, NULL][1 + (range = 1)::INT]"
		}
		for _, sql := range []string{
			"SELECT " + c.sql,
			"SELECT " + null + " FROM range(5000), (SELECT " + c.sql + " AS v) ORDER BY range",
		} {
			got, typ, err := values(db, sql, Params{})
			if err != nil || typ != c.typ {
				t.Errorf("%s: type %s, want %s, %v", sql, typ, c.typ, err)
				continue
			}
			if got[0] != c.want || got[len(got)-1] != c.want || len(got) > 1 && (got[1] != "NULL" || got[4999] != c.want || len(got) != 5000) {
				t.Errorf("%s: %d values, %q, want %q", sql, len(got), got[:min(len(got), 3)], c.want)
			}
		}
		if c.sql == "NULL" {
			continue
		}
		if _, typ, err := values(db, "SELECT CAST(NULL AS "+c.typ+")", Params{}); err != nil || typ != c.typ {
			t.Errorf("%s does not round-trip: %s %v", c.typ, typ, err)
		}
	}
}

func TestTypesAreWrittenAsDuckDBWritesThem(t *testing.T) {
	db := open(t)
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	names := []string{"plain", "_a1", "1a", "Upper", "Select", "é", "a b", `a"b`}
	err = stage.Query("SELECT DISTINCT keyword_name FROM duckdb_keywords()", func(c *Chunk) error {
		for i := range c.Len() {
			if name := string(c.Column(0).Bytes(i)); name != "plain" {
				names = append(names, name)
			}
		}
		return nil
	})
	if err != nil || len(names) < 400 {
		t.Fatal(len(names), err)
	}
	values := []string{"row(1, 'a')", "[row(row(1), {'from': 2})]", `union_value("select" := 1)`, "MAP {'a': {'end': 1}}"}
	for _, name := range names {
		values = append(values, "{"+Literal(name)+": 1}")
	}
	for _, value := range values {
		err := stage.Query("SELECT v, typeof(v) FROM (SELECT "+value+" AS v)", func(c *Chunk) error {
			if got, want := c.Column(0).Type.String(), string(c.Column(1).Bytes(0)); got != want {
				t.Errorf("%s: %s, want %s", value, got, want)
			}
			return nil
		})
		if err != nil {
			t.Error(value, err)
		}
	}
}

func TestNamesThatNeedQuotes(t *testing.T) {
	db := open(t)
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	reserved := map[string]bool{}
	err = stage.Query("SELECT DISTINCT keyword_name, keyword_category IN ('reserved', 'type_function') FROM duckdb_keywords()", func(c *Chunk) error {
		for i := range c.Len() {
			name := string(c.Column(0).Bytes(i))
			reserved[name] = reserved[name] || Value[bool](c.Column(1), i)
		}
		return nil
	})
	if err != nil || len(reserved) < 400 {
		t.Fatal(len(reserved), err)
	}
	for name, want := range reserved {
		if got := NeedsQuotes(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestEnumsOfEveryWidth(t *testing.T) {
	db := open(t)
	for _, n := range []int{1, 254, 255, 256, 257, 65534, 65535, 65536} {
		if err := db.Exec(context.Background(), fmt.Sprintf("CREATE OR REPLACE TYPE spice.public.en AS ENUM (SELECT 'v' || range FROM range(%d))", n)); err != nil {
			t.Fatal(err)
		}
		if err := db.Publish(context.Background(), NewCatalog(Contents{Generation: 1}), execAll(
			"CREATE OR REPLACE VIEW spice.public.one AS SELECT 1")); err != nil {
			t.Fatal(err)
		}
		got, _, err := values(db, fmt.Sprintf("SELECT 'v%d'::en", n-1), Params{})
		if want := fmt.Sprintf("v%d", n-1); err != nil || got[0] != want {
			t.Errorf("%d values: %q %v", n, got, err)
		}
	}
}

func TestValidityMask(t *testing.T) {
	db := open(t)
	rows, err := db.Query(context.Background(), Request{SQL: "SELECT CASE WHEN range % 3 = 0 THEN NULL ELSE range END, range FROM range(5000)"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	at := 0
	for c, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		mask := c.Column(0).Validity(c.Len())
		nums := Values[int64](c.Column(1), c.Len())
		for i := range c.Len() {
			valid := at%3 != 0
			if c.Column(0).Valid(i) != valid || mask[i/64]>>(i%64)&1 == 1 != valid || nums[i] != int64(at) || !c.Column(1).Valid(i) {
				t.Fatalf("row %d", at)
			}
			at++
		}
	}
	if at != 5000 || rows.Read() != 5000 {
		t.Error(at)
	}
}

func TestParameters(t *testing.T) {
	db := fixture(t, Options{})
	num := func(s string) any { return json.Number(s) }
	list := func(v ...any) any { return v }
	for _, c := range []struct {
		sql    string
		param  any
		typ    string
		result string
	}{
		{"SELECT $1", nil, "INTEGER", "NULL"},
		{"SELECT $1", true, "BOOLEAN", "true"},
		{"SELECT $1", int64(-5), "BIGINT", "-5"},
		{"SELECT $1", 5, "BIGINT", "5"},
		{"SELECT $1", 1.5, "DOUBLE", "1.5"},
		{"SELECT $1", "ä", "VARCHAR", `"ä"`},
		{"SELECT $1", "a\x00b", "VARCHAR", `"a\x00b"`},
		{"SELECT $1", []byte{0, 255}, "BLOB", `"\x00\xff"`},
		{"SELECT $1", num("9007199254740993"), "BIGINT", "9007199254740993"},
		{"SELECT $1", num("-9223372036854775808"), "BIGINT", "-9223372036854775808"},
		{"SELECT $1", num("9223372036854775808"), "HUGEINT", "0:8000000000000000"},
		{"SELECT $1", num("-9223372036854775809"), "HUGEINT", "ffffffffffffffff:7fffffffffffffff"},
		{"SELECT $1::VARCHAR", num("85070591730234615865843651857942052865"), "VARCHAR", `"85070591730234615865843651857942052865"`},
		{"SELECT $1", num("170141183460469231731687303715884105727"), "HUGEINT", "7fffffffffffffff:ffffffffffffffff"},
		{"SELECT $1", num("-170141183460469231731687303715884105728"), "HUGEINT", "8000000000000000:0"},
		{"SELECT $1", num("170141183460469231731687303715884105728"), "DOUBLE", "1.7014118346046923e+38"},
		{"SELECT $1", num("-1.70141183460469231731687303715884105729e38"), "DOUBLE", "-1.7014118346046923e+38"},
		{"SELECT $1", num("1e3"), "DOUBLE", "1000"},
		{"SELECT $1", num("1e39"), "DOUBLE", "1e+39"},
		{"SELECT $1", value.Numeric("1.50"), "DECIMAL(3,2)", "150"},
		{"SELECT $1", value.Numeric("-0.05"), "DECIMAL(2,2)", "-5"},
		{"SELECT $1", value.Numeric("1.5e2"), "DECIMAL(3,0)", "150"},
		{"SELECT $1", value.Numeric("15e-1"), "DECIMAL(2,1)", "15"},
		{"SELECT $1", value.Numeric("5"), "BIGINT", "5"},
		{"SELECT $1", value.Numeric("1e99"), "DOUBLE", "1e+99"},
		{"SELECT $1::DECIMAL(4,2)", value.Numeric("1.255"), "DECIMAL(4,2)", "126"},
		{"SELECT $1::DOUBLE", value.Numeric("1.5"), "DOUBLE", "1.5"},
		{"SELECT $1::HUGEINT::VARCHAR", value.Numeric("12345678901234567890.5"), "VARCHAR", `"12345678901234567891"`},
		{"SELECT $1::HUGEINT::VARCHAR", value.Numeric("1e38"), "VARCHAR", `"1` + strings.Repeat("0", 38) + `"`},
		{"SELECT $1::BIGINT", value.Numeric("-2.5"), "BIGINT", "-3"},
		{"SELECT 1::DECIMAL(38,10) < $1", value.Numeric("1234567890123456789012345678.12345678905"), "BOOLEAN", "true"},
		{"SELECT $1", value.Numeric("1e-50"), "DOUBLE", "1e-50"},
		{"SELECT $1::VARCHAR", num("1234567890123456789012345678.1234567890"), "VARCHAR", `"1234567890123456789012345678.1234567890"`},
		{"SELECT $1", num("0.30000000000000004"), "DOUBLE", "0.30000000000000004"},
		{"SELECT 1.50::DECIMAL(4,2) = $1", value.Numeric("1.5001"), "BOOLEAN", "false"},
		{"SELECT $1", list(value.Numeric("1"), value.Numeric("2.5"), value.Numeric("0.25")), "DECIMAL(21,2)[]", "[0:64 0:fa 0:19]"},
		{"SELECT $1", list(value.Numeric("1.5"), 0.5), "DOUBLE[]", "[1.5 0.5]"},
		{"SELECT $1", list(value.Numeric("1"+strings.Repeat("0", 20)+".5"), value.Numeric("0."+strings.Repeat("0", 19)+"1")), "DOUBLE[]", "[1e+20 1e-20]"},
		{"SELECT $1::UHUGEINT", num("340282366920938463463374607431768211455"), "UHUGEINT", "ffffffffffffffff:ffffffffffffffff"},
		{"SELECT $1::UHUGEINT[]", list(num("1"), value.Numeric("340282366920938463463374607431768211455")), "UHUGEINT[]", "[0:1 ffffffffffffffff:ffffffffffffffff]"},
		{"SELECT $1", uint64(1 << 63), "UBIGINT", "9223372036854775808"},
		{"SELECT $1", value.Date(-value.DateInfinity), "DATE", "-2147483647"},
		{"SELECT $1", value.TimestampTZ(value.Infinity), "TIMESTAMP WITH TIME ZONE", "9223372036854775807"},
		{"SELECT $1", value.Interval{Months: 1, Days: -2, Micros: 3}, "INTERVAL", "{1 -2 3}"},
		{"SELECT $1", list(value.Timestamp(1), nil), "TIMESTAMP[]", "[1 NULL]"},
		{"SELECT $1::TIME_NS", value.Time(1), "TIME_NS", "1000"},
		{"SELECT $1::INTERVAL", value.TimeNS(2000), "INTERVAL", "{0 0 2}"},
		{"SELECT $1::TIMESTAMP_S", value.TimestampNS(-1_000_000_000), "TIMESTAMP_S", "-1"},
		{"SELECT $1::DATE", "0001-01-01 (BC)", "DATE", "-719528"},
		{"SELECT $1::INTERVAL", "P1Y2DT3S", "INTERVAL", "{12 2 3000000}"},
		{"SELECT $1::DECIMAL(4,2)", num("1.25"), "DECIMAL(4,2)", "125"},
		{"SELECT $1::DECIMAL(38,2)", "1.25", "DECIMAL(38,2)", "0:7d"},
		{"SELECT $1::DATE", "1970-01-02", "DATE", "1"},
		{"SELECT $1::DATE", "0001-01-01", "DATE", "-719162"},
		{"SELECT $1::TIMESTAMP", "1970-01-01T00:00:01Z", "TIMESTAMP", "1000000"},
		{"SELECT $1::TIMESTAMP", "1969-12-31 23:59:59.5", "TIMESTAMP", "-500000"},
		{"SELECT $1::TIMESTAMPTZ", "1970-01-01T01:00:01+01:00", "TIMESTAMP WITH TIME ZONE", "1000000"},
		{"SELECT $1::DATE[]", list("1970-01-02", "infinity", nil), "DATE[]", "[1 2147483647 NULL]"},
		{"SELECT $1::TIMESTAMP[][]", list(list("1970-01-01 00:00:01"), list("-infinity")), "TIMESTAMP[][]", "[[1000000] [-9223372036854775807]]"},
		{"SELECT $1::TIMESTAMPTZ[]", list("1970-01-01 00:00:01", "epoch"), "TIMESTAMP WITH TIME ZONE[]", "[1000000 0]"},
		{"SELECT $1::INT", "42", "INTEGER", "42"},
		{"SELECT $1", list(), "INTEGER[]", "[]"},
		{"SELECT $1", list(int64(1), nil), "BIGINT[]", "[1 NULL]"},
		{"SELECT $1", list(num("1"), num("2.5")), "DOUBLE[]", "[1 2.5]"},
		{"SELECT $1", list(num("1"), num("9223372036854775808")), "HUGEINT[]", "[0:1 0:8000000000000000]"},
		{"SELECT $1", list(list(num("1")), list(num("2.5"))), "DOUBLE[][]", "[[1] [2.5]]"},
		{"SELECT $1", list(nil, list(num("1"))), "BIGINT[][]", "[NULL [1]]"},
		{"SELECT $1", list(nil, nil), "INTEGER[]", "[NULL NULL]"},
		{"SELECT $1", map[string]any{"b": "x", "a": int64(1)}, "STRUCT(a BIGINT, b VARCHAR)", `{a:1 b:"x"}`},
		{"SELECT $1", list(map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}), "STRUCT(a BIGINT)[]", "[{a:1} {a:2}]"},
		{"SELECT $1", map[string]any{"a": list(map[string]any{"b": nil})}, "STRUCT(a STRUCT(b INTEGER)[])", "{a:[{b:NULL}]}"},
		{"SELECT twice($1)", num("21"), "DOUBLE", "42"},
		{"SELECT $1 + i FROM k LIMIT 1", num("1"), "BIGINT", "1"},
	} {
		got, typ, err := values(db, c.sql, Params{Positional: []any{c.param}})
		if err != nil || len(got) != 1 || got[0] != c.result || typ != c.typ {
			t.Errorf("%s with %#v: %s %q %v; want %s %s", c.sql, c.param, typ, got, err, c.typ, c.result)
		}
	}
}

func TestWrongParameters(t *testing.T) {
	db := fixture(t, Options{})
	deep := any(nil)
	for range 40 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		sql  string
		p    Params
		want string
	}{
		{"SELECT $1", Params{}, "the statement has 1 parameter, got 0"},
		{"SELECT 1", Params{Positional: []any{1}}, "the statement has 0 parameters, got 1"},
		{"SELECT ?, ?", Params{Positional: []any{1}}, "the statement has 2 parameters, got 1"},
		{"SELECT $a", Params{Positional: []any{1}}, "parameter $a is named; give parameters as an object"},
		{"SELECT :a", Params{Named: map[string]any{"b": 1}}, `parameter $a has no value; add "a" to parameters`},
		{"SELECT :a", Params{Named: map[string]any{"a": 1, "b": 1}}, "the statement has no parameter $b"},
		{"SELECT :a", Params{Named: map[string]any{"a": 1}, Positional: []any{1}}, "give parameters by position or by name, not both"},
		{"SELECT $1", Params{Positional: []any{struct{}{}}}, "parameter $1: values of Go type struct {} are not supported"},
		{"SELECT $1", Params{Positional: []any{deep}}, "nested deeper than 32"},
		{"SELECT $1", Params{Positional: []any{[]any{1, "x"}}}, "parameter $1: the elements of a list must have one type"},
		{"SELECT $1::DATE[]", Params{Positional: []any{[]any{"1970-01-01", 1}}}, "parameter $1: the elements of a list must have one type"},
		{"SELECT $1", Params{Positional: []any{[]any{map[string]any{"a": 1}, map[string]any{"b": 1}}}}, "parameter $1: the elements of a list must have one type"},
		{"SELECT $1", Params{Positional: []any{map[string]any{}}}, "parameter $1: an object needs at least one field"},
		{"SELECT $1", Params{Positional: []any{map[string]any{"a": 1, "A": 2}}}, `parameter $1: field "a" is given twice: field names are case-insensitive`},
		{"SELECT $1", Params{Positional: []any{map[string]any{"": 1}}}, `parameter $1: "" is not a valid field name`},
		{"SELECT $1", Params{Positional: []any{[]any{[]any{1}, map[string]any{"a": 1}}}}, "parameter $1: the elements of a list must have one type"},
		{"SELECT $1", Params{Positional: []any{"\xff"}}, "parameter $1: text must be UTF-8"},
		{"SELECT $1", Params{Positional: []any{json.Number("1e999")}}, `parameter $1: "1e999" is not a number in range`},
		{"SELECT $1::INT", Params{Positional: []any{"x"}}, `parameter $1: "x" is not a number in range`},
		{
			"SELECT $1",
			Params{Positional: []any{json.Number("1" + strings.Repeat("0", 40))}},
			`does not fit exactly: the nearest number of 64 bits is 1e+40; send that, or send the number as text`,
		},
		{"SELECT $1", Params{Positional: []any{json.Number("1e-400")}}, `parameter $1: 1e-400 does not fit exactly: the nearest number of 64 bits is 0`},
		{"SELECT $1::DOUBLE", Params{Positional: []any{json.Number("9007199254740993")}}, `the nearest number of 64 bits is 9007199254740992`},
		{"SELECT $1::FLOAT", Params{Positional: []any{json.Number("16777217")}}, `the nearest number of 32 bits is 16777216`},
		{
			"SELECT $1",
			Params{Positional: []any{[]any{json.Number("9007199254740993"), json.Number("0.5")}}},
			`parameter $1: element 0: 9007199254740993 does not fit`,
		},
		{
			"SELECT $a",
			Params{Named: map[string]any{"a": map[string]any{"x": []any{[]any{json.Number("9007199254740993")}, []any{json.Number("0.5")}}}}},
			`parameter $a: field "x": element 0: element 0: 9007199254740993`,
		},
		{"SELECT $1", Params{Positional: []any{value.Numeric("1" + strings.Repeat("0", 39) + "1")}}, `does not fit exactly`},
		{"SELECT $1::DECIMAL(4,2)", Params{Positional: []any{"123.456"}}, "parameter $1: 123.456 has more than 2 digits after the point"},
		{"SELECT $1::DECIMAL(4,2)", Params{Positional: []any{"1e999999999"}}, `parameter $1: "1e999999999" is not a number`},
		{"SELECT $1::DECIMAL(4,2)", Params{Positional: []any{"1/4"}}, `parameter $1: "1/4" is not a number`},
		{"SELECT $1::DATE", Params{Positional: []any{"x"}}, "date"},
		{"SELECT $1", Params{Positional: []any{value.Time(-1)}}, "parameter $1: -1 microseconds are not a time of day"},
		{"SELECT $1", Params{Positional: []any{value.TimeTZ{Offset: 57600}}}, "an offset from UTC of 57600 seconds is out of range"},
		{
			"SELECT $1",
			Params{Positional: []any{value.Numeric("1234567890123456789012345678.12345678905")}},
			"a number of 39 digits, which no type has: send it as text",
		},
		{"SELECT $1", Params{Positional: []any{value.Timestamp(-9223372022400000001)}}, "a timestamp of -9223372022400000001 microseconds is out of range"},
	} {
		_, err := run(context.Background(), db, Request{SQL: c.sql, Params: c.p})
		if err == nil {
			t.Errorf("%s with %v was allowed; want %s", c.sql, c.p, c.want)
			continue
		}
		e := asError(t, err)
		if !strings.Contains(e.Error(), c.want) || e.Code != errcode.Argument && c.want != "date" {
			t.Errorf("%s: %s\n%s", c.sql, e.Code, cmp.Diff(c.want, e.Error()))
		}
	}
	mustInteger(t, db, "SELECT $2::BIGINT * 10 + $1::BIGINT", 42, int64(2), int64(4))
	mustInteger(t, db, "SELECT ?::BIGINT * 10 + ?::BIGINT", 42, int64(4), int64(2))
}

// TestTimesOutOfRangeAreNoInput: DuckDB does not check the values of an [Input], and its texts of
// wrong ones have foreign memory in them.
func TestTimesOutOfRangeAreNoInput(t *testing.T) {
	for id, given := range map[TypeID]any{
		Time:        value.Time(1 << 62),
		TimeTZ:      value.TimeTZ{Offset: 86400},
		Timestamp:   value.Timestamp(-value.Infinity + 1),
		TimestampTZ: value.TimestampTZ(-value.Infinity + 1),
	} {
		typ := &Type{ID: id}
		if chunk, err := NewRow([]Column{{Name: "v", Type: typ}}, []any{given}); err == nil {
			chunk.Destroy()
			t.Errorf("%s: %v is taken", typ, given)
		}
		if chunk, err := NewRow([]Column{{Name: "v", Type: &Type{ID: List, Elem: typ}}}, []any{[]any{given}}); err == nil {
			chunk.Destroy()
			t.Errorf("%s[]: %v is taken", typ, given)
		}
	}
}
