package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/test/full"
)

// TestStatementsThatDoNotEnd floods the runtime at default settings with statements that
// run without end, some without a way to interrupt them, through every protocol. Another
// caller is answered meanwhile, and everyone afterwards.
func TestStatementsThatDoNotEnd(t *testing.T) {
	for _, c := range []struct{ name, auth string }{{"without keys", ""}, {"with a key that may read", readerKeys}} {
		t.Run(c.name, func(t *testing.T) {
			p, ways := startCrashes(t, c.auth)
			others := p.beside(honestKey)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var flood sync.WaitGroup
			for _, way := range ways {
				flood.Go(func() { way.run(ctx, slowHog) })
			}
			for range 40 {
				flood.Go(func() { p.httpStatement(ctx, rudeKey, endlessCount) })
			}
			if large() {
				for range 11 {
					flood.Go(func() { p.httpStatement(ctx, rudeKey, "SELECT lpad('x', 2000000000, 'y') AS v") })
				}
			}
			p.eventually("to run statements of the flood", func() bool { return p.metric("spiced_engine_statements_waiting") != "0" })
			others.await(p, full.Size(20, 100))
			cancel()
			flood.Wait()
			p.eventually("to end the statements", func() bool {
				return p.metric("spiced_engine_statements_running") == "0" || p.httpStatement(t.Context(), rudeKey, "SELECT 1").err == nil
			})
			others.report(t, longestVisit)
		})
	}
}

// A slow reader reads 10 kB/s.
const (
	slowRate  = 10_000 // bytes
	slowPause = time.Second
)

// manyRows are some 40 MB.
const manyRows = "SELECT range AS n, range::VARCHAR AS s FROM range(3000000)"

// TestSlowReaders: two callers who read their rows slowly, over any protocol, hold up
// neither another caller nor themselves.
func TestSlowReaders(t *testing.T) {
	for _, c := range []struct{ name, auth string }{{"without keys", ""}, {"with a key that may read", readerKeys}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: slow\nruntime:\n  functions: { enabled: true }\n"+c.auth),
				sqlProtocols("--log-level", "info", "--watch=false")...)
			for protocol, read := range map[string]func(context.Context, func()) error{
				"http": p.readSlowly, "postgres": p.fetchSlowly, "flight": p.flySlowly,
			} {
				ctx, cancel := context.WithCancel(t.Context())
				others := p.beside(honestKey)
				var reading atomic.Int64
				var readers sync.WaitGroup
				for range 2 {
					readers.Go(func() {
						if err := read(ctx, func() { reading.Add(1) }); ctx.Err() == nil {
							t.Errorf("%s: a slow reader ended: %v", protocol, err)
						}
					})
				}
				p.eventually("to send rows to slow readers", func() bool { return reading.Load() >= 2 })
				own := time.Now()
				if got := p.httpStatement(ctx, rudeKey, "SELECT 1"); got.err != nil {
					t.Errorf("%s: a third statement of the slow readers: %s", protocol, got)
				}
				took := time.Since(own).Round(time.Millisecond)
				others.await(p, full.Size(10, 30))
				cancel()
				readers.Wait()
				t.Logf("two slow readers over %s read %d times; a third statement of the same caller took %s", protocol, reading.Load(), took)
				others.report(t, longestVisit)
			}
		})
	}
}

// readSlowly reads rows over HTTP until ctx ends.
func (p *program) readSlowly(ctx context.Context, done func()) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", p.address("http"))
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return err
	}
	request := "POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nAccept: text/csv\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s"
	if _, err := fmt.Fprintf(c, request, rudeKey, len(manyRows), manyRows); err != nil {
		return err
	}
	return slowly(ctx, done, func() error {
		_, err := io.CopyN(io.Discard, c, slowRate)
		return err
	})
}

// slowly repeats a read until ctx ends or it fails.
func slowly(ctx context.Context, done func(), read func() error) error {
	next := time.NewTicker(slowPause)
	defer next.Stop()
	for {
		if err := read(); err != nil {
			return err
		}
		done()
		select {
		case <-next.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fetchSlowly reads a suspended portal until ctx ends.
func (p *program) fetchSlowly(ctx context.Context, done func()) error {
	conn, err := p.dialPostgres(ctx, "rude", rudeKey)
	if err != nil {
		return err
	}
	h, err := conn.PgConn().Hijack()
	if err != nil {
		return err
	}
	defer h.Conn.Close()
	defer context.AfterFunc(ctx, func() { h.Conn.Close() })()
	h.Frontend.Send(&pgproto3.Parse{Query: manyRows})
	h.Frontend.Send(&pgproto3.Bind{})
	return slowly(ctx, done, func() error {
		h.Frontend.Send(&pgproto3.Execute{MaxRows: slowRate / 20})
		h.Frontend.Send(&pgproto3.Flush{})
		if err := h.Frontend.Flush(); err != nil {
			return err
		}
		for {
			m, err := h.Frontend.Receive()
			if err != nil {
				return err
			}
			switch m := m.(type) {
			case *pgproto3.PortalSuspended:
				return nil
			case *pgproto3.CommandComplete:
				return io.EOF
			case *pgproto3.ErrorResponse:
				return errors.New(m.Message)
			}
		}
	})
}

// flySlowly reads record batches until ctx ends.
func (p *program) flySlowly(ctx context.Context, done func()) error {
	client, err := flightTo(p.address("flight"))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx = withBearer(ctx, rudeKey)
	reader, err := flightReader(ctx, client, manyRows)
	if err != nil {
		return err
	}
	defer reader.Release()
	return slowly(ctx, done, func() error { // a batch has 40 kB
		if !reader.Next() {
			return fmt.Errorf("no more rows: %w", reader.Err())
		}
		return nil
	})
}
