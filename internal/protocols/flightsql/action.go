package flightsql

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// action is something that DoAction does: it reads the body of a request and
// makes that of the answer.
type action struct {
	about string
	do    doAction
}

type doAction func(s *service, ctx context.Context, body []byte) ([]byte, error)

// actions are what DoAction does, by name. What Flight SQL has beyond them is
// in noActions, with the reason.
var actions = map[string]action{
	flightsql.CreatePreparedStatementActionType: {"prepares a statement", wrapped((*service).createPrepared)},
	flightsql.ClosePreparedStatementActionType:  {"drops a prepared statement", wrapped((*service).closePrepared)},
	flightsql.BeginTransactionActionType:        {"begins a transaction", wrapped((*service).beginTransaction)},
	flightsql.EndTransactionActionType: {
		"commits a transaction or rolls it back",
		wrapped((*service).endTransaction),
	},
	flightsql.CancelQueryActionType: {
		"ends a statement; CancelFlightInfo took its place",
		wrapped((*service).cancelQuery),
	},
	flight.CancelFlightInfoActionType: {
		"ends a statement, by the FlightInfo of its rows",
		bare((*service).cancelFlightInfo),
	},
	flight.SetSessionOptionsActionType: {
		"accepts the one catalog and schema there are",
		bare((*service).setOptions),
	},
	flight.GetSessionOptionsActionType: {"names the catalog and the schema", bare((*service).getOptions)},
	flight.CloseSessionActionType:      {"does nothing: there are no sessions", bare((*service).closeSession)},
}

const noSavepoints = "transactions have no savepoints: DuckDB has none; commit or roll back the whole"

var noActions = map[string]string{
	flightsql.BeginSavepointActionType:              noSavepoints,
	flightsql.EndSavepointActionType:                noSavepoints,
	flightsql.CreatePreparedSubstraitPlanActionType: "plans of Substrait are not read; send SQL",
	flight.RenewFlightEndpointActionType:            "tickets are not renewed; ask for another with GetFlightInfo",
}

// request is a message that can be read into a T.
type request[T any] interface {
	*T
	proto.Message
}

// bare makes an action whose messages are the bodies.
func bare[T any, M request[T]](do func(*service, context.Context, M) (proto.Message, error)) doAction {
	return func(s *service, ctx context.Context, body []byte) ([]byte, error) {
		req := M(new(T))
		if proto.Unmarshal(body, req) != nil {
			return nil, invalid("the body of the action is not of type %s", nameOf(req))
		}
		answer, err := do(s, ctx, req)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(answer)
	}
}

// wrapped makes an action whose messages are in a google.protobuf.Any.
func wrapped[T any, M request[T]](do func(*service, context.Context, M) (proto.Message, error)) doAction {
	return func(s *service, ctx context.Context, body []byte) ([]byte, error) {
		m, _, err := unpack(body)
		if err != nil {
			return nil, err
		}
		req, ok := m.(M)
		if !ok {
			return nil, invalid("the body of the action is not of type %s", nameOf(M(new(T))))
		}
		answer, err := do(s, ctx, req)
		if err != nil || answer == nil {
			return nil, err
		}
		return packed(answer)
	}
}

// DoAction implements Flight.
func (s *service) DoAction(req *flight.Action, stream flight.FlightService_DoActionServer) error {
	if why, ok := noActions[req.GetType()]; ok {
		return unsupported("%s", why)
	}
	a, ok := actions[req.GetType()]
	if !ok {
		return unsupported("there is no action %q", req.GetType())
	}
	body, err := a.do(s, stream.Context(), req.GetBody())
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: body})
}

// ListActions implements Flight.
func (s *service) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		if err := stream.Send(&flight.ActionType{Type: name, Description: actions[name].about}); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) createPrepared(ctx context.Context,
	req *pb.ActionCreatePreparedStatementRequest,
) (proto.Message, error) {
	return s.prepare(ctx, req.GetQuery(), req.GetTransactionId())
}

func (s *service) closePrepared(ctx context.Context,
	req *pb.ActionClosePreparedStatementRequest,
) (proto.Message, error) {
	return nil, s.prepared.remove(clientOf(ctx).Owner(), req.GetPreparedStatementHandle())
}

func (s *service) cancelFlightInfo(ctx context.Context, req *flight.CancelFlightInfoRequest) (proto.Message, error) {
	if err := s.cancel(ctx, req.GetInfo()); err != nil {
		return nil, err
	}
	return &flight.CancelFlightInfoResult{Status: flight.CancelStatusCancelled}, nil
}

//lint:ignore SA1019 older clients send it
func (s *service) cancelQuery(ctx context.Context, req *pb.ActionCancelQueryRequest) (proto.Message, error) {
	var info flight.FlightInfo
	if proto.Unmarshal(req.GetInfo(), &info) != nil {
		return nil, invalid("the request has no FlightInfo")
	}
	if err := s.cancel(ctx, &info); err != nil {
		return nil, err
	}
	//lint:ignore SA1019 older clients expect it
	return &pb.ActionCancelQueryResult{Result: pb.ActionCancelQueryResult_CANCEL_RESULT_CANCELLED}, nil
}

// cancel ends the statement whose rows are read with the ticket of info.
func (s *service) cancel(ctx context.Context, info *flight.FlightInfo) error {
	if len(info.GetEndpoint()) == 0 {
		return invalid("the FlightInfo has no endpoint")
	}
	m, _, err := unpack(info.GetEndpoint()[0].GetTicket().GetTicket())
	if err != nil {
		return err
	}
	sealed, ok := m.(*pb.TicketStatementQuery)
	if !ok {
		return errNoTicket
	}
	c := clientOf(ctx)
	t, err := s.openTicket(c, sealed.GetStatementHandle())
	if err != nil {
		return err
	}
	if !s.opts.Query.Activity().Cancel(c.Owner(), t.ID) {
		return errNotRunning
	}
	return nil
}

// sessionOptions are what clients may set, to what it is already.
var sessionOptions = map[string]string{"catalog": engine.CatalogName, "schema": engine.Public}

func (s *service) setOptions(_ context.Context, req *flight.SetSessionOptionsRequest) (proto.Message, error) {
	errs := map[string]*flight.SetSessionOptionsResultError{}
	for name, value := range req.GetSessionOptions() {
		only, known := sessionOptions[name]
		switch {
		case !known:
			errs[name] = &flight.SetSessionOptionsResultError{Value: flight.SetSessionOptionsResultErrorInvalidName}
		case value.GetStringValue() != only:
			errs[name] = &flight.SetSessionOptionsResultError{Value: flight.SetSessionOptionsResultErrorInvalidValue}
		}
	}
	return &flight.SetSessionOptionsResult{Errors: errs}, nil
}

func (s *service) getOptions(context.Context, *flight.GetSessionOptionsRequest) (proto.Message, error) {
	options := map[string]*pb.SessionOptionValue{}
	for name, value := range sessionOptions {
		options[name] = &pb.SessionOptionValue{OptionValue: &pb.SessionOptionValue_StringValue{StringValue: value}}
	}
	return &flight.GetSessionOptionsResult{SessionOptions: options}, nil
}

func (s *service) closeSession(context.Context, *flight.CloseSessionRequest) (proto.Message, error) {
	return &flight.CloseSessionResult{Status: flight.CloseSessionResultClosed}, nil
}
