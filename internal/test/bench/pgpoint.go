package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

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
	dir, err := e.pod("pgpoint", dataset("places")+functions)
	if err != nil {
		return nil, err
	}
	if err := generate(ctx, dir, "places", fmt.Sprintf(places, placeRows)); err != nil {
		return nil, err
	}
	s, err := e.serve(ctx, dir, "--postgres", anyPort)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	address, err := s.endpoint(ctx, "postgres")
	if err != nil {
		return nil, err
	}
	d, err := loaded(ctx, runtime.Options{Path: dir})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var ratios, overPostgres, inProcess []float64
	for range 3 {
		o, err := loadBy(ctx, postgresConnections, func(ctx context.Context, calls *atomic.Int64) error { return pgxCaller(ctx, address, calls) })
		if err != nil {
			return nil, err
		}
		p, err := loadBy(ctx, postgresConnections, func(ctx context.Context, calls *atomic.Int64) error { return engineCaller(ctx, d.DB(), calls) })
		if err != nil {
			return nil, err
		}
		ratios, overPostgres, inProcess = append(ratios, o/p), append(overPostgres, o), append(inProcess, p)
	}
	return []row{{
		fmt.Sprintf("point query by pgx, prepared (%.0f/s) : the same in-process (%.0f/s), %d connections", median(overPostgres), median(inProcess), postgresConnections),
		fmt.Sprintf("%.0f %%", 100*median(ratios)), "≥ 55 %",
	}}, nil
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

// pgxCaller keeps one connection busy. pgx prepares the statement on first use.
func pgxCaller(ctx context.Context, address string, calls *atomic.Int64) error {
	c, err := pgx.Connect(ctx, "postgresql://bench@"+address+"/spice?sslmode=disable")
	if err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	defer c.Close(whole)
	for i := 0; ctx.Err() == nil; i++ {
		var name string
		var km float64
		if err := c.QueryRow(whole, postgresSQL, i%placeRows).Scan(&name, &km); err != nil {
			return err
		}
		calls.Add(1)
	}
	return nil
}

func engineCaller(ctx context.Context, db *engine.DB, calls *atomic.Int64) error {
	for i := 0; ctx.Err() == nil; i++ {
		name, _, err := place(context.WithoutCancel(ctx), db, i%placeRows)
		if err != nil {
			return err
		}
		if name == "" {
			return fmt.Errorf("there is no place %d", i%placeRows)
		}
		calls.Add(1)
	}
	return nil
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
