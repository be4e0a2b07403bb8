package flightsql_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	flight "github.com/spiced-sql/spiced/internal/protocols/flightsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// typed are expressions of every type over the number i.
var typed = []string{
	"i % 2 = 0", "(i % 128)::TINYINT", "(i % 30000)::SMALLINT", "i::INTEGER", "i", "(i % 256)::UTINYINT",
	"(i % 60000)::USMALLINT", "i::UINTEGER", "hash(i)", "hash(i)::HUGEINT * -1234567890123", "hash(i)::UHUGEINT * 9876543210987654321",
	"i::FLOAT / 3", "i / 7", "(i % 99)::DECIMAL(4,2)", "i::DECIMAL(9,3)", "i::DECIMAL(18,5)", "i::DECIMAL(38,10)",
	"'text é ' || i", "encode('blob' || i)", "(i % 5000)::BIT", "md5(i::VARCHAR)::UUID",
	"(CASE i % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'ccc' END)::ENUM('a', 'b', 'ccc')",
	"DATE '2000-01-01' + (i % 9999)::INTEGER", "TIME '01:02:03.456'", "'12:11:12+03'::TIMETZ",
	"TIMESTAMP '2000-01-01' + to_microseconds(i * 1234567891)", "(TIMESTAMP '2000-01-01' + to_seconds(i))::TIMESTAMP_S",
	"(TIMESTAMP '2000-01-01' + to_milliseconds(i))::TIMESTAMP_MS", "make_timestamp_ns(i * 123456789123)",
	"(TIMESTAMP '2000-01-01' + to_seconds(i))::TIMESTAMPTZ", "to_months((i % 50)::INTEGER) + to_days((i % 50)::INTEGER)",
	"range(i % 5)", "[[i], [], NULL, [1, NULL]]", "{'a': i, 'b': {'c': 'x' || i, 'd': [i]}}", "MAP {'k' || i: i, 'l': NULL}",
	"union_value(num := i)", "[{'e': (CASE i % 2 WHEN 0 THEN 'p' ELSE 'q' END)::ENUM('p', 'q')}]", `('{"a": ' || i || '}')::JSON`,
	"NULL",
}

// TestRowsAreThoseOfTheArrowForm compares the batches with the Arrow form of
// /v1/sql, for every type, with NULLs and without rows.
func TestRowsAreThoseOfTheArrowForm(t *testing.T) {
	h := serve(t)
	c := h.client(t)
	for _, expr := range typed {
		for _, n := range []int{0, 1, 5000} {
			text := fmt.Sprintf("SELECT CASE WHEN i %% 7 = 3 THEN NULL ELSE %s END AS v, %s AS w FROM (SELECT range AS i FROM range(%d))", expr, expr, n)
			info, err := c.Execute(t.Context(), text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			schema, batches, err := read(t.Context(), c, info)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			same(t, text, h.arrowForm(t, text), schema, batches)
		}
	}
}

// arrowForm is a result in the Arrow form of /v1/sql.
func (h *harness) arrowForm(t testing.TB, text string) *ipc.Reader {
	t.Helper()
	rows, err := h.db.Query(t.Context(), engine.Request{SQL: text})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	form, _ := format.ByName("arrow")
	var doc bytes.Buffer
	if _, err := format.Copy(form.NewWriter(&doc), rows); err != nil {
		t.Fatal(err)
	}
	reader, err := ipc.NewReader(&doc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Release)
	return reader
}

func same(t testing.TB, text string, want *ipc.Reader, schema *arrow.Schema, batches []arrow.RecordBatch) {
	t.Helper()
	if !schema.Equal(want.Schema()) {
		t.Errorf("%s: the schema is %s; want %s", text, schema, want.Schema())
		return
	}
	for _, got := range batches {
		batch, err := want.Read()
		if err != nil || !array.RecordEqual(batch, got) {
			t.Errorf("%s: %v: got\n%.1000s\nwant\n%.1000s", text, err, fmt.Sprint(got), fmt.Sprint(batch))
			return
		}
	}
	if _, err := want.Read(); err != io.EOF {
		t.Errorf("%s: there are fewer batches than in the Arrow form: %v", text, err)
	}
}

// TestWideRowsArriveInSmallMessages has rows of 20 kB of every type: a batch of
// them is more than clients take.
func TestWideRowsArriveInSmallMessages(t *testing.T) {
	c := serve(t).client(t)
	text := "SELECT i, repeat(chr((65 + i % 26)::INTEGER), 20000) AS text, " + strings.Join(typed, ", ") + " FROM (SELECT range AS i FROM range(1500))"
	info, err := c.Execute(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Client.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	messages := &sizes{stream: stream}
	reader, err := arrowflight.NewRecordReader(messages)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	next := int64(0)
	for reader.Next() {
		batch := reader.RecordBatch()
		for i := range int(batch.NumRows()) {
			id, s := batch.Column(0).(*array.Int64).Value(i), batch.Column(1).(*array.String).Value(i)
			if id != next || len(s) != 20000 || s[0] != byte(65+id%26) || s[19999] != s[0] {
				t.Fatalf("row %d is %d, %.10s… of %d bytes", next, id, s, len(s))
			}
			next++
		}
	}
	if reader.Err() != nil || next != 1500 {
		t.Fatal(next, reader.Err())
	}
	if messages.most > flight.MaxBatchBytes+1<<16 {
		t.Errorf("a message has %d bytes", messages.most)
	}
}

// sizes looks at the sizes of messages.
type sizes struct {
	stream arrowflight.DataStreamReader
	most   int
}

func (s *sizes) Recv() (*arrowflight.FlightData, error) {
	data, err := s.stream.Recv()
	s.most = max(s.most, len(data.GetDataBody()))
	return data, err
}

// TestCommandMayBeTheTextOfAStatement is how Spice's SDKs ask.
func TestCommandMayBeTheTextOfAStatement(t *testing.T) {
	c := serve(t).client(t)
	for _, text := range []string{"SELECT 42 AS answer", "\nSELECT 42 AS answer -- " + strings.Repeat("x", 100)} {
		desc := &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: []byte(text)}
		info, err := c.Client.GetFlightInfo(t.Context(), desc)
		if got := rows(t, c, t.Context(), info, err); got != `{"answer":42}`+"\n" {
			t.Errorf("%s: %s", text, got)
		}
		schema, err := c.Client.GetSchema(t.Context(), desc)
		if err != nil || !bytes.Equal(schema.GetSchema(), info.GetSchema()) {
			t.Errorf("GetSchema: %v, %v", schema, err)
		}
	}
}

func TestErrorsOfStatements(t *testing.T) {
	c := serve(t).client(t)
	for _, test := range []struct {
		sql    string
		code   codes.Code
		text   string
		reason errcode.Code
	}{
		{"SELEC 1", codes.InvalidArgument, "line 1, column 1", errcode.Parse},
		{"", codes.InvalidArgument, "", errcode.Parse},
		{"SELECT\n  nope FROM orders", codes.NotFound, "line 2, column 3", errcode.NotFound},
		{"SELECT * FROM nowhere", codes.NotFound, "nowhere", errcode.NotFound},
		{"SELECT 1; SELECT 2", codes.InvalidArgument, "", errcode.Parse},
		{"SET threads = 1", codes.PermissionDenied, "", errcode.Refused},
		{"SELECT abs('x', 1)", codes.InvalidArgument, "", errcode.Argument},
	} {
		_, err := c.Execute(t.Context(), test.sql)
		wantCode(t, err, test.code, test.text)
		info := detail[*errdetails.ErrorInfo](err)
		if info.GetReason() != string(test.reason) || info.GetDomain() != "spiced" {
			t.Errorf("%s: the details are %v; want the reason %s", test.sql, status.Convert(err).Details(), test.reason)
		}
	}
	_, err := c.Execute(t.Context(), "SELECT 1 FROM\n range(3) WHERE nope")
	if info := detail[*errdetails.ErrorInfo](err); info.GetMetadata()["line"] != "2" || info.GetMetadata()["column"] != "17" {
		t.Errorf("the place is %v", info.GetMetadata())
	}
	_, err = c.Execute(t.Context(), "SELECT $1::INTEGER")
	wantCode(t, err, codes.InvalidArgument, "the statement has 1 parameter; prepare it and bind a value for each")
	_, err = c.Execute(t.Context(), "SELECT '"+strings.Repeat("é", 5000)+"' FROM nowhere("+strings.Repeat("é", 5000)+")")
	if n := len(status.Convert(err).Message()); n > flight.MaxErrorText+3 || n == 0 {
		t.Errorf("the message has %d bytes", n)
	}
}

// detail is the first detail of that type.
func detail[T any](err error) (found T) {
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(T); ok {
			return d
		}
	}
	return found
}

// TestFailureAfterSomeRows has an error far into the result.
func TestFailureAfterSomeRows(t *testing.T) {
	h := serveOn(t, database(t, engine.Options{Threads: 1})) // else the error may come first
	c := h.client(t)
	info, err := c.Execute(t.Context(), "SELECT i, CASE WHEN i < 900000 THEN i ELSE error('row ' || i) END AS v FROM range(1000000) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	_, batches, err := read(t.Context(), c, info)
	if len(batches) == 0 {
		t.Error("no batch came before the error")
	}
	wantCode(t, err, codes.FailedPrecondition, "row 900")
	h.idle(t)
}

func TestMisusedCommandsAndTickets(t *testing.T) {
	c := serve(t).client(t)
	ctx := t.Context()
	info := func(desc *arrowflight.FlightDescriptor) error {
		_, err := c.Client.GetFlightInfo(ctx, desc)
		return err
	}
	wantCode(t, info(&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorPATH, Path: []string{"orders"}}), codes.InvalidArgument, "paths name nothing")
	wantCode(t, info(&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: []byte{0xff, 1}}), codes.InvalidArgument, "neither")
	_, err := c.ExecuteSubstrait(ctx, flightsql.SubstraitPlan{Plan: []byte("x")})
	wantCode(t, err, codes.Unimplemented, "CommandStatementSubstraitPlan")
	for _, ticket := range []string{"", "SELECT 1", "\xff\xff", string(mustAny(t, &pb.TicketStatementQuery{StatementHandle: []byte("guess")}))} {
		_, err := c.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte(ticket)})
		wantCode(t, err, codes.NotFound, "the ticket is not known")
	}
	_, err = c.Client.PollFlightInfo(ctx, &arrowflight.FlightDescriptor{})
	wantCode(t, err, codes.Unimplemented, "")
	wantCode(t, act(t, c, "Nonsense", nil), codes.Unimplemented, `no action "Nonsense"`)
	wantCode(t, act(t, c, flightsql.CreatePreparedStatementActionType, []byte("SELECT 1")), codes.InvalidArgument,
		"not of type ActionCreatePreparedStatementRequest")
	wantCode(t, act(t, c, arrowflight.CancelFlightInfoActionType, nil), codes.InvalidArgument, "has no endpoint")
	wantCode(t, act(t, c, arrowflight.CancelFlightInfoActionType, []byte{0xff}), codes.InvalidArgument, "not of type CancelFlightInfoRequest")
}

// act does an action and returns its error.
func act(t testing.TB, c *flightsql.Client, name string, body []byte) error {
	t.Helper()
	stream, err := c.Client.DoAction(t.Context(), &arrowflight.Action{Type: name, Body: body})
	for err == nil {
		_, err = stream.Recv()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func TestTicketsExpire(t *testing.T) {
	now := time.Now()
	h := serve(t)
	h.server.SetClock(func() time.Time { return now })
	c := h.client(t)
	info, err := c.Execute(t.Context(), "SELECT 1 AS one")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(flight.TicketLife - 2*time.Second)
	if got := rows(t, c, t.Context(), info, nil); got != `{"one":1}`+"\n" {
		t.Error(got)
	}
	now = now.Add(2 * time.Second)
	_, _, err = read(t.Context(), c, info)
	wantCode(t, err, codes.NotFound, "has expired")
}

// endless gives more rows than buffers hold, one after the other.
const endless = "SELECT range AS i, 'some text of row ' || range AS s FROM range(1000000000)"

// begun starts to read an endless result.
func begun(t testing.TB, ctx context.Context, c *flightsql.Client) (*arrowflight.FlightInfo, *arrowflight.Reader) {
	t.Helper()
	info, err := c.Execute(ctx, endless)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Release)
	if !reader.Next() {
		t.Fatal(reader.Err())
	}
	return info, reader
}

func TestClientThatLeavesEndsItsStatement(t *testing.T) {
	h := serve(t)
	ctx, leave := context.WithCancel(t.Context())
	_, reader := begun(t, ctx, h.client(t))
	if n := len(h.queries.Activity().List(caller.Caller{}.Owner())); n != 1 {
		t.Errorf("%d statements run", n)
	}
	leave()
	for reader.Next() {
	}
	h.idle(t)
}

// TestCancelEndsTheStatement cancels what a client that does not read holds up.
func TestCancelEndsTheStatement(t *testing.T) {
	h := serve(t)
	c := h.client(t)
	for name, cancel := range map[string]func(*arrowflight.FlightInfo) error{
		"CancelFlightInfo": func(info *arrowflight.FlightInfo) error {
			res, err := c.CancelFlightInfo(t.Context(), &arrowflight.CancelFlightInfoRequest{Info: info})
			if err == nil && res.GetStatus() != arrowflight.CancelStatusCancelled {
				err = fmt.Errorf("the status is %s", res.GetStatus())
			}
			return err
		},
		"CancelQuery": func(info *arrowflight.FlightInfo) error {
			//lint:ignore SA1019 older clients use it
			res, err := c.CancelQuery(t.Context(), info)
			if err == nil && res != flightsql.CancelResultCancelled {
				err = fmt.Errorf("the result is %s", res)
			}
			return err
		},
	} {
		info, reader := begun(t, t.Context(), c)
		if err := cancel(info); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		h.idle(t)
		for reader.Next() {
		}
		wantCode(t, reader.Err(), codes.Canceled, "cancelled")
		wantCode(t, cancel(info), codes.NotFound, "no rows are being read")
	}
}

func TestClientThatDoesNotReadIsCutOff(t *testing.T) {
	h := serve(t)
	h.server.SetStallLimit(50 * time.Millisecond)
	_, reader := begun(t, t.Context(), h.client(t))
	h.idle(t)
	for reader.Next() {
	}
	wantCode(t, reader.Err(), codes.Canceled, "the client does not read")
}

// TestUnreadResultsAreBounded has results of one message, which end when gRPC
// has taken it.
func TestUnreadResultsAreBounded(t *testing.T) {
	h := serve(t)
	h.server.SetMaxUnread(1 << 20)
	other := h.client(t)
	next, err := other.Execute(t.Context(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	type download struct {
		client *flightsql.Client
		stream arrowflight.FlightService_DoGetClient
		cancel context.CancelFunc
	}
	for name, leave := range map[string]func(download){
		"reads":   func(d download) { drain(t, d.stream) },
		"cancels": func(d download) { d.cancel() },
		"closes":  func(d download) { d.client.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := h.client(t, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(1<<16)) // and no more
			info, err := c.Execute(ctx, "SELECT repeat('x', 2000000) AS s")
			if err != nil {
				t.Fatal(err)
			}
			stream, err := c.Client.DoGet(ctx, info.Endpoint[0].Ticket)
			if err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the result is in gRPC's buffers", func() bool { return h.server.Unread() > 1<<20 })
			h.idle(t)
			_, _, err = read(t.Context(), other, next)
			wantCode(t, err, codes.Unavailable, "too many results")
			leave(download{c, stream, cancel})
			wait.Until(t, "the buffers are empty", func() bool {
				runtime.GC() // has what waited for a connection
				return h.server.Unread() == 0
			})
			if got := rows(t, other, t.Context(), next, nil); got != `{"1":1}`+"\n" {
				t.Error(got)
			}
		})
	}
}

// One principal leaves others half of what may be unread.
func TestUnreadResultsOfOnePrincipal(t *testing.T) {
	h := serve(t, withKeys(t))
	h.server.SetMaxUnread(3 << 20)
	c := h.client(t, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(1<<16))
	other := h.client(t)
	ask := func(key string) error {
		ctx := with(t, "x-api-key", key)
		info, err := other.Execute(ctx, "SELECT 1")
		if err == nil {
			_, _, err = read(ctx, other, info)
		}
		return err
	}
	ctx := with(t, "x-api-key", readKey)
	info, err := c.Execute(ctx, "SELECT repeat('x', 2000000) AS s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Client.DoGet(ctx, info.Endpoint[0].Ticket); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the result is in gRPC's buffers", func() bool { return h.server.Unread() > 3<<19 })
	h.idle(t)
	wantCode(t, ask(readKey), codes.Unavailable, "too many results")
	if err := ask(webKey); err != nil {
		t.Errorf("another principal: %v", err)
	}
}

// drain reads a stream to its end.
func drain(t testing.TB, stream arrowflight.FlightService_DoGetClient) {
	t.Helper()
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if err != io.EOF {
		t.Error(err)
	}
}

// hurried is a database that has little time to run statements; it may take
// its time to describe them.
type hurried struct{ *engine.DB }

func (h hurried) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	req.Limits.Timeout = 200 * time.Millisecond
	return h.DB.Query(ctx, req)
}

func TestTimeLimit(t *testing.T) {
	db := database(t, engine.Options{})
	h := serveOn(t, db, func(o *flight.Options) { o.Query = query.New(query.Options{DB: hurried{db}}) })
	c := h.client(t)
	info, err := c.Execute(t.Context(), "SELECT count(*) FROM range(100000000000)")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = read(t.Context(), c, info)
	wantCode(t, err, codes.DeadlineExceeded, "longer than 200ms")
	h.idle(t)
}

func TestShutdown(t *testing.T) {
	h := serve(t)
	_, reader := begun(t, t.Context(), h.client(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != context.DeadlineExceeded {
		t.Errorf("Shutdown: %v", err)
	}
	for reader.Next() {
	}
	h.idle(t)
}

// TestServeAfterTheEnd is a server that ends before it has begun.
func TestServeAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*flight.Server){
		"Close":    (*flight.Server).Close,
		"Shutdown": func(s *flight.Server) { s.Shutdown(t.Context()) }, //nolint:errcheck // nothing runs
	} {
		s := flight.New(flight.Options{})
		end(s)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(l); err != nil {
			t.Errorf("Serve after %s: %v", name, err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener is open after %s: %v", name, err)
		}
	}
}
