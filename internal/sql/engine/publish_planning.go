package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxPlanning is how long a publication waits for the plans of statements.
const maxPlanning = 10 * time.Second

// planning is the set of statements that a publication has forced to plan again. Later
// publications wait for their plans; otherwise a statement whose planning takes longer than
// the time between two publications would never run. A publication does not wait for other
// statements: they notice it once they have planned, and plan again.
type planning struct {
	mu  sync.Mutex
	now map[chan struct{}]struct{} // closed when the plan is ready
}

// begin adds a statement until end is called.
func (p *planning) begin() (end func()) {
	ready := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		p.now = map[chan struct{}]struct{}{}
	}
	p.now[ready] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.now, ready)
		close(ready)
	}
}

// wait waits for the statements that plan now, for at most limit or until ctx ends. Those
// that begin meanwhile do not prolong it.
func (p *planning) wait(ctx context.Context, limit time.Duration) {
	p.mu.Lock()
	now := slices.Collect(maps.Keys(p.now))
	p.mu.Unlock()
	if len(now) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, ready := range now {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
	}
}
