package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/registry"
)

// benchInvoke compares calls of haversine_km over HTTP with calls of the registry in
// this process, alternately, both from 32 callers. All arguments differ, so that no
// result is cached.
func benchInvoke(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "invoke", text: functions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	d, err := loaded(ctx, runtime.Options{Path: s.dir})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	p99 := 0.0
	overHTTP, inProcess, ratio, err := alternate(loadRounds, func() (float64, error) {
		l, err := apply(ctx, loadCallers, s.poster("/v1/tools/haversine_km:invoke", jsonHeader, func(int) string {
			return `{"args":` + haversineArguments() + `}`
		}))
		if err == nil {
			p99 = max(p99, l.p99())
		}
		return l.rate, err
	}, func() (float64, error) {
		l, err := apply(ctx, loadCallers, func(ctx context.Context) (caller, error) { return invoker(ctx, d.Tools()), nil })
		return l.rate, err
	})
	return []row{
		{":invoke of haversine_km over HTTP, 32 connections", fmt.Sprintf("%.0f/s, p99 %.1f ms", overHTTP, p99), "≥ 8,000/s, ≤ 25 ms"},
		{
			fmt.Sprintf(":invoke over HTTP : the registry in-process (%.0f/s), 32 callers", inProcess),
			fmt.Sprintf("%.0f %%", 100*ratio), "≥ 50 %",
		},
	}, err
}

// argumentsSeen numbers calls, so that no two are equal.
var argumentsSeen atomic.Int64

func haversineArguments() string {
	n := argumentsSeen.Add(1)
	return fmt.Sprintf(`{"lat1":%d.5,"lon1":%d.25,"lat2":47.45,"lon2":-122.31}`, n%90, n)
}

// invoker calls haversine_km in this process.
func invoker(ctx context.Context, r *registry.Registry) caller {
	whole := context.WithoutCancel(ctx)
	return caller{call: func(int) error {
		result := r.Invoke(whole, registry.Call{Name: "haversine_km", Arguments: json.RawMessage(haversineArguments())})
		if !result.OK {
			return result.Error
		}
		return nil
	}}
}
