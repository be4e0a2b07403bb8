package builtin

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Indexes stores the most recently used indexes of searched rows, each built
// once even for concurrent calls. It is safe for concurrent use.
type Indexes struct {
	building chan struct{} // holds an element for each index being built

	mu      sync.Mutex
	entries []*indexEntry // most recently used first
}

// indexEntry is a stored index, or one being built.
type indexEntry struct {
	key   string
	until time.Time // zero: no expiry
	done  chan struct{}
	index *rowIndex // nil until done, and if it is not stored
	err   error
	// personal means that the rows depend on the reader: each call builds a
	// separate index.
	personal bool
}

// NewIndexes returns an empty store.
func NewIndexes() *Indexes { return &Indexes{building: make(chan struct{}, MaxBuilds)} }

// get returns the index of a key; build builds it if it is missing. life is how
// long it is used; 0 means no expiry. If the call that builds it fails, the
// waiting calls try themselves, since the caller may just have disconnected.
func (x *Indexes) get(ctx context.Context, key string, now time.Time, life time.Duration,
	build func() (*rowIndex, error),
) (*rowIndex, error) {
	for {
		e, mine := x.entry(key, now, life)
		if mine {
			return x.make(ctx, e, build)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case e.personal:
			return x.once(ctx, build)
		case e.err == nil:
			return e.index, nil
		}
	}
}

// entry returns the entry of a key, and whether the caller must build it.
func (x *Indexes) entry(key string, now time.Time, life time.Duration) (e *indexEntry, mine bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := slices.IndexFunc(x.entries, func(e *indexEntry) bool { return e.key == key })
	if at >= 0 {
		e = x.entries[at]
		x.entries = slices.Delete(x.entries, at, at+1)
	}
	if e == nil || !e.until.IsZero() && now.After(e.until) {
		e, mine = &indexEntry{key: key, done: make(chan struct{})}, true
		if life > 0 {
			e.until = now.Add(life)
		}
	}
	x.entries = slices.Insert(x.entries, 0, e)
	return e, mine
}

// make builds the index of an entry and stores it, unless that fails or the
// rows are personal.
func (x *Indexes) make(ctx context.Context, e *indexEntry, build func() (*rowIndex, error)) (*rowIndex, error) {
	var index *rowIndex
	err := context.Canceled // the error of waiting calls if build panics
	defer func() { x.finish(e, index, err) }()
	index, err = x.once(ctx, build)
	return index, err
}

// once builds an index when a slot is free.
func (x *Indexes) once(ctx context.Context, build func() (*rowIndex, error)) (*rowIndex, error) {
	select {
	case x.building <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.building }()
	return build()
}

// finish wakes the waiting calls and evicts entries beyond the limits.
func (x *Indexes) finish(e *indexEntry, index *rowIndex, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.err = err
	if e.personal = index != nil && index.personal; !e.personal {
		e.index = index
	}
	close(e.done)
	size := int64(0)
	used := x.entries[:0]
	for _, other := range x.entries {
		if other == e && err != nil {
			continue
		}
		if other.index != nil {
			size += other.index.bytes
		}
		if len(used) == 0 || len(used) < MaxIndexes && size <= MaxIndexedBytes {
			used = append(used, other)
		}
	}
	clear(x.entries[len(used):])
	x.entries = used
}
