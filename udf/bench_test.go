package udf

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/tools"
)

const haversine = `
- name: haversine_km
  from: sql
  volatility: immutable
  description: Great-circle distance in kilometres.
  signature:
    args: [{ name: lat1, type: float64 }, { name: lon1, type: float64 }, { name: lat2, type: float64 }, { name: lon2, type: float64 }]
    returns: float64
  body: 6371 * 2 * asin(sqrt(sin(radians(lat2 - lat1) / 2) ^ 2 + cos(radians(lat1)) * cos(radians(lat2)) * sin(radians(lon2 - lon1) / 2) ^ 2))
`

// BenchmarkToolCall measures calls a second and the slowest in a hundred, for
// so many callers at once.
func BenchmarkToolCall(b *testing.B) {
	r := start(b)
	r.load(haversine)
	tool := r.tool("haversine_km")
	for _, callers := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			b.ReportAllocs()
			took := make([][]time.Duration, callers)
			var wg sync.WaitGroup
			for w := range callers {
				wg.Go(func() {
					args := map[string]any{"lon1": json.Number("13.4"), "lat2": json.Number("48.8566"), "lon2": json.Number("2.3522")}
					for i := w; i < b.N; i += callers {
						args["lat1"] = json.Number(fmt.Sprintf("%d.5", i%90))
						begin := time.Now()
						if _, err := tool.Call(b.Context(), tools.Input{Arguments: args}); err != nil {
							b.Error(err)
							return
						}
						took[w] = append(took[w], time.Since(begin))
					}
				})
			}
			wg.Wait()
			all := slices.Sorted(slices.Values(slices.Concat(took...)))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
		})
	}
}
