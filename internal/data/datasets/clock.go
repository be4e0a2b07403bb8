package datasets

import (
	"context"
	"time"
)

// clock is the time; tests have one of their own.
type clock interface {
	Now() time.Time
	// After sends once after d; stop frees it.
	After(d time.Duration) (c <-chan time.Time, stop func())
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// pause waits for d or until ctx ends.
func (m *Manager) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	c, stop := m.clock.After(d)
	defer stop()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
