package flightsql

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// sent are the messages of a server.
type sent []*flight.FlightData

func (s *sent) Send(data *flight.FlightData) error {
	*s = append(*s, &flight.FlightData{DataHeader: bytes.Clone(data.DataHeader), DataBody: bytes.Clone(data.DataBody)})
	return nil
}

func (s *sent) Recv() (*flight.FlightData, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	next := (*s)[0]
	*s = (*s)[1:]
	return next, nil
}

var hostileSchema = arrow.NewSchema([]arrow.Field{
	{Name: "a", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, Nullable: true, Metadata: arrow.NewMetadata([]string{"key"}, []string{"value"})},
	{Name: "b", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "c", Type: arrow.BinaryTypes.StringView, Nullable: true})), Nullable: true},
	{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
}, nil)

// lies calls f with data in which each word in turn is a large number.
func lies(data []byte, f func(changed []byte)) {
	for at := 0; at+4 <= len(data); at += 2 {
		for _, lie := range []uint32{0x10000000, 0x7fffffff, 0xfffffff0} {
			changed := bytes.Clone(data)
			binary.LittleEndian.PutUint32(changed[at:], lie)
			f(changed)
		}
	}
}

// read reads a stream as batches does, and returns its rows.
func read(messages sent) (rows int, err error) {
	err = arrowipc.Guard(func() error {
		r, err := flight.NewRecordReader(verified{&messages}, ipc.WithAllocator(arrowipc.Allocator))
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
			rows += int(r.RecordBatch().NumRows())
		}
		return r.Err()
	})
	return rows, err
}

// TestLengthsThatServersClaim: a length that is not true does not end the process, which
// Arrow's reader does: it allocates what a message of a few bytes claims.
func TestLengthsThatServersClaim(t *testing.T) {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, hostileSchema, strings.NewReader(`[{"a": null, "b": [{"c": "x"}], "d": "y"}]`))
	if err != nil {
		t.Fatal(err)
	}
	var all sent
	w := flight.NewRecordWriter(&all, ipc.WithSchema(hostileSchema))
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if rows, err := read(append(sent{}, all...)); err != nil || rows != 1 {
		t.Fatalf("got %d rows, %v", rows, err)
	}
	refused := 0
	for i, m := range all {
		lies(m.DataHeader, func(changed []byte) {
			hostile := append(sent{}, all...)
			hostile[i] = &flight.FlightData{DataHeader: changed, DataBody: m.DataBody}
			if _, err := read(hostile); err != nil {
				refused++
			}
		})
	}
	if refused == 0 {
		t.Error("no length was refused")
	}
}

func TestSchemasThatServersClaim(t *testing.T) {
	data := flight.SerializeSchema(hostileSchema, memory.DefaultAllocator)
	if got, err := arrowipc.Schema(data); err != nil || !got.Equal(hostileSchema) {
		t.Fatalf("got %s, %v", got, err)
	}
	refused := 0
	lies(data, func(changed []byte) {
		if _, err := arrowipc.Schema(changed); err != nil {
			refused++
		}
	})
	if refused == 0 {
		t.Error("no length was refused")
	}
	for n := range 12 {
		if _, err := arrowipc.Schema(data[:n]); err == nil {
			t.Errorf("a schema of %d bytes was read", n)
		}
	}
}
