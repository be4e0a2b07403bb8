package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/spiced-sql/spiced/functions/prelude"
)

const pointSQL = "SELECT name, haversine_km(lat, lon, 47.45, -122.31) AS km FROM places WHERE id = ?"

// benchPoint compares a point query over HTTP with the same statement prepared in this
// process through database/sql, alternately, both from 32 callers.
func benchPoint(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "point", table: places, text: functions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	stmt, closeDB, err := preparedPlaces(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	overHTTP, inProcess, ratio, err := compare(ctx, loadCallers,
		s.poster("/v1/sql", jsonHeader, func(i int) string {
			return fmt.Sprintf(`{"sql":%q,"parameters":[%d]}`, pointSQL, i%places.rows)
		}),
		func(ctx context.Context) (caller, error) {
			whole := context.WithoutCancel(ctx)
			return caller{call: func(i int) error {
				var name string
				var km float64
				return stmt.QueryRowContext(whole, i%places.rows).Scan(&name, &km)
			}}, nil
		})
	return []row{{
		fmt.Sprintf("point query over HTTP (%.0f/s) : prepared in-process through database/sql (%.0f/s), 32 callers", overHTTP, inProcess),
		fmt.Sprintf("%.0f %%", 100*ratio), "≥ 60 %",
	}}, err
}

// preparedPlaces prepares the statement with the same rows, function and schemas.
func preparedPlaces(ctx context.Context, dir string) (*sql.Stmt, func(), error) {
	connector, err := duckdb.NewConnector("", func(c driver.ExecerContext) error {
		_, err := c.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS datafusion; SET search_path = 'memory.main,memory.datafusion'", nil)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(loadCallers)
	db.SetMaxIdleConns(loadCallers)
	ddl := []string{"CREATE TABLE places AS SELECT * FROM read_parquet('" + dir + "/places.parquet')"}
	for _, m := range prelude.Macros {
		if m.Name == "acos" {
			ddl = append(ddl, strings.ReplaceAll(m.SQL(), "spice.", "memory."))
		}
	}
	ddl = append(ddl, "CREATE FUNCTION haversine_km(lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE) AS CAST(("+haversine+") AS DOUBLE)")
	for _, d := range ddl {
		if _, err := db.ExecContext(ctx, d); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d, err)
		}
	}
	stmt, err := db.PrepareContext(ctx, pointSQL)
	return stmt, func() { db.Close() }, err
}
