package sqlapi

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/spicepod"
)

// resultCache holds results as they were sent. It is safe for concurrent use.
type resultCache struct {
	mu       sync.Mutex
	results  *lru.Cache[string, *cachedResult]
	renewing map[string]bool

	life context.Context // of renewals; ends with close
	stop context.CancelFunc
	work sync.WaitGroup
}

// cachedResult is a result with what answering from it needs.
type cachedResult struct {
	key         string
	contentType string
	generation  uint64
	body        []byte
	rows        int64
	functions   []string
	made        time.Time
}

// resultOverhead is about what one result takes beside its texts.
const resultOverhead = 512

// maxRenewing bounds the results that are renewed at once.
const maxRenewing = 4

func newResultCache() *resultCache {
	c := &resultCache{results: lru.New[string, *cachedResult](math.MaxInt, 0, nil), renewing: map[string]bool{}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// get returns the result under the key, if it may still be served, and whether
// it is fresh.
func (c *resultCache) get(key string, s spicepod.ResultCache, now time.Time) (found *cachedResult, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.results.Get(key)
	if !ok {
		return nil, false
	}
	age := now.Sub(r.made)
	if age > s.ItemTTL+s.StaleWhileRevalidate {
		c.results.Delete(key)
		return nil, false
	}
	return r, age <= s.ItemTTL
}

// put adds a result to a cache of limit bytes.
func (c *resultCache) put(r *cachedResult, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results.SetMaxWeight(limit)
	c.results.Put(r.key, r, int64(len(r.key)+len(r.body))+resultOverhead)
}

// renew calls f in the background, unless the result is being renewed already
// or too many are.
func (c *resultCache) renew(key string, f func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renewing[key] || len(c.renewing) >= maxRenewing || c.life.Err() != nil {
		return
	}
	c.renewing[key] = true
	c.work.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.renewing, key)
		}()
		f(c.life)
	})
}

// close cancels the renewals and waits for them.
func (c *resultCache) close() {
	c.stop()
	c.work.Wait()
}
