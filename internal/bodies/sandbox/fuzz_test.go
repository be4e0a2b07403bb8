package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// FuzzReplies reads answers of programs. The values are one for each row, and can be read.
func FuzzReplies(f *testing.F) {
	const id, rows = 4711, 2
	typ := arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true})
	values, _, err := array.FromJSON(allocator, typ, bytes.NewReader([]byte(`[{"a": 1, "b": ["x", null]}, null]`)))
	if err != nil {
		f.Fatal(err)
	}
	var stream bytes.Buffer
	err = arrowipc.Encode(&stream,
		array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "value", Type: typ, Nullable: true}}, nil), []arrow.Array{values}, rows))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, append(fmt.Appendf(nil, "{\"id\": %d, \"bytes\": %d}\n", id, stream.Len()), stream.Bytes()...))
	f.Add(false, fmt.Appendf(nil, "{\"id\": %d, \"values\": [{\"a\": 1, \"b\": [\"x\", null]}, null]}\n", id))
	f.Add(false, fmt.Appendf(nil, "{\"id\": %d, \"error\": \"no\", \"row\": 1}\n", id))
	r, w, err := os.Pipe()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close(); w.Close() })
	function := &Function{Name: "f", typ: typ}
	f.Fuzz(func(t *testing.T, streams bool, data []byte) {
		p := &Pool{o: Options{Lines: true, Arrow: streams}.withDefaults(), masked: masker(nil)}
		worker := &worker{pool: p, out: bufio.NewReader(bytes.NewReader(data)), pipes: []*os.File{w, r, nil}}
		worker.cause.Store(endClosed) // there is no process to kill
		reply, stream, err := worker.readReply(id)
		if err != nil || reply.Error != nil {
			return
		}
		var values arrow.Array
		if streams {
			values, err = worker.arrowValues(function, stream, rows)
		} else {
			values, err = worker.lineValues(function, reply.Values, rows)
		}
		if err != nil {
			return
		}
		if values.Len() != rows || !arrow.TypeEqual(values.DataType(), typ) {
			t.Fatalf("%d values of the type %s", values.Len(), values.DataType())
		}
		if _, err := values.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	})
}
