package registry

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/learn"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/tools"
)

const (
	// maxComparing limits the models whose vectors of past queries are in memory.
	maxComparing = 8
	// embeddedAtOnce is how many past queries a request to a model has.
	embeddedAtOnce = 128
	// manyPairs is from how many pairs on searches do without the newest ones for idleShare of
	// the time that the last update took: with as many calls they spend a twentieth of it on updates.
	manyPairs = 1000
	idleShare = 20
	// updateRetry is when an update that failed is tried again.
	updateRetry = time.Minute
)

// learned are past queries and the tools that they ended in. The recorder of usage has their
// texts, across restarts; this has their vectors, by the model that compares them.
type learned struct {
	usage  *usage.Recorder // nil: nothing is learned
	guards *guards

	mu      sync.Mutex
	byModel map[string]*past // by fingerprint
}

// past are the past queries as a model compares them.
type past struct {
	mu       sync.Mutex
	memory   *learn.Memory
	vectors  map[string][]float32 // by query; replaced, never changed
	version  uint64               // of the pairs in the memory; 0: none
	updating bool                 // in the background
	next     time.Time            // when it may be updated
}

// wordsOnly compares queries where there is no embedding model, or it is out of reach.
var wordsOnly = sync.OnceValue(embeddings.Words)

// support returns the tools of c that past queries support. The vectors are those of the query, of
// the model; without them, as with builtin:hash or a model that fails, queries are compared by words.
func (l *learned) support(ctx context.Context, c *Catalog, model embeddings.Model, vectors [][]float32, query string,
	scope tools.Scope,
) (out []search.Scored) {
	if l.usage == nil {
		return nil
	}
	if vectors == nil {
		var err error
		model = wordsOnly()
		if vectors, err = model.Embed(ctx, search.Texts(query)); err != nil {
			return nil // ctx has ended
		}
	}
	who := learn.Caller{Principal: scope.Principal, Space: scope.SpaceID}
	for _, t := range l.memory(ctx, model).Support(who, vectors) {
		if e := c.byName[t.Tool]; e != nil {
			out = append(out, search.Scored{Doc: e.number, Score: t.Score})
		}
	}
	return out
}

// memory returns the past queries as a model compares them. A built-in model computes at once
// what is new; of others, searches use what there is until the background has computed it.
func (l *learned) memory(ctx context.Context, model embeddings.Model) *learn.Memory {
	p := l.of(model)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.updating || p.version == l.usage.PairsVersion() || time.Now().Before(p.next) {
		return p.memory
	}
	if _, ok := model.(embeddings.Builtin); ok {
		if u := updated(ctx, l.usage, model, p.vectors); ctx.Err() == nil {
			p.set(u)
		}
		return p.memory
	}
	p.updating = true
	vectors := p.vectors
	l.guards.run(func(ctx context.Context) {
		u := updated(ctx, l.usage, model, vectors)
		if u.err != nil && ctx.Err() == nil {
			l.guards.log.Warn("cannot embed past queries: searches do without the newest ones; next attempt in a minute",
				"model", model.Name(), "error", u.err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.updating = false
		p.set(u)
	})
	return p.memory
}

func (l *learned) of(model embeddings.Model) *past {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := model.Fingerprint()
	if l.byModel[key] == nil {
		if len(l.byModel) >= maxComparing {
			clear(l.byModel)
		}
		l.byModel[key] = &past{memory: learn.New(nil)}
	}
	return l.byModel[key]
}

// update is a new state of past queries, or the error of computing it.
type update struct {
	memory  *learn.Memory
	vectors map[string][]float32
	version uint64
	pairs   int
	took    time.Duration
	err     error
}

// updated computes what is new.
func updated(ctx context.Context, from *usage.Recorder, model embeddings.Model, known map[string][]float32) update {
	began := time.Now()
	pairs, version := from.Pairs()
	u := update{version: version, pairs: len(pairs), vectors: make(map[string][]float32, len(pairs))}
	var missing []string
	for _, pair := range pairs {
		if _, seen := u.vectors[pair.Query]; !seen && known[pair.Query] == nil {
			missing = append(missing, pair.Query)
		}
		u.vectors[pair.Query] = known[pair.Query]
	}
	for texts := range slices.Chunk(missing, embeddedAtOnce) {
		made, err := model.Embed(ctx, texts)
		if err != nil {
			return update{err: err}
		}
		for i, text := range texts {
			u.vectors[text] = made[i]
		}
	}
	list := make([]learn.Pair, len(pairs))
	for i, pair := range pairs {
		list[i] = learn.Pair{
			Tool: pair.Tool, Principal: pair.Principal, Space: pair.Space, Vector: u.vectors[pair.Query], Calls: pair.Count,
		}
	}
	u.memory, u.took = learn.New(list), time.Since(began)
	return u
}

func (p *past) set(u update) {
	if u.err != nil {
		p.next = time.Now().Add(updateRetry)
		return
	}
	p.memory, p.vectors, p.version = u.memory, u.vectors, u.version
	if u.pairs > manyPairs {
		p.next = time.Now().Add(idleShare * u.took)
	}
}

// mayReturn reports whether a name is that of a tool, of a declaration that is not offered as
// one, or of one that may still be found: what was learned of it stays.
func (c *Catalog) mayReturn(name string) bool {
	return c.byName[name] != nil || c.hidden(name) != nil || c.Growing() || c.Pending != nil && c.Pending(name) != nil
}

// learnedRows are the past queries of the caller and the tools that they ended in.
func learnedRows(r reader) []row {
	pairs, _ := r.opts.Usage.Pairs()
	var rows []row
	for _, p := range pairs {
		own := p.Principal == r.who.Principal && p.Space == r.who.SpaceID &&
			(p.User == r.who.UserID || p.Principal == "") // without keys there is one caller
		if own && r.sees(p.Tool) {
			rows = append(rows, row{"tool": p.Tool, "query": p.Query, "calls": p.Count, "last_called_at": sqlTime(p.Last)})
		}
	}
	return rows
}
