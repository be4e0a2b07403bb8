package toolloop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Tool is a tool of the runtime as shown to the model.
type Tool struct {
	chat.Tool
	AfterResponse bool // its calls wait until the answer ends
	Serial        bool // its calls run one after another

	// Tokens is what the definition costs in a request: see [DefinitionTokens].
	Tokens int

	// Declared are the parameters that arguments are checked against, where the model is
	// sent others, and Names the declared names of arguments by those that it is sent: see
	// package dialect.
	Declared json.RawMessage
	Names    map[string]string
}

// offer is the set of tools that a model may call in one chat.
type offer struct {
	tools  []chat.Tool // sorted by name, bytewise
	byName map[string]traits
	tokens int // of the definitions in a request: see [DefinitionTokens]
}

// newOffer merges the client's tools with the runtime's. Of equal names the first one
// wins, and the client's wins over the runtime's. Tools hosted by the provider have no
// name and come first, in the client's order.
func newOffer(client []chat.Tool, runtime []Tool) offer {
	o := offer{
		tools:  make([]chat.Tool, 0, len(client)+len(runtime)),
		byName: make(map[string]traits, len(client)+len(runtime)),
	}
	for _, t := range client {
		o.add(t, traits{client: true}, DefinitionTokens(t))
	}
	for _, t := range runtime {
		tr := traits{serial: t.Serial, late: t.AfterResponse, parameters: t.Parameters, names: t.Names}
		if t.Declared != nil {
			tr.parameters = t.Declared
		}
		o.add(t.Tool, tr, t.Tokens)
	}
	slices.SortStableFunc(o.tools, func(a, b chat.Tool) int { return strings.Compare(a.Name, b.Name) })
	return o
}

func (o *offer) add(t chat.Tool, tr traits, tokens int) {
	if t.Hosted() {
		o.tools = append(o.tools, t)
		return
	}
	if _, taken := o.byName[t.Name]; !taken {
		o.byName[t.Name] = tr
		o.tools = append(o.tools, t)
		o.tokens += tokens
	}
}

// DefinitionTokens estimates the tokens that the definition of a tool costs in each request:
// see [tokens.Count]. It is 0 for tools that the model sees only once a search has found them,
// and for those that the provider hosts, whose definitions are the provider's.
func DefinitionTokens(t chat.Tool) int {
	if t.Deferred || t.Hosted() {
		return 0
	}
	return lint.Cost([]*tools.Definition{{Name: t.Name, Description: t.Text(), Parameters: t.Parameters}},
		lint.OpenAI)
}

// traits returns the traits of the named tool. A name that was not offered counts as a
// runtime tool: models call tools that tool_search returned by name, and the registry
// reports unknown ones.
func (o *offer) traits(name string) traits { return o.byName[name] }

// exampleOf returns minimal arguments that a schema accepts, nil if it knows none.
func exampleOf(parameters json.RawMessage) json.RawMessage {
	schema, err := tools.Compile(parameters)
	if err != nil {
		return nil
	}
	return schema.Example()
}
