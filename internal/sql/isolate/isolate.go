// Package isolate runs statements in separate worker processes, which can be killed:
// some of DuckDB's kernels can neither be interrupted nor limited in memory, such as
// levenshtein(repeat('a', 200000), repeat('b', 200000)).
//
// A [Pool] is the runtime's side. It starts a worker when a statement needs one,
// creates in it what the statement names and the worker does not have yet, and
// reads the rows as Arrow batches from a pipe. Rows that the reader is slow to take
// move to a file, so that the worker is available to the next statement. A worker
// that exceeds the time or memory of a statement is killed and replaced. The parent
// does not trust the data that a worker sends.
//
//	pool, err := isolate.New(isolate.Options{Roots: roots, Setup: statements})
//	defer pool.Close()
//	db, err := engine.Open(ctx, engine.Options{Isolator: pool})
//	…
//	pool.Retain(files) // after each publication
//
// [Main] is the worker's side, the body of a hidden command.
package isolate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	kitmemory "github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Defaults of [Options].
const (
	leastMemory  = 1 << 30 // of the default
	defaultGrace = 250 * time.Millisecond
	defaultSpool = 1 << 30
	defaultQueue = 1024
	minWorkers   = 2
	minMemory    = 256 << 20 // an empty worker needs about 150 MiB
)

// Limits of a worker's life.
const (
	maxStatements = 10_000           // that a worker runs
	startLimit    = 60 * time.Second // for running the setup
	idleLimit     = 5 * time.Minute  // without a statement
	maxCalls      = 256              // concurrent calls of the runtime's functions by one statement
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	Command []string // starts a worker; nil: this executable with the argument worker
	Env     []string // the worker's environment, as name=value, besides TZ; nothing else is inherited
	// statements that run concurrently, at each depth of nesting; 0: one for each CPU, at least 2
	Workers int
	// bytes of memory of a worker, at least 256 MiB; 0: see defaultMemory; below 0: no limit
	Memory      int64
	Roots       []string           // folders that a worker's DuckDB may read
	Queue       int                // statements that may wait for a worker, at each depth of nesting; 0: 1024
	Setup       []string           // SQL statements that every worker runs at its start
	Extensions  []engine.Extension // of DuckDB that every worker loads, if it can
	MaxSpill    int64              // bytes that each worker may spill; 0: as [engine.Options.MaxSpill]
	TempDir     string             // where workers spill, and rows that were not read yet; "": the system's folder
	Spool       int64              // bytes of rows in files that were not read yet; 0: 1 GiB
	Grace       time.Duration      // between a statement's time limit and the end of the worker; 0: 250 ms
	Threads     int                // of each worker's DuckDB; 0: one for each CPU
	MemoryLimit string             // of each worker's DuckDB, such as "600MiB"; "": 60 % of Memory
	Log         *slog.Logger       // nil: no log
}

func withDefaults(o Options) (Options, error) {
	if len(o.Command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find the worker executable: %w", err)
		}
		o.Command = []string{self, "worker"}
	}
	o.Workers = cmp.Or(o.Workers, max(minWorkers, runtime.GOMAXPROCS(0)))
	o.Memory = cmp.Or(o.Memory, defaultMemory(o.Workers))
	if o.Memory > 0 && o.Memory < minMemory {
		return o, fmt.Errorf("a worker needs at least %d MiB of memory, got %d", minMemory>>20, o.Memory>>20)
	}
	if o.MemoryLimit == "" && o.Memory > 0 {
		o.MemoryLimit = fmt.Sprintf("%dMiB", duckdbShare(o.Memory)>>20)
	}
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	o.Spool = cmp.Or(o.Spool, defaultSpool)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Env = append(inherited(), o.Env...)
	return o, nil
}

// duckdbShare is the default of what DuckDB may take of a worker's memory.
func duckdbShare(memory int64) int64 { return memory * 6 / 10 }

// defaultMemory is the memory of each of n workers: half of what this process may use, divided by
// them, and at least 1 GiB.
func defaultMemory(n int) int64 { return max(kitmemory.Available()/2/int64(n), leastMemory) }

// inherited is the environment of every worker: one line instead of stacks when the
// Go runtime crashes, one processor for Go code, since DuckDB's threads do the work and
// the switches between Go's cost more than a short statement, and the time zone of this
// process.
func inherited() []string {
	env := []string{"GOTRACEBACK=none", "GOMAXPROCS=1"}
	if tz, ok := os.LookupEnv("TZ"); ok {
		env = append(env, "TZ="+tz)
	}
	return env
}

// Pool is a set of workers. It is safe for concurrent use.
type Pool struct {
	opts  Options
	life  context.Context // ends with Close
	stop  context.CancelFunc
	work  sync.WaitGroup // all goroutines of the pool
	spool budget

	mu     sync.Mutex
	closed bool
	levels [engine.MaxNesting + 1]*level
	files  map[string]bool // see Retain; nil: all
	stats  Stats           // without the numbers that Stats counts
}

var _ engine.Isolator = (*Pool)(nil)

// New makes a pool without workers: they start when statements need them.
func New(opts Options) (*Pool, error) {
	opts, err := withDefaults(opts)
	if err != nil {
		return nil, err
	}
	p := &Pool{opts: opts, spool: budget{limit: opts.Spool}}
	for i := range p.levels {
		p.levels[i] = newLevel(opts.Workers, opts.Queue)
	}
	p.life, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// Run implements [engine.Isolator]: it waits for a worker and starts the statement
// in it.
func (p *Pool) Run(ctx context.Context, job engine.Job) (engine.RemoteRows, error) {
	w, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	r, err := newRows(ctx, p, w, job)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Waiting implements [engine.Isolator].
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting()
}

func (p *Pool) waiting() int {
	n := 0
	for _, l := range p.levels {
		n += l.slots.Stats().Waiting
		for _, s := range l.suspects {
			n += s.turns.Stats().Waiting
		}
	}
	return n
}

// Stats are statistics of a pool: current numbers of workers and statements, and
// totals since it was made.
type Stats struct {
	Workers, Idle, Waiting int
	Started                int   // became ready
	Killed                 int   // exceeded the time of their statement
	Crashed                int   // ended by themselves, for example out of memory
	Spooled                int64 // bytes of rows that are in files
}

// Stats returns the current statistics.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Spooled, s.Waiting = p.spool.used.Load(), p.waiting()
	for _, l := range p.levels {
		s.Workers += l.alive
		for _, w := range l.idle {
			if closed(w.ready) && !w.over() {
				s.Idle++
			}
		}
	}
	return s
}

// Close ends all workers and their statements, and waits until they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.levels {
		for _, w := range l.idle {
			w.kill()
		}
		l.idle = nil
		for len(l.waiting) > 0 {
			l.grant(grant{err: engine.ErrClosing})
		}
	}
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
}
