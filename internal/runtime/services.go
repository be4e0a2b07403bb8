package runtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/bodies"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/rowsearch"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/feed"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/peers/mcplock"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

// services are what generations share. They are opened once, with the settings
// of the Spicepod at start.
type services struct {
	serving
	faults
	log      *slog.Logger
	activity activity.Table     // what runs for clients
	events   *feed.Feed         // of what changes, for those who follow it
	metrics  *telemetry.Metrics // nil: none
	audit    *audit.Log         // nil: nothing is audited
	settings spicepod.Runtime   // at start
	id       string             // of this run; see ID
	state    state
	serves   bool // see Options
	db       *database
	data     *datasets.Manager
	search   *rowsearch.Manager
	results  *results.Store
	tools    toolServices
	code
	closing sync.WaitGroup // replaced embedding models
	testing chan struct{}  // held by the run of tests that was asked for
}

// toolServices are the registry and what tools use.
type toolServices struct {
	registry  *registry.Registry
	servers   *mcpclient.Manager
	usage     *usage.Recorder
	approvals *approval.Store
	memory    *toolloop.Memory // chats that wait for their clients
	pins      *models.Pins     // the tools that sessions began with
	domains   []string         // of built-in tools
	trials    udf.Trials       // of the statements of function tools
	offline   bool             // MCP servers are not connected
}

// openServices opens the engine and the stores. reload queues a load.
func openServices(ctx context.Context, opts Options, pod *spicepod.Pod,
	reload func(trigger string),
) (_ *services, err error) {
	s := &services{
		serving: serving{loaded: make(chan struct{})}, log: opts.Log, metrics: opts.Metrics,
		settings: pod.Runtime, serves: opts.Serves, id: rand.Text(), events: feed.New(feed.Options{}),
		testing: make(chan struct{}, 1),
	}
	s.activity.Changed = s.workChanged
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	keys, err := s.readKeys(pod, &Report{})
	if err != nil {
		return nil, err
	}
	s.keys.Store(keys)
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, dir := range scratch.Sweep() {
		s.log.Info("removed the folder of a killed run", "folder", dir)
	}
	if s.state, err = openState(opts.StateDir, s.log); err != nil {
		return nil, err
	}
	s.SetFault("state", s.state.fault)
	if opts.Audit != nil {
		if s.audit, err = opts.Audit(pod.Runtime.Audit, keys.Enabled()); err != nil {
			return nil, err
		}
	}
	s.bodies = bodies.NewSet()
	if s.db, err = openDatabase(ctx, pod, s.state.dir, opts, s.log, s.bodies.Call, func() {
		reload(triggerLost)
	}); err != nil {
		return nil, err
	}
	if s.data, err = datasets.NewManager(datasets.Options{
		DB: s.db.DB, Connectors: Connectors, Proxies: s.db.proxies, Roots: s.db.roots, StateDir: s.state.dir, Log: s.log,
		Files:     s.db.workers != nil,
		InPlace:   opts.InPlace,
		Documents: openDocuments(opts.Reader, opts.Sandbox, filepath.Join(s.state.dir, "pdfium"), s.log),
		Progress:  opts.Progress,
		Publish:   s.publishRefresh,
		Began:     func(*tables.Table) { s.events.Poke() },
		Ended: func(ctx context.Context, t *tables.Table, failed error) {
			s.refreshEnded(ctx, t, failed)
			if t.Kind == "view" && t.State.Report(t.LoadFault() != nil) {
				reload(triggerLoaded)
			}
		},
		Noted:    func(ctx context.Context, t *tables.Table) { s.recordError(ctx, t, nil) },
		Snapshot: s.snapshotEnded,
		Retry:    func() { reload("retry") },
		Loaded:   func() { reload(triggerLoaded) },
	}); err != nil {
		return nil, err
	}
	s.openSearch(opts.Serves)
	if s.results, err = results.New(results.Options{
		DB: s.db.DB, Dir: filepath.Join(s.state.dir, "results"), Limits: pod.Runtime.Results, Log: s.log,
	}); err != nil {
		return nil, fmt.Errorf("open stored results: %w", err)
	}
	s.sandboxes = openSandboxes(opts, s.state.dir, s.log, reload)
	host := body.Host{Dir: s.state.dir, Shim: opts.Sandbox, Log: s.log}
	if s.metrics != nil {
		host.Metrics = s.metrics
		s.metrics.WatchSandboxes(s.workers)
	}
	s.makers, s.shim = openBodies(host), opts.Sandbox
	if s.tools.domains, err = domainsOf(pod); err != nil {
		return nil, err
	}
	return s, s.openTools(opts, reload)
}

// domainsOf returns the domains of built-in tools. The error has the position of the setting,
// unless the environment overrides it.
func domainsOf(pod *spicepod.Pod) ([]string, error) {
	environ := os.Getenv(builtin.DomainsVariable)
	list, err := builtin.Domains(pod.Runtime.Tools.Domains, environ)
	if err == nil || strings.TrimSpace(environ) != "" {
		return list, err
	}
	return nil, spicepod.Problems{pod.Problem("runtime.tools.domains", err.Error(), "")}
}

// openTools opens the registry, with the usage that earlier runs stored.
func (s *services) openTools(opts Options, reload func(trigger string)) (err error) {
	h := s.settings.Tools.History
	history := usage.Options{
		Calls: h.MaxCalls, Searches: h.MaxSearches, Events: h.MaxEvents, Retention: h.Retention,
		Days: h.UsageDays, Log: s.log, Now: opts.Now, Called: s.called, Stepped: s.stepped,
	}
	vectors := ""
	if s.state.temp == nil {
		history.Dir, vectors = filepath.Join(s.state.dir, "usage"), filepath.Join(s.state.dir, "vectors")
	}
	t := &s.tools
	if t.usage, err = usage.Open(history); err != nil {
		return fmt.Errorf("open the usage of tools: %w", err)
	}
	t.offline = opts.Offline
	t.servers = mcpclient.New(mcpclient.Options{
		Log: s.log, Version: opts.Version, ID: s.id, Offline: opts.Offline,
		Changed:  func() { reload("mcp") },
		Approved: func(dir string) (mcpclient.Approvals, error) { return mcplock.Open(dir) },
	})
	t.memory = toolloop.NewMemory(toolloop.MemoryLimits{})
	t.pins = models.NewPins()
	if t.approvals, err = s.openApprovals(); err != nil {
		return err
	}
	t.registry = registry.New(registry.Options{
		Usage: t.usage, Metrics: s.metrics, Log: s.log, Audit: s.audit, Activity: &s.activity, VectorDir: vectors,
		Now: opts.Now, Approvals: t.approvals, Keys: func() approval.Keys { return s.Keys() },
	})
	if s.metrics != nil {
		s.metrics.WatchApprovals(t.approvals.Pending)
		s.metrics.WatchToolCache(func() (entries, bytes int64, hits, misses uint64) {
			c := t.registry.CacheStats()
			return c.Entries, c.Bytes, c.Hits, c.Misses
		})
	}
	empty, err := registry.NewCatalog(nil, registry.Contents{Pending: func(string) *tools.Error {
		return tools.NewError(errcode.Loading, "the Spicepod is loading", "try again in a moment")
	}})
	if err != nil {
		return err
	}
	t.registry.Publish(empty)
	t.registry.Serve(s.db.DB)
	s.db.Handle(engine.Ctx, callerValue)
	return nil
}

// openApprovals opens the approvals of calls, with those of earlier runs.
func (s *services) openApprovals() (*approval.Store, error) {
	o := approval.Options{Log: s.log, Audit: s.audit, Changed: s.approvalChanged}
	if s.state.temp == nil {
		o.Dir = filepath.Join(s.state.dir, "approvals")
	}
	if s.metrics != nil {
		o.Counted = s.metrics.Approval
	}
	store, err := approval.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open the approvals: %w", err)
	}
	return store, nil
}

// close releases what is open; some of it is not if opening failed.
func (s *services) close() {
	s.events.Close()
	if s.search != nil {
		s.search.Close()
	}
	if s.data != nil {
		s.data.Close()
	}
	if s.tools.servers != nil {
		s.tools.servers.Close()
	}
	if s.tools.registry != nil {
		s.tools.registry.Close()
	}
	if g := s.Current(); g != nil && g.Embeddings != nil {
		g.Embeddings.Close()
	}
	s.closing.Wait()
	s.tools.trials.Close()
	if s.tools.usage != nil {
		if err := s.tools.usage.Close(); err != nil {
			s.log.Warn("the usage of tools was not written", "error", err)
		}
	}
	if s.tools.approvals != nil {
		if err := s.tools.approvals.Close(); err != nil {
			s.log.Warn("the file of approvals was not closed", "error", err)
		}
	}
	if s.results != nil {
		s.results.Close()
	}
	if s.db != nil {
		s.db.close()
	}
	s.sandboxes.close()
	if s.bodies != nil {
		s.bodies.Close()
	}
	s.state.close()
}

// readKeys reads the keys of a Spicepod. A fault in them refuses the load, so
// that a typing error admits or locks out no one.
func (s *services) readKeys(pod *spicepod.Pod, report *Report) (*auth.Keyring, error) {
	old := s.Keys()
	keys, problems := auth.NewKeyring(pod, old)
	if problems.HasErrors() {
		return nil, problems
	}
	report.Problems = append(report.Problems, problems...)
	if old == nil {
		return keys, nil
	}
	if keys.Enabled() != old.Enabled() {
		p := pod.Problem("runtime.auth", "whether keys are needed changes at the next start", "restart spiced")
		p.Severity = spicepod.Warning
		report.Problems = append(report.Problems, p)
		return old, nil
	}
	return keys, nil
}

// Settings returns `runtime:` of the current generation or, before the first
// one, of the Spicepod at start.
func (s *services) Settings() spicepod.Runtime {
	if g := s.Current(); g != nil {
		return g.Pod.Runtime
	}
	return s.settings
}

// DB returns the engine.
func (s *services) DB() *engine.DB { return s.db.DB }

// Clients returns the catalog for the clients of a protocol, or nil.
func (s *services) Clients() *engine.ClientCatalog { return s.db.clients }

// Data returns the manager of datasets.
func (s *services) Data() *datasets.Manager { return s.data }

// Tools returns the registry, through which all tools are called.
func (s *services) Tools() *registry.Registry { return s.tools.registry }

// Servers returns the MCP servers that the Spicepod declares.
func (s *services) Servers() *mcpclient.Manager { return s.tools.servers }

// ID identifies this run of the runtime among others that use its tools.
func (s *services) ID() string { return s.id }

// Results returns the stored results.
func (s *services) Results() *results.Store { return s.results }

// Audit returns the audit log; nil writes nothing.
func (s *services) Audit() *audit.Log { return s.audit }

// Events returns the feed of what changes: values of type [usage.Call], [usage.Event], [approval.Change] and
// [activity.Change], and what the users of the runtime publish.
func (s *services) Events() *feed.Feed { return s.events }

// Activity returns the table of what runs for clients.
func (s *services) Activity() *activity.Table { return &s.activity }

// Isolates reports whether a client's statement, if it only reads, runs in a worker,
// as runtime.query.isolate says; see [engine.Request.Isolate]. Without keys, a caller
// is not known to be trusted. Without workers, statements of trusted callers are not refused
// for what only workers may run.
func (s *services) Isolates(r query.Request) bool {
	switch s.settings.Query.Isolate {
	case spicepod.IsolateAll:
		return r.ByModel || !r.Caller.Write || s.db.workers != nil
	case spicepod.IsolateReadOnly:
		return r.ByModel || !r.Caller.Write || s.db.workers != nil && !s.Keys().Enabled()
	}
	return r.ByModel
}

// serving is the current state of the runtime, read without locks.
type serving struct {
	current  atomic.Pointer[Generation]
	report   atomic.Pointer[Report] // of the last load
	keys     atomic.Pointer[auth.Keyring]
	loaded   chan struct{} // closed by the first load that is accepted
	ready    atomic.Bool   // a generation was published in which all that holds back readiness had been loaded
	indexed  atomic.Bool   // since then, all search indexes had been built
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

// Ready is the readiness probe: a generation is in service, every dataset that holds
// back readiness was loaded or had an error once, so was its search index, and the runtime is
// not draining. Later edits do not end readiness.
func (s *services) Ready() bool {
	if !s.ready.Load() || s.draining.Load() {
		return false
	}
	if !s.indexed.Load() && s.search.Settled() {
		s.indexed.Store(true)
	}
	return s.indexed.Load()
}

// Drain ends readiness before a shutdown.
func (s *serving) Drain() { s.draining.Store(true) }

// Draining reports whether a shutdown has begun.
func (s *serving) Draining() bool { return s.draining.Load() }

// finished records the outcome of a load.
func (s *serving) finished(report *Report) {
	s.report.Store(report)
	if g := s.current.Load(); report.Accepted && !g.listing && !g.waiting.holdsReady() {
		s.ready.Store(true)
	}
	select {
	case <-s.loaded:
	default:
		if report.Accepted {
			close(s.loaded) // after the report, so that whoever sees it can read the report
		}
	}
}
