package engine

import (
	"slices"
	"sync"
)

// drain tracks which catalogs statements still see, so that resources of older
// catalogs, such as attached databases, can be released. It works like grace
// periods in RCU.
type drain struct {
	mu      sync.Mutex
	live    []uint64 // serials, ascending
	waiting []drainWaiter
}

type drainWaiter struct {
	before uint64 // waits for every catalog with a smaller serial
	f      func()
}

func (d *drain) add(serial uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live = append(d.live, serial)
}

func (d *drain) remove(serial uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := slices.BinarySearch(d.live, serial); ok {
		d.live = slices.Delete(d.live, i, i+1)
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(w drainWaiter) bool {
		if d.live[0] < w.before { // the current catalog is always live
			return false
		}
		w.f() // under the lock, in the order of wait
		return true
	})
}

// wait runs f when no catalog older than the newest is live, possibly at once.
func (d *drain) wait(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.live) > 1 {
		d.waiting = append(d.waiting, drainWaiter{d.live[len(d.live)-1], f})
		return
	}
	f()
}

// Drained calls f once, when no statement sees a catalog older than the current
// one: at once, or when the last such statement ends, in the order of the calls.
// f must be quick, and must neither publish nor call Drained.
func (db *DB) Drained(f func()) { db.drain.wait(f) }

// Switched calls f as the catalogs are switched: a statement that has the next catalog
// runs after f. f must be quick and must not use the database. It is not called when the
// transaction fails.
func (tx *Tx) Switched(f func()) { tx.switched = append(tx.switched, f) }

// Committed calls f after the transaction has committed and its catalog is
// current, before any other publication begins. f must be quick and must not
// publish. It is not called when the transaction fails.
func (tx *Tx) Committed(f func()) { tx.committed = append(tx.committed, f) }
