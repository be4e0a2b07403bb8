package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

// Limits of crashes.
const (
	crashesAllowed = 2    // of a statement, by its fingerprint, for one caller
	crashesCounted = 1024 // statements that are counted
)

// crashes counts the statements that ended the process of an [Isolator], or after which
// DuckDB had to be opened again, in one generation. Each time other callers wait.
type crashes struct {
	any atomic.Bool // whether any is counted

	mu         sync.Mutex
	generation uint64
	counts     map[string]int // by caller and fingerprint
}

func crashKey(ctx context.Context, sql string) string {
	return caller.From(ctx).Share() + "\x00" + fingerprint.Of(sql).ID
}

// What a statement can end.
const (
	endedWorker = "its worker"
	endedDuckDB = "DuckDB in the runtime"
)

// check refuses a statement that has crashed too often what it would run in.
func (c *crashes) check(ctx context.Context, generation uint64, sql, ended string) error {
	if !c.any.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation || c.counts[crashKey(ctx, sql)] < crashesAllowed {
		return nil
	}
	return NewError(errcode.Refused, "change the statement",
		"the statement has ended %s %d times and is refused until the Spicepod changes", ended, crashesAllowed)
}

// add counts a crash.
func (c *crashes) add(ctx context.Context, generation uint64, sql string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case generation < c.generation:
		return
	case c.counts == nil, generation > c.generation, len(c.counts) >= crashesCounted:
		c.generation, c.counts = generation, map[string]int{}
	}
	c.counts[crashKey(ctx, sql)]++
	c.any.Store(true)
}

// keep makes the counts those of a generation with the same Spicepod.
func (c *crashes) keep(generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation = generation
}
