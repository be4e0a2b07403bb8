// Package datasets prepares and publishes the datasets of a Spicepod. It keeps
// their data across generations.
//
//	m, err := datasets.NewManager(datasets.Options{
//		DB: db, Connectors: kinds, Roots: roots, StateDir: dir, Log: log, Publish: publish, Retry: reload,
//	})
//	defer m.Close()
//	p := m.Prepare(ctx, datasets.Request{Pod: pod}) // opens sources and loads copies
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		for _, d := range p.Ready {
//			if err := d.Install(tx); err != nil { … }
//		}
//		m.Publish(tx, p.Ready, views)        // on commit, these are served
//		return nil
//	})
//	go m.Refreshes().Run(ctx)                   // refreshes and retries
//
// A dataset without acceleration is a view over its source, which a connector
// opens (package source). An accelerated dataset is a view over a table in a
// separate database (package copies). A refresh loads a new database, and the
// view switches to it in one transaction, so that a statement reads either the
// old rows or the new ones (package refresh).
//
// Messages, logs, Status and comments never contain secrets.
package datasets

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/snapshots"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Options configures [NewManager]. DB, Connectors, StateDir, Log, Publish and Retry are
// required.
type Options struct {
	DB         *engine.DB
	Connectors source.Kinds
	Proxies    *Proxies // that DB has attached; nil: none
	Roots      []string // absolute paths of folders that sources may be read from
	// StateDir has accelerated data and cached files. DuckDB must be allowed to
	// access it, and no other process may use it.
	StateDir string
	Log      *slog.Logger
	Clock    load.Clock // nil: the system clock
	Limits   Limits
	// Documents starts the workers that read documents; nil: datasets of documents are refused.
	Documents documents.Open
	Progress  func(load.Progress) // called for slow loads, concurrently
	Files     bool                // copies of mode memory are in files too, for other processes to attach
	InPlace   bool                // accelerated datasets are read at their sources instead of copied, to check a Spicepod
	// Publish, Ended, Noted and Retry are those of [refresh.Options], and so is Began, which may be nil.
	Began   func(t *tables.Table)
	Publish func(ctx context.Context, t *tables.Table, v *tables.Version, build func(*engine.Tx) error) error
	Ended   func(ctx context.Context, t *tables.Table, err error)
	Noted   func(ctx context.Context, t *tables.Table)
	Retry   func()
	// Snapshot is called when a snapshot was written or loaded, or could not be; nil: nothing is.
	Snapshot func(*tables.Table, snapshots.Outcome)
	// Loaded is called when a load that a Prepare did not wait for has ended; nil:
	// Prepare always waits. It must return at once.
	Loaded func()
}

// Limits replaces default limits; 0 keeps the default.
type Limits struct {
	Datasets int   // of a Spicepod
	Tables   int   // of a catalog
	Files    int   // of a dataset
	Download int64 // bytes of a downloaded file
	Cache    int64 // bytes of all downloaded files
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Datasets: cmp.Or(l.Datasets, 10_000), Tables: cmp.Or(l.Tables, 10_000), Files: cmp.Or(l.Files, 100_000),
		Download: cmp.Or(l.Download, 8<<30), Cache: cmp.Or(l.Cache, 32<<30),
	}
}

// downloads is the folder of downloaded files in the state directory.
const downloads = "http"

// Manager manages datasets across generations. Only one goroutine may call
// Prepare; the other methods are safe for concurrent use.
type Manager struct {
	opts       Options
	connectors map[string]source.Connector // by prefix of `from`
	copies     *copies.Store
	refreshes  *refresh.Scheduler
	progress   *load.Reporter
	objects    *objectstore.Proxy
	catalogs   *catalogs
	snapshots  *snapshots.Snapshots

	mu      sync.Mutex
	live    map[string]*served // published, by tables.Key
	failed  map[string]Status  // not loaded by the last Prepare, by name
	loading []*Load            // of the last Prepare
	loads   *loads
	checked map[string]time.Time            // when Check last began, by the dataset's name
	watched map[*Dataset]context.CancelFunc // by Check
}

// NewManager opens the state directory.
func NewManager(opts Options) (*Manager, error) {
	opts.Proxies = cmp.Or(opts.Proxies, NewProxies(opts.Connectors, opts.Log))
	opts.Clock, opts.Limits = cmp.Or[load.Clock](opts.Clock, load.Real{}), opts.Limits.withDefaults()
	if opts.Began == nil {
		opts.Began = func(*tables.Table) {}
	}
	var err error
	if opts.StateDir, err = filepath.Abs(opts.StateDir); err != nil {
		return nil, err
	}
	for _, folder := range []string{"accelerated", downloads} {
		if err := os.MkdirAll(filepath.Join(opts.StateDir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("create the state directory: %w", err)
		}
	}
	attacher, roots := resource.NewAttacher(opts.DB, opts.Log), source.NewRoots(opts.Roots)
	store, err1 := copies.Open(copies.Options{
		DB: opts.DB, Attacher: attacher, Dir: filepath.Join(opts.StateDir, "accelerated"), Files: opts.Files,
		Clock: opts.Clock, Log: opts.Log,
	})
	progress := &load.Reporter{Clock: opts.Clock, Report: opts.Progress}
	cache, err2 := fetch.Open(filepath.Join(opts.StateDir, downloads), opts.Limits.Cache, opts.Log)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	objects := objectstore.New(opts.DB.Exec, opts.Log)
	connectors := openConnectors(opts, source.Host{
		DB: opts.DB, Log: opts.Log, Clock: opts.Clock, Progress: progress, Roots: roots, Attacher: attacher,
		Objects: objects, Cache: cache, MaxDownload: opts.Limits.Download, MaxFiles: opts.Limits.Files,
		Documents: opts.Documents,
	})
	return &Manager{
		opts: opts, connectors: connectors, copies: store, progress: progress, objects: objects,
		catalogs: &catalogs{opts: opts, connectors: connectors},
		snapshots: snapshots.New(snapshots.Options{
			DB: opts.DB, Copies: store, Dir: store.Dir, MaxBytes: opts.Limits.Download, Clock: opts.Clock, Progress: progress,
			Log: opts.Log, Ended: snapshotEnded(opts),
		}),
		refreshes: refresh.New(refresh.Options{
			DB: opts.DB, Clock: opts.Clock, Log: opts.Log, Publish: opts.Publish,
			Began: opts.Began, Ended: opts.Ended, Noted: opts.Noted, Retry: opts.Retry,
		}),
		live: map[string]*served{}, failed: map[string]Status{},
		loads:   &loads{entries: map[string]*entry{}, running: map[*Load]context.CancelFunc{}, requests: newBackground()},
		checked: map[string]time.Time{}, watched: map[*Dataset]context.CancelFunc{},
	}, nil
}

// openConnectors returns the connectors by the prefixes of `from`.
func openConnectors(o Options, h source.Host) map[string]source.Connector {
	all := map[string]source.Connector{}
	for _, k := range o.Connectors {
		h.Proxy = o.Proxies.of[k.Extension]
		c := k.Open(h)
		for _, name := range k.Names {
			all[name] = c
		}
	}
	return all
}

// kind returns the kind of the connector of a dataset.
func (m *Manager) kind(d *Dataset) *source.Kind { return m.opts.Connectors.Of(d.from.Connector) }

// Refreshes returns the scheduler of refreshes.
func (m *Manager) Refreshes() *refresh.Scheduler { return m.refreshes }

// Close cancels loads and refreshes and waits for them. Data in files is kept for the next
// start.
func (m *Manager) Close() {
	m.catalogs.close()
	m.closeLoads()
	m.loads.requests.end()
	m.refreshes.Close()
	m.snapshots.Close()
	for _, c := range m.connectors {
		if c, ok := c.(interface{ Close() }); ok {
			c.Close()
		}
	}
	m.objects.Close()
}
