package registry

import (
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/tools"
)

// DefaultLimits are the limits where neither the tool nor the runtime's
// settings have any.
func DefaultLimits() tools.Limits {
	return tools.Limits{Timeout: 30 * time.Second, MaxRows: 1000, MaxBytes: 4 << 20, Concurrency: 256}
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
		return tools.NewError(errcode.Busy, fmt.Sprintf("%s is at its limit of %s at once", name,
			plural.Of(cap(g.slots), "call")), "try again in a moment")
	}
}

func (g *gate) leave() { <-g.slots }
