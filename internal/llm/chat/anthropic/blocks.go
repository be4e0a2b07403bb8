package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// block is a content block, of a request or of an answer, with the fields that
// have a meaning here.
type block struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	Citations json.RawMessage `json:"citations,omitempty"`
}

// source is where an image comes from.
type source struct {
	Type      string `json:"type"` // base64, url, file
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// writer makes blocks of parts, for a request.
type writer struct {
	known map[string]bool // the request's tools, by name
}

// part is a part as a block, or nil when this form has none for it: the API
// refuses empty text, and thinking that it has not signed.
func (w *writer) part(p chat.Part) (json.RawMessage, error) {
	if raw := ownRaw(p); raw != nil {
		return raw, nil
	}
	switch p.Kind {
	case chat.PartText, chat.PartRefusal:
		if strings.TrimSpace(p.Text) == "" {
			return nil, nil
		}
		return encode(block{Type: "text", Text: &p.Text})
	case chat.PartImage:
		return encode(block{Type: "image", Source: sourceOf(*p.Image)})
	case chat.PartCall:
		return encode(callBlock(*p.Call))
	case chat.PartResult:
		return w.result(p.Result)
	}
	return nil, nil
}

// parts are the blocks of parts.
func (w *writer) parts(parts []chat.Part) ([]json.RawMessage, error) {
	var blocks []json.RawMessage
	for _, p := range parts {
		raw, err := w.part(p)
		if err != nil {
			return nil, err
		}
		if raw != nil {
			blocks = append(blocks, raw)
		}
	}
	return blocks, nil
}

// ownRaw is the part as it was written, if that still says the same.
func ownRaw(p chat.Part) json.RawMessage {
	if p.Form != chat.FormAnthropic || p.Raw == nil {
		return nil
	}
	if p.Kind == chat.PartCall {
		var b block
		if json.Unmarshal(p.Raw, &b) != nil || b.ID != p.Call.ID || b.Name != p.Call.Name || string(b.Input) != p.Call.Arguments {
			return nil
		}
	}
	return p.Raw
}

// callBlock is a call; arguments that are no object leave as {}, the result of
// the call says what was wrong with them.
func callBlock(c chat.Call) block {
	input := json.RawMessage(c.Arguments)
	if !isObject(input) {
		input = json.RawMessage("{}")
	}
	return block{Type: "tool_use", ID: identifier(c.ID), Name: identifier(c.Name), Input: input}
}

// result is the result of a call. What a search has found stands alone: the API
// does not mix references with text, and refuses one to a tool that the request
// does not have.
func (w *writer) result(r *chat.CallResult) (json.RawMessage, error) {
	content, err := w.parts(r.Parts)
	if err != nil {
		return nil, err
	}
	if found := w.references(r.Found); len(found) > 0 && !r.Error {
		content = found
	}
	b := block{Type: "tool_result", ToolUseID: identifier(r.ID), IsError: r.Error}
	if len(content) > 0 {
		b.Content = join(content)
	}
	return encode(b)
}

func (w *writer) references(names []string) []json.RawMessage {
	var found []json.RawMessage
	for _, name := range names {
		if !w.known[name] {
			continue
		}
		if raw, err := encode(block{Type: "tool_reference", ToolName: name}); err == nil {
			found = append(found, raw)
		}
	}
	return found
}

// sourceOf is where an image comes from; a data: URL (RFC 2397) becomes bytes.
func sourceOf(i chat.Image) *source {
	if i.Data != "" {
		return &source{Type: "base64", MediaType: i.MediaType, Data: i.Data}
	}
	if rest, ok := strings.CutPrefix(i.URL, "data:"); ok {
		head, data, _ := strings.Cut(rest, ",")
		media, _, _ := strings.Cut(head, ";")
		return &source{Type: "base64", MediaType: media, Data: data}
	}
	return &source{Type: "url", URL: i.URL}
}

// identifier replaces what the API refuses in the id and the name of a call:
// all but letters, digits, _ and -. Calls of other providers may have it.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}
