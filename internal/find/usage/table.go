package usage

import (
	"maps"
	"slices"
	"sync"
)

// row is one line of a table, and one in the files.
type row[K comparable, V any] struct {
	Key   K `json:"k"`
	Value V `json:"v"`
	dirty bool
}

// table is counts by key that knows which of them changed.
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

// at returns the value of a key to be changed. It makes one where there is
// none, with a key that own has copied.
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

// changed copies the rows that changed since the last time.
func (t *table[K, V]) changed() []row[K, V] {
	out := make([]row[K, V], len(t.dirty))
	for i, r := range t.dirty {
		out[i] = *r
	}
	t.clean()
	return out
}

// clean says that all rows are known elsewhere as they are.
func (t *table[K, V]) clean() {
	for _, r := range t.dirty {
		r.dirty = false
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
}

// copyRows copies the rows of a table that a lock guards, in no order. It
// takes the lock for a few rows at a time, so that nobody waits for a large
// table: each row is whole, but two may differ in age.
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
