package flightsql

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// ticket is what GetFlightInfo gives for DoGet: a statement to run, or a
// prepared one as it was bound.
type ticket struct {
	ID          string // of what CancelFlightInfo cancels
	SQL         string `json:",omitempty"`
	Transaction []byte `json:",omitempty"` // that the statement, if it is not prepared, belongs to
	Handle      []byte `json:",omitempty"`
	Binding     int    `json:",omitempty"`
	Columns     []byte `json:",omitempty"` // digest of the columns that GetFlightInfo announced
	Types       format.ArrowTypes
}

// errColumnsChanged is the error when the columns of a result differ from those
// that were announced to the client.
var errColumnsChanged = engine.NewError(errcode.Execution, "call GetFlightInfo again, or prepare the statement again",
	"the columns of the result have changed since they were described")

// digest tells columns apart, by their names and types. It is nil where these
// are not known.
func digest(columns []engine.Column) []byte {
	h := sha256.New()
	for _, c := range columns {
		if c.Type == nil {
			return nil
		}
		fmt.Fprintf(h, "%q %s\n", c.Name, c.Type)
	}
	return h.Sum(nil)
}

// newTicket seals a ticket for its owner.
func (s *service) newTicket(c *client, t ticket) ([]byte, error) {
	t.ID, t.Types = rand.Text(), c.types
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	handle := s.sealer.seal(sealedTicket, c.Owner(), s.now().Add(ticketLife), data)
	return packed(&pb.TicketStatementQuery{StatementHandle: handle})
}

// openTicket reads a ticket of the owner's.
func (s *service) openTicket(c *client, handle []byte) (t ticket, err error) {
	data, ok := s.sealer.open(sealedTicket, c.Owner(), s.now(), handle)
	if !ok || json.Unmarshal(data, &t) != nil {
		return t, errNoTicket
	}
	return t, nil
}

// request is a statement of the caller's.
func (c *client) request(sql string, params engine.Params) query.Request {
	return query.Request{
		Request: engine.Request{SQL: sql, Params: params},
		Caller:  c.Caller, Protocol: query.Flight, Remote: c.remote,
	}
}

// describe judges a statement that has to run as it is.
func (s *service) describe(ctx context.Context, command *pb.CommandStatementQuery) (*engine.Description, error) {
	d, err := s.described(ctx, command.GetQuery(), command.GetTransactionId())
	if err != nil {
		return nil, err
	}
	if n := len(d.Params); n > 0 {
		return nil, invalid("the statement has %s; prepare it and bind a value for each", plural.Of(n, "parameter"))
	}
	return d, nil
}

// described asks the engine about a statement, which may take as long as one
// that runs: it computes what is constant.
func (s *service) described(ctx context.Context, sql string, transaction []byte) (*engine.Description, error) {
	c := clientOf(ctx)
	if _, err := s.inTransaction(ctx, transaction); err != nil {
		return nil, err
	}
	req := c.request(sql, engine.Params{})
	leave, err := c.principal.Enter()
	if err != nil {
		s.opts.Query.Denied(ctx, req, audit.RateLimited)
		return nil, err
	}
	defer leave()
	d, err := s.opts.Query.Describe(ctx, req)
	if err == nil && d.Write && c.silent && len(transaction) == 0 {
		return nil, errSilent
	}
	return d, err
}

func (s *service) statementInfo(ctx context.Context, command *pb.CommandStatementQuery) (*arrow.Schema, []byte, error) {
	d, err := s.describe(ctx, command)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.newTicket(clientOf(ctx),
		ticket{SQL: command.GetQuery(), Transaction: command.GetTransactionId(), Columns: digest(d.Columns)})
	return clientOf(ctx).types.Schema(d.Columns), t, err
}

func (s *service) statementSchema(ctx context.Context, command *pb.CommandStatementQuery) (*arrow.Schema, error) {
	d, err := s.describe(ctx, command)
	if err != nil {
		return nil, err
	}
	return clientOf(ctx).types.Schema(d.Columns), nil
}

// sendTicket runs the statement of a ticket and sends its rows.
func (s *service) sendTicket(handle []byte, stream grpc.ServerStream) error {
	c := clientOf(stream.Context())
	t, err := s.openTicket(c, handle)
	if err != nil {
		return err
	}
	req := c.request(t.SQL, engine.Params{})
	if t.Handle != nil {
		p, err := s.prepared.get(c.Owner(), t.Handle)
		if err != nil {
			return err
		}
		if p.binding != t.Binding {
			return errBoundAgain
		}
		req = c.request(p.sql, p.params)
		if req.Transaction, err = s.preparedTransaction(stream.Context(), &p); err != nil {
			return err
		}
	} else if req.Transaction, err = s.inTransaction(stream.Context(), t.Transaction); err != nil {
		return err
	}
	end, err := s.place(stream.Context(), req)
	if err != nil {
		return err
	}
	defer end()
	select {
	case s.results <- struct{}{}:
		defer func() { <-s.results }()
	default:
		return errManyResults
	}
	ctx, entry := s.opts.Query.Activity().Begin(stream.Context(), activity.Work{
		ID: t.ID, Kind: activity.Statement, Owner: c.Owner(), Protocol: string(query.Flight), SQL: req.SQL,
	})
	defer entry.End()
	req.Entry = entry
	err = s.unhindered(ctx, func() error { return s.send(ctx, req, t, stream) })
	var ours *engine.Error
	if err != nil && errors.As(context.Cause(ctx), &ours) {
		return ours // the engine knows only that it was cancelled
	}
	return err
}

// unhindered runs f, which may be held up by a client that neither reads nor
// sends, and does not wait for it for long once ctx has ended: when the call
// returns, gRPC ends what f waits for. Close waits for f.
func (s *service) unhindered(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	s.sending.Go(func() {
		var err error
		defer func() {
			if fault := recover(); fault != nil {
				method, _ := grpc.Method(ctx)
				err = s.settle(ctx, method, nil, fault)
			}
			done <- err
		}()
		err = f()
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case err := <-done:
		return err
	case <-grace.C:
		return context.Cause(ctx)
	}
}

// Errors of results.
var (
	errStalled     = engine.NewError(errcode.Cancelled, "", "the client does not read")
	errManyResults = engine.NewError(errcode.Busy, "try again in a moment", "too many results are being sent")
)

// send runs a statement and sends its rows, unless their columns differ from those
// that were announced.
func (s *service) send(ctx context.Context, req query.Request, t ticket, stream grpc.ServerStream) error {
	rows, err := s.opts.Query.Query(ctx, req)
	if err != nil {
		return err
	}
	defer rows.Close()
	stall := time.AfterFunc(s.stallLimit, func() { req.Entry.Cancel(errStalled) })
	defer stall.Stop()
	if t.Columns != nil && !bytes.Equal(t.Columns, digest(rows.Columns())) {
		err = errColumnsChanged
	} else {
		err = s.sendRows(rows, t.Types, stream, stall)
	}
	if err != nil {
		rows.Failed(err)
	}
	return err
}

// sendRows sends rows in batches. stall runs while the client is waited for.
func (s *service) sendRows(rows *query.Rows, types format.ArrowTypes, stream grpc.ServerStream,
	stall *time.Timer,
) error {
	batches := types.NewBatcher(rows.Columns())
	to := newSender(stream, batches.Schema())
	defer func() { rows.Sent(to.sent()) }()
	stall.Stop()
	write := func(batch arrow.RecordBatch) error {
		stall.Reset(s.stallLimit)
		defer stall.Stop()
		return to.write(batch)
	}
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return err
		}
		if err := batches.Add(chunk, write); err != nil {
			return err
		}
	}
	if err := batches.Emit(write); err != nil {
		return err
	}
	return to.end()
}
