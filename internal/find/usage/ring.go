package usage

// ring holds the last items that were pushed. Items are immutable, so that readers may
// share them.
type ring[T any] struct {
	items       []*T
	first, next uint64 // numbers of the oldest item, and of the next one
	written     uint64 // number of the first item that is in no file
}

func newRing[T any](size int) ring[T] { return ring[T]{items: make([]*T, size)} }

// push adds an item and returns the one that it evicted, or nil.
func (r *ring[T]) push(item *T) (displaced *T) {
	if r.next-r.first == uint64(len(r.items)) {
		displaced = r.drop()
	}
	r.items[r.next%uint64(len(r.items))] = item
	r.next++
	return displaced
}

// oldest returns the oldest item, or nil.
func (r *ring[T]) oldest() *T {
	if r.first == r.next {
		return nil
	}
	return r.items[r.first%uint64(len(r.items))]
}

// drop removes the oldest item and returns it. The ring must not be empty.
func (r *ring[T]) drop() *T {
	slot := &r.items[r.first%uint64(len(r.items))]
	item := *slot
	*slot = nil
	r.first++
	return item
}

// since returns the remaining items from a number on, oldest first.
func (r *ring[T]) since(number uint64) []*T {
	var out []*T
	for i := max(number, r.first); i < r.next; i++ {
		out = append(out, r.items[i%uint64(len(r.items))])
	}
	return out
}
