package postgres

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proxied returns a proxy that serves a real server under the id test.
func proxied(t *testing.T, connections int) (*proxy, *server, *pgtest.Server) {
	t.Helper()
	real := pgtest.Start(t)
	p, err := newProxy(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	config, err := pgconn.ParseConfig(fmt.Sprintf(`host=127.0.0.1 port=%d user=%s dbname=test password='%s' sslmode=require`, real.Port, pgtest.Reader,
		strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(pgtest.Password)))
	if err != nil {
		t.Fatal(err)
	}
	s, held, err := p.Register("test", func() (*server, error) { return newServer(config, connections) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resource.Release(held) })
	return p, s, real
}

func connect(t *testing.T, p *proxy, id string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.dsn(id)[:strings.Index(p.dsn(id), " gssencmode")])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConnectionsAreReused ends clients in every state. The next one gets a connection as
// new, which is an earlier one unless a client left it in the middle.
func TestConnectionsAreReused(t *testing.T) {
	p, _, real := proxied(t, 4)
	processes := map[uint32]bool{}
	ctx := context.Background()
	for name, use := range map[string]func(c *pgx.Conn) error{
		"nothing": func(*pgx.Conn) error { return nil },
		"in a transaction": func(c *pgx.Conn) error {
			_, err := c.Exec(ctx, "BEGIN; CREATE TEMP TABLE t (x int)")
			return err
		},
		"after a failure in a transaction": func(c *pgx.Conn) error {
			_, err := c.Exec(ctx, "BEGIN; SELECT 1/0")
			if err == nil {
				return io.ErrUnexpectedEOF
			}
			return nil
		},
		"with settings": func(c *pgx.Conn) error {
			_, err := c.Exec(ctx, "SET statement_timeout = '1ms'; SET search_path = nowhere")
			return err
		},
		"after a COPY": func(c *pgx.Conn) error {
			_, err := c.PgConn().CopyTo(ctx, io.Discard, "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 10000)) TO STDOUT (FORMAT binary)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, p, "test")
			if err := use(c); err != nil {
				t.Error(err)
			}
			c.Close(ctx)
			next := connect(t, p, "test")
			defer next.Close(ctx)
			var path, limit, temporary string
			if err := next.QueryRow(ctx, "SELECT current_setting('search_path'), current_setting('statement_timeout'), coalesce(to_regclass('t')::text, '')").Scan(&path,
				&limit, &temporary); err != nil {
				t.Fatal(err)
			}
			if path != `"$user", public` || limit != "0" || temporary != "" {
				t.Errorf("the next client has search_path %s, statement_timeout %s, table %q", path, limit, temporary)
			}
			var process uint32
			if err := next.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&process); err != nil {
				t.Fatal(err)
			}
			processes[process] = true
		})
	}
	if len(processes) > 4 {
		t.Errorf("the server had %d connections", len(processes))
	}
	t.Run("in the middle of a statement", func(t *testing.T) {
		c := connect(t, p, "test")
		if err := c.PgConn().Conn().(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.Close(ctx)
		c = connect(t, p, "test")
		c.PgConn().Frontend().SendQuery(&pgproto3.Query{String: "SELECT pg_sleep(600)"})
		if err := c.PgConn().Frontend().Flush(); err != nil {
			t.Fatal(err)
		}
		const sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)' AND state = 'active'"
		for real.Value(sleeping) == "0" {
		}
		c.PgConn().Conn().Close()
		for real.Value(sleeping) != "0" { // it was cancelled
		}
	})
}

// slowConn is a connection whose writes return late while slow is set, so that pgx reads the
// answer in the background, as it does on a busy machine.
type slowConn struct {
	net.Conn
	slow *atomic.Bool
}

func (c slowConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.slow.Load() {
		<-time.After(50 * time.Millisecond)
	}
	return n, err
}

// TestSlowWrites uses a connection again that pgx may still read: the client must get all
// that the server sends.
func TestSlowWrites(t *testing.T) {
	p, s, _ := proxied(t, 1)
	var slow atomic.Bool
	s.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return slowConn{c, &slow}, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 3 {
		c := connect(t, p, "test")
		var one int
		if err := c.QueryRow(ctx, "SELECT 1").Scan(&one); err != nil {
			t.Fatal(err)
		}
		slow.Store(true)
		c.Close(ctx)
		wait.Until(t, "the connection is reset", func() bool { return s.Stat().IdleResources() == 1 })
		slow.Store(false)
	}
}

// TestAllConnectionsInUse holds every connection: the next client gets an error.
func TestAllConnectionsInUse(t *testing.T) {
	_, s, _ := proxied(t, 4)
	for range 4 {
		r, err := s.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Acquire(ctx); err == nil || !strings.Contains(err.Error(), "all 4 connections to 127.0.0.1") {
		t.Errorf("got %v", err)
	}
}

// TestTheProxyRefusesStrangers connects to the socket without what DuckDB knows.
func TestTheProxyRefusesStrangers(t *testing.T) {
	p, _, _ := proxied(t, 4)
	for _, c := range []struct{ dsn, want string }{
		{fmt.Sprintf("host=%s user=test password=guess sslmode=disable", p.Folder), "the password is wrong"},
		{fmt.Sprintf("host=%s user=test password='' sslmode=disable", p.Folder), "the password is wrong"},
		{fmt.Sprintf("host=%s user=other password=%s sslmode=disable", p.Folder, p.Password), "the dataset is no longer served"},
	} {
		conn, err := pgx.Connect(t.Context(), c.dsn)
		if err == nil {
			conn.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.dsn, err)
		}
	}
	for _, bytes := range []string{"", "\x00", "\x00\x00\x00\x08\x04\xd2\x16\x2e", "\xff\xff\xff\xff", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("unix", p.Socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, bytes)
		conn.(*net.UnixConn).CloseWrite()
		io.Copy(io.Discard, conn)
		conn.Close()
	}
}

// FuzzFrames splits a stream of messages at any place: each ReadyForQuery is counted once.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("C\x00\x00\x00\x05xZ\x00\x00\x00\x05I"), uint8(1))
	f.Add([]byte("Z\x00\x00\x00\x05ZZ\x00\x00\x00\x05TD\x00"), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		var whole, parts frames
		want := whole.scan(bytes.Clone(stream))
		got := 0
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+int(step))
			got += parts.scan(rest[:n])
			rest = rest[n:]
		}
		if got != want || parts.within() != whole.within() {
			t.Errorf("%q: in parts of %d: %d and %v, want %d and %v", stream, 1+int(step), got, parts.within(), want, whole.within())
		}
	})
}

// TestServersThatDoNotSpeak connects to what refuses TLS, or says nothing.
func TestServersThatDoNotSpeak(t *testing.T) {
	for _, c := range []struct{ name, says, message, hint string }{
		{"no TLS", "N", "has no TLS", "pg_sslmode: disable"},
		{"silence", "", "does not answer", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					io.ReadFull(conn, make([]byte, 8))
					io.WriteString(conn, c.says)
					io.Copy(io.Discard, conn)
					conn.Close()
				}
			}()
			config, err := pgconn.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=u sslmode=require", l.Addr().(*net.TCPAddr).Port))
			if err != nil {
				t.Fatal(err)
			}
			config.ConnectTimeout = 200 * time.Millisecond
			s, err := newServer(config, 4)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { s.Close(); l.Close(); <-done }()
			_, err = s.Acquire(t.Context())
			if f := s.fault(err); err == nil || !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) {
				t.Errorf("got %v; want %s; %s", err, c.message, c.hint)
			}
		})
	}
}
