package flightsql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"

	flight "github.com/spiced-sql/spiced/internal/protocols/flightsql"
)

// record makes a batch of the JSON of its rows.
func record(t testing.TB, json string, fields ...arrow.Field) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

func prepare(t testing.TB, c *flightsql.Client, text string) *flightsql.PreparedStatement {
	t.Helper()
	p, err := c.Prepare(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// bound runs a prepared statement with parameters.
func bound(t testing.TB, c *flightsql.Client, p *flightsql.PreparedStatement, params arrow.RecordBatch) string {
	t.Helper()
	p.SetParameters(params)
	info, err := p.Execute(t.Context())
	return rows(t, c, t.Context(), info, err)
}

func TestParametersOfEachType(t *testing.T) {
	c := serve(t).client(t)
	micros := &arrow.TimestampType{Unit: arrow.Microsecond}
	utc := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}
	for _, test := range []struct {
		sql   string
		typ   arrow.DataType
		value string
		want  string
	}{
		{"SELECT $1 AS v", arrow.FixedWidthTypes.Boolean, "true", "true"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Int8, "-7", "-7"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Int16, "-300", "-300"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Int32, "70000", "70000"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Int64, "9007199254740993", "9007199254740993"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Uint8, "200", "200"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Uint16, "60000", "60000"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Uint32, "4000000000", "4000000000"},
		{"SELECT $1::VARCHAR AS v", arrow.PrimitiveTypes.Uint64, "18446744073709551615", `"18446744073709551615"`},
		{"SELECT $1 AS v", arrow.FixedWidthTypes.Float16, "1.5", "1.5"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Float32, "1.5", "1.5"},
		{"SELECT $1 AS v", arrow.PrimitiveTypes.Float64, "0.1", "0.1"},
		{"SELECT ($1::DECIMAL(9,2))::VARCHAR AS v", &arrow.Decimal128Type{Precision: 9, Scale: 2}, `"12.34"`, `"12.34"`},
		{
			"SELECT $1 || ' ' || typeof($1) AS v", &arrow.Decimal128Type{Precision: 38, Scale: 2}, `"123456789012345678901234567890.12"`,
			`"123456789012345678901234567890.12 DECIMAL(32,2)"`,
		},
		{
			"SELECT ?::DECIMAL(38,2)::VARCHAR AS v", &arrow.Decimal128Type{Precision: 38, Scale: 2}, `"123456789012345678901234567890.12"`,
			`"123456789012345678901234567890.12"`,
		},
		{"SELECT ($1::DECIMAL(9,2))::VARCHAR AS v", &arrow.Decimal256Type{Precision: 40, Scale: 2}, `"-0.05"`, `"-0.05"`},
		{"SELECT $1 AS v", arrow.BinaryTypes.String, `"it's é"`, `"it's é"`},
		{"SELECT $1 AS v", arrow.BinaryTypes.LargeString, `"x"`, `"x"`},
		{"SELECT $1 AS v", arrow.BinaryTypes.Binary, `"AP8="`, `"AP8="`},
		{"SELECT $1 AS v", arrow.BinaryTypes.LargeBinary, `"AP8="`, `"AP8="`},
		{"SELECT $1 AS v", &arrow.FixedSizeBinaryType{ByteWidth: 2}, `"AP8="`, `"AP8="`},
		{"SELECT $1::DATE::VARCHAR AS v", arrow.FixedWidthTypes.Date32, `"2024-02-29"`, `"2024-02-29"`},
		{"SELECT $1::DATE::VARCHAR AS v", arrow.FixedWidthTypes.Date64, `"2024-02-29"`, `"2024-02-29"`},
		{"SELECT $1::TIME::VARCHAR AS v", arrow.FixedWidthTypes.Time32ms, `"01:02:03.004"`, `"01:02:03.004"`},
		{"SELECT $1::TIME::VARCHAR AS v", arrow.FixedWidthTypes.Time64us, `"23:59:59.999999"`, `"23:59:59.999999"`},
		{"SELECT $1::TIMESTAMP::VARCHAR AS v", micros, `"2024-02-29 01:02:03.000004"`, `"2024-02-29 01:02:03.000004"`},
		{"SELECT epoch_ms($1::TIMESTAMPTZ) AS v", utc, "1709168523004", "1709168523004"},
		{
			"SELECT $1::INTERVAL::VARCHAR AS v", arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months":14,"days":3,"nanoseconds":4000}`,
			`"1 year 2 months 3 days 00:00:00.000004"`,
		},
		{"SELECT $1::INTERVAL::VARCHAR AS v", arrow.FixedWidthTypes.DayTimeInterval, `{"days":3,"milliseconds":5}`, `"3 days 00:00:00.005"`},
		{"SELECT $1::INTERVAL::VARCHAR AS v", arrow.FixedWidthTypes.MonthInterval, `{"months":5}`, `"5 months"`},
		{"SELECT $1::INTERVAL::VARCHAR AS v", arrow.FixedWidthTypes.Duration_ns, `"5000ns"`, `"00:00:00.000005"`},
		{"SELECT $1::INTERVAL::VARCHAR AS v", arrow.FixedWidthTypes.Duration_s, `"61s"`, `"00:01:01"`},
		{"SELECT $1 AS v", arrow.ListOf(arrow.PrimitiveTypes.Int32), "[1,null,3]", "[1,null,3]"},
		{"SELECT $1 AS v", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64), "[1.5,2.5]", "[1.5,2.5]"},
		{"SELECT $1 AS v", arrow.StructOf(field("a", arrow.PrimitiveTypes.Int64), field("b", arrow.BinaryTypes.String)), `{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`},
		{
			"SELECT typeof($1) || $1::VARCHAR AS v", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), `[{"key":"k","value":7}]`,
			`"MAP(VARCHAR, BIGINT){k=7}"`,
		},
		{
			"SELECT typeof($1) || $1::VARCHAR AS v", arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `[{"key":1,"value":"x"},{"key":2,"value":null}]`,
			`"MAP(BIGINT, VARCHAR){1=x, 2=NULL}"`,
		},
		{"SELECT $1['k'] AS v", arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int32)), `[{"key":"k","value":[1,null]}]`, "[1,null]"},
		{"SELECT $1::VARCHAR AS v", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), "[]", `"{}"`},
		{"SELECT ($1::STRUCT(k INTEGER)).k AS v", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), `[{"key":"k","value":7}]`, "7"},
		{
			"SELECT ($1::MAP(VARCHAR, UTINYINT))::VARCHAR AS v", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
			`[{"key":"k","value":7},{"key":"l","value":null}]`, `"{k=7, l=NULL}"`,
		},
		{"SELECT $1::VARCHAR AS v", arrow.ListOf(arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)), `[[{"key":"k","value":7}],[]]`, `"[{k=7}, {}]"`},
		{"SELECT $1 AS v", arrow.BinaryTypes.StringView, `"a text of more than twelve bytes"`, `"a text of more than twelve bytes"`},
		{"SELECT $1 AS v", arrow.BinaryTypes.StringView, `"x"`, `"x"`},
		{"SELECT $1 AS v", arrow.BinaryTypes.BinaryView, `"AP8="`, `"AP8="`},
		{"SELECT $1 AS v", arrow.ListViewOf(arrow.PrimitiveTypes.Int32), "[1,null,3]", "[1,null,3]"},
		{"SELECT $1 AS v", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `"d"`, `"d"`},
		{"SELECT $1::INTEGER AS v", arrow.Null, "null", "null"},
		{"SELECT $1::VARCHAR AS v", arrow.BinaryTypes.String, "null", "null"},
	} {
		p := prepare(t, c, test.sql)
		got := bound(t, c, p, record(t, `[{"p": `+test.value+`}]`, field("p", test.typ)))
		if want := `{"v":` + test.want + "}\n"; got != want {
			t.Errorf("%s with %s %s: %s; want %s", test.sql, test.typ, test.value, got, want)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func TestTimesOfDay(t *testing.T) {
	c := serve(t).client(t)
	const day = 24 * time.Hour
	for value, want := range map[time.Duration]string{
		-time.Microsecond: "-1 microseconds are not a time of day",
		0:                 "00:00:00",
		time.Microsecond:  "00:00:00.000001",
		time.Hour:         "01:00:00",
		day - 1000:        "23:59:59.999999",
		day:               "24:00:00",
		day + 1000:        "86400000001 microseconds are not a time of day",
		25 * time.Hour:    "90000000000 microseconds are not a time of day",
	} {
		micros := array.NewTime64Builder(memory.DefaultAllocator, &arrow.Time64Type{Unit: arrow.Microsecond})
		micros.Append(arrow.Time64(value.Microseconds()))
		p := prepare(t, c, "SELECT $1::TIME::VARCHAR AS v")
		p.SetParameters(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("p", micros.Type())}, nil), []arrow.Array{micros.NewArray()}, 1))
		info, err := p.Execute(t.Context())
		if strings.Contains(want, "not a time") {
			wantCode(t, err, codes.InvalidArgument, want)
			continue
		}
		if got := rows(t, c, t.Context(), info, err); got != `{"v":"`+want+`"}`+"\n" {
			t.Errorf("%s: %s", value, got)
		}
	}
	seconds := array.NewTime32Builder(memory.DefaultAllocator, &arrow.Time32Type{Unit: arrow.Second})
	seconds.Append(86400)
	params := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("p", seconds.Type())}, nil), []arrow.Array{seconds.NewArray()}, 1)
	if got := bound(t, c, prepare(t, c, "SELECT $1::TIME::VARCHAR AS v"), params); got != `{"v":"24:00:00"}`+"\n" {
		t.Errorf("a day in seconds: %s", got)
	}
}

// TestSpiceBindsByName has columns as Spice's SDKs name them.
func TestSpiceBindsByName(t *testing.T) {
	c := serve(t).client(t)
	i, s := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	for _, test := range []struct {
		sql    string
		params arrow.RecordBatch
	}{
		{"SELECT id, name FROM orders WHERE id = $1 AND name = $2", record(t, `[{"$1": 7, "$2": "n7"}]`, field("$1", i), field("$2", s))},
		{"SELECT id, name FROM orders WHERE id = ? AND name = ?", record(t, `[{"0": 7, "1": "n7"}]`, field("0", i), field("1", s))},
		{"SELECT id, name FROM orders WHERE id = $id AND name = $name", record(t, `[{"name": "n7", "id": 7}]`, field("name", s), field("id", i))},
		{"SELECT id, name FROM orders WHERE id = $id AND name = $name", record(t, `[{"$name": "n7", "$id": 7}]`, field("$name", s), field("$id", i))},
	} {
		if got := bound(t, c, prepare(t, c, test.sql), test.params); got != `{"id":7,"name":"n7"}`+"\n" {
			t.Errorf("%s: %s", test.sql, got)
		}
	}
}

func TestSchemasOfPreparedStatements(t *testing.T) {
	c := serve(t).client(t)
	for _, test := range []struct{ sql, dataset, params string }{
		{"SELECT id FROM orders WHERE price < $1", "id: type=int64, nullable", "$1: type=decimal(9, 2), nullable"},
		{"SELECT $a AS a, id::INTEGER AS b FROM orders WHERE id = $b", "unknown: type=utf8, nullable", "$a: type=utf8, nullable\n    - $b: type=int64, nullable"},
		{
			"SELECT 1 AS n WHERE now() > $1::TIMESTAMPTZ AND TIMESTAMP '2024-01-01' > $2", "n: type=int32",
			"$1: type=timestamp[ms, tz=UTC], nullable\n    - $2: type=timestamp[ms], nullable",
		},
		{"DELETE FROM orders WHERE id = ?", "", "$1: type=int64, nullable"},
	} {
		p := prepare(t, c, test.sql)
		if got := p.DatasetSchema().String(); !strings.Contains(got, test.dataset) || test.dataset == "" && p.DatasetSchema().NumFields() > 0 {
			t.Errorf("%s: the rows are %s", test.sql, got)
		}
		if got := p.ParameterSchema().String(); !strings.Contains(got, test.params) {
			t.Errorf("%s: the parameters are %s", test.sql, got)
		}
		if write, ok := p.IsUpdate(); !ok || write != strings.HasPrefix(test.sql, "DELETE") {
			t.Errorf("%s: IsUpdate is %v, %v", test.sql, write, ok)
		}
		if _, err := p.GetSchema(t.Context()); err != nil {
			t.Errorf("GetSchema: %v", err)
		}
	}
}

func TestErrorsOfPreparedStatements(t *testing.T) {
	h := serve(t)
	c := h.client(t)
	i := arrow.PrimitiveTypes.Int64
	_, err := c.Prepare(t.Context(), "SELECT nope FROM orders")
	wantCode(t, err, codes.NotFound, "nope")
	p := prepare(t, c, "SELECT id FROM orders WHERE id = $1")
	_, err = p.Execute(t.Context())
	wantCode(t, err, codes.FailedPrecondition, "1 parameter and no values; send them with DoPut")
	p.SetParameters(record(t, `[{"a": 1}, {"a": 2}]`, field("a", i)))
	_, err = p.Execute(t.Context())
	wantCode(t, err, codes.InvalidArgument, "more than one row")
	p.SetParameters(record(t, `[{"a": 1, "b": 2}]`, field("a", i), field("b", i)))
	info, err := p.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = read(t.Context(), c, info)
	wantCode(t, err, codes.InvalidArgument, "1 parameter, got 2")
	deep := arrow.DataType(i)
	value := "1"
	for range 40 {
		deep, value = arrow.ListOf(deep), "["+value+"]"
	}
	p.SetParameters(record(t, `[{"a": `+value+`}]`, field("a", deep)))
	_, err = p.Execute(t.Context())
	wantCode(t, err, codes.InvalidArgument, "nested too deep")
	p.SetParameters(record(t, `[{"a": [`+strings.Repeat("1,", 70000)+`1]}]`, field("a", arrow.ListOf(i))))
	_, err = p.Execute(t.Context())
	wantCode(t, err, codes.InvalidArgument, "more than 65536 values")
	for _, text := range []string{"SELECT $1", "SELECT $1::STRUCT(k INTEGER)"} {
		p := prepare(t, c, text)
		p.SetParameters(record(t, `[{"a": [{"key": "k", "value": 1}, {"key": "k", "value": 2}]}]`, field("a", arrow.MapOf(arrow.BinaryTypes.String, i))))
		info, err := p.Execute(t.Context())
		if err == nil {
			_, _, err = read(t.Context(), c, info)
		}
		wantCode(t, err, codes.InvalidArgument, `a map has the key "k" twice`)
	}
	p.SetParameters(record(t, `[{"a": [{"key": 1, "value": 1}, {"key": 1, "value": 1}]}]`, field("a", arrow.MapOf(i, i))))
	info, err = p.Execute(t.Context())
	if err == nil {
		_, _, err = read(t.Context(), c, info)
	}
	wantCode(t, err, codes.InvalidArgument, `a map has the key "1" twice`)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone, err := c.LoadPreparedStatementFromResult(&pb.ActionCreatePreparedStatementResult{PreparedStatementHandle: p.Handle()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = gone.Execute(t.Context())
	wantCode(t, err, codes.NotFound, "the prepared statement is not known")
}

// repeated is a parameter that is a list of n values, which all are the one of
// an array: a small message of many bytes.
func repeated(t testing.TB, n int, value arrow.Array) arrow.RecordBatch {
	t.Helper()
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: value.DataType()}
	indices := array.NewInt32Builder(memory.DefaultAllocator)
	indices.AppendValues(make([]int32, n), nil)
	values := array.NewDictionaryArray(dt, indices.NewArray(), value)
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, int32(n)}))
	list := array.NewListData(array.NewData(arrow.ListOf(dt), 1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{values.Data()}, 0, 0))
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("a", list.DataType())}, nil), []arrow.Array{list}, 1)
}

func TestParametersAreBounded(t *testing.T) {
	const most = 1 << 20
	c := serve(t, func(o *flight.Options) { o.MaxMessage = most }).client(t)
	p := prepare(t, c, "SELECT len($1::VARCHAR[]) AS n")
	long := strings.Repeat("x", most/16)
	for _, test := range []struct {
		dt    arrow.DataType
		value string
	}{
		{arrow.BinaryTypes.String, `"` + long + `"`},
		{arrow.BinaryTypes.Binary, `"` + long + `"`},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), `[{"key": "` + long + `", "value": 1}]`},
		{arrow.StructOf(field(long, arrow.PrimitiveTypes.Int8)), `{}`},
		{arrow.ListOf(arrow.PrimitiveTypes.Int8), "[" + strings.Repeat("1, ", most/1024) + "1]"},
	} {
		value := record(t, `[{"v": `+test.value+`}]`, field("v", test.dt)).Column(0)
		p.SetParameters(repeated(t, 30, value))
		_, err := p.Execute(t.Context())
		wantCode(t, err, codes.InvalidArgument, `parameter "a": more than 1048576 bytes`)
	}
	text := record(t, `[{"v": "`+long+`"}]`, field("v", arrow.BinaryTypes.String)).Column(0)
	if got := bound(t, c, p, repeated(t, 15, text)); got != `{"n":15}`+"\n" {
		t.Error(got)
	}
}

// TestParametersCountAsTheyAreStored binds small messages of many bytes.
func TestParametersCountAsTheyAreStored(t *testing.T) {
	now := time.Now()
	h := serve(t)
	h.server.SetClock(func() time.Time { return now })
	c := h.client(t)
	const size = flight.MaxPreparedOwnerBytes / 8
	text := record(t, `[{"v": "`+strings.Repeat("x", size/16)+`"}]`, field("v", arrow.BinaryTypes.String)).Column(0)
	all := make([]*flightsql.PreparedStatement, 8)
	for i := range all {
		now = now.Add(time.Second)
		all[i] = prepare(t, c, "SELECT len($1::VARCHAR[]) AS n")
		all[i].SetParameters(repeated(t, 16, text))
		if _, err := all[i].Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := all[0].Execute(t.Context())
	wantCode(t, err, codes.NotFound, "prepare it again")
	if _, err := all[1].Execute(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBindingAgainInvalidatesTheTicket(t *testing.T) {
	c := serve(t).client(t)
	p := prepare(t, c, "SELECT $1 AS v")
	p.SetParameters(record(t, `[{"a": 1}]`, field("a", arrow.PrimitiveTypes.Int64)))
	info, err := p.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := bound(t, c, p, record(t, `[{"a": 2}]`, field("a", arrow.PrimitiveTypes.Int64))); got != `{"v":2}`+"\n" {
		t.Error(got)
	}
	_, _, err = read(t.Context(), c, info)
	wantCode(t, err, codes.FailedPrecondition, "other parameters were bound")
}

func TestPreparedStatementsAreBoundedAndExpire(t *testing.T) {
	now := time.Now()
	h := serve(t)
	h.server.SetClock(func() time.Time { return now })
	c := h.client(t)
	oldest := prepare(t, c, "SELECT 0 AS v")
	kept := prepare(t, c, "SELECT 1 AS v")
	for i := range flight.MaxPreparedOwner - 1 {
		now = now.Add(time.Second)
		if i == 0 {
			if _, err := kept.Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		prepare(t, c, fmt.Sprint("SELECT ", i))
	}
	_, err := oldest.Execute(t.Context())
	wantCode(t, err, codes.NotFound, "prepare it again")
	if _, err := kept.Execute(t.Context()); err != nil {
		t.Error(err)
	}
	now = now.Add(flight.PreparedLife + time.Second)
	_, err = kept.Execute(t.Context())
	wantCode(t, err, codes.NotFound, "prepare it again")
}

func TestUpdates(t *testing.T) {
	c := serve(t).client(t)
	n, err := c.ExecuteUpdate(t.Context(), "DELETE FROM orders WHERE id < 10")
	if n != 10 || err != nil {
		t.Errorf("DELETE: %d, %v", n, err)
	}
	p := prepare(t, c, "INSERT INTO orders (id, price, name) VALUES ($1, $2, $3)")
	p.SetParameters(record(t, `[{"a": 1, "b": "2.50", "c": "new"}]`,
		field("a", arrow.PrimitiveTypes.Int64), field("b", &arrow.Decimal128Type{Precision: 9, Scale: 2}), field("c", arrow.BinaryTypes.String)))
	if n, err := p.ExecuteUpdate(t.Context()); n != 1 || err != nil {
		t.Errorf("INSERT: %d, %v", n, err)
	}
	if n, err := prepare(t, c, "UPDATE orders SET price = 1 WHERE id > 89").ExecuteUpdate(t.Context()); n != 10 || err != nil {
		t.Errorf("UPDATE: %d, %v", n, err)
	}
	if got := sql(t, c, "SELECT count(*) AS n, sum(price)::DOUBLE AS p FROM orders WHERE id < 10 OR id > 89"); got != `{"n":11,"p":12.5}`+"\n" {
		t.Error(got)
	}
	_, err = c.ExecuteUpdate(t.Context(), "SELECT 1")
	wantCode(t, err, codes.InvalidArgument, "changes nothing")
	_, err = c.ExecuteUpdate(t.Context(), `DELETE FROM "my table"`)
	wantCode(t, err, codes.PermissionDenied, "")
}
