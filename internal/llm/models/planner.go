package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of the tools in a prompt.
const (
	// MaxPlanned is how many tools `tools: planner` takes.
	MaxPlanned  = 500
	maxPlanLine = 200 // characters of a description
)

// planHead begins the list of tools in a prompt.
const planHead = "These tools are there. Plan with them; before you use some, get their parameters with " +
	registry.ToolDescribe + ", then call them with " + registry.ToolInvoke + ":\n"

// planned decides for `tools: planner`.
func (p *plan) planned(w wish, o offer) error {
	for _, name := range []string{registry.ToolDescribe, registry.ToolInvoke} {
		if o.catalog.Get(name) != nil {
			return reservedError(name)
		}
	}
	switch {
	case len(p.set) == 0:
		p.setMode(ModeNone, noTools(w))
		return nil
	case len(p.set) > MaxPlanned:
		return fmt.Errorf("tools: %s puts the names of all tools into the prompt, at most %d; there are "+
			"%d: write `tools: %s`", wordPlanner, MaxPlanned, len(p.set), wordSearch)
	}
	if w.native {
		p.warn("tool_search", fmt.Sprintf("it has no effect with tools: %s", wordPlanner),
			"write `tools: "+wordAuto+"` or `tools: "+wordSearch+"`")
	}
	p.setMode(ModePlanner, fmt.Sprintf("%s by name and description, as tools: %s says", plural.Of(len(p.set), "tool"),
		wordPlanner))
	return nil
}

// planKey is the key of a model's list among what is rendered of a view.
type planKey struct{ model *Model }

// plan is the list of the caller's tools for the prompt; "" in
// other modes. Callers who see the same get the same text.
func (m *Model) plan(scope tools.Scope) string {
	if m.planned == nil {
		return ""
	}
	view := m.opts.Catalog.View(scope)
	return view.Rendered(planKey{m}, func() any {
		return m.planText(func(name string) bool { return view.Get(name) != nil })
	}).(string)
}

// planText is the list of the tools that are shown, without those whose definitions the
// model is sent.
func (m *Model) planText(shown func(name string) bool) string {
	var b strings.Builder
	for _, d := range m.planned {
		if shown(d.Name) && !slices.ContainsFunc(m.tools, func(t toolloop.Tool) bool { return t.Name == d.Name }) {
			fmt.Fprintf(&b, "- %s: %s\n", d.Name, truncate.Line(d.Description, maxPlanLine))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return planHead + strings.TrimSuffix(b.String(), "\n")
}
