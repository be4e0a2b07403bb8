package flightsql_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// blameless fails at an error that is a fault of the server's.
func blameless(t *testing.T, err error) {
	t.Helper()
	switch status.Code(err) {
	case codes.Internal, codes.Unknown, codes.Unavailable, codes.DataLoss:
		t.Error(err)
	}
}

// FuzzCommands sends bytes as commands of descriptors, as tickets and as
// bodies of actions.
func FuzzCommands(f *testing.F) {
	c := serve(f).client(f)
	text := "x%"
	for _, seed := range [][]byte{
		[]byte("SELECT 1"), []byte("\nSELECT 1"),
		{0xff},
		mustAny(f, &pb.CommandStatementQuery{Query: "SELECT * FROM orders LIMIT 3"}),
		mustAny(f, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: []byte("x")}),
		mustAny(f, &pb.CommandGetTables{TableNameFilterPattern: &text, IncludeSchema: true}),
		mustAny(f, &pb.CommandGetDbSchemas{DbSchemaFilterPattern: &text}), mustAny(f, &pb.CommandGetSqlInfo{Info: []uint32{1, 500}}),
		mustAny(f, &pb.CommandGetXdbcTypeInfo{}), mustAny(f, &pb.TicketStatementQuery{StatementHandle: []byte("guess")}),
		mustAny(f, &pb.ActionCreatePreparedStatementRequest{Query: "SELECT $1"}),
	} {
		f.Add(seed)
	}
	actions := []string{
		flightsql.CreatePreparedStatementActionType, flightsql.ClosePreparedStatementActionType, flightsql.CancelQueryActionType,
		arrowflight.CancelFlightInfoActionType, arrowflight.SetSessionOptionsActionType,
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		desc := &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: raw}
		info, err := c.Client.GetFlightInfo(t.Context(), desc)
		blameless(t, err)
		if err == nil {
			_, _, err = read(t.Context(), c, info)
			blameless(t, err)
		}
		_, err = c.Client.GetSchema(t.Context(), desc)
		blameless(t, err)
		_, _, err = read(t.Context(), c, &arrowflight.FlightInfo{Endpoint: []*arrowflight.FlightEndpoint{{Ticket: &arrowflight.Ticket{Ticket: raw}}}})
		if raw := status.Convert(err).Message(); raw != "" && status.Code(err) != codes.Unknown { // the client's own errors have no code
			blameless(t, err)
		}
		for _, name := range actions {
			blameless(t, act(t, c, name, raw))
		}
	})
}

// FuzzParameters sends bytes as Arrow IPC messages of parameters.
func FuzzParameters(f *testing.F) {
	c := serve(f).client(f)
	p, err := c.Prepare(f.Context(), "SELECT $1, $2")
	if err != nil {
		f.Fatal(err)
	}
	for _, batch := range []arrow.RecordBatch{
		record(f, `[{"a": 1, "b": "x"}]`, field("a", arrow.PrimitiveTypes.Int64), field("b", arrow.BinaryTypes.String)),
		record(f, `[{"a": [1, null], "b": {"c": true}}]`, field("a", arrow.ListOf(arrow.PrimitiveTypes.Int8)),
			field("b", arrow.StructOf(field("c", arrow.FixedWidthTypes.Boolean)))),
		record(f, `[{"a": "2024-01-01", "b": "1.5"}]`, field("a", arrow.FixedWidthTypes.Date32), field("b", &arrow.Decimal128Type{Precision: 5, Scale: 1})),
	} {
		all := messages(f, batch)
		f.Add(all[0].DataHeader, all[1].DataHeader, all[1].DataBody)
	}
	command := mustAny(f, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: p.Handle()})
	f.Fuzz(func(t *testing.T, schema, header, body []byte) {
		stream, err := c.Client.DoPut(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stream.Send(&arrowflight.FlightData{ //nolint:errcheck // the answer has it
			FlightDescriptor: &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: command}, DataHeader: schema,
		})
		stream.Send(&arrowflight.FlightData{DataHeader: header, DataBody: body}) //nolint:errcheck // the answer has it
		stream.CloseSend()                                                       //nolint:errcheck // the answer has it
		_, err = stream.Recv()
		blameless(t, err)
	})
}
