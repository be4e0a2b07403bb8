package main

import (
	"context"
	"database/sql"
	"fmt"
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

// generate writes the rows of a query as a Parquet file into the Spicepod's folder.
func generate(ctx context.Context, dir, name, query string) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	file := filepath.Join(dir, name+".parquet")
	_, err = db.ExecContext(ctx, fmt.Sprintf("COPY (%s) TO '%s' (FORMAT parquet)", query, file))
	return err
}

// dataset declares a Parquet file accelerated in memory.
func dataset(name string) string {
	return fmt.Sprintf("datasets:\n  - name: %s\n    from: file:%s.parquet\n    acceleration: { enabled: true, mode: memory }\n", name, name)
}

const (
	rowsOfTables = 10_000_000
	points       = `SELECT range AS x, random() * 180 - 90 AS lat1, random() * 360 - 180 AS lon1, random() * 180 - 90 AS lat2, random() * 360 - 180 AS lon2 FROM range(%d)`
	wide         = `SELECT range AS id, random() AS a, (range * 7) %% 1000003 AS b, 'name of row ' || range AS name, TIMESTAMP '2020-01-01' + to_seconds(range) AS at FROM range(%d)`
)
