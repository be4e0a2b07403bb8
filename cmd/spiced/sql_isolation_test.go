package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spiced-sql/spiced/internal/test/full"
)

// isolatedTime is how long a statement may run in TestSQLIsolation. It is more
// than a new worker takes to begin on a busy machine.
const isolatedTime = 5 * time.Second

// Statements that take longer, and more memory. Nothing in the engine ends the
// slow one; a protocol that describes statements first meets it then. Nothing in it
// ends the window's either, once it aggregates, or counts the memory it takes,
// so that testdata/hostile cannot have it: no protocol bounds it in-process.
const (
	slowHog   = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))::VARCHAR AS v"
	largeHog  = "SELECT repeat('x', 1000000000) AS v"
	windowHog = "SELECT (array_agg(a.range) OVER ())::VARCHAR AS v FROM range(10000000) a"
)

// sqlAsk sends a statement and returns its first value, somewhere in a text.
type sqlAsk func(sql string) (string, error)

// asks are how clients send a statement at each protocol, by the protocol.
func asks(t *testing.T, p *program, key string) map[string]sqlAsk {
	t.Helper()
	c := flightConnect(t, p, key, insecure.NewCredentials())
	return map[string]sqlAsk{
		"http": func(sql string) (string, error) {
			r := p.do("POST", "/v1/sql", sql, "X-API-Key", key)
			if r.status != 200 {
				return "", fmt.Errorf("status %d: %s", r.status, r.body)
			}
			return r.body, nil
		},
		"flight":             c.query,
		"postgres":           pgAsk(p, key, pgx.QueryExecModeSimpleProtocol),
		"postgres, prepared": pgAsk(p, key, pgx.QueryExecModeCacheStatement),
	}
}

// pgAsk asks over a separate connection.
func pgAsk(p *program, key string, mode pgx.QueryExecMode) sqlAsk {
	return func(sql string) (v string, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := pgx.Connect(ctx, pgDSN(p, key, "sslmode=disable"))
		if err != nil {
			return "", err
		}
		defer conn.Close(ctx) //nolint:errcheck // it was read to its end
		err = conn.QueryRow(ctx, sql, mode).Scan(&v)
		return v, err
	}
}

// TestSQLIsolation runs statements of readers in processes of their own, which
// are killed when they overrun. Others are answered meanwhile, at every protocol.
func TestSQLIsolation(t *testing.T) {
	t.Parallel()
	settings := fmt.Sprintf("query: { timeout: %s, max_bytes: 64MiB, isolation: process, isolate: read_only, workers: 3 }", isolatedTime)
	dir := sqlPodWith(t, func(pod string) string { return strings.Replace(pod, "query: { timeout: 20s }", settings, 1) })
	p := startProcess(t, dir, sqlProtocols()...)
	reader, writer := asks(t, p, readerKey), asks(t, p, writerKey)
	hogging := maps.Clone(reader)
	if !full.Test() { // each takes isolatedTime
		maps.DeleteFunc(hogging, func(protocol string, _ sqlAsk) bool { return protocol != "http" && protocol != "postgres, prepared" })
	}
	for protocol, ask := range hogging {
		wantHonest(t, protocol, ask)
		began, ended := time.Now(), make(chan error, 1)
		go func() {
			_, err := ask(slowHog)
			ended <- err
		}()
		p.active(1)
		for _, others := range []map[string]sqlAsk{reader, writer} {
			for other, ask := range others {
				wantHonest(t, other+" next to "+protocol, ask)
			}
		}
		select {
		case err := <-ended:
			t.Errorf("%s: it ended before the others were answered: %v", protocol, err)
		default:
			wantKilled(t, protocol, began, <-ended)
		}
	}
	var hogs sync.WaitGroup
	for _, hog := range []string{largeHog, windowHog} {
		hogs.Go(func() {
			for protocol, ask := range hogging {
				began := time.Now()
				_, err := ask(hog)
				wantKilled(t, protocol+": "+hog, began, err)
				wantHonest(t, protocol+" afterwards", ask)
			}
		})
	}
	hogs.Wait()
	p.active(0)
}

// TestSQLIsolationDuringRefreshes: workers that begin while a refresh replaces
// the data that they open are begun again.
func TestSQLIsolationDuringRefreshes(t *testing.T) {
	t.Parallel()
	const pod = `version: v1
kind: Spicepod
name: refreshed
runtime: { query: { isolation: process, isolate: all, workers: 1 } }
datasets: [{ from: "file:k.csv", name: kept, acceleration: { enabled: true } }]
`
	rows := "n\n"
	dir := folder(t, "spicepod.yaml", pod, "k.csv", rows)
	p := startProcess(t, dir, "--watch=false")
	for n := 1; n <= 20; n++ {
		rows += fmt.Sprintln(n)
		write(t, filepath.Join(dir, "k.csv"), rows)
		p.want(p.do("POST", "/v1/datasets/kept/acceleration/refresh", ""), 201)
		p.eventually(fmt.Sprintf("to have %d rows", n), func() bool {
			r := p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM kept")
			p.want(r, 200)
			return r.body == fmt.Sprintf(`[{"n":%d}]`, n)
		})
	}
}

// wantHonest asks what is answered at once.
func wantHonest(t *testing.T, name string, ask sqlAsk) {
	t.Helper()
	if got, err := ask("SELECT twice(id)::VARCHAR || name AS v FROM people WHERE id = 1"); err != nil || !strings.Contains(got, "2Alice") {
		t.Errorf("%s: got %s, %v", name, got, err)
	}
}

// wantKilled checks that a statement failed at its time limit.
func wantKilled(t *testing.T, name string, began time.Time, err error) {
	t.Helper()
	if took := time.Since(began); err == nil || took > isolatedTime+reaction {
		t.Errorf("%s: it took %s: %v", name, took, err)
	}
}
