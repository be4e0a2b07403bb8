package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/test/full"
)

const loadPod = `version: v2
kind: Spicepod
name: load
runtime:
  functions: { enabled: true }
  query: { timeout: 60s, max_concurrent_queries: 8, max_queued_queries: 4096 }
  caching: { sql_results: { enabled: false } }
  postgres: { max_connections: 600, max_connections_per_caller: 600 }
  flight: { max_connections: 200, max_connections_per_caller: 200 }
datasets:
  - { name: k, from: "file:k.csv", acceleration: { enabled: true } }
functions:
  - name: f
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x + 1
`

// The clients of the crowd; of each kind half leaves in the midst of results.
const (
	postgresClients = 500
	flightClients   = 100
	httpClients     = 100
)

// crowdPatience is how long a client waits for an answer among so many.
const crowdPatience = time.Minute

// What may be left of a crowd: memory that its allocators keep, and what the
// runtime opened for the first time.
const (
	goroutinesLeft = 25
	filesLeft      = 25
	heapLeft       = 32 << 20
)

// filesNeeded is how many files 700 clients and their server have open at
// once in one process, and some more.
const filesNeeded = 4096

// soak is how long the crowd stays: SPICED_SOAK, such as 10m, or a moment.
func soak(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SPICED_SOAK")
	switch {
	case text == "" && !full.Test():
		return 2 * time.Second
	case text == "":
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SPICED_SOAK: %v", err)
	}
	return d
}

// TestManyClientsOnEveryProtocol has 700 clients, of whom half leave in the midst
// of a result, come again and leave again. No query of the others fails, and
// afterwards nothing is left of any.
func TestManyClientsOnEveryProtocol(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < filesNeeded {
		t.Skipf("a process may open %d files here; this needs %d: %v", limit.Cur, filesNeeded, err)
	}
	duration := soak(t)
	dir := folder(t, "spicepod.yaml", loadPod, "k.csv", "i\n1\n2\n3\n")
	p := start(t, dir, sqlProtocols("--log-level", "info", "--watch=false")...)
	c := newCrowd(p)
	c.visit(1, time.Second) // opens what stays open
	before := c.settled()
	began := time.Now()
	c.visit(postgresClients+flightClients+httpClients, duration)
	t.Logf("%d honest queries and %d results left in %s", c.honest.Load(), c.left.Load(), time.Since(began).Round(time.Millisecond))
	after := c.settled()
	t.Logf("before %s", before)
	t.Logf("peak   %s", c.peak)
	t.Logf("after  %s", after)
	if c.failed.Load() > 0 || c.honest.Load() == 0 || c.left.Load() == 0 {
		t.Errorf("%d honest queries, %d failed; %d results left", c.honest.Load(), c.failed.Load(), c.left.Load())
	}
	if grown := after.minus(before); grown.goroutines > goroutinesLeft || grown.files > filesLeft || grown.heap > heapLeft || grown.resident > residentLeft {
		t.Errorf("left behind: %s", grown)
	}
}

// usage is what the process takes.
type usage struct {
	goroutines, files int
	heap, resident    int64 // bytes
}

// String is for people.
func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.1f MiB of Go's heap, %.0f MiB resident", u.goroutines, u.files, float64(u.heap)/(1<<20),
		float64(u.resident)/(1<<20))
}

func (u usage) minus(v usage) usage {
	return usage{u.goroutines - v.goroutines, u.files - v.files, u.heap - v.heap, u.resident - v.resident}
}

// measure returns what the process takes now; files and resident memory are 0
// where there is no /proc.
func measure() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u := usage{goroutines: runtime.NumGoroutine(), heap: int64(memory.HeapAlloc)}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(files)
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, pages int64
		fmt.Sscan(string(text), &size, &pages) //nolint:errcheck // 0 where it has another form
		u.resident = pages * int64(os.Getpagesize())
	}
	return u
}

// crowd is many clients of one program.
type crowd struct {
	*program
	metrics  *program // the same, where its metrics are
	postgres *pgx.ConnConfig
	client   *http.Client

	honest, left, failed atomic.Int64
	peak                 usage
}

func newCrowd(p *program) *crowd {
	config, err := pgx.ParseConfig("postgres://anybody@" + p.address("postgres") + "/db?sslmode=disable")
	if err != nil {
		p.t.Fatal(err)
	}
	metrics := *p
	metrics.url = p.endpoint("metrics")
	transport := &http.Transport{MaxIdleConnsPerHost: httpClients}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &crowd{program: p, metrics: &metrics, postgres: config, client: &http.Client{Transport: transport}}
}

// visit lets n clients, or at least one of each sort, do what they do for a
// while.
func (c *crowd) visit(n int, duration time.Duration) {
	until := time.Now().Add(duration)
	address := c.address("flight")
	var clients sync.WaitGroup
	share := func(of int) int { return max(2, of*n/(postgresClients+flightClients+httpClients)) }
	for kind, how := range []struct {
		n             int
		honest, leave func() error
	}{
		{share(postgresClients), c.honestPostgres(until), c.leavePostgres},
		{share(flightClients), c.honestFlight(until, address), c.leaveFlight(address)},
		{share(httpClients), c.honestHTTP, c.leaveHTTP},
	} {
		for i := range how.n {
			clients.Go(func() { c.repeat(until, kind, i%2 == 0, how.honest, how.leave) })
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); clients.Wait() }()
	c.watch(done)
}

// repeat does the one or the other until the time is over.
func (c *crowd) repeat(until time.Time, kind int, honest bool, query, leave func() error) {
	for time.Now().Before(until) {
		do, count := query, &c.honest
		if !honest {
			do, count = leave, &c.left
		}
		if err := do(); err != nil {
			if c.failed.Add(1) <= 10 {
				c.t.Errorf("%s: %v", [...]string{"postgres", "flight", "http"}[kind], err)
			}
			continue
		}
		count.Add(1)
	}
}

// watch waits for the clients. It sees the peak, and keeps the log short.
func (c *crowd) watch(done <-chan struct{}) {
	often := time.NewTicker(time.Second)
	defer often.Stop()
	for {
		select {
		case <-done:
			return
		case <-often.C:
			u := measure()
			c.peak = usage{max(c.peak.goroutines, u.goroutines), max(c.peak.files, u.files), max(c.peak.heap, u.heap), max(c.peak.resident, u.resident)}
			c.forgetLog()
		}
	}
}

// forgetLog drops what was logged, in which there must be no errors.
func (c *crowd) forgetLog() {
	if text := c.log.String(); strings.Contains(text, `"level":"ERROR"`) {
		c.t.Errorf("errors in the log:\n%.2000s", text[strings.Index(text, `"level":"ERROR"`):])
	}
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	var kept bytes.Buffer // what names the protocols
	for line := range strings.Lines(c.log.b.String()) {
		if strings.Contains(line, `"msg":"listening"`) {
			kept.WriteString(line)
		}
	}
	c.log.b = kept
}

// settled is what the process uses when no client is left.
func (c *crowd) settled() usage {
	c.t.Helper()
	c.client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	for _, name := range []string{
		"spiced_engine_statements_running", "spiced_engine_statements_waiting", "spiced_engine_statements_abandoned",
		"spiced_http_requests_in_flight",
	} {
		c.eventually("to have 0 "+name, func() bool { return c.metrics.value(name) == "0" })
	}
	http.DefaultClient.CloseIdleConnections()
	c.forgetLog()
	var last usage
	c.eventually("to settle", func() bool { // goroutines that end are no leak
		debug.FreeOSMemory()
		now := measure()
		same := now.goroutines == last.goroutines && now.files == last.files
		last = now
		return same
	})
	return last
}

// value is a metric's, from the protocol of the metrics.
func (p *program) value(name string) string {
	for line := range strings.Lines(p.do("GET", "/metrics", "").body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// The results that clients want: a small one, one of some rows, and one that
// is larger than any buffer on the way.
const (
	smallQuery  = "SELECT f(41)::BIGINT AS n"
	middleQuery = "SELECT range AS n FROM range(5000)"
	endlessRows = "SELECT range, range::VARCHAR AS s FROM range(1000000000)"
)

// someQuery is a statement and how many rows it has.
func someQuery() (sql string, rows int64) {
	if rand.IntN(10) == 0 {
		return middleQuery, 5000
	}
	return smallQuery, 1
}

func wantRows(sql string, got, want int64, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d rows, want %d", got, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// honestPostgres keeps a connection for some queries.
func (c *crowd) honestPostgres(until time.Time) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
		defer cancel()
		conn, err := pgx.ConnectConfig(ctx, c.postgres.Copy())
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		return c.some(until, func() error { return postgresRows(conn) })
	}
}

// some does the same a few times.
func (c *crowd) some(until time.Time, query func() error) error {
	for range 19 {
		if err := query(); err != nil {
			return err
		}
		c.honest.Add(1)
		if time.Now().After(until) {
			break
		}
	}
	return query()
}

func postgresRows(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	sql, want := someQuery()
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return wantRows(sql, 0, want, err)
	}
	defer rows.Close()
	var n int64
	for rows.Next() {
		n++
	}
	return wantRows(sql, n, want, rows.Err())
}

// leavePostgres reads some of a result and closes the socket.
func (c *crowd) leavePostgres() error {
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, c.postgres.Copy())
	if err != nil {
		return err
	}
	h, err := conn.PgConn().Hijack()
	if err != nil {
		return err
	}
	defer h.Conn.Close()
	h.Frontend.Send(&pgproto3.Query{String: endlessRows})
	if err := errors.Join(h.Frontend.Flush(), h.Conn.SetReadDeadline(time.Now().Add(crowdPatience))); err != nil {
		return err
	}
	for range 2 + rand.IntN(1000) {
		m, err := h.Frontend.Receive()
		if err != nil {
			return err
		}
		if e, ok := m.(*pgproto3.ErrorResponse); ok {
			return fmt.Errorf("%s: %s: %s", endlessRows, e.Code, e.Message)
		}
	}
	return nil
}

// honestFlight keeps a connection for some queries.
func (c *crowd) honestFlight(until time.Time, address string) func() error {
	return func() error {
		client, err := flightTo(address)
		if err != nil {
			return err
		}
		defer client.Close()
		return c.some(until, func() error { return someFlightRows(client) })
	}
}

func someFlightRows(client *flightsql.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	sql, want := someQuery()
	info, err := client.Execute(ctx, sql)
	if err != nil {
		return wantRows(sql, 0, want, err)
	}
	n, err := flightRows(ctx, client, info)
	return wantRows(sql, n, want, err)
}

// leaveFlight reads a batch of a result and closes the connection.
func (c *crowd) leaveFlight(address string) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
		defer cancel()
		client, err := flightTo(address)
		if err != nil {
			return err
		}
		defer client.Close()
		reader, err := flightReader(ctx, client, endlessRows)
		if err != nil {
			return err
		}
		defer reader.Release()
		if !reader.Next() {
			return fmt.Errorf("no rows: %w", reader.Err())
		}
		if rand.IntN(2) == 0 {
			cancel()
		}
		return nil
	}
}

func (c *crowd) begin(ctx context.Context, sql string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+"/v1/sql", strings.NewReader(sql))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/csv")
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("%s: %s: %s", sql, resp.Status, text)
	}
	return resp, nil
}

func (c *crowd) honestHTTP() error {
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	sql, want := someQuery()
	resp, err := c.begin(ctx, sql)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return wantRows(sql, int64(strings.Count(string(text), "\n"))-1, want, err)
}

// leaveHTTP reads some of a result and closes the connection.
func (c *crowd) leaveHTTP() error {
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	resp, err := c.begin(ctx, endlessRows)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.CopyN(io.Discard, resp.Body, rand.Int64N(100_000))
	return err
}
