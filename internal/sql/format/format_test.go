package format_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB) *engine.DB {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// render is the result of a statement in a form.
func render(t testing.TB, db *engine.DB, form, sql string) []byte {
	t.Helper()
	f, ok := format.ByName(form)
	if !ok {
		t.Fatalf("no form %q", form)
	}
	rows, err := db.Query(context.Background(), engine.Request{SQL: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var out bytes.Buffer
	if _, err := format.Copy(f.NewWriter(&out), rows); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out.Bytes()
}

// scalarCases are one value of each kind in every form.
var scalarCases = []struct{ sql, json, csv, arrow string }{
	{"NULL", `null`, `""`, `"Int32"`},
	{"true", `true`, `true`, `"Boolean"`},
	{"(-128)::TINYINT", `-128`, `-128`, `"Int8"`},
	{"(-32768)::SMALLINT", `-32768`, `-32768`, `"Int16"`},
	{"(-2147483648)::INTEGER", `-2147483648`, `-2147483648`, `"Int32"`},
	{"(-9223372036854775808)::BIGINT", `-9223372036854775808`, `-9223372036854775808`, `"Int64"`},
	{"255::UTINYINT", `255`, `255`, `"UInt8"`},
	{"65535::USMALLINT", `65535`, `65535`, `"UInt16"`},
	{"4294967295::UINTEGER", `4294967295`, `4294967295`, `"UInt32"`},
	{"18446744073709551615::UBIGINT", `18446744073709551615`, `18446744073709551615`, `"UInt64"`},
	{
		"(-170141183460469231731687303715884105727)::HUGEINT", `-170141183460469231731687303715884105727`, `-170141183460469231731687303715884105727`,
		`{"Decimal128":[38,0]}`,
	},
	{
		"340282366920938463463374607431768211455::UHUGEINT", `340282366920938463463374607431768211455`, `340282366920938463463374607431768211455`,
		`{"Decimal256":[39,0]}`,
	},
	{"1.5::FLOAT", `1.5`, `1.5`, `"Float32"`},
	{"0.1::FLOAT", `0.1`, `0.1`, `"Float32"`},
	{"42::DOUBLE", `42.0`, `42.0`, `"Float64"`},
	{"'-0.0'::DOUBLE", `-0.0`, `-0.0`, `"Float64"`},
	{"4129.085647123::DOUBLE", `4129.085647123`, `4129.085647123`, `"Float64"`},
	{"1e300::DOUBLE", `1e+300`, `1e+300`, `"Float64"`},
	{"1e-7::DOUBLE", `1e-07`, `1e-07`, `"Float64"`},
	{"'nan'::DOUBLE", `null`, `NaN`, `"Float64"`},
	{"'-inf'::DOUBLE", `null`, `-inf`, `"Float64"`},
	{"'inf'::FLOAT", `null`, `inf`, `"Float32"`},
	{"(-0.05)::DECIMAL(4,2)", `-0.05`, `-0.05`, `{"Decimal128":[4,2]}`},
	{"1.50::DECIMAL(9,2)", `1.50`, `1.50`, `{"Decimal128":[9,2]}`},
	{"(-1234567890.12345678)::DECIMAL(18,8)", `-1234567890.12345678`, `-1234567890.12345678`, `{"Decimal128":[18,8]}`},
	{
		"99999999999999999999999999999999999999::DECIMAL(38,0)", `99999999999999999999999999999999999999`, `99999999999999999999999999999999999999`,
		`{"Decimal128":[38,0]}`,
	},
	{
		"0.00000000000000000000000000000000000001::DECIMAL(38,38)", `0.00000000000000000000000000000000000001`, `0.00000000000000000000000000000000000001`,
		`{"Decimal128":[38,38]}`,
	},
	{"'a\"b\\c' || chr(10) || chr(9) || chr(1) || 'é😀'", `"a\"b\\c\n\t\u0001é😀"`, "\"a\"\"b\\c\n\t\x01é😀\"", `"Utf8"`},
	{"''", `""`, `""`, `"Utf8"`},
	{"'\\x00\\xFFab'::BLOB", `"AP9hYg=="`, `AP9hYg==`, `"Binary"`},
	{"''::BLOB", `""`, `""`, `"Binary"`},
	{"'0101100111'::BIT", `"0101100111"`, `0101100111`, `"Utf8"`},
	{"'00112233-4455-6677-8899-aabbccddeeff'::UUID", `"00112233-4455-6677-8899-aabbccddeeff"`, `00112233-4455-6677-8899-aabbccddeeff`, `"Utf8"`},
	{"'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", `"ffffffff-ffff-ffff-ffff-ffffffffffff"`, `ffffffff-ffff-ffff-ffff-ffffffffffff`, `"Utf8"`},
	{"'b\"c'::ENUM('a', 'b\"c')", `"b\"c"`, `"b""c"`, `{"Dictionary":["UInt8","Utf8"]}`},
	{"DATE '2020-01-02'", `"2020-01-02"`, `2020-01-02`, `"Date32"`},
	{"DATE '0044-03-15 (BC)'", `"-0043-03-15"`, `-0043-03-15`, `"Date32"`},
	{"DATE '12345-06-07'", `"+12345-06-07"`, `+12345-06-07`, `"Date32"`},
	{"'infinity'::DATE", `"infinity"`, `infinity`, `"Date32"`},
	{"'-infinity'::DATE", `"-infinity"`, `-infinity`, `"Date32"`},
	{"TIME '03:04:05.123456'", `"03:04:05.123456"`, `03:04:05.123456`, `{"Time64":"Microsecond"}`},
	{"TIME '24:00:00'", `"24:00:00"`, `24:00:00`, `{"Time64":"Microsecond"}`},
	{"'03:04:05.123456789'::TIME_NS", `"03:04:05.123456789"`, `03:04:05.123456789`, `{"Time64":"Nanosecond"}`},
	{"'03:04:05.1+05:30'::TIMETZ", `"03:04:05.100+05:30"`, `03:04:05.100+05:30`, `"Utf8"`},
	{"'03:04:05-11:59:58'::TIMETZ", `"03:04:05-11:59:58"`, `03:04:05-11:59:58`, `"Utf8"`},
	{"TIMESTAMP '2020-01-02 03:04:05.123456'", `"2020-01-02T03:04:05.123456"`, `2020-01-02T03:04:05.123456`, `{"Timestamp":["Microsecond",null]}`},
	{"TIMESTAMP '1969-12-31 23:59:59.9'", `"1969-12-31T23:59:59.900"`, `1969-12-31T23:59:59.900`, `{"Timestamp":["Microsecond",null]}`},
	{"'infinity'::TIMESTAMP", `"infinity"`, `infinity`, `{"Timestamp":["Microsecond",null]}`},
	{"'-infinity'::TIMESTAMPTZ", `"-infinity"`, `-infinity`, `{"Timestamp":["Microsecond","UTC"]}`},
	{"'2020-01-02 03:04:05'::TIMESTAMP_S", `"2020-01-02T03:04:05"`, `2020-01-02T03:04:05`, `{"Timestamp":["Second",null]}`},
	{"'2020-01-02 03:04:05.678'::TIMESTAMP_MS", `"2020-01-02T03:04:05.678"`, `2020-01-02T03:04:05.678`, `{"Timestamp":["Millisecond",null]}`},
	{"'2020-01-02 03:04:05.123456789'::TIMESTAMP_NS", `"2020-01-02T03:04:05.123456789"`, `2020-01-02T03:04:05.123456789`, `{"Timestamp":["Nanosecond",null]}`},
	{"'2020-01-02 03:04:05+02'::TIMESTAMPTZ", `"2020-01-02T01:04:05Z"`, `2020-01-02T01:04:05Z`, `{"Timestamp":["Microsecond","UTC"]}`},
	{"INTERVAL '1 year 2 months 1 day 04:05:06.5'", `"1 year 2 months 1 day 04:05:06.5"`, `1 year 2 months 1 day 04:05:06.5`, `{"Interval":"MonthDayNano"}`},
	{"INTERVAL '0 days'", `"00:00:00"`, `00:00:00`, `{"Interval":"MonthDayNano"}`},
	{
		"[1, NULL, 3]", `[1,null,3]`, `"[1,null,3]"`,
		`{"List":{"name":"item","data_type":"Int32","nullable":true,"dict_id":0,"dict_is_ordered":false,"metadata":{}}}`,
	},
	{"[]", `[]`, `[]`, `{"List":{"name":"item","data_type":"Int32","nullable":true,"dict_id":0,"dict_is_ordered":false,"metadata":{}}}`},
	{"[['a'], [], NULL]", `[["a"],[],null]`, `"[[""a""],[],null]"`, ``},
	{
		"[1.5, 2]::FLOAT[2]", `[1.5,2.0]`, `"[1.5,2.0]"`,
		`{"FixedSizeList":[{"name":"item","data_type":"Float32","nullable":true,"dict_id":0,"dict_is_ordered":false,"metadata":{}},2]}`,
	},
	{"{'a': 1, 'b \"': 'x', 'c': NULL::INTEGER}", `{"a":1,"b \"":"x","c":null}`, `"{""a"":1,""b \"""":""x"",""c"":null}"`, ``},
	{"row(1, 'x')", `[1,"x"]`, `"[1,""x""]"`, ``},
	{"MAP {'k': 1, 'l': NULL}", `{"k":1,"l":null}`, `"{""k"":1,""l"":null}"`, ``},
	{"MAP {DATE '2020-01-02': [1]}", `{"2020-01-02":[1]}`, `"{""2020-01-02"":[1]}"`, ``},
	{"union_value(num := 2)::UNION(num INTEGER, str VARCHAR)", `{"num":2}`, `"{""num"":2}"`, ``},
	{`'{"a": [1, 2.50]}'::JSON`, `{"a": [1, 2.50]}`, `"{""a"": [1, 2.50]}"`, `"Utf8"`},
	{`('{"a":' || chr(10) || '1}')::JSON`, `{"a":1}`, "\"{\"\"a\"\":\n1}\"", `"Utf8"`},
	{"to_json('nan'::DOUBLE)", `"NaN"`, `NaN`, `"Utf8"`},
}

func TestEveryTypeInEveryForm(t *testing.T) {
	db := open(t)
	for _, c := range scalarCases {
		t.Run(c.sql, func(t *testing.T) {
			sql := "SELECT " + c.sql + " AS x"
			if got, want := string(render(t, db, "json", sql)), `[{"x":`+c.json+`}]`; got != want {
				t.Errorf("json: got %s, want %s", got, want)
			}
			if got, want := string(render(t, db, "ndjson", sql)), `{"x":`+c.json+"}\n"; got != want {
				t.Errorf("ndjson: got %s, want %s", got, want)
			}
			if got, want := string(render(t, db, "csv", sql)), "x\n"+c.csv+"\n"; got != want {
				t.Errorf("csv: got %q, want %q", got, want)
			}
			got := string(render(t, db, "sql", sql))
			if !json.Valid([]byte(got)) {
				t.Errorf("sql: not JSON: %s", got)
			}
			if want := `{"schema":{"fields":[{"name":"x","data_type":` + c.arrow; !strings.HasPrefix(got, want) {
				t.Errorf("sql: got %s, want it to begin with %s", got, want)
			}
		})
	}
}

// TestTextReadsBack compares with DuckDB: casting the text of a value back
// gives the value.
func TestTextReadsBack(t *testing.T) {
	db := open(t)
	for _, sql := range []string{
		"SELECT (random() * 1e9 - 5e8)::DECIMAL(18,6) AS x FROM range(5000)",
		"SELECT (hash(range)::HUGEINT * (hash(range + 1) // 16) - 90000000000000000000000000000000000000::HUGEINT) AS x FROM range(5000)",
		"SELECT DATE '1970-01-01' + (range * 137 - 800000)::INTEGER AS x FROM range(12000) WHERE range * 137 - 800000 > -719000",
		"SELECT TIMESTAMP '1970-01-01' + to_microseconds((hash(range) % 9000000000000000)::BIGINT - 4500000000000000) AS x FROM range(5000)",
		"SELECT to_months((range % 61 - 30)::INTEGER) + to_days((range % 7 - 3)::INTEGER) + to_microseconds((hash(range) % 900000000000)::BIGINT - 450000000000) " +
			"AS x FROM range(5000)",
		"SELECT uuid() AS x FROM range(5000)",
		"SELECT (hash(range) % 86400000000)::BIGINT::VARCHAR AS x FROM range(10)",
		"SELECT random() * power(10, (range % 60) - 30) AS x FROM range(5000)",
		"SELECT (random() * power(10, (range % 30) - 15))::FLOAT AS x FROM range(5000)",
	} {
		check := "WITH v AS MATERIALIZED (" + sql + ") SELECT x, x::VARCHAR FROM v"
		rows, err := db.Query(context.Background(), engine.Request{SQL: check})
		if err != nil {
			t.Fatal(err)
		}
		for chunk, err := range rows.Chunks() {
			if err != nil {
				t.Fatal(err)
			}
			for i := range chunk.Len() {
				got, want := text(chunk.Column(0), i), string(chunk.Column(1).Bytes(i))
				if !same(chunk.Column(0).Type, got, want) {
					t.Fatalf("%s: got %q, DuckDB writes %q", sql, got, want)
				}
			}
		}
		rows.Close()
	}
}

// text is a value as the helper for small results gives it.
func text(v *engine.Vector, i int) string {
	var s string
	out := format.JSON(nil, v, i)
	if json.Unmarshal(out, &s) == nil {
		return s
	}
	return string(out)
}

func same(t *engine.Type, got, want string) bool {
	switch t.ID {
	case engine.Timestamp:
		date, clock, _ := strings.Cut(want, " ")
		whole, fraction, _ := strings.Cut(clock, ".")
		for fraction != "" && len(fraction)%3 != 0 {
			fraction += "0"
		}
		if fraction != "" {
			whole += "." + fraction
		}
		return got == date+"T"+whole
	case engine.Double:
		return number(got) == number(want)
	case engine.Float:
		return float32(number(got)) == float32(number(want))
	}
	return got == want
}

func number(s string) float64 {
	var f float64
	if err := json.Unmarshal([]byte(s), &f); err != nil {
		panic(err)
	}
	return f
}

func TestGolden(t *testing.T) {
	db := open(t)
	queries := map[string]string{
		"mixed": `SELECT range::INTEGER AS id, CASE WHEN range % 3 = 0 THEN NULL ELSE 'name ' || range END AS name,
			range * 1.25 AS price, [range, NULL] AS parts, 'é' || repeat('日', range::INTEGER) AS wide FROM range(5) ORDER BY id`,
		"duplicates": `SELECT 1 AS x, 2 AS x, 3 AS "x:1", 4 AS x, 5 AS "a,""b"`,
		"empty":      `SELECT 1 AS id, 'x' AS name WHERE false`,
		"nulls":      `SELECT * FROM (VALUES (NULL, ''), (1, NULL)) v(a, b)`,
		"controls":   `SELECT 'a' || chr(27) || '[31m' || chr(10) || 'b' || chr(8238) AS evil`,
	}
	for name, sql := range queries {
		for _, form := range []string{"json", "ndjson", "sql", "csv", "table"} {
			t.Run(name+"."+form, func(t *testing.T) {
				golden.Equal(t, "testdata/"+name+"."+form, render(t, db, form, sql))
			})
		}
	}
}

func TestTableKeepsItsColumnsAfterTheSample(t *testing.T) {
	db := open(t)
	out := render(t, db, "table", "SELECT range AS id, 'x' AS s FROM range(25000)")
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != 25000+4 {
		t.Fatalf("got %d lines", len(lines))
	}
	for i, line := range lines[10_003:] {
		if len(line) < len(lines[0]) {
			t.Fatalf("line %d is short: %q", i, line)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for accept, want := range map[string]string{
		"":                         "json",
		"*/*":                      "json",
		"text/csv":                 "csv",
		"text/*":                   "csv",
		"application/*":            "json",
		"image/png":                "json",
		"image/png, text/plain":    "table",
		"text/csv;q=0, text/plain": "table",
		"text/csv; q=0.000 ,application/x-ndjson":  "ndjson",
		"text/plain;q=0.1, text/csv;q=0.9":         "table",
		"APPLICATION/VND.APACHE.ARROW.STREAM":      "arrow",
		"application/vnd.spiceai.sql.v1+json":      "sql",
		"application/jsonl":                        "ndjson",
		"text/html,application/xhtml+xml,*/*;q=.8": "json",
		";;;,,,q=0": "json",
	} {
		if got := format.Negotiate(accept).Name; got != want {
			t.Errorf("%q: got %s, want %s", accept, got, want)
		}
	}
}

// failing accepts so many bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteErrorsEndTheCopy(t *testing.T) {
	db := open(t)
	for _, form := range format.Forms() {
		rows, err := db.Query(context.Background(), engine.Request{SQL: "SELECT range, 'text' FROM range(10000000)"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := format.Copy(form.NewWriter(&failing{1 << 20}), rows); err == nil {
			t.Errorf("%s: no error", form.Name)
		}
		rows.Close()
	}
}
