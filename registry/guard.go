package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
)

// DefaultEmbeddingTimeout is how long a search waits for its embedding model.
const DefaultEmbeddingTimeout = time.Second

// A model that failed is probed after firstProbe; the interval doubles up to lastProbe.
const (
	firstProbe = time.Second
	lastProbe  = time.Minute
)

// guards are the circuit breakers of embedding models, and the work of searches in the
// background.
type guards struct {
	log     *slog.Logger
	metrics *telemetry.Metrics              // nil: none
	run     func(func(ctx context.Context)) // in the background, until close
	close   func()

	mu      sync.Mutex
	byModel map[string]*guard // by name
}

// guard is the circuit breaker of one model. After a failure, searches use no vectors
// and do not ask the model until a probe in the background succeeds.
type guard struct {
	*guards
	model   embeddings.Model
	timeout time.Duration // of a probe
	late    atomic.Bool   // searches no longer wait for the tools' vectors

	mu       sync.Mutex
	fault    error // why searches do not ask the model; nil: they do
	failures int   // since a query succeeded
	probes   *time.Timer
}

func newGuards(log *slog.Logger, metrics *telemetry.Metrics) *guards {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var running sync.WaitGroup
	x := &guards{log: log, metrics: metrics, byModel: map[string]*guard{}}
	x.run = func(f func(context.Context)) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			running.Go(func() { f(ctx) })
		}
	}
	x.close = func() {
		mu.Lock()
		cancel()
		mu.Unlock()
		running.Wait()
		x.keep(func(*guard) bool { return false })
	}
	return x
}

// of returns the guard of a model. Another model of the same name gets a new one.
func (x *guards) of(m embeddings.Model, timeout time.Duration) *guard {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.byModel[m.Name()]
	if g == nil || g.model != m {
		if g != nil {
			g.stop()
		}
		g = &guard{guards: x, model: m, timeout: timeout}
		x.byModel[m.Name()] = g
	}
	return g
}

// keep removes the guards for which keep does not hold.
func (x *guards) keep(keep func(*guard) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, g := range x.byModel {
		if !keep(g) {
			g.stop()
			delete(x.byModel, name)
		}
	}
}

// faults returns why models are not asked, by name.
func (x *guards) faults() map[string]error {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := map[string]error{}
	for name, g := range x.byModel {
		if err := g.refusal(); err != nil {
			all[name] = err
		} else if g.late.Load() {
			all[name] = errComputing
		}
	}
	return all
}

// refusal returns why the model is not asked now, or nil.
func (g *guard) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fault
}

// stop ends the probes.
func (g *guard) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.probes != nil {
		g.probes.Stop()
	}
	g.show(true)
}

func (g *guard) show(up bool) {
	if g.metrics != nil {
		g.metrics.EmbeddingModel(g.model.Name(), up)
	}
}

// worked records that the model embedded a query.
func (g *guard) worked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures = 0
}

// failed opens the breaker, unless the error is about the text alone.
func (g *guard) failed(err error) {
	var e *embeddings.Error
	if errors.As(err, &e) &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity},
			e.Status) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fault == nil {
		g.log.Warn("the embedding model fails; tool search uses keywords only until it is reachable", "model", g.model.Name(),
			"error", err)
		g.show(false)
		g.postpone(err)
	}
}

// postpone schedules the next probe. The caller holds g.mu.
func (g *guard) postpone(err error) {
	g.fault = err
	pause := min(firstProbe<<min(g.failures, 10), lastProbe)
	g.failures++
	g.probes = time.AfterFunc(pause, func() { g.run(g.probe) })
}

// probe closes the breaker if the model works.
func (g *guard) probe(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	_, err := g.model.Embed(limited, []string{"probe"})
	g.mu.Lock()
	defer g.mu.Unlock()
	if limited.Err() != nil {
		err = g.fault // with retries, the cause is not known
	}
	switch {
	case ctx.Err() != nil: // closed
	case err != nil:
		g.postpone(err)
	default:
		g.fault = nil
		g.show(true)
		g.log.Info("the embedding model works again", "model", g.model.Name())
	}
}

func slow(timeout time.Duration) error {
	return fmt.Errorf("no answer within %s (runtime.tools.search.embedding_timeout)", timeout)
}
