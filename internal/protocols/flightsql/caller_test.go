package flightsql_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	flight "github.com/spiced-sql/spiced/internal/protocols/flightsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// with adds metadata to the calls of a context.
func with(t testing.TB, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), pairs...)
}

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestKeys(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, withKeys(t), func(o *flight.Options) { o.Audit = audit.New(slog.New(slog.NewTextHandler(&log, nil))) })
	c := h.client(t)
	for name, ctx := range map[string]context.Context{
		"x-api-key":     with(t, "x-api-key", readKey),
		"Bearer":        with(t, "authorization", "Bearer "+readKey),
		"Basic":         with(t, "authorization", basic("anybody:"+readKey)),
		"Basic, padded": with(t, "authorization", basic(":"+readKey)),
	} {
		info, err := c.Execute(ctx, "SELECT 1 AS v")
		if got := rows(t, c, ctx, info, err); got != `{"v":1}`+"\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if log.Len() > 0 {
		t.Errorf("the audit log has %s", log.String())
	}
	for name, ctx := range map[string]context.Context{
		"no key":           t.Context(),
		"wrong key":        with(t, "x-api-key", "wrong"),
		"wrong bearer":     with(t, "authorization", "Bearer wrong"),
		"bad base64":       with(t, "authorization", "Basic !!"),
		"other's name":     with(t, "authorization", basic("web:"+readKey)),
		"another scheme":   with(t, "authorization", "Digest "+readKey),
		"user for the key": with(t, "authorization", basic(readKey)),
	} {
		log.Reset()
		_, err := c.Execute(ctx, "SELECT 1")
		wantCode(t, err, codes.Unauthenticated, "send it as authorization")
		if line := log.String(); !strings.Contains(line, "kind=login door=flight outcome=unauthorized") || strings.Contains(line, "wrong") {
			t.Errorf("%s: the audit log has %s", name, line)
		}
	}
}

func TestHandshake(t *testing.T) {
	now := time.Now()
	h := serve(t, withKeys(t))
	h.server.SetClock(func() time.Time { return now })
	c := h.client(t)
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), "", readKey)
	if err != nil {
		t.Fatal(err)
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	token := md.Get("authorization")[0]
	if strings.Contains(token, readKey) || !strings.HasPrefix(token, "Bearer ") {
		t.Errorf("the token is %s", token)
	}
	info, err := c.Execute(ctx, "SELECT 1 AS v")
	if got := rows(t, c, ctx, info, err); got != `{"v":1}`+"\n" {
		t.Error(got)
	}
	_, err = c.Execute(with(t, "authorization", token[:len(token)-4]+"AAAA"), "SELECT 1")
	wantCode(t, err, codes.Unauthenticated, "the key is not known")
	now = now.Add(flight.TokenLife)
	_, err = c.Execute(ctx, "SELECT 1")
	wantCode(t, err, codes.Unauthenticated, "the key is not known")
	_, err = c.Client.AuthenticateBasicToken(t.Context(), "", "wrong")
	wantCode(t, err, codes.Unauthenticated, "the key is not known")
}

func TestHandshakeWithoutKeys(t *testing.T) {
	c := serve(t).client(t)
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), "any", "thing")
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Execute(ctx, "SELECT 1 AS v")
	if got := rows(t, c, ctx, info, err); got != `{"v":1}`+"\n" {
		t.Error(got)
	}
}

func TestOwners(t *testing.T) {
	c := serve(t, withKeys(t)).client(t)
	mine, other := with(t, "x-api-key", webKey, "x-spiced-user", "ann"), with(t, "x-api-key", webKey, "x-spiced-user", "bob")
	info, err := c.Execute(mine, "SELECT 1 AS v")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = read(other, c, info)
	wantCode(t, err, codes.NotFound, "the ticket is not known")
	_, _, err = read(with(t, "x-api-key", readKey), c, info)
	wantCode(t, err, codes.NotFound, "the ticket is not known")
	p, err := c.Prepare(mine, "SELECT 1 AS v")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Execute(other)
	wantCode(t, err, codes.NotFound, "prepared statement is not known")
	wantCode(t, p.Close(other), codes.NotFound, "prepared statement is not known")
}

func TestScope(t *testing.T) {
	var log bytes.Buffer
	c := serve(t, withKeys(t), func(o *flight.Options) { o.Audit = audit.New(slog.New(slog.NewTextHandler(&log, nil))) }).client(t)
	_, err := c.Execute(with(t, "x-api-key", readKey, "x-spiced-user", "ann"), "SELECT 1")
	wantCode(t, err, codes.PermissionDenied, "may not name user")
	if !strings.Contains(log.String(), "kind=request door=flight outcome=permission_denied principal=key-1") {
		t.Errorf("the audit log has %s", &log)
	}
	_, err = c.Execute(with(t, "x-api-key", webKey, "x-spiced-agent", strings.Repeat("a", 200)), "SELECT 1")
	wantCode(t, err, codes.InvalidArgument, "x-spiced-agent has 200 bytes; the limit is 128")
	_, err = c.ExecuteUpdate(with(t, "x-api-key", readKey), "DELETE FROM orders")
	wantCode(t, err, codes.PermissionDenied, "")
	n, err := c.ExecuteUpdate(with(t, "x-api-key", writeKey), "DELETE FROM orders")
	if n != 100 || err != nil {
		t.Errorf("DELETE: %d, %v", n, err)
	}
}

// limited asks for the keys of principals with limits: one, which may read,
// and writer.
func limited(t testing.TB, limits string) func(*flight.Options) {
	t.Helper()
	keys := keyringOf(t, `
      principals:
        - {name: one, key: `+readKey+`, limits: {`+limits+`}}
        - {name: writer, key: "`+writeKey+`:rw", limits: {`+limits+`}}
`)
	return func(o *flight.Options) { o.Keys = func() *auth.Keyring { return keys } }
}

// TestLimitOfAPrincipal has one statement at a time, whatever is done with it.
func TestLimitOfAPrincipal(t *testing.T) {
	var log bytes.Buffer
	db := database(t, engine.Options{})
	h := serveOn(t, db, limited(t, "max_concurrent: 1"), func(o *flight.Options) {
		o.Audit = audit.New(slog.New(slog.NewTextHandler(&log, nil)))
		o.Query = query.New(query.Options{DB: db, Audit: o.Audit})
	})
	c := h.client(t)
	ctx, leave := context.WithCancel(with(t, "x-api-key", readKey))
	defer leave()
	prepared, err := c.Prepare(ctx, "SELECT $1 AS v")
	if err != nil {
		t.Fatal(err)
	}
	prepared.SetParameters(record(t, `[{"a": 1}]`, field("a", arrow.PrimitiveTypes.Int64)))
	tables, err := c.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.Execute(ctx, "SELECT 1 AS v")
	if err != nil {
		t.Fatal(err)
	}
	running, reader := begun(t, ctx, c)
	for name, test := range map[string]struct {
		kind string // of the line in the audit
		call func() error
	}{
		"DoGet":         {"statement", func() error { _, _, err := read(ctx, c, next); return err }},
		"GetFlightInfo": {"statement", func() error { _, err := c.Execute(ctx, "SELECT 2"); return err }},
		"GetSchema":     {"statement", func() error { _, err := c.GetExecuteSchema(ctx, "SELECT 2"); return err }},
		"Prepare":       {"statement", func() error { _, err := c.Prepare(ctx, "SELECT 2"); return err }},
		"DoPut":         {"request", func() error { _, err := prepared.Execute(ctx); return err }},
		"tables":        {"request", func() error { _, _, err := read(ctx, c, tables); return err }},
	} {
		log.Reset()
		err := test.call()
		wantCode(t, err, codes.ResourceExhausted, "max_concurrent")
		if detail[*errdetails.RetryInfo](err) == nil {
			t.Errorf("%s: %v has no RetryInfo", name, err)
		}
		if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "kind="+test.kind+" door=flight outcome=rate_limited principal=one") {
			t.Errorf("%s: the audit log has %s", name, line)
		}
	}
	if _, err := c.CancelFlightInfo(ctx, &arrowflight.CancelFlightInfoRequest{Info: running}); err != nil {
		t.Error(err)
	}
	for reader.Next() {
	}
	h.idle(t)
}

// TestOneAfterTheOther stays within limits of one.
func TestOneAfterTheOther(t *testing.T) {
	c := serve(t, limited(t, "max_concurrent: 1")).client(t)
	ctx := with(t, "x-api-key", writeKey)
	row := record(t, `[{"a": 1}]`, field("a", arrow.PrimitiveTypes.Int64))
	for range 20 {
		info, err := c.Execute(ctx, "SELECT 1 AS v")
		if got := rows(t, c, ctx, info, err); got != `{"v":1}`+"\n" {
			t.Error(got)
		}
		p, err := c.Prepare(ctx, "DELETE FROM orders WHERE id = $1")
		if err != nil {
			t.Fatal(err)
		}
		p.SetParameters(row)
		if _, err := p.ExecuteUpdate(ctx); err != nil {
			t.Error(err)
		}
		if _, err := c.ExecuteUpdate(ctx, "DELETE FROM orders WHERE id = 2"); err != nil {
			t.Error(err)
		}
	}
}

// TestRateOfAPrincipal counts what runs, and not what comes before.
func TestRateOfAPrincipal(t *testing.T) {
	c := serve(t, limited(t, "requests_per_second: 0.001")).client(t)
	ctx := with(t, "x-api-key", readKey)
	p, err := c.Prepare(ctx, "SELECT $1 AS v")
	if err != nil {
		t.Fatal(err)
	}
	p.SetParameters(record(t, `[{"a": 1}]`, field("a", arrow.PrimitiveTypes.Int64)))
	info, err := p.Execute(ctx)
	if got := rows(t, c, ctx, info, err); got != `{"v":1}`+"\n" {
		t.Error(got)
	}
	_, _, err = read(ctx, c, info)
	wantCode(t, err, codes.ResourceExhausted, "requests_per_second")
}

func TestHealthNeedsNoKey(t *testing.T) {
	h := serve(t, withKeys(t))
	got, err := healthpb.NewHealthClient(h.dial(t)).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("Check: %v, %v", got, err)
	}
}

// silent begins a call of a method and sends no message.
func silent(ctx context.Context, t testing.TB, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

const (
	getFlightInfo = "/arrow.flight.protocol.FlightService/GetFlightInfo"
	doGet         = "/arrow.flight.protocol.FlightService/DoGet"
	doPut         = "/arrow.flight.protocol.FlightService/DoPut"
)

// dial connects without TLS.
func (h *harness) dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(h.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestCallersWithoutAKeySendNothing has messages that never come: what could be
// sent of them is not waited for.
func TestCallersWithoutAKeySendNothing(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, withKeys(t), func(o *flight.Options) { o.Audit = audit.New(slog.New(slog.NewTextHandler(&log, nil))) })
	conn := h.dial(t)
	for _, method := range []string{getFlightInfo, doGet, doPut} {
		log.Reset()
		var answer arrowflight.FlightInfo
		wantCode(t, silent(t.Context(), t, conn, method).RecvMsg(&answer), codes.Unauthenticated, "a key is needed")
		if line := log.String(); strings.Count(line, "outcome=unauthorized remote=127.0.0.1:") != 1 || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: the audit log has %s", method, line)
		}
	}
	var answer healthpb.HealthCheckResponse
	err := silent(t.Context(), t, conn, healthpb.Health_Check_FullMethodName).RecvMsg(&answer)
	if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("Check: %v, %v", &answer, err)
	}
}

func TestMessagesThatDoNotArrive(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, func(o *flight.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	statement := prepare(t, h.client(t), "SELECT $1")
	h.server.SetStallLimit(time.Millisecond)
	conn := h.dial(t)
	calls := map[string]grpc.ClientStream{"second message": silent(t.Context(), t, conn, doPut)}
	command := mustAny(t, &pb.CommandPreparedStatementQuery{PreparedStatementHandle: statement.Handle()})
	err := calls["second message"].SendMsg(&arrowflight.FlightData{FlightDescriptor: &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: command}})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{getFlightInfo, doGet, doPut} {
		calls[method] = silent(t.Context(), t, conn, method)
	}
	for name, call := range calls {
		var answer arrowflight.FlightInfo
		if err := call.RecvMsg(&answer); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "did not arrive in time") {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.server.Close() // else it may write to the log
	if log.Len() > 0 {
		t.Errorf("the log has %s", &log)
	}
}

// TestCallsWithoutAMessage are faults of the client, not of the server.
func TestCallsWithoutAMessage(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, func(o *flight.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	conn := h.dial(t)
	for method, want := range map[string]struct {
		code codes.Code
		text string
	}{
		doPut:         {codes.InvalidArgument, "the first message is missing"},
		getFlightInfo: {codes.Internal, "received no request message"}, // gRPC's own answer
		doGet:         {codes.Internal, "received no request message"},
	} {
		call := silent(t.Context(), t, conn, method)
		if err := call.CloseSend(); err != nil {
			t.Fatal(err)
		}
		var answer arrowflight.FlightInfo
		wantCode(t, call.RecvMsg(&answer), want.code, want.text)
	}
	h.server.Close() // else it may write to the log
	if log.Len() > 0 {
		t.Errorf("the log has %s", &log)
	}
}

// TestMessagesOfOnePrincipal leave others alone.
func TestMessagesOfOnePrincipal(t *testing.T) {
	h := serve(t, withKeys(t))
	conn, c := h.dial(t), h.client(t)
	mine, leave := context.WithCancel(with(t, "x-api-key", readKey))
	defer leave()
	for range flight.MaxArriving + 1 {
		silent(mine, t, conn, getFlightInfo)
	}
	wait.Until(t, "all places are taken", func() bool { return h.server.Arriving("key-1") == flight.MaxArriving })
	if _, err := c.Execute(with(t, "x-api-key", webKey), "SELECT 1"); err != nil {
		t.Error(err)
	}
	hasty, cancel := context.WithTimeout(with(t, "x-api-key", readKey), 50*time.Millisecond)
	defer cancel()
	_, err := c.Execute(hasty, "SELECT 1")
	wantCode(t, err, codes.DeadlineExceeded, "")
	leave()
	if _, err := c.Execute(with(t, "x-api-key", readKey), "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	served := selfsigned.Certificate(t)
	certificate, err := x509.ParseCertificate(served.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, func(o *flight.Options) {
		o.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &served, nil }}
	})
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	c := h.client(t, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, "")))
	if got := sql(t, c, "SELECT 1 AS v"); got != `{"v":1}`+"\n" {
		t.Error(got)
	}
	_, err = h.client(t).Execute(t.Context(), "SELECT 1")
	wantCode(t, err, codes.Unavailable, "")
}

func TestConnectionsAreBounded(t *testing.T) {
	h := serve(t, withKeys(t), func(o *flight.Options) {
		o.Connections = listen.Limits{Connections: 2, PerCaller: 1, Pending: 4, Settings: "runtime.flight"}
	})
	read, write := with(t, "x-api-key", readKey), with(t, "x-api-key", writeKey)
	first := h.client(t)
	prepared, err := first.Prepare(read, "SELECT 1 AS v")
	if err != nil {
		t.Fatal(err)
	}
	for range 50 { // silent, closed for those that come later
		conn, err := net.Dial("tcp", h.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if _, err := h.client(t).Execute(write, "SELECT 1"); err != nil {
		t.Errorf("another key: %v", err)
	}
	if _, err := prepared.Execute(read); err != nil {
		t.Errorf("the first connection: %v", err)
	}
	var end context.CancelFunc // of a stream, during which the first connection is in use
	wait.Until(t, "the connection of the key is in use", func() bool {
		if end != nil { // the call arrived before the stream, and took its connection
			end()
		}
		var ctx context.Context
		ctx, end = context.WithCancel(read)
		if _, err := first.Client.DoPut(ctx); err != nil {
			return false
		}
		_, err := h.client(t).Execute(read, "SELECT 1")
		return err != nil && strings.Contains(err.Error(), "has 1 connections already, the limit of runtime.flight.max_connections_per_caller")
	})
	end()
	wait.Until(t, "an idle connection makes room", func() bool {
		_, err := h.client(t).Execute(read, "SELECT 1")
		return err == nil
	})
}

// TestPanicsAreRecovered has a fault in what the daemon gives.
func TestPanicsAreRecovered(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, func(o *flight.Options) {
		o.Tables = func() []flight.Table { panic("out of luck") }
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	c := h.client(t)
	info, err := c.GetTables(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = read(t.Context(), c, info)
	wantCode(t, err, codes.Internal, "the runtime failed on this call")
	if !strings.Contains(log.String(), "out of luck") || !strings.Contains(log.String(), "DoGet") {
		t.Errorf("the log has %s", log.String())
	}
	sql(t, c, "SELECT 1")
}

// breaking is a database that fails where statements run.
type breaking struct {
	*engine.DB
	query func() error
}

func (b breaking) Query(context.Context, engine.Request) (*engine.Rows, error) { return nil, b.query() }

// TestFaultsAreLoggedOnce has them in the goroutine that sends rows.
func TestFaultsAreLoggedOnce(t *testing.T) {
	db := database(t, engine.Options{})
	for _, test := range []struct {
		query func() error
		want  string
	}{
		{func() error { panic("out of luck") }, "the runtime failed on this call"},
		{func() error { return &engine.Error{Code: errcode.Internal, Message: "out of luck", Offset: -1} }, "out of luck"},
	} {
		var log bytes.Buffer
		h := serveOn(t, db, func(o *flight.Options) {
			o.Query = query.New(query.Options{DB: breaking{db, test.query}})
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		c := h.client(t)
		info, err := c.Execute(t.Context(), "SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = read(t.Context(), c, info)
		wantCode(t, err, codes.Internal, test.want)
		h.server.Close() // else it may write to the log
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "out of luck") {
			t.Errorf("the log has %d entries: %s", n, log.String())
		}
	}
}
