package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// benchReload changes one of many functions and measures the time from writing the file
// to the first answer of the new body.
func benchReload(ctx context.Context, e *env) ([]row, error) {
	small, err := e.edits(ctx, 1000, 15, "≤ 150 ms")
	if err != nil {
		return nil, err
	}
	large, err := e.edits(ctx, 10_000, 5, "≤ 300 ms")
	return []row{small, large}, err
}

// edits is benchReload for n functions.
func (e *env) edits(ctx context.Context, n, rounds int, target string) (row, error) {
	version := func(factor int) pod { return pod{name: fmt.Sprintf("reload%d", n), text: manyFunctions(n, factor)} }
	s, err := e.serve(ctx, version(1))
	if err != nil {
		return row{}, err
	}
	defer s.stop()
	const statement = "SELECT round(distance_0(0, 0, 0, 180))::BIGINT AS d"
	var times []time.Duration
	for i := range rounds {
		factor := i + 2
		next, want := version(factor), fmt.Sprintf(`"d":%d`, int64(float64(6371*factor)*3.141592653589793+0.5))
		began := time.Now()
		if err := s.reload(ctx, next, statement, want); err != nil {
			return row{}, err
		}
		times = append(times, time.Since(began))
	}
	return row{
		fmt.Sprintf("reload after one of %d functions changed, file write to new answer, median of %d (worst)", n, rounds),
		fmt.Sprintf("%d ms (%d ms)", median(times).Milliseconds(), worst(times).Milliseconds()), target,
	}, nil
}

// reload writes a version of the Spicepod and waits until the answer of a statement
// contains want.
func (s *server) reload(ctx context.Context, p pod, statement, want string) error {
	if err := os.WriteFile(filepath.Join(s.dir, "spicepod.yaml"), []byte(p.yaml()), 0o644); err != nil {
		return err
	}
	for began := time.Now(); ; {
		body, err := s.sql(ctx, statement)
		if err != nil || strings.Contains(body, want) {
			return err
		}
		if time.Since(began) > deadline {
			return fmt.Errorf("still %s, want %s", body, want)
		}
	}
}
