package registry

import (
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/sql/activity"
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	Usage   *usage.Recorder    // nil: nothing is recorded
	Metrics *telemetry.Metrics // nil: no metrics
	Log     *slog.Logger       // nil: discarded
	Audit   *audit.Log         // nil: calls are not audited
	// Activity lists the calls that run; nil: a table of the registry alone.
	Activity *activity.Table
	// VectorDir stores vectors across restarts; "": in memory only.
	VectorDir string
	Approvals *approval.Store      // nil: one in memory
	Keys      func() approval.Keys // who may approve; nil: everyone
	Now       func() time.Time     // nil: time.Now
}

// Registry calls and searches the tools. It is safe for concurrent use.
type Registry struct {
	opts    Options
	log     *slog.Logger
	current atomic.Pointer[Catalog]
	cache   *cache
	calls   *sessions
	indexes *indexes
	learned *learned
	meta    map[string]*entry
	nextID  atomic.Uint64
	run     string // random, unique to this run, and never sent to clients
}

// New returns a registry with an empty catalog.
func New(o Options) *Registry {
	r := &Registry{opts: o, log: o.Log, cache: newCache(), calls: newSessions(), run: rand.Text()}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.opts.Activity == nil {
		r.opts.Activity = &activity.Table{}
	}
	if r.opts.Now == nil {
		r.opts.Now = time.Now
	}
	if r.opts.Approvals == nil {
		r.opts.Approvals, _ = approval.Open(approval.Options{Now: r.opts.Now}) // without a folder it cannot fail
	}
	if r.opts.Keys == nil {
		r.opts.Keys = func() approval.Keys { return noKeys{} }
	}
	r.indexes = newIndexes(o.VectorDir, r.log, o.Metrics)
	r.learned = &learned{usage: o.Usage, guards: r.indexes.guards, byModel: map[string]*past{}}
	r.meta = metaTools(r)
	empty, _ := NewCatalog(nil, Contents{})
	r.current.Store(empty)
	return r
}

// Current is the catalog of new calls and searches.
func (r *Registry) Current() *Catalog { return r.current.Load() }

// Publish makes c the current catalog. Running calls and searches keep theirs.
func (r *Registry) Publish(c *Catalog) {
	r.current.Store(c)
	if r.opts.Usage != nil {
		r.opts.Usage.KeepPairs(c.mayReturn)
	}
	r.indexes.guards.keep(func(g *guard) bool {
		if c.Embeddings == nil {
			return false
		}
		m, err := c.Embeddings.Resolve(g.model.Name())
		return err == nil && m == g.model
	})
}

// EmbeddingFaults returns why searches do without an embedding model, by its name.
func (r *Registry) EmbeddingFaults() map[string]error { return r.indexes.guards.faults() }

// Close ends the work in the background: probes of embedding models, and vectors that
// are being computed. Later searches compute no vectors.
func (r *Registry) Close() { r.indexes.guards.close() }

// CacheLimit limits the cached results of cacheable tools, in bytes; 0 disables
// the cache.
func (r *Registry) CacheLimit(bytes int64) { r.cache.setLimit(bytes) }

// Usage is the record of calls and searches, or nil.
func (r *Registry) Usage() *usage.Recorder { return r.opts.Usage }
