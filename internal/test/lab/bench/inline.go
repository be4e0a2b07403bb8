package main

import (
	"context"
	"fmt"
	"time"
)

// The two sides of a ratio alternate, long enough to average out noise.
const (
	ratioTime = 4 * time.Second
	minPairs  = 11
	maxPairs  = 101
)

// benchInline compares calls with the same SQL inlined in the statement.
func benchInline(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "inline", table: points, text: functions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var rows []row
	for _, c := range []struct{ what, call, inline string }{
		{"haversine_km", "SELECT sum(haversine_km(lat1, lon1, lat2, lon2)) FROM points", "SELECT sum(" + haversine + ") FROM points"},
		{"x * 2654435761", "SELECT bit_xor(internal_hash(x)) FROM points", "SELECT bit_xor(x * 2654435761) FROM points"},
	} {
		ratio, err := s.ratio(ctx, c.call, c.inline)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"declared function : inline SQL, 10 million rows, " + c.what, fmt.Sprintf("%.3f", ratio), "≤ 1.05"})
	}
	return rows, nil
}

// benchOnce checks that a volatile argument is evaluated once per row, and what that
// costs for ordinary columns.
func benchOnce(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "once", table: points, text: functions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	body, err := s.sql(ctx, "SELECT count(*) AS wrong FROM range(1000000) WHERE zero(random()) <> 0")
	if err != nil {
		return nil, err
	}
	ratio, err := s.ratio(ctx, "SELECT sum(zero(lat1)) FROM points", "SELECT sum(lat1 - lat1) FROM points")
	if err != nil {
		return nil, err
	}
	return []row{
		{"f(random()) with body x - x: rows of a million that are not 0", body, `[{"wrong":0}]`},
		{"the same f over a column : inline SQL, 10 million rows", fmt.Sprintf("%.3f", ratio), "≤ 1.05"},
	}, nil
}

// ratio runs a and b alternately and returns the median ratio of their times. The first
// pair is warm-up.
func (s *server) ratio(ctx context.Context, a, b string) (float64, error) {
	var ratios []float64
	began := time.Now()
	for i := 0; i <= minPairs || i <= maxPairs && time.Since(began) < ratioTime; i++ {
		ta, err := s.timed(ctx, a)
		if err != nil {
			return 0, err
		}
		tb, err := s.timed(ctx, b)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			ratios = append(ratios, ta.Seconds()/tb.Seconds())
		}
	}
	return median(ratios), nil
}

func (s *server) timed(ctx context.Context, statement string) (time.Duration, error) {
	began := time.Now()
	_, err := s.sql(ctx, statement)
	return time.Since(began), err
}
