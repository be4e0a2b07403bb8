package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// names returns the tools that a search may find.
func (c *composer) names() map[string]bool {
	names := map[string]bool{}
	for _, t := range c.request.Tools {
		names[t.Name] = t.Name != ""
	}
	return names
}

// rendered caches the tools of a request as JSON: the model's next request usually has
// the same tools.
type rendered struct {
	own   bool
	tools []chat.Tool
	forms []json.RawMessage
}

// tools returns the tools as JSON, in a list that the caller may modify.
func (c *composer) tools() []json.RawMessage {
	now := &rendered{own: c.own(), tools: c.request.Tools}
	if last := c.provider.rendered.Load(); last != nil && last.own == now.own &&
		slices.EqualFunc(last.tools, now.tools, sameTool) {
		return slices.Clone(last.forms)
	}
	size := 0
	for _, t := range now.tools {
		form := c.tool(t)
		now.forms = append(now.forms, form)
		size += len(form)
	}
	if c.Err == nil && size <= maxRendered {
		now.tools = slices.Clone(now.tools)
		c.provider.rendered.Store(now)
	}
	return slices.Clone(now.forms)
}

// allowed returns the request with the tools that its choice allows: the API has no choice
// among some of the tools that are sent.
func allowed(r *chat.Request) *chat.Request {
	if r.Choice.Allowed == nil {
		return r
	}
	r = r.Clone()
	r.Tools = slices.DeleteFunc(r.Tools, func(t chat.Tool) bool { return !r.Choice.Allows(t.Name) })
	return r
}

func sameTool(a, b chat.Tool) bool {
	return a.Name == b.Name && a.Text() == b.Text() && a.Deferred == b.Deferred &&
		bytes.Equal(a.Parameters, b.Parameters) && bytes.Equal(a.Raw, b.Raw) &&
		(a.Strict == b.Strict || a.Strict != nil && b.Strict != nil && *a.Strict == *b.Strict)
}

// toolForm is a tool, with fields in the order of the body.
type toolForm struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	// Examples: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
	Examples []json.RawMessage `json:"input_examples,omitempty"`
	Strict   *bool             `json:"strict,omitempty"`
	Deferred bool              `json:"defer_loading,omitempty"`
}

func (c *composer) tool(t chat.Tool) json.RawMessage {
	if c.own() && t.Raw != nil {
		return t.Raw
	}
	if t.Hosted() {
		c.Fail(chat.Invalid("tools", "the model's provider does not support tools of type %q", wire.TypeOf(t.Raw)))
		return nil
	}
	form := toolForm{Name: t.Name, Description: t.Text(), InputSchema: c.schema(t), Strict: t.Strict, Deferred: t.Deferred}
	if c.provider.examples && len(t.Examples) > 0 {
		form.Description = t.Description
		for _, e := range t.Examples {
			form.Examples = append(form.Examples, e.Arguments)
		}
	}
	raw, err := tools.Encode(form)
	if err != nil {
		c.Fail(fmt.Errorf("encode the tool %q: %w", t.Name, err))
	}
	return raw
}

// schema returns the schema of a tool's parameters, which must have type object.
// Schemas of a client's tools are made canonical; those of the catalog are already.
func (c *composer) schema(t chat.Tool) json.RawMessage {
	raw := t.Parameters
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{"properties":{},"type":"object"}`)
	}
	var typed struct{ Type json.RawMessage }
	if json.Unmarshal(raw, &typed) == nil && typed.Type == nil {
		raw = withField(raw, `"type":"object"`)
	}
	if t.Raw == nil {
		return raw
	}
	return c.canonical(raw)
}
