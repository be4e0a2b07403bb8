// Package runtime builds generations out of Spicepods, publishes them, and
// builds the next one when a file changes.
//
// One goroutine, [Runtime.Run], loads and reloads; everybody else reads the
// current [Generation], which is immutable.
//
//	d, err := runtime.New(ctx, runtime.Options{Path: "examples/quickstart"})
//	defer d.Close()
//	go d.Run(ctx)                      // load, watch, refresh
//	report := d.Reload(ctx, "request") // also by a file's change
//	rows, err := d.Query(ctx, engine.Request{SQL: "SELECT haversine_km(0, 0, 0, 1)"})
package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

// Options configures [New].
type Options struct {
	Path     string             // the Spicepod: a folder or a file
	StateDir string             // what outlives a run; "": a folder made for this run
	Strict   bool               // every fault refuses the load
	Watch    bool               // reload when a file changes
	Log      *slog.Logger       // nil: discarded
	Metrics  *telemetry.Metrics // nil: not counted
	// Audit makes the log of what is done, as the Spicepod asks for it; nil:
	// nothing is audited.
	Audit    func(spicepod.Audit, bool) (*audit.Log, error)
	Progress func(datasets.Progress)
	Version  string // of the runtime, as MCP servers are told
	// Postgres says that clients of PostgreSQL are served, whose catalog is
	// made then. It is also made when the Spicepod asks for the door.
	Postgres bool
	Worker   []string // starts a process that runs isolated statements; nil: none are isolated
	Offline  bool     // MCP servers are checked and not connected: nothing of the Spicepod's is started
}

// Runtime is the runtime of one Spicepod.
type Runtime struct {
	opts     Options
	log      *slog.Logger
	db       *engine.DB
	data     *datasets.Manager
	registry *registry.Registry
	usage    *usage.Recorder
	memory   *toolloop.Memory   // of chats that wait for their clients
	servers  *mcpclient.Manager // MCP servers
	hear     []func()           // called after each publication
	indexes  *builtin.Indexes   // of the search tool
	domains  []string           // of built-in tools
	closing  sync.WaitGroup     // embedding models that are replaced
	watcher  *watcher           // nil unless files are watched
	tempDir  *scratch.Dir       // state of this run only, removed by Close; nil: Options has a folder
	roots    []string
	initial  spicepod.Runtime
	requests chan request
	ended    chan struct{} // closed when Run is over

	first       *reading // what New read, for the first load
	pgcatalog   bool     // the catalog of PostgreSQL is made
	setupScript []string // statements that made the runtime's own objects
	tables      []string // of the runtime's, in schema spiced
	keys        atomic.Pointer[auth.Keyring]
	audit       *audit.Log
	results     *results.Store
	workers     *isolate.Pool // nil: no statement is isolated

	publishing sync.Mutex // held while a generation, or a refresh of one, is published
	current    atomic.Pointer[Generation]
	report     atomic.Pointer[Report]
	ready      atomic.Bool
}

// Generation is one state of the runtime: what a Spicepod declares and what of
// it is served. It is immutable.
type Generation struct {
	Number     uint64
	Pod        *spicepod.Pod
	Functions  *functions.Set
	Datasets   []*datasets.Dataset
	Views      []*datasets.View
	Tools      *registry.Catalog
	Embeddings *embeddings.Set
	Models     *models.Set
	Published  time.Time

	tools          *udf.ToolSet
	servers        []*mcpclient.Server
	toolFunctions  []*udf.ToolFunction
	order          []component // functions and views, each after what it uses
	keys           *auth.Keyring
	embeddingsHash string
	failedSearches map[string]bool // search tests, by fingerprint
}

// request asks the loading goroutine for a load.
type request struct {
	trigger string
	reply   chan *Report // buffered; nil when nobody waits
}

// New reads the Spicepod and opens the engine for it. Nothing is served until
// [Runtime.Run] or [Runtime.Load] has loaded it. Structural faults are returned
// as [spicepod.Problems].
func New(ctx context.Context, opts Options) (*Runtime, error) {
	first := &reading{began: time.Now()}
	if err := first.read(opts.Path); err != nil {
		return nil, err
	}
	d := &Runtime{opts: opts, log: opts.Log, requests: make(chan request, 1), ended: make(chan struct{}), first: first}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	keys, err := d.readKeys(first.pod, &Report{})
	if err != nil {
		return nil, err
	}
	d.keys.Store(keys)
	if err := d.open(ctx, first.pod); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Runtime) open(ctx context.Context, pod *spicepod.Pod) error {
	for _, dir := range scratch.Sweep() {
		d.log.Info("removed what a run left that was killed", "folder", dir)
	}
	state, err := d.stateDir()
	if err != nil {
		return err
	}
	d.roots, d.initial = pod.DataRoots(), pod.Runtime
	d.pgcatalog = d.opts.Postgres || pod.Runtime.Postgres != nil && pod.Runtime.Postgres.Enabled
	if d.opts.Audit != nil {
		if d.audit, err = d.opts.Audit(pod.Runtime.Audit, d.Keys().Enabled()); err != nil {
			return err
		}
	}
	if d.db, err = engine.Open(ctx, engineOptions(pod)); err != nil {
		return err
	}
	if err := d.db.Lock(append([]string{state}, d.roots...)); err != nil {
		return err
	}
	if err := d.db.Publish(ctx, engine.NewCatalog(0, nil, nil), d.setup); err != nil {
		return fmt.Errorf("prepare the catalog: %w", err)
	}
	if err := d.findTables(ctx); err != nil {
		return err
	}
	d.data, err = datasets.NewManager(datasets.Options{
		DB: d.db, Roots: d.roots, StateDir: state, HTTP: http.DefaultClient, Log: d.log,
		Files: pod.Runtime.Query.Isolation == spicepod.IsolationProcess, Progress: d.opts.Progress, Parallel: pod.Runtime.DatasetLoadParallelism,
		Type: duckdbType, Publish: d.publishRefresh,
		Retry: func(context.Context, []string) { d.ask(request{trigger: "retry"}) },
	})
	for _, open := range []func(*spicepod.Pod, string) error{d.openResults, d.openWorkers, d.openTools} {
		if err == nil {
			err = open(pod, state)
		}
	}
	if err == nil && d.opts.Watch {
		d.watcher, err = newWatcher(d.log)
	}
	return err
}

// stateDir makes the folder for cached and accelerated data.
func (d *Runtime) stateDir() (string, error) {
	if d.opts.StateDir == "" {
		dir, err := scratch.New("state")
		if err != nil {
			return "", err
		}
		d.tempDir = dir
		return dir.Path, nil
	}
	dir, err := filepath.Abs(d.opts.StateDir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the state directory: %w", err)
	}
	return dir, nil
}

func engineOptions(pod *spicepod.Pod) engine.Options {
	q := pod.Runtime.Query
	opts := engine.Options{
		Connections: q.MaxConcurrentQueries,
		Queue:       q.MaxQueuedQueries,
		TempDir:     q.TempDirectory,
		Limits:      engine.Limits{Timeout: q.Timeout, MaxRows: int64(q.MaxRows), MaxBytes: int64(q.MaxBytes)},
	}
	if q.MemoryLimit > 0 {
		opts.MemoryLimit = fmt.Sprintf("%dB", int64(q.MemoryLimit))
	}
	return opts
}

// Close ends the runtime. Run must have returned.
func (d *Runtime) Close() {
	if d.watcher != nil {
		d.watcher.fs.Close() // unless run did
	}
	if d.data != nil {
		d.data.Close()
	}
	if d.servers != nil {
		d.servers.Close()
	}
	d.closeTools()
	if d.results != nil {
		d.results.Close()
	}
	if d.db != nil {
		d.db.Close()
	}
	if d.workers != nil {
		d.workers.Close()
	}
	d.tempDir.Remove()
}

// Run loads the Spicepod, keeps it loaded, and returns when ctx ends. A first
// load that is refused is an error, [spicepod.Problems]. It is called once.
func (d *Runtime) Run(ctx context.Context) error {
	defer close(d.ended)
	if report := d.Load(ctx, "start"); !report.Accepted {
		if ctx.Err() != nil {
			return nil
		}
		return report.Problems
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.loads(ctx) })
	group.Go(func() error { return d.data.Run(ctx) })
	if d.watcher != nil {
		group.Go(func() error {
			d.watcher.run(ctx, func() { d.ask(request{trigger: "file"}) })
			return nil
		})
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// loads makes one load after the other, as they are asked for.
func (d *Runtime) loads(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-d.requests:
			report := d.Load(ctx, r.trigger)
			if r.reply != nil {
				r.reply <- report
			}
		}
	}
}

// ask queues a load that nobody waits for; one that is queued already will
// see the same files.
func (d *Runtime) ask(r request) {
	select {
	case d.requests <- r:
	default:
	}
}

// errEnded answers a request that Run is no more there to serve.
var errEnded = errors.New("the runtime has ended")

// Reload asks for a load and waits for its outcome. Run must be running.
func (d *Runtime) Reload(ctx context.Context, trigger string) (*Report, error) {
	reply := make(chan *Report, 1)
	select {
	case d.requests <- request{trigger, reply}:
	case <-d.ended:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case report := <-reply:
		return report, nil
	case <-d.ended:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Current is the generation that serves, or nil before the first load.
func (d *Runtime) Current() *Generation { return d.current.Load() }

// Settings are `runtime:` of the generation that serves or, before the first one,
// of the Spicepod as it was read.
func (d *Runtime) Settings() spicepod.Runtime {
	if g := d.Current(); g != nil {
		return g.Pod.Runtime
	}
	return d.initial
}

// LastReport is the outcome of the last load, or nil before the first.
func (d *Runtime) LastReport() *Report { return d.report.Load() }

// Ready reports whether the first generation serves.
func (d *Runtime) Ready() bool { return d.ready.Load() }

// Audit is the log of what is done; nil writes nothing.
func (d *Runtime) Audit() *audit.Log { return d.audit }

// DB is the engine, for the doors.
func (d *Runtime) DB() *engine.DB { return d.db }

// Data manages the datasets.
func (d *Runtime) Data() *datasets.Manager { return d.data }

// Drain makes the runtime say that it is not ready any more, before it ends.
func (d *Runtime) Drain() { d.ready.Store(false) }
