package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// manyFunctions declares n functions with bodies as long as in the seed Spicepod.
func manyFunctions(n int, factor int) string {
	var b strings.Builder
	b.WriteString("functions:\n")
	for i := range n {
		radius := 6371
		if i == 0 {
			radius *= factor
		}
		fmt.Fprintf(&b, `  - name: distance_%d
    from: sql
    description: Great-circle distance number %d in kilometres.
    volatility: immutable
    signature:
      args: [{ name: lat1, type: float64 }, { name: lon1, type: float64 }, { name: lat2, type: float64 }, { name: lon2, type: float64 }]
      returns: float64
    body: |
      %d * acos(
        cos(radians(lat1)) * cos(radians(lat2)) * cos(radians(lon2) - radians(lon1)) +
        sin(radians(lat1)) * sin(radians(lat2))
      )
`, i, i, radius)
	}
	return b.String()
}

// benchStart measures the time from starting the process until /v1/ready succeeds.
func benchStart(ctx context.Context, e *env) ([]row, error) {
	var rows []row
	for _, c := range []struct {
		n      int
		target string
	}{{1000, "≤ 0.6 s"}, {10_000, "≤ 6 s"}} {
		dir, err := e.write(ctx, pod{name: fmt.Sprintf("start%d", c.n), text: manyFunctions(c.n, 1)})
		if err != nil {
			return nil, err
		}
		var times []time.Duration
		for range 3 {
			s, err := e.serveFolder(ctx, dir)
			if err != nil {
				return nil, err
			}
			times = append(times, time.Since(s.began))
			s.stop()
		}
		rows = append(rows, row{
			fmt.Sprintf("%d functions: start to ready, median of 3", c.n),
			fmt.Sprintf("%.2f s", median(times).Seconds()), c.target,
		})
	}
	return rows, nil
}
