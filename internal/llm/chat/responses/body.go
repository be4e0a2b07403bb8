package responses

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// order is the order of the keys of a request; other keys follow by name, and the input
// is last. Equal requests have equal bytes.
var order = []string{
	"model", "stream", "store", "include", "tools", "tool_choice", "parallel_tool_calls",
	"max_output_tokens", "temperature", "top_p", "reasoning", "text", "user",
}

// shared are the keys of chat completions that mean the same in the Responses API.
var shared = []string{"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier"}

// body is the body to send, by key.
type body struct {
	values map[string]json.RawMessage
	err    error
}

// set encodes a value; the first error is retained.
func (b *body) set(key string, value any) {
	raw, err := encode(value)
	if err != nil && b.err == nil {
		b.err = err
	}
	b.values[key] = raw
}

// add sets a key, or merges missing keys into an object: reasoning and text come from
// several sources.
func (b *body) add(key string, raw json.RawMessage) {
	own, ok := b.values[key]
	switch {
	case !ok:
		b.set(key, raw)
	case key == "reasoning" || key == "text":
		b.values[key] = merged(own, raw)
	}
}

// render encodes the object.
func (b *body) render() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	var out bytes.Buffer
	write := func(key string) {
		raw, ok := b.values[key]
		if !ok {
			return
		}
		out.WriteByte(separator(out.Len()))
		out.WriteString(`"` + key + `":`)
		out.Write(raw)
	}
	for _, key := range order {
		write(key)
	}
	for _, key := range slices.Sorted(maps.Keys(b.values)) {
		if key != "input" && !slices.Contains(order, key) {
			write(key)
		}
	}
	write("input")
	out.WriteByte('}')
	return out.Bytes(), nil
}

// separator returns what precedes a key.
func separator(written int) byte {
	if written == 0 {
		return '{'
	}
	return ','
}

// body returns the request in the Responses API. Errors in it are [*chat.Error].
func (p *provider) body(r *chat.Request) ([]byte, error) {
	if len(r.Settings.Stop) > 0 {
		return nil, chat.Invalid("stop", "OpenAI's Responses API has no stop sequences; leave stop out, or set params.responses_api: disabled for this model")
	}
	b := &body{values: map[string]json.RawMessage{}}
	b.set("model", p.options.Model)
	b.set("stream", true)
	b.set("store", false)
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
	b.set("input", items)
	return b.render()
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
	b.set("tools", tools)
	choice, err := toolChoice(r.Choice, r.Form)
	if err != nil {
		return err
	}
	if choice != nil {
		b.set("tool_choice", choice)
	}
	if r.Settings.ParallelCalls != nil {
		b.set("parallel_tool_calls", *r.Settings.ParallelCalls)
	}
	return nil
}

func (b *body) settings(s chat.Settings) {
	if s.MaxTokens > 0 {
		b.set("max_output_tokens", s.MaxTokens)
	}
	if s.Temperature != nil {
		b.set("temperature", *s.Temperature)
	}
	if s.TopP != nil {
		b.set("top_p", *s.TopP)
	}
	if s.Effort != "" {
		b.set("reasoning", map[string]string{"effort": s.Effort})
	}
	if s.Format != nil {
		b.set("text", map[string]json.RawMessage{"format": flattenFormat(s.Format)})
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
		if raw, ok := r.Extra["verbosity"]; ok {
			b.add("text", slices.Concat(json.RawMessage(`{"verbosity":`), raw, json.RawMessage(`}`)))
		}
	}
	if _, ok := b.values["safety_identifier"]; !ok && r.Settings.User != "" {
		b.add("user", quote(r.Settings.User))
	}
}

// include requests encrypted reasoning, which can be sent back, in addition to what the
// client requests.
func (b *body) include() {
	const encrypted = "reasoning.encrypted_content"
	var include []string
	if raw, ok := b.values["include"]; ok && json.Unmarshal(raw, &include) != nil {
		return // the provider reports what is wrong
	}
	if !slices.Contains(include, encrypted) {
		include = append(include, encrypted)
	}
	b.set("include", include)
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

// quote encodes a string.
func quote(text string) json.RawMessage {
	raw, err := encode(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return raw
}
