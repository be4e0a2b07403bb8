package runtime

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// invalidates makes DuckDB refuse all further statements: see internal/sql/engine/unsafe.txt.
const invalidates = `SELECT "is_histogram_other_bin"(c0) AS v FROM (VALUES (1), (-1), (NULL)) t(c0), range(1000) r(n) WHERE n % 3 <> 1`

// lose runs a statement that makes DuckDB refuse all others.
func (r *rig) lose() {
	r.t.Helper()
	before := r.DB().Openings()
	rows, err := r.DB().Query(r.t.Context(), engine.Request{SQL: invalidates})
	if err == nil {
		for _, err = range rows.Chunks() {
		}
		rows.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "DuckDB failed with an internal error") {
		r.t.Fatalf("got %v, want that DuckDB failed", err)
	}
	if !r.DB().Lost() && r.DB().Openings() == before {
		r.t.Fatal("DuckDB was not lost")
	}
}

const lostPod = `
datasets:
  - {name: t, from: 'file:t.csv'}
  - {name: memory, from: 'file:t.csv', acceleration: {enabled: true, mode: memory}}
  - {name: stored, from: 'file:t.csv', acceleration: {enabled: true, mode: file}}
  - {name: w, from: 'duckdb:w.db', access: read_write}
views:
  - {name: v, sql: 'SELECT a, twice(a) AS b FROM memory'}
  - {name: copied, sql: 'SELECT sum(a) AS n FROM t', acceleration: {enabled: true}}
functions:
`

// Everything that is served is there again after an error of DuckDB that ended all
// statements, and nothing was restarted.
func TestEverythingIsServedAfterDuckDBWasLost(t *testing.T) {
	t.Parallel()
	database := databaseFile(t, "CREATE TABLE made.w AS SELECT 1 AS id")
	r := start(t, files{
		"t.csv": "a\n1\n2\n", "w.db": "raw:" + database,
		"spicepod.yaml": lostPod + fn("twice", "x", "x * 2") + fn("total", "", "(SELECT sum(b)::BIGINT FROM v)"),
	},
		func(o *Options) {
			o.Clients = func(spicepod.Runtime) *engine.ClientCatalog { return pgcatalog.Catalog() }
			o.StateDir = t.TempDir()
		})
	write := func(sql string) {
		t.Helper()
		rows, err := r.DB().Query(t.Context(), engine.Request{SQL: sql, Write: true})
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	write("INSERT INTO w VALUES (2)")
	r.untilAnswer("SELECT n FROM copied", "3")
	for generation := uint64(2); generation <= 3; generation++ {
		r.lose()
		r.want("SELECT sum(a) FROM t", "3") // the first statement waits
		r.untilAnswer("SELECT sum(a) FROM memory", "3")
		r.want("SELECT sum(a) FROM stored", "3")
		r.want("SELECT total()", "6")
		r.want("SELECT sum(b) FROM v", "6")
		r.untilAnswer("SELECT n FROM copied", "3")
		r.want("SELECT count(*) FROM list_udfs() WHERE name IN ('twice', 'total')", "2")
		r.want("SELECT count(*) > 0 FROM pgcatalog.pg_class WHERE relname = 'memory'", "true")
		write("INSERT INTO w VALUES (3)")
		r.want("SELECT sum(id) FROM w", map[uint64]string{2: "6", 3: "9"}[generation])
		if g := r.Current(); g.Number < generation || !r.Ready() {
			t.Errorf("generation %d, ready %v", g.Number, r.Ready())
		}
		if report, err := r.Reload(t.Context(), "request"); err != nil || !report.Accepted || len(report.Problems) > 0 || len(report.Changed) > 0 {
			t.Errorf("a reload afterwards: %+v, %v", report, err)
		}
	}
}

// An edit that is refused, or is in work, does not delay what was served.
func TestLostDuckDBWithAFaultyEdit(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{"structure": "raw:version: [", "function": head + csvs + "functions:\n" + fn("f", "x", "x +")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": csvs + "functions:\n" + fn("f", "x", "x + 1")})
			r.write(files{"spicepod.yaml": edit})
			r.lose()
			r.want("SELECT f(a) FROM t", "2")
		})
	}
}

// Statements of others that were running or waiting end well.
func TestOthersAreServedWhileDuckDBIsLost(t *testing.T) {
	t.Parallel()
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": csvs + "functions:\n" + fn("f", "x", "x + 1")})
	ctx, cancel := context.WithCancel(t.Context())
	others := make(chan error, 4)
	for range cap(others) {
		go func() {
			var err error
			for err == nil && ctx.Err() == nil {
				_, err = ask(t.Context(), r.Runtime, "SELECT f(a) FROM t")
			}
			others <- err
		}()
	}
	r.lose()
	deadline := time.Now().Add(30 * time.Second)
	for r.DB().Lost() && time.Now().Before(deadline) {
		r.want("SELECT f(a) FROM t", "2")
	}
	cancel()
	for range cap(others) {
		if err := <-others; err != nil && !strings.Contains(err.Error(), "another statement made DuckDB fail") {
			t.Error(err)
		}
	}
}
