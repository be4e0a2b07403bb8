package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
)

// Limits on cached indexes.
const (
	maxIndexes      = 64
	maxIndexedTools = 100_000 // in all indexes together, except the newest
	maxIndexedViews = 300_000 // tools of the catalogs of all views together; each takes about 220 bytes
)

// index is the search index of a catalog, or of a view of it.
type index struct {
	words   *search.Index
	catalog *index // of all tools; itself if it is that

	// Of the index of a catalog: the vectors of a model are added at the first search that
	// needs them.
	mu    sync.Mutex
	dense map[string]*computation // by model, except builtin:hash
}

// indexes holds the indexes of the most recent catalogs and their shared state:
// the analysis and the vectors of each tool, by the checksum of the texts, so
// that only changed tools are analysed again.
type indexes struct {
	vectors *vectors
	guards  *guards

	mu       sync.Mutex
	slots    *lru.Cache[string, *slot]   // by the catalog's checksum
	views    *lru.Cache[string, *slot]   // by the catalog's checksum and the view's set
	analyses map[string]*search.Analysis // by document checksum
}

// slot is an index, or one being built.
type slot struct {
	ready chan struct{} // closed when built
	index *index
}

func newIndexes(dir string, log *slog.Logger, metrics *telemetry.Metrics) *indexes {
	return &indexes{
		vectors: newVectors(dir, log), guards: newGuards(log, metrics),
		slots:    lru.New[string, *slot](maxIndexes, maxIndexedTools, nil),
		views:    lru.New[string, *slot](maxIndexes, maxIndexedViews, nil),
		analyses: map[string]*search.Analysis{},
	}
}

func (x *indexes) get(ctx context.Context, c *Catalog, v *View) (*index, error) {
	all, err := x.built(ctx, x.slots, c.hash, min(c.Len(), maxIndexedTools), func() *index { return x.build(c) })
	if err != nil || v.key == "" {
		return all, err
	}
	return x.built(ctx, x.views, c.hash+v.key, min(c.Len(), maxIndexedViews), func() *index {
		return &index{words: all.words.Within(v.visible), catalog: all}
	})
}

// built returns what is in a slot. The first caller builds it, others wait. The newest
// stays, whatever its size.
func (x *indexes) built(ctx context.Context, slots *lru.Cache[string, *slot], key string, size int,
	build func() *index,
) (*index, error) {
	x.mu.Lock()
	s, ok := slots.Get(key)
	if !ok {
		s = &slot{ready: make(chan struct{})}
		slots.Put(key, s, int64(size))
	}
	x.mu.Unlock()
	if !ok {
		s.index = build()
		close(s.ready)
		return s.index, nil
	}
	select {
	case <-s.ready:
		return s.index, nil
	case <-ctx.Done():
		return nil, left(ctx)
	}
}

// build builds the lexical index of c; it uses the known analyses of tools.
func (x *indexes) build(c *Catalog) *index {
	docs := make([]*search.Analysis, len(c.entries))
	x.mu.Lock()
	for i, e := range c.entries {
		docs[i] = x.analyses[e.docSum]
	}
	x.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, d := range docs {
		if d != nil {
			continue
		}
		group.Go(func() error {
			docs[i] = search.Analyse(document(c.entries[i].def))
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	x.keep(c, docs)
	ix := &index{words: search.New(docs, c.Search), dense: map[string]*computation{}}
	ix.catalog = ix
	return ix
}

// keep stores the analyses of only the newest catalog: a reverted edit finds
// its whole index in the list.
func (x *indexes) keep(c *Catalog, docs []*search.Analysis) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.analyses) > 2*len(docs)+1024 {
		clear(x.analyses)
	}
	for i, e := range c.entries {
		x.analyses[e.docSum] = docs[i]
	}
}

// builtinWait is how long a search waits for a model that is part of the program, which
// computes for seconds at most, also on a busy machine: the same search gives the same
// answer, however soon after the start it comes.
const builtinWait = time.Minute

// errComputing means that the tools have no vectors yet.
var errComputing = errors.New("the vectors of the tools are being computed")

// computation computes the vectors of a catalog in the background.
type computation struct {
	done  chan struct{} // closed when dense or err is set
	dense *search.Dense
	err   error
	until time.Time // when searches stop waiting
}

func (f *computation) failed() bool {
	select {
	case <-f.done:
		return f.err != nil
	default:
		return false
	}
}

// vector is the query vector with the catalog's vectors, and the vectors of the query's texts if a
// model embeds them. It takes at most about wait.
func (x *indexes) vector(ctx context.Context, c *Catalog, ix *index, model embeddings.Model, text string,
	wait time.Duration,
) (search.Vector, [][]float32, error) {
	if _, ok := model.(embeddings.Hashing); ok {
		return ix.words.NGrams(text), nil, nil
	}
	if _, ok := model.(embeddings.Builtin); ok {
		wait = builtinWait
	}
	g := x.guards.of(model, wait)
	if err := g.refusal(); err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	dense, err := x.dense(limited, c, ix.catalog, g, wait)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	query, err := model.Embed(limited, search.Texts(text))
	if ctx.Err() == nil && limited.Err() != nil {
		if err = slow(wait); time.Since(began) < wait*9/10 { // the tools' vectors took the rest
			return nil, nil, errComputing
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			g.failed(err)
		}
		return nil, nil, err
	}
	g.worked()
	vector, err := dense.Query(query...)
	return vector, query, err
}

// dense returns the tools' vectors, which the first search that needs them begins to
// compute. Searches wait for the first attempt only.
func (x *indexes) dense(ctx context.Context, c *Catalog, ix *index, g *guard,
	wait time.Duration,
) (*search.Dense, error) {
	ix.mu.Lock()
	f := ix.dense[g.model.Fingerprint()]
	if f == nil || f.failed() {
		next := &computation{done: make(chan struct{}), until: time.Now()}
		if f == nil {
			next.until = next.until.Add(wait)
		}
		f = next
		ix.dense[g.model.Fingerprint()] = f
		x.guards.run(func(ctx context.Context) {
			defer close(f.done)
			defer g.late.Store(false)
			if f.dense, f.err = x.compute(ctx, c, ix, g.model); f.err != nil && ctx.Err() == nil {
				g.failed(f.err)
			}
		})
	}
	ix.mu.Unlock()
	rest := time.NewTimer(time.Until(f.until))
	defer rest.Stop()
	select {
	case <-f.done:
		return f.dense, f.err
	default:
	}
	select {
	case <-f.done:
		return f.dense, f.err
	case <-rest.C:
		g.late.Store(true)
	case <-ctx.Done():
	}
	return nil, errComputing
}

// compute computes the tools' vectors, and those of their first sentences where they cost
// nothing but a moment of this machine.
func (x *indexes) compute(ctx context.Context, c *Catalog, ix *index, model embeddings.Model) (*search.Dense, error) {
	rows, err := x.vectors.of(ctx, c, model)
	if err != nil {
		return nil, err
	}
	dense := search.NewDense(len(rows[0]))
	for i, row := range rows {
		if err := dense.Add(row); err != nil {
			return nil, fmt.Errorf("the vector of %q: %w", c.entries[i].def.Name, err)
		}
	}
	if _, ok := model.(embeddings.Builtin); !ok {
		return dense, nil
	}
	sentences, err := model.Embed(ctx, ix.words.Sentences())
	if err != nil {
		return nil, err
	}
	return dense, dense.Calibrate(sentences)
}
