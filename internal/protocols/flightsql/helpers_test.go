package flightsql_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	flight "github.com/spiced-sql/spiced/internal/protocols/flightsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The keys of the tests.
const (
	readKey  = "0123456789abcdef-read"
	writeKey = "0123456789abcdef-write"
	webKey   = "0123456789abcdef-web"
)

// harness is a server and what is behind it.
type harness struct {
	db      *engine.DB
	queries *query.Service
	server  *flight.Server
	address string
}

// database is a database with the tables of the tests.
func database(t testing.TB, o engine.Options) *engine.DB {
	t.Helper()
	db, err := engine.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	relations := []engine.Relation{
		{Schema: "public", Name: "orders"},
		{Schema: "public", Name: "cheap"},
		{Schema: "public", Name: "my table"},
		{Schema: "public", Name: "broken"},
		{Schema: "spiced", Name: "dataset_constraints"},
	}
	catalog := engine.NewCatalog(engine.Contents{
		Generation: 1, Relations: relations,
		Targets: map[engine.Relation]engine.Target{relations[0]: {Table: "spice.public.orders"}},
	})
	err = db.Publish(context.Background(), catalog, func(tx *engine.Tx) error {
		for _, sql := range []string{
			"CREATE TABLE spice.public.orders AS SELECT range AS id, range::DECIMAL(9,2) AS price, 'n' || range AS name FROM range(100)",
			"CREATE VIEW spice.public.cheap AS SELECT id, name FROM spice.public.orders WHERE price < 10",
			`CREATE TABLE spice.public."my table" AS SELECT 1::TINYINT AS "a b"`,
			"CREATE TABLE spice.spiced.dataset_constraints AS SELECT 'public' AS \"schema\", 'orders' AS dataset, 'orders_pkey' AS name, 'PRIMARY KEY' AS " +
				"kind, ['name', " +
				"'id'] AS columns",
			"CREATE TABLE spice.public.gone AS SELECT 1 AS i",
			"CREATE VIEW spice.public.broken AS SELECT i FROM spice.public.gone",
			"DROP TABLE spice.public.gone",
		} {
			if err := tx.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// tables are those of database, and one of the runtime's own.
func tables() []flight.Table {
	return []flight.Table{
		{Schema: "public", Name: "orders", Remarks: map[string]string{"price": "In euros.", "name": ""}},
		{Schema: "public", Name: "cheap", View: true},
		{Schema: "public", Name: "my table"},
		{Schema: "public", Name: "broken", View: true},
		{Schema: "spiced", Name: "tools"},
	}
}

// serve starts a server on a database with the tables of the tests.
func serve(t testing.TB, with ...func(*flight.Options)) *harness {
	t.Helper()
	return serveOn(t, database(t, engine.Options{}), with...)
}

func serveOn(t testing.TB, db *engine.DB, with ...func(*flight.Options)) *harness {
	t.Helper()
	o := flight.Options{Query: query.New(query.Options{DB: db}), Tables: tables, Version: "1.2.3"}
	for _, change := range with {
		change(&o)
	}
	h := &harness{db: db, queries: o.Query, server: flight.New(o)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(l) }()
	t.Cleanup(func() {
		h.server.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return h
}

// withKeys asks for keys.
func withKeys(t testing.TB) func(*flight.Options) {
	t.Helper()
	keys := keyring(t)
	return func(o *flight.Options) { o.Keys = func() *auth.Keyring { return keys } }
}

func keyring(t testing.TB) *auth.Keyring {
	t.Helper()
	return keyringOf(t, `
      keys: [`+readKey+`, "`+writeKey+`:rw"]
      principals:
        - {name: web, key: `+webKey+`, on_behalf_of: true}
`)
}

// keyringOf reads runtime.auth.api-key.
func keyringOf(t testing.TB, text string) *auth.Keyring {
	t.Helper()
	keys, problems := auth.NewKeyring(podtest.Load(t, "runtime:\n  auth:\n    api-key:"+text), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return keys
}

// client connects to the server.
func (h *harness) client(t testing.TB, options ...grpc.DialOption) *flightsql.Client {
	t.Helper()
	if len(options) == 0 {
		options = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	c, err := flightsql.NewClient(h.address, nil, nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// read reads all batches of a FlightInfo.
func read(ctx context.Context, c *flightsql.Client, info *arrowflight.FlightInfo) (*arrow.Schema, []arrow.RecordBatch, error) {
	reader, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Release()
	var batches []arrow.RecordBatch
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	return reader.Schema(), batches, reader.Err()
}

// rows are the rows of a FlightInfo, each as JSON.
func rows(t testing.TB, c *flightsql.Client, ctx context.Context, info *arrowflight.FlightInfo, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	schema, batches, err := read(ctx, c, info)
	if err != nil {
		t.Fatal(err)
	}
	if described := info.GetSchema(); described != nil {
		want, err := arrowflight.DeserializeSchema(described, memory.DefaultAllocator)
		if err != nil || !schema.Equal(want) {
			t.Errorf("the rows have the schema %s and were announced with %s, %v", schema, want, err)
		}
	}
	var out strings.Builder
	for _, batch := range batches {
		doc, err := batch.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Trim(string(doc), "[]\n")
		out.WriteString(strings.ReplaceAll(lines, "\n,", "\n"))
		out.WriteByte('\n')
	}
	return out.String()
}

// sql runs a statement.
func sql(t testing.TB, c *flightsql.Client, text string) string {
	t.Helper()
	info, err := c.Execute(t.Context(), text)
	return rows(t, c, t.Context(), info, err)
}

// wantCode fails unless err is a status with the code and the text in it.
func wantCode(t testing.TB, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("got %v; want %s with %q", err, code, text)
	}
}

// idle waits until no statement runs.
func (h *harness) idle(t testing.TB) {
	t.Helper()
	wait.Until(t, "no statement runs", func() bool {
		return h.db.Stats() == (engine.Stats{}) && len(h.queries.Activity().List(caller.Caller{}.Owner())) == 0
	})
}

// mustAny is a message in a google.protobuf.Any.
func mustAny(t testing.TB, m proto.Message) []byte {
	t.Helper()
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(packed)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
