package isolate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// result is what a statement returns in the forms JSON and CSV, or its error.
type result struct {
	Types     []string
	JSON, CSV string
	Err       *engine.Error
}

func (w *world) result(req engine.Request) (out result) {
	rows, err := w.Query(context.Background(), req)
	if err != nil {
		errors.As(err, &out.Err)
		return out
	}
	defer rows.Close()
	for _, c := range rows.Columns() {
		out.Types = append(out.Types, c.Name+" "+c.Type.String())
	}
	var bufs [2]bytes.Buffer
	var writers [2]format.Writer
	for i, name := range []string{"json", "csv"} {
		form, _ := format.ByName(name)
		writers[i] = form.NewWriter(&bufs[i])
	}
	for _, f := range writers {
		err = errors.Join(err, f.Begin(rows.Columns()))
	}
	for chunk, e := range rows.Chunks() {
		if e != nil {
			errors.As(e, &out.Err)
			return out
		}
		for _, f := range writers {
			err = errors.Join(err, f.Write(chunk))
		}
	}
	for _, f := range writers {
		err = errors.Join(err, f.End())
	}
	if err != nil {
		out.JSON = "error: " + err.Error()
		return out
	}
	out.JSON, out.CSV = bufs[0].String(), bufs[1].String()
	return out
}

// same checks that a statement is the same here and in a worker.
func (w *world) same(t *testing.T, sql string, params engine.Params) {
	t.Helper()
	want := w.result(engine.Request{SQL: sql, Params: params})
	got := w.result(engine.Request{SQL: sql, Params: params, Isolate: true})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(engine.Error{})); diff != "" {
		t.Errorf("%s: in a worker (+) it is another:\n%s", sql, diff)
	}
}

// typeCases are a value of each type, most of them at an end of the range.
var typeCases = []string{
	"true", "false", "NULL",
	"(-128)::TINYINT", "(-32768)::SMALLINT", "(-2147483648)::INTEGER", "(-9223372036854775808)::BIGINT",
	"255::UTINYINT", "65535::USMALLINT", "4294967295::UINTEGER", "18446744073709551615::UBIGINT",
	"(-170141183460469231731687303715884105727)::HUGEINT", "170141183460469231731687303715884105727::HUGEINT",
	"340282366920938463463374607431768211455::UHUGEINT",
	"1.5::FLOAT", "'nan'::FLOAT", "'nan'::DOUBLE", "'-inf'::DOUBLE", "-0.0::DOUBLE", "5e-324::DOUBLE",
	"(-1.5)::DECIMAL(4,1)", "9.9999999::DECIMAL(9,8)", "(-99999999999999.9999)::DECIMAL(18,4)",
	"(-99999999999999999999999999999999999999)::DECIMAL(38,0)",
	"''", "'twelve bytes'", "'thirteen bytes'", "repeat('ä', 100)", "'a' || chr(0) || 'b'",
	"'{\"a\":1}'::JSON", "'\x00\xFF'::BLOB", "''::BLOB", "repeat('x', 5000)::BLOB",
	"'1'::BIT", "'0101010101'::BIT", "repeat('10', 500)::BIT",
	"DATE '1969-12-31'", "'infinity'::DATE", "'-infinity'::DATE", "'5877642-06-25 (BC)'::DATE",
	"TIME '24:00:00'", "'00:00:01.123456789'::TIME_NS", "'12:00:00.123456+15:59:59'::TIMETZ", "'00:00:00-15:59:59'::TIMETZ",
	"TIMESTAMP '1970-01-01 00:00:01.123456'", "'infinity'::TIMESTAMP", "'1970-01-01 00:00:01'::TIMESTAMP_S",
	"'1970-01-01 00:00:01.123'::TIMESTAMP_MS", "'1677-09-22 00:12:43.145224193'::TIMESTAMP_NS",
	"'1970-01-01 00:00:01+00'::TIMESTAMPTZ", "'290309-12-22 (BC) 00:00:00+00'::TIMESTAMPTZ",
	"INTERVAL '1 month 2 days 3 microseconds'", "to_microseconds(9223372036854775807)", "to_microseconds(-9223372036854775807)",
	"'00000000-0000-0000-0000-000000000001'::UUID", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID",
	"'b'::ENUM ('a', 'b')", "NULL::ENUM ('a', 'b')",
	"[1, NULL, 3]", "[]", "[NULL]", "[NULL, NULL]::VARCHAR[]", "[[1], NULL, []]", "[[[]]]", "['a', 'thirteen bytes', NULL]",
	"range(5000)", "[[i for i in range(10)] for j in range(500)]",
	"[1, 2]::INT[2]", "[[1, 2], NULL]::INT[2][]", "[[1, 2], NULL]::INT[2][2]", "['a', NULL]::VARCHAR[2]", "[[1], []]::INT[][2]",
	"{'a': 1, 'B c': [NULL, 'x']}", "row(1, 'x')", "{'a': {'b': {'c': NULL}}}", "NULL::STRUCT(a INTEGER, b VARCHAR[])",
	"MAP {'a': 1, 'b': NULL}", "MAP {}", "MAP {[1, 2]: {'x': MAP {1: 'y'}}}", "NULL::MAP(INTEGER, VARCHAR)",
	"union_value(num := 2)::UNION(num INTEGER, str VARCHAR)", "'x'::UNION(num INTEGER, str VARCHAR)",
	"NULL::UNION(num INTEGER, str VARCHAR)", "union_value(l := [1, 2])", "union_value(a := NULL)",
	"[union_value(num := 2)::UNION(num INTEGER, str VARCHAR), 'x', NULL]",
	"{'d': 1.5::DECIMAL(4,1), 'u': 'a'::ENUM('a'), 'i': INTERVAL 1 DAY, 'n': NULL, 't': '1:00:00+01'::TIMETZ}",
}

func TestAResultIsTheSameInAWorker(t *testing.T) {
	w := newWorld(t)
	t.Run("values", w.values)
	t.Run("shapes", w.shapes)
	t.Run("descriptions", w.descriptions)
	t.Run("errors", w.errors)
	t.Run("parameters", w.parameters)
}

func (w *world) values(t *testing.T) {
	for _, value := range typeCases {
		w.same(t, "SELECT "+value+" AS v", engine.Params{})
		// NULLs between values, more rows than a chunk has, and elements of lists.
		w.same(t, "SELECT i, CASE WHEN i % 3 = 1 THEN v END AS v FROM (SELECT "+value+" AS v), range(5000) r(i) WHERE i < 10 OR i > 4990", engine.Params{})
		w.same(t, "SELECT [v, NULL, v] AS l, {'v': v, 'n': NULL} AS s FROM (SELECT "+value+" AS v), range(3)", engine.Params{})
	}
}

func (w *world) shapes(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1 AS a, 2 AS a, 3 AS \"\"",
		"SELECT 1 AS a WHERE false",
		"SELECT i, 'x' || i AS s, [i] AS l FROM range(10000) t(i)",
		"SELECT CASE WHEN i % 2 = 0 THEN i END AS n FROM range(5000) t(i)",
		"SELECT list(i) AS l FROM range(100000) t(i) GROUP BY i % 3 ORDER BY i % 3",
		"SELECT list(CASE WHEN i % 7 > 0 THEN 'value ' || i END ORDER BY i) AS l FROM range(50000) t(i)",
		"SELECT list({'a': i, 'b': CASE WHEN i % 7 > 0 THEN [i, NULL] END} ORDER BY i) AS l FROM range(20000) t(i)",
		"SELECT list({'n': NULL}) AS l, list([]) AS e, list(true) AS b FROM range(1000000)",
		"SELECT list([i, i + 1]::INT[2]) AS l FROM range(100000) t(i)",
		"SELECT list_resize([1], 8192)::INT[8192] AS a FROM range(3)",
		"SELECT repeat('x', 3000000) AS big FROM range(3)",
		"SELECT (i % 300)::VARCHAR::ENUM(" + enumOf(300) + ") AS e FROM range(1000) t(i)",
		"EXPLAIN SELECT 1",
		"DESCRIBE SELECT 1 AS x",
		"SELECT * FROM (VALUES (1, NULL), (NULL, 'b')) t(a, b)",
	} {
		w.same(t, sql, engine.Params{})
	}
}

// TestAnEnumWithoutValues: CREATE TYPE takes a query without rows.
func TestAnEnumWithoutValues(t *testing.T) {
	const create = "CREATE TYPE spice.public.nothing AS ENUM (SELECT 'a' WHERE false)"
	w := newWorld(t, func(o *isolate.Options) { o.Setup = []string{create} })
	w.publish(t, engine.Contents{}, create)
	for _, sql := range []string{
		"SELECT NULL::nothing AS v, typeof(NULL::nothing) AS t", "SELECT [NULL::nothing] AS v", "SELECT {'a': NULL::nothing} AS v",
		"SELECT enum_range(NULL::nothing) AS v",
	} {
		w.same(t, sql, engine.Params{})
		if got := w.isolated(sql, 0); got.Err != nil {
			t.Errorf("%s: %v", sql, got.Err)
		}
	}
}

// TestRowsTooWideForAChunk: the worker says what is wrong before the parent
// would end it for that.
func TestRowsTooWideForAChunk(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Memory = noMemoryLimit })
	got := w.isolated("SELECT list_resize([1.5::DOUBLE], 20000)::DOUBLE[20000] AS a", 0)
	want := "the rows cannot be sent by the worker: a row has 160000 bytes without texts; the limit is 131072"
	if got.Err == nil || got.Err.Code != errcode.Limit || got.Err.Message != want || got.Err.Hint == "" {
		t.Errorf("got %+v", got.Err)
	}
	if log := w.log.String(); strings.Contains(log, "a worker is ended") {
		t.Error(log)
	}
}

// descriptions are the same wherever they are made, and so are their errors.
func (w *world) descriptions(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1 AS a, [1] AS l, {'x': 'y'} AS s", "SELECT $1 AS a, $2::DATE AS d", "SELECT i FROM range(?) t(i)", "SELECT nope", "EXPLAIN SELECT 1",
	} {
		here, hereErr := w.Describe(t.Context(), engine.Request{SQL: sql})
		there, thereErr := w.Describe(t.Context(), engine.Request{SQL: sql, Isolate: true})
		if d := cmp.Diff(here, there); d != "" {
			t.Errorf("%s: in a worker (+) it is another:\n%s", sql, d)
		}
		if d := cmp.Diff(hereErr, thereErr, cmpopts.IgnoreUnexported(engine.Error{})); d != "" {
			t.Errorf("%s: in a worker (+) it fails otherwise:\n%s", sql, d)
		}
	}
}

func enumOf(n int) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "'%d'", i)
	}
	return b.String()
}

func (w *world) errors(t *testing.T) {
	for _, sql := range []string{
		"SELECT nope", "SELECT 1 + ", "SELECT 'a'::INTEGER", "SELECT * FROM range(3) t(i) WHERE x = 1",
		"SELECT 1 / 0 + error('mine')", "SELECT $1", "SELECT abs('x'::DATE)", "SELECT sum(i)::TINYINT FROM range(1000) t(i)",
		"SELECT timezone('Mars/' || i, TIMESTAMP '2020-01-01') FROM range(3) t(i)",
		"SELECT error(repeat('x', 20000000) || '1')",
	} {
		w.same(t, sql, engine.Params{})
	}
	w.same(t, "SELECT $1 AS a, 1::VARIANT AS v", engine.Params{Positional: []any{"b"}})
}

func (w *world) parameters(t *testing.T) {
	for _, v := range []any{
		nil, true, int64(-1 << 63), 1.5, math.NaN(), math.Inf(-1), "", "ä\x00b", json.Number("170141183460469231731687303715884105727"),
		json.Number("1e400"),
		[]byte{0, 255},
		[]byte{},
		[]any{int64(1), nil},
		[]any{},
		map[string]any{"a": []any{1.5}, "b": nil},
		"not \xff UTF-8",
		uint64(1 << 63), value.Numeric("1.50"), value.Date(-1), value.Time(1), value.TimeNS(1),
		value.TimeTZ{Time: 1, Offset: -1},
		value.Timestamp(-value.Infinity), value.TimestampTZ(1), value.TimestampNS(1),
		value.Interval{Months: 1, Days: -2, Micros: 3},
		value.Map{Keys: []any{"a", "b"}, Values: []any{int64(1), nil}},
		value.Map{Keys: []any{int64(1)}, Values: []any{[]any{"x"}}},
	} {
		w.same(t, "SELECT $1 AS v, typeof($1) AS t", engine.Params{Positional: []any{v}})
		w.same(t, "SELECT $x AS v, typeof($x) AS t", engine.Params{Named: map[string]any{"x": v}})
	}
	w.same(t, "SELECT $1", engine.Params{Named: map[string]any{}})
	w.same(t, "SELECT 1", engine.Params{Positional: []any{}})
	w.same(t, "SELECT $d::DATE - $e::DATE AS n", engine.Params{Named: map[string]any{"d": "2026-01-02", "e": "2026-01-01"}})
}

// TestTypesBeyondTheLimits: the error names the column, and the worker stays.
func TestTypesBeyondTheLimits(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Memory = noMemoryLimit })
	var members []string
	for i := range 20_000 {
		members = append(members, fmt.Sprintf("'k%d': %d", i, i))
	}
	for sql, want := range map[string]string{
		"SELECT {" + strings.Join(members, ", ") +
			"} AS wide": `the rows cannot be sent by the worker: the type of column "wide" has 20000 members; the limit is 16384`,
		"SELECT " + strings.Repeat("[", 70) + "1" + strings.Repeat("]", 70) + " AS deep": `the type of column "deep" is nested deeper than 60`,
	} {
		if got := w.isolated(sql, 0).Err; got == nil || got.Code != errcode.Limit || !strings.Contains(got.Message, want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	if log := w.log.String(); strings.Contains(log, "a worker is ended") {
		t.Error(log)
	}
}

// TestRowsOfAWorkerAreStored: a stored result of a worker has the values that it sent.
func TestRowsOfAWorkerAreStored(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	for i, value := range typeCases {
		sql := "SELECT i, v, [v, NULL] AS l, {'v': v} AS s FROM range(5000) r(i) LEFT JOIN (SELECT " + value +
			" AS v) ON i % 3 = 1 WHERE i < 10 OR i > 4990 ORDER BY i"
		if strings.HasPrefix(value, "row(") || !utf8.ValidString(value) {
			continue // members without names cannot be stored
		}
		table := engine.Table{Database: fmt.Sprint("stored", i), Path: filepath.Join(dir, fmt.Sprint(i))}
		if err := w.store(t, sql, table); err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		want := w.result(engine.Request{SQL: sql})
		got := w.result(engine.Request{SQL: "FROM " + table.SQL(), Trusted: true})
		want.Types, got.Types = nil, nil // a table has no JSON in a STRUCT
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(engine.Error{})); diff != "" {
			t.Errorf("%s: stored (+) it is another:\n%s", value, diff)
		}
	}
}

// store stores the rows of a statement that runs in a worker.
func (w *world) store(t *testing.T, sql string, table engine.Table) error {
	rows, err := w.Query(t.Context(), engine.Request{SQL: sql, Isolate: true})
	if err != nil {
		return err
	}
	defer rows.Close()
	writer, err := w.CreateTable(t.Context(), table, rows.Columns())
	if err != nil {
		return err
	}
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = writer.Append(chunk)
		}
		if err != nil {
			writer.Abort()
			return err
		}
	}
	return writer.Close()
}
