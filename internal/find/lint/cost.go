package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/tools"
)

// Form is the form in which a model gets definitions.
type Form string

// The forms.
const (
	OpenAI  Form = "openai"  // entries of `tools`: name, description and parameters
	Planner Form = "planner" // names and descriptions
)

// Render returns definitions as a model gets them: a JSON list without white space.
func Render(definitions []*tools.Definition, form Form) string {
	entries := make([]string, len(definitions))
	for i, d := range definitions {
		entries[i] = render(d, form)
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func render(d *tools.Definition, form Form) string {
	var entry any = d.Planner()
	if form == OpenAI {
		type function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}
		entry = struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function{d.Name, d.Text(), d.Parameters}}
	}
	text, err := tools.Encode(entry)
	if err != nil { // not made by [tools.Define]
		return d.Name + d.Description + string(d.Parameters)
	}
	return string(text)
}

// Cost estimates the tokens of definitions; see [tokens.Count].
func Cost(definitions []*tools.Definition, form Form) int {
	return tokens.Count(Render(definitions, form))
}

// checkCost reports an expensive definition.
func checkCost(d *tools.Definition) []Finding {
	n := Cost([]*tools.Definition{d}, OpenAI)
	if n <= maxTokens {
		return nil
	}
	return []Finding{finding(CostlyTool, d,
		fmt.Sprintf("its definition costs about %d tokens each time a model gets it; the limit is %d", n, maxTokens),
		"shorten its descriptions, or split the tool")}
}

// Summary is the cost of definitions, in tokens.
type Summary struct {
	Tools    int `json:"tools"`
	Direct   int `json:"direct"`   // all definitions
	Registry int `json:"registry"` // the tools sent instead
	Planner  int `json:"planner"`  // all names and descriptions
	// ByTool is the cost of each tool's definition, most expensive first.
	ByTool []ToolCost `json:"by_tool"`
}

// ToolCost is the cost of one definition.
type ToolCost struct {
	Tool   string `json:"tool"`
	Tokens int    `json:"tokens"`
}

// Summarise estimates the cost of definitions, and of those that a model gets instead:
// tool_search, tool_invoke and list_datasets.
func Summarise(definitions, instead []*tools.Definition) Summary {
	s := Summary{
		Tools: len(definitions), Direct: Cost(definitions, OpenAI), Registry: Cost(instead, OpenAI),
		Planner: Cost(definitions, Planner),
		ByTool:  make([]ToolCost, len(definitions)),
	}
	for i, d := range definitions {
		s.ByTool[i] = ToolCost{d.Name, Cost([]*tools.Definition{d}, OpenAI)}
	}
	slices.SortFunc(s.ByTool, func(a, b ToolCost) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Tool, b.Tool))
	})
	return s
}
