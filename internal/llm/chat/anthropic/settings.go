package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

func parseTools(r *chat.Request, f fields) error {
	list, err := optional[[]json.RawMessage](f, "", "tools", "a list")
	if err != nil {
		return err
	}
	if len(list) > chat.MaxTools {
		return invalid("tools", "has %d tools; the limit is %d", len(list), chat.MaxTools)
	}
	delete(f, "tools")
	taken := map[string]int{}
	for i, raw := range list {
		path := fmt.Sprintf("tools.%d", i)
		t, err := parseTool(raw, path)
		if err != nil {
			return err
		}
		if first, ok := taken[t.Name]; ok && t.Name != "" {
			return invalid(path+".name", "%q is already the name of tools.%d", t.Name, first)
		}
		taken[t.Name] = i
		r.Tools = append(r.Tools, t)
	}
	return nil
}

// parseTool decodes a tool. One with a type is hosted by Anthropic: web search, an
// editor.
func parseTool(raw json.RawMessage, path string) (chat.Tool, error) {
	t := chat.Tool{Raw: raw}
	f, err := objectAt(raw, path)
	if err != nil {
		return t, err
	}
	kind, err := optional[string](f, path, "type", "a string")
	if err != nil || (kind != "" && kind != "custom") {
		return t, err
	}
	if t.Name, err = name(f, path, "name"); err != nil {
		return t, err
	}
	if t.Description, err = optional[string](f, path, "description", "a string"); err != nil {
		return t, err
	}
	if t.Strict, err = optional[*bool](f, path, "strict", "true or false"); err != nil {
		return t, err
	}
	if t.Deferred, err = optional[bool](f, path, "defer_loading", "true or false"); err != nil {
		return t, err
	}
	if t.Parameters = f["input_schema"]; !isObject(t.Parameters) {
		return t, invalid(path+".input_schema", "is required: a JSON schema of an object")
	}
	return t, nil
}

// choices are the types of tool_choice.
var choices = map[string]chat.ChoiceMode{
	"auto": chat.ChoiceAuto, "any": chat.ChoiceRequired, "tool": chat.ChoiceTool, "none": chat.ChoiceNone,
}

func parseChoice(r *chat.Request, f fields) error {
	raw, ok := f["tool_choice"]
	delete(f, "tool_choice")
	if !ok || string(raw) == "null" {
		return nil
	}
	c, err := objectAt(raw, "tool_choice")
	if err != nil {
		return err
	}
	kind, err := name(c, "tool_choice", "type")
	if err != nil {
		return err
	}
	if r.Choice.Mode, ok = choices[kind]; !ok {
		return invalid("tool_choice.type", `must be "auto", "any", "tool" or "none", got %q`, kind)
	}
	if r.Choice.Mode == chat.ChoiceTool {
		if r.Choice.Name, err = name(c, "tool_choice", "name"); err != nil {
			return err
		}
	}
	disabled, err := optional[*bool](c, "tool_choice", "disable_parallel_tool_use", "true or false")
	if disabled != nil {
		parallel := !*disabled
		r.Settings.ParallelCalls = &parallel
	}
	return err
}

// parseSettings decodes the settings that every provider has. A max_tokens of 0, which
// fills the provider's cache without an answer, is specific to Anthropic and stays in
// Extra.
func parseSettings(r *chat.Request, f fields) (err error) {
	s := &r.Settings
	if s.MaxTokens, err = required[int](f, "", "max_tokens", "an integer"); err != nil {
		return err
	}
	if s.MaxTokens < 0 {
		return invalid("max_tokens", "must not be negative")
	}
	if s.Temperature, err = optional[*float64](f, "", "temperature", "a number"); err != nil {
		return err
	}
	if s.TopP, err = optional[*float64](f, "", "top_p", "a number"); err != nil {
		return err
	}
	if s.Stop, err = optional[[]string](f, "", "stop_sequences", "a list of strings"); err != nil {
		return err
	}
	if s.MaxTokens > 0 {
		delete(f, "max_tokens")
	}
	for _, name := range []string{"temperature", "top_p", "stop_sequences"} {
		delete(f, name)
	}
	return nil
}

// parseConfig decodes what other providers can use of the fields that stay in Extra.
func parseConfig(r *chat.Request, f fields) error {
	metadata, err := optional[struct {
		UserID *string `json:"user_id"`
	}](f, "", "metadata", "an object whose user_id is a string")
	if err != nil {
		return err
	}
	if metadata.UserID != nil {
		r.Settings.User = *metadata.UserID
	}
	config, err := optional[outputConfig](f, "", "output_config", "an object with effort and format")
	if err != nil {
		return err
	}
	r.Settings.Effort = config.Effort
	if config.Format != nil && config.Format.Type == "json_schema" {
		r.Settings.Format, err = openFormat(config.Format.Schema)
	}
	return err
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

// openFormat returns OpenAI's response_format for a schema; it requires a name.
func openFormat(schema json.RawMessage) (json.RawMessage, error) {
	if !isObject(schema) {
		return nil, invalid("output_config.format.schema", "must be an object")
	}
	return encode(responseFormat{Type: "json_schema", Schema: jsonSchema{Name: "answer", Schema: schema, Strict: true}})
}
