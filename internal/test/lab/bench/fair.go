package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// fairAuth are two keys, one for each side.
	fairAuth = `  query: { timeout: 10m }
  caching: { sql_results: { enabled: false } }
  auth: { api-key: { principals: [{ name: flood, key: flood-key-0123456789 }, { name: other, key: other-key-0123456789 }] } }
`
	floodKey = jsonHeader + "X-API-Key: flood-key-0123456789\r\n"
	otherKey = jsonHeader + "X-API-Key: other-key-0123456789\r\n"

	floodStatements = 40
	floodBegins     = time.Second // after which they use all slots
	endless         = `{"sql":"SELECT count(*) FROM range(1e12::BIGINT) a, range(1000) b"}`
)

// benchFair measures SELECT 1 of one key while another runs endless statements.
func benchFair(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "fair", runtime: fairAuth})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	one := s.poster("/v1/sql", otherKey, func(int) string { return `{"sql":"SELECT 1"}` })
	alone, err := apply(ctx, 1, one)
	if err != nil {
		return nil, err
	}
	stop, err := s.flood(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	beside, err := apply(ctx, 1, one)
	if err != nil {
		return nil, err
	}
	return []row{{
		fmt.Sprintf("SELECT 1 of one key while another runs %d endless statements, p99 (p50 %.1f ms; alone %.1f ms, p99 %.1f ms)",
			floodStatements, median(beside.times), median(alone.times), alone.p99()),
		fmt.Sprintf("%.1f ms", beside.p99()), "≤ 50 ms",
	}}, nil
}

// flood starts endless statements, which stop ends.
func (s *server) flood(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	stop = func() { cancel(); all.Wait() }
	open := s.poster("/v1/sql", floodKey, func(int) string { return endless })
	for range floodStatements {
		c, err := open(ctx)
		if err != nil {
			stop()
			return nil, err
		}
		all.Go(func() {
			_ = c.call(0) // ends with ctx
			c.close()
		})
	}
	select {
	case <-time.After(floodBegins):
		return stop, nil
	case <-ctx.Done():
		stop()
		return nil, ctx.Err()
	}
}
