package registry

import (
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// Default limits of calls.
const (
	defaultTimeout     = 30 * time.Second
	defaultMaxRows     = 1000
	defaultMaxBytes    = 4 << 20
	defaultConcurrency = 256
)

// DefaultLimits are the limits where neither the tool nor the runtime's
// settings have any.
func DefaultLimits() tools.Limits {
	return tools.Limits{Timeout: defaultTimeout, MaxRows: defaultMaxRows, MaxBytes: defaultMaxBytes, Concurrency: defaultConcurrency}
}

// gate holds the limits of one tool and counts its running calls.
type gate struct {
	limits tools.Limits
	slots  chan struct{}
}

func newGate(l tools.Limits) *gate {
	l = effective(&l, DefaultLimits())
	return &gate{limits: l, slots: make(chan struct{}, l.Concurrency)}
}

// enter takes a slot for a call; leave releases it.
func (g *gate) enter(name string) *tools.Error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
		return tools.NewError(errcode.Busy, fmt.Sprintf("%d calls of %s run already, which is its limit", cap(g.slots), name), "try again in a moment")
	}
}

func (g *gate) leave() { <-g.slots }
