package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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

// silentClients is how many connections each flood opens, where the process may
// open so many files.
const silentClients = 3000

// prompt is how long an honest client takes at most, on a busy machine.
const prompt = 5 * time.Second

// While clients connect that do not say who they are, others can connect and run
// statements at any moment.
func TestSilentConnections(t *testing.T) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	n := int(min(silentClients, files.Cur/4))
	p := start(t, folder(t, "spicepod.yaml", connectionsPod), sqlProtocols("--log-level", "info")...)
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
			address := p.address(flood.protocol)
			var opened atomic.Int64
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for range n / 4 {
						nc, err := net.Dial("tcp", address)
						if err != nil {
							t.Error(err)
							return
						}
						t.Cleanup(func() { nc.Close() })
						if _, err := io.WriteString(nc, flood.sent); err == nil {
							opened.Add(1)
						}
					}
				})
			}
			done := make(chan struct{})
			go func() { clients.Wait(); close(done) }()
			visits, longest := 0, time.Duration(0)
			for over := false; !over; visits++ {
				select {
				case <-done:
					over = true // and once more
				default:
				}
				began := time.Now()
				if err := p.visit(flood.protocol); err != nil {
					t.Errorf("visit %d, after %d connections: %v", visits, opened.Load(), err)
					break
				}
				longest = max(longest, time.Since(began))
			}
			clients.Wait()
			t.Logf("%d connections, %d visits, the longest %s", opened.Load(), visits, longest.Round(time.Millisecond))
		})
	}
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
