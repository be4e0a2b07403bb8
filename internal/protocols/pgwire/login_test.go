package pgwire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func connectTo(ctx context.Context, dsn string) (*pgx.Conn, error) { return pgx.Connect(ctx, dsn) }

func (f *fixture) tlsDSN(mode string) string {
	return "postgres://ann@" + f.addr + "/db?" + mode
}

func (f *fixture) one(dsn string) error {
	f.Helper()
	c, err := connectTo(f.context(), dsn)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	var n int
	return c.QueryRow(f.context(), "SELECT count(*) FROM numbers").Scan(&n)
}

func TestTLS(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) {
		o.TLS, o.RequireTLS = &tls.Config{Certificates: []tls.Certificate{selfsigned.Certificate(t)}}, true
	})
	for _, mode := range []string{"sslmode=require", "sslmode=require&sslnegotiation=direct"} {
		if err := f.one(f.tlsDSN(mode)); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	wantState(t, f.one(f.tlsDSN("sslmode=disable")), "28000", "sslmode=require")
}

// TestStatementsOverTLS has the watch for the client's leaving run over TLS.
func TestStatementsOverTLS(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{selfsigned.Certificate(t)}}
	})
	c, err := connectTo(f.context(), f.tlsDSN("sslmode=require"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for range 2 {
		_, err = c.Exec(f.context(), "SET statement_timeout = 60; "+forever, pgx.QueryExecModeSimpleProtocol)
		wantState(t, err, "57014", "")
	}
	var n int
	if err := c.QueryRow(f.context(), "SELECT 5").Scan(&n); err != nil || n != 5 {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestNoTLS(t *testing.T) {
	f := serve(t, nil)
	if err := f.one(f.tlsDSN("sslmode=prefer")); err != nil {
		t.Error(err)
	}
	if err := f.one(f.tlsDSN("sslmode=require")); err == nil || !strings.Contains(err.Error(), "refused TLS") {
		t.Errorf("got %v", err)
	}
}

const (
	goodKey = "a-key-that-is-long-enough-1"
	writing = "a-key-that-is-long-enough-2"
)

func keyring(t testing.TB) *auth.Keyring { return limitedKeys(t, "{}") }

// limitedKeys are keys whose holders have the limits.
func limitedKeys(t testing.TB, limits string) *auth.Keyring {
	t.Helper()
	keys, problems := auth.NewKeyring(podtest.Load(t, "runtime:\n  auth:\n    api-key:\n      keys: ["+goodKey+`, "`+writing+":rw\"]\n      limits: "+
		limits+"\n"), nil)
	if len(problems) > 0 || !keys.Enabled() {
		t.Fatal(problems)
	}
	return keys
}

func TestSCRAM(t *testing.T) {
	keys, log := keyring(t), &bytes.Buffer{}
	f := serve(t, func(o *pgwire.Options) {
		o.Keys, o.TLS = func() *auth.Keyring { return keys }, &tls.Config{Certificates: []tls.Certificate{selfsigned.Certificate(t)}}
		o.Audit = audit.New(slog.New(slog.NewTextHandler(log, nil)))
	})
	for _, mode := range []string{"sslmode=disable", "sslmode=require", "sslmode=require&channel_binding=require", "sslmode=disable&user=someone"} {
		if err := f.one(f.tlsDSN(mode) + "&password=" + goodKey); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	wantState(t, f.one(f.tlsDSN("sslmode=disable&password=wrong")), "28P01", `user "ann"`)
	f.server.Close()
	if !strings.Contains(log.String(), "kind=login") || !strings.Contains(log.String(), "user=ann") || strings.Contains(log.String(), "wrong") {
		t.Errorf("the audit log is %q", log)
	}
}

// TestRevokedKey has a reload take the key of sessions that are in the midst of
// something: their next statement ends them, with one error.
func TestRevokedKey(t *testing.T) {
	var keys atomic.Pointer[auth.Keyring]
	keys.Store(&auth.Keyring{})
	f := serve(t, func(o *pgwire.Options) { o.Keys = keys.Load })
	type messages = []pgproto3.FrontendMessage
	query := func(sql string) messages { return messages{&pgproto3.Query{String: sql}} }
	begin, sync := messages{&pgproto3.Parse{Query: "BEGIN"}, &pgproto3.Bind{}, &pgproto3.Execute{}}, &pgproto3.Sync{}
	tests := []struct {
		before, after messages
		want          string
	}{
		{query("SELECT 1"), query("SELECT 1"), "28P01 end"},
		{query("SELECT 1"), query("SHOW lc_ctype; SELECT 1; SELECT 2"), "RowDescription 28P01 end"},
		{query("BEGIN"), query("DECLARE c CURSOR FOR SELECT 'new'"), "28P01 end"},
		{query("BEGIN; DECLARE c CURSOR FOR FROM numbers; FETCH c"), query("FETCH c"), "RowDescription 28P01 end"},
		{query("SELECT 1"), messages{&pgproto3.Parse{Query: "SELECT 'new'"}, sync}, "28P01 end"},
		{
			messages{&pgproto3.Parse{Name: "s", Query: "SELECT 1"}, sync},
			messages{&pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{}, sync},
			"BindComplete 28P01 end",
		},
		{
			append(begin, &pgproto3.Parse{Query: "FROM numbers"}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 1}, sync),
			messages{&pgproto3.Execute{MaxRows: 1}, sync},
			"28P01 end",
		},
	}
	clients := make([]*frontend, len(tests))
	for i, tt := range tests {
		clients[i] = f.frontend()
		clients[i].exchange(tt.before...)
	}
	keys.Store(keyring(t))
	for i, tt := range tests {
		if got := clients[i].exchange(tt.after...); got != tt.want {
			t.Errorf("%d: %s; want %s", i, got, tt.want)
		}
	}
	f.idle()
}

func TestCleartext(t *testing.T) {
	keys := keyring(t)
	f := serve(t, func(o *pgwire.Options) { o.Keys, o.Cleartext = func() *auth.Keyring { return keys }, true })
	if err := f.one(f.tlsDSN("sslmode=disable&require_auth=password&password=" + writing)); err != nil {
		t.Error(err)
	}
	wantState(t, f.one(f.tlsDSN("sslmode=disable&password=wrong")), "28P01", "")
}

// first sends bytes as a client's first ones and returns what comes back.
func (f *fixture) first(sent []byte) []byte {
	f.Helper()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(wait.Limit)); err != nil {
		f.Fatal(err)
	}
	if _, err := nc.Write(sent); err != nil {
		f.Fatal(err)
	}
	_ = nc.(*net.TCPConn).CloseWrite()
	got, err := io.ReadAll(nc)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // for what the server left unread
		f.Fatal(err)
	}
	return got
}

// packet is a first packet with a version and pairs of parameters.
func packet(version uint32, pairs ...string) []byte {
	body := binary.BigEndian.AppendUint32(nil, version)
	for _, p := range pairs {
		body = append(append(body, p...), 0)
	}
	if len(pairs) > 0 {
		body = append(body, 0)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
}

func TestFirstPackets(t *testing.T) {
	f := serve(t, nil)
	ssl, gss := packet(80877103), packet(80877104)
	for name, tt := range map[string]struct {
		sent   []byte
		want   string // in what comes back
		unread bool   // the server does not read all, so that its answer may get lost
	}{
		"3.0":                  {packet(3<<16, "user", "ann"), "R\x00\x00\x00\x08\x00\x00\x00\x00", false},
		"after TLS and GSS":    {append(append(ssl, gss...), packet(3<<16, "user", "ann")...), "NNR\x00\x00\x00\x08", false},
		"TLS without end":      {bytes.Repeat(ssl, 9), "08P01", true},
		"3.2":                  {packet(3<<16|2, "user", "ann"), "K\x00\x00\x00\x28", false},
		"a later version":      {packet(3<<16|9999, "user", "ann"), "v\x00\x00\x00\x0c\x00\x03\x00\x02\x00\x00\x00\x00R", false},
		"an unknown option":    {packet(3<<16, "user", "ann", "_pq_.x", "1"), "v\x00\x00\x00\x13\x00\x03\x00\x00\x00\x00\x00\x01_pq_.x\x00", false},
		"version 2":            {packet(2<<16, "user", "ann"), "version 2.0", false},
		"version 4":            {packet(4<<16, "user", "ann"), "version 4.0", false},
		"no user":              {packet(3<<16, "database", "x"), "names no user", false},
		"no end":               {packet(3 << 16)[:8], "no end", false},
		"HTTP":                 {[]byte("GET / HTTP/1.1\r\n\r\n"), "not PostgreSQL's protocol", true},
		"too long":             {binary.BigEndian.AppendUint32(nil, 1<<20), "not PostgreSQL's protocol", true},
		"cancel of a stranger": {append([]byte{0, 0, 0, 16}, packet(80877102)[4:]...), "", false},
		"nothing":              {nil, "", false},
	} {
		if got := string(f.first(tt.sent)); tt.unread && got == "" {
			continue
		} else if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	wait.Until(t, "no connection is left", func() bool { return f.server.Connections() == 0 })
}

// TestShutdownDuringHandshake has a client ask for TLS and say no more.
func TestShutdownDuringHandshake(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) {
		o.TLS, o.AuthTimeout = &tls.Config{Certificates: []tls.Certificate{selfsigned.Certificate(t)}}, time.Hour
	})
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	answer := make([]byte, 1)
	if _, err := nc.Write(packet(80877103)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(nc, answer); err != nil || answer[0] != 'S' {
		t.Fatalf("got %q, %v", answer, err)
	}
	if err := f.server.Shutdown(f.context()); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(nc); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAuthTimeout(t *testing.T) {
	f := serve(t, func(o *pgwire.Options) { o.AuthTimeout = 50 * time.Millisecond })
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	got, err := io.ReadAll(nc)
	if err != nil || !strings.Contains(string(got), "57014") || !strings.Contains(string(got), "the login took too long") {
		t.Errorf("got %q, %v", got, err)
	}
}
