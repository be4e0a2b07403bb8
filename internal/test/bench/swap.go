package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	swapReloads = 200
	swapCallers = 16
)

// benchSwap reloads under load: two functions change together, and no answer may fail
// or mix their versions.
func benchSwap(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.pod("swap", twins(0))
	if err != nil {
		return nil, err
	}
	s, err := e.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var answers, failed, mixed atomic.Int64
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range swapCallers {
		wg.Go(func() {
			for ctx.Err() == nil {
				s.checkTwins(ctx, &answers, &failed, &mixed)
			}
		})
	}
	for i := range swapReloads {
		if err := s.reloadTwins(ctx, dir, i+1); err != nil {
			return nil, err
		}
	}
	cancel()
	wg.Wait()
	return []row{{
		fmt.Sprintf("%d reloads under %d querying clients, %d answers: failed, mixed", swapReloads, swapCallers, answers.Load()),
		fmt.Sprintf("%d, %d", failed.Load(), mixed.Load()), "0, 0",
	}}, nil
}

// twins declares two functions that return the same number.
func twins(n int) string {
	one := "  - { name: twin_%s, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: 'x + %d' }\n"
	return "functions:\n" + fmt.Sprintf(one, "a", n) + fmt.Sprintf(one, "b", n)
}

func (s *server) checkTwins(ctx context.Context, answers, failed, mixed *atomic.Int64) {
	status, body, err := s.sql(ctx, "SELECT twin_a(range) AS a, twin_b(range) AS b FROM range(100)")
	if ctx.Err() != nil {
		return
	}
	answers.Add(1)
	var rows []struct{ A, B int64 }
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &rows) != nil || len(rows) != 100 {
		failed.Add(1)
		return
	}
	for i, r := range rows {
		if r.A != r.B || r.A-int64(i) != rows[0].A {
			mixed.Add(1)
			return
		}
	}
}

// reloadTwins writes the next version and waits until it is served.
func (s *server) reloadTwins(ctx context.Context, dir string, n int) error {
	text := header("swap") + twins(n)
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o644); err != nil {
		return err
	}
	want := fmt.Sprintf(`"a":%d`, n)
	for ctx.Err() == nil {
		status, body, err := s.sql(ctx, "SELECT twin_a(0) AS a")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("status %d: %s: %w", status, body, err)
		}
		if strings.Contains(body, want) {
			return nil
		}
	}
	return ctx.Err()
}
