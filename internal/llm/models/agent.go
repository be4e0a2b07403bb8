package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// agent is what a [Model] has that is an agent.
type agent struct {
	declared spicepod.Agent
	use      string              // lines of when_to_use and not_for, as other agents are shown them
	others   []*Model            // to which it may delegate, in the order of declaration
	returns  *returns            // nil: text
	tools    []*registry.OwnTool // delegate and delegate_parallel for all of them; nil without others
}

// delegation returns the tools by which the agent delegates to those agents that a caller
// sees.
func (m *Model) delegation(view *registry.View) []*registry.OwnTool {
	if m.agent == nil || len(m.agent.others) == 0 {
		return nil
	}
	type key struct{ of *Model }
	return view.Rendered(key{m}, func() any {
		others := slices.DeleteFunc(slices.Clone(m.agent.others), func(other *Model) bool { return !other.seen(view) })
		switch len(others) {
		case len(m.agent.others):
			return m.agent.tools
		case 0:
			return []*registry.OwnTool(nil)
		}
		made, _ := delegationTools(m.info.Name, others) // of fewer agents than at load
		return made
	}).([]*registry.OwnTool)
}

// own returns the agent's own tool of that name, or nil.
func (m *Model) own(name string, scope tools.Scope) *registry.OwnTool {
	if name != toolDelegate && name != toolDelegateParallel {
		return nil
	}
	for _, t := range m.delegation(m.opts.Catalog.View(scope)) {
		if t.Definition().Name == name {
			return t
		}
	}
	return nil
}

// callable reports whether the agent may call the named tool of the catalog: one of its tools
// or, with foreign_calls, one that an agent owns. What the runtime owns, agents among it, it
// has to be given. Whether the tool is available to its caller is decided at the call.
func (m *Model) callable(name string) bool {
	if m.visible(name) {
		return true
	}
	d := m.opts.Registry.Current().Get(name)
	return d != nil && m.agent.declared.ForeignCalls && d.Owner != tools.OwnerRuntime
}

// seen reports whether a caller sees the model: every model that is no agent, and the
// agents that are tools of the view.
func (m *Model) seen(view *registry.View) bool {
	return m.agent == nil || view.Get(m.info.Name) != nil
}

// agents adds the agents to a set with all models.
func (b *builder) agents(s *Set) {
	for i := range b.pod.Agents {
		m := b.newAgent(i, s)
		s.models = append(s.models, m)
		s.byName[m.info.Name] = m
	}
	for _, m := range s.models {
		if m.agent == nil || m.settings == nil || len(m.agent.declared.Agents) == 0 {
			continue
		}
		for _, name := range m.agent.declared.Agents {
			m.agent.others = append(m.agent.others, s.byName[name])
		}
		if problem := m.delegates(b.pod); problem != nil {
			b.problems = append(b.problems, *problem)
			m.settings, m.info.Status, m.info.Error = nil, StatusError, problem.Located()
		}
	}
}

// newAgent makes an agent of its model. If that fails, Info of the agent has the reason.
func (b *builder) newAgent(i int, s *Set) *Model {
	declared := b.pod.Agents[i]
	document := tools.DocumentOf(declared.Use(), b.pod.Runtime.Tools.Documents)
	m := &Model{opts: b.opts, agent: &agent{declared: declared, use: document.Shown().Text}, info: Info{
		Name: declared.Name, From: tools.SourceAgent + ":" + declared.Model, Description: declared.Description,
		Status: StatusReady, Agent: true,
		ToolPlan: ToolPlan{Declared: strings.Join(declared.Tools, ", "), Mode: ModeNone},
	}}
	e := spicepod.Entry{Pod: b.pod, Path: fmt.Sprintf("agents[%d]", i), Component: "agent " + declared.Name}
	if problem := b.openAgent(m, s.byName[declared.Model], &e); problem != nil {
		b.problems = append(b.problems, *problem)
		m.info.Status, m.info.Error = StatusError, problem.Located()
	}
	return m
}

// openAgent gives an agent the provider of its model, and its own instructions, limits and
// tools.
func (b *builder) openAgent(m, of *Model, e *spicepod.Entry) *spicepod.Problem {
	declared := m.agent.declared
	if d := b.offer.catalog.Get(declared.Name); d == nil || d.Source != tools.SourceAgent {
		return e.Problem(".name", "rename one of them", "there is a tool named %q already", declared.Name)
	}
	if e.CheckReferences(); e.Fault() != nil {
		return e.Fault()
	}
	if of == nil || of.settings == nil {
		return e.Problem(".model", "", "its model %q was not loaded", declared.Model)
	}
	s := *of.settings
	s.system = joined(s.system, strings.TrimSpace(declared.Instructions))
	if len(s.system) > MaxSystemPrompt {
		return e.Problem(".instructions",
			"", "the instructions and the system_prompt of the model have %d bytes; the limit is %d", len(s.system),
			MaxSystemPrompt)
	}
	var err error
	if m.agent.returns, err = returnsOf(declared); err != nil {
		return e.Problem(".returns",
			"write a JSON Schema, such as {type: object, required: [title], properties: {title: {type: string}}}", "%s", err)
	}
	if s.formats {
		m.agent.returns.formatted()
	}
	s.limits.Rounds = declared.Limits.Rounds
	s.wish.declared, s.wish.closed, s.wish.pinned, s.wish.text = true, true, nil, strings.Join(declared.Tools, ", ")
	p := &plan{}
	names := []string{wordAuto}
	for i, name := range declared.Tools {
		if name == wordPlanner && b.offer.catalog.Get(name) == nil { // else it is a tool
			names = []string{wordPlanner}
			continue
		}
		found := b.offer.selected(name)
		if len(found) == 0 {
			b.problems = append(b.problems, e.Remark(fmt.Sprintf(".tools[%d]", i),
				"write the name of a tool, a pattern such as docs__*, or the name of an MCP server or toolset",
				fmt.Sprintf("no tool matches %q", name)))
		}
		p.set = append(p.set, found...)
	}
	slices.SortFunc(p.set, func(a, b *tools.Definition) int { return strings.Compare(a.Name, b.Name) })
	p.set = slices.Compact(p.set)
	if err := p.chooseMode(s.wish, b.offer, names, b.opts.Embeddings); err != nil {
		return e.Problem(".tools", "", "%s", err)
	}
	m.settings, m.provider, m.fingerprint = &s, of.provider, of.fingerprint
	m.info.Datasets, m.hasTable = of.info.Datasets, of.hasTable
	m.useTools(p, b.offer)
	return nil
}

// joined joins the system prompts of a model and of its agent.
func joined(system, instructions string) string {
	if system == "" || instructions == "" {
		return system + instructions
	}
	return system + "\n\n" + instructions
}

// selected returns the tools that an entry of an agent's tools selects: those with the name
// or of the pattern, or all of an MCP server or of a toolset.
func (o offer) selected(name string) []*tools.Definition {
	if strings.Contains(name, "*") {
		return o.matching([]string{name})
	}
	return o.named(name)
}

// delegates gives an agent its own tools: those that delegate tasks.
func (m *Model) delegates(pod *spicepod.Pod) *spicepod.Problem {
	var err error
	if m.agent.tools, err = delegationTools(m.info.Name, m.agent.others); err != nil {
		i := slices.IndexFunc(pod.Agents, func(a spicepod.Agent) bool { return a.Name == m.info.Name })
		e := spicepod.Entry{Pod: pod, Path: fmt.Sprintf("agents[%d]", i), Component: "agent " + m.info.Name}
		return e.Problem(".agents",
			"shorten description, when_to_use and not_for of these agents, which are part of the tool", "%s", err)
	}
	for _, t := range m.delegating(m.agent.tools) {
		m.info.Advertised = append(m.info.Advertised, t.Name)
		m.info.Count++
		m.info.DefinitionTokens += t.Tokens
		m.info.DirectTokens += t.Tokens
	}
	slices.Sort(m.info.Advertised)
	if m.info.Mode == ModeNone {
		m.info.Mode, m.info.Reason = ModeDirect, "it delegates"
	}
	return nil
}

// delegating returns tools that delegate as the agent's model is sent them.
func (m *Model) delegating(own []*registry.OwnTool) []toolloop.Tool {
	defs := make([]*tools.Definition, len(own))
	for i, t := range own {
		defs[i] = t.Definition()
	}
	return m.settings.said(plain(defs))
}

// AgentInfo describes an agent, as GET /v1/agents does.
type AgentInfo struct {
	Name        string   `json:"name"`
	Model       string   `json:"model" doc:"The model that answers."`
	Description string   `json:"description"`
	Status      string   `json:"status" enum:"Ready,Error"`
	Error       string   `json:"error,omitempty" doc:"Why it was not loaded."`
	Agents      []string `json:"agents" doc:"The agents to which it may delegate tasks."`
	Tools       ToolPlan `json:"tools"`
	Foreign     bool     `json:"foreign_calls" doc:"Whether it may call the tools of other agents."`
	Limits      Limits   `json:"limits"`
	Events      string   `json:"events" enum:"none,tools,all" doc:"What clients see of its work for other agents."`
}

// Limits are the limits of each task of an agent.
type Limits struct {
	Timeout     string `json:"timeout" doc:"A duration such as 1m0s."`
	Rounds      int    `json:"rounds"`
	Tokens      int    `json:"tokens,omitempty"`
	Calls       int    `json:"calls,omitempty"`
	Concurrency int    `json:"concurrency"`
	Depth       int    `json:"depth"`
}

// Agents describes the agents, in the order of declaration.
func (s *Set) Agents() []AgentInfo {
	list := []AgentInfo{}
	for _, m := range s.All() {
		if m.agent == nil {
			continue
		}
		d := m.agent.declared
		others := append([]string{},
			slices.DeleteFunc(slices.Clone(d.Agents), func(name string) bool { return s.get(name) == nil })...)
		l := d.Limits
		list = append(list, AgentInfo{
			Name: d.Name, Model: d.Model, Description: d.Description, Status: m.info.Status, Error: m.info.Error,
			Agents: others, Tools: m.info.ToolPlan, Foreign: d.ForeignCalls, Events: string(d.Events),
			Limits: Limits{l.Timeout.String(), l.Rounds, l.Tokens, l.Calls, l.Concurrency, l.Depth},
		})
	}
	return list
}

// taskText is a task as the agent reads it.
func taskText(task string, context json.RawMessage) string {
	if len(context) == 0 || string(context) == "null" || string(context) == "{}" {
		return task
	}
	return task + "\n\nContext:\n" + string(context)
}
