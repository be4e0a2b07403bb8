package datasets

// resource is something outside the catalog that versions read: an attached
// database or a fetched file. It is freed when the last version that holds it
// is gone. The Manager's mutex guards refs.
type resource struct {
	refs int
	free func()
}

// retain adds a holder. The caller holds m.mu.
func (r *resource) retain() *resource {
	r.refs++
	return r
}

// release takes a holder away from each resource and frees those without one.
// The caller does not hold m.mu.
func (m *Manager) release(list ...*resource) {
	var free []func()
	m.mu.Lock()
	for _, r := range list {
		if r == nil {
			continue
		}
		if r.refs--; r.refs == 0 {
			free = append(free, r.free)
		}
	}
	m.mu.Unlock()
	for _, f := range free {
		f()
	}
}

// releaseDrained releases when no statement sees an older catalog any more.
func (m *Manager) releaseDrained(list []*resource) {
	if len(list) == 0 {
		return
	}
	m.opts.DB.Drained(func() { m.tasks.run(func() { m.release(list...) }) })
}
