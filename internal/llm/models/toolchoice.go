package models

import (
	"encoding/json"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
)

// parallelField are the names of the field that limits an answer to one call, by form, as
// in the tables of package translation. No provider takes it in a request without tools.
var parallelField = map[chat.Form]string{
	chat.FormOpenAI: "parallel_tool_calls", chat.FormResponses: "parallel_tool_calls",
	chat.FormAnthropic: "tool_choice[tool].disable_parallel_tool_use",
}

// withoutTools reports whether the model has nothing to call: no tool of the client, of its
// provider or of the runtime.
func withoutTools(r *chat.Request, offered []toolloop.Tool) bool {
	return len(r.Tools) == 0 && len(offered) == 0
}

// checkChoice rejects a tool choice that cannot be met: one that requires a call where there
// are no tools, which providers take for no choice, and one that names an unknown tool.
func checkChoice(r *chat.Request, offered []toolloop.Tool) error {
	c := r.Choice
	var named []string
	switch {
	case c.Mode == chat.ChoiceTool:
		named = []string{c.Name}
	case c.Allowed != nil:
		named = c.Allowed
	case withoutTools(r, offered) && (c.Mode == chat.ChoiceRequired || c.Mode == "" && c.Raw != nil):
		return chat.Invalid("tool_choice",
			"tool_choice requires a call, but neither the request nor the model has tools: leave it out, or send tools")
	}
	if c.Allowed != nil && len(c.Allowed) == 0 {
		return chat.Invalid("tool_choice", `tool_choice allows no tool: name one, or use "none"`)
	}
	names := callable(r, offered)
	for _, name := range named {
		if !slices.Contains(names, name) {
			return chat.Invalid("tool_choice", "tool_choice names %q, which is not a tool of the model%s",
				name, nearest.Clause(name, names))
		}
	}
	return nil
}

// callable returns the names of the tools of a chat, those that the provider hosts included
// where they have names.
func callable(r *chat.Request, offered []toolloop.Tool) []string {
	var names []string
	for _, t := range r.Tools {
		name := t.Name
		if t.Hosted() {
			var hosted struct{ Name string }
			_ = json.Unmarshal(t.Raw, &hosted) // one without a name cannot be chosen by it
			name = hosted.Name
		}
		if name != "" {
			names = append(names, name)
		}
	}
	for _, t := range offered {
		names = append(names, t.Name)
	}
	return names
}
