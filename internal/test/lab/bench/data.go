package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/duckdb/duckdb-go/v2" // the driver of the in-process sides of the ratios
)

// haversine is the body of the function in the seed Spicepod, with the columns of table
// points.
const haversine = `6371 * acos(cos(radians(lat1)) * cos(radians(lat2)) * cos(radians(lon2) - radians(lon1)) + sin(radians(lat1)) * sin(radians(lat2)))`

// functions are the two functions of the seed Spicepod, and one that uses its argument
// twice.
const functions = `functions:
  - name: haversine_km
    from: sql
    volatility: immutable
    signature:
      args: [{ name: lat1, type: float64 }, { name: lon1, type: float64 }, { name: lat2, type: float64 }, { name: lon2, type: float64 }]
      returns: float64
    body: ` + haversine + `
  - name: internal_hash
    from: sql
    as_tool: false
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2654435761
  - name: zero
    from: sql
    signature: { args: [{ name: x, type: float64 }], returns: float64 }
    body: x - x
`

// pod is a Spicepod with at most one table, and the flags to serve it with.
type pod struct {
	name    string
	runtime string // settings of the runtime; "": usual
	table   table
	text    string // the declarations
	flags   []string
}

// usual allows long statements and disables the caches of results.
const usual = "  query: { timeout: 10m }\n  caching: { sql_results: { enabled: false } }\n  tools: { cache: { enabled: false } }\n"

// yaml returns the file.
func (p pod) yaml() string {
	return "version: v1\nkind: Spicepod\nname: " + p.name + "\nruntime:\n  functions: { enabled: true }\n" +
		cmp.Or(p.runtime, usual) + p.table.declaration() + p.text
}

// write writes the Spicepod and the rows of the table into a new folder.
func (e *env) write(ctx context.Context, p pod) (dir string, err error) {
	dir = filepath.Join(e.dir, p.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(p.yaml()), 0o644); err != nil {
		return "", err
	}
	return dir, p.table.generate(ctx, dir)
}

// table is a Parquet file accelerated in memory; it has the rows of a query. The zero
// value is no table.
type table struct {
	name, query string
	rows        int
}

var (
	points = table{
		"points",
		`SELECT range AS x, random() * 180 - 90 AS lat1, random() * 360 - 180 AS lon1, random() * 180 - 90 AS lat2, random() * 360 - 180 AS lon2 FROM range(%d)`,
		10_000_000,
	}
	wide   = table{"wide", `SELECT range AS id, random() AS a, (range * 7) %% 1000003 AS b, 'name of row ' || range AS name, TIMESTAMP '2020-01-01' + to_seconds(range) AS at FROM range(%d)`, 10_000_000}
	places = table{"places", `SELECT range AS id, 'place ' || range AS name, random() * 180 - 90 AS lat, random() * 360 - 180 AS lon FROM range(%d)`, 10_000}
)

func (t table) declaration() string {
	if t.name == "" {
		return ""
	}
	return fmt.Sprintf("datasets:\n  - name: %s\n    from: file:%s.parquet\n    acceleration: { enabled: true, mode: memory }\n", t.name, t.name)
}

// generate writes the file into the Spicepod's folder.
func (t table) generate(ctx context.Context, dir string) error {
	if t.name == "" {
		return nil
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	file := filepath.Join(dir, t.name+".parquet")
	_, err = db.ExecContext(ctx, fmt.Sprintf("COPY (%s) TO '%s' (FORMAT parquet)", fmt.Sprintf(t.query, t.rows), file))
	return err
}
