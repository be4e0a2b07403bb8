package isolate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// oneMillisecond is a statement of about 1 ms in this process.
const oneMillisecond = "SELECT sum(i * 7 % 13) AS s, count(DISTINCT i % 100) AS n FROM range(30000) t(i) WHERE i >= $1"

func (w *world) read(tb testing.TB, req engine.Request) {
	rows, err := w.Query(context.Background(), req)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkAddedCost tells what isolation adds to a statement of 1 ms: p50 of
// pairs that run one after the other.
func BenchmarkAddedCost(b *testing.B) {
	w := newWorld(b)
	params := engine.Params{Positional: []any{int64(10)}}
	var times [2][]time.Duration
	for b.Loop() {
		for i := range times {
			begin := time.Now()
			w.read(b, engine.Request{SQL: oneMillisecond, Params: params, Isolate: i == 1})
			times[i] = append(times[i], time.Since(begin))
		}
	}
	median := func(d []time.Duration) float64 { slices.Sort(d); return float64(d[len(d)/2].Microseconds()) }
	direct, isolated := median(times[0]), median(times[1])
	b.ReportMetric(direct, "direct-µs/p50")
	b.ReportMetric(isolated, "isolated-µs/p50")
	b.ReportMetric(isolated-direct, "added-µs/p50")
}

// BenchmarkRows tells how fast rows cross.
func BenchmarkRows(b *testing.B) {
	w := newWorld(b)
	const n = 1_000_000
	for _, c := range []struct {
		name    string
		isolate bool
	}{{"direct", false}, {"isolated", true}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				w.read(b, engine.Request{
					SQL:     "SELECT i, i * 1.5::DOUBLE AS d, 'short' AS s, 'a longer text ' || i AS l, i % 2 = 0 AS b FROM range(1000000) t(i)",
					Isolate: c.isolate,
				})
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
