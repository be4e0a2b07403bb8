package flightsql

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// protoPackage is the package of Flight SQL's messages.
const protoPackage = "arrow.flight.protocol.sql."

// unpack reads a message of Flight SQL out of a google.protobuf.Any. It
// reports false for other bytes, such as the text of a statement.
func unpack(raw []byte) (proto.Message, bool, error) {
	var packed anypb.Any
	if proto.Unmarshal(raw, &packed) != nil || !strings.HasPrefix(string(packed.MessageName()), protoPackage) {
		return nil, false, nil
	}
	m, err := packed.UnmarshalNew()
	if err != nil {
		return nil, true, invalid("the command %s is damaged, or none of Flight SQL", packed.MessageName())
	}
	return m, true, nil
}

func nameOf(m proto.Message) protoreflect.Name { return m.ProtoReflect().Descriptor().Name() }

// commandOf reads the command of a descriptor: a message of Flight SQL, or the
// text of a statement, as Spice's SDKs send it.
func commandOf(desc *flight.FlightDescriptor) (proto.Message, error) {
	if desc.GetType() != flight.DescriptorCMD {
		return nil, invalid("a descriptor needs a command: a statement, or one of Flight SQL; paths name nothing here")
	}
	m, ok, err := unpack(desc.GetCmd())
	if ok || err != nil {
		return m, err
	}
	if !utf8.Valid(desc.GetCmd()) {
		return nil, invalid("the command is neither one of Flight SQL nor the text of a statement")
	}
	return &pb.CommandStatementQuery{Query: string(desc.GetCmd())}, nil
}

// GetFlightInfo implements Flight: it judges and describes what a command asks
// for and gives a ticket for the rows.
func (s *service) GetFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	command, err := commandOf(desc)
	if err != nil {
		return nil, err
	}
	var schema *arrow.Schema
	ticket := desc.GetCmd()
	switch command := command.(type) {
	case *pb.CommandStatementQuery:
		schema, ticket, err = s.statementInfo(ctx, command)
	case *pb.CommandPreparedStatementQuery:
		schema, ticket, err = s.preparedInfo(ctx, command)
	default:
		schema, err = metadataSchema(command)
	}
	if err != nil {
		return nil, err
	}
	return &flight.FlightInfo{
		Schema: serialized(schema), FlightDescriptor: desc,
		Endpoint:     []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		TotalRecords: -1, TotalBytes: -1, // not known
	}, nil
}

// GetSchema implements Flight: the schema of what a command asks for.
func (s *service) GetSchema(ctx context.Context, desc *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	command, err := commandOf(desc)
	if err != nil {
		return nil, err
	}
	var schema *arrow.Schema
	switch command := command.(type) {
	case *pb.CommandStatementQuery:
		schema, err = s.statementSchema(ctx, command)
	case *pb.CommandPreparedStatementQuery:
		schema, err = s.preparedSchema(ctx, command)
	default:
		schema, err = metadataSchema(command)
	}
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: serialized(schema)}, nil
}

// DoGet implements Flight: the rows of a ticket.
func (s *service) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	command, ok, err := unpack(ticket.GetTicket())
	if err != nil {
		return err
	}
	if !ok {
		return errNoTicket
	}
	if err := s.unread(clientOf(stream.Context()).principal.Name); err != nil {
		return err
	}
	if t, ok := command.(*pb.TicketStatementQuery); ok {
		return s.sendTicket(t.GetStatementHandle(), stream)
	}
	return s.sendMetadata(command, stream)
}

// unread refuses results while too much of others has not been read. Without
// keys all are of one owner.
func (s *service) unread(principal string) error {
	total, own := s.buffers.lent.bytes(principal)
	if total > s.maxUnread || principal != "" && own > s.maxUnread/2 {
		return errManyResults
	}
	return nil
}

// serialized is a schema as the messages of Flight have it; none of none.
func serialized(schema *arrow.Schema) []byte {
	if schema == nil {
		return nil
	}
	return flight.SerializeSchema(schema, memory.DefaultAllocator)
}

// packed is a message in a google.protobuf.Any.
func packed(m proto.Message) ([]byte, error) {
	wrapped, err := anypb.New(m)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(wrapped)
}
