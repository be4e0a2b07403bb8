package registry

import (
	"math"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/tools"
)

// cache holds results of tools that return equal results for equal arguments, or for equal
// arguments over the same data. Keys begin with the tool's checksum, so a changed tool has
// no cached results.
type cache struct {
	mu      sync.Mutex
	limit   int64
	results *lru.Cache[string, tools.Output]

	hits, misses uint64
}

// overhead is the approximate memory of a cached result beyond its texts.
const overhead = 256

// maxShare limits one result to 1/maxShare of the cache.
const maxShare = 16

func newCache() *cache {
	return &cache{results: lru.New[string, tools.Output](math.MaxInt, 0, nil)}
}

func (c *cache) setLimit(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = bytes
	c.results.SetMaxWeight(bytes)
}

// get returns the result cached under key; "" is never cached.
func (c *cache) get(key string) (out tools.Output, ok bool) {
	if key == "" {
		return out, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if out, ok = c.results.Get(key); ok {
		c.hits++
	} else {
		c.misses++
	}
	return out, ok
}

func (c *cache) put(key string, out tools.Output) {
	if key == "" {
		return
	}
	size := int64(len(key)+out.Size()) + overhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if size <= c.limit/maxShare {
		c.results.Put(key, out, size)
	}
}

// CacheStats is the state of the cached results.
type CacheStats struct {
	Entries, Bytes int64
	Hits, Misses   uint64
}

// CacheStats returns the state of the cached results.
func (r *Registry) CacheStats() CacheStats {
	c := r.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{int64(c.results.Len()), c.results.Weight(), c.hits, c.misses}
}
