package registry

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/lru"
)

// Limits on cached indexes.
const (
	maxIndexes      = 64
	maxIndexedTools = 100_000 // in all indexes together, except the newest
)

// index is the search index of a catalog. The vectors of a model are added at
// the first search that needs them.
type index struct {
	words *search.Index

	mu    sync.Mutex               // held while vectors are computed: one caller computes them, the others wait
	dense map[string]*search.Dense // by model, except builtin:hash
}

// indexes holds the indexes of the most recent catalogs and their shared state:
// the analysis and the vectors of each tool, by the checksum of the texts, so
// that only changed tools are analysed again.
type indexes struct {
	vectors *vectors

	mu       sync.Mutex
	slots    *lru.Cache[string, *slot]   // by the catalog's checksum
	analyses map[string]*search.Analysis // by document checksum
}

// slot is an index, or one being built.
type slot struct {
	ready chan struct{} // closed when built
	index *index
}

func newIndexes(dir string, log *slog.Logger) *indexes {
	return &indexes{
		vectors: newVectors(dir, log), slots: lru.New[string, *slot](maxIndexes, maxIndexedTools, nil),
		analyses: map[string]*search.Analysis{},
	}
}

// get returns the index of c. The first caller builds it, others wait.
func (x *indexes) get(ctx context.Context, c *Catalog) (*index, error) {
	x.mu.Lock()
	s, ok := x.slots.Get(c.hash)
	if !ok {
		s = &slot{ready: make(chan struct{})}
		x.slots.Put(c.hash, s, int64(min(c.Len(), maxIndexedTools))) // the newest stays, whatever its size
	}
	x.mu.Unlock()
	if !ok {
		s.index = x.build(c)
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
	return &index{words: search.New(docs, c.Search), dense: map[string]*search.Dense{}}
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

// vector is the query vector with the catalog's vectors.
func (x *indexes) vector(ctx context.Context, c *Catalog, ix *index, model embeddings.Model, text string) (search.Vector, error) {
	if _, ok := model.(embeddings.Hashing); ok {
		return ix.words.NGrams(text), nil
	}
	dense, err := x.dense(ctx, c, ix, model)
	if err != nil {
		return nil, err
	}
	query, err := model.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return dense.Query(query[0])
}

// dense returns the tools' vectors, computed at the first search that needs
// them.
func (x *indexes) dense(ctx context.Context, c *Catalog, ix *index, model embeddings.Model) (*search.Dense, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if dense := ix.dense[model.Fingerprint()]; dense != nil {
		return dense, nil
	}
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
	ix.dense[model.Fingerprint()] = dense
	return dense, nil
}

// embeddedText is the text of a tool that is embedded, in Spice's form.
func embeddedText(e *entry) string {
	return fmt.Sprintf("tool_id: %s\ndescription: %s\nparameters: %s", e.def.Name, e.def.Description, e.def.Parameters)
}
