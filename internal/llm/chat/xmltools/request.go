package xmltools

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

const (
	callTag     = "<tool_call>"
	callEnd     = "</tool_call>"
	responseEnd = "</tool_response>"
)

// inWords returns the request for a model without tools, and the tools that it may
// call.
func inWords(r *chat.Request) (*chat.Request, []chat.Tool) {
	described, hosted := shown(r)
	if len(described) == 0 && !slices.ContainsFunc(r.Messages, speaksOfCalls) {
		return r, nil
	}
	c := r.Clone()
	c.Tools, c.Messages = hosted, history(r.Messages)
	if len(described) > 0 {
		c.Messages = withSystem(c.Messages, instructions(described, r.Choice, r.Settings.ParallelCalls))
		c.Choice, c.Settings.ParallelCalls = chat.Choice{}, nil
	}
	return c, described
}

// shown splits the tools that the choice allows into those described as text and those
// hosted by the provider.
// Deferred tools are described once a search has found them.
func shown(r *chat.Request) (described, hosted []chat.Tool) {
	found := map[string]bool{}
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.Kind == chat.PartResult {
				for _, name := range p.Result.Found {
					found[name] = true
				}
			}
		}
	}
	for _, t := range r.Tools {
		switch {
		case t.Hosted():
			hosted = append(hosted, t)
		case r.Choice.Allows(t.Name) && (!t.Deferred || found[t.Name]):
			described = append(described, t)
		}
	}
	return described, hosted
}

// instructions describes the tools and how to call them.
func instructions(list []chat.Tool, choice chat.Choice, parallel *bool) string {
	definitions := make([]*tools.Definition, len(list))
	for i, t := range list {
		definitions[i] = &tools.Definition{Name: t.Name, Description: t.Text(), Parameters: t.Parameters}
	}
	var b strings.Builder
	b.WriteString("You can call these tools:\n\n")
	_ = tools.WriteXML(&b, definitions) // writing to a Builder cannot fail
	b.WriteString(howToCall)
	if parallel == nil || *parallel {
		b.WriteString("- Several calls are several <tool_call> blocks, one after the other.\n")
	} else {
		b.WriteString("- Call at most one tool in an answer.\n")
	}
	b.WriteString(inChoice(choice))
	return b.String()
}

const howToCall = `
To call a tool, write the call as JSON between these tags:

<tool_call>
{"name": "the tool's name", "arguments": {"parameter": "value"}}
</tool_call>

- "arguments" is one JSON object with the parameters of the tool.
- A call in a code block is not carried out.
- Write nothing after your calls: the next message has the results, each in <tool_response name="…">.
- When no tool is needed, answer without these tags.
`

// inChoice describes the tool choice.
func inChoice(c chat.Choice) string {
	switch c.Mode {
	case chat.ChoiceNone:
		return "- Do not call a tool in this answer.\n"
	case chat.ChoiceRequired:
		return "- This answer must call at least one tool.\n"
	case chat.ChoiceTool:
		return fmt.Sprintf("- This answer must call the tool %s.\n", c.Name)
	}
	return ""
}

// withSystem appends text to the first system message, or inserts one at the front.
func withSystem(messages []chat.Message, text string) []chat.Message {
	at := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role == chat.RoleSystem })
	if at < 0 {
		return slices.Insert(messages, 0, chat.Text(chat.RoleSystem, text))
	}
	if !plainText(messages[at]) {
		parts := append(slices.Clone(messages[at].Parts), chat.Part{Kind: chat.PartText, Text: text})
		messages[at] = chat.Message{Role: chat.RoleSystem, Parts: parts}
		return messages
	}
	messages[at] = chat.Text(chat.RoleSystem, strings.TrimLeft(messages[at].Text()+"\n\n"+text, "\n"))
	return messages
}

// plainText reports whether a message consists of text only: many servers accept the
// text of a message only as a string.
func plainText(m chat.Message) bool {
	return !slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind != chat.PartText || p.Raw != nil })
}

func speaksOfCalls(m chat.Message) bool {
	return m.Role == chat.RoleTool || slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
		return p.Kind == chat.PartCall || p.Kind == chat.PartResult
	})
}

// history returns a copy of the messages with calls and results as text. Consecutive
// results become one user message.
func history(messages []chat.Message) []chat.Message {
	names := map[string]string{} // of tools, by call id
	var out []chat.Message
	results := false // the last message of out has results
	for _, m := range messages {
		for _, c := range m.Calls() {
			names[c.ID] = c.Name
		}
		if !speaksOfCalls(m) {
			out, results = append(out, m), false
			continue
		}
		text := inText(m, names)
		if results && m.Role == chat.RoleTool {
			last := &out[len(out)-1]
			last.Parts = joined(append(last.Parts, text.Parts...))
			continue
		}
		out, results = append(out, text), m.Role == chat.RoleTool
	}
	return out
}

// inText returns a message with calls and results as text.
func inText(m chat.Message, names map[string]string) chat.Message {
	out := chat.Message{Role: m.Role}
	if m.Role == chat.RoleTool {
		out.Role = chat.RoleUser
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case chat.PartCall:
			out.Parts = append(out.Parts, chat.Part{Kind: chat.PartText, Text: callText(p.Call)})
		case chat.PartResult:
			out.Parts = append(out.Parts, resultParts(p.Result, names[p.Result.ID])...)
		default:
			out.Parts = append(out.Parts, p)
		}
	}
	out.Parts = joined(out.Parts)
	return out
}

// joined merges consecutive texts into one part, one line each.
func joined(parts []chat.Part) []chat.Part {
	var out []chat.Part
	for _, p := range parts {
		last := len(out) - 1
		if last >= 0 && out[last].Kind == chat.PartText && out[last].Text == "" && out[last].Raw == nil {
			out[last] = p
			continue
		}
		if last < 0 || p.Kind != chat.PartText || out[last].Kind != chat.PartText || p.Raw != nil || out[last].Raw != nil {
			out = append(out, p)
			continue
		}
		out[last].Text = strings.TrimRight(out[last].Text, "\n") + "\n" + p.Text
	}
	return out
}

// callText returns a call as the model writes it. Arguments that are not JSON become a
// string.
func callText(c *chat.Call) string {
	arguments := strings.TrimSpace(c.Arguments)
	switch {
	case arguments == "":
		arguments = "{}"
	case !json.Valid([]byte(arguments)):
		arguments = string(wire.Quote(arguments))
	}
	return callTag + "\n{\"name\": " + string(wire.Quote(c.Name)) + ", \"arguments\": " + arguments + "}\n" + callEnd
}

// resultParts returns a result as text, followed by its images. A result cannot close
// its own tag.
func resultParts(r *chat.CallResult, name string) []chat.Part {
	if r.Name != "" {
		name = r.Name
	}
	var b strings.Builder
	b.WriteString("<tool_response")
	if name != "" {
		b.WriteString(` name="`)
		_ = xml.EscapeText(&b, []byte(name))
		b.WriteByte('"')
	}
	if r.Error {
		b.WriteString(` error="true"`)
	}
	b.WriteString(">\n" + strings.ReplaceAll(r.Text(), responseEnd, `<\/tool_response>`) + "\n" + responseEnd)
	parts := []chat.Part{{Kind: chat.PartText, Text: b.String()}}
	for _, p := range r.Parts {
		if p.Kind == chat.PartImage {
			parts = append(parts, p)
		}
	}
	return parts
}
