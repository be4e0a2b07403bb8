package runtime

import (
	"context"
	"errors"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// outside is what a generation uses outside of DuckDB.
type outside struct {
	servers      []*mcpclient.Server
	environments *environment.Set
	bodies       acquired
	snapshots    *snapshotTables       // what workers read from this process
	clients      *engine.ClientCatalog // nil: no protocol has one
	// builtins are the built-in tools, with those that entries of tools make of them.
	builtins []tools.Tool
}

// acquired are the IDs of functions in [services.bodies] that a generation or a build keeps
// there.
type acquired map[string]bool

// makeBodies makes the bodies of the new functions that are not SQL. A function whose body
// cannot be made is replaced by its last good version, or left out.
func makeBodies(ctx context.Context, b *build) {
	b.bodies = acquired{}
	for id := range b.old.bodies {
		b.bodies[id] = b.s.bodies.Acquire(id) // of the last good versions
	}
	var failed []component
	for _, f := range b.set.All() {
		if f.Code() == nil || b.bodies[f.Code().ID] {
			continue
		}
		if err := makeBody(ctx, b, f); err != nil {
			reportBody(b, f, err)
			failed = append(failed, component{function: f})
		}
	}
	if len(failed) > 0 {
		b.exclude(failed)
	}
}

func makeBody(ctx context.Context, b *build, f *functions.Function) error {
	code, spec := f.Code(), bodies.SpecOf(f, b.pod)
	if e, own := b.environments.Of(f.Name); own != nil {
		if p := own.Fault(); p != nil {
			return *p
		}
		spec.Environment = e
	}
	if err := b.s.db.AddBatches(code.Returns); err != nil {
		return err
	}
	var made body.Body
	var err error
	if f.Tool() != "" {
		made, err = b.s.newToolBody(f, spec)
	} else {
		made, err = b.s.makers[f.Declared.Scheme()].New(ctx, spec)
	}
	if err != nil {
		return err
	}
	b.s.bodies.Add(f, made)
	b.bodies[code.ID] = true
	return nil
}

// reportBody reports why a body could not be made.
func reportBody(b *build, f *functions.Function, err error) {
	list, declared := errors.AsType[spicepod.Problems](err)
	if p, one := errors.AsType[spicepod.Problem](err); one {
		list, declared = spicepod.Problems{p}, true
	}
	if !declared {
		list = spicepod.Problems{b.pod.Problem(f.Path+".from", err.Error(), "")}
	}
	for _, p := range list {
		p.Component = f.Component()
		b.problem(p)
	}
}

// releaseBodies ends the use of the bodies by the build: those of the generation that it
// published are kept until the next one is, and statements no longer see it.
func releaseBodies(b *build) {
	g := b.s.Current()
	if g == nil || g.bodies != nil || g == b.old { // the build has failed
		b.s.release(b.bodies)
		return
	}
	g.bodies = acquired{}
	for _, f := range g.Functions.All() {
		if code := f.Code(); code != nil {
			g.bodies[code.ID] = true
			delete(b.bodies, code.ID)
		}
	}
	b.s.release(b.bodies)
	old := b.old.bodies
	b.s.db.Drained(func() { go b.s.release(old) })
}

func (s *services) release(ids acquired) {
	for id, has := range ids {
		if has {
			s.bodies.Release(id)
		}
	}
}
