package spicepod

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Agent is one entry of `agents:`: a model with its own instructions, tools and other
// agents. Instructions has the text wherever it was written.
type Agent struct {
	Name            string         `yaml:"name" required:"true" doc:"Name of the agent, as a model of chats and as a tool: letters, digits, _ and -, at most 64."`
	Model           string         `yaml:"model" required:"true" doc:"The entry of models that answers. Its params.tools have no effect for the agent."`
	Description     string         `yaml:"description" required:"true" doc:"What the agent is for. Models and agents choose it by this text."`
	WhenToUse       string         `yaml:"when_to_use" doc:"When a model should call the agent, in a sentence. See docs/models.md."`
	NotFor          string         `yaml:"not_for" doc:"What the agent is not for, and which tool is."`
	Examples        []Example      `yaml:"examples" doc:"Calls that show how to use the agent, at most 10."`
	Instructions    string         `yaml:"instructions" doc:"Text before every conversation, after the system_prompt of the model."`
	InstructionsRef string         `yaml:"instructions_ref" file:"Instructions" doc:"File with the instructions, relative to the file that names it. Instead of instructions."`
	Tools           []string       `yaml:"tools" doc:"The tools of the agent: names, patterns with *, MCP servers, and toolsets. It is offered no other ones."`
	ForeignCalls    bool           `yaml:"foreign_calls" default:"true" doc:"It may call the tools that agents own and that are not among its tools, by names that it learns elsewhere, such as from its instructions. Such calls are counted as foreign. See docs/agents.md."`
	Agents          []string       `yaml:"agents" doc:"The agents to which it may delegate tasks, with the tools delegate and delegate_parallel."`
	Available       string         `yaml:"available" doc:"CEL expression over ctx and tool: who may see the agent, chat with it, call it and delegate to it. Without it: everyone. See docs/availability.md."`
	Limits          AgentLimits    `yaml:"limits" doc:"Limits on each task of the agent, with everything that it delegates."`
	Events          AgentEvents    `yaml:"events" enum:"none,tools,all" default:"tools" doc:"What a client that asks for events sees of the agent's work for another one: nothing; its beginning, end and tool calls; or its text as well."`
	Returns         map[string]any `yaml:"returns" doc:"JSON Schema of an object. The agent answers tasks, of its tool and of other agents, with an object that fits; without it, with text."`
	Metadata        map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	DependsOn       []string       `yaml:"dependsOn" doc:"Components that must be loaded first."`
}

// AgentEvents says what clients see of an agent's work for another one.
type AgentEvents string

// What clients see.
const (
	EventsNone  AgentEvents = "none"
	EventsTools AgentEvents = "tools"
	EventsAll   AgentEvents = "all"
)

// AgentLimits are the limits on each task of an agent. Those of a delegated task are at most
// what is left of the delegating one's.
type AgentLimits struct {
	Timeout     time.Duration `yaml:"timeout" default:"60s" doc:"Time limit."`
	Rounds      int           `yaml:"rounds" default:"8" min:"1" doc:"Answers with calls of tools, after which it must answer without."`
	Tokens      int           `yaml:"tokens" min:"0" doc:"Tokens of all requests and answers, after which no further request is sent; 0 means no limit."`
	Calls       int           `yaml:"calls" min:"0" doc:"Calls of tools; any further one fails with limit_exceeded. 0 means no limit."`
	Concurrency int           `yaml:"concurrency" default:"4" min:"1" doc:"Tasks of one delegate_parallel that run at once."`
	Depth       int           `yaml:"depth" default:"2" min:"1" doc:"How deep tasks may be delegated: 1 lets its agents delegate nothing."`
}

// maxAgentTimeout is the largest time limit of an agent.
const maxAgentTimeout = 24 * time.Hour

// checkAgent applies the rules of one agent.
func (d *decoder) checkAgent(a *Agent, o *object) {
	d.checkAvailable(o)
	d.checkUse(a.Use(), o)
	d.checkToolName("agent", a.Name)
	if a.Name != "" && !functionName.MatchString(a.Name) {
		d.failPath("name", fmt.Sprintf("agent name %q is not allowed", truncate.Runes(a.Name, maxShown)),
			"a name is 1 to 64 letters, digits, _ or -")
	}
	if o.value("instructions") != nil && o.value("instructions_ref") != nil {
		d.failPath("instructions_ref", "instructions and instructions_ref are mutually exclusive", "keep one of them")
	}
	if a.Limits.Timeout <= 0 || a.Limits.Timeout > maxAgentTimeout {
		d.failPath("limits.timeout", fmt.Sprintf("the time limit of an agent is %s", a.Limits.Timeout),
			"it takes more than 0s and at most 24h")
	}
}

// checkAgents refuses agents of models and agents that are not declared, and cycles of
// delegation.
func (d *decoder) checkAgents(p *Pod) {
	models, agents := map[string]bool{}, map[string]int{}
	var modelNames, agentNames []string
	for _, m := range p.Models {
		models[m.Name] = true
		modelNames = append(modelNames, m.Name)
	}
	for i, a := range p.Agents {
		agents[a.Name] = i
		agentNames = append(agentNames, a.Name)
	}
	for i, a := range p.Agents {
		if a.Model != "" && !models[a.Model] {
			hint := "declared are: " + strings.Join(modelNames, ", ")
			if len(modelNames) == 0 {
				hint = "declare it under models:"
			}
			d.add(p.Problem(fmt.Sprintf("agents[%d].model", i),
				fmt.Sprintf("model %q is not declared", truncate.Runes(a.Model, maxShown))+
					nearest.Clause(a.Model, modelNames), hint))
		}
		for j, name := range a.Agents {
			path := fmt.Sprintf("agents[%d].agents[%d]", i, j)
			if _, found := agents[name]; !found {
				d.add(p.Problem(path, fmt.Sprintf("agent %q is not declared", truncate.Runes(name, maxShown))+
					nearest.Clause(name, agentNames), "declare it under agents:"))
				continue
			}
			if slices.Index(a.Agents, name) < j {
				d.add(p.Problem(path, fmt.Sprintf("agent %q is named twice", name), "remove one of them"))
			}
			if cycle := delegation(p, agents, name, a.Name); cycle != nil &&
				!slices.ContainsFunc(cycle, func(name string) bool { return agents[name] < i }) {
				d.add(p.Problem(path, "the agent would delegate to itself: "+
					strings.Join(append([]string{a.Name}, cycle...), " → "),
					"remove one of these agents from the list of another one"))
			}
		}
	}
}

// checkOwners refuses owners of functions and tools that are no agents, if there are agents.
func (d *decoder) checkOwners(p *Pod) {
	if len(p.Agents) == 0 {
		return
	}
	var names []string
	for _, a := range p.Agents {
		names = append(names, a.Name)
	}
	check := func(path, owner string) {
		if owner != "" && owner != ownerRuntime && !slices.Contains(names, owner) {
			d.add(p.Problem(path, fmt.Sprintf("owner %q is not an agent", truncate.Runes(owner, maxShown))+
				nearest.Clause(owner, names), "write the name of an entry of agents:, or leave owner out"))
		}
	}
	for i, f := range p.Functions {
		check(fmt.Sprintf("functions[%d].owner", i), f.Owner)
	}
	for i, t := range p.Tools {
		check(fmt.Sprintf("tools[%d].owner", i), t.Owner)
	}
}

// ownerRuntime is the owner of functions and tools without one.
const ownerRuntime = "runtime"

// delegation returns how tasks of an agent can reach another one: both and those between
// them, or nil.
func delegation(p *Pod, agents map[string]int, from, to string) []string {
	seen := map[string]bool{}
	var find func(name string) []string
	find = func(name string) []string {
		if name == to {
			return []string{name}
		}
		i, found := agents[name]
		if !found || seen[name] {
			return nil
		}
		seen[name] = true
		for _, next := range p.Agents[i].Agents {
			if rest := find(next); rest != nil {
				return append([]string{name}, rest...)
			}
		}
		return nil
	}
	return find(from)
}
