package isolate

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// crossing is a result as it is sent: the columns and the payloads of the rows.
func crossing(f testing.TB, db *engine.DB, sql string) (columns []byte, payloads [][]byte) {
	f.Helper()
	rows, err := db.Query(context.Background(), engine.Request{SQL: sql})
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	var pipe bytes.Buffer
	out := newFrameWriter(&pipe)
	e := newEncoder(rows.Columns(), out)
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = e.add(chunk)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(e.write(), out.flush()); err != nil {
		f.Fatal(err)
	}
	for pipe.Len() > 0 {
		rows, err := readFrame(&pipe, fromWorker)
		if err != nil {
			f.Fatal(err)
		}
		payloads = append(payloads, rows.payload)
	}
	columns, err = json.Marshal(rows.Columns())
	if err != nil {
		f.Fatal(err)
	}
	return columns, payloads
}

// crossings have a column of each physical type.
var crossings = []string{
	"SELECT i, 'a text of some length' AS s, i % 2 = 0 AS b FROM range(3) t(i)",
	"SELECT [1, NULL] AS l, {'a': 'x', 'b': [1.5::DECIMAL(4,1)]} AS s, MAP {'k': 1} AS m, [1, 2]::INT[2] AS a",
	"SELECT union_value(num := 2)::UNION(num INTEGER, str VARCHAR) AS u, 'b'::ENUM('a', 'b') AS e, '101'::BIT AS b, NULL AS n",
	"SELECT [[1, 2]::INT[2], NULL] AS l, [[1], NULL]::INT[][2] AS a, [NULL] AS n, MAP {[1]: true} AS m",
	"SELECT '1:00:00+01'::TIMETZ AS z, INTERVAL 1 DAY AS i, uuid() AS id, 1::HUGEINT AS h, now() AS t, 'x'::BLOB AS b",
}

// take decodes a payload and writes what it gives.
func take(columns []engine.Column, payload []byte) {
	d := newDecoder(columns, payload)
	for {
		chunk, err := d.next()
		if chunk == nil || err != nil {
			return
		}
		writeEach(columns, chunk)
	}
}

func TestRowsWithAnyNumberChanged(t *testing.T) {
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range crossings {
		text, payloads := crossing(t, db, sql)
		columns, err := readColumns(frame{kindColumns, text})
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at+4 <= len(payloads[0]); at += 2 {
			for _, number := range []uint32{0, 1 << 16, math.MaxInt32, math.MaxUint32} {
				changed := bytes.Clone(payloads[0])
				binary.LittleEndian.PutUint32(changed[at:], number)
				take(columns, changed)
			}
			take(columns, payloads[0][:at])
		}
	}
}

// TestColumnsTooWideForAChunk: a new chunk of them would take all memory.
func TestColumnsTooWideForAChunk(t *testing.T) {
	wide := &engine.Type{ID: engine.Array, Size: maxArray, Elem: &engine.Type{ID: engine.HugeInt}}
	for name, typ := range map[string]*engine.Type{
		"an ARRAY":           wide,
		"ARRAYs in a STRUCT": {ID: engine.Struct, Fields: []engine.Field{{Name: "a", Type: wide}, {Name: "b", Type: wide}}},
		"a LIST of ARRAYs":   {ID: engine.List, Elem: wide},
		"a UNION of ARRAYs":  {ID: engine.Union, Fields: []engine.Field{{Name: "a", Type: wide}}},
		"ARRAYs of NULLs":    {ID: engine.Array, Size: 70_000, Elem: &engine.Type{ID: engine.Null}},
	} {
		columns := []engine.Column{{Name: "a", Type: typ}}
		if err := checkColumns(columns); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(columns)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readColumns(frame{kindColumns, text}); !errors.Is(err, errFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestListsOfMoreThanHasCome: the parent makes no room for a million ARRAYs
// because a number says that there are as many.
func TestListsOfMoreThanHasCome(t *testing.T) {
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	text, payloads := crossing(t, db, "SELECT list([]::INT[]) AS l FROM range(100000)")
	columns, err := readColumns(frame{kindColumns, text})
	if err != nil {
		t.Fatal(err)
	}
	d := newDecoder(columns, payloads[0])
	if _, err := d.next(); err != nil {
		t.Fatal(err)
	}
	var most, many encoder
	most.list(1 << 20)
	many.list(math.MaxInt32)
	columns[0].Type = &engine.Type{ID: engine.List, Elem: &engine.Type{ID: engine.Null}}
	for _, c := range []struct {
		payload []byte
		fits    bool
	}{{most.buf, true}, {many.buf, false}} {
		d := newDecoder(columns, c.payload)
		if _, err := d.next(); (err == nil) != c.fits {
			t.Errorf("a list of NULLs in %d bytes: %v", len(c.payload), err)
		}
	}
}

// list adds a row of one list of n elements that take no bytes.
func (e *encoder) list(n int) {
	for _, number := range []int{1, 0, n} { // rows, no mask, the length
		e.number(number)
		e.pad()
	}
}

// FuzzRowsOfAWorker: whatever a worker sends of a result, the parent goes on,
// and what it takes can be written in each form.
func FuzzRowsOfAWorker(f *testing.F) {
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(db.Close)
	for _, sql := range crossings {
		columns, payloads := crossing(f, db, sql)
		f.Add(columns, payloads[0])
	}
	f.Fuzz(func(_ *testing.T, text, payload []byte) {
		columns, err := readColumns(frame{kindColumns, text})
		if err != nil {
			return
		}
		take(columns, payload)
	})
}

func writeEach(columns []engine.Column, chunk *engine.Chunk) {
	for _, name := range []string{"json", "sql", "ndjson", "csv", "table", "arrow"} {
		form, _ := format.ByName(name)
		w := form.NewWriter(io.Discard)
		if w.Begin(columns) == nil && w.Write(chunk) == nil {
			_ = w.End()
		}
	}
}

// FuzzFramesOfAWorker: what is no frame is an error, and no more memory is
// taken than has come.
func FuzzFramesOfAWorker(f *testing.F) {
	var b bytes.Buffer
	_ = writeFrame(&b, kindRows, []byte("rows"))
	_ = writeFrame(&b, kindEnd, []byte(`{"Error":{"Code":"timeout","Message":"m","Offset":-1},"Data":1}`))
	f.Add(b.Bytes())
	f.Add([]byte{255, 255, 255, 31, byte(kindRows), 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			frame, err := readFrame(r, fromWorker)
			if err != nil {
				return
			}
			if len(frame.payload) > len(data) {
				t.Fatalf("a payload of %d bytes out of %d", len(frame.payload), len(data))
			}
			if e, err := decodeJSON[end](frame); err == nil && e.Error != nil && e.Error.err().Code == "" {
				t.Fatal("an error without a code")
			}
		}
	})
}

// FuzzParams: what the reader takes is written again as it was.
func FuzzParams(f *testing.F) {
	for _, p := range []engine.Params{
		{},
		{Positional: []any{nil, true, false, int64(math.MinInt64), math.NaN(), "s\xff", json.Number("1.50"), value.Numeric("1.50"), []byte{0}, []any{int64(1)}}},
		{Named: map[string]any{"a": map[string]any{"b": []any{}}, "": ""}},
	} {
		buf, err := appendParams(nil, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(buf)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readParams(data)
		if err != nil {
			return
		}
		again, err := appendParams(nil, p)
		if err != nil {
			t.Fatalf("%v cannot be written: %v", p, err)
		}
		q, err := readParams(again)
		if err != nil {
			t.Fatalf("%v cannot be read again: %v", p, err)
		}
		third, err := appendParams(nil, q)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%v became %v (%v)", p, q, err)
		}
	})
}

func TestParamsCrossExactly(t *testing.T) {
	for _, p := range []engine.Params{
		{},
		{Positional: []any{}},
		{Named: map[string]any{}},
		{Positional: []any{nil, true, int64(-1), 0.1, "", "s\xff\x00", json.Number("1.50"), value.Numeric("1.50"), []byte{0, 255}, []any{nil, []any{}}}},
		{Named: map[string]any{"x": map[string]any{"y": map[string]any{}}}},
	} {
		buf, err := appendParams(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readParams(buf); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%#v became %#v (%v)", p, got, err)
		}
	}
}

func TestParamsThatCannotCross(t *testing.T) {
	deep := any(nil)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for _, v := range []any{deep, struct{}{}, []any{int8(1)}, map[string]any{"a": int8(1)}} {
		if _, err := appendParams(nil, engine.Params{Positional: []any{v}}); err == nil {
			t.Errorf("%T was taken", v)
		}
	}
}

func TestColumnsThatDuckDBWouldNotSurvive(t *testing.T) {
	integer := &engine.Type{ID: engine.Integer}
	deep := integer
	for range maxNesting + 1 {
		deep = &engine.Type{ID: engine.List, Elem: deep}
	}
	for name, typ := range map[string]*engine.Type{
		"no type":              nil,
		"no element":           {ID: engine.List},
		"nested too deep":      deep,
		"an unknown type":      {ID: 99},
		"an ARRAY of nothing":  {ID: engine.Array, Elem: integer},
		"ARRAYs in an ARRAY":   {ID: engine.Array, Size: 1000, Elem: &engine.Type{ID: engine.Array, Size: 1000, Elem: integer}},
		"a MAP without fields": {ID: engine.Map, Elem: &engine.Type{ID: engine.Struct}},
		"a STRUCT of nothing":  {ID: engine.Struct},
		"a UNION of nothing":   {ID: engine.Union},
		"a name with a zero":   {ID: engine.Struct, Fields: []engine.Field{{Name: "a\x00b", Type: integer}}},
		"a wide DECIMAL":       {ID: engine.Decimal, Width: 39},
		"an ENUM of nothing":   {ID: engine.Enum},
		"an ENUM of twins":     {ID: engine.Enum, Values: []string{"a", "a"}},
	} {
		if err := checkColumns([]engine.Column{{Name: "v", Type: typ}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := checkColumns(nil); err == nil {
		t.Error("no columns were taken")
	}
}
