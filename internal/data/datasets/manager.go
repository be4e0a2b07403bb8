// Package datasets makes the datasets of a Spicepod ready to be served, and
// keeps what is served across generations.
//
//	m, err := datasets.NewManager(datasets.Options{DB: db, Roots: roots, StateDir: dir, Publish: publish})
//	defer m.Close()
//	ready, problems := m.Prepare(ctx, pod)      // reads, fetches, loads
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		for _, d := range ready {
//			if err := d.Install(tx); err != nil { … }
//		}
//		m.Publish(tx, ready, views)         // on commit: what is served now
//		return nil
//	})
//	go m.Refreshes().Run(ctx)                   // refreshes and retries
//
// A dataset without acceleration is a DuckDB view over its source, which a
// connector opens (package source). An accelerated one is a view over a table
// in a separate database (package copies); a refresh fills a new database
// and the view switches to it in one transaction, so that a statement reads all
// of the old rows or all of the new ones (package refresh).
//
// Values of secrets never reach messages, logs, Status or comments.
package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/duckdb"
	"github.com/spiced-sql/spiced/internal/data/source/file"
	"github.com/spiced-sql/spiced/internal/data/source/https"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Options configures [NewManager]. DB and StateDir are needed; all else has a
// default.
type Options struct {
	DB    *engine.DB
	Roots []string // absolute folders that sources may be read from
	// StateDir holds accelerated data and fetched files; DuckDB must be
	// allowed to use it.
	StateDir string
	HTTP     *http.Client // nil: http.DefaultClient; redirects are handled here
	Log      *slog.Logger
	Clock    load.Clock
	Limits   Limits
	Progress func(load.Progress) // is called for loads that take long, by several goroutines
	Files    bool                // data accelerated in memory is in files, too, for other processes to attach
	Parallel int                 // loads at once, where the Spicepod does not say; 0: one for each CPU
	// Publish and Retry are those of [refresh.Options], and needed.
	Publish func(ctx context.Context, what string, build func(*engine.Tx) error) error
	Retry   func(ctx context.Context, datasets []string)
}

// Limits are bounds that differ from the usual ones; 0 means the usual one.
type Limits struct {
	Datasets      int           // of one Spicepod
	Files         int           // that one glob or folder may match
	Download      int64         // bytes of one file that is fetched over HTTP
	Cache         int64         // bytes of all fetched files
	ProgressDelay time.Duration // of the first report of a load
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Datasets: cmp.Or(l.Datasets, 10_000), Files: cmp.Or(l.Files, 100_000),
		Download: cmp.Or(l.Download, 8<<30), Cache: cmp.Or(l.Cache, 32<<30),
		ProgressDelay: cmp.Or(l.ProgressDelay, time.Second),
	}
}

// Manager keeps sources and accelerated data across generations. One
// goroutine calls Prepare; all else is safe for concurrent use.
type Manager struct {
	opts       Options
	lock       *os.File // of the state directory
	databases  *duckdb.Connector
	connectors map[string]connector
	copies     *copies.Store
	refreshes  *refresh.Scheduler
	progress   *load.Reporter

	mu       sync.Mutex
	live     map[string]*served  // what is published, by tables.Key
	prepared map[string]*Dataset // what is not published yet, by tables.Key
	failed   map[string]failure  // what the last Prepare could not load, by name
}

// connector makes sources of declarations.
type connector interface {
	Compile(source.Declaration) (source.Source, error)
}

// servedConnectors are, in the order of messages.
var servedConnectors = []string{"file", "duckdb", "http", "https"}

// failure is a dataset that could not be loaded.
type failure struct {
	declared spicepod.Dataset
	position spicepod.Position
	err      *fault.Fault
}

// NewManager opens the state directory.
func NewManager(opts Options) (*Manager, error) {
	if opts.DB == nil {
		return nil, errors.New("datasets: Options.DB is missing")
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Clock == nil {
		opts.Clock = load.Real{}
	}
	opts.HTTP, opts.Limits = cmp.Or(opts.HTTP, http.DefaultClient), opts.Limits.withDefaults()
	var err error
	if opts.StateDir, err = filepath.Abs(opts.StateDir); err != nil {
		return nil, err
	}
	for _, folder := range []string{"accelerated", "http"} {
		if err := os.MkdirAll(filepath.Join(opts.StateDir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("create the state directory: %w", err)
		}
	}
	lock, err := disk.Lock(filepath.Join(opts.StateDir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("lock state directory %q: %w", opts.StateDir, err)
	}
	m := &Manager{
		opts: opts, lock: lock,
		progress: &load.Reporter{Clock: opts.Clock, Report: opts.Progress, Delay: opts.Limits.ProgressDelay},
		live:     map[string]*served{}, prepared: map[string]*Dataset{}, failed: map[string]failure{},
	}
	m.refreshes = refresh.New(refresh.Options{DB: opts.DB, Clock: opts.Clock, Log: opts.Log, Publish: opts.Publish, Retry: opts.Retry})
	if err := m.openParts(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Manager) openParts() (err error) {
	o, attacher, roots := m.opts, resource.NewAttacher(m.opts.DB, m.opts.Log), source.NewRoots(m.opts.Roots)
	m.copies, err = copies.Open(copies.Options{DB: o.DB, Attacher: attacher, Dir: filepath.Join(o.StateDir, "accelerated"), Files: o.Files, Clock: o.Clock, Log: o.Log})
	if err != nil {
		return err
	}
	web, err := https.New(https.Options{
		DB: o.DB, Dir: filepath.Join(o.StateDir, "http"), Client: o.HTTP, MaxDownload: o.Limits.Download, MaxCache: o.Limits.Cache,
		Clock: o.Clock, Progress: m.progress, Log: o.Log,
	})
	m.databases = duckdb.New(o.DB, attacher, roots)
	m.connectors = map[string]connector{"file": file.New(o.DB, roots, o.Limits.Files), "duckdb": m.databases, "http": web, "https": web}
	return err
}

// StateDir is the folder that DuckDB must be allowed to use, with the roots.
func (m *Manager) StateDir() string { return m.opts.StateDir }

// Refreshes runs the refreshes of what is served.
func (m *Manager) Refreshes() *refresh.Scheduler { return m.refreshes }

// Close ends what runs in the background and waits for it. Data in files
// stays for the next start.
func (m *Manager) Close() {
	m.refreshes.Close()
	m.lock.Close()
}
