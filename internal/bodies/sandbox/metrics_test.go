package sandbox_test

import (
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
)

// starts are the times that workers took to start.
type starts struct{ took []time.Duration }

func (s *starts) WorkerReady(_ string, took time.Duration)         { s.took = append(s.took, took) }
func (*starts) WorkerStarted(string, bool)                         {}
func (*starts) WorkerEnded(string, string)                         {}
func (*starts) SandboxCalled(string, string, int64, time.Duration) {}

// The time of a start is that of the process and of the first answer, without the time in
// which a program waits for its first call.
func TestStartsAreMeasured(t *testing.T) {
	shim := options(t).Shim
	pool := func(m sandbox.Metrics) *sandbox.Pool {
		return newPool(t, sandbox.Options{
			Name: "lines", Lines: true, Shim: shim, Workers: 1, Metrics: m,
			Script: "#!/bin/sh\nread -r line; echo '{\"values\": [7]}'\n",
		})
	}
	batch := batchOf(t)
	f := function(t, "", int64s, batch)
	measured := &starts{}
	p := pool(measured)
	began := time.Now()
	if err := p.Load(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	most := time.Since(began)
	if _, err := pool(nil).Call(t.Context(), f, batch); err != nil { // meanwhile the worker waits
		t.Fatal(err)
	}
	began = time.Now()
	if _, err := p.Call(t.Context(), f, batch); err != nil {
		t.Fatal(err)
	}
	most += time.Since(began)
	if len(measured.took) != 1 || measured.took[0] > most || measured.took[0] <= 0 {
		t.Errorf("starts took %s; load and first call %s", measured.took, most)
	}
}
