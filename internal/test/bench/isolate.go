package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

const (
	isolatePairs = 400
	// millisecond is a statement of about 1 ms.
	millisecond = "SELECT sum(i * 7 % 13) AS s, count(DISTINCT i % 100) AS n FROM range(30000) t(i) WHERE i >= $1"
)

// benchIsolate measures what a worker process adds to a statement of about 1 ms: p50 of
// consecutive pairs.
func benchIsolate(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.podWith("isolate", "  query: { isolation: process }\n", functions)
	if err != nil {
		return nil, err
	}
	d, err := loaded(ctx, runtime.Options{Path: dir, Worker: []string{e.binary, "worker"}})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	here, there := make([]float64, 0, isolatePairs), make([]float64, 0, isolatePairs)
	for i := range isolatePairs + 20 {
		direct, err := isolated(ctx, d.DB(), false)
		if err != nil {
			return nil, err
		}
		remote, err := isolated(ctx, d.DB(), true)
		if err != nil {
			return nil, err
		}
		if i >= 20 { // the worker runs, plans are cached
			here, there = append(here, ms(direct)), append(there, ms(remote))
		}
	}
	return []row{{
		fmt.Sprintf("isolation: added to a statement of %.2f ms, p50 of %d pairs", median(here), isolatePairs),
		fmt.Sprintf("%.2f ms", median(there)-median(here)), "≤ 2 ms",
	}}, nil
}

// isolated returns how long the statement takes in a worker, or in this process.
func isolated(ctx context.Context, db *engine.DB, isolate bool) (time.Duration, error) {
	began := time.Now()
	rows, err := db.Query(ctx, engine.Request{SQL: millisecond, Params: engine.Params{Positional: []any{int64(10)}}, Isolate: isolate})
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
