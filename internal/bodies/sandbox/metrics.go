package sandbox

import (
	"context"
	"errors"
	"time"
)

// Metrics counts what the workers of sandboxes do. Names are those of the sandboxes.
type Metrics interface {
	// WorkerStarted counts a process that was started, or could not be.
	WorkerStarted(sandbox string, failed bool)
	// WorkerReady observes how long a worker took to start and to give its first reply, without
	// the time in which it waited for a call.
	WorkerReady(sandbox string, took time.Duration)
	// WorkerEnded counts a process that has ended. There are a few reasons.
	WorkerEnded(sandbox, reason string)
	// SandboxCalled counts a call with a batch of rows: its outcome is ok, error (of the code),
	// cancelled, or failed (for another reason). The time includes the wait for a worker.
	SandboxCalled(sandbox, outcome string, rows int64, took time.Duration)
}

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) WorkerStarted(string, bool)                         {}
func (noMetrics) WorkerReady(string, time.Duration)                  {}
func (noMetrics) WorkerEnded(string, string)                         {}
func (noMetrics) SandboxCalled(string, string, int64, time.Duration) {}

// outcome is how a call ended, for metrics.
func outcome(err error) string {
	var code *CodeError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &code):
		return "error"
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "failed"
}

// Workers says what the workers of a sandbox do.
type Workers struct {
	Idle    int // that wait for a call
	Busy    int // that run one
	Waiting int // calls that wait for a worker
}

// Workers says what the workers do.
func (p *Pool) Workers() Workers {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := Workers{Busy: len(p.slots), Waiting: int(p.waiting.Load())}
	for _, worker := range p.idle {
		if !worker.ended() {
			w.Idle++
		}
	}
	return w
}
