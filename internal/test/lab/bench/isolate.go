package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/measure"
)

const (
	isolatePairs = 400
	// millisecond is a statement of about 1 ms.
	millisecond = "SELECT sum(i * 7 % 13) AS s, count(DISTINCT i % 100) AS n FROM range(30000) t(i) WHERE i >= $1"
)

// benchIsolate measures what a worker process adds to a statement of about 1 ms: p50 of
// consecutive pairs.
func benchIsolate(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.write(ctx, pod{name: "isolate", runtime: "  query: { isolation: process }\n", text: functions})
	if err != nil {
		return nil, err
	}
	d, err := loaded(ctx, runtime.Options{Path: dir, Worker: []string{e.binary, "worker"}})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	statement := func(isolate bool) func() (float64, error) {
		return func() (float64, error) {
			took, err := isolated(ctx, d.DB(), isolate)
			return ms(took), err
		}
	}
	// Warm-up: the worker starts, plans are cached.
	if _, _, _, err := alternate(20, statement(false), statement(true)); err != nil {
		return nil, err
	}
	here, there, _, err := alternate(isolatePairs, statement(false), statement(true))
	return []row{{
		fmt.Sprintf("isolation: added to a statement of %.2f ms, p50 of %d pairs", here, isolatePairs),
		fmt.Sprintf("%.2f ms", there-here), "≤ 0.5 ms",
	}}, err
}

// isolated returns how long the statement takes in a worker, or in this process.
func isolated(ctx context.Context, db *engine.DB, isolate bool) (time.Duration, error) {
	began := time.Now()
	err := measure.Read(ctx, db, engine.Request{SQL: millisecond, Params: engine.Params{Positional: []any{int64(10)}}, Isolate: isolate})
	return time.Since(began), err
}
