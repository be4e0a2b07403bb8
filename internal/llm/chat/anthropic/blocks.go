package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// block is a content block of a request or an answer, with the fields that this package
// interprets.
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

// documentBlock is a file in a request.
type documentBlock struct {
	Type   string  `json:"type"`
	Source *source `json:"source"`
	Title  string  `json:"title,omitempty"`
}

// source is the source of an image or a document.
type source struct {
	Type      string `json:"type"` // base64, text, url, file
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// writer converts parts to blocks of a request.
type writer struct {
	known map[string]bool // the request's tools, by name
}

// part returns the block of a part, or nil to leave it out: the API rejects empty text,
// and thinking that it has not signed.
func (w *writer) part(p chat.Part) (json.RawMessage, error) {
	if raw := ownRaw(p); raw != nil {
		return raw, nil
	}
	switch p.Kind {
	case chat.PartText, chat.PartRefusal:
		if strings.TrimSpace(p.Text) == "" {
			return nil, nil
		}
		return tools.Encode(block{Type: "text", Text: &p.Text})
	case chat.PartImage:
		return tools.Encode(block{Type: "image", Source: sourceOf(*p.Image)})
	case chat.PartFile:
		return document(p.File)
	case chat.PartCall:
		return tools.Encode(callBlock(*p.Call))
	case chat.PartResult:
		return w.result(p.Result)
	case chat.PartThinking:
		return nil, nil
	}
	return nil, chat.Invalid("messages", "Anthropic's Messages has no content of type %q", wire.TypeOf(p.Raw))
}

// document returns the block of a file: PDF, or text.
func document(f *chat.File) (json.RawMessage, error) {
	block := documentBlock{Type: "document", Title: f.Name}
	switch {
	case f.URL != "":
		block.Source = &source{Type: "url", URL: f.URL}
	case f.Data == "":
		return nil, chat.Invalid(f.Path, "%s has no data: send file_data", f.Path)
	case f.MediaType == "application/pdf":
		block.Source = &source{Type: "base64", MediaType: f.MediaType, Data: f.Data}
	case strings.HasPrefix(f.MediaType, "text/"):
		text, err := base64.StdEncoding.DecodeString(f.Data)
		if err != nil || !utf8.Valid(text) {
			return nil, chat.Invalid(f.Path, "%s must be text in UTF-8, as base64", f.Path)
		}
		block.Source = &source{Type: "text", MediaType: "text/plain", Data: string(text)}
	default:
		return nil, chat.Invalid(f.Path, "%s has the type %q: Anthropic's Messages takes application/pdf and text", f.Path,
			f.MediaType)
	}
	return tools.Encode(block)
}

// parts returns the blocks of parts.
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

// ownRaw returns the part as written, if it has not been changed since.
func ownRaw(p chat.Part) json.RawMessage {
	if p.Form != chat.FormAnthropic || p.Raw == nil {
		return nil
	}
	if p.Kind == chat.PartCall {
		var b block
		if json.Unmarshal(p.Raw, &b) != nil || b.ID != p.Call.ID || b.Name != p.Call.Name ||
			string(b.Input) != p.Call.Arguments {
			return nil
		}
	}
	return p.Raw
}

// callBlock returns the block of a call. The API takes an object only; other arguments,
// which models write and clients send back, are wrapped as its documentation advises:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming.
func callBlock(c chat.Call) block {
	input := json.RawMessage(strings.TrimSpace(c.Arguments))
	switch {
	case len(input) == 0 || wire.IsNull(input):
		input = json.RawMessage("{}")
	case !wire.IsObject(input):
		input, _ = tools.Encode(map[string]string{"INVALID_JSON": c.Arguments}) // of text
	}
	return block{Type: "tool_use", ID: identifier(c.ID), Name: wire.Name(c.Name, maxName), Input: input}
}

// result returns the result of a call. References to tools found by a search cannot be
// mixed with text, and may only refer to tools of the request.
func (w *writer) result(r *chat.CallResult) (json.RawMessage, error) {
	content, err := w.parts(r.Parts)
	if err != nil {
		return nil, err
	}
	if found := w.references(r.Found); len(found) > 0 && !r.Error {
		content = found
	}
	if len(content) == 0 && r.Error {
		if content, err = w.parts([]chat.Part{{Kind: chat.PartText, Text: chat.Unexplained}}); err != nil {
			return nil, err
		}
	}
	b := block{Type: "tool_result", ToolUseID: identifier(r.ID), IsError: r.Error}
	if len(content) > 0 {
		b.Content = wire.Join(content)
	}
	return tools.Encode(b)
}

func (w *writer) references(names []string) []json.RawMessage {
	var found []json.RawMessage
	for _, name := range names {
		if !w.known[name] {
			continue
		}
		if raw, err := tools.Encode(block{Type: "tool_reference", ToolName: name}); err == nil {
			found = append(found, raw)
		}
	}
	return found
}

// sourceOf returns the source of an image; a data: URL (RFC 2397) becomes data.
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

// maxName is how many characters the name of a call may have.
const maxName = 128

// identifier returns the id of a call as the API takes it. Calls of other providers may have
// other characters.
func identifier(id string) string { return wire.Name(id, len(id)) }
