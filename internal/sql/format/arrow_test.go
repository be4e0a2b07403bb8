package format_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// maybe makes every seventh value NULL, at different places for each column.
func maybe(expr string, k int) string {
	if list, ok := strings.CutSuffix(expr, "::BIGINT[3]"); ok { // DuckDB has no CASE of ARRAY
		return fmt.Sprintf("(CASE WHEN (range + %d) %% 7 = 0 THEN NULL ELSE %s END)::BIGINT[3] AS c%d", k, list, k)
	}
	return fmt.Sprintf("CASE WHEN (range + %d) %% 7 = 0 THEN NULL ELSE %s END AS c%d", k, expr, k)
}

var arrowExprs = []string{
	"range % 2 = 0", "(range % 128)::TINYINT", "(range % 30000)::SMALLINT", "range::INTEGER", "range",
	"(range % 256)::UTINYINT", "(range % 60000)::USMALLINT", "range::UINTEGER", "hash(range)",
	"hash(range)::HUGEINT * -1234567890123", "hash(range)::UHUGEINT * 9876543210987654321", "range::FLOAT / 3", "range / 7",
	"(range % 99)::DECIMAL(4,2)", "range::DECIMAL(9,3)", "range::DECIMAL(18,5)", "range::DECIMAL(38,10) / 3",
	"'text é ' || range", "repeat('x', (range % 40)::INTEGER)", "encode('blob' || range)", "(range % 5000)::BIT", "md5(range::VARCHAR)::UUID",
	"CASE range % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'ccc' END::ENUM('a', 'b', 'ccc')",
	"DATE '2000-01-01' + (range % 9999)::INTEGER", "TIME '00:00:00' + to_microseconds(range * 7654321 % 86400000000)",
	"('0' || (range % 10) || ':11:12+03')::TIMETZ", "TIMESTAMP '2000-01-01' + to_microseconds(range * 1234567891)",
	"(TIMESTAMP '2000-01-01' + to_seconds(range))::TIMESTAMP_S", "(TIMESTAMP '2000-01-01' + to_milliseconds(range))::TIMESTAMP_MS",
	"make_timestamp_ns(range * 123456789123)", "(TIMESTAMP '2000-01-01' + to_microseconds(range * 98765))::TIMESTAMPTZ",
	"to_months((range % 50)::INTEGER) + to_days((range % 50)::INTEGER) + to_microseconds(range)",
	"range(range % 5)", "[NULL, 'a' || range]", "[[range], [], NULL, [1, NULL]]", "[range, NULL, 3]::BIGINT[3]",
	"{'a': range, 'b': {'c': 'x' || range, 'd': [range]}}", "MAP {'k' || range: range, 'l': NULL}", "MAP {range: [range]}",
	"CASE WHEN range % 2 = 0 THEN union_value(num := range)::UNION(num BIGINT, str VARCHAR) ELSE union_value(str := 's' || range)::UNION(num BIGINT, " +
		"str VARCHAR) END",
	"[{'e': (CASE range % 2 WHEN 0 THEN 'p' ELSE 'q' END)::ENUM('p', 'q')}]",
	"('{\"a\": ' || range || '}')::JSON", "range(range % 3)::VARCHAR[]",
}

// TestArrowEqualsJSON reads both forms of the same rows back.
func TestArrowEqualsJSON(t *testing.T) {
	db := open(t)
	rows := full.Size(1000, 5000)
	for k, expr := range arrowExprs {
		t.Run(expr, func(t *testing.T) {
			for _, source := range []string{"range(%d)", "(SELECT range FROM range(%d) WHERE range %% 3 <> 1)"} {
				sql := fmt.Sprintf("SELECT %s FROM "+source, maybe(expr, k), rows)
				want := decodeRows(t, render(t, db, "json", sql))
				got := decodeArrow(t, render(t, db, "arrow", sql))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatal(diff[:min(len(diff), 2000)])
				}
				schema, stream := plainArrow(t, db, sql)
				if diff := cmp.Diff(want, decodeArrow(t, stream)); diff != "" {
					t.Fatal("plain types:", diff[:min(len(diff), 2000)])
				}
				if text := schema.String(); strings.Contains(text, "uint") || strings.Contains(text, "dictionary") {
					t.Errorf("the plain types are %s", text)
				}
			}
		})
	}
}

// plainArrow is the Arrow form in plain types.
func plainArrow(t *testing.T, db *engine.DB, sql string) (*arrow.Schema, []byte) {
	t.Helper()
	rows, err := db.Query(t.Context(), engine.Request{SQL: sql})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	b := format.Plain.NewBatcher(rows.Columns())
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(b.Schema()))
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = b.Add(chunk, w.Write)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Emit(w.Write), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Schema(), out.Bytes()
}

func TestArrowManyColumnsAndEmptyResult(t *testing.T) {
	db := open(t)
	got := decodeArrow(t, render(t, db, "arrow", "SELECT 1 AS a WHERE false"))
	if len(got) != 0 {
		t.Errorf("got %v", got)
	}
	var columns []string
	for k, expr := range arrowExprs {
		columns = append(columns, maybe(expr, k))
	}
	sql := fmt.Sprintf("SELECT %s FROM range(%d)", strings.Join(columns, ", "), full.Size(5000, 20_000))
	want, have := decodeRows(t, render(t, db, "json", sql)), decodeArrow(t, render(t, db, "arrow", sql))
	if !reflect.DeepEqual(want, have) { // cmp takes seconds for so many
		diff := cmp.Diff(want, have)
		t.Error(diff[:min(len(diff), 2000)])
	}
}

func decodeRows(t *testing.T, doc []byte) []map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	rows := []map[string]any{}
	if err := decoder.Decode(&rows); err != nil {
		t.Fatalf("%v: %.300s", err, doc)
	}
	return rows
}

func decodeArrow(t *testing.T, stream []byte) []map[string]any {
	t.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	rows := []map[string]any{}
	for {
		batch, err := reader.Read()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			row := map[string]any{}
			for c, f := range batch.Schema().Fields() {
				row[f.Name] = arrowValue(batch.Column(c), i)
			}
			rows = append(rows, row)
		}
	}
}

// arrowValue is a value as the JSON form would decode.
func arrowValue(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.String:
		var v any
		if s := a.Value(i); strings.HasPrefix(s, "{") { // a JSON column
			decoder := json.NewDecoder(strings.NewReader(s))
			decoder.UseNumber()
			if decoder.Decode(&v) == nil {
				return v
			}
		}
		return a.Value(i)
	case *array.Binary:
		return base64.StdEncoding.EncodeToString(a.Value(i))
	case *array.Decimal128:
		return decimal(a.Value(i).BigInt(), a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Decimal256:
		return decimal(a.Value(i).BigInt(), 0)
	case *array.Float32:
		return jsonNumber(float64(a.Value(i)), 32)
	case *array.Float64:
		return jsonNumber(a.Value(i), 64)
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Time64:
		return clock(a.Value(i).ToTime(a.DataType().(*arrow.Time64Type).Unit))
	case *array.Timestamp:
		dt := a.DataType().(*arrow.TimestampType)
		at := a.Value(i).ToTime(dt.Unit)
		s := at.Format(time.DateOnly) + "T" + clock(at)
		if dt.TimeZone != "" {
			s += "Z"
		}
		return s
	case *array.MonthDayNanoInterval:
		return interval(a.Value(i))
	case *array.Dictionary:
		return arrowValue(a.Dictionary(), a.GetValueIndex(i))
	case *array.Map:
		return mapValue(a, i)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		out := []any{}
		for at := from; at < to; at++ {
			out = append(out, arrowValue(a.ListValues(), int(at)))
		}
		return out
	case *array.Struct:
		out := map[string]any{}
		for f, field := range a.DataType().(*arrow.StructType).Fields() {
			out[field.Name] = arrowValue(a.Field(f), i)
		}
		return out
	case *array.SparseUnion:
		child := a.ChildID(i)
		v := arrowValue(a.Field(child), i)
		if v == nil {
			return nil
		}
		return map[string]any{a.UnionType().Fields()[child].Name: v}
	}
	return json.Number(a.ValueStr(i))
}

func mapValue(a *array.Map, i int) any {
	from, to := a.ValueOffsets(i)
	out := map[string]any{}
	for at := from; at < to; at++ {
		out[fmt.Sprint(arrowValue(a.Keys(), int(at)))] = arrowValue(a.Items(), int(at))
	}
	return out
}

func jsonNumber(f float64, bits int) any {
	s := fmt.Sprint(f)
	if bits == 32 {
		s = fmt.Sprint(float32(f))
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.Number(s)
}

func decimal(n *big.Int, scale int32) any {
	s := new(big.Int).Abs(n).String()
	for len(s) <= int(scale) {
		s = "0" + s
	}
	if scale > 0 {
		s = s[:len(s)-int(scale)] + "." + s[len(s)-int(scale):]
	}
	if n.Sign() < 0 {
		s = "-" + s
	}
	return json.Number(s)
}

func clock(t time.Time) string {
	s := t.Format("15:04:05")
	switch ns := t.Nanosecond(); {
	case ns == 0:
		return s
	case ns%1e6 == 0:
		return s + fmt.Sprintf(".%03d", ns/1e6)
	case ns%1e3 == 0:
		return s + fmt.Sprintf(".%06d", ns/1e3)
	default:
		return s + fmt.Sprintf(".%09d", ns)
	}
}

func interval(v arrow.MonthDayNanoInterval) string {
	var parts []string
	add := func(n int32, unit string) {
		if n == 0 {
			return
		}
		if n != 1 {
			unit += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, unit))
	}
	add(v.Months/12, "year")
	add(v.Months%12, "month")
	add(v.Days, "day")
	if v.Nanoseconds != 0 || len(parts) == 0 {
		s := time.Unix(0, v.Nanoseconds).UTC().Format("15:04:05.999999")
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestArrowHasNoMemoryOfOthers(t *testing.T) {
	db := open(t)
	stream := render(t, db, "arrow", "SELECT CASE WHEN range % 2 = 0 THEN NULL ELSE range END AS x FROM range(4096)")
	reader, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	for reader.Next() {
		column := reader.RecordBatch().Column(0).(*array.Int64)
		for i := range column.Len() {
			if column.IsNull(i) && column.Int64Values()[i] != 0 {
				t.Fatalf("row %d: the place of a NULL holds %d", i, column.Int64Values()[i])
			}
		}
	}
}
