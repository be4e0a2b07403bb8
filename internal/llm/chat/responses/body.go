package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// order is the order of the keys of a request; other keys follow by name, and the input
// is last. Equal requests have equal bytes.
var order = []string{
	"model", "stream", "store", "include", "tools", "tool_choice", "parallel_tool_calls",
	"max_output_tokens", "temperature", "top_p", "reasoning", "text", "user",
}

// shared are the keys of chat completions that mean the same in the Responses API.
var shared = []string{
	"metadata", "moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"safety_identifier", "service_tier", "top_logprobs", "user",
}

// body is the body to send.
type body struct{ wire.Body }

// add sets a key, or merges missing keys into an object: reasoning and text come from
// several sources.
func (b *body) add(key string, raw json.RawMessage) {
	own, ok := b.Fields[key]
	switch {
	case !ok:
		b.Set(key, raw)
	case key == "reasoning" || key == "text":
		b.Fields[key] = merged(own, raw)
	}
}

// body returns the request in the Responses API. Errors in it are [*chat.Error].
func (p *provider) body(r *chat.Request) ([]byte, error) {
	if len(r.Settings.Stop) > 0 {
		return nil, chat.Invalid("stop",
			"OpenAI's Responses API has no stop sequences; leave stop out, or set params.responses_api: disabled for this model")
	}
	b := &body{wire.Body{Fields: map[string]json.RawMessage{}}}
	b.Set("model", p.options.Model)
	b.Set("stream", true)
	b.Set("store", false)
	if err := p.tools(b, r); err != nil {
		return nil, err
	}
	b.settings(r.Settings)
	b.extra(r)
	for key, raw := range p.defaults {
		b.add(key, raw)
	}
	if encrypts(p.options.Model) {
		b.include()
	}
	items, err := encodeMessages(r.Messages)
	if err != nil {
		return nil, err
	}
	b.Set("input", items)
	return b.Render(order, "input")
}

func (p *provider) tools(b *body, r *chat.Request) error {
	set := toolset{form: r.Form, native: p.options.Namespaces, descriptions: p.options.Descriptions}
	tools, err := set.encode(r.Tools)
	if err != nil {
		return err
	}
	if len(tools) == 0 {
		return nil // and no choice: servers reject one without tools
	}
	b.Set("tools", tools)
	choice, err := toolChoice(r.Choice, r.Form)
	if err != nil {
		return err
	}
	if choice != nil {
		b.Set("tool_choice", choice)
	}
	if r.Settings.ParallelCalls != nil {
		b.Set("parallel_tool_calls", *r.Settings.ParallelCalls)
	}
	return nil
}

func (b *body) settings(s chat.Settings) {
	if s.MaxTokens > 0 {
		b.Set("max_output_tokens", s.MaxTokens)
	}
	if s.Temperature != nil {
		b.Set("temperature", *s.Temperature)
	}
	if s.TopP != nil {
		b.Set("top_p", *s.TopP)
	}
	if s.Effort != "" {
		b.Set("reasoning", map[string]string{"effort": s.Effort})
	}
	if s.Format != nil {
		b.Set("text", map[string]json.RawMessage{"format": flattenFormat(s.Format)})
	}
}

// extra adds the client's other fields: all of them from a Responses request, and from
// chat completions those that mean the same.
func (b *body) extra(r *chat.Request) {
	switch r.Form {
	case chat.FormResponses:
		for key, raw := range r.Extra {
			b.add(key, raw)
		}
	case chat.FormOpenAI:
		for _, key := range shared {
			if raw, ok := r.Extra[key]; ok {
				b.add(key, raw)
			}
		}
		if string(r.Extra["logprobs"]) == "true" {
			b.Set("include", []string{includeLogprobs})
		}
		if raw, ok := r.Extra["verbosity"]; ok {
			b.add("text", slices.Concat(json.RawMessage(`{"verbosity":`), raw, json.RawMessage(`}`)))
		}
	case chat.FormAnthropic:
		if string(r.Extra["service_tier"]) == `"standard_only"` { // "auto" is the default
			b.Set("service_tier", "default")
		}
	}
	if _, ok := b.Fields["safety_identifier"]; !ok && r.Settings.User != "" {
		b.add("user", wire.Quote(r.Settings.User))
	}
}

// includeLogprobs requests the log probabilities of the answer's text.
const includeLogprobs = "message.output_text.logprobs"

// include requests encrypted reasoning, which can be sent back, in addition to what the
// client requests.
func (b *body) include() {
	const encrypted = "reasoning.encrypted_content"
	var include []string
	if raw, ok := b.Fields["include"]; ok && json.Unmarshal(raw, &include) != nil {
		return // the provider reports what is wrong
	}
	if !slices.Contains(include, encrypted) {
		include = append(include, encrypted)
	}
	b.Set("include", include)
}

// encrypts reports whether encrypted reasoning can be requested. OpenAI rejects that
// for its models that do not reason.
func encrypts(model string) bool {
	for _, prefix := range []string{"gpt-3.5", "gpt-4", "chatgpt-"} {
		if strings.HasPrefix(model, prefix) {
			return false
		}
	}
	return true
}
