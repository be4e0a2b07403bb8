package chattest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Request is a recorded request, with the fields that scripts need most.
type Request struct {
	N      int       // 1 is the first since Start
	Form   chat.Form // from the path
	Path   string    // including the query
	Header http.Header
	Body   []byte

	Model   string
	Stream  bool
	System  string            // all system text, joined by newlines
	User    string            // the last text of a user
	Tools   []string          // their names, in order
	Results map[string]string // results of calls: text by call id

	usage     bool // a stream of [chat.FormOpenAI] must have its usage
	encrypted bool // an answer of [chat.FormResponses] must have its reasoning
}

// Has reports whether the request offers the tool.
func (r Request) Has(tool string) bool { return slices.Contains(r.Tools, tool) }

// wireRequest has the fields of all three APIs.
type wireRequest struct {
	Model         string
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Include      []string
	System       content
	Instructions string
	Messages     []wireMessage
	Input        input
	Tools        []wireTool
}

type wireTool struct {
	Type, Name string
	Function   struct{ Name string }
	Tools      []wireTool // of a namespace
}

// wireMessage is a message, or an item of [chat.FormResponses].
type wireMessage struct {
	Role, Type string
	Content    content
	ToolCallID string  `json:"tool_call_id"`
	CallID     string  `json:"call_id"`
	Output     content // of a function_call_output
}

// content is text or a list of blocks.
type content []block

type block struct {
	Type, Text string
	ToolUseID  string  `json:"tool_use_id"`
	Content    content // of a tool_result
}

// UnmarshalJSON accepts everything: invalid requests are recorded as well.
func (c *content) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) == nil {
		*c = blocks
	}
	return nil
}

func (c content) text() string {
	var all strings.Builder
	for _, b := range c {
		all.WriteString(b.Text)
	}
	return all.String()
}

// input is text or a list of items.
type input []wireMessage

// UnmarshalJSON accepts both.
func (in *input) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*in = input{{Role: "user", Content: content{{Text: text}}}}
		return nil
	}
	var items []wireMessage
	if json.Unmarshal(raw, &items) == nil {
		*in = items
	}
	return nil
}

// decode sets the fields from the body. A body that is not JSON is ignored.
func (r *Request) decode() {
	var w wireRequest
	_ = json.Unmarshal(r.Body, &w)
	r.Model, r.Stream, r.usage = w.Model, w.Stream, w.StreamOptions.IncludeUsage
	r.encrypted = slices.Contains(w.Include, "reasoning.encrypted_content")
	r.system(w.System.text())
	r.system(w.Instructions)
	r.Results = map[string]string{}
	for _, m := range append(w.Messages, w.Input...) {
		r.message(m)
	}
	r.tools(w.Tools)
}

func (r *Request) tools(tools []wireTool) {
	for _, t := range tools {
		switch {
		case t.Function.Name != "":
			r.Tools = append(r.Tools, t.Function.Name)
		case t.Type == "namespace":
			r.tools(t.Tools)
		case t.Name != "":
			r.Tools = append(r.Tools, t.Name)
		default:
			r.Tools = append(r.Tools, t.Type)
		}
	}
}

func (r *Request) system(text string) {
	if r.System != "" && text != "" {
		r.System += "\n"
	}
	r.System += text
}

func (r *Request) message(m wireMessage) {
	switch {
	case m.Role == "system" || m.Role == "developer":
		r.system(m.Content.text())
	case m.Role == "tool":
		r.Results[m.ToolCallID] = m.Content.text()
	case m.Type == "function_call_output":
		r.Results[m.CallID] = m.Output.text()
	case m.Role == "user":
		r.user(m.Content)
	}
}

// user decodes a user message, which in [chat.FormAnthropic] has the results.
func (r *Request) user(c content) {
	if text := c.text(); text != "" {
		r.User = text
	}
	for _, b := range c {
		if b.Type == "tool_result" {
			r.Results[b.ToolUseID] = b.Content.text()
		}
	}
}
