package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/rowsearch"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/extension"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// database is the engine with the runtime's own objects, and the workers that
// run isolated statements on copies of the catalog.
type database struct {
	*engine.DB
	log       *slog.Logger
	roots     []string              // folders of data files; fixed when the engine is locked
	clients   *engine.ClientCatalog // nil: no protocol has one
	workers   *isolate.Pool         // nil: no statement is isolated
	snapshots snapshotTables        // what workers read from this process
	proxies   *datasets.Proxies
	made      chan struct{} // closed when setup has ended
	setupErr  error         // of setup; read after made is closed

	publishing sync.Mutex // held while a generation, or a refresh within one, is published
}

// openDatabase opens the engine, locks it to the Spicepod's folders and state,
// and begins to create the introspection tables: see [database.wait].
func openDatabase(ctx context.Context, pod *spicepod.Pod, state string, opts Options, log *slog.Logger,
	batch engine.BatchHandler, lost func(),
) (_ *database, err error) {
	db := &database{log: log, roots: pod.DataRoots(), proxies: datasets.NewProxies(Connectors, log)}
	if opts.Clients != nil {
		db.clients = opts.Clients(pod.Runtime)
	}
	defer func() {
		if err != nil {
			db.close()
		}
	}()
	roots := append([]string{state}, db.roots...)
	o := engineOptions(pod)
	o.Batch, o.Lost, o.Interrupted = batch, lost, db.proxies.Interrupt
	for _, c := range Connectors.Used(pod) {
		if c.Root != "" {
			roots = append(roots, c.Root)
		}
	}
	if err := db.useExtensions(ctx, pod, &o); err != nil {
		return nil, err
	}
	if pod.Runtime.Query.Isolation == spicepod.IsolationProcess && len(opts.Worker) > 0 {
		setup := workerSetup(db.clients)
		if db.workers, err = newWorkers(pod, roots, state, opts.Worker, setup, o.Extensions, log); err != nil {
			return nil, err
		}
		o.Isolator = db.workers
	}
	if db.DB, err = engine.Open(ctx, o); err != nil {
		return nil, err
	}
	db.snapshots.db = db.DB
	if err := db.Lock(roots); err != nil {
		return nil, err
	}
	db.made = make(chan struct{})
	go func() {
		defer close(db.made)
		db.setupErr = db.Publish(ctx, engine.NewCatalog(engine.Contents{Unserved: notLoaded}), db.setup)
	}()
	return db, nil
}

// installTime is how long the installation of an extension may take.
const installTime = 2 * time.Minute

// useExtensions adds the extensions that the datasets need, with what they read. One that
// cannot be installed is missing: the datasets that need it report the error.
func (db *database) useExtensions(ctx context.Context, pod *spicepod.Pod, o *engine.Options) (err error) {
	var needed []string
	for _, c := range Connectors.Used(pod) {
		if c.Extension != "" {
			needed = append(needed, c.Extension)
		}
	}
	for _, name := range extension.Needed(needed...) {
		e := extension.Get(name, pod.Runtime.Extensions.Directory)
		if e.Path == "" && pod.Runtime.Extensions.Install {
			limited, cancel := context.WithTimeout(ctx, installTime)
			if e.Path, err = engine.InstallExtension(limited, name, ""); err != nil {
				db.log.Error("cannot install an extension of DuckDB", "extension", name, "error", err)
			} else {
				db.log.Info("installed an extension of DuckDB", "extension", name, "file", e.Path)
			}
			cancel()
		}
		if e.Path != "" {
			if e, err = db.proxies.Attach(e); err != nil {
				return err
			}
		}
		o.Extensions = append(o.Extensions, e)
	}
	return nil
}

// newWorkers makes the pool of workers, which read only the roots.
func newWorkers(pod *spicepod.Pod, roots []string, state string, command, setup []string,
	extensions []engine.Extension, log *slog.Logger,
) (*isolate.Pool, error) {
	spill := filepath.Join(state, "workers")
	if err := os.MkdirAll(spill, 0o700); err != nil {
		return nil, fmt.Errorf("make the workers' folder: %w", err)
	}
	q := pod.Runtime.Query
	workers, err := isolate.New(isolate.Options{
		Command: command, Workers: q.Workers, Queue: q.MaxQueuedQueries, Memory: int64(q.WorkerMemory),
		MaxSpill: int64(q.MaxSpill), Roots: roots, TempDir: spill, Log: log,
		Setup: setup, Extensions: extensions,
	})
	if err != nil {
		return nil, fmt.Errorf("runtime.query.isolation: %w", err)
	}
	return workers, nil
}

func engineOptions(pod *spicepod.Pod) engine.Options {
	q := pod.Runtime.Query
	opts := engine.Options{
		Unserved:    notLoaded,
		Connections: q.MaxConcurrentQueries,
		Queue:       q.MaxQueuedQueries,
		TempDir:     q.TempDirectory,
		MaxSpill:    int64(q.MaxSpill),
		Limits:      engine.Limits{Timeout: q.Timeout, MaxRows: int64(q.MaxRows), MaxBytes: int64(q.MaxBytes)},
	}
	if q.MemoryLimit > 0 {
		opts.MemoryLimit = fmt.Sprintf("%dB", int64(q.MemoryLimit))
	}
	return opts
}

// close closes the engine and ends the workers.
func (db *database) close() {
	if db.DB != nil {
		db.DB.Close()
	}
	if db.made != nil {
		<-db.made
	}
	if db.workers != nil {
		db.workers.Close()
	}
	db.proxies.Close()
}

// wait waits for the introspection tables and the prelude, which are made while sources
// are opened.
func (db *database) wait() error {
	<-db.made
	if db.setupErr != nil {
		return fmt.Errorf("prepare the catalog: %w", db.setupErr)
	}
	return nil
}

// setup creates the introspection tables and the prelude.
func (db *database) setup(tx *engine.Tx) error {
	ddl := append(datasets.Tables(),
		"CREATE TABLE "+engine.Qualified(engine.System,
			tableLoadErrors)+` (generation BIGINT, component VARCHAR, severity VARCHAR,
			"path" VARCHAR, "file" VARCHAR, line INTEGER, "column" INTEGER, message VARCHAR, hint VARCHAR, waits_for VARCHAR)`)
	ddl = slices.Concat(ddl, generationTables(), agentTables(), sandboxTables(), viewLineageTables(), metricTables(),
		rowsearch.Macros(), []string{indexesView()})
	for _, sql := range ddl {
		if err := tx.Exec(sql); err != nil {
			return err
		}
	}
	if err := udf.Setup(tx, db.Builtins()); err != nil {
		return err
	}
	if err := registry.Setup(tx); err != nil || db.clients == nil {
		return err
	}
	for _, sql := range db.clients.Setup { // last: it lists the tables above
		if err := tx.Exec(sql); err != nil {
			return fmt.Errorf("the catalog %s: %w", db.clients.Schema, err)
		}
	}
	return nil
}

// errNotLoaded refuses to publish within a generation before there is one.
var errNotLoaded = errors.New("nothing is published yet")

// republish runs build in a publication within the current generation that changes the
// rows of these relations.
func (db *database) republish(ctx context.Context, build func(*engine.Tx) error, changed ...engine.Relation) error {
	return db.republishTargets(ctx, nil, build, changed...)
}

// republishTargets is republish for a publication after which these relations have other
// targets.
func (db *database) republishTargets(ctx context.Context, targets map[engine.Relation]engine.Target,
	build func(*engine.Tx) error, changed ...engine.Relation,
) error {
	db.publishing.Lock()
	defer db.publishing.Unlock()
	if db.Current().Generation == 0 {
		return errNotLoaded
	}
	return db.Publish(ctx, db.Current().RenewTargets(targets, changed...), build)
}

// retainFiles makes workers close the files that g does not need.
func (db *database) retainFiles(g *Generation) {
	if db.workers != nil {
		db.workers.Retain(g.files())
	}
}
