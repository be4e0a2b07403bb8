package runtime

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
)

// openResults makes room for the results that are kept in this run.
func (d *Runtime) openResults(pod *spicepod.Pod, state string) (err error) {
	d.results, err = results.New(results.Options{
		DB: d.db, Dir: filepath.Join(state, "results"), Limits: pod.Runtime.Results, Log: d.log,
	})
	if err != nil {
		return fmt.Errorf("kept results: %w", err)
	}
	d.db.UseRefs(d.results)
	return nil
}

// Results are the results that are kept.
func (d *Runtime) Results() *results.Store { return d.results }

// openWorkers starts what isolates statements, if the Spicepod asks for it.
func (d *Runtime) openWorkers(pod *spicepod.Pod, state string) (err error) {
	q := pod.Runtime.Query
	if q.Isolation != spicepod.IsolationProcess || len(d.opts.Worker) == 0 {
		return nil
	}
	spill := filepath.Join(state, "workers")
	if err := os.MkdirAll(spill, 0o700); err != nil {
		return fmt.Errorf("make the workers' folder: %w", err)
	}
	d.workers, err = isolate.New(isolate.Options{
		Command: d.opts.Worker, Workers: q.Workers, Memory: int64(q.WorkerMemory), Roots: append([]string{state}, d.roots...), TempDir: spill, Log: d.log,
	})
	if err != nil {
		return fmt.Errorf("runtime.query.isolation: %w", err)
	}
	d.db.UseIsolator(d.workers)
	return nil
}

// warmWorkers has workers ready for what is published now.
func (d *Runtime) warmWorkers() {
	if d.workers != nil {
		d.workers.Prewarm(d.db.Current())
	}
}

// Isolates reports whether a client's statement runs in a worker, as
// runtime.query.isolate says. Those that models write always do, where there
// are workers.
func (d *Runtime) Isolates(r query.Request) bool {
	switch d.initial.Query.Isolate {
	case spicepod.IsolateAll:
		return true
	case spicepod.IsolateReadOnly:
		return r.ByModel || !r.Caller.Write
	}
	return r.ByModel
}
