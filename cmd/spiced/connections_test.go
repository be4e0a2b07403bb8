package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const connectionsPod = `version: v2
kind: Spicepod
name: connections
runtime:
  postgres: { enabled: false, max_connections: 80 }
  auth:
    api-key:
      principals:
        - { name: honest, key: honest-key-0123456789 }
        - { name: rude, key: rude-key-0123456789ab, limits: { max_concurrent: 1 } }
`

// silentClients is how many connections each flood opens, where the process may open so
// many files: 10,000 with SPICED_LARGE, to a runtime in another process.
func silentClients(t *testing.T) (n int, begin func(*testing.T, string, ...string) *program) {
	t.Helper()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if large() {
		return int(min(10_000, files.Cur/2)), startProcess
	}
	return int(min(3000, files.Cur/4)), start // more than may wait to log in
}

// dialFrom connects from an address of this machine, by its number, where it has several.
func dialFrom(i int, address string) (net.Conn, error) {
	d := net.Dialer{}
	if otherAddress() != nil {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i))}
	}
	return d.Dial("tcp", address)
}

// prompt is how long an honest client takes at most, on a busy machine.
const prompt = 5 * time.Second

// While clients connect that do not say who they are, others can connect and run
// statements at any moment.
func TestSilentConnections(t *testing.T) {
	n, begin := silentClients(t)
	p := begin(t, folder(t, "spicepod.yaml", connectionsPod), sqlProtocols("--log-level", "info")...)
	startup := "\x00\x00\x00\x13\x00\x03\x00\x00user\x00honest\x00\x00"
	for _, flood := range []struct{ protocol, name, sent string }{
		{"postgres", "silence", ""},
		{"postgres", "half of a startup message", startup[:9]},
		{"postgres", "half of a login", startup},
		{"postgres", "a request for TLS", "\x00\x00\x00\x08\x04\xd2\x16\x2f"},
		{"http", "silence", ""},
		{"http", "half of a header", "POST /v1/sql HTTP/1.1\r\nHost: local"},
		{"http", "half of a body without a key", "POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nSEL"},
		{"http", "health", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		{"flight", "silence", ""},
		{"flight", "half of the preface", "PRI * HTTP/2.0\r\n"},
		{"flight", "the preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
	} {
		t.Run(flood.protocol+" "+flood.name, func(t *testing.T) {
			p.flood(t, n, 8, flood.protocol, func(nc net.Conn) error {
				_, err := io.WriteString(nc, flood.sent)
				return err
			})
		})
	}
}

// flood opens n connections from some addresses, while an honest client visits the
// protocol.
func (p *program) flood(t *testing.T, n, addresses int, protocol string, begin func(net.Conn) error) {
	t.Helper()
	address := p.address(protocol)
	var opened atomic.Int64
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range n / 8 {
				nc, err := dialFrom(i%addresses, address)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { nc.Close() })
				if begin(nc) == nil {
					opened.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	var took []time.Duration
	for over := false; !over || len(took) < 20; {
		select {
		case <-done:
			over = true
		default:
		}
		began := time.Now()
		if err := p.visit(protocol); err != nil {
			t.Errorf("visit %d, after %d connections: %v", len(took), opened.Load(), err)
			break
		}
		took = append(took, time.Since(began))
	}
	clients.Wait()
	slices.Sort(took)
	if len(took) > 0 {
		t.Logf("%d connections, %d visits, p50 %s, p99 %s, the longest %s", opened.Load(), len(took),
			took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
}

// slowAddresses are fewer than it takes to hold all slots, and those lent beyond them.
const slowAddresses = 2

// TestSlowConnections: clients of several addresses who send statements of endless rows
// and do not read them leave every protocol usable.
func TestSlowConnections(t *testing.T) {
	if !large() {
		t.Skip("takes a minute: set SPICED_LARGE")
	}
	n, begin := silentClients(t)
	p := begin(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: slow\n"), sqlProtocols("--log-level", "info")...)
	t.Run("http", func(t *testing.T) {
		p.flood(t, n, slowAddresses, "http", func(nc net.Conn) error {
			_, err := fmt.Fprintf(nc, "POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nAccept: text/csv\r\nContent-Length: %d\r\n\r\n%s", len(endlessRows), endlessRows)
			return err
		})
	})
	t.Run("postgres", func(t *testing.T) {
		query, err := (&pgproto3.Query{String: endlessRows}).Encode([]byte("\x00\x00\x00\x13\x00\x03\x00\x00user\x00rude\x00\x00"))
		if err != nil {
			t.Fatal(err)
		}
		p.flood(t, n, slowAddresses, "postgres", func(nc net.Conn) error {
			_, err := nc.Write(query)
			return err
		})
	})
	t.Run("flight", func(t *testing.T) {
		var slow atomic.Int64
		for i := range 200 {
			c, err := flightsql.NewClient(p.address("flight"), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(_ context.Context, address string) (net.Conn, error) { return dialFrom(i%slowAddresses, address) }))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				if info, err := c.Execute(t.Context(), endlessRows); err == nil {
					if _, err := c.DoGet(t.Context(), info.Endpoint[0].Ticket); err == nil {
						slow.Add(1)
					}
				}
			}()
		}
		p.eventually("to send rows to slow clients", func() bool { return slow.Load() > 0 })
		p.flood(t, n, slowAddresses, "flight", func(net.Conn) error { return nil })
		t.Logf("%d slow readers", slow.Load())
	})
}

// visit connects to a protocol with the honest key, runs a statement and leaves.
func (p *program) visit(protocol string) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), prompt)
	defer cancel()
	switch protocol {
	case "postgres":
		c, err := p.dialPostgres(ctx, "honest", honestKey)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		return c.PgConn().Exec(ctx, "SELECT 1").Close()
	case "flight":
		c, err := flightTo(p.address("flight"))
		if err != nil {
			return err
		}
		defer c.Close()
		return flightStatement(withBearer(ctx, honestKey), c, "SELECT 1").err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/sql", strings.NewReader("SELECT 1"))
	if err != nil {
		return err
	}
	r.Header.Set("X-API-Key", honestKey)
	r.Close = true
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// The sessions of one key leave room for those of others.
func TestSessionsOfOneKey(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", connectionsPod), sqlProtocols()...)
	for i := range 100 {
		c, err := p.dialPostgres(t.Context(), "rude", rudeKey)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			defer c.Close(context.Background())
			if i >= 20 {
				t.Fatalf("the key has %d sessions", i+1)
			}
		case i < 20 || !errors.As(err, &refused) || refused.Code != "53300" || !strings.Contains(refused.Message, "runtime.postgres.max_connections_per_caller"):
			t.Fatalf("session %d: %v", i, err)
		}
	}
	if err := p.visit("postgres"); err != nil {
		t.Error(err)
	}
}

// Answers to wrong keys slow down, over all protocols together; those to right
// ones do not.
func TestFailedLogins(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", connectionsPod), sqlProtocols()...)
	fail := map[string]func() error{
		"postgres": func() error {
			_, err := p.dialPostgres(t.Context(), "honest", "wrong")
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "28P01" {
				return fmt.Errorf("got %w", err)
			}
			return nil
		},
		"http": func() error {
			if got := p.do("POST", "/v1/sql", "SELECT 1", "X-API-Key", "wrong"); got.status != 401 {
				return fmt.Errorf("status %d", got.status)
			}
			return nil
		},
		"flight": func() error {
			c, err := flightTo(p.address("flight"))
			if err != nil {
				return err
			}
			defer c.Close()
			if got := flightStatement(withBearer(t.Context(), "wrong"), c, "SELECT 1"); !strings.Contains(fmt.Sprint(got.err), "not known") {
				return fmt.Errorf("got %s", got)
			}
			return nil
		},
	}
	for range 2 {
		for protocol, try := range fail {
			if err := try(); err != nil {
				t.Errorf("%s: %v", protocol, err)
			}
		}
	}
	for protocol, try := range fail { // 500 ms, 1 s and 2 s
		waiting := make(chan error, 1)
		began := time.Now()
		go func() { waiting <- try() }()
		if err := p.visit(protocol); err != nil {
			t.Errorf("%s with a right key: %v", protocol, err)
		}
		if err := <-waiting; err != nil || time.Since(began) < 500*time.Millisecond {
			t.Errorf("%s with a wrong key: %v after %s", protocol, err, time.Since(began))
		}
	}
}
