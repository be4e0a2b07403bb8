package models

import "time"

// SetNow replaces the clock.
func (p *Pins) SetNow(now func() time.Time) { p.now = now }

// Stored returns the number of sessions and of different lists, and the bytes of these.
func (p *Pins) Stored() (sessions, lists int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions.Len(), len(p.lists), p.bytes
}
