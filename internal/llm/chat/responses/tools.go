package responses

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// parseTools decodes the client's tools. A namespace is listed as written, followed by
// each of the functions in it: a provider of this API gets the namespace, and calls of
// the model name the functions.
func parseTools(o *wire.Object) []chat.Tool {
	var list []chat.Tool
	for _, tool := range o.Objects("tools", "tools", chat.MaxTools) {
		switch tool.Required("type") {
		case "function":
			list = append(list, parseFunction(tool, ""))
		case "namespace":
			list = append(list, chat.Tool{Raw: tool.Raw})
			name := tool.Required("name")
			for _, inner := range tool.Objects("tools", "tools", chat.MaxTools) {
				if inner.Text("type") == "function" {
					list = append(list, parseFunction(inner, name))
				}
			}
		default:
			list = append(list, chat.Tool{Raw: tool.Raw})
		}
	}
	if len(list) > chat.MaxTools {
		o.Fail("tools", "has %d functions; at most %d", len(list), chat.MaxTools)
	}
	return list
}

func parseFunction(o *wire.Object, namespace string) chat.Tool {
	t := chat.Tool{Name: o.Required("name"), Description: o.Text("description"), Namespace: namespace, Raw: o.Raw}
	o.Read("strict", wire.Bool, &t.Strict)
	o.Read("defer_loading", wire.Bool, &t.Deferred)
	if o.Has("parameters") {
		t.Parameters = o.Object("parameters").Raw
	}
	return t
}

// parseChoice decodes tool_choice: a string, a function, or an object specific to this
// API, which stays as written.
func (r *Request) parseChoice(o *wire.Object) {
	inner := &wire.Object{}
	if !o.Is("tool_choice") {
		inner = o.Object("tool_choice")
	}
	switch c := &r.Choice; {
	case !o.Has("tool_choice"):
	case o.Is("tool_choice"):
		switch c.Mode = chat.ChoiceMode(o.Text("tool_choice")); c.Mode {
		case chat.ChoiceAuto, chat.ChoiceNone, chat.ChoiceRequired:
		default:
			o.Fail("tool_choice", `must be "auto", "none", "required", or an object with a type, got %q`, c.Mode)
		}
	case inner.Required("type") == "function":
		inner.Only("type", "name")
		c.Mode, c.Name = chat.ChoiceTool, inner.Required("name")
	default:
		c.Raw = inner.Raw
		if inner.Text("type") == "allowed_tools" {
			r.parseAllowed(inner)
		}
	}
}

// parseAllowed decodes a choice among some of the tools. Those that are no functions are
// for a provider of this API only.
func (r *Request) parseAllowed(o *wire.Object) {
	switch r.Choice.Mode = chat.ChoiceMode(o.Required("mode")); r.Choice.Mode {
	case chat.ChoiceAuto, chat.ChoiceRequired:
	default:
		o.Fail("mode", "must be auto or required, got %q", r.Choice.Mode)
	}
	allowed := []string{}
	for _, tool := range o.Objects("tools", "tools", chat.MaxTools) {
		if tool.Required("type") != "function" {
			r.Uses = append(r.Uses, translation.Note("tool_choice[*]", tool.Path("")))
			return
		}
		allowed = append(allowed, tool.Required("name"))
	}
	r.Choice.Allowed = allowed
}

// toolChoice returns a choice in this API; nil means the provider's default.
func toolChoice(c chat.Choice, form chat.Form) (any, error) {
	switch {
	case c.Raw != nil && form == chat.FormResponses:
		return c.Raw, nil
	case c.Allowed != nil:
		choice := allowedTools{"allowed_tools", c.Mode, []namedTool{}}
		for _, name := range c.Allowed {
			choice.Tools = append(choice.Tools, namedTool{"function", name})
		}
		return choice, nil
	case c.Raw != nil:
		return nil, chat.Invalid("tool_choice",
			`OpenAI's Responses API does not support this tool_choice; use "auto", "none", "required" or the name of one function`)
	case c.Mode == chat.ChoiceTool:
		return namedTool{"function", c.Name}, nil
	case c.Mode == "":
		return nil, nil
	}
	return c.Mode, nil
}

// namedTool is a choice of a function.
type namedTool struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// allowedTools is a choice among some of the tools.
type allowedTools struct {
	Type  string          `json:"type"`
	Mode  chat.ChoiceMode `json:"mode"`
	Tools []namedTool     `json:"tools"`
}

// function is a tool of type function; fields are in the order in which they are sent.
type function struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
	Deferred    bool            `json:"defer_loading,omitempty"`
}

// namespace is a tool of type namespace.
type namespace struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Tools       []any  `json:"tools"`
}

// search is the provider's search for deferred tools.
type search struct {
	Type string `json:"type"`
}

// newFunction always sets strict: without it the API treats a tool as strict if its
// schema allows.
func newFunction(t chat.Tool, deferred bool) function {
	f := function{Type: "function", Name: t.Name, Description: t.Text(), Parameters: t.Parameters, Deferred: deferred}
	if len(f.Parameters) == 0 {
		f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	f.Strict = t.Strict != nil && *t.Strict
	return f
}

// toolset builds the list of tools of a request.
type toolset struct {
	form         chat.Form
	native       bool // deferred tools are sent with defer_loading
	descriptions map[string]string

	tools    []any
	spaces   map[string]*namespace // ours, by name
	searched bool                  // the client sent the search
	deferred bool                  // one of the runtime's tools is deferred
}

// encode preserves the order of the tools. Our namespaces come where their first
// tool is, the search last.
func (s *toolset) encode(tools []chat.Tool) ([]any, error) {
	s.spaces = map[string]*namespace{}
	for _, t := range tools {
		if err := s.add(t); err != nil {
			return nil, err
		}
	}
	if s.deferred && !s.searched {
		s.tools = append(s.tools, search{"tool_search"})
	}
	return s.tools, nil
}

func (s *toolset) add(t chat.Tool) error {
	switch {
	case t.Raw != nil && s.form == chat.FormResponses:
		if t.Namespace == "" { // else it is sent in its namespace
			s.tools = append(s.tools, t.Raw)
		}
		s.searched = s.searched || t.Hosted() && wire.TypeOf(t.Raw) == "tool_search"
	case t.Hosted():
		return chat.Invalid("tools", "OpenAI's Responses API does not support tools of type %q; leave it out",
			wire.TypeOf(t.Raw))
	case !s.native || !t.Deferred:
		s.tools = append(s.tools, newFunction(t, false))
	default:
		s.deferred = true
		s.deferTool(t)
	}
	return nil
}

func (s *toolset) deferTool(t chat.Tool) {
	if t.Namespace == "" {
		s.tools = append(s.tools, newFunction(t, true))
		return
	}
	space := s.spaces[t.Namespace]
	if space == nil {
		description := s.descriptions[t.Namespace]
		if description == "" {
			description = "Tools of " + t.Namespace + "."
		}
		space = &namespace{Type: "namespace", Name: t.Namespace, Description: description}
		s.spaces[t.Namespace] = space
		s.tools = append(s.tools, space)
	}
	space.Tools = append(space.Tools, newFunction(t, true))
}
