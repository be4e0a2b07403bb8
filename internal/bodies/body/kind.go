package body

import (
	"context"
	"log/slog"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/spicepod"
)

// Kind is a kind of bodies. Its package has one, in the variable Kind, and parts.go of
// internal/runtime lists them all: a kind is known by name nowhere else.
type Kind struct {
	spicepod.BodyKind // what a function may declare
	// Open returns the maker of a runtime. A maker may have more methods that a runtime asks for,
	// see [Maker].
	Open func(Host) Maker
}

// Host is what a runtime gives to all kinds.
type Host struct {
	Dir     string          // for files that outlive the process; each kind has a folder in it
	Shim    []string        // the command that runs [sandbox.Main]
	Metrics sandbox.Metrics // nil: none
	Log     *slog.Logger
}

// Maker makes the bodies of a kind, for all generations of a runtime. With a method
// Workers() map[string]sandbox.Workers it also says what the workers of sandboxes do, by name.
type Maker interface {
	// New makes the body of a function. The error of a wrong declaration is a
	// [spicepod.Problem] or [spicepod.Problems].
	New(ctx context.Context, spec Spec) (Body, error)
}
