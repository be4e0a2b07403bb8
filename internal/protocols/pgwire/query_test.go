package pgwire_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestSimpleQuery(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range []struct {
		sql         string
		lines, tags []string
	}{
		{"SELECT 1 AS a, 'x' AS b", []string{"1|x"}, []string{"SELECT 1"}},
		{"SELECT 1; SELECT 2; -- end", []string{"1", "2"}, []string{"SELECT 1", "SELECT 1"}},
		{"SELECT 'a;b', \"c;d\" FROM (SELECT 2 AS \"c;d\");", []string{"a;b|2"}, []string{"SELECT 1"}},
		{"SELECT $$a;b$$ /* ; */", []string{"a;b"}, []string{"SELECT 1"}},
		{"SELECT twice(21)", []string{"42"}, []string{"SELECT 1"}},
		{"VALUES (1), (NULL)", []string{"1", "∅"}, []string{"SELECT 2"}},
		{"FROM numbers WHERE id < 0", nil, []string{"SELECT 0"}},
		{"WITH insert AS (SELECT 5 AS x) SELECT * FROM insert", []string{"5"}, []string{"SELECT 1"}},
		{"SELECT count(*) FROM numbers", []string{"10000"}, []string{"SELECT 1"}},
		{"SELECT NULL", []string{"∅"}, []string{"SELECT 1"}},
	} {
		lines, tags, err := f.simple(c, tt.sql)
		if err != nil || !slices.Equal(lines, tt.lines) || !slices.Equal(tags, tt.tags) {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.sql, lines, tags, err, tt.lines, tt.tags)
		}
	}
	if got := f.frontend().exchange(&pgproto3.Query{String: " ; -- nothing"}); got != "EmptyQueryResponse I" {
		t.Errorf("an empty query: %s", got)
	}
}

func TestErrorEndsTheScript(t *testing.T) {
	f := serve(t, nil)
	lines, _, err := f.simple(f.raw(), "SELECT 1; SELECT nösuch; SELECT 3")
	if !slices.Equal(lines, []string{"1"}) {
		t.Errorf("got %q", lines)
	}
	if e := wantState(t, err, "42703", "nösuch"); e.Position != 18 {
		t.Errorf("position %d", e.Position)
	}
}

func TestErrors(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	for _, tt := range []struct {
		sql, state, text string
		position         int32
	}{
		{"SELECT 1 +", "42601", "syntax error", 0},
		{"SELEKT 1", "42601", "syntax error", 1},
		{"SELECT * FROM missing", "42P01", "not declared", 15},
		{"SELECT 'ä', * FROM missing", "42P01", "not declared", 20},
		{"DROP TABLE numbers", "42501", "refused", 1},
		{"SELECT * FROM read_csv('x')", "42501", "refused", 15},
		{"SELECT twice(1, 2)", "42804", "expected 1 argument", 8},
		{"SELECT error('boom')", "22000", "boom", 0},
		{"LISTEN x; NOTIFY x", "0A000", "NOTIFY", 0},
		{"SET nosuch = 1", "42704", "nosuch", 0},
		{"SET client_encoding = 'LATIN1'", "22023", "UTF8", 0},
		{"SET DateStyle = 'German'", "22023", "ISO", 0},
		{"SET server_version = '1'", "55P02", "server_version", 0},
		{"RELEASE a", "25P01", "", 0},
		{"FETCH 1 FROM nosuch", "34000", "nosuch", 0},
		{"BEGIN WRONG", "42601", `"WRONG"`, 7},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
			sql := tt.sql
			if mode == pgx.QueryExecModeExec {
				sql = strings.TrimPrefix(sql, "LISTEN x; ")
			}
			_, err := c.Exec(f.context(), sql, mode)
			if e := wantState(t, err, tt.state, tt.text); tt.position > 0 && e.Position != tt.position {
				t.Errorf("%s: position %d, want %d", sql, e.Position, tt.position)
			}
		}
	}
	if _, err := c.Exec(f.context(), "SELECT 1"); err != nil {
		t.Errorf("after all errors: %v", err)
	}
}

// TestParameters sends a value of each kind in each format, of a type that the
// client or the engine settles.
func TestParameters(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		sql  string
		arg  any
		want string
	}{
		{"SELECT $1::INTEGER + 1", 41, "42"},
		{"SELECT $1::BIGINT", int64(-1 << 63), "-9223372036854775808"},
		{"SELECT $1::SMALLINT", int16(-5), "-5"},
		{"SELECT $1::UBIGINT", uint64(1<<64 - 1), "18446744073709551615"},
		{"SELECT $1::DOUBLE", 2.5, "2.5"},
		{"SELECT $1::FLOAT", float32(0.25), "0.25"},
		{"SELECT $1::DECIMAL(9,2)", "12.30", "12.30"},
		{"SELECT $1::BOOLEAN", true, "true"},
		{"SELECT $1::VARCHAR", "æ'x", "æ'x"},
		{"SELECT $1::BLOB", []byte{0, 255}, `\x00\xFF`},
		{"SELECT $1::DATE", day, "2024-02-29"},
		{"SELECT $1::TIMESTAMP", day.Add(time.Millisecond), "2024-02-29 00:00:00.001"},
		{"SELECT $1::TIMESTAMPTZ AT TIME ZONE 'UTC'", day, "2024-02-29 00:00:00"},
		{"SELECT $1::TIMESTAMP", time.Date(-43, 3, 15, 12, 0, 0, 0, time.UTC), "0044-03-15 (BC) 12:00:00"},
		{"SELECT $1::TIME", pgtype.Time{Microseconds: 1, Valid: true}, "00:00:00.000001"},
		{"SELECT $1::UUID", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{"SELECT $1::INTERVAL", pgtype.Interval{Microseconds: 1, Days: -2, Months: 3, Valid: true}, "3 months -2 days 00:00:00.000001"},
		{"SELECT $1::INTEGER[]", []int32{1, 2}, "[1, 2]"},
		{"SELECT $1::VARCHAR[]", []string{"a", `b "c"`, ""}, `[a, 'b "c"', '']`},
		{"SELECT $1::DATE", nil, ""},
		{"SELECT $1::DATE", "0044-03-15 BC", "0044-03-15 (BC)"},
		{"SELECT name FROM numbers WHERE id = $1", 7, "row 7"},
		{"SELECT twice($1)", 1.5, "3.0"},
	} {
		sql := "SELECT coalesce(v::VARCHAR, '') FROM (" + tt.sql + ") AS t(v)"
		for mode, name := range map[pgx.QueryExecMode]string{
			pgx.QueryExecModeCacheStatement: "prepared", pgx.QueryExecModeDescribeExec: "described",
		} {
			var got string
			if err := c.QueryRow(f.context(), sql, mode, tt.arg).Scan(&got); err != nil || got != tt.want {
				t.Errorf("%s of %v, %s: %q, %v; want %q", tt.sql, tt.arg, name, got, err, tt.want)
			}
		}
	}
}

func TestTextParameters(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range []struct {
		oid        uint32
		text, want string
	}{
		{pgtype.BoolOID, "on", "BOOLEAN true"},
		{pgtype.Int8OID, " 42 ", "BIGINT 42"},
		{pgtype.Float8OID, "Infinity", "DOUBLE inf"},
		{pgtype.NumericOID, "NaN", "DOUBLE nan"},
		{pgtype.NumericOID, "85070591730234615865843651857942052863", "HUGEINT 85070591730234615865843651857942052863"},
		{pgtype.ByteaOID, `\x0aff`, `BLOB \x0A\xFF`},
		{pgtype.ByteaOID, `a\\b\001`, `BLOB a\x5Cb\x01`},
		{pgtype.Int4ArrayOID, "{1,NULL,3}", "INTEGER[] [1, NULL, 3]"},
		{pgtype.Int4ArrayOID, "[1:2]={1,2}", "INTEGER[] [1, 2]"},
		{pgtype.DateOID, "2024-02-29", "DATE 2024-02-29"},
		{pgtype.DateOID, "0044-03-15 BC", "DATE 0044-03-15 (BC)"},
		{pgtype.TimestampOID, "0044-03-15 12:00:00.5 BC", "TIMESTAMP 0044-03-15 (BC) 12:00:00.5"},
		{pgtype.TimestampOID, "0044-03-15T12:00:00 bc", "TIMESTAMP 0044-03-15 (BC) 12:00:00"},
		{pgtype.TimestamptzOID, "0044-03-15 12:00:00+02 BC", "TIMESTAMP WITH TIME ZONE 0044-03-15 (BC) 10:00:00+00"},
		{pgtype.DateArrayOID, `{2024-02-29,"0044-03-15 BC"}`, "DATE[] [2024-02-29, '0044-03-15 (BC)']"},
		{pgtype.DateArrayOID, "{2020-01-01,infinity}", "DATE[] [2020-01-01, infinity]"},
		{pgtype.TimestampArrayOID, `{"0044-03-15 12:00:00 BC"}`, "TIMESTAMP[] ['0044-03-15 (BC) 12:00:00']"},
		{pgtype.Int2OID, "7", "SMALLINT 7"},
		{pgtype.JSONOID, `{"a":1}`, `JSON {"a":1}`},
		{pgtype.IntervalOID, "1 day", "INTERVAL 1 day"},
		{pgtype.IntervalOID, "-1 days +02:03:00", "INTERVAL -1 day 02:03:00"},
		{pgtype.IntervalArrayOID, `{"1 year 2 mons -3 days +04:05:06.7",P1DT2H}`, "INTERVAL[] ['1 year 2 months -3 days 04:05:06.7', '1 day 02:00:00']"},
		{pgtype.TextArrayOID, `{ a , "NULL", null, "x\"y" }`, `VARCHAR[] [a, 'NULL', NULL, 'x"y']`},
		{0, "free", "VARCHAR free"},
	} {
		r := c.ExecParams(f.context(), "SELECT typeof(x) || ' ' || x::VARCHAR FROM (SELECT $1 AS x)", [][]byte{[]byte(tt.text)}, []uint32{tt.oid}, nil, nil).Read()
		if r.Err != nil || string(r.Rows[0][0]) != tt.want {
			t.Errorf("%d %q: %s, %v; want %q", tt.oid, tt.text, r.Rows, r.Err, tt.want)
		}
	}
	for _, tt := range []struct {
		oid         uint32
		format      int16
		text, state string
	}{
		{pgtype.BoolOID, 0, "maybe", "22P02"},
		{pgtype.Int4OID, 0, "1.5", "22P02"},
		{pgtype.Int4OID, 1, "abc", "22P03"},
		{pgtype.ByteaOID, 0, `\xf`, "22P02"},
		{pgtype.ByteaOID, 0, `a\`, "22P02"},
		{pgtype.TextOID, 0, "\xff", "22P02"},
		{pgtype.TextOID, 1, "a\x00", "22P03"},
		{pgtype.Int4ArrayOID, 0, "{1", "22P02"},
		{pgtype.Int4ArrayOID, 0, "{1}}", "22P02"},
		{pgtype.Int4ArrayOID, 0, strings.Repeat("{", 9), "54000"},
		{pgtype.Int4ArrayOID, 1, strings.Repeat("\x7f", 20), "22P03"},
		{pgtype.PointOID, 1, "xxxxxxxx", "0A000"},
		{pgtype.TextOID, 7, "x", "08P01"},
	} {
		r := c.ExecParams(f.context(), "SELECT $1", [][]byte{[]byte(tt.text)}, []uint32{tt.oid}, []int16{tt.format}, nil).Read()
		wantState(t, r.Err, tt.state, "")
	}
	r := c.ExecParams(f.context(), "SELECT $1", nil, nil, nil, nil).Read()
	wantState(t, r.Err, "08P01", "supplies 0 parameters")
}

// Values are given by the numbers of parameters, so that none may be missing.
func TestNumbersLeftOut(t *testing.T) {
	f := serve(t, nil).frontend()
	for sql, want := range map[string]string{
		"SELECT $2::INT": "$1", "SELECT $1::INT + $3::INT": "$2", "SELECT $3, $2": "$1", "SELECT $1, $2, $10": "$3", "SELECT $65536": "$1",
	} {
		f.Send(&pgproto3.Parse{Query: sql})
		f.Send(&pgproto3.Sync{})
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		m, err := f.Receive()
		if e, ok := m.(*pgproto3.ErrorResponse); !ok || e.Code != "42P18" || !strings.HasSuffix(e.Message, "parameter "+want) {
			t.Errorf("%s: %v, %v", sql, m, err)
		}
		f.answers()
	}
}

// A parameter that a client tells to be numeric is one in the result, whatever
// it is bound as.
func TestNumericParameters(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	if r := c.ExecParams(f.context(), "SELECT $1", [][]byte{[]byte(strings.Repeat("9", 39))}, []uint32{pgtype.NumericOID}, nil, nil).Read(); r.Err == nil ||
		!strings.Contains(r.Err.Error(), "does not fit exactly") {
		t.Errorf("too many digits for a DECIMAL: %v", r.Err)
	}
	for _, tt := range []struct {
		sql, text, want string
	}{
		{"SELECT $1", "5.5", "5.5"},
		{"SELECT $1", "5", "5"},
		{"SELECT $1", "-1.50", "-1.50"},
		{"SELECT $1", "1E+2", "100"},
		{"SELECT $1", "12345678901234567.890123456789", "12345678901234567.890123456789"},
		{"SELECT $1", "0.00000000000000000000000000000000000000025", "0.00000000000000000000000000000000000000025"},
		{"SELECT $1", "NaN", "NaN"},
		{"SELECT $1", "-Infinity", "-Infinity"},
		{"SELECT $1", "∅", "∅"},
		{"SELECT id + $1 FROM numbers WHERE id = 7", "0.5", "7.5"},
		{"SELECT id + $1 FROM numbers WHERE id = 7", "2", "9"},
		{"SELECT id + $1 FROM numbers WHERE id = 7", "∅", "∅"},
		{"SELECT id - $1 FROM numbers WHERE id = 7", "Infinity", "-Infinity"},
		{"SELECT coalesce(NULL, $1)", "5", "5"},
		{"SELECT round($1, 1)", "5.25", "5.3"},
		{"SELECT [1, 2, 3][$1] + 0.0", "2", "2.0"},
		{"SELECT count(*) FROM numbers WHERE id < $1", "2.5", "2"},
		{"SELECT $1#[]", "{1.5,2.25}", "{1.50,2.25}"},
		{"SELECT $1#[]", "{1,2.5,NULL}", "{1.0,2.5,NULL}"},
		{"SELECT $1#[]", "{1,-2}", "{1,-2}"},
		{"SELECT $1#[]", "{1.5,NaN}", "{1.5,NaN}"},
	} {
		sql, array := strings.CutSuffix(tt.sql, "#[]")
		oid := uint32(pgtype.NumericOID)
		if array {
			oid = pgtype.NumericArrayOID
		}
		param := []byte(tt.text)
		if tt.text == "∅" {
			param = nil
		}
		texts := c.ExecParams(f.context(), sql, [][]byte{param}, []uint32{oid}, nil, nil).Read()
		if texts.Err != nil || string(joined(texts.Rows[0])) != tt.want {
			t.Errorf("%s of %s: %s, %v; want %s", sql, tt.text, texts.Rows, texts.Err, tt.want)
			continue
		}
		if d := texts.FieldDescriptions[0]; d.TypeModifier != -1 {
			t.Errorf("%s of %s has the modifier %d", sql, tt.text, d.TypeModifier)
		}
		// What came is sent in binary, and comes back as before.
		binary := c.ExecParams(f.context(), sql, [][]byte{param}, []uint32{oid}, nil, []int16{1}).Read()
		if binary.Err != nil {
			t.Errorf("%s of %s: %v", sql, tt.text, binary.Err)
			continue
		}
		back := c.ExecParams(f.context(), "SELECT $1", binary.Rows[0], []uint32{binary.FieldDescriptions[0].DataTypeOID}, []int16{1}, nil).Read()
		if back.Err != nil || string(joined(back.Rows[0])) != tt.want {
			t.Errorf("%s of %s in binary: %s, %v; want %s", sql, tt.text, back.Rows, back.Err, tt.want)
		}
	}
}

// Clients that send texts without types give a parameter next to an operator the
// type of the other operand.
func TestParametersBesideOperators(t *testing.T) {
	f := serveWriting(t)
	c := f.raw()
	run := func(want, sql string, params ...string) {
		t.Helper()
		texts := make([][]byte, len(params))
		for i, s := range params {
			texts[i] = []byte(s)
		}
		r := c.ExecParams(f.context(), sql, texts, nil, nil, nil).Read()
		got := r.CommandTag.String()
		if len(r.Rows) > 0 {
			got = string(joined(r.Rows[0]))
		}
		if r.Err != nil || got != want {
			t.Errorf("%s of %q: %q, %v; want %q", sql, params, got, r.Err, want)
		}
	}
	run("INSERT 0 1", "INSERT INTO words VALUES ($1 + 1)", "4")
	run("UPDATE 1", "UPDATE words SET word = word::INTEGER + $1 WHERE word = $2", "7", "5")
	run("12", "SELECT * FROM words WHERE length(word) % $1 = 0 AND length(word) >= $2 - 5", "2", "7")
	run("-1.5|1|2.5", "SELECT 0.5 - $1, length(word) / $2, abs($3) FROM words", "2.0", "2", "-2.5")
	run("0.123450", "SELECT 1.0::DECIMAL(9, 1) * $1", "0.12345")
	run("2024-03-01 00:00:00|1|3", "SELECT DATE '2024-02-29' + $1, DATE '2024-02-29' - $2, round($3)", "1 day", "2024-02-28", "2.7")
	run("3", "SELECT $1 + $2", "1", "2")
}

func TestBatch(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	batch := &pgx.Batch{}
	for i := range 50 {
		batch.Queue("SELECT name FROM numbers WHERE id = $1", i+1)
	}
	batch.Queue("SELECT nosuch")
	batch.Queue("SELECT 'not reached'")
	results := c.SendBatch(f.context(), batch)
	for i := range 50 {
		var name string
		if err := results.QueryRow().Scan(&name); err != nil {
			if i == 0 && isState(err, "42703") { // pgx prepares all of them first
				break
			}
			t.Fatal(err)
		}
	}
	if err := results.Close(); !isState(err, "42703") {
		t.Errorf("Close: %v", err)
	}
	if err := c.Ping(f.context()); err != nil {
		t.Error(err)
	}
}

func isState(err error, state string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == state
}

func TestPipelineSkipsToSync(t *testing.T) {
	f := serve(t, nil)
	p := f.raw().StartPipeline(f.context())
	p.SendQueryParams("SELECT 1", nil, nil, nil, nil)
	p.SendQueryParams("SELECT nosuch", nil, nil, nil, nil)
	p.SendQueryParams("SELECT 3", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	p.SendQueryParams("SELECT 4", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 6 {
		r, err := p.GetResults()
		switch r := r.(type) {
		case *pgconn.ResultReader:
			if rows := r.Read(); rows.Err == nil {
				got = append(got, string(rows.Rows[0][0]))
			} else {
				got = append(got, "error")
			}
		case *pgconn.PipelineSync:
			got = append(got, "sync")
		default:
			if err != nil {
				got = append(got, "error")
			}
		}
	}
	if want := "1 error sync 4 sync"; strings.Join(got[:5], " ") != want {
		t.Errorf("got %q", got)
	}
	if err := p.Close(); err != nil && !isState(err, "42703") {
		t.Error(err)
	}
}

// A client may wait for the error before it sends Sync, as asyncpg does.
func TestErrorsDoNotWaitForSync(t *testing.T) {
	f := serve(t, nil).frontend()
	f.Send(&pgproto3.Parse{Query: "SELECT nosuch"})
	f.Send(&pgproto3.Describe{ObjectType: 'S'})
	f.Send(&pgproto3.Flush{})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	m, err := f.Receive()
	if e, ok := m.(*pgproto3.ErrorResponse); !ok || e.Code != "42703" {
		t.Errorf("%T %v, %v", m, m, err)
	}
	if got := f.exchange(&pgproto3.Sync{}); got != "I" {
		t.Error(got)
	}
}

// frontend is a client that writes messages by hand.
type frontend struct {
	*pgproto3.Frontend
	*fixture
	conn *pgconn.HijackedConn
}

func (f *fixture) frontend() *frontend { return f.frontendWith("") }

func (f *fixture) frontendWith(params string) *frontend {
	f.Helper()
	h, err := f.connect(params).PgConn().Hijack()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.Conn.Close() })
	if err := h.Conn.SetDeadline(time.Now().Add(wait.Limit)); err != nil {
		f.Fatal(err)
	}
	return &frontend{h.Frontend, f, h}
}

// cancel asks on another connection to end what runs on this one.
func (f *frontend) cancel() {
	f.Helper()
	request := (&pgproto3.CancelRequest{ProcessID: f.conn.PID, SecretKey: f.conn.SecretKey})
	sent, err := request.Encode(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.first(sent)
}

// exchange sends messages and returns what comes back until ReadyForQuery, in
// a few words each.
func (f *frontend) exchange(messages ...pgproto3.FrontendMessage) string {
	f.Helper()
	for _, m := range messages {
		f.Send(m)
	}
	if err := f.Flush(); err != nil {
		f.Fatal(err)
	}
	return f.answers()
}

func (f *frontend) answers() string {
	f.Helper()
	var words []string
	for {
		m, err := f.Receive()
		if err != nil {
			return strings.Join(append(words, "end"), " ")
		}
		word := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
		switch m := m.(type) {
		case *pgproto3.DataRow:
			word = string(joined(m.Values))
		case *pgproto3.CopyData:
			word = string(m.Data)
		case *pgproto3.CommandComplete:
			word = string(m.CommandTag)
		case *pgproto3.ErrorResponse:
			word = m.Code
		case *pgproto3.NoticeResponse:
			word = "notice:" + m.Code
		case *pgproto3.ParameterDescription:
			word = fmt.Sprint(m.ParameterOIDs)
		case *pgproto3.ReadyForQuery:
			return strings.Join(append(words, string(m.TxStatus)), " ")
		}
		words = append(words, word)
	}
}

func TestPortals(t *testing.T) {
	f := serve(t, nil).frontend()
	want := func(want string, messages ...pgproto3.FrontendMessage) {
		t.Helper()
		if got := f.exchange(messages...); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	parse := &pgproto3.Parse{Query: "SELECT id FROM numbers WHERE id <= $1 ORDER BY id", Name: "s"}
	bind := &pgproto3.Bind{PreparedStatement: "s", DestinationPortal: "p", Parameters: [][]byte{[]byte("5")}}
	run := func(rows uint32) *pgproto3.Execute { return &pgproto3.Execute{Portal: "p", MaxRows: rows} }
	sync := &pgproto3.Sync{}
	want("ParseComplete [23] RowDescription I", parse, &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync)
	want("BindComplete 1 2 PortalSuspended 3 4 PortalSuspended 5 SELECT 1 SELECT 0 I", bind, run(2), run(2), run(2), run(0), sync)
	want("34000 I", run(0), sync) // the portal ended with the transaction
	want("notice:25P01 COMMIT BEGIN T", &pgproto3.Query{String: "COMMIT; BEGIN"})
	want("BindComplete RowDescription 1 PortalSuspended T", bind, &pgproto3.Describe{ObjectType: 'P', Name: "p"}, run(1), sync)
	want("2 PortalSuspended T", run(1), sync)
	want("42P03 E", bind, run(1), sync)
	want("25P02 E", run(1), sync)
	want("ROLLBACK I", &pgproto3.Query{String: "COMMIT"})
	want("34000 I", run(1), sync)
	want("BindComplete 1 PortalSuspended CloseComplete CloseComplete 34000 I", bind, run(1), &pgproto3.Close{ObjectType: 'P', Name: "p"},
		&pgproto3.Close{ObjectType: 'P', Name: "nosuch"}, run(1), sync)
	want("CloseComplete 26000 I", &pgproto3.Close{ObjectType: 'S', Name: "s"}, bind, sync)
	want("ParseComplete [] NoData BindComplete EmptyQueryResponse I", &pgproto3.Parse{Query: " -- nothing"},
		&pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{}, &pgproto3.Execute{}, sync)
	want("42601 I", &pgproto3.Parse{Query: "SELECT 1; SELECT 2"}, bind, run(1), sync)
	want("0A000 I", &pgproto3.FunctionCall{})
	want("I", &pgproto3.CopyDone{}, sync)
	f.idle()
}

// TestFailedPortal has a portal fail after some of its rows.
func TestFailedPortal(t *testing.T) {
	f := serve(t, nil).frontend()
	f.exchange(&pgproto3.Query{String: "BEGIN; SAVEPOINT a"})
	parse := &pgproto3.Parse{Query: "SELECT CASE WHEN range < 499999 THEN 1 ELSE error('boom') END FROM range(500000)"}
	bind, run := &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 1}
	if got := f.exchange(parse, bind, run, &pgproto3.Sync{}); got != "ParseComplete BindComplete 1 PortalSuspended T" {
		t.Errorf("at first: %s", got)
	}
	all := f.exchange(&pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{})
	if !strings.HasSuffix(all, "22000 E") {
		t.Errorf("in the midst: %.30s…", all)
	}
	f.exchange(&pgproto3.Query{String: "ROLLBACK TO a"})
	if got := f.exchange(run, &pgproto3.Sync{}); got != "55000 E" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestTooManyOpenPortals(t *testing.T) {
	f := serve(t, nil).frontend()
	f.exchange(&pgproto3.Query{String: "BEGIN"})
	messages := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "FROM numbers", Name: "s"}}
	for i := range 5 {
		name := fmt.Sprint(i)
		messages = append(messages, &pgproto3.Bind{PreparedStatement: "s", DestinationPortal: name}, &pgproto3.Execute{Portal: name, MaxRows: 1})
	}
	if got := f.exchange(append(messages, &pgproto3.Sync{})...); !strings.HasSuffix(got, "BindComplete 53400 E") || strings.Count(got, "PortalSuspended") != 4 {
		t.Errorf("got %s", got)
	}
	f.exchange(&pgproto3.Query{String: "ROLLBACK"})
	f.idle()
}

// lockedBuffer is a buffer for goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// oneAtATime is a server whose clients have one place between them, with its
// audit log.
func oneAtATime(t *testing.T) (f *fixture, log *lockedBuffer) {
	t.Helper()
	keys, log := limitedKeys(t, "{max_concurrent: 1}"), &lockedBuffer{}
	return serve(t, func(o *pgwire.Options) {
		db, err := shared()
		if err != nil {
			t.Fatal(err)
		}
		o.Keys = func() *auth.Keyring { return keys }
		o.Query = query.New(query.Options{DB: db, Audit: audit.New(slog.New(slog.NewTextHandler(log, nil)))})
	}), log
}

// TestDescriptionsTakeAPlace of their principal's, as DuckDB computes what is
// constant for them.
func TestDescriptionsTakeAPlace(t *testing.T) {
	f, log := oneAtATime(t)
	a, b := f.frontendWith("&password="+goodKey), f.frontendWith("&password="+goodKey)
	parse := func(name string) pgproto3.FrontendMessage {
		return &pgproto3.Parse{Name: name, Query: "FROM numbers WHERE id < 3 -- " + name}
	}
	sync := &pgproto3.Sync{}
	for _, tt := range []struct {
		by       *frontend
		messages []pgproto3.FrontendMessage
		want     string
	}{
		{a, []pgproto3.FrontendMessage{parse("s"), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync}, "ParseComplete [] RowDescription I"},
		{b, []pgproto3.FrontendMessage{parse("s"), sync}, "ParseComplete I"},
	} {
		if got := tt.by.exchange(tt.messages...); got != tt.want {
			t.Errorf("%T: %s, want %s", tt.messages[0], got, tt.want)
		}
	}
	f.idle() // the descriptions are over
	a.Send(&pgproto3.Query{String: forever})
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running == 1 })
	if got := b.exchange(parse("u"), sync); got != "53400 I" {
		t.Errorf("next to a statement: %s", got)
	}
	a.conn.Conn.Close()
	f.idle()
	if strings.Count(log.String(), "outcome=rate_limited") != 1 {
		t.Errorf("the audit log has %s", log)
	}
}

// TestCommandsCountToLimits has statements that are answered without the engine
// count to the rate and the concurrency of their key, but for the end of a
// transaction block.
func TestCommandsCountToLimits(t *testing.T) {
	keys := limitedKeys(t, "{requests_per_second: 0.001, burst: 9, max_concurrent: 1}")
	f := serve(t, func(o *pgwire.Options) { o.Keys = func() *auth.Keyring { return keys } })
	c := f.frontendWith("&password=" + goodKey)
	query := func(sql string) *pgproto3.Query { return &pgproto3.Query{String: sql} }
	for _, tt := range []struct{ sql, want string }{
		{"SHOW lc_ctype", "RowDescription C.UTF-8 SHOW I"},
		{"SET TimeZone = 'UTC'; ;", "SET I"},
		{"", "EmptyQueryResponse I"},
		{"BEGIN", "BEGIN T"},
		{"DECLARE c CURSOR FOR SELECT id FROM numbers WHERE id < 3", "DECLARE CURSOR T"},
		{"FETCH c", "RowDescription 1 FETCH 1 T"},
		{"SHOW lc_ctype", "RowDescription C.UTF-8 SHOW T"}, // next to its own statement
		{"FETCH 9 c", "RowDescription 2 FETCH 1 T"},
		{"FETCH c", "RowDescription FETCH 0 T"},
		{"CLOSE c", "CLOSE CURSOR T"},
		{"CLOSE c", "53400 E"},
		{"ROLLBACK", "ROLLBACK I"},
		{"ROLLBACK", "53400 I"},
		{";", "53400 I"},
	} {
		if got := c.exchange(query(tt.sql)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.sql, got, tt.want)
		}
	}
}

// TestRoundsWithoutStatementsCount: what a client sends up to a Sync costs a token of
// its rate, whether or not a statement runs.
func TestRoundsWithoutStatementsCount(t *testing.T) {
	parse, bind, run, sync := &pgproto3.Parse{Query: "SELECT 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}
	list := func(m ...pgproto3.FrontendMessage) []pgproto3.FrontendMessage { return m }
	var endless []pgproto3.FrontendMessage
	for range 200 {
		endless = append(endless, &pgproto3.Parse{Name: "s", Query: "SELECT 1"}, &pgproto3.Close{ObjectType: 'S', Name: "s"})
	}
	for name, messages := range map[string][]pgproto3.FrontendMessage{
		"statement":    list(parse, bind, run, sync),
		"statements":   list(parse, bind, run, bind, run, sync),
		"bind":         list(parse, bind, sync),
		"describe":     list(parse, &pgproto3.Describe{ObjectType: 'S'}, sync),
		"syntax error": list(&pgproto3.Parse{Query: "SELEC 1"}, sync),
		"no statement": list(&pgproto3.Bind{PreparedStatement: "no"}, sync),
		"simple error": list(&pgproto3.Query{String: "SET no_such_setting = 1"}),
		"no sync":      append(endless, sync),
	} {
		t.Run(name, func(t *testing.T) {
			c := limitedClient(t)
			for rounds := 0; !strings.Contains(c.exchange(messages...), "53400"); rounds++ {
				if rounds > 4 {
					t.Fatal("the rounds cost nothing")
				}
			}
		})
	}
	c := limitedClient(t)
	for range 5 {
		c.exchange(sync)
	}
	if got := c.exchange(parse, sync); got != "53400 I" {
		t.Errorf("after nothing but Sync: %s", got)
	}
	c = limitedClient(t)
	c.exchange(&pgproto3.Query{String: "BEGIN"})
	for range 5 {
		c.exchange(&pgproto3.Parse{Query: "SELEC 1"}, sync)
	}
	if got := c.exchange(parse, sync) + " " + c.exchange(&pgproto3.Parse{Query: "ROLLBACK"}, bind, run, sync); got !=
		"53400 E ParseComplete BindComplete ROLLBACK I" {
		t.Errorf("in a transaction block: %s", got)
	}
}

// limitedClient is a client whose key may send four requests.
func limitedClient(t *testing.T) *frontend {
	keys := limitedKeys(t, "{requests_per_second: 0.001, burst: 4}")
	return serve(t, func(o *pgwire.Options) { o.Keys = func() *auth.Keyring { return keys } }).frontendWith("&password=" + goodKey)
}

// TestSuspendedPortalsHoldNoSlot of their principal's.
func TestSuspendedPortalsHoldNoSlot(t *testing.T) {
	f, _ := oneAtATime(t)
	a, b := f.frontendWith("&password="+goodKey), f.frontendWith("&password="+goodKey)
	a.exchange(&pgproto3.Query{String: "BEGIN"})
	run, sync := &pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{}
	if got := a.exchange(&pgproto3.Parse{Query: "SELECT id FROM numbers"}, &pgproto3.Bind{}, run, sync); got != "ParseComplete BindComplete 1 PortalSuspended T" {
		t.Fatal(got)
	}
	if got := b.exchange(&pgproto3.Query{String: "SELECT 1"}); got != "RowDescription 1 SELECT 1 I" {
		t.Error(got)
	}
	if got := a.exchange(run, sync); got != "2 PortalSuspended T" {
		t.Error(got)
	}
	a.exchange(&pgproto3.Query{String: "ROLLBACK"})
	f.idle()
}

func TestCursors(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range []struct{ sql, lines, tags, state string }{
		{"DECLARE c CURSOR FOR SELECT 1", "", "", "25P01"},
		{"BEGIN", "", "BEGIN", ""},
		{"DECLARE c NO SCROLL CURSOR FOR SELECT id FROM numbers ORDER BY id", "", "DECLARE CURSOR", ""},
		{"FETCH c", "1", "FETCH 1", ""},
		{"FETCH FORWARD 2 FROM c; MOVE 3 IN c", "2 3", "FETCH 2,MOVE 3", ""},
		{"FETCH 1 FROM c", "7", "FETCH 1", ""},
		{"MOVE ALL FROM c; FETCH ALL FROM c", "", "MOVE 9993,FETCH 0", ""},
		{"CLOSE c", "", "CLOSE CURSOR", ""},
		{"FETCH 1 FROM c", "", "", "34000"},
		{"ROLLBACK", "", "ROLLBACK", ""},
		{`DECLARE "H" CURSOR WITH HOLD FOR SELECT 'x'; FETCH ALL "H"`, "x", "DECLARE CURSOR,FETCH 1", ""},
		{`FETCH ALL "H"; CLOSE ALL`, "", "FETCH 0,CLOSE CURSOR ALL", ""},
		{"BEGIN; DECLARE d CURSOR FOR SELECT nosuch", "", "BEGIN", "42703"},
		{"ROLLBACK", "", "ROLLBACK", ""},
		{"FETCH BACKWARD 1 FROM c", "", "", "55000"},
		{"DECLARE h CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY id; FETCH h", "1", "DECLARE CURSOR,FETCH 1", ""},
		{"BEGIN; FETCH h; DECLARE i CURSOR WITH HOLD FOR SELECT 'i'; ROLLBACK; FETCH h", "2 3", "BEGIN,FETCH 1,DECLARE CURSOR,ROLLBACK,FETCH 1", ""},
		{"FETCH i", "", "", "34000"},
		{"BEGIN; DECLARE j CURSOR WITH HOLD FOR SELECT 'j'; COMMIT; BEGIN; ROLLBACK; FETCH j", "j", "BEGIN,DECLARE CURSOR,COMMIT,BEGIN,ROLLBACK,FETCH 1", ""},
		{"BEGIN; DECLARE k CURSOR WITH HOLD FOR SELECT 'k'; SELECT nosuch", "", "BEGIN,DECLARE CURSOR", "42703"},
		{"COMMIT; FETCH h", "4", "ROLLBACK,FETCH 1", ""},
		{"FETCH k", "", "", "34000"},
		{"CLOSE ALL", "", "CLOSE CURSOR ALL", ""},
		{"DECLARE e CURSOR WITH HOLD FOR SELECT error('boom')", "", "DECLARE CURSOR", ""},
		{"FETCH e", "", "", "22000"},
		{"FETCH e", "", "", "55000"},
		{"BEGIN; SAVEPOINT a", "", "BEGIN,SAVEPOINT", ""},
		{"FETCH e", "", "", "55000"},
		{"ROLLBACK TO a; MOVE e", "", "ROLLBACK", "55000"},
		{"ROLLBACK; CLOSE ALL", "", "ROLLBACK,CLOSE CURSOR ALL", ""},
	} {
		lines, tags, err := f.simple(c, tt.sql)
		if tt.state != "" {
			wantState(t, err, tt.state, "")
		} else if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
		}
		if got := strings.Join(lines, " "); got != tt.lines || strings.Join(tags, ",") != tt.tags {
			t.Errorf("%s: %q, %q", tt.sql, got, tags)
		}
	}
	f.idle()
}

// TestCursorInPlaceOfItsPortal: a DECLARE cannot put its cursor where it runs.
func TestCursorInPlaceOfItsPortal(t *testing.T) {
	f := serve(t, nil).frontend()
	for name, state := range map[string]string{"": "34000", "p": "42P03"} {
		got := f.exchange(&pgproto3.Query{String: "BEGIN"})
		got += " " + f.exchange(&pgproto3.Parse{Query: `DECLARE "` + name + `" CURSOR FOR SELECT $1::VARCHAR`},
			&pgproto3.Bind{DestinationPortal: name, Parameters: [][]byte{[]byte("x")}}, &pgproto3.Execute{Portal: name}, &pgproto3.Sync{})
		got += " " + f.exchange(&pgproto3.Query{String: "ROLLBACK"})
		if want := "BEGIN T ParseComplete BindComplete " + state + " E ROLLBACK I"; got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestCursorWithParameters(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	tx, err := c.Begin(f.context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(f.context(), "DECLARE c CURSOR FOR SELECT id, name FROM numbers WHERE id > $1::INTEGER ORDER BY id", 9998); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(f.context(), "FETCH ALL FROM c")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		v, err := r.Values()
		return fmt.Sprint(v...), err
	})
	if want := []string{"9999row 9999", "10000row 10000"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := tx.Commit(f.context()); err != nil {
		t.Error(err)
	}
}

// TestColumnOfNulls requires that a column may become an INTEGER between its description
// and the execution if all its values are NULL: DuckDB gives it that type then.
func TestColumnOfNulls(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	sql := "SELECT (list_transform(list_transform(CAST(NULL AS BIGINT[]), lambda e: e + CAST($1 AS BIGINT)), lambda q: len('é')))[1] FROM range(3)"
	d, err := c.Prepare(f.context(), "s", sql, nil)
	if err != nil || d.Fields[0].DataTypeOID != pgtype.Int8OID {
		t.Fatal(d, err)
	}
	for format := range int16(2) {
		r := c.ExecPrepared(f.context(), "s", [][]byte{[]byte("5")}, nil, []int16{format}).Read()
		if r.Err != nil || len(r.Rows) != 3 || r.Rows[0][0] != nil {
			t.Errorf("format %d: %q, %v", format, r.Rows, r.Err)
		}
	}
}

// TestResultTypeChanges has a generation come between two uses of a prepared
// statement.
func TestResultTypeChanges(t *testing.T) {
	f := serveOwn(t)
	c := f.raw()
	if _, err := c.Prepare(f.context(), "s", "SELECT * FROM words", nil); err != nil {
		t.Fatal(err)
	}
	if err := publish(f.db, fixtureCatalog(2), "DROP TABLE spice.public.words", "CREATE TABLE spice.public.words AS SELECT 7 AS word"); err != nil {
		t.Fatal(err)
	}
	r := c.ExecPrepared(f.context(), "s", nil, nil, nil).Read()
	wantState(t, r.Err, "0A000", "cached plan must not change result type")
	if _, err := c.Prepare(f.context(), "t", "SELECT * FROM words", nil); err != nil {
		t.Fatal(err)
	}
	if r := c.ExecPrepared(f.context(), "t", nil, nil, nil).Read(); r.Err != nil || string(r.Rows[0][0]) != "7" {
		t.Errorf("got %q, %v", r.Rows, r.Err)
	}
}

// TestParameterTypeChanges has a generation come between two uses of a
// prepared statement: its parameters are read by the types that the client knows.
func TestParameterTypeChanges(t *testing.T) {
	f := serveOwn(t)
	c := f.raw()
	generation := uint64(1)
	words := func(value string) {
		t.Helper()
		generation++
		if err := publish(f.db, fixtureCatalog(generation), "DROP TABLE spice.public.words",
			"CREATE TABLE spice.public.words AS SELECT "+value+" AS word"); err != nil {
			t.Fatal(err)
		}
	}
	describe := func(name string, want uint32) {
		t.Helper()
		if d, err := c.Prepare(f.context(), name, "SELECT count(*) FROM words WHERE word = $1", nil); err != nil || d.ParamOIDs[0] != want {
			t.Fatalf("the parameter of %s: %v, %v; want %d", name, d, err, want)
		}
	}
	found := func(name string, param []byte) {
		t.Helper()
		if r := c.ExecPrepared(f.context(), name, [][]byte{param}, []int16{1}, nil).Read(); r.Err != nil || string(r.Rows[0][0]) != "1" {
			t.Errorf("%s in generation %d: got %q, %v", name, generation, r.Rows, r.Err)
		}
	}
	integer, double, text := binary.BigEndian.AppendUint64(nil, 7), binary.BigEndian.AppendUint64(nil, math.Float64bits(7)), []byte("7")
	words("7::BIGINT")
	describe("integer", pgtype.Int8OID)
	words("7::DOUBLE")
	found("integer", integer)
	describe("double", pgtype.Float8OID)
	words("'7'")
	found("integer", integer)
	describe("text", pgtype.TextOID)
	words("7::BIGINT")
	found("integer", integer)
	found("double", double)
	found("text", text)
}

func TestRewrite(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) {
		o.Rewrite = func(sql string, _ pgcatalog.Session) (string, bool) {
			if strings.Contains(sql, "pg_catalog") {
				return "SELECT 'rewritten' AS x, $1::INTEGER AS y", true
			}
			return sql, false
		}
	})
	var x string
	var y int
	if err := f.connect("").QueryRow(f.context(), "SELECT * FROM pg_catalog.pg_class WHERE x = $1;", 5).Scan(&x, &y); err != nil || x != "rewritten" || y != 5 {
		t.Errorf("got %q %d, %v", x, y, err)
	}
}

const forever = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5"

func TestCancel(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	other := f.raw()
	done := make(chan error, 1)
	go func() { done <- c.ExecParams(context.Background(), forever, nil, nil, nil, nil).Read().Err }()
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running == 1 })
	if err := other.CancelRequest(f.context()); err != nil { // its own: it runs nothing
		t.Error(err)
	}
	if err := c.CancelRequest(f.context()); err != nil {
		t.Error(err)
	}
	wantState(t, <-done, "57014", "cancel")
	if r := c.ExecParams(f.context(), "SELECT 1", nil, nil, nil, nil).Read(); r.Err != nil {
		t.Error(r.Err)
	}
	f.idle()
}

// TestCancelBetweenStatements has the request come when none runs, but one is
// to: Rewrite is asked before.
func TestCancelBetweenStatements(t *testing.T) {
	var c *pgconn.PgConn
	f := serve(t, func(o *pgwire.Options) {
		o.Rewrite = func(sql string, _ pgcatalog.Session) (string, bool) {
			if strings.Contains(sql, "gap") {
				if err := c.CancelRequest(context.Background()); err != nil {
					t.Error(err)
				}
			}
			return sql, false
		}
	})
	c = f.raw()
	lines, _, err := f.simple(c, "SELECT 1; SELECT 'gap'; SELECT 3")
	if wantState(t, err, "57014", "cancel"); !slices.Equal(lines, []string{"1"}) {
		t.Errorf("got %q", lines)
	}
	r := c.ExecParams(f.context(), "SELECT 'gap' AS extended", nil, nil, nil, nil).Read()
	wantState(t, r.Err, "57014", "cancel")
	if err := c.CancelRequest(f.context()); err != nil { // of nothing
		t.Error(err)
	}
	if r := c.ExecParams(f.context(), "SELECT 1", nil, nil, nil, nil).Read(); r.Err != nil {
		t.Error(r.Err)
	}
}

// TestCancelBetweenRequests: messages that do not begin a request are not requests that a
// cancel request is about.
func TestCancelBetweenRequests(t *testing.T) {
	f := serve(t, nil).frontend()
	for range 20 {
		if got := f.exchange(&pgproto3.Query{String: "SELECT 1"}, &pgproto3.CopyDone{}, &pgproto3.Flush{}); got != "RowDescription 1 SELECT 1 I" {
			t.Fatal(got)
		}
		f.cancel()
		if got := f.exchange(&pgproto3.Query{String: "SELECT 2"}); got != "RowDescription 2 SELECT 1 I" {
			t.Fatal(got)
		}
	}
}

func TestStatementTimeout(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	_, _, err := f.simple(c, "SET statement_timeout = '50ms'; "+forever)
	wantState(t, err, "57014", "longer than 50ms")
	lines, _, err := f.simple(c, "SHOW statement_timeout; RESET statement_timeout; SHOW statement_timeout")
	if want := []string{"50ms", "0"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("got %q, %v", lines, err)
	}
}

// TestTimeOfFetches: the time limit is one of each FETCH, without what the
// client does between two of them.
func TestTimeOfFetches(t *testing.T) {
	f := serve(t, nil)
	cursor, portal, other := f.raw(), f.frontend(), f.raw()
	if _, _, err := f.simple(cursor, "SET statement_timeout = 300; BEGIN; DECLARE c CURSOR FOR SELECT * FROM range(500000)"); err != nil {
		t.Fatal(err)
	}
	portal.exchange(&pgproto3.Query{String: "SET statement_timeout = 300; BEGIN"})
	begin := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT * FROM range(500000)"}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{}}
	if got := portal.exchange(begin...); got != "ParseComplete BindComplete 0 PortalSuspended T" {
		t.Fatal(got)
	}
	for i := range 2 {
		if lines, _, err := f.simple(cursor, "FETCH 1 FROM c"); err != nil || lines[0] != fmt.Sprint(i) {
			t.Fatalf("FETCH %d: %q, %v", i, lines, err)
		}
		_, _, err := f.simple(other, "SET statement_timeout = 400; "+forever) // the client takes longer than the limit
		wantState(t, err, "57014", "longer than 400ms")
	}
	if lines, _, err := f.simple(cursor, "FETCH ALL FROM c"); err != nil || len(lines) != 500000-2 {
		t.Errorf("FETCH ALL: %d rows, %v", len(lines), err)
	}
	if got := portal.exchange(&pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{}); got != "1 PortalSuspended T" {
		t.Error(got)
	}
	// What a FETCH waits for counts.
	_, _, err := f.simple(cursor, "DECLARE d CURSOR FOR "+forever+"; FETCH 1 FROM d")
	wantState(t, err, "57014", "longer than 300ms")
}

// wide is an engine that describes so many columns.
type wide struct {
	query.Engine
	columns int
}

func (w wide) Describe(context.Context, engine.Request) (*engine.Description, error) {
	return &engine.Description{Columns: make([]engine.Column, w.columns)}, nil
}

// TestTooManyColumns for the protocol, which counts them with 16 bits.
func TestTooManyColumns(t *testing.T) {
	db, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	for columns, want := range map[int]string{math.MaxInt16: "ParseComplete I", math.MaxInt16 + 1: "54011 I"} {
		f := serve(t, func(o *pgwire.Options) { o.Query = query.New(query.Options{DB: wide{db, columns}}) }).frontend()
		if got := f.exchange(&pgproto3.Parse{Query: "SELECT COLUMNS(*)"}, &pgproto3.Sync{}); got != want {
			t.Errorf("%d columns: %s", columns, got)
		}
	}
	full.Need(t, "DuckDB takes seconds for so many")
	sql := "SELECT 1" + strings.Repeat(",1", math.MaxInt16)
	if got := serve(t, nil).frontend().exchange(&pgproto3.Query{String: sql}); got != "54011 I" {
		t.Errorf("a simple query: %.50s", got)
	}
}

// slow is an engine that describes what a client asks for, after so many
// statements, until it is cancelled.
type slow struct {
	query.Engine
	fast  int
	limit time.Duration // of a statement; 0: the engine's
}

func (s *slow) Timeout() time.Duration { return cmp.Or(s.limit, s.Engine.Timeout()) }

func (s *slow) Describe(ctx context.Context, req engine.Request) (*engine.Description, error) {
	if s.fast--; s.fast < 0 {
		<-ctx.Done()
		return nil, &engine.Error{Code: errcode.Timeout, Message: "stopped", Offset: -1}
	}
	return s.Engine.Describe(ctx, req)
}

// TestTimeOfDescriptions: DuckDB computes what is constant when it describes a
// statement, and is asked several times when parameters have no type.
func TestTimeOfDescriptions(t *testing.T) {
	for name, tt := range map[string]struct {
		set    string
		engine slow
	}{
		"the session's":             {"SET statement_timeout = 50", slow{fast: 0}},
		"the session's, parameters": {"SET statement_timeout = 50", slow{fast: 1}},
		"the engine's, parameters":  {"", slow{fast: 1, limit: 50 * time.Millisecond}},
	} {
		f := serve(t, func(o *pgwire.Options) {
			db, err := shared()
			if err != nil {
				t.Fatal(err)
			}
			tt.engine.Engine = db
			o.Query = query.New(query.Options{DB: &tt.engine})
		})
		c := f.frontend()
		c.exchange(&pgproto3.Query{String: tt.set})
		if got := c.exchange(&pgproto3.Parse{Query: "SELECT $1, $2"}, &pgproto3.Sync{}); got != "57014 I" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestClientLeaves closes the connection while a statement runs, which ends
// it.
func TestClientLeaves(t *testing.T) {
	f := serve(t, nil).frontend()
	f.Send(&pgproto3.Query{String: forever})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running == 1 })
	f.conn.Conn.Close()
	f.idle()
	wait.Until(t, "the connection is forgotten", func() bool { return f.server.Connections() == 0 })
}

// TestReadAhead pipelines a query behind one that runs for a while: what was
// read while watching for the client's leaving is not lost.
func TestReadAhead(t *testing.T) {
	f := serve(t, nil).frontend()
	f.Send(&pgproto3.Query{String: forever})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running == 1 })
	f.Send(&pgproto3.Query{String: "SELECT 'behind'"})
	f.Send(&pgproto3.Query{String: "SELECT '" + strings.Repeat("x", 20_000) + "' = ''"})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	f.cancel()
	got := []string{f.answers(), f.answers(), f.answers()}
	want := []string{"57014 I", "RowDescription behind SELECT 1 I", "RowDescription f SELECT 1 I"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestAnswersAreNotPiledUp has what was answered come before its request ends.
func TestAnswersAreNotPiledUp(t *testing.T) {
	f := serve(t, nil)
	describe := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "FROM types"}}
	for range 200 {
		describe = append(describe, &pgproto3.Describe{ObjectType: 'S'})
	}
	for name, messages := range map[string][]pgproto3.FrontendMessage{
		"a script":   {&pgproto3.Query{String: strings.Repeat("SHOW ALL;", 50) + forever}},
		"a pipeline": describe,
	} {
		c := f.frontend()
		for _, m := range messages {
			c.Send(m)
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Receive(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.conn.Conn.Close()
	}
	f.idle()
}

// TestClientThatDoesNotRead fills the buffers of a connection: its statement
// ends with the write's time.
func TestClientThatDoesNotRead(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) { o.WriteTimeout = 200 * time.Millisecond }).frontend()
	f.Send(&pgproto3.Query{String: "SELECT repeat('x', 1000) FROM range(1000000)"})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the connection is forgotten", func() bool { return f.server.Connections() == 0 })
	f.idle()
}

// serveWriting is a server with a table words that takes writes.
func serveWriting(t *testing.T, change ...func(*pgwire.Options)) *fixture {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	root := t.TempDir()
	for _, sql := range []string{"ATTACH '" + filepath.Join(root, "words.db") + "' AS own", "CREATE TABLE own.main.words(word VARCHAR NOT NULL)"} {
		if err := db.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Lock([]string{root}); err != nil {
		t.Fatal(err)
	}
	words := engine.Relation{Schema: "public", Name: "words"}
	catalog := engine.NewCatalog(engine.Contents{
		Generation: 1, Relations: []engine.Relation{words},
		Targets: map[engine.Relation]engine.Target{words: {Table: "own.main.words"}}, Traits: map[engine.Relation]engine.Traits{words: {Volatile: true}},
	})
	if err := publish(db, catalog, "CREATE VIEW spice.public.words AS SELECT * FROM own.main.words"); err != nil {
		t.Fatal(err)
	}
	return serveDB(t, db, func(o *pgwire.Options) {
		for _, f := range change {
			f(o)
		}
	})
}

func TestWriteTags(t *testing.T) {
	f := serveWriting(t)
	c := f.raw()
	lines, tags, err := f.simple(c, "INSERT INTO words VALUES ('a'), ('b')")
	if err != nil || len(lines) > 0 || !slices.Equal(tags, []string{"INSERT 0 2"}) {
		t.Errorf("got %q %q %v", lines, tags, err)
	}
	r := c.ExecParams(f.context(), "UPDATE words SET word = $1 WHERE word = 'a'", [][]byte{[]byte("c")}, nil, nil, nil).Read()
	if r.Err != nil || r.CommandTag.String() != "UPDATE 1" {
		t.Errorf("got %v, %v", r.CommandTag, r.Err)
	}
	_, tags, err = f.simple(c, "DELETE FROM words WHERE word = 'c'")
	if err != nil || !slices.Equal(tags, []string{"DELETE 1"}) {
		t.Errorf("got %q, %v", tags, err)
	}
}

// TestWritesHaveNoRowLimit: what a statement wrote is no row of it.
func TestWritesHaveNoRowLimit(t *testing.T) {
	f := serveWriting(t).frontend()
	for limit := range uint32(3) {
		got := f.exchange(&pgproto3.Parse{Query: "INSERT INTO words SELECT 'x' FROM range(5)"}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: limit}, &pgproto3.Sync{})
		if got != "ParseComplete BindComplete INSERT 0 5 I" {
			t.Errorf("of %d rows at most: %s", limit, got)
		}
	}
}

// Clients ask for the columns before they send values.
func TestParametersOfNoTypeAreText(t *testing.T) {
	c := serve(t, nil).connect("")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec} {
		var a, b string
		var n int64
		if err := c.QueryRow(context.Background(), "SELECT $1, $2, $3::BIGINT", mode, "x", "y", int64(7)).Scan(&a, &b, &n); err != nil || a != "x" ||
			b != "y" || n != 7 {
			t.Errorf("mode %d: %q %q %d %v", mode, a, b, n, err)
		}
	}
}

// Descriptions that the server requests itself are not statements of the client.
func TestFailedStatementsOfClientsAreAudited(t *testing.T) {
	var log bytes.Buffer
	f := serve(t, func(o *pgwire.Options) {
		db, err := shared()
		if err != nil {
			t.Fatal(err)
		}
		o.Query = query.New(query.Options{DB: db, Audit: audit.New(slog.New(slog.NewTextHandler(&log, nil)))})
	})
	c := f.connect("")
	if _, err := c.Prepare(f.context(), "", "SELECT $1, list_sum($2)"); err != nil || log.Len() > 0 {
		t.Errorf("%v, the audit log has %s", err, &log)
	}
	if _, err := c.Prepare(f.context(), "", "SELECT nosuch"); err == nil || !strings.Contains(log.String(), "kind=statement door=postgres outcome=not_found") {
		t.Errorf("%v, the audit log has %s", err, &log)
	}
}

// TestEmptySelectLists as PostgreSQL allows them.
func TestEmptySelectLists(t *testing.T) {
	f := serve(t, nil)
	c := f.frontend()
	for sql, want := range map[string]string{
		"SELECT FROM one":                                  "RowDescription  SELECT 1 I",
		"SELECT EXISTS (SELECT FROM one)":                  "RowDescription t SELECT 1 I",
		"select exists(select where false) AS e":           "RowDescription f SELECT 1 I",
		"SELECT 1 FROM one WHERE EXISTS (SELECT FROM one)": "RowDescription 1 SELECT 1 I",
	} {
		if got := c.exchange(&pgproto3.Query{String: sql}); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
	got := c.exchange(&pgproto3.Parse{Query: "SELECT FROM numbers WHERE id < 3"}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{}, &pgproto3.Execute{},
		&pgproto3.Sync{})
	if want := "ParseComplete [] RowDescription BindComplete   SELECT 2 I"; got != want {
		t.Errorf("prepared: %q, want %q", got, want)
	}
}

// TestTitles: the names of columns that are one call, CASE or cast are those that
// PostgreSQL 15 answers; where it says ?column?, they are DuckDB's.
func TestTitles(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	for sql, want := range map[string]string{
		"SELECT count(*) FROM numbers": "count",
		"SELECT COUNT(*), sum(id) AS s, max(id) FILTER (id > 3), id + 1 " +
			"FROM numbers GROUP BY ALL": "count s max (id + 1)",
		"SELECT row_number() OVER (ORDER BY id), twice(id) FROM numbers LIMIT 1": "row_number twice",
		"SELECT CASE WHEN true THEN 1 END, EXISTS (FROM " +
			"one), coalesce(NULL, 1)": "case exists coalesce",
		"SELECT *, count(*) OVER () FROM one": "a b count() OVER ()",
		"SELECT count(*) + 1, CAST(1 AS " +
			"INTEGER) FROM one": "(count_star() + 1) int4",
		"SELECT id::text, t.id::int8, (id)::text, CAST(id AS varchar(10)), t.\"id\"::text::int FROM numbers t LIMIT 1": "id id id id id",
		"SELECT '1'::int, CAST(1 AS double precision), 1::numeric(10,2), '[1]'::int[], NULL::text, " +
			"(1 + 1)::bigint": "int4 float8 numeric int4 text int8",
		"SELECT CASE WHEN true THEN 1 ELSE id END, CASE WHEN true THEN 1 ELSE 2 END::text, sum(id) OVER w FROM numbers WINDOW w AS () LIMIT 1": "id text sum",
		"SELECT CASE 1 WHEN 1 THEN CASE WHEN true THEN 'a' ELSE 'b' END ELSE upper('x') END":                                                   "upper",
		"SELECT count(*)::int, sum(id) FILTER (id > 1)::bigint, coalesce(max(id), 1)::text FROM numbers":                                       "count sum coalesce",
		"SELECT ARRAY[1,2], (ARRAY[1,2])[1], DATE '2024-02-29', timestamp with time zone '2024-02-29 00:00:00Z', " +
			"'x'::character varying": "array array date timestamptz varchar",
		"SELECT id::text || 'x', id::text AS a, id::text b, -id FROM " +
			"numbers LIMIT 1": "(CAST(id AS VARCHAR) || 'x') a b -(id)",
		"WITH w AS (SELECT 1 AS n) SELECT count(*), n::text FROM w GROUP BY n": "count n",
		"SELECT extract(year FROM DATE '2024-02-29')":                          "extract",
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			rows, err := c.Query(f.context(), sql, mode)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			rows.Close()
			var names []string
			for _, d := range rows.FieldDescriptions() {
				names = append(names, d.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s: %s, want %s", sql, got, want)
			}
		}
	}
}

// TestParametersThatCannotBeText has functions of lists, which DuckDB describes as if
// their parameter were NULL: what is announced must be what comes.
func TestParametersThatCannotBeText(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range []struct {
		sql           string
		param, column uint32
		value, want   string
	}{
		{"SELECT list_sum($1)", pgtype.Float8ArrayOID, pgtype.Float8OID, "{1,2,3}", "6"},
		{"SELECT list_avg($1) FROM one", pgtype.Float8ArrayOID, pgtype.Float8OID, "{1,2}", "1.5"},
		{"SELECT list_max($1)", pgtype.TextArrayOID, pgtype.TextOID, "{a,c,b}", "c"},
		{"SELECT unnest($1)", pgtype.TextArrayOID, pgtype.TextOID, "{a}", "a"},
		{"SELECT NULL, $1", pgtype.TextOID, pgtype.Int4OID, "x", "∅|x"},
		{"SELECT list_sum($1::INTEGER[])", pgtype.Int4ArrayOID, pgtype.NumericOID, "{1,2}", "3"},
	} {
		d, err := c.Prepare(f.context(), "", tt.sql, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		if d.ParamOIDs[0] != tt.param || d.Fields[0].DataTypeOID != tt.column {
			t.Errorf("%s: parameter %d, column %d; want %d, %d", tt.sql, d.ParamOIDs[0], d.Fields[0].DataTypeOID, tt.param, tt.column)
		}
		r := c.ExecPrepared(f.context(), "", [][]byte{[]byte(tt.value)}, nil, nil).Read()
		if r.Err != nil || string(joined(r.Rows[0])) != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.sql, r.Rows, r.Err, tt.want)
		}
	}
}
