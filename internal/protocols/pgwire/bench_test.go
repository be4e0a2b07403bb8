package pgwire_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

const (
	pointQuery  = "SELECT name, x FROM numbers WHERE id = $1"
	connections = 16
)

// spread calls f b.N times from so many goroutines.
func spread(b *testing.B, f func(worker, i int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for worker := range connections {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				if err := f(worker, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkPoint compares a prepared statement of 16 clients with the same in
// this process.
func BenchmarkPoint(b *testing.B) {
	f := serve(b, nil)
	service := query.New(query.Options{DB: f.db})
	b.Run("in process", func(b *testing.B) {
		spread(b, func(_, i int) error {
			rows, err := service.Query(context.Background(), query.Request{Protocol: query.Postgres, Request: engine.Request{
				SQL: pointQuery, Params: engine.Params{Positional: []any{int64(i%10_000 + 1)}},
			}})
			if err != nil {
				return err
			}
			defer rows.Close()
			for chunk, err := range rows.Chunks() {
				if err != nil {
					return err
				}
				_ = string(chunk.Column(0).Bytes(0))
			}
			return nil
		})
	})
	b.Run("pgx", func(b *testing.B) {
		conns := make([]*pgx.Conn, connections)
		for i := range conns {
			conns[i] = f.connect("")
		}
		spread(b, func(worker, i int) error {
			var name string
			var x float64
			return conns[worker].QueryRow(context.Background(), pointQuery, i%10_000+1).Scan(&name, &x)
		})
	})
}

// BenchmarkRows reads many rows in binary.
func BenchmarkRows(b *testing.B) {
	f := serve(b, nil)
	c := f.raw()
	b.ReportAllocs()
	for b.Loop() {
		r := c.ExecParams(context.Background(), "SELECT a.id, a.name, a.x FROM numbers a, range(20)", nil, nil, nil, []int16{1})
		n := 0
		for r.NextRow() {
			n++
		}
		if _, err := r.Close(); err != nil || n != 200_000 {
			b.Fatal(n, err)
		}
	}
}
