package registry

import (
	"container/list"
	"sync"

	"github.com/spiced-sql/spiced/tools"
)

// cache remembers results of tools whose equal calls agree, the least recently
// used forgotten first. Keys begin with the tool's checksum, so that a tool
// that changed begins anew.
type cache struct {
	mu     sync.Mutex
	limit  int64
	size   int64
	byKey  map[string]*list.Element // of *remembered
	recent *list.List

	hits, misses uint64
}

type remembered struct {
	key string
	out tools.Output
}

// overhead is about what one remembered result takes beside its texts.
const overhead = 256

// maxShare is the largest part of the cache that one result may take.
const maxShare = 16

func (m *remembered) size() int64 { return int64(len(m.key)+len(m.out.Value)) + overhead }

func newCache() *cache {
	return &cache{byKey: map[string]*list.Element{}, recent: list.New()}
}

func (c *cache) setLimit(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = bytes
	c.shrink()
}

// get returns what is remembered under key; "" is under no key.
func (c *cache) get(key string) (tools.Output, bool) {
	if key == "" {
		return tools.Output{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		c.misses++
		return tools.Output{}, false
	}
	c.hits++
	c.recent.MoveToFront(e)
	return e.Value.(*remembered).out, true
}

func (c *cache) put(key string, out tools.Output) {
	m := &remembered{key, out}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[key]; ok || m.size() > c.limit/maxShare {
		return
	}
	c.byKey[key] = c.recent.PushFront(m)
	c.size += m.size()
	c.shrink()
}

func (c *cache) shrink() {
	for c.size > c.limit && c.recent.Len() > 0 {
		m := c.recent.Remove(c.recent.Back()).(*remembered)
		delete(c.byKey, m.key)
		c.size -= m.size()
	}
}

// CacheStats is the state of the remembered results.
type CacheStats struct {
	Entries, Bytes int64
	Hits, Misses   uint64
}

// CacheStats returns the state of the remembered results.
func (r *Registry) CacheStats() CacheStats {
	c := r.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{int64(c.recent.Len()), c.size, c.hits, c.misses}
}
