package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

const postgresConnections = 16

// postgresSQL is pointSQL with PostgreSQL's parameter syntax.
var postgresSQL = strings.Replace(pointSQL, "?", "$1", 1)

// benchPostgresPoint compares a point query prepared by pgx with the same in this
// process, alternately, both from 16 callers. The in-process side includes the guard,
// the pool and the planning of each execution as well.
func benchPostgresPoint(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "pgpoint", table: places, text: functions, flags: []string{"--postgres", anyPort}})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	address, err := s.endpoint(ctx, "postgres")
	if err != nil {
		return nil, err
	}
	d, err := loaded(ctx, runtime.Options{Path: s.dir})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	overPostgres, inProcess, ratio, err := compare(ctx, postgresConnections,
		func(ctx context.Context) (caller, error) { return pgxCaller(ctx, address) },
		func(ctx context.Context) (caller, error) { return engineCaller(ctx, d.DB()), nil })
	return []row{{
		fmt.Sprintf("point query by pgx, prepared (%.0f/s) : the same in-process (%.0f/s), %d connections", overPostgres, inProcess, postgresConnections),
		fmt.Sprintf("%.0f %%", 100*ratio), "≥ 55 %",
	}}, err
}

// loaded returns a runtime in this process that serves its Spicepod.
func loaded(ctx context.Context, o runtime.Options) (*runtime.Runtime, error) {
	d, err := runtime.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if report := d.Load(ctx, "bench"); !report.Accepted {
		d.Close()
		return nil, report.Problems
	}
	return d, nil
}

// pgxCaller runs the query over a connection. pgx prepares the statement on first use.
func pgxCaller(ctx context.Context, address string) (caller, error) {
	c, err := pgx.Connect(ctx, "postgresql://bench@"+address+"/spice?sslmode=disable")
	if err != nil {
		return caller{}, err
	}
	whole := context.WithoutCancel(ctx)
	return caller{func(i int) error {
		var name string
		var km float64
		return c.QueryRow(whole, postgresSQL, i%places.rows).Scan(&name, &km)
	}, func() { c.Close(whole) }}, nil
}

func engineCaller(ctx context.Context, db *engine.DB) caller {
	whole := context.WithoutCancel(ctx)
	return caller{call: func(i int) error {
		name, _, err := place(whole, db, i%places.rows)
		if err == nil && name == "" {
			err = fmt.Errorf("there is no place %d", i%places.rows)
		}
		return err
	}}
}

// place runs the point query.
func place(ctx context.Context, db *engine.DB, id int) (name string, km float64, err error) {
	rows, err := db.Query(ctx, engine.Request{SQL: postgresSQL, Params: engine.Params{Positional: []any{int64(id)}}})
	if err != nil {
		return "", 0, err
	}
	defer rows.Close()
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "", 0, err
		}
		name, km = string(chunk.Column(0).Bytes(0)), engine.Value[float64](chunk.Column(1), 0)
	}
	return name, km, nil
}
