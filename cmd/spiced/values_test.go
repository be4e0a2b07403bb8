package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/credentials/insecure"
)

var valueSeed = flag.Uint64("values.seed", 1, "the seed of the values of TestValuesGoOutAndBack")

// valuesOfType is how many values of a type are sent.
const valuesOfType = 3

// valueType generates values of a type.
type valueType struct {
	typ   string
	value func(r *rand.Rand) string // a SQL expression
	back  map[string]string         // by protocol: how SQL makes the value of what came out, which is $1; "": $1 cast to the type
}

// The protocols of backs. A JSON text is read by DuckDB.
const (
	viaHTTP, viaFlight, viaPostgres = "http", "flight", "postgres"

	skipped = "skipped"
)

// TestValuesGoOutAndBack reads generated values of every type over every protocol, binds
// what it reads as a parameter, and lets DuckDB compare. It does so in the runtime and
// in workers.
func TestValuesGoOutAndBack(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{"direct": "{ timeout: 20s }", "isolated": "{ timeout: 20s, isolation: process, isolate: all, workers: 2 }"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := "version: v1\nkind: Spicepod\nname: values\nruntime: { query: " + settings + " }\n"
			p := startProcess(t, folder(t, "spicepod.yaml", pod), sqlProtocols()...)
			v := &valueTest{p, flightConnect(t, p, "", insecure.NewCredentials()), pgxConnect(t, p, "x", "sslmode=disable")}
			r := rand.New(rand.NewPCG(*valueSeed, 0))
			for _, typ := range valueTypes() {
				values := []string{"NULL"}
				for range valuesOfType - 1 {
					values = append(values, typ.value(r))
				}
				for _, value := range values {
					expr := "CAST(" + value + " AS " + typ.typ + ")"
					for protocol, err := range v.roundTrips(typ, expr) {
						if err != nil {
							t.Errorf("-values.seed=%d: %s: SELECT %s: %v", *valueSeed, protocol, expr, err)
						}
					}
				}
			}
		})
	}
}

type valueTest struct {
	p      *program
	flight flightSQL
	pg     *pgx.Conn
}

// ask is a statement for a value, and DuckDB's own text of it: text tells more than =
// does, -0.0 from 0.0 and 1 month from 30 days.
func ask(expr string) string {
	return "SELECT " + expr + " AS x, CAST(" + expr + " AS VARCHAR) AS text"
}

// again is a statement for DuckDB's text of a value that is a parameter. DuckDB gives no
// type to a parameter that is cast twice at once.
func (typ valueType) again(protocol string) string {
	back := typ.back[protocol]
	if back == "" {
		back = "CAST($1 AS " + typ.typ + ")"
	}
	return "SELECT CAST(v AS VARCHAR) AS text FROM (SELECT " + back + " AS v)"
}

func (v *valueTest) roundTrips(typ valueType, expr string) map[string]error {
	out := map[string]error{}
	if typ.back[viaHTTP] != skipped {
		out[viaHTTP] = v.overHTTP(typ, expr)
	}
	if typ.back[viaFlight] != skipped {
		out[viaFlight] = v.overFlight(typ, expr)
	}
	if typ.back[viaPostgres] != skipped {
		out["postgres, text"] = v.overPostgres(typ, expr, pgx.TextFormatCode)
		out["postgres, binary"] = v.overPostgres(typ, expr, pgx.BinaryFormatCode)
	}
	return out
}

// differs is the error for a value that comes back as another.
func differs(sent any, want, got string) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s, as %v, came back as %s", want, sent, got)
}

func (v *valueTest) overHTTP(typ valueType, expr string) error {
	read := func(body string) (row struct{ X, Text json.RawMessage }, err error) {
		rows := []struct{ X, Text json.RawMessage }{}
		r := v.p.do("POST", "/v1/sql", body, "Content-Type", "application/json")
		if err := json.Unmarshal([]byte(r.body), &rows); err != nil || len(rows) != 1 {
			return row, fmt.Errorf("%s, %w", r.body, err)
		}
		return rows[0], nil
	}
	body := func(sql string, params ...any) string {
		doc, _ := json.Marshal(map[string]any{"sql": sql, "parameters": params}) //nolint:errcheck // of texts
		return string(doc)
	}
	out, err := read(body(ask(expr), []any{}...))
	if err != nil {
		return err
	}
	var param any = out.X
	if strings.Contains(typ.back[viaHTTP], "JSON") && string(out.Text) != "null" {
		param = string(out.X)
	}
	back, err := read(body(typ.again(viaHTTP), param))
	if err != nil {
		return fmt.Errorf("%s: %w", out.X, err)
	}
	return differs(string(out.X), string(out.Text), string(back.Text))
}

func (v *valueTest) overFlight(typ valueType, expr string) error {
	read := func(info *arrowflight.FlightInfo, err error) (arrow.RecordBatch, string, error) {
		if err != nil {
			return nil, "", err
		}
		reader, err := v.flight.DoGet(v.flight.ctx, info.Endpoint[0].Ticket)
		if err != nil {
			return nil, "", err
		}
		defer reader.Release()
		if !reader.Next() {
			return nil, "", fmt.Errorf("no row: %w", reader.Err())
		}
		batch := reader.RecordBatch()
		batch.Retain()
		last := batch.Column(int(batch.NumCols()) - 1)
		return batch, fmt.Sprint(last.IsNull(0), last.ValueStr(0)), nil
	}
	batch, want, err := read(v.flight.Execute(v.flight.ctx, ask(expr)))
	if err != nil {
		return err
	}
	statement, err := v.flight.Prepare(v.flight.ctx, typ.again(viaFlight))
	if err != nil {
		return err
	}
	defer statement.Close(v.flight.ctx) //nolint:errcheck // it was executed
	x := batch.Column(0)
	statement.SetParameters(array.NewRecordBatch(arrow.NewSchema(batch.Schema().Fields()[:1], nil), []arrow.Array{x}, 1))
	_, got, err := read(statement.Execute(v.flight.ctx))
	if err != nil {
		return fmt.Errorf("%s %s: %w", x.DataType(), x, err)
	}
	return differs(x, want, got)
}

func (v *valueTest) overPostgres(typ valueType, expr string, format int16) error {
	read := func(sql string, oids []uint32, params ...[]byte) (row [][]byte, oid uint32, err error) {
		r := v.pg.PgConn().ExecParams(v.flight.ctx, sql, params, oids, []int16{format}, []int16{format}).Read()
		if r.Err != nil || len(r.Rows) != 1 {
			return nil, 0, fmt.Errorf("no row: %w", r.Err)
		}
		return r.Rows[0], r.FieldDescriptions[0].DataTypeOID, nil
	}
	out, oid, err := read(ask(expr), nil)
	if err != nil {
		return err
	}
	back, _, err := read(typ.again(viaPostgres), []uint32{oid}, out[0])
	if err != nil {
		return fmt.Errorf("%q of the type %d: %w", out[0], oid, err)
	}
	return differs(strconv.Quote(string(out[0])), fmt.Sprint(out[1] == nil, string(out[1])), fmt.Sprint(back[0] == nil, string(back[0])))
}

// fromJSON parses the JSON text that a protocol writes of a nested value.
func fromJSON(typ string, protocols ...string) map[string]string {
	back := map[string]string{}
	for _, p := range protocols {
		back[p] = "CAST(CAST($1 AS JSON) AS " + typ + ")"
	}
	return back
}

func valueTypes() []valueType {
	types := scalarTypes()
	add := func(typ string, back map[string]string, value func(r *rand.Rand) string) {
		types = append(types, valueType{typ, value, back})
	}
	for _, elem := range scalarTypes() {
		if elem.typ == "JSON" || strings.HasPrefix(elem.typ, "ENUM") {
			continue
		}
		var back map[string]string
		if elem.back[viaHTTP] != "" { // base64, and numbers that JSON cannot represent
			back = map[string]string{viaHTTP: skipped}
		}
		add(elem.typ+"[]", back, func(r *rand.Rand) string { return listOf(r, elem) })
	}
	text, number := scalarOf("VARCHAR"), scalarOf("INTEGER")
	add("INTEGER[][]", fromJSON("INTEGER[][]", viaPostgres), func(r *rand.Rand) string {
		return "[" + listOf(r, number) + "::INTEGER[], NULL, []]"
	})
	add("VARCHAR[2]", nil, func(r *rand.Rand) string { return "[" + text.value(r) + ", NULL]" })
	const object = `STRUCT(z INTEGER, a VARCHAR, "B c" STRUCT(d DATE, l VARCHAR[]))`
	add(object, fromJSON(object, viaPostgres), func(r *rand.Rand) string {
		return fmt.Sprintf(`{'z': %s, 'a': %s, 'B c': {'d': DATE '2024-02-29', 'l': %s}}`, number.value(r), text.value(r), listOf(r, text))
	})
	back := fromJSON("MAP(VARCHAR, INTEGER)", viaHTTP, viaPostgres)
	back[viaFlight] = skipped // bound as a STRUCT
	add("MAP(VARCHAR, INTEGER)", back, func(r *rand.Rand) string { return "MAP {" + text.value(r) + ": " + number.value(r) + "}" })
	const union = "UNION(num BIGINT, str VARCHAR)"
	back = fromJSON(union, viaHTTP, viaPostgres)
	add(union, back, func(r *rand.Rand) string {
		if r.IntN(2) == 0 {
			return "CAST(" + number.value(r) + " AS BIGINT)"
		}
		return text.value(r)
	})
	return types
}

func listOf(r *rand.Rand, elem valueType) string {
	items := make([]string, r.IntN(4))
	for i := range items {
		items[i] = "CAST(" + elem.value(r) + " AS " + elem.typ + ")"
		if r.IntN(4) == 0 {
			items[i] = "NULL"
		}
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func scalarOf(typ string) valueType {
	for _, t := range scalarTypes() {
		if t.typ == typ {
			return t
		}
	}
	return valueType{}
}

func scalarTypes() []valueType {
	types := []valueType{
		{"BOOLEAN", anyOf("true", "false"), nil},
		{"BLOB", blobValue, map[string]string{viaHTTP: "from_base64($1)"}},
		{"VARCHAR", textValue, nil},
		{"JSON", anyOf(`'{"a": [1, null, 2.50, "é"]}'`, `'null'`, `'"text"'`, `'12345678901234567890.5'`, `'[ ]'`), fromJSON("JSON", viaHTTP)},
		{"BIT", func(r *rand.Rand) string { return quoted(strconv.FormatUint(r.Uint64()>>r.IntN(64), 2)) }, nil},
		{"UUID", func(r *rand.Rand) string { return quoted(fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())) }, nil},
		{"ENUM('a', 'é\"', '', 'NULL')", anyOf("'a'", "'é\"'", "''", "'NULL'"), nil},
		{"TIME", func(r *rand.Rand) string { return clockValue(r, 6) }, nil},
		{"TIME_NS", func(r *rand.Rand) string { return clockValue(r, 6) }, nil}, // PostgreSQL has no nanoseconds
		{"TIMETZ", func(r *rand.Rand) string {
			return quoted(fmt.Sprintf("%s%+03d:%02d", strings.Trim(clockValue(r, 6), "'"), r.IntN(31)-15, r.IntN(60)))
		}, nil},
		{"INTERVAL", func(r *rand.Rand) string {
			return fmt.Sprintf("to_months(%d) + to_days(%d) + to_microseconds(%d)", int32(spread(r, 31)), int32(spread(r, 31)), spread(r, 53)) // Arrow has 292 years
		}, nil},
		{"DATE", func(r *rand.Rand) string {
			return orInfinite(r, "DATE '1970-01-01' + "+strconv.FormatInt(max(spread(r, 31), math.MinInt32+20_000), 10)+"::INTEGER")
		}, nil},
		{"TIMESTAMP", func(r *rand.Rand) string { return timestampValue(r, 63) }, nil},
		{"TIMESTAMP_S", func(r *rand.Rand) string { return timestampValue(r, 63) }, nil},
		{"TIMESTAMP_MS", func(r *rand.Rand) string { return timestampValue(r, 63) }, nil},
		{"TIMESTAMP_NS", func(r *rand.Rand) string { return timestampValue(r, 53) }, nil},
		{"TIMESTAMPTZ", func(r *rand.Rand) string { return timestampValue(r, 57) + "::TIMESTAMP AT TIME ZONE 'UTC'" }, nil},
	}
	for _, typ := range []string{"FLOAT", "DOUBLE"} {
		types = append(types, valueType{typ, floatValue, nil}, valueType{typ, anyOf("'nan'", "'inf'", "'-inf'"), map[string]string{viaHTTP: skipped}})
	}
	for i, typ := range []string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT"} {
		bits := 8<<i - 1
		types = append(types, valueType{typ, func(r *rand.Rand) string { return quoted(strconv.FormatInt(spread(r, bits), 10)) }, nil})
		types = append(types, valueType{"U" + typ, func(r *rand.Rand) string { return quoted(strconv.FormatUint(r.Uint64()>>(63-bits)>>r.IntN(bits), 10)) }, nil})
	}
	for _, d := range []struct {
		typ          string
		width, scale int
	}{
		{"HUGEINT", 38, 0},
		{"UHUGEINT", 38, 0},
		{"DECIMAL(4,1)", 4, 1},
		{"DECIMAL(9,9)", 9, 9},
		{"DECIMAL(18,4)", 18, 4},
		{"DECIMAL(38,0)", 38, 0},
		{"DECIMAL(38,37)", 38, 37},
	} {
		types = append(types, valueType{d.typ, func(r *rand.Rand) string { return decimalValue(r, d.width, d.scale, d.typ != "UHUGEINT") }, nil})
	}
	return append(types,
		valueType{"HUGEINT", anyOf("170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"), nil},
		valueType{"UHUGEINT", anyOf("340282366920938463463374607431768211455", "170141183460469231731687303715884105728"), nil})
}

func anyOf(values ...string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// spread is a number of any size of up to so many bits and a sign.
func spread(r *rand.Rand, bits int) int64 {
	n := int64(r.Uint64()>>(64-bits)) >> r.IntN(bits)
	if r.IntN(2) == 0 {
		return -n - 1
	}
	return n
}

func textValue(r *rand.Rand) string {
	parts := []string{
		"a", " ", "'", `"`, `\`, "{", "}", ",", "\n", "\t", "é", "日", "😀", "NULL", "null", "$1", "--", "\u2028", "\x01", "infinity",
		"2024-02-29", "1e5",
	}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return quoted(b.String())
}

func blobValue(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(20) {
		fmt.Fprintf(&b, `\x%02X`, r.IntN(256))
	}
	return quoted(b.String()) + "::BLOB"
}

func floatValue(r *rand.Rand) string {
	f := float64(math.Float32frombits(r.Uint32()))
	if r.IntN(4) == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return anyOf("'-0.0'", "0", "'1e-45'", "'3.4028235e38'", "'0.1'", "'16777217'")(r)
	}
	return quoted(strconv.FormatFloat(f, 'g', -1, 64))
}

func decimalValue(r *rand.Rand, width, scale int, signed bool) string {
	digits := make([]byte, 1+r.IntN(width))
	for i := range digits {
		digits[i] = byte('0' + r.IntN(10))
	}
	s := strings.Repeat("0", width+1-len(digits)) + string(digits)
	s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	if signed && r.IntN(2) == 0 {
		s = "-" + s
	}
	return quoted(strings.TrimSuffix(s, "."))
}

func clockValue(r *rand.Rand, digits int) string {
	if r.IntN(6) == 0 {
		return "'24:00:00'"
	}
	fraction := fmt.Sprintf("%09d", r.IntN(1e9))[:r.IntN(digits)+1]
	return quoted(fmt.Sprintf("%02d:%02d:%02d.%s", r.IntN(24), r.IntN(60), r.IntN(60), fraction))
}

// timestampValue is a timestamp of microseconds of up to so many bits, and in the range
// of PostgreSQL.
func timestampValue(r *rand.Rand, bits int) string {
	n := max(spread(r, bits), -9_222_000_000_000_000_000)
	return orInfinite(r, "make_timestamp("+strconv.FormatInt(n, 10)+")")
}

func orInfinite(r *rand.Rand, value string) string {
	switch r.IntN(8) {
	case 0:
		return "'infinity'"
	case 1:
		return "'-infinity'"
	}
	return value
}
