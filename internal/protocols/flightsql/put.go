package flightsql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// DoPut implements Flight: it binds the parameters of a prepared statement, or
// runs a statement that writes. The first message says which.
func (s *service) DoPut(stream flight.FlightService_DoPutServer) error {
	ctx := stream.Context()
	leave, err := s.room(ctx)
	if err != nil {
		return err
	}
	defer leave()
	opening, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return invalid("the first message is missing")
	}
	if err != nil {
		return err
	}
	command, err := commandOf(opening.GetFlightDescriptor())
	if err != nil {
		return err
	}
	upload := &upload{
		stream: stream, leave: leave, next: opening, left: s.opts.MaxMessage,
		values: valueReader{most: s.opts.MaxMessage},
	}
	var answer proto.Message
	switch command := command.(type) {
	case *pb.CommandStatementUpdate:
		leave()
		answer, err = s.updateStatement(ctx, command)
	case *pb.CommandPreparedStatementUpdate:
		answer, err = s.updatePrepared(ctx, command, upload)
	case *pb.CommandPreparedStatementQuery:
		answer, err = s.bindPrepared(ctx, command, upload)
	default:
		return unsupported("nothing can be put with %s: rows are written with INSERT, whose parameters may have several rows",
			nameOf(command))
	}
	if err != nil {
		return err
	}
	metadata, err := proto.Marshal(answer)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: metadata})
}

// bindPrepared answers with the handle: that is what clients go on with.
func (s *service) bindPrepared(ctx context.Context, command *pb.CommandPreparedStatementQuery,
	u *upload,
) (proto.Message, error) {
	owner, handle := clientOf(ctx).Owner(), command.GetPreparedStatementHandle()
	p, err := s.prepared.get(owner, handle)
	if err != nil {
		return nil, err
	}
	rows, err := u.params(&p)
	if err != nil {
		return nil, err
	}
	var params engine.Params
	switch {
	case len(rows) > 1:
		return nil, invalid("there is more than one row of parameters; bind one and run the query for each")
	case len(rows) == 1:
		params = rows[0]
	}
	if err := s.prepared.bind(owner, handle, params, u.values.bytes); err != nil {
		return nil, err
	}
	return &pb.DoPutPreparedStatementResult{PreparedStatementHandle: handle}, nil
}

// updatePrepared runs the statement for each row of parameters in turn, or once
// without any. One that fails does not take back those before it.
func (s *service) updatePrepared(ctx context.Context, command *pb.CommandPreparedStatementUpdate,
	u *upload,
) (proto.Message, error) {
	p, err := s.prepared.get(clientOf(ctx).Owner(), command.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	rows, err := u.params(&p)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 && u.bound {
		return &pb.DoPutUpdateResult{}, nil
	}
	if len(rows) < 2 {
		return s.updateRow(ctx, p, append(rows, engine.Params{})[0])
	}
	var total pb.DoPutUpdateResult
	for i, params := range rows {
		one, err := s.updateRow(ctx, p, params)
		if err != nil {
			return nil, inRow(err, i+1, len(rows), len(p.transaction) > 0)
		}
		total.RecordCount += one.RecordCount
	}
	return &total, nil
}

// inRow is the error of the statement for a row of parameters. Those of limits and
// of the call stay as they are.
func inRow(err error, row, rows int, transaction bool) error {
	known, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return err
	}
	e := *known
	e.Message = fmt.Sprintf("row %d of %d of the parameters: %s", row, rows, e.Message)
	switch {
	case transaction:
		e.Hint = strings.TrimPrefix(e.Hint+"; roll the transaction back: it may have the rows before it", "; ")
	case row > 1:
		e.Hint = strings.TrimPrefix(e.Hint+"; the rows before it are written", "; ")
	}
	return &e
}

func (s *service) updateRow(ctx context.Context, p prepared, params engine.Params) (*pb.DoPutUpdateResult, error) {
	req := clientOf(ctx).request(p.sql, params)
	var err error
	if req.Transaction, err = s.preparedTransaction(ctx, &p); err != nil {
		return nil, err
	}
	return s.update(ctx, p.description, req)
}

func (s *service) updateStatement(ctx context.Context, command *pb.CommandStatementUpdate) (proto.Message, error) {
	d, err := s.describe(ctx,
		&pb.CommandStatementQuery{Query: command.GetQuery(), TransactionId: command.GetTransactionId()})
	if err != nil {
		return nil, err
	}
	req := clientOf(ctx).request(command.GetQuery(), engine.Params{})
	if req.Transaction, err = s.inTransaction(ctx, command.GetTransactionId()); err != nil {
		return nil, err
	}
	return s.update(ctx, d, req)
}

// update runs a statement that writes and answers with the rows it changed.
func (s *service) update(ctx context.Context, d *engine.Description, req query.Request) (*pb.DoPutUpdateResult, error) {
	if !d.Write {
		return nil, invalid("the statement changes nothing; run it as a query")
	}
	end, err := s.place(ctx, req)
	if err != nil {
		return nil, err
	}
	defer end()
	rows, err := s.opts.Query.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	n, err := changed(rows, d)
	return &pb.DoPutUpdateResult{RecordCount: n}, err
}

// changed reads how many rows a statement changed: DuckDB gives one row with their
// number, or with RETURNING the rows.
func changed(rows *query.Rows, d *engine.Description) (n int64, err error) {
	for chunk, err := range rows.Chunks() {
		switch {
		case err != nil:
			return 0, err
		case d.Returning:
			n += int64(chunk.Len())
		default:
			n += engine.Value[int64](chunk.Column(0), 0)
		}
	}
	return n, nil
}

// upload are the messages of a DoPut, of a bounded size together.
type upload struct {
	stream flight.FlightService_DoPutServer
	leave  func()             // gives back the place in which they are read
	next   *flight.FlightData // received and not read yet
	left   int                // bytes that may still come
	values valueReader        // of the parameters in them
	bound  bool               // there are parameters, maybe of no row
}

// Recv implements [flight.DataStreamReader].
func (u *upload) Recv() (*flight.FlightData, error) {
	data := u.next
	if data == nil {
		var err error
		if data, err = u.stream.Recv(); err != nil {
			return nil, err
		}
	}
	u.next = nil
	n := len(data.GetDataHeader()) + len(data.GetDataBody())
	if u.left -= n; u.left < 0 {
		return nil, invalid("the parameters are too large")
	}
	if len(data.GetDataHeader()) > 0 {
		if err := arrowipc.Verify(data.GetDataHeader(), paramRules); err != nil {
			return nil, invalid("the parameters cannot be read: %s", err)
		}
	}
	return data, nil
}

// paramRules are those of the messages with parameters.
var paramRules = arrowipc.Rules{Parts: maxParamFields, Depth: maxParamDepth, Simple: true, Views: true}

// params reads the rows of parameters of a statement. It is the last to read.
func (u *upload) params(p *prepared) (params []engine.Params, err error) {
	defer u.leave()
	reader, err := flight.NewRecordReader(u)
	if errors.Is(err, io.EOF) {
		return params, nil
	}
	if err != nil {
		return params, u.damaged(err)
	}
	defer reader.Release()
	u.bound = len(reader.Schema().Fields()) > 0
	for reader.Next() {
		batch := reader.RecordBatch()
		for i := range int(batch.NumRows()) {
			u.values.count = 0
			row, err := u.values.params(batch, i, p.named())
			if err != nil {
				return nil, err
			}
			params = append(params, row)
		}
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		return params, u.damaged(err)
	}
	return params, nil
}

// damaged is the error of messages that cannot be read, or of the stream.
func (u *upload) damaged(err error) error {
	var st interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &st):
		return st.GRPCStatus().Err()
	case u.stream.Context().Err() != nil:
		return u.stream.Context().Err()
	}
	return invalid("the parameters are not an Arrow record batch: %s", err)
}
