// Package lru has a cache with limits on the number and the total weight of the
// entries. The least recently used entries are evicted first.
//
//	c := lru.New[string, []byte](1000, 64<<20, nil)
//	c.Put("a", body, int64(len(body)))
//	body, ok := c.Get("a")
//
// It is our own because the well-kept libraries lack one of the two:
// hashicorp/golang-lru has no weights, and the weighted caches of ristretto and
// otter evict in the background, so that an entry that was just put may be
// missing.
package lru

import "container/list"

// Cache is a bounded map. It is not safe for concurrent use: its owner has a
// lock anyway, for what belongs to the entries.
type Cache[K comparable, V any] struct {
	entries   int
	maxWeight int64
	removed   func(K, V)

	weight int64
	byKey  map[K]*list.Element // of *entry[K, V]
	recent *list.List          // most recently used first
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

// New returns an empty cache. If removed is not nil, it is called with every
// entry that leaves the cache: evicted, replaced or deleted.
func New[K comparable, V any](entries int, weight int64, removed func(K, V)) *Cache[K, V] {
	return &Cache[K, V]{
		entries: entries, maxWeight: weight, removed: removed,
		byKey: map[K]*list.Element{}, recent: list.New(),
	}
}

// Get returns the value of a key and marks it as the most recently used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put sets the value of a key, then evicts what exceeds the bounds: the entry
// itself too, if it is heavier than the whole cache.
func (c *Cache[K, V]) Put(key K, value V, weight int64) {
	c.Delete(key)
	c.byKey[key] = c.recent.PushFront(&entry[K, V]{key, value, weight})
	c.weight += weight
	c.evict()
}

// Delete removes a key, if it is in the cache.
func (c *Cache[K, V]) Delete(key K) {
	if e, ok := c.byKey[key]; ok {
		c.remove(e)
	}
}

// SetMaxWeight changes the bound and evicts what exceeds it.
func (c *Cache[K, V]) SetMaxWeight(weight int64) {
	c.maxWeight = weight
	c.evict()
}

// Oldest returns the least recently used entry.
func (c *Cache[K, V]) Oldest() (key K, value V, ok bool) {
	e := c.recent.Back()
	if e == nil {
		return key, value, false
	}
	oldest := e.Value.(*entry[K, V])
	return oldest.key, oldest.value, true
}

// DeleteFunc removes the entries for which f returns true.
func (c *Cache[K, V]) DeleteFunc(f func(K, V) bool) {
	for key, e := range c.byKey {
		if f(key, e.Value.(*entry[K, V]).value) {
			c.remove(e)
		}
	}
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.byKey) }

// Weight returns the total weight of the entries.
func (c *Cache[K, V]) Weight() int64 { return c.weight }

func (c *Cache[K, V]) evict() {
	for len(c.byKey) > 0 && (len(c.byKey) > c.entries || c.weight > c.maxWeight) {
		c.remove(c.recent.Back())
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	old := c.recent.Remove(e).(*entry[K, V])
	delete(c.byKey, old.key)
	c.weight -= old.weight
	if c.removed != nil {
		c.removed(old.key, old.value)
	}
}
