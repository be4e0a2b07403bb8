package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

func parseTools(r *chat.Request, o *wire.Object) {
	taken := map[string]string{}
	for _, tool := range o.Objects("tools", "tools", chat.MaxTools) {
		t := parseTool(tool)
		if first, ok := taken[t.Name]; ok && t.Name != "" {
			tool.Fail("name", "%q is already the name of %s", t.Name, first)
		}
		taken[t.Name] = tool.Path("")
		r.Tools = append(r.Tools, t)
	}
}

// parseTool decodes a tool. One with a type is hosted by Anthropic: web search, an
// editor.
func parseTool(o *wire.Object) chat.Tool {
	t := chat.Tool{Raw: o.Raw}
	if kind := o.Text("type"); kind != "" && kind != "custom" {
		return t
	}
	t.Name, t.Description, t.Parameters = o.Required("name"), o.Text("description"), o.Fields["input_schema"]
	o.Read("strict", wire.Bool, &t.Strict)
	o.Read("defer_loading", wire.Bool, &t.Deferred)
	if examples := o.Fields["input_examples"]; o.Has("input_examples") { // providers of this API get Raw
		t.Description = strings.TrimSpace(t.Description + "\n\nExamples of arguments: " + string(examples))
	}
	if !wire.IsObject(t.Parameters) {
		o.Fail("input_schema", "is required: a JSON schema of an object")
	}
	return t
}

// choices are the types of tool_choice.
var choices = map[string]chat.ChoiceMode{
	"auto": chat.ChoiceAuto, "any": chat.ChoiceRequired, "tool": chat.ChoiceTool, "none": chat.ChoiceNone,
}

func parseChoice(r *chat.Request, o *wire.Object) {
	if !o.Has("tool_choice") {
		return
	}
	c := o.Object("tool_choice")
	c.Only("type", "name", "disable_parallel_tool_use")
	kind := c.Required("type")
	r.Choice.Mode = choices[kind]
	if c.Has("name") && r.Choice.Mode != "" && r.Choice.Mode != chat.ChoiceTool {
		c.Fail("name", `is of the type "tool", not %q`, kind)
	}
	switch r.Choice.Mode {
	case "":
		c.Fail("type", `must be "auto", "any", "tool" or "none", got %q`, kind)
	case chat.ChoiceTool:
		r.Choice.Name = c.Required("name")
	}
	var disabled *bool
	if c.Read("disable_parallel_tool_use", wire.Bool, &disabled); disabled != nil {
		parallel := !*disabled
		r.Settings.ParallelCalls = &parallel
	}
}

// parseSettings decodes the settings that every provider has. A max_tokens of 0, which
// fills the provider's cache without an answer, is specific to Anthropic and stays in
// Extra.
func parseSettings(r *chat.Request, o *wire.Object) {
	s := &r.Settings
	o.Need("max_tokens", wire.Integer)
	if o.Read("max_tokens", wire.Integer, &s.MaxTokens); s.MaxTokens < 0 {
		o.Fail("max_tokens", "must not be negative")
	}
	if s.MaxTokens > 0 {
		delete(o.Fields, "max_tokens")
	} else {
		r.Uses = append(r.Uses, translation.Note("max_tokens[0]", "max_tokens"))
	}
	o.Read("temperature", wire.Number, &s.Temperature)
	o.Read("top_p", wire.Number, &s.TopP)
	o.Read("stop_sequences", "a list of strings", &s.Stop)
}

// parseConfig decodes what other providers can use of the fields that stay in Extra.
func parseConfig(r *chat.Request, o *wire.Object) {
	r.Settings.User = wire.ID(o.Object("metadata").Text("user_id"))
	var config outputConfig
	o.Read("output_config", "an object with effort and format", &config)
	r.Settings.Effort = config.Effort
	place := "output_config.format"
	if config.Format == nil { // the name it had before
		place = "output_format"
		o.Read(place, "an object with type and schema", &config.Format)
	}
	switch {
	case config.Format == nil:
		return
	case config.Format.Type != "json_schema":
		r.Uses = append(r.Uses, chat.Use{Path: place + ".type"})
		return
	case !wire.IsObject(config.Format.Schema):
		o.Fail(place+".schema", "must be an object")
		return
	}
	// OpenAI's response_format requires a name.
	r.Settings.Format, _ = tools.Encode(responseFormat{
		Type:   "json_schema",
		Schema: jsonSchema{Name: "answer", Schema: config.Format.Schema, Strict: true},
	})
}

// outputConfig has the effort of the model and the format of the answer.
type outputConfig struct {
	Effort string        `json:"effort,omitempty"` // low, medium, high, xhigh, max
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// responseFormat is OpenAI's response_format.
type responseFormat struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
}
