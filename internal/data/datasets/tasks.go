package datasets

import "sync"

// tasks are the goroutines of a Manager. Its zero value is ready.
type tasks struct {
	mu     sync.Mutex
	idle   sync.Cond
	n      int
	closed bool
}

// run starts f, unless close was called.
func (t *tasks) run(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.n++
	go func() {
		defer t.done()
		f()
	}()
	return true
}

func (t *tasks) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.idle.L != nil {
		t.idle.Broadcast()
	}
}

// wait returns when nothing runs.
func (t *tasks) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle.L = &t.mu
	for t.n > 0 {
		t.idle.Wait()
	}
}

// close lets nothing more start; what runs goes on.
func (t *tasks) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}
