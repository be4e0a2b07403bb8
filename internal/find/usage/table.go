package usage

import (
	"maps"
	"slices"
	"sync"
)

// row is one row of a table, and of the files.
type row[K comparable, V any] struct {
	Key   K `json:"k"`
	Value V `json:"v"`
	dirty bool
}

// table is counts by key; it tracks which rows changed.
type table[K comparable, V any] struct {
	rows  map[K]*row[K, V]
	dirty []*row[K, V]
}

func newTable[K comparable, V any]() table[K, V] {
	return table[K, V]{rows: map[K]*row[K, V]{}}
}

func (t *table[K, V]) has(k K) bool {
	_, ok := t.rows[k]
	return ok
}

// at returns the value of a key, to be modified. It adds a missing one, with a key
// copied by own.
func (t *table[K, V]) at(k K, own func(K) K) *V {
	r := t.rows[k]
	if r == nil {
		r = &row[K, V]{Key: own(k)}
		t.rows[r.Key] = r
	}
	if !r.dirty {
		r.dirty = true
		t.dirty = append(t.dirty, r)
	}
	return &r.Value
}

// changed copies the rows that changed since the last call.
func (t *table[K, V]) changed() []row[K, V] {
	out := make([]row[K, V], len(t.dirty))
	for i, r := range t.dirty {
		out[i] = *r
	}
	t.clean()
	return out
}

// clean marks all rows as unchanged.
func (t *table[K, V]) clean() {
	for _, r := range t.dirty {
		r.dirty = false
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
}

// copyRows copies the rows of a table guarded by a lock, in any order. It holds the
// lock for a few rows at a time, so that a large table does not block callers: each row
// is consistent, but rows may differ in age.
func copyRows[K comparable, V any](lock sync.Locker, t *table[K, V]) []row[K, V] {
	lock.Lock()
	rows := slices.AppendSeq(make([]*row[K, V], 0, len(t.rows)), maps.Values(t.rows))
	lock.Unlock()
	out := make([]row[K, V], 0, len(rows))
	for few := range slices.Chunk(rows, rowsAtOnce) {
		lock.Lock()
		for _, r := range few {
			out = append(out, *r)
		}
		lock.Unlock()
	}
	return out
}
