// Package flighttest starts Flight SQL servers for tests: that of Arrow's library, over
// tables that the test gives as JSON.
//
//	server := flighttest.Start(t, flighttest.Options{User: "ada", Password: "x"})
//	server.Table("orders", schema, `[{"id": 1}]`, `[{"id": 2}]`) // in two endpoints
package flighttest

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// Options configures a server.
type Options struct {
	User, Password string           // "": none is needed
	Handshake      bool             // a token is needed, which a handshake answers
	NoSchema       bool             // only the rows say what their columns are
	TLS            *tls.Certificate // nil: none
	Address        string           // "": a free port of this machine
	NoClauses      bool             // WHERE and LIMIT are an error
	LateErrors     bool             // … when the rows are asked for
}

// Server is a server at Address.
type Server struct {
	Address string

	flightsql.BaseServer
	t       testing.TB
	options Options
	server  *grpc.Server
	mu      sync.Mutex
	tables  map[string]table
	asked   []string // statements
	broken  error    // of the rows after those of the first endpoint
}

type table struct {
	schema *arrow.Schema
	parts  []string // rows as JSON
}

const token = "Bearer a-token-of-the-server"

// Start starts a server that ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, options: o, tables: map[string]table{}}
	if o.Address == "" {
		o.Address = reserve.Address(t)
	}
	l := reserve.Listen(t, o.Address)
	s.Address = l.Addr().String()
	opts := []grpc.ServerOption{
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := s.check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(s.stream),
	}
	if o.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewServerTLSFromCert(o.TLS)))
	}
	s.server = grpc.NewServer(opts...)
	flight.RegisterFlightServiceServer(s.server, flightsql.NewFlightServer(s))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.Serve(l) //nolint:errcheck // it ends with Stop
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return s
}

// Stop ends the server at once.
func (s *Server) Stop() { s.server.Stop() }

// Table makes a table of rows as JSON, each text in an endpoint of its own.
func (s *Server) Table(name string, schema *arrow.Schema, parts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[name] = table{schema, parts}
}

// Break makes the rows after those of the first endpoint an error; nil ends that.
func (s *Server) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// Asked returns the statements that were sent since the last call.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.asked = nil }()
	return s.asked
}

func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if !strings.HasSuffix(info.FullMethod, "/Handshake") {
		if err := s.check(stream.Context()); err != nil {
			return err
		}
		return next(srv, stream)
	}
	if !s.options.Handshake {
		return status.Error(codes.Unimplemented, "there is no handshake")
	}
	if !s.basic(stream.Context()) {
		return status.Error(codes.Unauthenticated, "the password is wrong")
	}
	return stream.SendHeader(metadata.Pairs("authorization", token))
}

func authorization(ctx context.Context) string {
	header, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(header.Get("authorization"), ",")
}

func (s *Server) basic(ctx context.Context) bool {
	given, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimPrefix(authorization(ctx), "Basic "), "="))
	return err == nil && string(given) == s.options.User+":"+s.options.Password
}

func (s *Server) check(ctx context.Context) error {
	switch {
	case s.options.User == "" && s.options.Password == "":
		return nil
	case s.options.Handshake && authorization(ctx) == token, !s.options.Handshake && s.basic(ctx):
		return nil
	}
	return status.Error(codes.Unauthenticated, "sign in")
}

// statement is a SELECT of the columns of a table. Conditions and limits are not applied.
var statement = regexp.MustCompile(`^SELECT (.*?) FROM (.*?)( LIMIT 0| WHERE .*| LIMIT \d+)?$`)

// GetFlightInfoStatement implements [flightsql.Server].
func (s *Server) GetFlightInfoStatement(_ context.Context, q flightsql.StatementQuery, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q.GetQuery())
	m := statement.FindStringSubmatch(q.GetQuery())
	if m == nil {
		return nil, status.Errorf(codes.InvalidArgument, "cannot read %s", q.GetQuery())
	}
	t, ok := s.tables[strings.ReplaceAll(m[2], `"`, "")]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no table %s", m[2])
	}
	if s.options.NoClauses && m[3] != "" && m[3] != " LIMIT 0" {
		return nil, status.Error(codes.InvalidArgument, "cannot read the clause"+m[3])
	}
	parts := len(t.parts)
	if m[3] == " LIMIT 0" {
		parts = 1
	}
	info := &flight.FlightInfo{FlightDescriptor: d, TotalRecords: -1, TotalBytes: -1}
	for i := range parts {
		ticket, err := flightsql.CreateStatementQueryTicket(fmt.Appendf(nil, "%d %s", i, q.GetQuery()))
		if err != nil {
			return nil, err
		}
		info.Endpoint = append(info.Endpoint, &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: ticket}})
	}
	if !s.options.NoSchema {
		info.Schema = flight.SerializeSchema(picked(t.schema, m[1]), memory.DefaultAllocator)
	}
	return info, nil
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// picked are the columns that a statement names.
func picked(schema *arrow.Schema, list string) *arrow.Schema {
	if list == "*" {
		return schema
	}
	var fields []arrow.Field
	for _, name := range quoted.FindAllStringSubmatch(list, -1) {
		fields = append(fields, schema.Field(schema.FieldIndices(name[1])[0]))
	}
	return arrow.NewSchema(fields, nil)
}

// DoGetStatement implements [flightsql.Server].
func (s *Server) DoGetStatement(_ context.Context, q flightsql.StatementQueryTicket) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part, sql := 0, ""
	if _, err := fmt.Sscanf(string(q.GetStatementHandle()), "%d", &part); err != nil {
		return nil, nil, err
	}
	_, sql, _ = strings.Cut(string(q.GetStatementHandle()), " ")
	m := statement.FindStringSubmatch(sql)
	t := s.tables[strings.ReplaceAll(m[2], `"`, "")]
	if part > 0 && s.broken != nil {
		return nil, nil, s.broken
	}
	if s.options.LateErrors && m[3] != "" && m[3] != " LIMIT 0" {
		return nil, nil, status.Error(codes.Internal, "cannot run the clause"+m[3])
	}
	rows := t.parts[part]
	if m[3] == " LIMIT 0" {
		rows = "[]"
	}
	schema := picked(t.schema, m[1])
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		return nil, nil, err
	}
	chunks := make(chan flight.StreamChunk, 1)
	chunks <- flight.StreamChunk{Data: batch}
	close(chunks)
	return schema, chunks, nil
}
