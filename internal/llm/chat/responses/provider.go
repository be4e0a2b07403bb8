package responses

import (
	"context"
	"encoding/json"
	"iter"
	"maps"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// ProviderOptions say whom a [chat.Provider] of this form asks.
type ProviderOptions struct {
	Endpoint *upstream.Endpoint // its base URL is what /responses follows
	Model    string             // as the provider names it

	// Defaults are sent where a request has nothing of its own. Their names
	// are those of the Responses API; those of chat completions that stand for
	// the same (max_tokens, max_completion_tokens, reasoning_effort,
	// verbosity, response_format) are brought over.
	Defaults map[string]json.RawMessage

	// Namespaces sends deferred tools to the provider's own search: grouped by
	// their namespaces, with defer_loading, beside a tool of the type
	// tool_search. Without it they are sent as any other tool.
	Namespaces bool
	// Descriptions are what the model reads of a namespace before it looks
	// into it; one without gets a plain sentence.
	Descriptions map[string]string
}

type provider struct {
	options  ProviderOptions
	defaults map[string]json.RawMessage // by their names in this form
}

var _ chat.Provider = (*provider)(nil)

// NewProvider returns a provider that asks POST {base}/responses. Nothing is
// stored there: the whole chat is sent each time, and reasoning comes back
// encrypted and goes along.
func NewProvider(o ProviderOptions) chat.Provider {
	return &provider{options: o, defaults: renameDefaults(o.Defaults)}
}

// Form is [chat.FormResponses].
func (p *provider) Form() chat.Form { return chat.FormResponses }

// Chat asks the model.
func (p *provider) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		body, err := p.body(r)
		if err != nil {
			yield(chat.Delta{}, chat.AsError(err))
			return
		}
		d := &decoder{fail: p.options.Endpoint.Fail}
		for event, err := range p.options.Endpoint.Stream(ctx, "/responses", body, nil) {
			if err != nil {
				yield(chat.Delta{}, err)
				return
			}
			deltas, err := d.event(event.Data)
			for _, delta := range deltas {
				if !yield(delta, nil) {
					return
				}
			}
			if err != nil {
				yield(chat.Delta{}, err)
				return
			}
			if d.ended {
				return
			}
		}
		yield(chat.Delta{}, d.broken())
	}
}

// renameDefaults brings the names of chat completions into this form.
func renameDefaults(defaults map[string]json.RawMessage) map[string]json.RawMessage {
	renamed := maps.Clone(defaults)
	move := func(from, to string, wrap func(json.RawMessage) any) {
		value, ok := renamed[from]
		if !ok {
			return
		}
		delete(renamed, from)
		raw, err := encode(wrap(value))
		if err != nil {
			return
		}
		if own, ok := renamed[to]; ok {
			raw = merged(own, raw)
		}
		renamed[to] = raw
	}
	same := func(raw json.RawMessage) any { return raw }
	under := func(key string) func(json.RawMessage) any {
		return func(raw json.RawMessage) any { return map[string]json.RawMessage{key: raw} }
	}
	move("max_tokens", "max_output_tokens", same)
	move("max_completion_tokens", "max_output_tokens", same)
	move("reasoning_effort", "reasoning", under("effort"))
	move("verbosity", "text", under("verbosity"))
	move("response_format", "text", func(raw json.RawMessage) any { return under("format")(flattenFormat(raw)) })
	return renamed
}

// merged adds to an object what it lacks of another. What is no object stays
// as it is.
func merged(own, more json.RawMessage) json.RawMessage {
	var into, from map[string]json.RawMessage
	if json.Unmarshal(own, &into) != nil || json.Unmarshal(more, &from) != nil || into == nil {
		return own
	}
	for key, value := range from {
		if _, ok := into[key]; !ok {
			into[key] = value
		}
	}
	raw, err := encode(into)
	if err != nil {
		return own
	}
	return raw
}
