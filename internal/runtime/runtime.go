// Package runtime turns a Spicepod into generations, publishes them, and
// builds the next one when a file changes.
//
// One goroutine, [Runtime.Run], loads and reloads; all others read the current
// [Generation], which is immutable. What a reload rebuilds is in diff.go, what
// serves in place of a component with a fault in fallback.go.
//
//	rt, err := runtime.New(ctx, runtime.Options{Path: "examples/quickstart"})
//	defer rt.Close()
//	go rt.Run(ctx)                            // load, watch, refresh
//	report, err := rt.Reload(ctx, "request")  // also when a file changes
//	rows, err := rt.DB().Query(ctx, engine.Request{SQL: "SELECT haversine_km(0, 0, 0, 1)"})
package runtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/rowsearch"
	"github.com/spiced-sql/spiced/internal/data/semantic"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// Options configures [New].
type Options struct {
	Path     string             // the Spicepod: a folder or a file
	Pod      *spicepod.Pod      // what Path is loaded as the first time; nil: it is read
	StateDir string             // folder of what outlives a run; "": a folder for this run only
	Strict   bool               // any fault refuses the load
	Watch    bool               // reload when a file changes
	Offline  bool               // check MCP servers without connecting to them or starting them
	InPlace  bool               // read accelerated datasets at their sources, without copies
	Serves   bool               // until it is stopped: warn about what does not outlive it
	Worker   []string           // command of a process that runs isolated statements; nil: none are isolated
	Sandbox  []string           // command of a process that becomes a worker of a sandbox
	Reader   []string           // command of a process that reads documents, for a sandbox; nil: none are read
	Version  string             // of the runtime, for MCP servers
	Log      *slog.Logger       // nil: discarded
	Metrics  *telemetry.Metrics // nil: none
	// Patience is how long Run waits for data and MCP servers before it serves the rest;
	// 0: 200 milliseconds. With Strict it waits for all.
	Patience time.Duration
	// Audit opens the audit log that the Spicepod asks for; nil: nothing is
	// audited.
	Audit func(spicepod.Audit, bool) (*audit.Log, error)
	// Clients returns the catalog for the clients of a protocol that a Spicepod serves; nil, or
	// nil of it: there is none.
	Clients  func(spicepod.Runtime) *engine.ClientCatalog
	Progress func(load.Progress)
	Loaded   func(*Report)    // called after each load, also one that is refused; must return at once
	Now      func() time.Time // of the history of tools; nil: time.Now
}

// Runtime serves one Spicepod.
type Runtime struct {
	*services
	loader   *loader
	requests *requests
	watcher  *watcher // nil unless files are watched
	patience time.Duration
}

// Generation is one state of the runtime: what a Spicepod declares and what of
// it is served. It is immutable.
type Generation struct {
	Number     uint64
	Pod        *spicepod.Pod
	Functions  *functions.Set
	Datasets   []*datasets.Dataset
	Views      []*views.View
	Metrics    *semantic.Layer // nil: none are declared
	Tools      *registry.Catalog
	Embeddings *embeddings.Set
	searches   []*rowsearch.Spec // tables that are searched
	Models     *models.Set
	Published  time.Time

	toolState
	outside
	order []component // functions and views, each after what it uses
	access
	waiting *waiting // what does not serve yet
	listing bool     // a catalog is being listed for the first time
}

// toolState is what the next generation needs of the tools.
type toolState struct {
	tools          *udf.ToolSet
	failedSearches map[string]bool // search tests, by fingerprint
}

// New reads the Spicepod and opens the engine for it. Nothing is served until
// [Runtime.Run] or [Runtime.Load] has loaded it. Structural faults are returned
// as [spicepod.Problems].
func New(ctx context.Context, opts Options) (*Runtime, error) {
	first, err := &reading{began: time.Now(), pod: opts.Pod}, error(nil)
	if opts.Pod == nil {
		first, err = read(opts.Path)
	}
	if err != nil {
		return nil, err
	}
	rt := &Runtime{requests: newRequests(), patience: opts.Patience}
	if rt.services, err = openServices(ctx, opts, first.pod, rt.requests.add); err != nil {
		return nil, err
	}
	if opts.Watch {
		if rt.watcher, err = newWatcher(rt.log); err != nil {
			rt.SetFault("watch", err)
			rt.log.Warn("files are not watched: edits take effect at SIGHUP or POST /v1/reload", "error", err)
		}
	}
	rt.loader = &loader{
		services: rt.services, path: opts.Path, strict: opts.Strict, first: first, watcher: rt.watcher,
		outcome: opts.Loaded,
		again:   func() { time.AfterFunc(renewPause, func() { rt.requests.add(triggerLost) }) },
	}
	return rt, nil
}

// Close releases everything. Run must have returned.
func (rt *Runtime) Close() {
	if rt.watcher != nil {
		rt.watcher.fs.Close() // unless run did
	}
	rt.services.close()
}

// Run loads the Spicepod, keeps it loaded, and returns when ctx ends. Unless
// [Options.Strict] is set, what is ready is served while data is loaded. If the
// first load is refused it returns [spicepod.Problems]. It is called once.
func (rt *Runtime) Run(ctx context.Context) error {
	defer close(rt.requests.ended)
	if !rt.loader.strict {
		rt.loader.patience = cmp.Or(rt.patience, defaultPatience)
	}
	if report := rt.Load(ctx, "start"); !report.Accepted {
		if ctx.Err() != nil {
			return nil
		}
		return report.Problems
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { rt.requests.serve(ctx, rt.Load); return nil })
	group.Go(func() error { return rt.data.Refreshes().Run(ctx) })
	if rt.watcher != nil {
		group.Go(func() error { rt.watcher.run(ctx, func() { rt.requests.add("file") }); return nil })
	}
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Load reads the Spicepod and publishes the generation it makes. A structural
// fault, any fault under [Options.Strict], or the end of ctx leaves the current
// generation in service. It waits for the data, unless Run runs. Only one goroutine
// loads; others use [Runtime.Reload].
func (rt *Runtime) Load(ctx context.Context, trigger string) *Report {
	return rt.loader.load(ctx, trigger)
}

// ForCallers returns problems of a report as callers may see them: paths are relative to
// the data roots.
func (rt *Runtime) ForCallers(problems spicepod.Problems) spicepod.Problems {
	return rt.db.forCallers(problems)
}

// Reload requests a load and waits for its outcome. Run must be running.
func (rt *Runtime) Reload(ctx context.Context, trigger string) (*Report, error) {
	return rt.requests.wait(ctx, trigger)
}
