package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// benchReload changes one of 1,000 functions and measures the time from writing the
// file to the first answer of the new body.
func benchReload(ctx context.Context, e *env) ([]row, error) {
	const n, rounds = 1000, 15
	dir, err := e.pod("reload", manyFunctions(n, 1))
	if err != nil {
		return nil, err
	}
	s, err := e.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	const statement = "SELECT round(distance_0(0, 0, 0, 180))::BIGINT AS d"
	var times []time.Duration
	for i := range rounds {
		factor := i + 2
		text := header("reload") + manyFunctions(n, factor)
		want := fmt.Sprintf(`"d":%d`, int64(float64(6371*factor)*3.141592653589793+0.5))
		began := time.Now()
		if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o644); err != nil {
			return nil, err
		}
		for {
			status, body, err := s.sql(ctx, statement)
			if err != nil || status != 200 {
				return nil, fmt.Errorf("status %d: %s: %w", status, body, err)
			}
			if strings.Contains(body, want) {
				break
			}
			if time.Since(began) > deadline {
				return nil, fmt.Errorf("still %s, want %s", body, want)
			}
		}
		times = append(times, time.Since(began))
	}
	return []row{{
		fmt.Sprintf("reload after one of %d functions changed, file write to new answer, median of %d (worst)", n, rounds),
		fmt.Sprintf("%d ms (%d ms)", median(times).Milliseconds(), worst(times).Milliseconds()), "≤ 150 ms",
	}}, nil
}
