package flightsql_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"

	"github.com/spiced-sql/spiced/internal/protocols/flightsql"
)

// messages are those of a batch: the schema, dictionaries, and the rows.
func messages(t testing.TB, batch arrow.RecordBatch, options ...ipc.Option) []*arrowflight.FlightData {
	t.Helper()
	var all captured
	w := arrowflight.NewRecordWriter(&all, append(options, ipc.WithSchema(batch.Schema()))...)
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	return all
}

// captured keeps messages.
type captured []*arrowflight.FlightData

func (c *captured) Send(data *arrowflight.FlightData) error {
	*c = append(*c, &arrowflight.FlightData{DataHeader: bytes.Clone(data.DataHeader), DataBody: bytes.Clone(data.DataBody)})
	return nil
}

// TestVerifyTakesEveryLengthForALie replaces each word of the headers by large
// numbers: none may get through that claims more than there is.
func TestVerifyTakesEveryLengthForALie(t *testing.T) {
	metadata := arrow.NewMetadata([]string{"key"}, []string{"value"})
	f := field("a", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"})
	f.Metadata = metadata
	batch := record(t, `[{"a": null, "b": [{"c": "x"}], "d": "y"}]`, f,
		field("b", arrow.ListOf(arrow.StructOf(field("c", arrow.BinaryTypes.String)))),
		field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}))
	c := serve(t).client(t)
	p := prepare(t, c, "SELECT $1, $2, $3")
	desc := &arrowflight.FlightDescriptor{
		Type: arrowflight.DescriptorCMD, Cmd: mustAny(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: p.Handle()}),
	}
	all := messages(t, batch)
	for _, m := range all {
		if err := flightsql.Verify(m.DataHeader); err != nil {
			t.Fatal(err)
		}
	}
	for which, m := range all {
		for at := 0; at+4 <= len(m.DataHeader); at += 2 {
			for _, lie := range []uint32{0x10000000, 0x7fffffff, 0xfffffff0} {
				changed := bytes.Clone(m.DataHeader)
				binary.LittleEndian.PutUint32(changed[at:], lie)
				if flightsql.Verify(changed) != nil {
					continue
				}
				stream, err := c.Client.DoPut(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for i, part := range all {
					sent := &arrowflight.FlightData{DataHeader: part.DataHeader, DataBody: part.DataBody}
					if i == 0 {
						sent.FlightDescriptor = desc
					}
					if i == which {
						sent.DataHeader = changed
					}
					stream.Send(sent) //nolint:errcheck // the answer has it
				}
				stream.CloseSend() //nolint:errcheck // the answer has it
				_, err = stream.Recv()
				blameless(t, err)
			}
		}
	}
}

func TestRefusedMessages(t *testing.T) {
	i := arrow.PrimitiveTypes.Int64
	deep := arrow.DataType(i)
	for range 50 {
		deep = arrow.ListOf(deep)
	}
	wide := make([]arrow.Field, 5000)
	for n := range wide {
		wide[n] = field("f", i)
	}
	one := field("a", i)
	for _, test := range []struct {
		name string
		all  []*arrowflight.FlightData
		want string
	}{
		{"compressed", messages(t, record(t, `[{"a": 1}]`, one), ipc.WithLZ4()), "is compressed"},
		{"deep", messages(t, record(t, `[{"a": null}]`, field("a", deep))), "nested too deep"},
		{"wide", messages(t, record(t, `[{"a": {}}]`, field("a", arrow.StructOf(uniquely(wide)...)))), "too many fields"},
		{"run-end encoded", messages(t, runEnds(t)), "run-end encoded; send the values themselves"},
		{"empty", []*arrowflight.FlightData{{DataHeader: []byte{0}}}, "damaged"},
	} {
		var err error
		for _, m := range test.all {
			if err == nil {
				err = flightsql.Verify(m.DataHeader)
			}
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		}
	}
	c := serve(t).client(t)
	p := prepare(t, c, "SELECT $1")
	p.SetParameters(runEnds(t))
	_, err := p.Execute(t.Context())
	wantCode(t, err, codes.InvalidArgument, "the parameters cannot be read: a column is run-end encoded; send the values themselves")
}

func runEnds(t testing.TB) arrow.RecordBatch {
	t.Helper()
	b := array.NewRunEndEncodedBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64)
	b.Append(1)
	b.ValueBuilder().(*array.Int64Builder).Append(7)
	a := b.NewArray()
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("a", a.DataType())}, nil), []arrow.Array{a}, 1)
}

// uniquely gives fields names of their own.
func uniquely(fields []arrow.Field) []arrow.Field {
	for i := range fields {
		fields[i].Name = strings.Repeat("x", i%50) + string(rune(0x4e00+i))
	}
	return fields
}
