package registry

import (
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/tools"
)

// Limits of calls whose tool and runtime set none.
const (
	defaultTimeout     = 30 * time.Second
	defaultMaxRows     = 1000
	defaultMaxBytes    = 4 << 20
	defaultConcurrency = 256
)

// DefaultLimits are the limits of a tool that has none, where the runtime's
// settings have none either.
func DefaultLimits() tools.Limits {
	return tools.Limits{Timeout: defaultTimeout, MaxRows: defaultMaxRows, MaxBytes: defaultMaxBytes, Concurrency: defaultConcurrency}
}

// gate holds the limits of one tool and the calls of it that run.
type gate struct {
	limits tools.Limits
	slots  chan struct{}
}

func newGate(l tools.Limits) *gate {
	l = effective(&l, DefaultLimits())
	return &gate{limits: l, slots: make(chan struct{}, l.Concurrency)}
}

// enter takes a place for a call, which leave gives back.
func (g *gate) enter(name string) *tools.Error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
		return tools.NewError(tools.CodeBusy, fmt.Sprintf("%d calls of %s run already, which is its limit", cap(g.slots), name), "try again in a moment")
	}
}

func (g *gate) leave() { <-g.slots }
