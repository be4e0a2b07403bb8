package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/sqlapi"
)

// defaultDrain is how long requests may take to end at a shutdown when
// runtime.shutdown_timeout does not say.
const defaultDrain = 30 * time.Second

// drainCheck is how often a shutdown looks whether a request still runs.
const drainCheck = 10 * time.Millisecond

// drainer knows what runs, and refuses new statements once a shutdown has
// begun. The doors stay open as long as an old one runs: whoever asks
// /v1/ready hears that it is not, instead of nothing.
type drainer struct {
	begun    atomic.Bool
	requests atomic.Int64 // that run
}

// count counts the requests that h answers. An MCP client that listens has
// nothing to end.
func (d *drainer) count(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == sqlapi.PathMCP {
			h.ServeHTTP(w, r)
			return
		}
		d.requests.Add(1)
		defer d.requests.Add(-1)
		h.ServeHTTP(w, r)
	})
}

// idle waits until no request runs, or for ctx.
func (d *drainer) idle(ctx context.Context) {
	check := time.NewTicker(drainCheck)
	defer check.Stop()
	for d.requests.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		}
	}
}

// refuse is why no statement is taken any more, or nil.
func (d *drainer) refuse() error {
	if d.begun.Load() {
		return &engine.Error{Code: engine.CodeCancelled, Message: "the runtime is shutting down", Offset: -1}
	}
	return nil
}

// drain lets requests that run end, as long as runtime.shutdown_timeout says.
func (s *server) drain() error {
	s.drainer.begun.Store(true)
	s.runtime.Drain()
	timeout := defaultDrain
	if g := s.runtime.Current(); g != nil && g.Pod.Runtime.ShutdownTimeout > 0 {
		timeout = g.Pod.Runtime.ShutdownTimeout
	}
	s.log.Info("draining", "timeout", timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s.drainer.idle(ctx)
	s.mcp.Close() // its streams would keep the doors open
	var doors sync.WaitGroup
	for _, d := range s.doors {
		doors.Go(func() {
			if err := d.shutdown(ctx); err != nil {
				s.log.Warn("requests were cut off", "door", d.name, "error", err)
				d.close()
			}
		})
	}
	doors.Wait()
	return nil
}
