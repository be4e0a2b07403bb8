package sqlapi

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// resultCache remembers results as they were sent, the least recently used
// forgotten first. It is safe for concurrent use.
type resultCache struct {
	mu       sync.Mutex
	size     int64
	byKey    map[string]*list.Element // of *kept
	recent   *list.List
	renewing map[string]bool

	life context.Context // of what is made anew; ends with close
	stop context.CancelFunc
	work sync.WaitGroup
}

// kept is a remembered result.
type kept struct {
	key         string
	contentType string
	generation  uint64
	body        []byte
	rows        int64
	functions   []string
	made        time.Time
}

// keptOverhead is about what one result takes beside its texts.
const keptOverhead = 512

// maxRenewing bounds the results that are made anew at once.
const maxRenewing = 4

func (k *kept) size() int64 { return int64(len(k.key)+len(k.body)) + keptOverhead }

func newResultCache() *resultCache {
	c := &resultCache{byKey: map[string]*list.Element{}, recent: list.New(), renewing: map[string]bool{}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// get returns what serves under the key, and whether it is fresh.
func (c *resultCache) get(key string, s spicepod.ResultCache, now time.Time) (found *kept, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	k := e.Value.(*kept)
	age := now.Sub(k.made)
	if age > s.ItemTTL+s.StaleWhileRevalidate {
		c.forget(e)
		return nil, false
	}
	c.recent.MoveToFront(e)
	return k, age <= s.ItemTTL
}

// put takes a result into a cache of limit bytes.
func (c *resultCache) put(k *kept, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[k.key]; ok {
		c.forget(e)
	}
	c.byKey[k.key] = c.recent.PushFront(k)
	for c.size += k.size(); c.size > limit && c.recent.Len() > 0; {
		c.forget(c.recent.Back())
	}
}

func (c *resultCache) forget(e *list.Element) {
	k := c.recent.Remove(e).(*kept)
	delete(c.byKey, k.key)
	c.size -= k.size()
}

// renew calls f in the background, unless the result is being made anew
// already or too many are.
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

// close ends what is made anew and waits for it.
func (c *resultCache) close() {
	c.stop()
	c.work.Wait()
}
