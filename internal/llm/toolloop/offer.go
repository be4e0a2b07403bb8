package toolloop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Tool is a tool of the runtime as the model is shown it.
type Tool struct {
	chat.Tool
	AfterResponse bool // its calls wait for the end of the answer
	Serial        bool // its calls wait for those of such tools before them
}

// offer is what a model may call in one chat.
type offer struct {
	tools  []chat.Tool // sorted by name, bytewise
	byName map[string]traits
}

// newOffer merges the client's tools with the runtime's. Of equal names the
// first one counts, and the client's before the runtime's. Tools that the
// provider brings have no name and come first, as the client listed them.
func newOffer(client []chat.Tool, runtime []Tool) offer {
	o := offer{
		tools:  make([]chat.Tool, 0, len(client)+len(runtime)),
		byName: make(map[string]traits, len(client)+len(runtime)),
	}
	for _, t := range client {
		o.add(t, traits{client: true})
	}
	for _, t := range runtime {
		o.add(t.Tool, traits{serial: t.Serial, late: t.AfterResponse, parameters: t.Parameters})
	}
	slices.SortStableFunc(o.tools, func(a, b chat.Tool) int { return strings.Compare(a.Name, b.Name) })
	return o
}

func (o *offer) add(t chat.Tool, tr traits) {
	if t.Hosted() {
		o.tools = append(o.tools, t)
		return
	}
	if _, taken := o.byName[t.Name]; !taken {
		o.byName[t.Name] = tr
		o.tools = append(o.tools, t)
	}
}

// traits are those of the named tool. A name that nobody offered is the
// runtime's: models call what tool_search has found by its name, and the door
// says what is right.
func (o *offer) traits(name string) traits { return o.byName[name] }

// exampleOf is the least arguments that a schema accepts, nil when it is none.
func exampleOf(parameters json.RawMessage) json.RawMessage {
	schema, err := tools.Compile(parameters)
	if err != nil {
		return nil
	}
	return schema.Example()
}
