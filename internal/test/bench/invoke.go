package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/registry"
)

// benchInvoke compares calls of haversine_km over HTTP with calls of the registry in
// this process, alternately, both from 32 callers. All arguments differ, so that no
// result is cached.
func benchInvoke(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.pod("invoke", functions)
	if err != nil {
		return nil, err
	}
	s, err := e.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	d, err := loaded(ctx, runtime.Options{Path: dir})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var ratios, overHTTP, inProcess []float64
	times := &latencies{}
	for range 3 {
		h, err := load(ctx, func(ctx context.Context, calls *atomic.Int64) error { return invokeCaller(ctx, s, calls, times) })
		if err != nil {
			return nil, err
		}
		p, err := load(ctx, func(ctx context.Context, calls *atomic.Int64) error { return directCaller(ctx, d.Tools(), calls) })
		if err != nil {
			return nil, err
		}
		ratios, overHTTP, inProcess = append(ratios, h/p), append(overHTTP, h), append(inProcess, p)
	}
	return []row{
		{":invoke of haversine_km over HTTP, 32 connections", fmt.Sprintf("%.0f/s, p99 %.1f ms", median(overHTTP), times.quantile(0.99)), "≥ 8,000/s, ≤ 25 ms"},
		{
			fmt.Sprintf(":invoke over HTTP : the registry in-process (%.0f/s), 32 callers", median(inProcess)),
			fmt.Sprintf("%.0f %%", 100*median(ratios)), "≥ 50 %",
		},
	}, nil
}

// latencies are the latencies of calls, in milliseconds.
type latencies struct {
	mu  sync.Mutex
	all []float64
}

func (l *latencies) add(some []float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, some...)
}

func (l *latencies) quantile(p float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return 0
	}
	slices.Sort(l.all)
	return l.all[int(p*float64(len(l.all)-1))]
}

// argumentsSeen numbers calls, so that no two are equal.
var argumentsSeen atomic.Int64

func haversineArguments() string {
	n := argumentsSeen.Add(1)
	return fmt.Sprintf(`{"lat1":%d.5,"lon1":%d.25,"lat2":47.45,"lon2":-122.31}`, n%90, n)
}

func directCaller(ctx context.Context, r *registry.Registry, calls *atomic.Int64) error {
	for ctx.Err() == nil {
		result := r.Invoke(context.WithoutCancel(ctx), registry.Call{Name: "haversine_km", Arguments: json.RawMessage(haversineArguments())})
		if !result.OK {
			return result.Error
		}
		calls.Add(1)
	}
	return nil
}

// invokeCaller keeps one connection busy; see httpCaller.
func invokeCaller(ctx context.Context, s *server, calls *atomic.Int64, times *latencies) error {
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := bufio.NewReader(conn)
	var mine []float64
	defer func() { times.add(mine) }()
	for ctx.Err() == nil {
		body := `{"args":` + haversineArguments() + `}`
		began := time.Now()
		if _, err := fmt.Fprintf(conn, "POST /v1/tools/haversine_km:invoke HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body); err != nil {
			return err
		}
		if err := readAnswer(r); err != nil {
			return err
		}
		mine = append(mine, float64(time.Since(began).Microseconds())/1000)
		calls.Add(1)
	}
	return nil
}
