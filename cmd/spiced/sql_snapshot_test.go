package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/test/full"
)

const thirdKey = "third-key-0000000000000"

// starBomb doubles the columns of a relation with each level.
func starBomb(relation string) string {
	sql := "WITH c0 AS (SELECT * FROM " + relation + ")"
	for i := 1; i < 40; i++ {
		sql += fmt.Sprintf(", c%d AS (SELECT * FROM c%d a, c%[2]d b)", i, i-1)
	}
	return sql + " SELECT count(*) FROM c39"
}

// boundless are statements that nothing in DuckDB ends or bounds.
func boundless(relation string) []string {
	return []string{
		"SELECT list_transform(range(300000000), lambda x: x*x)[1] FROM " + relation + " LIMIT 1",
		starBomb(relation),
		"SELECT (repeat('9', 3000000)::BIGNUM * repeat('9', 3000000)::BIGNUM)::VARCHAR FROM " + relation + " LIMIT 1",
		"SELECT regexp_matches(repeat('9', 20000), repeat('9?', 200000)) FROM " + relation + " LIMIT 1",
		"SELECT repeat('9', 100000) || 'x' LIKE repeat('%9', 50000) FROM " + relation + " LIMIT 1",
	}
}

// refusesAll matches errors of a runtime that is at its limits or failed, by protocol.
var refusesAll = regexp.MustCompile("^status (429|500)|SQLSTATE (53300|XX000)")

// TestReadersCannotHarmTheRuntime: statements over tables of the runtime, PostgreSQL's catalog
// and datasets that are written, which nothing in DuckDB ends or bounds, cost their caller an error. Another
// caller is answered meanwhile, as before, and the process does not grow.
func TestReadersCannotHarmTheRuntime(t *testing.T) {
	full.Need(t, "statements run into their timeout")
	const timeout, mostDelay, mostMemory = 3 * time.Second, 100 * time.Millisecond, 600 << 10 // KiB
	dir := shop(t)
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(strings.Replace(shopPod, "runtime:\n",
		fmt.Sprintf("runtime:\n  query: { timeout: %s, workers: 3, worker_memory: 512MiB }\n", timeout), 1),
		`keys: ["`, `keys: ["`+thirdKey+`", "`, 1))
	p := startProcess(t, dir, sqlProtocols("--watch=false")...)
	honest := func() time.Duration {
		began := time.Now()
		p.want(p.do("POST", "/v1/sql", "SELECT id FROM wares WHERE id = "+strconv.Itoa(7), "X-API-Key", thirdKey, "Cache-Control", "no-cache"), 200, `[{"id":7}]`)
		return time.Since(began)
	}
	honest() // its worker starts
	alone := median(20, honest)
	reader := asks(t, p, readerKey)
	for _, target := range []struct{ protocol, relation string }{
		{"http", "spiced.tools"},
		{"http", "spiced.functions"},
		{"http", "orders"},
		{"http", "pgcatalog.pg_class"},
		{"postgres", "pg_catalog.pg_type"},
		{"postgres, prepared", "information_schema.columns"},
	} {
		for _, sql := range boundless(target.relation) {
			began, ended := time.Now(), make(chan error, 1)
			go func() {
				_, err := reader[target.protocol](sql)
				ended <- err
			}()
			var delays []time.Duration
			for over := false; !over; {
				select {
				case err := <-ended:
					over = true
					if err != nil && refusesAll.MatchString(err.Error()) || time.Since(began) > timeout+2*time.Second {
						t.Errorf("%s: %.100s…: after %s, %.200v", target.protocol, sql, time.Since(began), err)
					}
				default:
					delays = append(delays, honest())
				}
			}
			slices.Sort(delays)
			if d := delays[len(delays)/2] - alone; d > mostDelay {
				t.Errorf("%s: %.100s…: others are delayed by %s", target.protocol, sql, d)
			}
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("the memory of a process cannot be read here")
	}
	peak, _ := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindStringSubmatch(string(status))[1])
	if peak > mostMemory {
		t.Errorf("the process took %d MiB", peak>>10)
	}
}

// median is the median of n durations.
func median(n int, measure func() time.Duration) time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = measure()
	}
	slices.Sort(all)
	return all[n/2]
}

// TestReadersSeeWhatWasWritten: a statement that runs in a worker reads the rows that were
// written before it, through each protocol, and also through views and functions.
func TestReadersSeeWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := shop(t)
	write(t, filepath.Join(dir, "spicepod.yaml"), shopPod+`views:
  - { name: named, sql: "SELECT id, name FROM orders WHERE name IS NOT NULL" }
`)
	p := startProcess(t, dir, sqlProtocols()...)
	readers := asks(t, p, readerKey)
	for protocol, ask := range asks(t, p, writerKey) {
		readers[protocol+", with the key of a writer"] = ask
	}
	writers := map[string]sqlAsk{"http": asks(t, p, writerKey)["http"], "postgres": func(sql string) (string, error) {
		conn, err := pgx.Connect(t.Context(), pgDSN(p, writerKey, "sslmode=disable"))
		if err != nil {
			return "", err
		}
		defer conn.Close(t.Context()) //nolint:errcheck // it was read to its end
		_, err = conn.Exec(t.Context(), sql)
		return "", err
	}}
	for protocol, ask := range readers { // they run in workers
		if _, err := ask("SELECT json_structure((repeat('[', 100000) || repeat(']', 100000))::JSON) AS v -- " + protocol); err == nil ||
			!strings.Contains(err.Error(), "ended its worker") {
			t.Fatalf("%s: got %v", protocol, err)
		}
	}
	n := 10
	for writer, tell := range writers {
		for range 5 {
			n++
			if _, err := tell(fmt.Sprintf("INSERT INTO orders (id, name) VALUES (%d, 'order %[1]d')", n)); err != nil {
				t.Fatalf("%s: %v", writer, err)
			}
			for protocol, ask := range readers {
				for _, sql := range []string{
					"SELECT name AS v FROM orders WHERE id = %d", "SELECT name AS v FROM orders ORDER BY id DESC LIMIT 1 -- %d",
					"SELECT n.name AS v FROM named n JOIN orders o ON o.id = n.id WHERE n.id = %d AND twice(o.id) = 2 * n.id",
				} {
					sql = fmt.Sprintf(sql, n)
					if got, err := ask(sql); err != nil || !strings.Contains(got, fmt.Sprintf("order %d", n)) {
						t.Fatalf("%s, written over %s: %s: got %q, %v", protocol, writer, sql, got, err)
					}
				}
			}
		}
	}
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM orders a JOIN spiced.datasets d ON d.name = 'orders' WHERE a.id > 10", "X-API-Key", readerKey),
		200, fmt.Sprintf(`[{"n":%d}]`, n-10))
}

// TestWritesCannotHarmTheRuntime: what a write computes costs its caller an error, over each
// protocol, while others are answered. A transaction of writes that workers compute sees its rows.
func TestWritesCannotHarmTheRuntime(t *testing.T) {
	full.Need(t, "statements run into their timeout")
	dir := shop(t)
	pod := strings.Replace(shopPod, "runtime:\n", "runtime:\n  query: { timeout: 3s, workers: 3, worker_memory: 512MiB }\n", 1)
	write(t, filepath.Join(dir, "spicepod.yaml"), strings.Replace(pod,
		"datasets:\n", `  - { name: distance, from: sql, signature: { args: [{ name: a, type: utf8 }, { name: b, type: utf8 }], returns: int64 }, body: "levenshtein(a, b)" }
datasets:
`, 1))
	p := startProcess(t, dir, sqlProtocols("--watch=false")...)
	for protocol, ask := range asks(t, p, writerKey) {
		for _, sql := range []string{
			"INSERT INTO orders (name) SELECT json_structure(" + deep + "::JSON)",
			"UPDATE orders SET name = json_structure(" + deep + "::JSON)",
			"DELETE FROM orders WHERE id = list_transform(range(id + 300000000), lambda x: x * x)[1]",
			"INSERT INTO orders (name) VALUES ('a') RETURNING json_structure(" + deep + "::JSON)",
		} {
			sql += " -- " + protocol
			if _, err := ask(sql); err == nil || refusesAll.MatchString(err.Error()) {
				t.Errorf("%s: %s: got %v", protocol, sql, err)
			}
			p.want(p.do("POST", "/v1/sql", "SELECT id FROM orders", "X-API-Key", readerKey, "Cache-Control", "no-cache"), 200, `[{"id":1}]`)
		}
	}
	long := strings.Repeat("ab", 200_000)
	p.want(p.do("POST", "/v1/tools/distance:invoke", `{"args": {"a": "`+long+`", "b": "`+long+`x"}}`, "X-API-Key", readerKey),
		504, "the statement took longer than 3s")
	p.want(p.do("POST", "/v1/tools/distance:invoke", `{"args": {"a": "ab", "b": "abc"}}`, "X-API-Key", readerKey), 200, `"result":1`)

	conn, err := pgx.Connect(t.Context(), pgDSN(p, writerKey, "sslmode=disable"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // it was read to its end
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sql  string
		args []any
		n    int64
	}{
		{"INSERT INTO orders (id, name) SELECT id + $1, name FROM orders", []any{1}, 1},
		{"INSERT INTO orders SELECT id + 2, name, $1 FROM orders", []any{"2020-01-01"}, 2},
		{"UPDATE orders SET name = (SELECT string_agg(name, '') FROM orders) WHERE id > $1", []any{2}, 2},
		{"DELETE FROM orders WHERE id IN (SELECT max(id) FROM orders)", nil, 1},
	} {
		tag, err := tx.Exec(t.Context(), c.sql, c.args...)
		if err != nil || tag.RowsAffected() != c.n {
			t.Fatalf("%s: got %v, %v", c.sql, tag, err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT id, name FROM orders ORDER BY id", "X-API-Key", readerKey), 200,
		`[{"id":1,"name":"one"},{"id":2,"name":"one"},{"id":3,"name":"oneoneoneone"}]`)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("the memory of a process cannot be read here")
	}
	if peak, _ := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindStringSubmatch(string(status))[1]); peak > 600<<10 {
		t.Errorf("the process took %d MiB", peak>>10)
	}
}
