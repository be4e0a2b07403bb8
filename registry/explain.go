package registry

import (
	"context"
	"slices"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/tools"
)

// Status reports whether a tool can be called in a scope, and the reason if
// not.
type Status struct {
	Name       string  `json:"name"`
	Callable   bool    `json:"callable"`
	HiddenBy   string  `json:"hidden_by,omitempty" doc:"The first stage that the tool did not pass."`
	Reason     string  `json:"reason,omitempty" doc:"Why it did not pass."`
	Declared   string  `json:"declared,omitempty" doc:"file:line, or built in."`
	Warning    string  `json:"warning,omitempty"`
	Stages     []Stage `json:"stages"`
	Calls      int64   `json:"calls"`
	Errors     int64   `json:"errors"`
	Searches   int64   `json:"searches" doc:"Searches that returned the tool."`
	Generation uint64  `json:"generation"`
}

// Stage is a step from a declaration to a call.
type Stage struct {
	Stage  string `json:"stage" doc:"A step on the way from a declaration to a call."`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
}

// Stages of a tool, in this order; [Hidden] names one of the first.
const (
	StageDeclared  = "declared"  // the Spicepod or the runtime declares it
	StageEnabled   = "enabled"   // it, its section and its domain are enabled
	StageLoaded    = "loaded"    // it loaded without a fault
	StageAsTool    = "as_tool"   // it is declared as a tool
	StageCatalog   = "catalog"   // its name is valid and unique
	StageAvailable = "available" // it is available in the scope
)

var stages = []string{StageDeclared, StageEnabled, StageLoaded, StageAsTool, StageCatalog, StageAvailable}

// Status explains a tool. The error is [errcode.ToolNotFound]. A tool that an expression
// hides from the caller is not there, unless a caller asks for hidden ones who may name any
// user and space, and could thus see it.
func (r *Registry) Status(name string, scope tools.Scope, hidden bool) (*Status, error) {
	c := r.Current()
	s := &Status{Name: name, Generation: c.Generation}
	e, view := c.get(name), c.View(scope)
	o := c.ownedBy(name, view)
	if !(hidden && scope.Delegate) && (e != nil && !c.sees(e, scope) || e == nil && !c.seesFunction(name, scope)) {
		return nil, c.notFound(name, scope)
	}
	switch {
	case e != nil:
		s.Name, s.Declared = e.def.Name, e.def.Declared
		if _, err := e.schema(); err != nil {
			s.Warning = err.Error() + "; its arguments are not checked"
		}
		if s.Reason = c.toolReason(e, scope); s.Reason != "" {
			s.HiddenBy = StageAvailable
		}
	case o != nil:
		s.Name, s.Declared, s.HiddenBy, s.Reason = o.Name, o.Declared, StageAvailable, o.reason(view)
	default:
		h := c.hidden(name)
		if h == nil {
			return nil, c.notFound(name, scope)
		}
		s.Name, s.HiddenBy, s.Reason = h.Name, h.Stage, h.Reason
	}
	s.Callable = s.HiddenBy == ""
	s.Stages = passed(s.HiddenBy, s.Reason)
	if r.opts.Usage != nil {
		t := r.opts.Usage.Totals(s.Name)
		s.Calls, s.Errors, s.Searches = t.Calls, t.Errors(), t.Returned
	}
	return s, nil
}

// hidden returns the declaration of that name that is not offered, or nil.
func (c *Catalog) hidden(name string) *Hidden {
	if i := slices.IndexFunc(c.Hidden, func(h Hidden) bool { return fold(h.Name) == fold(name) }); i >= 0 {
		return &c.Hidden[i]
	}
	return nil
}

// passed lists the stages up to the one that failed.
func passed(hiddenBy, reason string) []Stage {
	var list []Stage
	for _, name := range stages {
		if name == hiddenBy {
			return append(list, Stage{name, false, reason})
		}
		list = append(list, Stage{Stage: name, Passed: true})
	}
	return list
}

// Why explains the rank of one tool in a search, found or not.
type Why struct {
	Tool string `json:"tool"`
	search.Why
}

// Why explains how a search ranks one tool.
func (r *Registry) Why(ctx context.Context, q SearchRequest, name string) (*Why, error) {
	c := r.Current()
	if _, err := q.check(); err != nil {
		return nil, err
	}
	e := c.get(name)
	if e == nil || !c.sees(e, q.Scope) {
		return nil, c.notFound(name, q.Scope)
	}
	query, ix, _, _, err := r.prepare(ctx, c, q)
	if err != nil {
		return nil, err
	}
	return &Why{e.def.Name, ix.words.Why(query, e.number)}, nil
}
