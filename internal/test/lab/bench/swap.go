package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	s, err := e.serve(ctx, twins(0))
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
		if err := s.reload(ctx, twins(i+1), "SELECT twin_a(0) AS a", fmt.Sprintf(`"a":%d`, i+1)); err != nil {
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
func twins(n int) pod {
	one := "  - { name: twin_%s, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: 'x + %d' }\n"
	return pod{name: "swap", text: "functions:\n" + fmt.Sprintf(one, "a", n) + fmt.Sprintf(one, "b", n)}
}

func (s *server) checkTwins(ctx context.Context, answers, failed, mixed *atomic.Int64) {
	body, err := s.sql(ctx, "SELECT twin_a(range) AS a, twin_b(range) AS b FROM range(100)")
	if ctx.Err() != nil {
		return
	}
	answers.Add(1)
	var rows []struct{ A, B int64 }
	if err != nil || json.Unmarshal([]byte(body), &rows) != nil || len(rows) != 100 {
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
