package runtime

// This file has what a build says of catalogs whose tables are not known: those that are
// being listed, and those with a fault.

import (
	"context"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// unlisted returns the error of a table of a catalog whose tables are not known, or nil.
func unlisted(b *build, o engine.Object, r engine.Relation) *engine.Error {
	name, _, ok := strings.Cut(r.Schema, ".")
	state, unknown := b.waiting.catalogs[sqltree.Fold(name)]
	if o != engine.ObjectTable || !ok || !unknown {
		return nil
	}
	if state.Loading {
		return engine.NewError(errcode.Loading, "try again in a moment",
			"catalog %q is loading: its server has not listed its tables yet", state.Name)
	}
	var p spicepod.Problem
	for _, q := range b.report.Problems {
		if q.Component == "catalog "+state.Name && q.Severity != spicepod.Warning {
			p = q
			break
		}
	}
	return notServed(o, fmt.Sprintf("catalog %q", state.Name), p)
}

// listing reports whether a catalog is being listed for the first time.
func (w *waiting) listing() bool {
	for _, c := range w.catalogs {
		if c.Loading {
			return true
		}
	}
	return false
}

// opens returns [engine.Contents.Open]: nil without catalogs and requests of statements.
func opens(a *attempt) func(engine.Reading) func(context.Context) error {
	if len(a.pod.Catalogs) == 0 && len(a.traits.asks) == 0 {
		return nil
	}
	return a.s.data.Open
}
