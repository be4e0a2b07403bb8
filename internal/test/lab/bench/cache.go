package main

import (
	"context"
	"fmt"
)

// cachedSQL is a statement of about a millisecond.
const cachedSQL = "SELECT count(*) AS n, avg(haversine_km(lat, lon, 47.45, -122.31)) AS km FROM places"

// benchCache compares answers from the result cache with running the same statement
// each time, alternately, both over HTTP from 32 callers.
func benchCache(ctx context.Context, e *env) ([]row, error) {
	// The cache is enabled by default.
	s, err := e.serve(ctx, pod{name: "cache", runtime: "  query: { timeout: 10m }\n", table: places, text: functions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	statement := func(int) string { return cachedSQL }
	cached, run, _, err := compare(ctx, loadCallers,
		s.poster("/v1/sql", textHeader, statement), s.poster("/v1/sql", textHeader+"Cache-Control: no-cache\r\n", statement))
	return []row{{
		fmt.Sprintf("result cache: /v1/sql answers of one statement, 32 connections (run each time: %.0f/s)", run),
		fmt.Sprintf("%.0f/s", cached), "reported",
	}}, err
}
