package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// dialPostgres connects to the protocol of the PostgreSQL protocol.
func (p *program) dialPostgres(ctx context.Context, user, key string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("postgres://" + p.address("postgres") + "/db?sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.User, config.Password = user, key
	return pgx.ConnectConfig(ctx, config)
}

// flightTo connects to an address of Flight SQL.
func flightTo(address string) (*flightsql.Client, error) {
	return flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// withBearer sends a key with the calls of Flight SQL; "" sends none.
func withBearer(ctx context.Context, key string) context.Context {
	if key == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
}

// sqlProtocol is a way in for statements.
type sqlProtocol struct {
	name string
	// run sends a statement and reads all that it gives.
	run      func(ctx context.Context, sql string) outcome
	postgres bool // it speaks PostgreSQL's dialect
}

// outcome is what a protocol answered: rows, or an error by one of the engine's
// codes.
type outcome struct {
	codes []errcode.Code // what the protocol's code means; empty: rows
	err   error
	fault bool // the error is one of the runtime's, or of the connection
}

// String is the code and the error.
func (o outcome) String() string {
	if o.err == nil {
		return "ok"
	}
	return fmt.Sprintf("%v: %v", o.codes, o.err)
}

// fault is the outcome of what must not happen.
func fault(err error) outcome { return outcome{err: err, fault: true} }

// protocolsFor are all the ways in, for the holder of a key.
func (p *program) protocolsFor(user, key string) []sqlProtocol {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session := func(send func(context.Context, *pgconn.PgConn, string) error) func(context.Context, string) outcome {
		pg, err := p.dialPostgres(ctx, user, key)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { pg.Close(context.Background()) })
		return func(ctx context.Context, sql string) outcome { return inSession(ctx, pg.PgConn(), sql, send) }
	}
	fl, err := flightTo(p.address("flight"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { fl.Close() })
	return []sqlProtocol{
		{name: "http", run: func(ctx context.Context, sql string) outcome { return p.httpStatement(ctx, key, sql) }},
		{name: "postgres simple", postgres: true, run: session(simpleQuery)},
		{name: "postgres extended", postgres: true, run: session(extendedQuery)},
		{name: "postgres copy", postgres: true, run: session(copyQuery)},
		{name: "flight", run: func(ctx context.Context, sql string) outcome { return flightStatement(withBearer(ctx, key), fl, sql) }},
		{name: "flight prepared", run: func(ctx context.Context, sql string) outcome { return flightPrepared(withBearer(ctx, key), fl, sql) }},
		{name: "queries", run: func(ctx context.Context, sql string) outcome { return p.submitted(ctx, key, sql) }},
		{name: "tool", run: func(ctx context.Context, sql string) outcome { return p.sqlTool(ctx, key, sql) }},
	}
}

// exchange sends JSON, reads the answer into out and returns the status.
func (p *program) exchange(ctx context.Context, method, path, key string, body, out any) (int, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(string(text)))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("X-API-Key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(out)
}

// httpError is an error as the HTTP API has it.
type httpError struct {
	Code    errcode.Code
	Message string
}

func (e httpError) outcome(status int) outcome {
	err := fmt.Errorf("status %d: %s: %s", status, e.Code, e.Message)
	if e.Code == "" || status >= 500 && status != http.StatusGatewayTimeout {
		return fault(err)
	}
	if e.Code == "invalid_request" { // of a body without a statement
		return outcome{codes: []errcode.Code{errcode.Parse}, err: err}
	}
	return outcome{codes: []errcode.Code{e.Code}, err: err, fault: e.Code == errcode.Internal}
}

func (p *program) httpStatement(ctx context.Context, key, sql string) outcome {
	var raw json.RawMessage
	status, err := p.exchange(ctx, "POST", "/v1/sql", key, map[string]string{"sql": sql}, &raw)
	switch {
	case err != nil:
		return fault(err)
	case status == http.StatusOK:
		return outcome{}
	}
	var e httpError
	if err := json.Unmarshal(raw, &e); err != nil {
		return fault(fmt.Errorf("status %d: %s", status, raw))
	}
	return e.outcome(status)
}

// submitted runs a statement as /v1/queries does, and waits for its end.
func (p *program) submitted(ctx context.Context, key, sql string) outcome {
	var q struct {
		httpError
		QueryID string `json:"query_id"`
		Status  string
		Error   *struct {
			ErrorCode errcode.Code `json:"error_code"`
			Message   string
		}
	}
	status, err := p.exchange(ctx, "POST", "/v1/queries", key, map[string]string{"sql": sql}, &q)
	if err != nil {
		return fault(err)
	}
	if status != http.StatusAccepted {
		return q.outcome(status)
	}
	for q.Status == "PENDING" || q.Status == "RUNNING" {
		if status, err := p.exchange(ctx, "GET", "/v1/queries/"+q.QueryID+"/status", key, nil, &q); err != nil || status != http.StatusOK {
			return fault(fmt.Errorf("status %d, %v", status, err))
		}
	}
	switch {
	case q.Status == "SUCCEEDED":
		return outcome{}
	case q.Error == nil:
		return fault(fmt.Errorf("it is %s without an error", q.Status))
	}
	return httpError{q.Error.ErrorCode, q.Error.Message}.outcome(http.StatusOK)
}

func (p *program) sqlTool(ctx context.Context, key, sql string) outcome {
	return p.invoke(ctx, key, "sql", map[string]string{"query": sql})
}

// invoke calls a tool and returns how that ended.
func (p *program) invoke(ctx context.Context, key, tool string, args any) outcome {
	var result struct {
		OK    bool
		Error *httpError
	}
	status, err := p.exchange(ctx, "POST", "/v1/tools/"+tool+":invoke", key, map[string]any{"args": args}, &result)
	switch {
	case err != nil:
		return fault(err)
	case result.OK && status == http.StatusOK:
		return outcome{}
	case result.Error == nil:
		return fault(fmt.Errorf("status %d without an error", status))
	}
	return result.Error.outcome(status)
}

// sqlStates are the engine's codes by PostgreSQL's.
var sqlStates = map[string][]errcode.Code{
	"42601": {errcode.Parse},
	"42501": {errcode.Refused},
	"0A000": {errcode.Refused, errcode.Argument}, // the protocol does not serve the statement, or only the parameters would decide types
	"42P01": {errcode.NotFound, errcode.Argument},
	"42703": {errcode.NotFound},
	"42883": {errcode.NotFound, errcode.Argument},
	"42804": {errcode.Argument},
	"42P02": {errcode.Argument},
	"22000": {errcode.Execution},
	"22003": {errcode.Execution},
	"22007": {errcode.Execution},
	"22P02": {errcode.Execution},
	"3F000": {errcode.Refused}, // a schema that no dataset has
	"57014": {errcode.Timeout, errcode.Cancelled},
	"54000": {errcode.Limit},
	"53300": {errcode.Busy},
	// The protocol's own, of statements on the session:
	"22023": {errcode.Refused},                   // a value that the setting does not take
	"42704": {errcode.Refused, errcode.NotFound}, // no such setting, and no such table
	"55P02": {errcode.Refused},                   // a setting that is fixed
	"25006": {errcode.Refused},                   // no writing in a transaction
	"25P01": {errcode.Refused},                   // no transaction
	"26000": {errcode.Refused},                   // no such prepared statement
	"34000": {errcode.Refused},                   // no such cursor
}

func postgresOutcome(err error) outcome {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return outcome{}
	case !errors.As(err, &e):
		return fault(err)
	}
	codes, ok := sqlStates[e.Code]
	return outcome{codes: codes, err: e, fault: !ok || e.Severity != "ERROR"}
}

// inSession sends a statement and then makes the session as it was.
func inSession(ctx context.Context, c *pgconn.PgConn, sql string, send func(context.Context, *pgconn.PgConn, string) error) outcome {
	got := postgresOutcome(send(ctx, c, sql))
	if err := c.Exec(ctx, "ROLLBACK; DISCARD ALL").Close(); err != nil {
		return fault(fmt.Errorf("after %s: %w", got, err))
	}
	return got
}

func simpleQuery(ctx context.Context, c *pgconn.PgConn, sql string) error {
	return c.Exec(ctx, sql).Close()
}

func copyQuery(ctx context.Context, c *pgconn.PgConn, sql string) error {
	return simpleQuery(ctx, c, copied(sql))
}

// copied asks for a statement's rows by COPY, if it is one that could have any.
func copied(sql string) string {
	query := strings.TrimRight(sql, "; \n")
	if query == "" || strings.HasPrefix(strings.ToUpper(query), "EXPLAIN") {
		return sql
	}
	return "COPY (" + query + "\n) TO STDOUT"
}

// extendedQuery prepares a statement and runs it, with NULLs for parameters.
func extendedQuery(ctx context.Context, c *pgconn.PgConn, sql string) error {
	prepared, err := c.Prepare(ctx, "", sql, nil)
	if err != nil {
		return err
	}
	_, err = c.ExecPrepared(ctx, "", make([][]byte, len(prepared.ParamOIDs)), nil, nil).Close()
	return err
}

func flightOutcome(err error) outcome {
	if err == nil {
		return outcome{}
	}
	st := status.Convert(err)
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			code := errcode.Code(info.GetReason())
			return outcome{codes: []errcode.Code{code}, err: err, fault: code == errcode.Internal}
		}
	}
	if st.Code() == codes.InvalidArgument || st.Code() == codes.FailedPrecondition { // the protocol's own: of parameters
		return outcome{codes: []errcode.Code{errcode.Argument}, err: err}
	}
	return fault(err)
}

func flightStatement(ctx context.Context, c *flightsql.Client, sql string) outcome {
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return flightOutcome(err)
	}
	_, err = flightRows(ctx, c, info)
	return flightOutcome(err)
}

func flightPrepared(ctx context.Context, c *flightsql.Client, sql string) outcome {
	prepared, err := c.Prepare(ctx, sql)
	if err != nil {
		return flightOutcome(err)
	}
	defer prepared.Close(ctx)
	info, err := prepared.Execute(ctx)
	if err != nil {
		return flightOutcome(err)
	}
	_, err = flightRows(ctx, c, info)
	return flightOutcome(err)
}

// flightReader runs a statement and opens its rows.
func flightReader(ctx context.Context, c *flightsql.Client, sql string) (*arrowflight.Reader, error) {
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return nil, err
	}
	return c.DoGet(ctx, info.Endpoint[0].Ticket)
}

// flightRows reads all rows of a FlightInfo and returns their number.
func flightRows(ctx context.Context, c *flightsql.Client, info *arrowflight.FlightInfo) (int64, error) {
	var n int64
	for _, end := range info.Endpoint {
		reader, err := c.DoGet(ctx, end.Ticket)
		if err != nil {
			return n, err
		}
		for reader.Next() {
			n += reader.RecordBatch().NumRows()
		}
		err = reader.Err()
		reader.Release()
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
