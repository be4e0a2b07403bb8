package runtime

import (
	"fmt"

	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// checkExamples reports the examples of functions, tools and agents that do not fit the
// parameters of the tool, except those of MCP servers, which are checked where
// their tools are made.
func (a *attempt) checkExamples(c *registry.Catalog) {
	for i := range a.pod.Functions {
		f := &a.pod.Functions[i]
		a.checkUse(c, fmt.Sprintf("functions[%d]", i), "function "+f.Name, f.Name, f.Use())
	}
	for i := range a.pod.Tools {
		if t := &a.pod.Tools[i]; !t.Server() {
			a.checkUse(c, fmt.Sprintf("tools[%d]", i), "tool "+t.Name, t.Name, t.Use())
		}
	}
	for i := range a.pod.Agents {
		agent := &a.pod.Agents[i]
		a.checkUse(c, fmt.Sprintf("agents[%d]", i), "agent "+agent.Name, agent.Name, agent.Use())
	}
}

func (a *attempt) checkUse(c *registry.Catalog, path, component, name string, use spicepod.Use) {
	d := c.Get(name)
	if d == nil {
		return // why it is no tool is reported elsewhere
	}
	for _, fault := range tools.CheckExamples(d, use.Examples) {
		p := a.pod.Problem(path+".examples"+fault.Path, fault.Message, fault.Hint)
		p.Component = component
		a.problem(p)
	}
}
