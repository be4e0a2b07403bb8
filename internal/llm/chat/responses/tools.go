package responses

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// parseTools decodes the client's tools. A namespace is listed as written, followed by
// each of the functions in it: a provider of this API gets the namespace, and calls of
// the model name the functions.
func parseTools(f *fields) []chat.Tool {
	var tools []chat.Tool
	for i, raw := range f.list("tools", chat.MaxTools) {
		o := object(at("tools", i), raw)
		switch kind := o.required("type"); {
		case o.err != nil:
		case kind == "function":
			tools = append(tools, parseFunction(o, "", raw))
		case kind == "namespace":
			tools = append(tools, chat.Tool{Raw: raw})
			tools = append(tools, parseNamespace(o)...)
		default:
			tools = append(tools, chat.Tool{Raw: raw})
		}
		f.also(o.err)
	}
	if len(tools) > chat.MaxTools {
		f.fail("tools", "tools has %d functions; at most %d", len(tools), chat.MaxTools)
	}
	return tools
}

func parseNamespace(o *fields) []chat.Tool {
	var tools []chat.Tool
	name := o.required("name")
	for i, raw := range o.list("tools", chat.MaxTools) {
		inner := object(at(o.path+"tools", i), raw)
		if inner.text("type") == "function" {
			tools = append(tools, parseFunction(inner, name, raw))
		}
		o.also(inner.err)
	}
	return tools
}

func parseFunction(o *fields, namespace string, raw json.RawMessage) chat.Tool {
	t := chat.Tool{Name: o.required("name"), Description: o.text("description"), Namespace: namespace, Raw: raw}
	o.read("strict", "true or false", &t.Strict)
	o.read("defer_loading", "true or false", &t.Deferred)
	if o.has("parameters") {
		parameters := object(o.path+"parameters", o.values["parameters"])
		o.also(parameters.err)
		t.Parameters = o.values["parameters"]
	}
	return t
}

// parseChoice decodes tool_choice: a string, a function, or an object specific to this
// API, which stays as written.
func parseChoice(f *fields) chat.Choice {
	const want = `"auto", "none", "required", or an object with a type`
	if !f.has("tool_choice") {
		return chat.Choice{}
	}
	raw := f.values["tool_choice"]
	if isString(raw) {
		mode := chat.ChoiceMode(f.text("tool_choice"))
		switch mode {
		case chat.ChoiceAuto, chat.ChoiceNone, chat.ChoiceRequired:
		default:
			f.fail("tool_choice", "tool_choice must be %s, got %q", want, mode)
		}
		return chat.Choice{Mode: mode}
	}
	o := object("tool_choice", raw)
	defer func() { f.also(o.err) }()
	if o.required("type") == "function" {
		return chat.Choice{Mode: chat.ChoiceTool, Name: o.required("name")}
	}
	return chat.Choice{Raw: raw}
}

// toolChoice returns a choice in this API; nil means the provider's default.
func toolChoice(c chat.Choice, form chat.Form) (any, error) {
	switch {
	case c.Raw != nil && form == chat.FormResponses:
		return c.Raw, nil
	case c.Raw != nil:
		return nil, chat.Invalid("tool_choice", `OpenAI's Responses API does not support this tool_choice; use "auto", "none", "required" or the name of one function`)
	case c.Mode == chat.ChoiceTool:
		return struct {
			Type string `json:"type"`
			Name string `json:"name"`
		}{"function", c.Name}, nil
	case c.Mode == "":
		return nil, nil
	}
	return c.Mode, nil
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
	f := function{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters, Deferred: deferred}
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
		s.searched = s.searched || t.Hosted() && hostedType(t.Raw) == "tool_search"
	case t.Hosted():
		return chat.Invalid("tools", "OpenAI's Responses API does not support tools of type %q; leave it out", hostedType(t.Raw))
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

// hostedType returns the type of a hosted tool.
func hostedType(raw json.RawMessage) string {
	var tool struct{ Type string }
	if json.Unmarshal(raw, &tool) != nil || tool.Type == "" {
		return "unknown"
	}
	return tool.Type
}
