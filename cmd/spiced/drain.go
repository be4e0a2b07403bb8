package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/sqlapi"
)

// defaultDrain is how long requests may take to end at a shutdown if
// runtime.shutdown_timeout does not say.
const defaultDrain = 30 * time.Second

// drainCheck is how often a shutdown checks whether a request still runs.
const drainCheck = 10 * time.Millisecond

// running counts the HTTP requests that run. The listeners stay open while one
// does, so that /v1/ready can answer that the runtime is not ready.
type running struct{ requests atomic.Int64 }

// count counts the requests that h answers. Streams of what happens have nothing to finish and do not
// count.
func (r *running) count(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		follows := req.URL.Path == sqlapi.PathMCP || req.URL.Path == sqlapi.PathEvents
		if req.Method == http.MethodGet && follows {
			h.ServeHTTP(w, req)
			return
		}
		r.requests.Add(1)
		defer r.requests.Add(-1)
		h.ServeHTTP(w, req)
	})
}

// wait waits until no request runs, or for ctx.
func (r *running) wait(ctx context.Context) {
	check := time.NewTicker(drainCheck)
	defer check.Stop()
	for r.requests.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		}
	}
}

// drain refuses new statements and lets running requests end, for at most
// runtime.shutdown_timeout.
func (s *server) drain() error {
	s.Drain()
	timeout := defaultDrain
	if g := s.Current(); g != nil && g.Pod.Runtime.ShutdownTimeout > 0 {
		timeout = g.Pod.Runtime.ShutdownTimeout
	}
	s.log.Info("draining", "timeout", timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s.running.wait(ctx)
	s.mcp.Close() // its streams, and those of events, would keep the listeners open
	s.Events().Close()
	var group sync.WaitGroup
	for _, e := range s.endpoints {
		group.Go(func() {
			if err := e.shutdown(ctx); err != nil {
				s.log.Warn("requests were cut off", "endpoint", e.name, "error", err)
				e.close()
			}
		})
	}
	group.Wait()
	return nil
}
