package builtin

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Indexes keeps the indexes of searched rows: those used last, each made once
// however many calls wait for it. It is safe for concurrent use.
type Indexes struct {
	building chan struct{} // holds an element for each index that is being made

	mu      sync.Mutex
	entries []*indexEntry // used last, first
}

// indexEntry is an index that is kept, or being made.
type indexEntry struct {
	key   string
	until time.Time // zero: as long as it is used
	done  chan struct{}
	index *rowIndex // nil until done, and when it is not kept
	err   error
	// personal says that the rows depend on who reads them: each call makes an
	// index of its own.
	personal bool
}

// NewIndexes makes an empty store.
func NewIndexes() *Indexes { return &Indexes{building: make(chan struct{}, MaxBuilds)} }

// get returns the index of a key, which build makes when there is none. life
// is how long it is used; 0 is for ever. When the call that makes it fails,
// those that wait try themselves: its caller may only have left.
func (x *Indexes) get(ctx context.Context, key string, now time.Time, life time.Duration, build func() (*rowIndex, error)) (*rowIndex, error) {
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

// entry returns the entry of a key, and whether it is the caller's to make.
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

// make builds the index of an entry and keeps it, unless that fails or it is
// its caller's alone.
func (x *Indexes) make(ctx context.Context, e *indexEntry, build func() (*rowIndex, error)) (*rowIndex, error) {
	var index *rowIndex
	err := context.Canceled // what waiting calls see if build panics
	defer func() { x.finish(e, index, err) }()
	index, err = x.once(ctx, build)
	return index, err
}

// once builds an index, when it is its turn.
func (x *Indexes) once(ctx context.Context, build func() (*rowIndex, error)) (*rowIndex, error) {
	select {
	case x.building <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-x.building }()
	return build()
}

// finish wakes those who wait and forgets what is beyond the limits.
func (x *Indexes) finish(e *indexEntry, index *rowIndex, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.err = err
	if e.personal = index != nil && index.personal; !e.personal {
		e.index = index
	}
	close(e.done)
	size := int64(0)
	kept := x.entries[:0]
	for _, other := range x.entries {
		if other == e && err != nil {
			continue
		}
		if other.index != nil {
			size += other.index.bytes
		}
		if len(kept) == 0 || len(kept) < MaxIndexes && size <= MaxIndexedBytes {
			kept = append(kept, other)
		}
	}
	clear(x.entries[len(kept):])
	x.entries = kept
}
