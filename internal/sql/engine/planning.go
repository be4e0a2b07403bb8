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

// planning are statements that a publication has made plan again. The next publications
// wait for their plans: otherwise a statement whose plan takes longer than the time between
// two publications would never run. Others do not wait for one another: a publication that
// comes while they plan is seen when their plans are ready.
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
