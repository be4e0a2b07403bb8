package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// TestSQLCopiesIn writes rows by COPY FROM STDIN: all or none of them.
func TestSQLCopiesIn(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	c := pgxConnect(t, p, writerKey, "sslmode=disable")
	n, err := c.CopyFrom(t.Context(), pgx.Identifier{"orders"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{int32(2), "two"}, {int32(3), "tab\t\\"}}))
	if got := orders(t, c); err != nil || n != 2 || got != "1 one, 2 two, 3 tab\t\\" {
		t.Fatalf("CopyFrom: %d, %v, %q", n, err, got)
	}
	copied := func(sql string, data io.Reader) (int64, error) {
		tag, err := c.PgConn().CopyFrom(t.Context(), data, sql)
		return tag.RowsAffected(), err
	}
	if n, err := copied("COPY public.orders FROM STDIN WITH (FORMAT csv, HEADER, NULL '-')",
		strings.NewReader("id,name,day\n4,\"f,\nour\",2024-02-29\n5,five,-\n")); n != 2 || err != nil {
		t.Errorf("CSV: %d, %v", n, err)
	}
	if n, err := copied("COPY orders (name, id) FROM STDIN", strings.NewReader("")); n != 0 || err != nil {
		t.Errorf("no rows: %d, %v", n, err)
	}
	for _, tt := range []struct {
		sql, data, state, message, where string
	}{
		{"COPY orders (id) FROM STDIN", "6\n7\nx\n", "22P02", "not an integer", `COPY orders, line 3, column id: "x"`},
		{"COPY orders (id) FROM STDIN", "6\n3000000000\n", "22003", "out of range", `COPY orders, line 2, column id: "3000000000"`},
		{"COPY orders (id, name) FROM STDIN", "6\tsix\n7\n", "22P04", `missing data for column "name"`, "COPY orders, line 2"},
		{"COPY orders (id) FROM STDIN", "6\n1\n", "23505", "Duplicate key", "COPY orders"},
		{"COPY orders (id, day) FROM STDIN CSV", "6,2024-13-01\n", "22008", "out of range", "COPY orders"},
		{"COPY wares FROM STDIN", "6\n", "42501", "read-only", ""},
		{"COPY orders (nosuch) FROM STDIN", "6\n", "42703", "nosuch", ""},
	} {
		_, err := copied(tt.sql, strings.NewReader(tt.data))
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != tt.state || !strings.Contains(e.Message, tt.message) || e.Where != tt.where {
			t.Errorf("%s of %q: %+v", tt.sql, tt.data, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("6\n"), &failing{})
	if _, err := copied("COPY orders (id) FROM STDIN", broken); err == nil || !strings.Contains(err.Error(), "COPY from stdin failed") {
		t.Errorf("CopyFail: %v", err)
	}
	if got := orders(t, c); got != "1 one, 2 two, 3 tab\t\\, 4 f,\nour, 5 five" {
		t.Errorf("after the errors: %q", got)
	}
	reader := pgxConnect(t, p, readerKey, "sslmode=disable")
	_, err = reader.PgConn().CopyFrom(t.Context(), strings.NewReader("6\n"), "COPY orders (id) FROM STDIN")
	wantStateOf(t, err, "42501")
}

// TestSQLCopiesInEveryType copies rows of every type in as text, out as binary, and that in again.
func TestSQLCopiesInEveryType(t *testing.T) {
	t.Parallel()
	dir := shopOf(t, strings.ReplaceAll(shopPod, "orders", "every"), `every (
		i INTEGER, u UBIGINT, h HUGEINT, f FLOAT, "Dec" DECIMAL(18,3), b BOOLEAN, t VARCHAR, x BLOB, j JSON, id UUID, bits BIT, d DATE, "d typed" TIME, tz TIMETZ,
		ts TIMESTAMP_NS, "when" TIMESTAMPTZ, span INTERVAL, e ENUM('a', 'b'), l INTEGER[], days DATE[], texts VARCHAR[])`, "wares AS SELECT 7 AS id")
	c := pgxConnect(t, start(t, dir, sqlProtocols()...), writerKey, "sslmode=disable").PgConn()
	rows := "1\t18446744073709551615\t-170141183460469231731687303715884105727\t1.5\t-12.3456\tt\ttäb\\t\t\\\\x01ff\t{\"a\": " +
		"1}\t00000000-0000-0000-0000-000000000001\t0101\t" +
		"2024-02-29\t12:34:56.789\t12:00:00+02\t2024-02-29 01:02:03.123456\t2024-02-29 01:02:03+02\t1 year 2 days " +
		"03:04:05\ta\t{1,NULL,3}\t{2024-02-29,infinity}\t{\"a b\",c}\n" +
		"2\t0\t0\tNaN\t1e3\tf\t\t\t[]\t\\N\t1\tinfinity\t\\N\t\\N\tinfinity\t-infinity\t\\N\tb\t{}\t{2024-02-29}\t{}\n" +
		strings.Repeat("\\N\t", 20) + "\\N\n"
	copied := func(sql, data string) {
		t.Helper()
		if tag, err := c.CopyFrom(t.Context(), strings.NewReader(data), sql); err != nil || tag.RowsAffected() != 3 {
			t.Fatalf("%s: %v, %v", sql, tag, err)
		}
	}
	out := func(sql string) string {
		t.Helper()
		var b strings.Builder
		if _, err := c.CopyTo(t.Context(), &b, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return b.String()
	}
	const all = "COPY (SELECT * FROM every ORDER BY i) TO STDOUT "
	copied("COPY every FROM STDIN", rows)
	text, binary := out(all), out(all+"(FORMAT binary)")
	golden.Equal(t, "testdata/copied.txt", text)
	if _, err := c.Exec(t.Context(), "DELETE FROM every").ReadAll(); err != nil {
		t.Fatal(err)
	}
	copied("COPY every FROM STDIN (FORMAT binary)", binary)
	if got := out(all); got != text {
		t.Errorf("from binary: %s; want %s", got, text)
	}
	for data, want := range map[string]string{
		"id\tnot a uuid":      "source column id",
		"l\t{{1,2},{3,4}}":    "arrays of one dimension",
		"d\tthe first of may": "source column d",
	} {
		column, value, _ := strings.Cut(data, "\t")
		_, err := c.CopyFrom(t.Context(), strings.NewReader(value+"\n"), "COPY every ("+column+") FROM STDIN")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
}

func wantStateOf(t *testing.T, err error, state string) {
	t.Helper()
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != state {
		t.Errorf("got %v, want the state %s", err, state)
	}
}

// failing is a file that cannot be read.
type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// TestSQLCopyByMessages has clients that send Sync early, another message, or leave.
func TestSQLCopyByMessages(t *testing.T) {
	t.Parallel()
	p := start(t, shop(t), sqlProtocols()...)
	c := pgxConnect(t, p, writerKey, "sslmode=disable")
	dial := func() (*pgproto3.Frontend, func()) {
		hijacked, err := pgxConnect(t, p, writerKey, "sslmode=disable").PgConn().Hijack()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { hijacked.Conn.Close() })
		return hijacked.Frontend, func() { hijacked.Conn.Close() }
	}
	send := func(f *pgproto3.Frontend, messages ...pgproto3.FrontendMessage) {
		for _, m := range messages {
			f.Send(m)
		}
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	until := func(f *pgproto3.Frontend, end func(pgproto3.BackendMessage) bool) (last pgproto3.BackendMessage) {
		for {
			m, err := f.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if end(m) {
				return m
			}
		}
	}
	asked := func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.CopyInResponse); return ok }
	f, _ := dial()
	send(f, &pgproto3.Parse{Query: "COPY orders (id, name) FROM STDIN"}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{},
		&pgproto3.Sync{})
	until(f, asked)
	send(f, &pgproto3.CopyData{Data: []byte("2\tt")}, &pgproto3.Flush{}, &pgproto3.CopyData{Data: []byte("wo\n")}, &pgproto3.CopyDone{}, &pgproto3.Sync{})
	tag := until(f, func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.CommandComplete); return ok })
	if got := string(tag.(*pgproto3.CommandComplete).CommandTag); got != "COPY 1" {
		t.Errorf("tag %q", got)
	}
	until(f, func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.ReadyForQuery); return ok })
	send(f, &pgproto3.Query{String: "COPY orders (id, name) FROM STDIN"})
	until(f, asked)
	send(f, &pgproto3.CopyData{Data: []byte("3\tthree\n")}, &pgproto3.Query{String: "SELECT 1"})
	e := until(f, func(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.ErrorResponse); return ok })
	if e := e.(*pgproto3.ErrorResponse); e.Code != "08P01" || e.Severity != "FATAL" {
		t.Errorf("another message: %+v", e)
	}
	left, leave := dial()
	send(left, &pgproto3.Query{String: "COPY orders (id, name) FROM STDIN"})
	until(left, asked)
	send(left, &pgproto3.CopyData{Data: []byte("3\tthree\n")})
	leave()
	if got := orders(t, c); got != "1 one, 2 two" {
		t.Errorf("got %q", got)
	}
}

// TestSQLCopiesByClients has psql and psycopg copy rows in.
func TestSQLCopiesByClients(t *testing.T) {
	t.Parallel()
	psql := clients.Installed(t, "psql", "psql", "postgresql-client")
	p := start(t, shop(t), sqlProtocols()...)
	file := folder(t, "rows.csv", "2;two;2024-02-29\n3;\"thr;ee\";\n") + "/rows.csv"
	if status, out := session(t, libpq(t, p, writerKey), psql, "-X", "-c", `\copy orders from `+file+` (format csv, delimiter ';')`); status != 0 ||
		out != "COPY 2\n" {
		t.Errorf("psql: %d, %q", status, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if python := pythonWith(t, "psycopg"); python != "" {
		cmd := exec.CommandContext(ctx, python, "-c", `
import psycopg
conn = psycopg.connect(sslmode="disable", autocommit=True)
cur = conn.cursor()
with cur.copy("COPY orders (id, name) FROM STDIN") as copy:
    copy.write_row((4, "f\tour"))
    copy.write_row((5, None))
with cur.copy("COPY orders (id, name) FROM STDIN (FORMAT binary)") as copy:
    copy.set_types(["int4", "text"])
    copy.write_row((6, "six"))
print(cur.rowcount, [r[1] for r in cur.execute("SELECT * FROM orders ORDER BY id")])
`)
		cmd.Env = append(cmd.Environ(), libpq(t, p, writerKey)...)
		out, err := cmd.CombinedOutput()
		if want := "1 ['one', 'two', 'thr;ee', 'f\\tour', None, 'six']\n"; err != nil || string(out) != want {
			t.Errorf("psycopg: %v, %s", err, out)
		}
	}
}
