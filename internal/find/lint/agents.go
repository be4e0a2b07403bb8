package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// The rules about agents. They are warnings.
const (
	// OwnerWithoutAgent: the owner of a function or tool is no agent.
	OwnerWithoutAgent = "owner-without-agent"
	// OwnerWithoutTool: the agent that owns a function or tool does not have it.
	OwnerWithoutTool = "owner-without-tool"
	// OverlappingAgents: two agents have similar descriptions, or many tools in common.
	OverlappingAgents = "overlapping-agents"
)

// Thresholds of overlapping agents.
const (
	// maxAgents is how many agents are compared with each other: the first.
	maxAgents = 500
	// alikeAgents is the share of words in common from which descriptions are similar.
	alikeAgents = .7
	// minSharedWords is how many words similar descriptions have in common at least.
	minSharedWords = 2
	// minShared is how many tools agents have in common that overlap; of the smaller list
	// they are at least half.
	minShared = 2
)

// Agent is an agent with the names of the tools that it may call.
type Agent struct {
	Name, Description string
	Tools             []string
}

// CheckAgents returns the findings about the agents of a Spicepod and the owners of its
// functions and tools. Each has a Path, and names its component. The agents are in the
// order of the Spicepod.
func CheckAgents(pod *spicepod.Pod, agents []Agent) []Finding {
	return append(checkOwners(pod, agents), overlaps(agents[:min(len(agents), maxAgents)])...)
}

// checkOwners reports owners that are no agents, or do not have what they own.
func checkOwners(pod *spicepod.Pod, agents []Agent) []Finding {
	var found []Finding
	check := func(component, name, path, owner string) {
		if owner == "" || owner == tools.OwnerRuntime {
			return
		}
		f := Finding{Severity: spicepod.Warning, Tool: name, Component: component + " " + name, Path: path + ".owner"}
		i := slices.IndexFunc(agents, func(a Agent) bool { return a.Name == owner })
		switch {
		case i < 0:
			f.Rule, f.Hint = OwnerWithoutAgent, "declare it under agents:, or leave owner out"
			f.Message = fmt.Sprintf("its owner %q is not an agent, so that every call by an agent counts as one of "+
				"another owner's tool", truncate.Runes(owner, maxExcerpt))
		case !owns(agents[i], name):
			f.Rule, f.Hint = OwnerWithoutTool, "add it to the tools of the agent, or name another owner"
			f.Message = fmt.Sprintf("its owner, agent %s, does not have it among its tools", owner)
		default:
			return
		}
		found = append(found, f)
	}
	for i, f := range pod.Functions {
		check("function", f.Name, fmt.Sprintf("functions[%d]", i), f.Owner)
	}
	for i, t := range pod.Tools {
		check("tool", t.Name, fmt.Sprintf("tools[%d]", i), t.Owner)
	}
	return found
}

// owns reports whether an agent has a tool, or one of the MCP server of that name.
func owns(a Agent, name string) bool {
	return slices.ContainsFunc(a.Tools, func(tool string) bool {
		return tool == name || strings.HasPrefix(tool, name+"__")
	})
}

// overlaps compares the agents with each other.
func overlaps(agents []Agent) []Finding {
	var found []Finding
	for j, b := range agents {
		for _, a := range agents[:j] {
			what, hint := "", ""
			shared := sharedTools(a, b)
			switch {
			case len(shared) >= minShared && 2*len(shared) >= min(len(a.Tools), len(b.Tools)):
				what = fmt.Sprintf("it has many tools of agent %s: %s", a.Name, listNames(shared))
				hint = "give each tool to the agent whose task it is"
			case alike(a.Description, b.Description):
				what = "its description is nearly that of agent " + a.Name
				hint = "say in each description what only that agent does: others delegate by it"
			default:
				continue
			}
			found = append(found, Finding{
				Rule: OverlappingAgents, Severity: spicepod.Warning, Tool: b.Name, Other: a.Name, Message: what, Hint: hint,
				Component: "agent " + b.Name, Path: fmt.Sprintf("agents[%d].name", j),
			})
		}
	}
	return found
}

// sharedTools are the tools that both agents have.
func sharedTools(a, b Agent) []string {
	return slices.DeleteFunc(slices.Clone(b.Tools), func(name string) bool { return !slices.Contains(a.Tools, name) })
}

func listNames(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// alike reports whether two descriptions have most words in common.
func alike(a, b string) bool {
	first, second := meaning(a), meaning(b)
	shared := 0
	for word := range first {
		if second[word] {
			shared++
		}
	}
	return shared >= minSharedWords && float64(2*shared) >= alikeAgents*float64(len(first)+len(second))
}

// meaning is the words of a text without small ones, in the singular.
func meaning(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words(text) {
		if !slices.Contains(small, word) {
			set[strings.TrimSuffix(word, "s")] = true
		}
	}
	return set
}
