package pgwire_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if db, err := shared(); err == nil {
		db.Close()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fixture is a server over a database with a function, twice, and tables:
// numbers (1 to 10000), words, one (a row), and types with a column of every type.
type fixture struct {
	testing.TB
	db     *engine.DB
	server *pgwire.Server
	addr   string
}

// everyType are the columns of table types: a name, a value and its cast.
var everyType = []struct{ name, value string }{
	{"bool", "true::BOOLEAN"},
	{"tinyint", "(-128)::TINYINT"},
	{"smallint", "(-32768)::SMALLINT"},
	{"integer", "(-2147483648)::INTEGER"},
	{"bigint", "(-9223372036854775808)::BIGINT"},
	{"utinyint", "255::UTINYINT"},
	{"usmallint", "65535::USMALLINT"},
	{"uinteger", "4294967295::UINTEGER"},
	{"ubigint", "18446744073709551615::UBIGINT"},
	{"hugeint", "'-170141183460469231731687303715884105728'::HUGEINT"},
	{"uhugeint", "'340282366920938463463374607431768211455'::UHUGEINT"},
	{"float", "1.5::FLOAT"},
	{"double", "'-1e300'::DOUBLE"},
	{"nan", "'nan'::DOUBLE"},
	{"inf", "'-inf'::FLOAT"},
	{"decimal4", "(-12.34)::DECIMAL(4,2)"},
	{"decimal9", "0.00001::DECIMAL(9,5)"},
	{"decimal18", "1000000.000001::DECIMAL(18,6)"},
	{"decimal38", "'-99999999999999999999999999999999999.999'::DECIMAL(38,3)"},
	{"varchar", "'æ \"quoted\"'::VARCHAR"},
	{"json", `'{"a": [1]}'::JSON`},
	{"blob", `'\x00\xFF'::BLOB`},
	{"bit", "'101010101'::BIT"},
	{"uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID"},
	{"enum", "'b'::ENUM('a', 'b')"},
	{"date", "'2024-02-29'::DATE"},
	{"date_bc", "'0044-03-15 (BC)'::DATE"},
	{"date_inf", "'infinity'::DATE"},
	{"time", "'23:59:59.000001'::TIME"},
	{"timetz", "'12:00:00+05:30'::TIMETZ"},
	{"timestamp", "'2024-02-29 12:34:56.789'::TIMESTAMP"},
	{"timestamp_s", "'1999-12-31 23:59:59'::TIMESTAMP_S"},
	{"timestamp_ms", "'1999-12-31 23:59:59.999'::TIMESTAMP_MS"},
	{"timestamp_ns", "'1999-12-31 23:59:59.123456789'::TIMESTAMP_NS"},
	{"timestamp_bc", "'0044-03-15 (BC) 12:00:00'::TIMESTAMP"},
	{"timestamptz", "'2024-02-29 12:34:56+02'::TIMESTAMPTZ"},
	{"timestamp_inf", "'-infinity'::TIMESTAMP"},
	{"interval", "INTERVAL '1 year 2 months -3 days 04:05:06.7'"},
	{"integers", "[1, NULL, 3]::INTEGER[]"},
	{"empty", "[]::BIGINT[]"},
	{"texts", `['a', NULL, 'null', 'b "c"', '']::VARCHAR[]`},
	{"fixed", "[1.5, 2.5]::FLOAT[2]"},
	{"decimals", "[1.10, 2.20]::DECIMAL(9,2)[]"},
	{"nested", "[[1, 2], [3]]::INTEGER[][]"},
	{"struct", "{'a': 1, 'b': 'x'}"},
	{"map", "MAP {'k': 1}"},
	{"union", "union_value(n := 5)"},
}

func fixtureSQL() []string {
	columns := make([]string, len(everyType))
	for i, c := range everyType {
		columns[i] = c.value + ` AS "` + c.name + `"`
	}
	return []string{
		"CREATE FUNCTION spice.public.twice(x DOUBLE) AS CAST((x + x) AS DOUBLE)",
		"CREATE TABLE spice.public.numbers AS SELECT range::INTEGER AS id, 'row ' || range AS name, range * 1.5::DOUBLE AS x FROM range(1, 10001)",
		"CREATE UNIQUE INDEX numbers_id ON spice.public.numbers(id)",
		"CREATE TABLE spice.public.words(word VARCHAR)",
		"CREATE TABLE spice.public.one AS SELECT 1 AS a, 'x' AS b",
		"CREATE TABLE spice.public.types AS SELECT " + strings.Join(columns, ", "),
		"INSERT INTO spice.public.types SELECT " + strings.Repeat("NULL, ", len(everyType)-1) + "NULL",
	}
}

func fixtureCatalog(generation uint64) *engine.Catalog {
	return engine.NewCatalog(engine.Contents{Generation: generation, Relations: []engine.Relation{
		{Schema: "public", Name: "numbers"}, {Schema: "public", Name: "words"}, {Schema: "public", Name: "one"}, {Schema: "public", Name: "types"},
	}, Functions: []*engine.Function{{
		Name: "twice", Signature: "twice(x float64) → float64",
		Args: []engine.FunctionArg{{Name: "x", Type: "DOUBLE", Numeric: true}}, Once: true,
	}}})
}

func openDB() (*engine.DB, error) {
	db, err := engine.Open(context.Background(), engine.Options{Connections: 16})
	if err != nil {
		return nil, err
	}
	return db, publish(db, fixtureCatalog(1), fixtureSQL()...)
}

// shared is the database of the tests that do not change it.
var shared = sync.OnceValues(openDB)

func publish(db *engine.DB, catalog *engine.Catalog, sqls ...string) error {
	return db.Publish(context.Background(), catalog, func(tx *engine.Tx) error {
		for _, s := range sqls {
			if err := tx.Exec(s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
}

// serveOwn is serve over a database of the test's own.
func serveOwn(t testing.TB) *fixture {
	t.Helper()
	db, err := openDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return serveDB(t, db, nil)
}

// serve starts a server; change may alter its options.
func serve(t testing.TB, change func(*pgwire.Options)) *fixture {
	t.Helper()
	db, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return serveDB(t, db, change)
}

func serveDB(t testing.TB, db *engine.DB, change func(*pgwire.Options)) *fixture {
	t.Helper()
	f := &fixture{TB: t, db: db}
	f.idle()
	opts := pgwire.Options{
		Query: query.New(query.Options{DB: f.db}), Version: "16.0 (spiced test)",
		Generation: func() uint64 { return f.db.Current().Generation },
	}
	if change != nil {
		change(&opts)
	}
	f.server = pgwire.New(opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(l) }()
	t.Cleanup(func() {
		f.server.Close()
		if err := <-served; !errors.Is(err, pgwire.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return f
}

func (f *fixture) dsn(params string) string {
	return "postgres://ann@" + f.addr + "/db?sslmode=disable" + params
}

func (f *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	f.Cleanup(cancel)
	return ctx
}

// connect is a client that prepares statements.
func (f *fixture) connect(params string) *pgx.Conn {
	f.Helper()
	c, err := pgx.Connect(f.context(), f.dsn(params))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func (f *fixture) raw() *pgconn.PgConn { return f.connect("").PgConn() }

// wantState checks that err has a code of PostgreSQL's and a text in it.
func wantState(t testing.TB, err error, state, text string) *pgconn.PgError {
	t.Helper()
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want the state %s", err, err, state)
	}
	if e.Code != state || !strings.Contains(e.Message+" "+e.Hint, text) {
		t.Errorf("got %s %q %q, want %s and %q", e.Code, e.Message, e.Hint, state, text)
	}
	return e
}

// idle waits until no statement runs.
func (f *fixture) idle() {
	f.Helper()
	wait.Until(f, "no statement runs", func() bool { return f.db.Stats() == engine.Stats{} })
}

// simple runs a script and returns its rows as text, a line each, and its tags.
func (f *fixture) simple(c *pgconn.PgConn, sql string) (lines, tags []string, err error) {
	f.Helper()
	results, err := c.Exec(f.context(), sql).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			lines = append(lines, string(joined(row)))
		}
		tags = append(tags, r.CommandTag.String())
	}
	return lines, tags, err
}

func joined(row [][]byte) []byte {
	var line []byte
	for i, v := range row {
		if i > 0 {
			line = append(line, '|')
		}
		if v == nil {
			v = []byte("∅")
		}
		line = append(line, v...)
	}
	return line
}
