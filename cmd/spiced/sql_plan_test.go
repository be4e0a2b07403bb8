package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// planPod is a Spicepod with a file of two tables, both of which are written,
// and what reads them in every way.
const planPod = "version: v1\nkind: Spicepod\nname: plans\n" + `runtime:
  functions: { enabled: true }
  caching: { sql_results: { enabled: true, item_ttl: 10m } }
  auth: { api-key: { keys: ["` + readerKey + `", "` + writerKey + `:rw"] } }
functions:
  - { name: above, from: sql, signature: { args: [{ name: least, type: int64 }], returns: int64 }, body: (SELECT count(*) FROM a WHERE id > least) }
  - name: a_from
    from: sql
    signature: { args: [{ name: least, type: int64 }], returns: [{ name: id, type: int64 }, { name: v, type: utf8 }] }
    body: SELECT id, v FROM a WHERE id > least
datasets:
  - { name: a, from: "duckdb:plans.db/a", access: read_write }
  - { name: b, from: "duckdb:plans.db/b", access: read_write }
  - { name: same, from: "duckdb:plans.db/a" }
views:
  - { name: both, sql: "SELECT a.id, v, w FROM a JOIN b ON a.id = b.id" }
`

// planSelects are statements whose plans depend on the statistics of the tables.
var planSelects = []string{
	"SELECT v FROM a WHERE id > 150 ORDER BY ALL",
	"SELECT v FROM a WHERE id = 200 ORDER BY ALL",
	"SELECT v FROM a WHERE v >= 'v9' AND id < 0 ORDER BY ALL",
	"SELECT count(*) AS n, min(id) AS lo, max(id) AS hi, min(v) AS v FROM a",
	"SELECT count(n) AS n, count(*) FILTER (n IS NULL) AS missing FROM a",
	"SELECT v FROM same WHERE id > 150 ORDER BY ALL",
	"SELECT * FROM both WHERE id > 150 ORDER BY ALL",
	"SELECT a.id, w FROM a LEFT JOIN b ON a.id = b.id WHERE w IS NOT NULL ORDER BY ALL",
	"SELECT count(*) AS n FROM a JOIN b ON a.id = b.id + 150",
	"SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE id > 150) ORDER BY ALL",
	"SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.id > 10) ORDER BY ALL",
	"SELECT id, n + 1 AS n FROM a WHERE n > 100 ORDER BY ALL",
	"SELECT above(150) AS n",
	"SELECT * FROM a_from(150) ORDER BY ALL",
	"SELECT n // 10 AS tens, count(*) AS n FROM a GROUP BY ALL ORDER BY ALL",
	"SELECT id FROM a UNION SELECT id FROM b WHERE id > 150 ORDER BY ALL",
}

// planChange is a random statement that writes.
func planChange(r *rand.Rand) string {
	table := []string{"a", "b"}[r.IntN(2)]
	id := []int{-5, 7, 50, 151, 200, 300, 1000}[r.IntN(7)]
	column := map[string]string{"a": "v", "b": "w"}[table]
	switch r.IntN(7) {
	case 0:
		return fmt.Sprintf("UPDATE %s SET id = id + %d WHERE id %% 10 = %d", table, id, r.IntN(10))
	case 1:
		return fmt.Sprintf("UPDATE %s SET %s = 'v9' || %d WHERE id > %d", table, column, r.IntN(3), id)
	case 2:
		return fmt.Sprintf("DELETE FROM %s WHERE id >= %d", table, id)
	case 3:
		return fmt.Sprintf("UPDATE a SET n = %s WHERE id < %d", []string{"NULL", "1000", "n * 2"}[r.IntN(3)], id)
	case 4:
		return fmt.Sprintf("INSERT INTO b SELECT id + 1, v FROM a WHERE id > %d", id)
	}
	return fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%d, 'v%d'), (%d, NULL)", table, column, id, id, id+r.IntN(3))
}

// planFile makes a folder with planPod and its file.
func planFile(t *testing.T) string {
	t.Helper()
	dir := folder(t, "spicepod.yaml", planPod)
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{
		"ATTACH '" + filepath.Join(dir, "plans.db") + "' AS plans",
		"CREATE TABLE plans.main.a AS SELECT range AS id, 'v' || range AS v, (range % 50)::INTEGER AS n FROM range(100)",
		"CREATE TABLE plans.main.b AS SELECT range AS id, 'w' || range AS w FROM range(5)",
		"DETACH plans",
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return dir
}

// TestSQLCachedPlansSeeWrites runs random writes, and after each one statements
// that were asked before. They must give what the same statements give in a text
// that is new, whose plans are new too.
func TestSQLCachedPlansSeeWrites(t *testing.T) {
	t.Parallel()
	p := start(t, planFile(t))
	ask := func(key, sql string) string {
		return p.do("POST", "/v1/sql", sql, "X-API-Key", key).body
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range full.Size(10, 60) {
		change := planChange(r)
		if n > 0 {
			if out := ask(writerKey, change); !strings.Contains(out, "Count") {
				t.Fatalf("%s: %s", change, out)
			}
		}
		for i, sql := range planSelects {
			want := ask(readerKey, fmt.Sprintf("%s /* %d.%d */", sql, n, i))
			for range 2 {
				if got := ask(readerKey, sql); got != want {
					t.Fatalf("after change %d, %s, %s\ngave %s\nwant %s", n, change, sql, got, want)
				}
			}
		}
	}
}

// TestSQLSessionsSeeWrites asks again what sessions have prepared.
func TestSQLSessionsSeeWrites(t *testing.T) {
	t.Parallel()
	p := start(t, planFile(t), sqlProtocols()...)
	const sql = "SELECT coalesce(string_agg(v, ' ' ORDER BY id), 'none') AS v FROM a WHERE id > 150"
	clients := map[string]func() (string, error){}
	for _, mode := range pgxModes {
		c := pgxConnect(t, p, readerKey, "sslmode=disable&default_query_exec_mode="+mode)
		clients[mode] = func() (v string, err error) {
			err = c.QueryRow(t.Context(), sql).Scan(&v)
			return v, err
		}
	}
	named := pgxConnect(t, p, readerKey, "sslmode=disable")
	if _, err := named.Prepare(t.Context(), "cached", sql); err != nil {
		t.Fatal(err)
	}
	clients["named"] = func() (v string, err error) {
		err = named.QueryRow(t.Context(), "cached").Scan(&v)
		return v, err
	}
	flight := flightConnect(t, p, readerKey, insecure.NewCredentials())
	statement, err := flight.Prepare(flight.ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	clients["flight"] = func() (string, error) { return flight.query(sql) }
	clients["flight, prepared"] = func() (string, error) { return flight.read(statement.Execute(flight.ctx)) }
	writer := pgxConnect(t, p, writerKey, "sslmode=disable")
	for _, change := range []struct{ sql, want string }{
		{"", "none"},
		{"INSERT INTO a VALUES (200, 'v200', 1)", "v200"},
		{"UPDATE a SET id = 300 WHERE id = 1", "v200 v1"},
		{"DELETE FROM a WHERE id = 200", "v1"},
		{"INSERT INTO a VALUES (200, 'again', 1)", "again v1"},
	} {
		if change.sql != "" {
			if _, err := writer.Exec(t.Context(), change.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
		}
		for name, ask := range clients {
			for range 3 {
				got, err := ask()
				if got = strings.TrimPrefix(strings.TrimSpace(got), "v utf8 | "); err != nil || got != change.want {
					t.Errorf("%s after %q: got %q, %v; want %q", name, change.sql, got, err, change.want)
				}
			}
		}
	}
}
