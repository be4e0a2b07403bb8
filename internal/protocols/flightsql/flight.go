// Package flightsql serves Arrow Flight and Flight SQL clients: ADBC and JDBC
// drivers, and Spice's SDKs.
//
//	server := flightsql.New(flightsql.Options{Query: service, Keys: keys, Tables: tables, Version: "1.0"})
//	go server.Serve(listener)
//	defer server.Shutdown(ctx)
//
// GetFlightInfo judges and describes a statement and returns a ticket; DoGet runs
// the statement and sends the rows. The server stores nothing in between: the
// ticket holds the statement, sealed for its owner. A command is a message of
// Flight SQL or, as Spice's SDKs send it, the text of a statement.
//
// Rows are sent as record batches built from DuckDB's vectors, column by column,
// with the schema of the Arrow format of /v1/sql.
//
// See https://arrow.apache.org/docs/format/Flight.html and
// https://arrow.apache.org/docs/format/FlightSql.html.
package flightsql

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// Limits of what clients may do. The engine bounds the statements themselves.
const (
	defaultMessage = 16 << 20 // bytes of a message from a client

	maxStreams = 128 // calls at once on a connection
	maxResults = 512 // results at once, each of which holds a batch or two
	// bytes that clients have not read, also of results that have ended: 2 MiB for each at once; half
	// of it of one principal
	maxUnread     = 1 << 30
	maxHeaders    = 16 << 10 // bytes of a call's metadata
	streamWindow  = 64 << 10 // bytes that a call may send before they are asked for
	connWindow    = 1 << 20  // bytes on their way on a connection
	maxArriving   = 8        // messages at once that arrive from one principal
	maxErrorText  = 2 << 10  // bytes of a message; clients bound their trailers
	maxBatchBytes = 3 << 20  // bytes of a message to a client; many accept 4 MiB

	ticketLife = time.Hour      // from GetFlightInfo to DoGet
	tokenLife  = 24 * time.Hour // from Handshake on

	maxPrepared           = 4096 // prepared statements in all
	maxPreparedBytes      = 256 << 20
	maxPreparedOwner      = 256 // and of one owner
	maxPreparedOwnerBytes = 64 << 20
	preparedLife          = time.Hour // without use

	maxTransactions      = 4096 // that are open
	maxTransactionsOwner = 256  // and of one owner; the engine limits those that have changed rows

	maxParams      = 1 << 16 // values of one binding, those in lists counted
	maxParamDepth  = 32      // lists in lists
	maxParamFields = 4096    // of a schema of parameters, with its metadata

	stallLimit  = 30 * time.Second // for a client to take a batch, or to send a message
	cancelGrace = time.Second      // for a cancelled result to end by itself

	handshakeLimit = 10 * time.Second // for TLS and HTTP/2 to begin
	pendingLimit   = time.Minute      // for a call of a caller who is known
	idleLimit      = 30 * time.Minute // of a connection without calls
	pingEvery      = time.Minute      // a silent connection is asked
	pingLimit      = 20 * time.Second // and has to answer
	pingAllowed    = 10 * time.Second // a client may ask as often as this
)

// Table is a table or view that the metadata lists. Its columns are those of
// SELECT * FROM it.
type Table struct {
	Schema, Name string
	View         bool
	Remarks      map[string]string // descriptions of columns, by name
}

// Options configures [New]. Query is required.
type Options struct {
	Query *query.Service
	Keys  func() *auth.Keyring // those of this moment; nil: callers need none
	TLS   *tls.Config          // nil: plain text
	// Tables are the tables and views of this moment, in any order. nil: none.
	Tables func() []Table
	// Version is that of the runtime, for clients.
	Version string
	Log     *slog.Logger // nil: discarded
	Audit   *audit.Log   // nil: refused calls are not audited
	// Connections are the limits of connections. Those that have not sent a call
	// that needs a key are pending; Wait is 60 s unless set.
	Connections listen.Limits
	MaxMessage  int // bytes of a message from a client; 0: 16 MiB
}

// Server serves any number of connections. It is safe for concurrent use.
type Server struct {
	grpc    *grpc.Server
	service *service
	table   *listen.Table
}

// New makes a server.
func New(o Options) *Server {
	s := newService(o)
	server := grpc.NewServer(s.transport()...)
	server.RegisterService(early(pb.FlightService_ServiceDesc), s)
	server.RegisterService(early(healthpb.Health_ServiceDesc), health{})
	return &Server{server, s, listen.New(s.opts.Connections)}
}

// Serve accepts connections until the server is shut down or closed, then returns
// nil. It closes the listener.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(s.table.Listener(l))
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil // it was before Serve was called
	}
	return err
}

// Shutdown refuses new calls and waits for running ones. When ctx ends first, it
// cancels them and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
		s.service.sending.Wait()
		s.service.endTransactions()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
		return ctx.Err()
	}
}

// Close ends all calls and waits for them.
func (s *Server) Close() {
	s.grpc.Stop()
	s.service.sending.Wait()
	s.service.endTransactions()
}

// health reports that the server is up. Like /health, it needs no key.
type health struct {
	healthpb.UnimplementedHealthServer
}

// Check implements grpc.health.v1.
func (health) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}
