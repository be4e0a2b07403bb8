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

// crashes counts the statements that ended the process of an [Isolator], in one
// generation. Each time other callers wait for a new process.
type crashes struct {
	any atomic.Bool // whether any is counted

	mu         sync.Mutex
	generation uint64
	counts     map[string]int // by caller and fingerprint
}

func crashKey(ctx context.Context, sql string) string {
	return caller.From(ctx).Share() + "\x00" + fingerprint.Of(sql).ID
}

// check refuses a statement that has crashed too often.
func (c *crashes) check(ctx context.Context, generation uint64, sql string) error {
	if !c.any.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation || c.counts[crashKey(ctx, sql)] < crashesAllowed {
		return nil
	}
	return NewError(errcode.Refused, "change the statement",
		"the statement has ended its worker %d times and is refused until the Spicepod changes", crashesAllowed)
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
