package pgwire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestTransactions(t *testing.T) {
	f := serve(t, nil).frontend()
	for _, tt := range [][2]string{
		{"BEGIN", "BEGIN T"},
		{"BEGIN", "notice:25001 BEGIN T"},
		{"SAVEPOINT a; SAVEPOINT b", "SAVEPOINT SAVEPOINT T"},
		{"SAVEPOINT " + strings.Repeat("x", 64), "42622 E"},
		{"ROLLBACK TO b", "ROLLBACK T"},
		{"SELECT nosuch", "42703 E"},
		{"SELECT 1", "25P02 E"},
		{"SET extra_float_digits = 3", "25P02 E"},
		{"SAVEPOINT c", "25P02 E"},
		{"ROLLBACK TO a", "ROLLBACK T"},
		{"ROLLBACK TO SAVEPOINT b", "3B001 E"},
		{"ROLLBACK TO SAVEPOINT a; RELEASE a", "ROLLBACK RELEASE T"},
		{"SELECT 1", "RowDescription 1 SELECT 1 T"},
		{"COMMIT WORK", "COMMIT I"},
		{"END", "notice:25P01 COMMIT I"},
		{"ABORT", "notice:25P01 ROLLBACK I"},
		{
			"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE; SHOW TRANSACTION ISOLATION LEVEL; BEGIN; SHOW transaction_isolation; COMMIT; " +
				"BEGIN ISOLATION LEVEL READ UNCOMMITTED; SHOW transaction_isolation; COMMIT; SHOW transaction_isolation; RESET default_transaction_isolation; " +
				"SHOW transaction_isolation",
			"SET RowDescription serializable SHOW BEGIN RowDescription serializable SHOW COMMIT BEGIN RowDescription read uncommitted SHOW COMMIT " +
				"RowDescription serializable SHOW RESET RowDescription read committed SHOW I",
		},
		{
			"START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SHOW transaction_isolation; END; SHOW TRANSACTION ISOLATION LEVEL",
			"START TRANSACTION RowDescription repeatable read SHOW COMMIT RowDescription read committed SHOW I",
		},
		{"BEGIN; SELECT nosuch", "BEGIN 42703 E"},
		{"COMMIT", "ROLLBACK I"},
		{"SAVEPOINT a", "25P01 I"},
		{"COMMIT AND CHAIN", "0A000 I"},
	} {
		if got := f.exchange(&pgproto3.Query{String: tt[0]}); got != tt[1] {
			t.Errorf("%s: %s; want %s", tt[0], got, tt[1])
		}
	}
}

func TestSettings(t *testing.T) {
	f := serve(t, nil).frontend()
	for _, tt := range [][2]string{
		{"SET extra_float_digits TO 3; SHOW extra_float_digits", "SET RowDescription 3 SHOW I"},
		{"SET application_name = 'Metabase''s'; SHOW application_name", "SET ParameterStatus RowDescription Metabase's SHOW I"},
		{"SET SESSION search_path TO public, \"$user\"; SHOW search_path", `SET ParameterStatus RowDescription public, "$user" SHOW I`},
		{"SET search_path = nosuch", "3F000 I"},
		{"SELECT set_config('search_path', 'nosuch', false)", "RowDescription 3F000 I"},
		{"SELECT pg_catalog.set_config('search_path', '', false); SHOW search_path", `ParameterStatus RowDescription  SELECT RowDescription  SHOW I`},
		{"SELECT set_config('statement_timeout', '1min', true) AS t; SHOW statement_timeout", "RowDescription 1min SELECT RowDescription 0 SHOW I"},
		{"SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE", "SET ParameterStatus I"},
		{"SET TIME ZONE 'Europe/Berlin'", "notice:01000 ParameterStatus SET I"},
		{"SET TimeZone = UTC", "ParameterStatus SET I"},
		{"SET NAMES 'utf-8'", "SET I"},
		{"SET NAMES 'SQL_ASCII'", "ParameterStatus SET I"},
		{"SET statement_timeout = '2min'; SHOW statement_timeout", "SET RowDescription 120000ms SHOW I"},
		{"SET statement_timeout = -1", "22023 I"},
		{"SET statement_timeout = '25d'", "22023 I"},
		{"SET statement_timeout = '200000d'", "22023 I"},
		{"SET statement_timeout = '24d'; SHOW statement_timeout", "SET RowDescription 2073600000ms SHOW I"},
		{"SET DateStyle TO ISO, DMY; SHOW DateStyle", "ParameterStatus SET RowDescription ISO, DMY SHOW I"},
		{"SET standard_conforming_strings = off", "0A000 I"},
		{"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "SET I"},
		{
			"BEGIN; SET LOCAL lock_timeout = '1s'; SHOW lock_timeout; COMMIT; SHOW lock_timeout",
			"BEGIN SET RowDescription 1s SHOW COMMIT RowDescription  SHOW I",
		},
		{"BEGIN; SET work_mem = '1MB'; ROLLBACK; SHOW work_mem", "BEGIN SET ROLLBACK RowDescription  SHOW I"},
		{"SET LOCAL work_mem = 1", "notice:25P01 SET I"},
		{"SET my.own = 'x'; SHOW my.own", "SET RowDescription x SHOW I"},
		{"SHOW my.other", "RowDescription 42704 I"},
		{"SHOW nosuch", "42704 I"},
		{"SHOW \"no such\"", "42704 I"},
		{
			"RESET my.own; RESET ALL; SHOW server_version_num",
			"RESET ParameterStatus ParameterStatus ParameterStatus ParameterStatus RESET RowDescription 160000 SHOW I",
		},
		{"SET ROLE NONE; SET ROLE postgres", "SET 0A000 I"},
		{"DISCARD PLANS", "DISCARD PLANS I"},
		{"DEALLOCATE nosuch", "26000 I"},
		{"DEALLOCATE ALL", "DEALLOCATE ALL I"},
		{"LISTEN a; UNLISTEN *", "LISTEN UNLISTEN I"},
		{"SET work_mem = '" + strings.Repeat("x", 2000) + "'", "54000 I"},
		{"SET a." + strings.Repeat("x", 61) + " = 1", "SET I"},
		{"SET a." + strings.Repeat("x", 62) + " = 1", "42622 I"},
		{"BEGIN; SET LOCAL my.own = 'x'; RESET my.own; COMMIT; SHOW my.own", "BEGIN SET RESET COMMIT RowDescription 42704 I"},
		{
			"SET my.own = 'x'; BEGIN; SET LOCAL my.own TO DEFAULT; COMMIT; SHOW my.own",
			"SET BEGIN SET COMMIT RowDescription x SHOW I",
		},
	} {
		got := f.exchange(&pgproto3.Query{String: tt[0]})
		if sortedWords(got) != sortedWords(tt[1]) {
			t.Errorf("%s: %s; want %s", tt[0], got, tt[1])
		}
	}
}

// TestSettingsOfTransactions has the client know what a setting is after the
// block in which it was set.
func TestSettingsOfTransactions(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range [][2]string{
		{"SET application_name = 'a'", "a"},
		{"BEGIN; SET application_name = 'b'", "b"},
		{"ROLLBACK", "a"},
		{"BEGIN; SET LOCAL application_name = 'c'", "c"},
		{"COMMIT", "a"},
		{"BEGIN; SET application_name = 'd'; SELECT nosuch", "d"},
		{"COMMIT", "a"},
		{"BEGIN; SET application_name = 'e'", "e"},
		{"COMMIT", "e"},
		{"DISCARD ALL", ""},
	} {
		_, _, err := f.simple(c, tt[0])
		if got := c.ParameterStatus("application_name"); got != tt[1] {
			t.Errorf("after %s (%v): %q, want %q", tt[0], err, got, tt[1])
		}
	}
}

// sortedWords makes the order of messages of one statement not matter.
func sortedWords(s string) string {
	words := strings.Fields(s)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestDiscardAll(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	if _, err := c.Prepare(f.context(), "s", "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(f.context(), "DISCARD ALL"); err != nil {
		t.Fatal(err)
	}
	r := c.PgConn().ExecPrepared(f.context(), "s", nil, nil, nil).Read()
	wantState(t, r.Err, "26000", `"s"`)
}

func TestStartupParameters(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("&application_name=test&TimeZone=Europe%2FBerlin&DateStyle=ISO&extra_float_digits=3&unknown_thing=1").PgConn()
	for name, want := range map[string]string{
		"server_version": "16.0 (spiced test)", "server_encoding": "UTF8", "client_encoding": "UTF8", "DateStyle": "ISO, MDY",
		"TimeZone": "Europe/Berlin", "integer_datetimes": "on", "standard_conforming_strings": "on", "IntervalStyle": "postgres",
		"is_superuser": "off", "in_hot_standby": "off", "default_transaction_read_only": "off",
		"session_authorization": "ann", "application_name": "test",
	} {
		if got := c.ParameterStatus(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, encoding := range []string{"utf-8", "'utf-8'", "Unicode"} {
		if got := f.connect("&client_encoding=" + url.QueryEscape(encoding)).PgConn().ParameterStatus("client_encoding"); got != "UTF8" {
			t.Errorf("client_encoding %s is %q", encoding, got)
		}
	}
	for params, state := range map[string]string{"&client_encoding=LATIN1": "22023", "&replication=database": "0A000", "&DateStyle=German": "22023"} {
		wantState(t, f.refused(params), state, "")
	}
}

// refused is the error of a client that connects with these parameters.
func (f *fixture) refused(params string) error {
	f.Helper()
	c, err := connectTo(f.context(), f.dsn(params))
	if err == nil {
		c.Close(context.Background())
	}
	return err
}

func TestPsql(t *testing.T) {
	psql := clients.Installed(t, "PSQL", "psql", "postgresql-client")
	f := serve(t, nil)
	cmd := exec.CommandContext(f.context(), psql, "-X", "-A", "-t", "-v", "ON_ERROR_STOP=0", f.dsn(""))
	cmd.Stdin = strings.NewReader("SELECT twice(21), NULL, 'x';\n\\set FETCH_COUNT 3\nSELECT id FROM numbers ORDER BY id LIMIT 4;\n\\unset FETCH_COUNT\nSELECT " +
		"nösuch\n  ;\nSELECT $1::INTEGER + 1 \\bind 41 \\g\n\\echo :SERVER_VERSION_NAME\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"42||x\n1\n2\n3\n4\n", `"nösuch"`, "LINE 1: SELECT nösuch\n               ^", "16.0 (spiced test)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestShutdown(t *testing.T) {
	var service *query.Service
	f := serve(t, func(o *pgwire.Options) { service = o.Query })
	quiet, busy := f.frontend(), f.frontend()
	busy.Send(&pgproto3.Query{String: forever})
	if err := busy.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running == 1 })
	ended := make(chan error, 1)
	go func() { ended <- f.server.Shutdown(f.context()) }()
	if got := quiet.answers(); got != "57P01 end" {
		t.Errorf("the idle client: %s", got)
	}
	wait.Until(t, "the statement can be cancelled", func() bool { // the server takes no cancel request any more
		owner := caller.Caller{UserID: "ann"}.Owner()
		active := service.Activity().List(owner)
		return len(active) == 1 && service.Activity().Cancel(owner, active[0].ID)
	})
	if got := busy.answers(); got != "57014 I" {
		t.Errorf("the busy client: %s", got)
	}
	if got := busy.answers(); got != "57P01 end" {
		t.Errorf("the busy client after its statement: %s", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if f.refused("") == nil {
		t.Error("a client could connect after Shutdown")
	}
}

func TestShutdownHasAnEnd(t *testing.T) {
	f := serve(t, nil)
	c := f.frontend()
	c.Send(&pgproto3.Query{String: forever})
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := f.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	f.idle()
}

func TestTooManyConnections(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) {
		o.Connections, o.AuthTimeout = listen.Limits{Connections: 2, PerCaller: 2, Pending: 4, Settings: "runtime.postgres"}, time.Hour
	})
	a := f.connect("")
	f.connect("")
	wantState(t, f.refused(""), "53300", "2 connections already, the limit of runtime.postgres.max_connections")
	f.silent(2)
	if err := a.PgConn().CancelRequest(f.context()); err != nil { // goes through
		t.Error(err)
	}
	a.Close(context.Background())
	wait.Until(t, "there is room", func() bool { return f.refused("") == nil })
}

// TestPendingConnections has clients stop before they have logged in: the newest
// clients log in nevertheless.
func TestPendingConnections(t *testing.T) {
	keys := limitedKeys(t, "{max_concurrent: 1}")
	f := serve(t, func(o *pgwire.Options) {
		o.TLS, o.Keys = &tls.Config{Certificates: []tls.Certificate{selfsigned.Certificate(t)}}, func() *auth.Keyring { return keys }
		o.Connections, o.AuthTimeout = listen.Limits{Connections: 8, PerCaller: 3, Pending: 16}, time.Hour
	})
	startup := packet(3<<16, "user", "ann")
	for _, sent := range [][]byte{nil, startup[:5], startup, packet(80877103), {0x16, 3, 1, 2, 0, 1}} {
		for range 50 {
			nc, err := net.Dial("tcp", f.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if _, err := nc.Write(sent); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.one(f.tlsDSN("sslmode=require&password=" + goodKey)); err != nil {
			t.Errorf("after %q: %v", sent, err)
		}
	}
	if n := f.server.Connections(); n > 16 {
		t.Errorf("%d connections", n)
	}
	for range 3 {
		wait.Until(t, "the server has seen the ends of the connections above", func() bool {
			c, err := connectTo(f.context(), f.tlsDSN("sslmode=require&password="+goodKey))
			if err == nil {
				t.Cleanup(func() { c.Close(context.Background()) })
			}
			return err == nil
		})
	}
	wantState(t, f.one(f.tlsDSN("sslmode=require&password="+goodKey)), "53300", `principal "key-1" has 3 connections already`)
	if err := f.one(f.tlsDSN("sslmode=require&password=" + writing)); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// silent connects, in addition to those who are, and sends nothing.
func (f *fixture) silent(connected int) {
	f.Helper()
	wait.Until(f, "the refused are gone", func() bool { return f.server.Connections() == connected })
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { nc.Close() })
	wait.Until(f, "it is connected", func() bool { return f.server.Connections() == connected+1 })
}

func TestIdleTimeout(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) { o.IdleTimeout = 100 * time.Millisecond }).frontend()
	if got := f.answers(); got != "57P05 end" {
		t.Errorf("got %s", got)
	}
}

// TestPanic has an internal fault end one connection and no other.
func TestPanic(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) {
		o.Rewrite = func(sql string, _ pgcatalog.Session) (string, bool) {
			if strings.Contains(sql, "fault") {
				var none *pgwire.Server
				none.Connections()
			}
			return sql, false
		}
	})
	bad, good := f.frontend(), f.frontend()
	if got := bad.exchange(&pgproto3.Query{String: "SELECT 'fault'"}); got != "XX000 end" {
		t.Errorf("got %s", got)
	}
	if got := good.exchange(&pgproto3.Query{String: "SELECT 1"}); got != "RowDescription 1 SELECT 1 I" {
		t.Errorf("got %s", got)
	}
}
