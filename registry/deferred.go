package registry

import (
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// Deferred is a call that runs as a statement of its caller, who does not wait for it.
type Deferred struct {
	Function string
	engine.Request
	// Refused takes the call back if the statement cannot be submitted.
	Refused func()
}

// Defer returns the statement of a call, for the caller to submit, and counts it as a call of
// its session. ok is false for a call that must be made with [Registry.Invoke]: one of a tool
// without such calls, one that needs approval, for which no statement can ask, and one that
// Invoke refuses.
func (r *Registry) Defer(c Call) (d Deferred, ok bool) {
	a := &attempt{registry: r, call: c, catalog: r.Current()}
	if c.DryRun || a.resolve() != nil || a.entry.unavailable(c.Scope) != "" {
		return d, false
	}
	tool, ok := a.entry.tool.(tools.Deferrable)
	if g := a.catalog.gates.tools[a.entry]; !ok || g != nil && a.catalog.requires(g, c.Scope.Caller) {
		return d, false
	}
	in, err := a.arguments()
	if err != nil {
		return d, false
	}
	sql, params, err := tool.Deferred(in)
	if err != nil || sql == "" || r.calls.count(a.entry, c.Scope) != nil {
		return d, false
	}
	return Deferred{
		Function: a.entry.def.Name, Request: engine.Request{SQL: sql, Params: engine.Params{Positional: params}},
		Refused: func() { r.calls.uncount(a.entry, c.Scope) },
	}, true
}
