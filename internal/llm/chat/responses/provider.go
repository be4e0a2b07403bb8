package responses

import (
	"context"
	"encoding/json"
	"iter"
	"maps"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/tools"
)

// ProviderOptions configures a [chat.Provider] of the Responses API.
type ProviderOptions struct {
	Endpoint *upstream.Endpoint // requests go to its base URL + /responses
	Model    string             // as named by the provider

	// Defaults are parameters for requests that lack them, by their names in the
	// Responses API; equivalent ones of chat completions (max_tokens,
	// max_completion_tokens, reasoning_effort, verbosity, response_format) are
	// converted.
	Defaults map[string]json.RawMessage

	// Namespaces uses the provider's tool search for deferred tools: they are sent
	// grouped by namespace, with defer_loading, and a tool of type tool_search.
	// Otherwise they are sent as ordinary tools.
	Namespaces bool
	// Descriptions describe the namespaces to the model; a namespace without one gets a
	// generic sentence.
	Descriptions map[string]string
}

type provider struct {
	options  ProviderOptions
	defaults map[string]json.RawMessage // by their names in this API
}

var _ chat.Provider = (*provider)(nil)

// NewProvider returns a provider that sends POST {base}/responses. Nothing is stored
// there: each request has the whole chat, including encrypted reasoning.
func NewProvider(o ProviderOptions) chat.Provider {
	return &provider{options: o, defaults: renameDefaults(o.Defaults)}
}

// Form returns [chat.FormResponses].
func (p *provider) Form() chat.Form { return chat.FormResponses }

// Chat sends the request and yields the answer.
func (p *provider) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		body, err := p.body(r)
		if err != nil {
			yield(chat.Delta{}, chat.AsError(err))
			return
		}
		endpoint := p.options.Endpoint
		endpoint.Chat(ctx, "/responses", body, nil, &decoder{fail: endpoint.Fail})(yield)
	}
}

// renameDefaults converts the names of chat completions.
func renameDefaults(defaults map[string]json.RawMessage) map[string]json.RawMessage {
	renamed := maps.Clone(defaults)
	move := func(from, to string, wrap func(json.RawMessage) any) {
		value, ok := renamed[from]
		if !ok {
			return
		}
		delete(renamed, from)
		raw, err := tools.Encode(wrap(value))
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

// merged adds missing keys of another object. A value that is not an object is
// unchanged.
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
	raw, err := tools.Encode(into)
	if err != nil {
		return own
	}
	return raw
}
