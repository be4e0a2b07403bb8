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

	"github.com/spiced-sql/spiced/internal/test/arrowtest"
)

// TestHostileStreams returns streams from a module that are not what they should be.
func TestHostileStreams(t *testing.T) {
	text := []arrow.Field{{Name: "value", Type: arrow.BinaryTypes.String, Nullable: true}}
	good := arrowtest.Stream(t, text, `[{"value": "abcdefghijklmnop"}]`)
	many := make([]string, 40)
	for i := range many {
		many[i] = `[{"value": "` + strings.Repeat("x", 20_000) + `"}]`
	}
	var packed bytes.Buffer
	schema := arrow.NewSchema(text, nil)
	w := ipc.NewWriter(&packed, ipc.WithSchema(schema), ipc.WithZstd())
	if err := w.Write(arrowtest.Batch(t, schema, `[{"value": "`+strings.Repeat("x", 4<<20)+`"}]`)); err != nil {
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
		{"a schema alone", arrowtest.Stream(t, text), "WASM function call 'replay' returned 0 rows for 1 rows of input; it must return one for each"},
		{"half a stream", good[:len(good)-40], "failed to decode Arrow IPC stream returned by WASM function: "},
		{"text that is not UTF-8", bytes.ReplaceAll(good, []byte("abcdefgh"), []byte("abc\xFF\xFEfgh")), `column "value": the text of row 0 is not UTF-8`},
		{
			"two rows", arrowtest.Stream(t, text, `[{"value": "a"}, {"value": "b"}]`),
			"WASM function call 'replay' returned 2 rows for 1 rows of input; it must return one for each",
		},
		{
			"another type", arrowtest.Stream(t, []arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int64}}, `[{"value": 1}]`),
			"WASM function output schema does not match declared return schema: column 0 expected 'value: utf8', got 'value: int64'",
		},
		{"more rows than memory", arrowtest.Stream(t, text, many...), "WASM function call 'replay' returned 40 rows for 1 rows"},
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
