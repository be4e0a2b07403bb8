// Package isolate runs statements in worker processes of their own, which can
// be killed: some of DuckDB's kernels can neither be interrupted nor bounded
// in memory, as in levenshtein(repeat('a', 200000), repeat('b', 200000)).
//
// A [Pool] is the runtime's side. It keeps workers ready that hold what the
// newest catalog declares, hands each one statement at a time and reads its
// rows as Arrow batches from a pipe; the pipe is the flow control. A worker
// that overruns the time or the memory of its statement ends, and another
// takes its place. The parent does not trust what a worker sends.
//
//	pool, err := isolate.New(isolate.Options{Roots: roots})
//	defer pool.Close()
//	db.UseIsolator(pool)
//	…
//	pool.Prewarm(db.Current()) // after each publication
//
// [Main] is the worker's side, the body of a hidden command.
package isolate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Defaults of [Options].
const (
	defaultMemory  = 1 << 30
	defaultGrace   = 250 * time.Millisecond
	defaultThreads = 2
	minWorkers     = 2
	minMemory      = 256 << 20 // a worker that holds nothing needs about 150 MiB
)

// Limits of a worker's life.
const (
	maxStatements = 10_000           // that one worker runs
	startLimit    = 60 * time.Second // until a worker has run its script
	maxScripts    = 3                // that fail, each made anew, before a catalog has no workers
	minBackoff    = 100 * time.Millisecond
	maxBackoff    = 30 * time.Second
	maxCalls      = 256 // of the runtime's functions, that one statement waits for at once
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	Command     []string      // starts a worker; nil: this executable with the argument worker
	Env         []string      // its environment, as name=value, beside TZ; nothing else of ours reaches it
	Workers     int           // statements that run at once, at each depth of nesting; 0: one for each CPU, at least 2
	Memory      int64         // bytes that a worker may hold, at least 256 MiB; 0: 1 GiB; below 0: no limit
	Roots       []string      // folders that a worker's DuckDB may read
	TempDir     string        // where workers spill; "": the system's folder
	Grace       time.Duration // between the end of a statement's time and that of its worker; 0: 250 ms
	Threads     int           // of each worker's DuckDB; 0: 2
	MemoryLimit string        // of each worker's DuckDB, such as "600MiB"; "": 60 % of Memory
	Log         *slog.Logger  // nil: no log
}

func withDefaults(o Options) (Options, error) {
	if len(o.Command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find the program of workers: %w", err)
		}
		o.Command = []string{self, "worker"}
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Memory > 0 && o.Memory < minMemory {
		return o, fmt.Errorf("a worker needs at least %d MiB of memory, got %d", minMemory>>20, o.Memory>>20)
	}
	if o.MemoryLimit == "" && o.Memory > 0 {
		o.MemoryLimit = fmt.Sprintf("%dMiB", o.Memory*6/10>>20)
	}
	o.Workers = cmp.Or(o.Workers, max(minWorkers, runtime.GOMAXPROCS(0)))
	o.Threads = cmp.Or(o.Threads, defaultThreads)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Env = append(inherited(), o.Env...)
	return o, nil
}

// inherited is what every worker finds in its environment: one line instead of
// stacks when the Go runtime ends it, and our time zone.
func inherited() []string {
	env := []string{"GOTRACEBACK=none"}
	if tz, ok := os.LookupEnv("TZ"); ok {
		env = append(env, "TZ="+tz)
	}
	return env
}

// Pool is a set of workers. It is safe for concurrent use.
type Pool struct {
	opts Options
	life context.Context // ends with Close; the one context that is kept
	stop context.CancelFunc
	work sync.WaitGroup // of everything the pool has begun

	mu     sync.Mutex
	closed bool
	crews  map[crewKey]*crew
	newest uint64 // serial of the newest catalog
	stats  Stats  // but for what is counted when asked
}

var _ engine.Isolator = (*Pool)(nil)

// New makes a pool without workers: see [Pool.Prewarm].
func New(opts Options) (*Pool, error) {
	opts, err := withDefaults(opts)
	if err != nil {
		return nil, err
	}
	p := &Pool{opts: opts, crews: map[crewKey]*crew{}}
	p.life, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// Run implements [engine.Isolator]: it waits for a worker that holds the job's
// catalog and begins the statement there.
func (p *Pool) Run(ctx context.Context, job engine.Job) (engine.RemoteRows, error) {
	params, err := appendParams(nil, job.Params)
	if err != nil {
		return nil, newError(engine.CodeArgument, err.Error(), "")
	}
	w, err := p.hire(ctx, job.Catalog)
	if err != nil {
		return nil, err
	}
	r := newRows(ctx, p, w, job)
	if err := r.begin(params); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Prewarm makes workers ready for a catalog that has been published. It does
// not wait for them. Those of older catalogs end when one of them is ready and
// their statements are over.
func (p *Pool) Prewarm(cat *engine.Catalog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fillUp(p.crewOf(cat, 0))
}

// Stats are numbers of a pool: of workers and statements at this moment, and
// of workers since its beginning.
type Stats struct {
	Workers, Idle, Waiting int
	Started                int // those that became ready
	Killed                 int // over the time of their statement
	Crashed                int // ended by themselves, as for want of memory
}

// Stats returns the present numbers.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	for _, c := range p.crews {
		s.Workers, s.Idle, s.Waiting = s.Workers+c.alive, s.Idle+len(c.idle), s.Waiting+len(c.waiting)
	}
	return s
}

var errClosed = errors.New("the runtime is shutting down")

// Close ends all workers and what runs there, and returns when they are gone.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.crews {
		c.refuse(newError(engine.CodeCancelled, errClosed.Error(), ""))
		c.dismissIdle()
	}
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
}
