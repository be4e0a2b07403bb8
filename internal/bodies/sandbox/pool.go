package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// Pool has the workers of a sandbox. It is safe for concurrent use.
type Pool struct {
	o         Options
	off       layer // what is left out, in tests that show what it is for
	isolation Isolation
	masked    func(string) string
	dir       *scratch.Dir // of the workers' scratch folders

	slots   chan struct{} // one for each worker that may run a call
	waiting atomic.Int32
	task    sync.WaitGroup // processes, until they are waited for

	mu     sync.Mutex
	idle   []*worker
	all    map[*worker]bool
	closed bool
	fails  int       // starts that failed in a row
	retry  time.Time // when the next start may be
	cause  error     // of the last failure
}

// errClosed is the error of calls during and after Close.
var errClosed = errors.New("the sandbox is shutting down")

// New returns a pool without workers; calls start them. It fails where the isolation that
// is required cannot be had.
func New(o Options) (*Pool, error) { return newPool(o, 0) }

func newPool(o Options, off layer) (*Pool, error) {
	o = o.withDefaults()
	if len(o.Command) == 0 && o.Script == "" {
		return nil, errors.New("a sandbox needs an interpreter or a command")
	}
	isolation := Probe(o.Shim).without(off).Networked(o.Network)
	if o.Required && !isolation.Full {
		return nil, &NotIsolatedError{isolation}
	}
	dir, err := scratch.New("sandbox")
	if err != nil {
		return nil, fmt.Errorf("scratch folder of a sandbox: %w", err)
	}
	return &Pool{
		o: o, off: off, isolation: isolation, masked: masker(o.Secrets), dir: dir,
		slots: make(chan struct{}, o.Workers), all: map[*worker]bool{},
	}, nil
}

// AtOnce is how many calls run at once. It is 1 for programs, whose calls are seldom worth
// a process more.
func (p *Pool) AtOnce() int {
	if p.o.Lines {
		return 1
	}
	return p.o.Workers
}

// Name is the name of the sandbox.
func (p *Pool) Name() string { return p.o.Name }

// Isolation says how the workers are isolated.
func (p *Pool) Isolation() Isolation { return p.isolation }

// Load executes the code of a function in a worker and looks its entry point up. An error
// of the code is a [*CodeError].
func (p *Pool) Load(ctx context.Context, f *Function) error {
	return p.with(ctx, f, func(*worker) error { return nil })
}

// Call calls a function on each row of a batch. An error of the code is a [*CodeError].
func (p *Pool) Call(ctx context.Context, f *Function, batch arrow.RecordBatch) (values arrow.Array, err error) {
	began := time.Now()
	err = p.with(ctx, f, func(w *worker) (err error) {
		values, err = w.call(f, batch)
		return err
	})
	p.o.Metrics.SandboxCalled(p.o.Name, outcome(err), batch.NumRows(), time.Since(began))
	return values, err
}

// with runs one exchange with a worker that has loaded the function.
func (p *Pool) with(ctx context.Context, f *Function, do func(*worker) error) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	defer func() { <-p.slots }()
	w, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.put(w)
	stop := w.begin(ctx)
	defer stop()
	if err = w.ensure(f); err == nil {
		err = do(w)
	}
	if ctx.Err() != nil {
		w.cancel(ctx)
		return ctx.Err()
	}
	return err
}

// wait waits until a worker may run a call.
func (p *Pool) wait(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	if p.waiting.Add(1) > maxWaiting {
		p.waiting.Add(-1)
		return fmt.Errorf("%d calls wait for the %d workers of sandbox %s already; raise limits.workers", maxWaiting,
			p.o.Workers, p.o.Name)
	}
	defer p.waiting.Add(-1)
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take returns a worker that is idle, or a new one. A caller who has gone starts none, which must
// not count as a start that failed: those delay the starts of other callers.
func (p *Pool) take(ctx context.Context) (*worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	for len(p.idle) > 0 {
		w := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		switch {
		case w.ended():
		case w.stray():
			p.o.Log.Warn("the code wrote to its output after its reply; its worker is replaced", "sandbox", p.o.Name)
			w.kill(endDamaged)
		default:
			p.mu.Unlock()
			return w, nil
		}
	}
	if wait := time.Until(p.retry); wait > 0 {
		defer p.mu.Unlock()
		return nil, fmt.Errorf("the workers of sandbox %s do not start; the next attempt is in %s: %w", p.o.Name,
			wait.Round(time.Millisecond), p.cause)
	}
	p.task.Add(1) // Close waits for what starts
	defer p.task.Done()
	p.mu.Unlock()
	w, err := p.start()
	p.started(w, err)
	return w, err
}

// Waits after starts that failed, which double.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// started records whether a start failed.
func (p *Pool) started(w *worker, err error) {
	p.o.Metrics.WorkerStarted(p.o.Name, err != nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && p.closed:
		w.kill(endClosed)
	case err == nil:
		p.all[w] = true
	default:
		p.failed(err)
	}
}

// failed delays the next start. p.mu is held.
func (p *Pool) failed(err error) {
	p.retry = time.Now().Add(min(firstRetry<<min(p.fails, 10), lastRetry))
	p.fails++
	p.cause = err
}

// put makes a worker available again, unless it has ended.
func (p *Pool) put(w *worker) {
	// A process or a thread that code in Python leaves could disturb the next call. A command may
	// have some of its own.
	switch {
	case w.ended():
	case w.left:
		p.o.Log.Debug("the code left threads, tasks or callbacks; its worker is replaced", "sandbox", p.o.Name)
		w.kill(endThreads)
	case !p.o.Lines && leavesProcesses(w.cmd.Process.Pid):
		p.o.Log.Debug("the code left processes; its worker is replaced", "sandbox", p.o.Name)
		w.kill(endProcesses)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		w.kill(endClosed)
	case w.ended():
		switch {
		case w.served:
			p.fails = 0
		case w.reason() == endSelf:
			p.failed(w.lost(nil))
		}
	default:
		p.fails = 0
		p.idle = append(p.idle, w)
	}
}

// gone forgets a worker whose process has ended.
func (p *Pool) gone(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, w)
}

// Close kills the workers and removes their folders. Calls that run fail.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for w := range p.all {
		w.kill(endClosed)
	}
	p.mu.Unlock()
	p.task.Wait()
	p.dir.Remove()
	return nil
}
