// Package engine owns the runtime's DuckDB instance.
//
// It opens and locks the database, judges every statement of a user or a model
// before it runs (guard.go), limits its time, rows, bytes and concurrency,
// interrupts it when its caller disconnects, and streams its rows as DuckDB's own
// vectors. All changes by the runtime itself go through [DB.Publish]: one
// transaction, one generation, one swap.
//
//	db, err := engine.Open(ctx, engine.Options{})
//	defer db.Close()
//	catalog := engine.NewCatalog(1, relations, functions)
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		return tx.Exec(`CREATE OR REPLACE FUNCTION spice.public.twice(x BIGINT) AS 2 * x`)
//	})
//	rows, err := db.Query(ctx, engine.Request{SQL: "SELECT twice(21)"})
//	defer rows.Close()
//	for chunk, err := range rows.Chunks() { … }
//
// User-visible objects live in catalog "spice": schema "public" holds
// datasets, views and functions, "spiced" the introspection tables, "core"
// bodies with subqueries before their arguments are bound, "datafusion" the
// prelude. Accelerated data lives in databases attached next to it.
//
// This is the only package that imports the driver.
//
// The first word of a file's name is its group, in the order in which a statement passes them:
//
//   - engine, instance, publish, catalog: the database, its restart, its generations, and what
//     a generation declares
//   - query, conn, errors, transaction: the life of a statement, on which connection it runs, and
//     what its caller learns when it fails
//   - guard, rewrite: what a statement may do, and the text that DuckDB gets
//   - write: INSERT, UPDATE and DELETE. A write is judged (write.go); its rows are computed by a
//     worker if that is costly (write_computed.go) and written to DuckDB (write_commit.go) or to the
//     table of another server (write_foreign.go, with ON CONFLICT and the table in files of their
//     own). What runs is in the files that end in _run.go
//   - stored: tables of stored results
//   - bind, types, chunk: parameters, types and rows as DuckDB has them
//   - native: functions and tables that DuckDB calls in this process
//   - isolate: statements that run in a worker process
package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// The catalog and the schemas of user-visible objects.
const (
	CatalogName = "spice"
	Public      = "public"     // datasets, views, functions
	System      = "spiced"     // introspection tables
	Core        = "core"       // bodies with subqueries, before their arguments are bound
	Prelude     = "datafusion" // macros for bodies written in DataFusion's dialect
)

// Defaults of [Options].
const (
	defaultTimeout   = 30 * time.Second
	defaultQueue     = 1024
	defaultSQLBytes  = 1 << 20
	maxAbandoned     = 8   // statements that ignore interrupts, of all callers, and give up their slot
	leastAbandoned   = 2   // of these, of one caller, who may run others then; or half of the slots
	statementsCached = 256 // prepared statements a connection keeps
)

// Options configures [Open]. The zero value is ready to use.
type Options struct {
	Unserved    func(Object, Relation) *Error // [Contents.Unserved] before the first publication
	Threads     int                           // DuckDB worker threads; 0: one for each CPU
	MemoryLimit string                        // such as "4GB"; "": DuckDB's default, 80 % of RAM
	MaxSpill    int64                         // bytes that DuckDB may spill; 0: see defaultSpill
	TempDir     string                        // where DuckDB spills; "": a folder made for this run, removed by Close
	Connections int                           // statements running at once, shared as package fair does; 0: twice the CPUs
	Queue       int                           // statements waiting for a connection; 0: 1024
	MaxSQL      int                           // bytes of one statement; 0: 1 MiB
	Limits      Limits                        // of a statement that does not bring its own
	Grace       time.Duration                 // how long after its time limit a statement may take to react; 0: 250 ms
	Isolator    Isolator                      // runs statements with [Request.Isolate]; nil: they run here
	Extensions  []Extension                   // to load; see [DB.Extension]
	// asks for [DB.Renew]: DuckDB refuses all statements; must return at once; nil: nothing replaces it
	Lost func()
	// interrupts what the statement of a connection waits for: see [Extension.Label]; nil: nothing
	Interrupted func(label string)
	// Others handles the calls of names without a [Handler]; nil: they are errors. A
	// worker forwards them.
	Others func(ctx context.Context, handler, input string) (string, error)
	// Batch computes the values of the functions of [BatchName]; nil: their calls are errors.
	Batch BatchHandler
}

// Limits limits one statement. A zero field takes the database's value, and a
// Timeout above the database's is lowered to it. Zero in the database's limits
// means no limit, except for Timeout, whose default is 30 s.
type Limits struct {
	Timeout  time.Duration
	MaxRows  int64
	MaxBytes int64 // of rows as DuckDB holds them
}

// DB is the runtime's DuckDB. It is safe for concurrent use.
type DB struct {
	opts       Options
	tempDir    *scratch.Dir // made by Open, removed by Close
	duck       atomic.Pointer[instance]
	pools      [MaxNesting + 1]*pool // by depth of nesting
	builtins   *Builtins
	extensions map[string]error // by name; see Extension
	life       context.Context  // ends with Close
	stop       context.CancelFunc

	write     sync.Mutex // held by the one writer
	roots     []string   // see Lock; nil: it is not locked
	instances uint64     // opened so far; guarded by write
	planning  planning   // that publications wait for
	recovery  recovery

	commit   sync.RWMutex  // held while a publication commits and swaps
	epoch    atomic.Uint64 // counts publications; odd while one commits
	current  *Catalog      // guarded by commit
	serial   atomic.Uint64 // numbers catalogs
	commits  commits       // of statements that change rows
	versions versions      // of the rows of relations; guarded by commit
	maxRun   time.Duration // of a statement whose plan is cached; maxPlanRun except in tests
	drain    drain

	handlers     sync.Map       // name → Handler
	remote       sync.WaitGroup // statements in other processes
	remotes      atomic.Int64   // their number
	crashes      crashes
	running      sync.Map // connection id → *nativeCalls of the statement
	streams      streams
	snapshots    snapshotConns
	transactions transactions
	batches      batches

	refs atomic.Pointer[Refs] // nil: no results are stored
}

// Open starts an in-memory DuckDB with the runtime's catalogs. The database is
// not locked yet: see [DB.Lock].
func Open(ctx context.Context, opts Options) (*DB, error) {
	db := &DB{opts: withDefaults(opts), maxRun: maxPlanRun}
	db.life, db.stop = context.WithCancel(context.Background())
	if err := db.open(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("open DuckDB: %w", err)
	}
	return db, nil
}

func withDefaults(o Options) Options {
	cpus := runtime.GOMAXPROCS(0)
	o.Threads = cmp.Or(o.Threads, cpus)
	o.Connections = cmp.Or(o.Connections, 2*cpus)
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	o.MaxSQL = cmp.Or(o.MaxSQL, defaultSQLBytes)
	o.Limits.Timeout = cmp.Or(o.Limits.Timeout, defaultTimeout)
	o.Grace = cmp.Or(o.Grace, 250*time.Millisecond)
	return o
}

func (db *DB) open(ctx context.Context) error {
	if db.opts.TempDir == "" {
		dir, err := scratch.New("spill")
		if err != nil {
			return err
		}
		db.opts.TempDir, db.tempDir = dir.Path, dir
	}
	in, err := db.openInstance()
	if in != nil {
		db.duck.Store(in) // for Close
	}
	if err != nil {
		return err
	}
	memory, err := in.memoryLimit()
	if err != nil {
		return err
	}
	for i := range db.pools {
		db.pools[i] = newPool(db.opts, memory, func() (*conn, error) { return db.connect(searchPath) })
	}
	if err := in.openLabeled(); err != nil {
		return err
	}
	db.current = NewCatalog(Contents{Unserved: db.opts.Unserved})
	return ctx.Err()
}

// searchPath makes t, public.t and spice.public.t the same name and puts the
// prelude before DuckDB's own functions.
const searchPath = "SET search_path = '" + CatalogName + "." + Public + "," + CatalogName + "." + Prelude + "'"

// DisabledOptimizers are optimizers of DuckDB 1.5.5 that change results, separated by commas:
//
//   - top_n_window_elimination: where no row is left, row_number() OVER (ORDER BY …) = 1
//     returns one of NULLs (duckdb#25888).
//   - common_subplan: subplans that differ, such as two arms of UNION ALL, are taken for the
//     same (duckdb#24624, #25819).
//   - window_self_join: an aggregate OVER (PARTITION BY …) computes its input a second time.
//     Values of random() in it differ from those that the statement returns (duckdb#24302),
//     and functions that write are called twice for each row.
const DisabledOptimizers = "top_n_window_elimination,common_subplan,window_self_join"

// closePatience is how long, in addition to the grace, Close waits for the
// statements it has interrupted.
const closePatience = 2 * time.Second

// Close interrupts running statements and a publication, waits for them to end
// and closes the database. A statement that ignores the interrupt is abandoned
// with its connection and the database; a publication is always waited for.
func (db *DB) Close() {
	db.stop()
	quiet := true
	for _, p := range slices.Backward(db.pools[:]) { // innermost statements first
		quiet = (p == nil || p.close(db.opts.Grace+closePatience)) && quiet
	}
	db.remote.Wait()
	if quiet {
		db.transactions.ended.Wait()
	}
	db.snapshots.close()
	db.write.Lock() // until a publication has ended
	defer db.write.Unlock()
	if in := db.duck.Load(); in != nil {
		in.close(quiet)
	}
	db.tempDir.Remove()
}

// Lock permanently denies DuckDB everything outside roots: files and network
// access elsewhere, extensions, and changes to settings. Attaching databases and
// reading files below roots remain possible.
func (db *DB) Lock(roots []string) error {
	db.write.Lock()
	defer db.write.Unlock()
	db.roots = append([]string{}, roots...)
	return db.duck.Load().lock(db.roots)
}

// Builtins returns the built-in functions of DuckDB.
func (db *DB) Builtins() *Builtins { return db.builtins }

// Current is the catalog that new statements see.
func (db *DB) Current() *Catalog {
	db.commit.RLock()
	defer db.commit.RUnlock()
	return db.current
}

// Stats are the current numbers of statements.
type Stats struct {
	Running, Waiting, Abandoned int
}

// Stats returns the current load.
func (db *DB) Stats() Stats {
	var sum Stats
	for _, p := range db.pools {
		s := p.stats()
		sum.Running, sum.Waiting, sum.Abandoned = sum.Running+s.Running, sum.Waiting+s.Waiting, sum.Abandoned+s.Abandoned
	}
	if db.opts.Isolator != nil {
		waiting := min(db.opts.Isolator.Waiting(), int(db.remotes.Load()))
		sum.Running, sum.Waiting = sum.Running+int(db.remotes.Load())-waiting, sum.Waiting+waiting
	}
	return sum
}

// Version is DuckDB's version, such as "v1.5.5".
func Version() string { return mapping.LibraryVersion() }
