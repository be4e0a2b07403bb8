package runtime

import (
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// serving is the current state of the runtime, read without locks.
type serving struct {
	current  atomic.Pointer[Generation]
	report   atomic.Pointer[Report] // of the last load
	keys     atomic.Pointer[auth.Keyring]
	loaded   chan struct{} // closed by the first load that is accepted
	draining atomic.Bool
}

// Current returns the generation in service, or nil before the first load.
func (s *serving) Current() *Generation { return s.current.Load() }

// LastReport returns the outcome of the last load, or nil before the first.
func (s *serving) LastReport() *Report { return s.report.Load() }

// Keys returns the current API keys. A reload replaces them; whether keys are
// required is fixed at start, because it decides where listeners may bind.
func (s *serving) Keys() *auth.Keyring { return s.keys.Load() }

// Loaded returns a channel that is closed once a generation is in service.
func (s *serving) Loaded() <-chan struct{} { return s.loaded }

// Ready is the readiness probe: a generation is in service and the runtime is
// not draining.
func (s *serving) Ready() bool {
	select {
	case <-s.loaded:
		return !s.draining.Load()
	default:
		return false
	}
}

// Drain ends readiness before a shutdown.
func (s *serving) Drain() { s.draining.Store(true) }

// Draining reports whether a shutdown has begun.
func (s *serving) Draining() bool { return s.draining.Load() }

// finished records the outcome of a load.
func (s *serving) finished(report *Report) {
	s.report.Store(report)
	select {
	case <-s.loaded:
	default:
		if report.Accepted {
			close(s.loaded) // after the report, so that whoever sees it can read the report
		}
	}
}
