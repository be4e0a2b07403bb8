package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// flightSQL is the Flight SQL client of arrow-go, with a context that has a
// key.
type flightSQL struct {
	*flightsql.Client
	t   *testing.T
	ctx context.Context
}

func flightConnect(t *testing.T, p *program, key string, transport credentials.TransportCredentials) flightSQL {
	t.Helper()
	c, err := flightsql.NewClient(p.address("flight"), nil, nil, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx := t.Context()
	if key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", key)
	}
	return flightSQL{c, t, ctx}
}

// read are the columns that an answer announces, a line each: the name, the
// type, and the values of all rows.
func (c flightSQL) read(info *arrowflight.FlightInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	reader, err := c.DoGet(c.ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return "", err
	}
	defer reader.Release()
	lines := make([]string, reader.Schema().NumFields())
	for i, f := range reader.Schema().Fields() {
		lines[i] = f.Name + " " + f.Type.String()
	}
	for reader.Next() {
		for i, column := range reader.RecordBatch().Columns() {
			for row := range column.Len() {
				lines[i] += " | " + column.ValueStr(row)
			}
		}
	}
	return strings.Join(lines, "\n") + "\n", reader.Err()
}

func (c flightSQL) query(sql string) (string, error) { return c.read(c.Execute(c.ctx, sql)) }

// transcript collects what a session reads, under names.
type transcript struct {
	t *testing.T
	strings.Builder
}

func (r *transcript) add(name, text string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Errorf("%s: %v", name, err)
	}
	fmt.Fprintf(r, "-- %s\n%s", name, text)
}

func TestFlightSQLStatements(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	said := &transcript{t: t}
	for _, sql := range []string{
		"SELECT twice(21) AS n, greeting('flight') AS g, twice(NULL) AS nothing",
		"SELECT * FROM people_in('Oslo')",
		"SELECT * FROM people WHERE false",
		"SELECT * FROM every_type",
	} {
		text, err := c.query(sql)
		said.add(sql, text, err)
	}
	golden.Equal(t, filepath.Join(sqlSessions, "flight-statements.txt"), said.String())

	// A statement may be the command itself, as Spice's clients send it.
	plain, err := c.read(c.Client.Client.GetFlightInfo(c.ctx,
		&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: []byte("SELECT twice(21) AS n")}))
	if err != nil || plain != "n int64 | 42\n" {
		t.Errorf("got %s, %v", plain, err)
	}
	schema, err := c.GetExecuteSchema(c.ctx, "SELECT * FROM every_type")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := arrowflight.DeserializeSchema(schema.GetSchema(), memory.DefaultAllocator); err != nil || s.NumFields() != 28 {
		t.Errorf("got %v, %v", s, err)
	}
}

// row is a batch of one row, of columns and the JSON of their values.
func row(t *testing.T, json string, fields ...arrow.Field) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func nullable(name string, typ arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Nullable: true}
}

func TestFlightSQLPrepared(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	said := &transcript{t: t}
	every, err := c.Prepare(c.ctx, `SELECT twice($1) AS n, $2 AS text, $3 AS "real", $4 AS flag, $5 AS "day", $6 AS at, $7 AS bytes, $8 AS list`)
	if err != nil {
		t.Fatal(err)
	}
	fields := []arrow.Field{
		nullable("1", arrow.PrimitiveTypes.Int64), nullable("2", arrow.BinaryTypes.String), nullable("3", arrow.PrimitiveTypes.Float64),
		nullable("4", arrow.FixedWidthTypes.Boolean), nullable("5", arrow.FixedWidthTypes.Date32),
		nullable("6", arrow.FixedWidthTypes.Timestamp_us), nullable("7", arrow.BinaryTypes.Binary), nullable("8", arrow.ListOf(arrow.PrimitiveTypes.Int32)),
	}
	for _, values := range []string{
		`[{"1": 21, "2": "it's é", "3": 1.5, "4": true, "5": "2024-02-29", "6": "2024-02-29T13:14:15.123456Z", "7": "AP8=", "8": [1, null]}]`,
		`[{"1": null, "2": null, "3": null, "4": null, "5": null, "6": null, "7": null, "8": null}]`,
	} {
		every.SetParameters(row(t, values, fields...))
		text, err := c.read(every.Execute(c.ctx))
		said.add(values, text, err)
	}
	before, err := c.Prepare(c.ctx, "SELECT name FROM people WHERE born < $1 AND id IN ($2, $3)")
	if err != nil {
		t.Fatal(err)
	}
	before.SetParameters(row(t, `[{"1": "1990-01-01", "2": 1, "3": 2}]`,
		nullable("1", arrow.FixedWidthTypes.Date32), nullable("2", arrow.PrimitiveTypes.Int8), nullable("3", arrow.PrimitiveTypes.Uint64)))
	text, err := c.read(before.Execute(c.ctx))
	said.add("born before", text, err)
	golden.Equal(t, filepath.Join(sqlSessions, "flight-prepared.txt"), said.String())

	every.SetParameters(row(t, `[{"1": 21}]`, fields[0]))
	_, err = c.read(every.Execute(c.ctx))
	wantStatus(t, err, codes.InvalidArgument, "parameter")
	if err := every.Close(c.ctx); err != nil {
		t.Error(err)
	}
	if _, err = c.read(every.Execute(c.ctx)); err == nil {
		t.Error("a closed statement runs")
	}
}

func TestFlightSQLCatalog(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	said := &transcript{t: t}
	public := "public"
	for _, list := range []struct {
		name string
		info func() (*arrowflight.FlightInfo, error)
	}{
		{"catalogs", func() (*arrowflight.FlightInfo, error) { return c.GetCatalogs(c.ctx) }},
		{"schemas", func() (*arrowflight.FlightInfo, error) { return c.GetDBSchemas(c.ctx, &flightsql.GetDBSchemasOpts{}) }},
		{"tables", func() (*arrowflight.FlightInfo, error) {
			return c.GetTables(c.ctx, &flightsql.GetTablesOpts{DbSchemaFilterPattern: &public})
		}},
		{"types of tables", func() (*arrowflight.FlightInfo, error) { return c.GetTableTypes(c.ctx) }},
	} {
		text, err := c.read(list.info())
		said.add(list.name, text, err)
	}
	golden.Equal(t, filepath.Join(sqlSessions, "flight-catalog.txt"), said.String())
	if _, err := c.read(c.GetSqlInfo(c.ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName})); err != nil {
		t.Error(err)
	}
}

// wantStatus checks gRPC's code of an error, and its text.
func wantStatus(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}

func TestFlightSQLErrors(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	for sql, want := range map[string]struct {
		code codes.Code
		text string
	}{
		"SELECT nosuch FROM people":             {codes.NotFound, "nosuch"},
		"SELEKT 1":                              {codes.InvalidArgument, "SELEKT"},
		"SELECT 1; SELECT 2":                    {codes.InvalidArgument, "one statement"},
		"SELECT * FROM nosuch":                  {codes.NotFound, "nosuch"},
		"SELECT * FROM read_csv('/etc/passwd')": {codes.PermissionDenied, "read_csv"},
		"SELECT error('the ferry is late')":     {codes.FailedPrecondition, "the ferry is late"},
	} {
		_, err := c.query(sql)
		wantStatus(t, err, want.code, want.text)
	}
	_, err := c.ExecuteUpdate(c.ctx, "DELETE FROM people")
	wantStatus(t, err, codes.PermissionDenied, "DELETE")
	if text, err := c.query("SELECT 1 AS a"); err != nil || !strings.Contains(text, "a int32 | 1") {
		t.Errorf("after the errors: %s, %v", text, err)
	}
}

// TestFlightSQLCancels by the call's context, and by CancelFlightInfo.
func TestFlightSQLCancels(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	c := flightConnect(t, p, readerKey, insecure.NewCredentials())
	info, err := c.Execute(c.ctx, endless)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	get := func(c flightSQL) {
		_, err := c.read(info, nil)
		failed <- err
	}
	bounded := c
	ctx, cancel := context.WithCancel(c.ctx)
	bounded.ctx = ctx
	go get(bounded)
	p.active(1)
	cancel()
	wantStatus(t, <-failed, codes.Canceled, "")
	p.active(0)

	if info, err = c.Execute(c.ctx, endless); err != nil {
		t.Fatal(err)
	}
	go get(c)
	p.active(1)
	result, err := c.CancelFlightInfo(c.ctx, &arrowflight.CancelFlightInfoRequest{Info: info})
	if err != nil || result.Status != arrowflight.CancelStatusCancelled && result.Status != arrowflight.CancelStatusCancelling {
		t.Errorf("got %v, %v", result, err)
	}
	wantStatus(t, <-failed, codes.Canceled, "cancelled")
	p.active(0)
}

func TestFlightSQLKeys(t *testing.T) {
	t.Parallel()
	p := startSQL(t)
	for _, key := range []string{"", readerKey + "0"} {
		_, err := flightConnect(t, p, key, insecure.NewCredentials()).query("SELECT 1")
		wantStatus(t, err, codes.Unauthenticated, "")
	}
	c := flightConnect(t, p, "", insecure.NewCredentials())
	_, err := c.Client.Client.AuthenticateBasicToken(c.ctx, "", readerKey+"0")
	wantStatus(t, err, codes.Unauthenticated, "")
	if c.ctx, err = c.Client.Client.AuthenticateBasicToken(c.ctx, "", readerKey); err != nil {
		t.Fatal(err)
	}
	if text, err := c.query("SELECT twice(21) AS n"); err != nil || !strings.Contains(text, "n int64 | 42") {
		t.Errorf("after the handshake: %s, %v", text, err)
	}
}

func TestFlightSQLOverTLS(t *testing.T) {
	t.Parallel()
	p := startEncrypted(t)
	c := flightConnect(t, p.program, readerKey, credentials.NewTLS(&tls.Config{RootCAs: p.pool}))
	if text, err := c.query("SELECT twice(21) AS n"); err != nil || !strings.Contains(text, "n int64 | 42") {
		t.Errorf("got %s, %v", text, err)
	}
	_, err := flightConnect(t, p.program, readerKey, insecure.NewCredentials()).query("SELECT 1")
	wantStatus(t, err, codes.Unavailable, "")
}
