package refresh

import (
	"context"
	"sync"

	"github.com/spiced-sql/spiced/internal/data/resource"
)

// background is the goroutines of a scheduler.
type background struct {
	run    func(func(context.Context)) // with a context that ends with close
	ending <-chan struct{}             // closed by cancel
	cancel context.CancelFunc

	mu      sync.Mutex
	idle    sync.Cond
	running int
	closed  bool
}

func newBackground() *background {
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{run: func(f func(context.Context)) { f(ctx) }, ending: ctx.Done(), cancel: cancel}
	b.idle.L = &b.mu
	return b
}

// start runs f in a goroutine, unless the scheduler was closed.
func (b *background) start(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running++
	go func() {
		b.run(f)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.running--; b.running == 0 {
			b.idle.Broadcast()
		}
	}()
	return true
}

// Wait returns when no refresh runs and all that was freed is released.
func (s *Scheduler) Wait() {
	b := s.background
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.running > 0 {
		b.idle.Wait()
	}
}

// Close ends what runs and waits for it.
func (s *Scheduler) Close() {
	s.background.mu.Lock()
	s.background.closed = true
	s.background.mu.Unlock()
	s.background.cancel()
	s.Wait()
}

// Free releases the resources when no statement reads an older catalog any
// more.
func (s *Scheduler) Free(list []*resource.Resource) {
	if len(list) > 0 {
		s.opts.DB.Drained(func() { s.background.start(func(context.Context) { resource.Release(list...) }) })
	}
}
