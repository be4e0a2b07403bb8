package anthropic

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// composer encodes the body of one request. Equal requests have equal bytes: the order
// of fields is fixed, and what spiced adds is canonical JSON. A client's own messages
// and tools stay as written.
type composer struct {
	provider *provider
	request  *chat.Request
	beta     string // for the header
	wire.Body
}

// leading are the first fields; the others follow by name.
var leading = []string{"model", "max_tokens", "tools", "tool_choice", "system", "messages"}

func (c *composer) body() (json.RawMessage, error) {
	c.Fields = maps.Clone(c.provider.defaults)
	if c.Fields == nil {
		c.Fields = map[string]json.RawMessage{}
	}
	c.settings()
	if c.own() {
		maps.Copy(c.Fields, c.request.Extra)
	}
	c.prompt()
	c.Set("model", c.provider.model)
	c.Set("stream", true)
	c.takeBeta()
	return c.Render(leading, "")
}

// own reports whether the client uses this API.
func (c *composer) own() bool { return c.request.Form == chat.FormAnthropic }

// settings sets the fields of the request's settings.
func (c *composer) settings() {
	s := c.request.Settings
	switch _, ok := c.Fields["max_tokens"]; {
	case s.MaxTokens > 0:
		c.Set("max_tokens", s.MaxTokens)
	case !ok:
		c.Set("max_tokens", c.provider.maxTokens)
	}
	if s.Temperature != nil {
		c.Set("temperature", c.temperature(*s.Temperature))
	}
	if s.TopP != nil {
		c.Set("top_p", *s.TopP)
	}
	if stop := c.stops(s.Stop); len(stop) > 0 {
		c.Set("stop_sequences", stop)
	}
	if s.User != "" {
		c.Set("metadata", map[string]string{"user_id": s.User})
	}
	switch tier, ok := c.request.Extra["service_tier"]; {
	case !ok || c.own():
	case string(tier) == `"auto"`:
		c.Set("service_tier", "auto")
	default: // the only other one that package translation lets through
		c.Set("service_tier", "standard_only")
	}
	c.config(s)
}

// temperature is at most 1 in this API, and at most 2 in others; it is capped as in
// Anthropic's OpenAI compatibility endpoint:
// https://platform.claude.com/docs/en/api/openai-sdk.
func (c *composer) temperature(t float64) float64 {
	if c.own() {
		return t
	}
	return min(t, 1)
}

// stops returns the stop sequences. The API rejects those of white space.
func (c *composer) stops(list []string) []string {
	for _, s := range list {
		if !c.own() && strings.TrimSpace(s) == "" {
			c.Fail(chat.Invalid("stop", "stop has %q: Anthropic's Messages requires a character that is not white space", s))
		}
	}
	return list
}

// config sets output_config, which replaces the model's default as a whole. OpenAI's
// effort "none" disables thinking; its format "json_object" is not supported.
func (c *composer) config(s chat.Settings) {
	var config outputConfig
	switch s.Effort {
	case "none":
		c.Set("thinking", map[string]string{"type": "disabled"})
	case "minimal":
		config.Effort = "low"
	default:
		config.Effort = s.Effort
	}
	var format responseFormat
	if json.Unmarshal(s.Format, &format) == nil && format.Type == "json_schema" && wire.IsObject(format.Schema.Schema) {
		config.Format = &outputFormat{Type: "json_schema", Schema: c.canonical(format.Schema.Schema)}
	}
	if config != (outputConfig{}) {
		c.Set("output_config", config)
	}
}

func (c *composer) canonical(raw json.RawMessage) json.RawMessage {
	canonical, err := tools.Canonical(raw)
	c.Fail(err)
	return canonical
}

// prompt sets tools, system and messages, with the cache marks.
func (c *composer) prompt() {
	list := c.tools()
	p := &prompt{writer: writer{known: c.names()}}
	c.Fail(p.add(c.request.Messages))
	if c.provider.cache {
		c.mark(list, p.system)
	}
	if len(list) > 0 {
		c.Fields["tools"] = wire.Join(list)
		c.choice()
	}
	if len(p.system) > 0 {
		c.Fields["system"] = wire.Join(p.system)
	}
	messages := p.messages()
	if len(messages) == 0 {
		c.Fail(chat.Invalid("messages",
			"messages have nothing for the model to answer: Anthropic's Messages requires a message of the user or "+
				"the assistant "+
				"that is not empty"))
	}
	c.Fields["messages"] = wire.Join(messages)
}

// choiceForm is a tool_choice.
type choiceForm struct {
	Type     string `json:"type"`
	Name     string `json:"name,omitempty"`
	Disabled bool   `json:"disable_parallel_tool_use,omitempty"`
}

// choice sets tool_choice, which the API accepts only with tools.
func (c *composer) choice() {
	s := c.request.Choice
	switch {
	case c.own() && s.Raw != nil:
		c.Fields["tool_choice"] = s.Raw
		return
	case s.Raw != nil && s.Allowed == nil:
		c.Fail(chat.Invalid("tool_choice",
			"the model's provider does not support this tool_choice; use auto, none, required or the name of a tool"))
	}
	form := choiceForm{Disabled: c.request.Settings.ParallelCalls != nil && !*c.request.Settings.ParallelCalls}
	switch s.Mode {
	case chat.ChoiceAuto:
		form.Type = "auto"
	case chat.ChoiceRequired:
		form.Type = "any"
	case chat.ChoiceTool:
		form.Type, form.Name = "tool", s.Name
	case chat.ChoiceNone:
		form = choiceForm{Type: "none"}
	default:
		if !form.Disabled {
			return
		}
		form.Type = "auto"
	}
	c.Set("tool_choice", form)
}

// takeBeta moves the names of beta features to the header.
func (c *composer) takeBeta() {
	var names []string
	if raw, ok := c.Fields[BetaField]; ok && json.Unmarshal(raw, &names) != nil {
		c.Fail(invalid(BetaField, "must be a list of strings"))
	}
	delete(c.Fields, BetaField)
	c.beta = strings.Join(names, ",")
}
