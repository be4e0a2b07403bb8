package flightsql

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Limits of a server's answers.
const (
	openLimit  = 30 * time.Second // until the columns of a table are known
	maxMessage = 256 << 20        // bytes of a record batch
)

// server is a Flight SQL server.
type server struct {
	address        string // host:port
	transport      credentials.TransportCredentials
	user, password string // both "": none

	// Paths of params, for faults.
	param, userParam, authority string
}

// client is a connection to a server.
type client struct {
	*server
	*flightsql.Client
	token string // for the header authorization; "": none
}

// connect connects to the server, and signs in. The error is a fault.
func (s *server) connect(ctx context.Context) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	cl, err := flightsql.NewClient(s.address, nil, nil, grpc.WithTransportCredentials(s.transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), grpc.WithUserAgent("spiced"))
	if err != nil {
		return nil, s.fault(err)
	}
	c := &client{server: s, Client: cl}
	if s.user != "" || s.password != "" {
		if c.token, err = c.signIn(ctx); err != nil {
			c.close()
			return nil, s.fault(err)
		}
	}
	return c, nil
}

func (c *client) close() { c.Client.Close() }

// signIn returns what the server wants in the header authorization of each call. Servers
// answer a handshake with a token, or take the user and password in each call.
func (c *client) signIn(ctx context.Context) (string, error) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.password))
	signed, err := c.Client.Client.AuthenticateBasicToken(ctx, c.user, c.password)
	switch code := status.Code(err); {
	case err == nil:
		header, _ := metadata.FromOutgoingContext(signed)
		if tokens := header.Get("authorization"); len(tokens) > 0 {
			return tokens[len(tokens)-1], nil
		}
		return basic, nil
	case code == codes.Unimplemented || code == codes.Unknown && strings.Contains(err.Error(), "no authorization header"):
		return basic, nil
	}
	return "", err
}

// with adds the metadata of each call. Another runtime sends exact types to those who
// ask for them; other servers ignore that.
func (c *client) with(ctx context.Context) context.Context {
	ctx = metadata.AppendToOutgoingContext(ctx, "x-spiced-arrow-types", "exact")
	if c.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", c.token)
}

// schema returns the columns of a table. The error is a fault.
func (c *client) schema(ctx context.Context, table []string) (schema *arrow.Schema, err error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	info, err := c.Execute(c.with(ctx), "SELECT * FROM "+identifiers(table)+" LIMIT 0")
	if err != nil {
		return nil, c.fault(err)
	}
	if len(info.Schema) > 0 {
		schema, err = arrowipc.Schema(info.Schema)
	} else { // the server only knows them when it sends rows
		b := &batches{client: c, endpoints: info.Endpoint}
		defer b.Close()
		if err = arrowipc.Guard(func() error { _, err := b.Next(ctx); return err }); err == nil && b.stream != nil {
			schema = b.stream.Schema()
		}
	}
	switch {
	case err != nil:
		return nil, c.fault(err)
	case schema == nil || schema.NumFields() == 0:
		return nil, fault.New("from", "", "the Flight SQL server %s says no columns of %s", c.address, identifiers(table))
	}
	return schema, nil
}

// clauses writes a condition, "" for none, and a limit, 0 for none.
func clauses(where string, limit int64) (sql string) {
	if where != "" {
		sql = " WHERE " + where
	}
	if limit > 0 {
		sql += fmt.Sprint(" LIMIT ", limit)
	}
	return sql
}

// read begins to read columns of a table; narrowed has the rows. All are read from a
// server that does not take these clauses.
func (c *client) read(ctx context.Context, table []string, schema *arrow.Schema, numbers []int,
	narrowed string,
) (engine.StreamReader, error) {
	fields, names := make([]arrow.Field, len(numbers)), make([]string, len(numbers))
	for i, n := range numbers {
		fields[i] = schema.Field(n)
		names[i] = engine.Identifier(fields[i].Name)
	}
	all := "SELECT " + strings.Join(names, ", ") + " FROM " + identifiers(table)
	b := &batches{client: c}
	info, err := c.Execute(c.with(ctx), all+narrowed)
	if narrowed != "" && refused(err) {
		narrowed = ""
		info, err = c.Execute(c.with(ctx), all)
	}
	if err != nil {
		return nil, c.fault(err)
	}
	if b.endpoints = info.Endpoint; narrowed != "" {
		b.all = all
	}
	return arrowrows.NewReader(ctx, b, fields), nil
}

// refused reports whether an error may be one of a statement that the server does not
// understand.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unimplemented, codes.Internal, codes.Unknown, codes.NotFound,
		codes.FailedPrecondition, codes.OutOfRange:
		return err != nil
	}
	return false
}

// identifiers writes a name in SQL.
func identifiers(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = engine.Identifier(p)
	}
	return strings.Join(quoted, ".")
}

// batches are those of a result, one endpoint after the other. They are all asked of the
// same server: others, which a server may name, have other secrets.
type batches struct {
	*client
	endpoints []*flight.FlightEndpoint
	stream    *flight.Reader // of the endpoint that is read, or nil
	all       string         // the statement that is sent instead if the first rows are an error; "": none
}

// verified are messages of a server whose headers are checked before Arrow reads them.
type verified struct{ flight.DataStreamReader }

func (v verified) Recv() (*flight.FlightData, error) {
	data, err := v.DataStreamReader.Recv()
	if err != nil || len(data.GetDataHeader()) == 0 {
		return data, err
	}
	if err := arrowipc.Verify(data.DataHeader, arrowipc.Remote); err != nil {
		return nil, err
	}
	return data, nil
}

// Next implements [arrowrows.Batches].
func (b *batches) Next(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := b.next(ctx)
	if all := b.all; all != "" && refused(err) {
		b.Close()
		b.stream, b.all = nil, ""
		info, again := b.Execute(b.with(ctx), all)
		if again != nil {
			return nil, b.fault(again)
		}
		b.endpoints = info.Endpoint
		batch, err = b.next(ctx)
	}
	b.all = ""
	if err != nil {
		return nil, b.fault(err)
	}
	return batch, nil
}

// next returns an error of the server as it is.
func (b *batches) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if b.stream == nil {
			if len(b.endpoints) == 0 {
				return nil, nil
			}
			next := b.endpoints[0]
			b.endpoints = b.endpoints[1:]
			if next.GetTicket() == nil {
				return nil, errors.New("the server sent an endpoint without a ticket")
			}
			call, err := b.Client.Client.DoGet(b.with(ctx), next.Ticket)
			if err == nil {
				b.stream, err = flight.NewRecordReader(verified{call}, ipc.WithAllocator(arrowipc.Allocator))
			}
			if err != nil {
				return nil, err
			}
		}
		if b.stream.Next() {
			batch := b.stream.RecordBatch()
			batch.Retain()
			return batch, nil
		}
		if err := b.stream.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(b.endpoints) == 0 {
			return nil, nil
		}
		b.stream.Release()
		b.stream = nil
	}
}

// Close implements [arrowrows.Batches].
func (b *batches) Close() {
	if b.stream != nil {
		b.stream.Release()
	}
}

// fault explains an error of a call. Its message has no secret of this process; that of the
// server is its own.
func (s *server) fault(err error) *fault.Fault {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	text := err.Error()
	if st, ok := status.FromError(err); ok {
		text = st.Message()
	}
	message := truncate.Line(text, fault.MaxMessage)
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return fault.New(s.userParam, "correct "+s.userParam+" and its secret", "the Flight SQL server %s: %s",
			s.address, message)
	case codes.Unavailable:
		if at := strings.Index(message, "x509: "); at >= 0 {
			return fault.New(s.param, "set "+s.authority+" to the certificate of the server's authority",
				"the certificate of the Flight SQL server %s is not valid: %s", s.address, strings.TrimSuffix(message[at:], `"`))
		}
		return fault.New(s.param, "", "cannot reach the Flight SQL server %s: %s", s.address, reason(message)).Retryable()
	case codes.DeadlineExceeded:
		return fault.New(s.param, "", "the Flight SQL server %s does not answer", s.address).Retryable()
	case codes.Canceled:
		return fault.New(s.param, "", "the statement was cancelled").Retryable()
	}
	return fault.New("from", "", "the Flight SQL server %s: %s", s.address, message).Retryable()
}

// reason is the part of a message of gRPC that says why it did not connect.
func reason(message string) string {
	for _, before := range []string{"authentication handshake failed: ", "transport: Error while dialing: "} {
		if _, after, ok := strings.Cut(message, before); ok {
			message = after
		}
	}
	message = strings.TrimSuffix(message, `"`)
	if at := strings.LastIndex(message, ": connect: "); at >= 0 {
		message = message[at+len(": connect: "):]
	}
	return message
}
