package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// encode returns the body of a request. The order of fields is fixed, so that equal
// requests have equal bytes, and messages come last, so that the next turn of a chat
// has the same prefix.
func (p *provider) encode(r *chat.Request) ([]byte, error) {
	params, err := p.params(r)
	if err != nil {
		return nil, err
	}
	body := wire.Body{Fields: params}
	if body.Fields["messages"], err = encodeMessages(r); err != nil {
		return nil, err
	}
	if len(r.Tools) > 0 {
		if body.Fields["tools"], err = encodeTools(r); err != nil {
			return nil, err
		}
	}
	body.Set("model", p.options.Model)
	body.Set("stream", true)
	body.Set("stream_options", map[string]bool{"include_usage": true})
	return body.Render([]string{"model", "stream", "stream_options", "tools"}, "messages")
}

// owned are fields that encode writes itself. n must be 1.
var owned = []string{"model", "messages", "tools", "stream", "stream_options", "n", "functions", "function_call"}

// params are all other fields: those of the request override the defaults.
func (p *provider) params(r *chat.Request) (map[string]json.RawMessage, error) {
	params := map[string]json.RawMessage{}
	if r.Form == chat.FormOpenAI {
		maps.Copy(params, r.Extra)
	}
	limit := p.limitName(params)
	delete(params, "max_tokens")
	delete(params, "max_completion_tokens")
	if r.Settings.MaxTokens > 0 {
		params[limit] = strconv.AppendInt(nil, int64(r.Settings.MaxTokens), 10)
	}
	switch r.Form {
	case chat.FormAnthropic:
		tier(params, r)
	case chat.FormResponses:
		alike(params, r)
	}
	settings(params, r.Settings)
	if err := choice(params, r); err != nil {
		return nil, err
	}
	for name, value := range p.options.Defaults {
		if params[name] == nil && !(isLimit(name) && r.Settings.MaxTokens > 0) {
			params[name] = value
		}
	}
	if len(r.Tools) == 0 {
		// OpenAI rejects them without tools.
		delete(params, "tool_choice")
		delete(params, "parallel_tool_calls")
	}
	for _, name := range owned {
		delete(params, name)
	}
	return params, nil
}

func isLimit(name string) bool { return name == "max_tokens" || name == "max_completion_tokens" }

// limitName returns the name by which the client limits the tokens, as it may know its
// model better, else the provider's.
func (p *provider) limitName(extra map[string]json.RawMessage) string {
	for _, name := range []string{"max_completion_tokens", "max_tokens"} {
		if extra[name] != nil {
			return name
		}
	}
	return p.maxTokens
}

func settings(params map[string]json.RawMessage, s chat.Settings) {
	set := func(name string, given bool, value any) {
		if given {
			params[name], _ = tools.Encode(value)
		}
	}
	set("temperature", s.Temperature != nil, s.Temperature)
	set("top_p", s.TopP != nil, s.TopP)
	set("stop", len(s.Stop) > 0, s.Stop)
	set("parallel_tool_calls", s.ParallelCalls != nil, s.ParallelCalls)
	set("reasoning_effort", s.Effort != "", s.Effort)
	set("user", s.User != "" && params["safety_identifier"] == nil && params["user"] == nil, s.User)
	if s.Format != nil {
		params["response_format"] = s.Format
	}
}

// tier translates the one service tier of Anthropic's Messages that package translation
// lets through.
func tier(params map[string]json.RawMessage, r *chat.Request) {
	if string(r.Extra["service_tier"]) == `"standard_only"` {
		params["service_tier"] = json.RawMessage(`"default"`)
	}
}

// shared are the fields of the Responses API that this one has too.
var shared = []string{
	"moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"safety_identifier", "service_tier", "top_logprobs", "user",
}

// alike translates the fields of the Responses API that have no setting.
func alike(params map[string]json.RawMessage, r *chat.Request) {
	for _, name := range shared {
		if raw := r.Extra[name]; raw != nil && !wire.IsNull(raw) {
			params[name] = raw
		}
	}
	var text struct{ Verbosity json.RawMessage }
	if json.Unmarshal(r.Extra["text"], &text) == nil && text.Verbosity != nil {
		params["verbosity"] = text.Verbosity
	}
	var top int
	var include []string
	// else they are not for logprobs
	_, _ = json.Unmarshal(r.Extra["top_logprobs"], &top), json.Unmarshal(r.Extra["include"], &include)
	if top > 0 || slices.Contains(include, "message.output_text.logprobs") {
		params["logprobs"] = json.RawMessage("true")
	} else {
		delete(params, "top_logprobs")
	}
}

func choice(params map[string]json.RawMessage, r *chat.Request) error {
	c := r.Choice
	switch {
	case c.Raw != nil && r.Form == chat.FormOpenAI:
		params["tool_choice"] = c.Raw
	case c.Allowed != nil:
		var list []map[string]any
		for _, name := range c.Allowed {
			list = append(list, map[string]any{"type": "function", "function": map[string]string{"name": name}})
		}
		params["tool_choice"], _ = tools.Encode(map[string]any{
			"type":          "allowed_tools",
			"allowed_tools": map[string]any{"mode": c.Mode, "tools": list},
		})
	case c.Raw != nil:
		return chat.Invalid("tool_choice", "the model's provider does not support this tool choice: %s",
			truncate.Ellipsis(string(c.Raw), maxShown))
	case c.Mode == chat.ChoiceTool:
		params["tool_choice"] = json.RawMessage(`{"type":"function","function":{"name":` + string(wire.Quote(c.Name)) + `}}`)
	case c.Mode != "":
		params["tool_choice"] = wire.Quote(string(c.Mode))
	}
	return nil
}

// encodeTools encodes the tools in the given order; it depends on nothing else in the
// request.
func encodeTools(r *chat.Request) (json.RawMessage, error) {
	list := make([]json.RawMessage, 0, len(r.Tools))
	for i, tool := range r.Tools {
		switch {
		case tool.Raw != nil && r.Form == chat.FormOpenAI:
			list = append(list, tool.Raw)
		case tool.Hosted():
			return nil, chat.Invalid(fmt.Sprintf("tools[%d]", i), "the model's provider does not support tools of type %q",
				wire.TypeOf(tool.Raw))
		default:
			list = append(list, encodeTool(tool))
		}
	}
	return wire.Join(list), nil
}

func encodeTool(t chat.Tool) []byte {
	f := wire.Writer{}
	f.Value("name", t.Name)
	if text := t.Text(); text != "" {
		f.Value("description", text)
	}
	if t.Parameters == nil {
		t.Parameters = json.RawMessage(noParameters)
	}
	f.Raw("parameters", t.Parameters)
	if t.Strict != nil {
		f.Value("strict", *t.Strict)
	}
	o := wire.Writer{}
	o.Value("type", "function")
	o.Raw("function", f.End())
	return o.End()
}
