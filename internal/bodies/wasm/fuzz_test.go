package wasm

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/data/source/arrowrows"
)

// allTypes are columns of the types that a module may return.
var allTypes = []arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "o", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "d", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
	{Name: "t", Type: arrow.FixedWidthTypes.Time64us, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	{Name: "r", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true}), Nullable: true},
	{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), Nullable: true},
}

const allRows = `[
	{"i": 1, "s": "é", "o": true, "d": "-1234567.89", "t": "12:30:00", "l": ["a", null], "f": [1, null], "r": {"a": 1, "b": "aGk="}, "m": [{"key": "k", "value": 1}]},
	{"i": null, "s": null, "o": null, "d": null, "t": null, "l": null, "f": null, "r": null, "m": null},
	{"i": -1, "s": "", "o": false, "d": "0.00", "t": "00:00:00", "l": [], "f": [null, 2], "r": {"a": null, "b": null}, "m": []}]`

// streamOf writes JSON rows as a stream, of one batch for each text.
func streamOf(t testing.TB, fields []arrow.Field, rows ...string) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	for _, r := range rows {
		if err := w.Write(batch(t, schema, r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadStream(t *testing.T) {
	columns, err := readStream(streamOf(t, allTypes, allRows, `[]`, allRows), allTypes, true, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema(allTypes, nil)
	one := batch(t, schema, allRows)
	for i, c := range columns {
		if !arrow.TypeEqual(c.DataType(), allTypes[i].Type) || c.Len() != 6 {
			t.Errorf("column %s: %d values of the type %s", allTypes[i].Name, c.Len(), c.DataType())
		}
		for _, from := range []int64{0, 3} {
			if part := array.NewSlice(c, from, from+3); !array.Equal(part, one.Column(i)) {
				t.Errorf("column %s: got %v, want %v", allTypes[i].Name, part, one.Column(i))
			}
		}
	}
}

func TestLargeOffsets(t *testing.T) {
	got := []arrow.Field{{Name: "a", Type: arrow.BinaryTypes.LargeString, Nullable: true}, {Name: "b", Type: arrow.LargeListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}
	want := []arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}
	rows := `[{"a": "x", "b": [1, 2]}, {"a": null, "b": null}, {"a": "yz", "b": []}]`
	columns, err := readStream(streamOf(t, got, rows), want, true, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range columns {
		if one := batch(t, arrow.NewSchema(want, nil), rows).Column(i); !array.Equal(c, one) {
			t.Errorf("got %v, want %v", c, one)
		}
	}
}

// TestHostileStreams returns streams from a module that are not what they should be.
func TestHostileStreams(t *testing.T) {
	text := []arrow.Field{{Name: "value", Type: arrow.BinaryTypes.String, Nullable: true}}
	good := streamOf(t, text, `[{"value": "abcdefghijklmnop"}]`)
	many := make([]string, 40)
	for i := range many {
		many[i] = `[{"value": "` + strings.Repeat("x", 20_000) + `"}]`
	}
	var packed bytes.Buffer
	schema := arrow.NewSchema(text, nil)
	w := ipc.NewWriter(&packed, ipc.WithSchema(schema), ipc.WithZstd())
	if err := w.Write(batch(t, schema, `[{"value": "`+strings.Repeat("x", 4<<20)+`"}]`)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b := function(t, "body_ref: hostile.wasm, entrypoint: replay, params: {max_memory_bytes: 1MiB}, signature: {args: [{name: x, type: binary}], returns: utf8}")
	for _, c := range []struct {
		name   string
		stream []byte
		want   string
	}{
		{"junk", []byte("not Arrow data"), "failed to decode Arrow IPC stream returned by WASM function: "},
		{"a schema alone", streamOf(t, text), "WASM function call 'replay' returned 0 rows for 1 rows of input; it must return one for each"},
		{"half a stream", good[:len(good)-40], "failed to decode Arrow IPC stream returned by WASM function: "},
		{"text that is not UTF-8", bytes.ReplaceAll(good, []byte("abcdefgh"), []byte("abc\xFF\xFEfgh")), `column "value": the text of row 0 is not UTF-8`},
		{"two rows", streamOf(t, text, `[{"value": "a"}, {"value": "b"}]`), "WASM function call 'replay' returned 2 rows for 1 rows of input; it must return one for each"},
		{
			"another type", streamOf(t, []arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int64}}, `[{"value": 1}]`),
			"WASM function output schema does not match declared return schema: column 0 expected 'value: utf8', got 'value: int64'",
		},
		{"more rows than memory", streamOf(t, text, many...), "WASM function call 'replay' returned 40 rows for 1 rows"},
		{"a packed result", packed.Bytes(), "the result is larger than the 1048576 bytes that params.max_memory_bytes allows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bytes := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
			// Arrow data is aligned in the module's memory where the input is.
			bytes.Append(append(append([]byte("<replay>"), c.stream...), "</repla>"...))
			rows := array.NewRecordBatch(b.spec.Args, []arrow.Array{bytes.NewArray()}, 1)
			if _, err := b.Call(t.Context(), rows); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got error %v, want %s", err, c.want)
			}
			bytes.Append(append(append([]byte("<replay>"), good...), "</repla>"...))
			rows = array.NewRecordBatch(b.spec.Args, []arrow.Array{bytes.NewArray()}, 1)
			if values, err := b.Call(t.Context(), rows); err != nil || values.String() != `["abcdefghijklmnop"]` {
				t.Errorf("the next call gives %v, %v", values, err)
			}
		})
	}
}

// FuzzReadStream reads results of modules. What is read must be readable by DuckDB.
func FuzzReadStream(f *testing.F) {
	f.Add(streamOf(f, allTypes, allRows))
	f.Add(streamOf(f, allTypes, allRows, allRows))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		columns, err := readStream(data, allTypes, true, 1<<20)
		if err != nil {
			return
		}
		for i, c := range columns {
			if c.Len() != columns[0].Len() || !arrow.TypeEqual(c.DataType(), allTypes[i].Type) {
				t.Fatalf("column %d has %d values of the type %s", i, c.Len(), c.DataType())
			}
			if _, err := c.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
			if c.Len() > 2048 {
				c = array.NewSlice(c, 0, 2048)
			}
			if _, err := arrowrows.Column(arrowrows.TypeOf(c.DataType()), c); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzModule reads and rewrites modules, and compiles those that can be.
func FuzzModule(f *testing.F) {
	for _, name := range []string{"numbers", "hostile", "badalloc"} {
		data, err := os.ReadFile("testdata/" + name + ".wasm")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseModule(data)
		if err != nil {
			return
		}
		code, err := m.meter(16, 100)
		if err != nil {
			return
		}
		if again, err := parseModule(code); err != nil {
			t.Fatalf("the rewritten module: %v", err)
		} else if again.globals != m.globals+1 || len(again.exports) != len(m.exports) {
			t.Fatalf("%d globals of %d, %d exports of %d", again.globals, m.globals, len(again.exports), len(m.exports))
		}
	})
}
