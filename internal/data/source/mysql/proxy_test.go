package mysql

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTestProxy(t *testing.T) *Proxy {
	t.Helper()
	p, err := NewProxy(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// proxied returns a proxy that serves a table of a real server, and the relation of it.
func proxied(t *testing.T, connections int) (*Proxy, *server, *relation, *mysqltest.Server) {
	t.Helper()
	real := mysqltest.Start(t)
	real.Exec("CREATE TABLE t AS SELECT seq AS x FROM seq_1_to_100000", "GRANT SELECT ON test.* TO reader")
	p := newTestProxy(t)
	s, held, err := p.Register("test", func() (*server, error) {
		return newServer("test",
			&config{host: "127.0.0.1", port: real.Port, database: "test", user: mysqltest.Reader, password: mysqltest.Password, mode: sslRequired}, connections)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resource.Release(held) })
	table, err := s.find(t.Context(), "test", "T", false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.relate(s, table)
	if err != nil {
		t.Fatal(err)
	}
	return p, s, r, real
}

// client connects to the proxy as DuckDB does.
func client(t *testing.T, p *Proxy) *connection {
	t.Helper()
	c, err := connect(t.Context(), &config{host: p.Socket, user: "duckdb", password: p.Password, mode: sslDisabled})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// run prepares and executes a statement, and returns the number of packets of the answer.
func (c *connection) run(sql string) (packets int, err error) {
	if err := c.command(append([]byte{commandPrepare}, sql...)); err != nil {
		return 0, err
	}
	p, err := c.read()
	if err != nil || p[0] == kindError {
		return 0, errors.Join(err, parseError(p))
	}
	number := p[1:5]
	for ended := p[5] == 0; !ended; ended = isEOF(p) {
		if p, err = c.read(); err != nil {
			return 0, err
		}
	}
	if err := c.command(append(append([]byte{commandExecute}, number...), 0, 1, 0, 0, 0)); err != nil {
		return 0, err
	}
	for ends := 0; ends < 2; packets++ {
		switch p, err = c.read(); {
		case err != nil:
			return 0, err
		case p[0] == kindError:
			return 0, parseError(p)
		case isEOF(p):
			ends++
		}
	}
	return packets, nil
}

// TestConnectionsAreReused runs statements in sessions that end in every state. The next
// session gets a connection as new, which is an earlier one unless it was left in the middle.
func TestConnectionsAreReused(t *testing.T) {
	p, s, r, real := proxied(t, 4)
	sql := "SELECT `x` FROM " + identifier(r.name) + ".`t` WHERE `x` > "
	for name, use := range map[string]func(c *connection) error{
		"nothing": func(*connection) error { return nil },
		"a statement in a transaction": func(c *connection) error {
			_, err := c.run(sql + "99998")
			return errors.Join(c.do(commandQuery, "START TRANSACTION READ ONLY"), err)
		},
		"an error": func(c *connection) error {
			if _, err := c.run(sql + "`y`"); err == nil || !strings.Contains(err.Error(), "Unknown column 'y'") {
				return fmt.Errorf("got %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, p)
			if err := use(c); err != nil {
				t.Error(err)
			}
			if err := c.command([]byte{commandQuit}); err != nil {
				t.Error(err)
			}
			if n, err := client(t, p).run(sql + "99990"); n != 10+4 || err != nil {
				t.Errorf("got %d packets, %v", n, err)
			}
		})
	}
	if n := s.Stat().TotalResources(); n > 3 {
		t.Errorf("the server has %d connections", n)
	}
	const running = "SELECT count(*) FROM information_schema.PROCESSLIST WHERE USER = 'reader' AND STATE <> '' AND INFO LIKE '%SLEEP(x)%'"
	for name, end := range map[string]func(c *connection){
		"disconnected": func(c *connection) { c.Close() },
		"killed":       func(c *connection) { client(t, p).do(commandQuery, "KILL QUERY "+utoa(c.thread)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, p)
			done := make(chan error)
			go func() {
				_, err := c.run("SELECT SLEEP(x) FROM " + identifier(r.name) + ".`t` WHERE `x` > 1000")
				done <- err
			}()
			wait.Until(t, "the server runs the statement", func() bool { return real.Value(running) != "0" })
			end(c)
			if err := <-done; err == nil {
				t.Error("no error")
			}
			wait.Until(t, "the server has ended it", func() bool { return real.Value(running) == "0" })
		})
	}
}

// TestAllConnectionsInUse holds every connection: the next statement gets an error.
func TestAllConnectionsInUse(t *testing.T) {
	_, s, _, _ := proxied(t, 2)
	for range 2 {
		r, err := s.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Acquire(ctx); err == nil || !strings.Contains(err.Error(), "all 2 connections to 127.0.0.1") {
		t.Errorf("got %v", err)
	}
}

// TestRelationsAreBounded opens as many tables as DuckDB may know.
func TestRelationsAreBounded(t *testing.T) {
	p := newTestProxy(t)
	s := &server{id: "test"}
	for i := range maxRelations {
		if _, err := p.relate(s, &table{schema: "test", name: fmt.Sprint(i)}); err != nil {
			t.Fatalf("table %d: %v", i, err)
		}
	}
	if _, err := p.relate(s, &table{schema: "test", name: "7"}); err != nil {
		t.Errorf("a table that DuckDB knows: got %v", err)
	}
	_, err := p.relate(s, &table{schema: "test", name: "one more"})
	var f *fault.Fault
	if !errors.As(err, &f) || !strings.HasPrefix(f.Message, "100000 tables of MySQL servers") || f.Hint != "restart spiced" {
		t.Errorf("got %v", err)
	}
}

// TestTheProxyRefuses connects to the socket without what DuckDB knows, and sends what
// DuckDB does not.
func TestTheProxyRefuses(t *testing.T) {
	p := newTestProxy(t)
	for _, password := range []string{"", "guess"} {
		if _, err := connect(t.Context(), &config{host: p.Socket, user: "duckdb", password: password, mode: sslDisabled}); err == nil ||
			err.Error() != "the password is wrong" {
			t.Errorf("password %q: got %v", password, err)
		}
	}
	for _, bytes := range []string{"", "\x00", "\x05\x00\x00\x01\x00\x00\x00\x00\x00", "\xff\xff\xff\xff", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("unix", p.Socket)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, bytes)
		conn.(*net.UnixConn).CloseWrite()
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	p.relations[p.prefix+"00000"] = &relation{name: p.prefix + "00000", server: "gone", table: &table{schema: "s", name: "t"}}
	c := client(t, p)
	for sql, want := range map[string]string{
		"SELECT * FROM `mysql`.`user`":                "the proxy does not support: SELECT * FROM `mysql`.`user`",
		"DELETE FROM t":                               "the proxy does not support: DELETE FROM t",
		"SELECT `x` FROM `" + p.prefix + "00000`.`t`": "the dataset is no longer served",
		"SELECT `x` FROM `" + p.prefix + "00009`.`t`": "the proxy does not support",
		"SELECT `x` FROM `" + p.prefix:                "the proxy does not support",
		"CREATE SCHEMA `x`":                           "the proxy does not support",
		"SELECT c.table_name FROM information_schema.columns c WHERE c.table_schema='no'": "",
	} {
		if _, err := c.run(sql); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %s", sql, err, want)
		}
	}
	for _, sql := range []string{"", "DROP TABLE t", "GRANT ALL"} {
		if err := c.do(commandQuery, sql); err == nil || !strings.Contains(err.Error(), "does not support") {
			t.Errorf("%q: got %v", sql, err)
		}
	}
}

// fakeServer accepts connections, and answers each with handle.
func fakeServer(t *testing.T, handle func(w *wire)) *config {
	t.Helper()
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
			handle(newWire(conn))
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return &config{host: "127.0.0.1", port: l.Addr().(*net.TCPAddr).Port, user: "u", password: "secret", mode: sslDisabled}
}

// buffered is a connection with bytes that a reader has read already.
type buffered struct {
	net.Conn
	in io.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

const testNonce = "abcdefghij0123456789"

// hello is the greeting of a server.
func hello(flags uint32, method string) []byte {
	out := append([]byte{10}, "8.4.0\x00\x07\x00\x00\x00"+testNonce[:8]+"\x00"...)
	out = append(out, byte(flags), byte(flags>>8), utf8mb4, 2, 0, byte(flags>>16), byte(flags>>24), 21)
	out = append(append(out, make([]byte, 10)...), testNonce[8:]+"\x00"+method+"\x00"...)
	return out
}

// TestAuthentication logs in to stand-ins for servers that Debian has none of: MySQL 8's
// method, whole, and servers that change the method.
func TestAuthentication(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := selfsigned.Certificate(t)
	accept := func(w *wire, ok bool) {
		if ok {
			w.write(okPacket())
		} else {
			w.write(errorPacket(&serverError{accessDenied, "28000", "Access denied"}))
		}
	}
	for _, c := range []struct {
		name, mode, want string
		handle           func(w *wire)
	}{
		{"cached", sslDisabled, "", func(w *wire) {
			w.write(hello(shared, cachingSHA2))
			p, _ := w.read()
			answer, _ := scramble(cachingSHA2, "secret", []byte(testNonce))
			w.write([]byte{kindMore, 3})
			accept(w, bytes.Contains(p, answer))
		}},
		{"with the key", sslPreferred, "", func(w *wire) {
			w.write(hello(shared, cachingSHA2))
			w.read()
			w.write([]byte{kindMore, 4})
			p, _ := w.read()
			if len(p) != 1 || p[0] != 2 {
				return
			}
			w.write(append([]byte{kindMore}, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})...))
			p, _ = w.read()
			text, err := rsa.DecryptOAEP(sha1.New(), nil, key, p, nil)
			for i := range text {
				text[i] ^= testNonce[i%20]
			}
			accept(w, err == nil && string(text) == "secret\x00")
		}},
		{"within TLS", sslRequired, "", func(w *wire) {
			w.write(hello(shared|clientTLS, cachingSHA2))
			w.read()
			number := w.number
			w = newWire(tls.Server(buffered{w.Conn, w.in}, &tls.Config{Certificates: []tls.Certificate{certificate}}))
			w.number = number
			w.read()
			w.write([]byte{kindMore, 4})
			p, _ := w.read()
			accept(w, string(p) == "secret\x00")
		}},
		{"another method", sslDisabled, "", func(w *wire) {
			w.write(hello(shared, "sha256_password"))
			w.read()
			w.write(append([]byte{kindEOF}, nativePassword+"\x00"+testNonce+"\x00"...))
			p, _ := w.read()
			answer, _ := scramble(nativePassword, "secret", []byte(testNonce))
			accept(w, bytes.Equal(p, answer))
		}},
		{"unknown method", sslDisabled, "the method of authentication is auth_gssapi_client, which is not supported", func(w *wire) {
			w.write(hello(shared, "auth_gssapi_client"))
			w.read()
			w.write(append([]byte{kindEOF}, "auth_gssapi_client\x00x\x00"...))
		}},
		{"clear text without TLS", sslDisabled, "the method of authentication is mysql_clear_password", func(w *wire) {
			w.write(hello(shared, nativePassword))
			w.read()
			w.write(append([]byte{kindEOF}, clearPassword+"\x00"...))
		}},
		{"refused", sslDisabled, "Access denied", func(w *wire) {
			w.write(hello(shared, nativePassword))
			w.read()
			accept(w, false)
		}},
		{"too many connections", sslDisabled, "Too many connections", func(w *wire) {
			w.write(errorPacket(&serverError{1040, "08004", "Too many connections"}))
		}},
		{"no TLS", sslRequired, "has no TLS", func(w *wire) { w.write(hello(shared, nativePassword)) }},
		{"the end", sslDisabled, "ended the connection", func(w *wire) { w.write(hello(shared, nativePassword)) }},
		{"another protocol", sslDisabled, "is no MySQL server", func(w *wire) { io.WriteString(w, "SSH-2.0-x\r\n"+strings.Repeat("x", 1<<16)) }},
		{"silence", sslDisabled, "does not answer", func(w *wire) { io.Copy(io.Discard, w) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := fakeServer(t, c.handle)
			config.mode = c.mode
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if c.name != "silence" {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			}
			defer cancel()
			conn, err := connect(ctx, config)
			if err == nil {
				conn.Close()
			}
			s := &server{config: config}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(s.fault(err).Message, c.want) {
				t.Errorf("got %v; want %s", err, c.want)
			}
			if err != nil && fault.Of(s.fault(err)).Path == "" {
				t.Error("the fault has no path")
			}
		})
	}
}

// FuzzResult splits an answer at any place: its end is found at the same byte.
func FuzzResult(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x01\x01\x03\x00\x00\x02def\x05\x00\x00\x03\xfe\x00\x00\x02\x00\x02\x00\x00\x04\x00x\x05\x00\x00\x05\xfe\x00\x00\x02\x00more"),
		uint8(1))
	f.Add([]byte("\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"), uint8(3))
	f.Add([]byte("\x00\x00\x00\x01\x03\x00\x00\x02\xffxx"), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		var whole, parts result
		want, got := whole.scan(stream), 0
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+int(step))
			got += parts.scan(rest[:n])
			rest = rest[n:]
		}
		if got != want || parts != whole {
			t.Errorf("%q: in parts of %d: %d and %v, want %d and %v", stream, 1+int(step), got, parts, want, whole)
		}
	})
}

// TestLargePackets follows a row of more than one packet.
func TestLargePackets(t *testing.T) {
	packet := func(size int, kind byte) []byte {
		return append([]byte{byte(size), byte(size >> 8), byte(size >> 16), 0, kind}, make([]byte, size-1)...)
	}
	var stream []byte
	for _, p := range [][]byte{packet(1, 1), packet(9, 'd'), packet(5, kindEOF), packet(fullPacket, 0), packet(5, kindEOF), packet(5, kindEOF)} {
		stream = append(stream, p...)
	}
	var r result
	if n := r.scan(append(stream, "rest"...)); n != len(stream) || !r.done() {
		t.Errorf("got %d of %d, %v", n, len(stream), r)
	}
}

// pipe is a connection on which a server has sent everything.
type pipe struct {
	net.Conn
	io.Reader
}

func (p pipe) Read(b []byte) (int, error)  { return p.Reader.Read(b) }
func (p pipe) Write(b []byte) (int, error) { return len(b), nil }
func (p pipe) SetDeadline(time.Time) error { return nil }

// FuzzServer logs in to a server that sends anything, and reads rows from it.
func FuzzServer(f *testing.F) {
	f.Add([]byte("\x05\x00\x00\x00\x0a8\x00aaaa"))
	var b bytes.Buffer
	for _, p := range [][]byte{
		hello(shared, cachingSHA2),
		{kindMore, 3},
		okPacket(),
		{2},
		[]byte("def"), []byte("def"), eofPacket(),
		{1, 'x', 0xfb},
		eofPacket(),
	} {
		b.Write([]byte{byte(len(p)), 0, 0, 0})
		b.Write(p)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, stream []byte) {
		c := &connection{wire: newWire(pipe{Reader: bytes.NewReader(stream)})}
		if c.start(&config{host: "h", user: "u", password: "p", mode: sslPreferred}) == nil {
			c.find("s", "t", &server{config: &config{}}) //nolint:errcheck // it must end
		}
	})
}

// FuzzRewrite adds comparisons for indexes to any statement: what it had is still there.
func FuzzRewrite(f *testing.F) {
	f.Add(" WHERE `a` = 'x' AND (`b` IN ('y', '''z') OR `d` >= '2026-01-01')")
	f.Add(" WHERE `a` = '`a` = ''x''' ORDER BY `a`")
	tab := &table{
		schema: "s", name: "t", collation: "utf8mb4_nopad_bin",
		columns: []column{
			{name: "a", kind: "text", collation: "latin1_swedish_ci"},
			{name: "b", kind: "varchar", collation: "utf8mb4_general_ci"},
			{name: "d", kind: "date"},
		},
	}
	f.Fuzz(func(t *testing.T, sql string) {
		got := tab.useIndexes(sql, "raw")
		kept := comparison.ReplaceAllStringFunc(sql, func(found string) string { return found })
		if kept != sql || len(got) < len(sql) || strings.Count(got, "'")%2 != strings.Count(sql, "'")%2 {
			t.Errorf("%q became %q", sql, got)
		}
	})
}
