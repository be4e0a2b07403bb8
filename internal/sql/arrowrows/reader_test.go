package arrowrows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

func open(t testing.TB) *engine.DB {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// reading are the batches of an IPC stream.
type reading struct {
	*ipc.Reader
	closed *int
}

func (r reading) Next(context.Context) (arrow.RecordBatch, error) {
	if !r.Reader.Next() {
		return nil, r.Err()
	}
	batch := r.RecordBatch()
	batch.Retain()
	return batch, nil
}

func (r reading) Close() { r.Release(); *r.closed++ }

// add makes a table of an IPC stream.
func add(t testing.TB, db *engine.DB, data []byte) (from string, closed *int) {
	t.Helper()
	closed = new(int)
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	schema := r.Schema()
	r.Release()
	from, remove := db.AddStream(&engine.Stream{Columns: Columns(schema), Open: func(ctx context.Context, numbers []int) (engine.StreamReader, error) {
		r, err := ipc.NewReader(bytes.NewReader(data))
		return NewReader(ctx, picked{reading{r, closed}, numbers}, fieldsOf(schema, numbers)), err
	}})
	t.Cleanup(remove)
	return from, closed
}

// picked are some columns of batches.
type picked struct {
	Batches
	numbers []int
}

func (p picked) Next(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := p.Batches.Next(ctx)
	if batch == nil || err != nil {
		return nil, err
	}
	defer batch.Release()
	columns := make([]arrow.Array, len(p.numbers))
	for i, n := range p.numbers {
		columns[i] = batch.Column(n)
	}
	return array.NewRecordBatch(arrow.NewSchema(fieldsOf(batch.Schema(), p.numbers), nil), columns, batch.NumRows()), nil
}

func fieldsOf(schema *arrow.Schema, numbers []int) (fields []arrow.Field) {
	for _, n := range numbers {
		fields = append(fields, schema.Field(n))
	}
	return fields
}

func exec(t testing.TB, db *engine.DB, sql string) {
	t.Helper()
	if err := db.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// text returns the texts of a query, NULL as nothing.
func text(t testing.TB, db *engine.DB, sql string) string {
	t.Helper()
	var out []string
	s, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Run(t.Context(), func() error {
		return s.Query("SELECT coalesce(x::VARCHAR, '') FROM ("+sql+") AS q(x)", func(c *engine.Chunk) error {
			for i := range c.Len() {
				out = append(out, string(c.Column(0).Bytes(i)))
			}
			return nil
		})
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(out, "\n")
}

// TestTypesOfDuckDB writes values of each type to Arrow and reads them back.
func TestTypesOfDuckDB(t *testing.T) {
	db := open(t)
	f, _ := format.ByName("arrow")
	for _, expr := range []string{
		"range % 2 = 0", "(range % 128)::TINYINT", "(range % 30000 - 15000)::SMALLINT", "-range::INTEGER", "range * 1234567890123",
		"(range % 256)::UTINYINT", "(range % 60000)::USMALLINT", "range::UINTEGER", "hash(range)",
		"range::FLOAT / 3", "range / 7", "(range % 99 - 50)::DECIMAL(4,2)", "-range::DECIMAL(9,3)", "range::DECIMAL(18,5)", "-range::DECIMAL(38,10) / 3",
		"'text é ' || range", "repeat('x', (range % 40)::INTEGER)", "encode('blob' || range)",
		"DATE '2000-01-01' - (range % 9999)::INTEGER", "TIME '00:00:00' + to_microseconds(range * 7654321 % 86400000000)",
		"TIMESTAMP '2000-01-01' - to_microseconds(range * 1234567891)", "(TIMESTAMP '2000-01-01' + to_seconds(range))::TIMESTAMP_S",
		"(TIMESTAMP '2000-01-01' + to_milliseconds(range))::TIMESTAMP_MS", "make_timestamp_ns(range * 123456789123)",
		"(TIMESTAMP '2000-01-01' + to_microseconds(range * 98765))::TIMESTAMPTZ",
		"to_months((range % 50)::INTEGER) + to_days((range % 50)::INTEGER) + to_microseconds(range)",
		"range(range % 5)", "[NULL, 'a' || range]", "[[range], [], NULL, [1, NULL]]", "(CASE WHEN range % 3 > 0 THEN [range, NULL, 3] END)::BIGINT[3]",
		"{'a': range, 'b': {'c': 'x' || range, 'd': [range]}}", "MAP {'k' || range: range, 'l': NULL}", "MAP {range: [range]}",
		"[{'e': range % 2, 'f': MAP {range: 'x'}}]", "NULL",
	} {
		t.Run(expr, func(t *testing.T) {
			for _, rows := range []string{"range(5000)", "(SELECT range FROM range(9000) WHERE range % 3 <> 1)"} {
				query := fmt.Sprintf("SELECT range AS n, CASE WHEN range %% 7 <> 0 THEN %s END AS v FROM %s", expr, rows)
				if strings.HasPrefix(expr, "(CASE") { // DuckDB has no CASE of ARRAY
					query = fmt.Sprintf("SELECT range AS n, %s AS v FROM %s", expr, rows)
				}
				result, err := db.Query(t.Context(), engine.Request{SQL: query})
				if err != nil {
					t.Fatal(err)
				}
				var data bytes.Buffer
				_, err = format.Copy(f.NewWriter(&data), result)
				result.Close()
				if err != nil {
					t.Fatal(err)
				}
				from, _ := add(t, db, data.Bytes())
				exec(t, db, "CREATE OR REPLACE TABLE spice.public.got AS FROM "+from)
				exec(t, db, "CREATE OR REPLACE TABLE spice.public.want AS "+query)
				if got := text(t, db,
					"SELECT count(*) || ' ' || any_value(typeof(g.v)) || ' ' || any_value(typeof(w.v)) FROM spice.public.got g FULL JOIN spice.public.want w USING (n) WHERE "+
						"g.v IS DISTINCT FROM w.v OR typeof(g.v) <> typeof(w.v)"); got != "" {
					t.Error(got)
				}
				if got, want := text(t, db, "SELECT count(*) FROM spice.public.got"), text(t, db, "SELECT count(*) FROM spice.public.want"); got != want {
					t.Errorf("%s rows, want %s", got, want)
				}
			}
		})
	}
}

// stream writes batches of JSON rows as an IPC stream.
func stream(t testing.TB, schema *arrow.Schema, rows ...string) []byte {
	t.Helper()
	var data bytes.Buffer
	w := ipc.NewWriter(&data, ipc.WithSchema(schema))
	for _, r := range rows {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(r))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	return data.Bytes()
}

// TestTypesOfArrow reads types that DuckDB does not write.
func TestTypesOfArrow(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		t                arrow.DataType
		json, typ, value string
	}{
		{arrow.FixedWidthTypes.Float16, `1.5`, "FLOAT", "1.5"},
		{arrow.FixedWidthTypes.Date64, `"2024-02-29"`, "DATE", "2024-02-29"},
		{arrow.FixedWidthTypes.Time32s, `"12:30:01"`, "TIME", "12:30:01"},
		{arrow.FixedWidthTypes.Time32ms, `"12:30:01.5"`, "TIME", "12:30:01.5"},
		{arrow.FixedWidthTypes.Time64ns, `"12:30:01.000000001"`, "TIME_NS", "12:30:01.000000001"},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, `"2024-02-29 12:00:00Z"`, "TIMESTAMP WITH TIME ZONE", "2024-02-29 12:00:00+00"},
		{
			&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Zurich"}, `"1969-02-28 12:00:00.123456789Z"`, "TIMESTAMP WITH TIME ZONE",
			"1969-02-28 12:00:00.123456+00",
		},
		{arrow.FixedWidthTypes.Duration_ms, `"1500ms"`, "INTERVAL", "00:00:01.5"},
		{arrow.FixedWidthTypes.MonthInterval, `{"months": 14}`, "INTERVAL", "1 year 2 months"},
		{arrow.FixedWidthTypes.DayTimeInterval, `{"days": 2, "milliseconds": 1500}`, "INTERVAL", "2 days 00:00:01.5"},
		{&arrow.Decimal32Type{Precision: 5, Scale: 2}, `"-123.45"`, "DECIMAL(5,2)", "-123.45"},
		{&arrow.Decimal64Type{Precision: 12, Scale: 3}, `"123456789.125"`, "DECIMAL(12,3)", "123456789.125"},
		{&arrow.Decimal256Type{Precision: 30, Scale: 4}, `"-12345678901234567890.1234"`, "DECIMAL(30,4)", "-12345678901234567890.1234"},
		{&arrow.Decimal256Type{Precision: 60, Scale: 2}, `"1234567890123456789012345678901234567890.12"`, "VARCHAR", "1234567890123456789012345678901234567890.12"},
		{arrow.BinaryTypes.LargeString, `"Zürich"`, "VARCHAR", "Zürich"},
		{arrow.BinaryTypes.StringView, `"a text of more than twelve bytes"`, "VARCHAR", "a text of more than twelve bytes"},
		{arrow.BinaryTypes.BinaryView, `"aGk="`, "BLOB", "hi"},
		{arrow.BinaryTypes.LargeBinary, `"aGk="`, "BLOB", "hi"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `"aGk="`, "BLOB", "hi"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `"red"`, "VARCHAR", "red"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}, `7`, "VARCHAR", "7"},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Int32), `[1, null, 3]`, "INTEGER[]", "[1, NULL, 3]"},
		{arrow.ListViewOf(arrow.PrimitiveTypes.Int32), `[1, null, 3]`, "INTEGER[]", "[1, NULL, 3]"},
		{arrow.FixedSizeListOf(2, arrow.BinaryTypes.String), `["a", null]`, "VARCHAR[2]", "[a, NULL]"},
		{arrow.StructOf(), `{}`, "VARCHAR", "{}"},
	} {
		t.Run(c.t.String(), func(t *testing.T) {
			schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: c.t, Nullable: true}}, nil)
			// The value is not at the beginning of a batch, and there are several.
			from, _ := add(t, db, stream(t, schema, `[{"v": null}, {"v": `+c.json+`}]`, `[{"v": `+c.json+`}]`))
			value := c.typ + " " + c.value
			want := c.typ + " \n" + value + "\n" + value
			if got := text(t, db, "SELECT typeof(v) || ' ' || coalesce(v::VARCHAR, '') FROM "+from); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// failing are batches that end with an error.
type failing struct {
	batches []arrow.RecordBatch
	err     error
	closed  bool
}

func (f *failing) Next(context.Context) (arrow.RecordBatch, error) {
	if len(f.batches) == 0 {
		return nil, f.err
	}
	next := f.batches[0]
	f.batches = f.batches[1:]
	return next, nil
}

func (f *failing) Close() { f.closed = true }

func batchOf(t *testing.T, field arrow.Field, json string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{field}, nil), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestErrors(t *testing.T) {
	number := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	small := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int8, Nullable: true}
	for name, c := range map[string]struct {
		f    failing
		want string
	}{
		"the source":   {failing{[]arrow.RecordBatch{batchOf(t, number, `[{"n": 1}]`)}, errors.New("the server has gone"), false}, "the server has gone"},
		"another type": {failing{[]arrow.RecordBatch{batchOf(t, small, `[{"n": 1}]`)}, nil, false}, `the columns have changed: "n" is int8 instead of int64`},
		"no column": {
			failing{[]arrow.RecordBatch{array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 3)}, nil, false},
			"the columns have changed: 0 are there instead of 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(t.Context(), &c.f, []arrow.Field{number})
			var err error
			for chunk := (&engine.Chunk{}); chunk != nil && err == nil; {
				chunk, err = r.Next()
			}
			r.Close()
			if err == nil || err.Error() != c.want || !c.f.closed {
				t.Errorf("%v, closed: %v; want %s", err, c.f.closed, c.want)
			}
		})
	}
}

// FuzzReader reads damaged streams: an error, but neither a panic nor values from beyond
// the stream.
func FuzzReader(f *testing.F) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.BinaryTypes.StringView, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.LargeString), Nullable: true},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Boolean)}), Nullable: true},
		{Name: "x", Type: &arrow.Decimal128Type{Precision: 20, Scale: 2}, Nullable: true},
	}, nil)
	var sent flightData
	w := flight.NewRecordWriter(&sent, ipc.WithSchema(schema))
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"n": 1, "t": "a", "v": "b", "l": ["c", null], "m": [{"key": "k", "value": 1}], "d": "e", "s": {"a": [true, false]}, "x": "1.25"}, {"n": null}]`))
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Write(batch); err != nil {
		f.Fatal(err)
	}
	w.Close()
	first := sent[0]
	for _, m := range sent[1:] {
		f.Add(m.DataHeader, m.DataBody)
	}
	db := open(f)
	f.Fuzz(func(t *testing.T, header, body []byte) {
		// The dictionary is as it was sent, before and after what is damaged.
		damaged := &flight.FlightData{DataHeader: header, DataBody: body}
		from, remove := db.AddStream(&engine.Stream{Columns: Columns(schema), Open: func(ctx context.Context, _ []int) (r engine.StreamReader, err error) {
			err = arrowipc.Guard(func() error {
				f, err := flight.NewRecordReader(&flightData{first, damaged, sent[1], damaged, sent[2]}, ipc.WithAllocator(arrowipc.Allocator))
				if err == nil {
					r = NewReader(ctx, reading{f.Reader, new(int)}, schema.Fields())
				}
				return err
			})
			return r, err
		}})
		defer remove()
		_ = db.Exec(t.Context(), "CREATE OR REPLACE TEMP TABLE x AS FROM "+from)
	})
}

// flightData are messages of Flight that were sent, and will be received.
type flightData []*flight.FlightData

func (f *flightData) Send(m *flight.FlightData) error {
	*f = append(*f, &flight.FlightData{DataHeader: bytes.Clone(m.DataHeader), DataBody: bytes.Clone(m.DataBody)})
	return nil
}

func (f *flightData) Recv() (*flight.FlightData, error) {
	if len(*f) == 0 {
		return nil, io.EOF
	}
	next := (*f)[0]
	*f = (*f)[1:]
	return next, nil
}
