package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// encodeMessages returns the items of a chat. Messages that a client wrote in this form
// are sent as written.
func encodeMessages(messages []chat.Message) ([]any, error) {
	t := &transcript{items: []any{}}
	for i, m := range messages {
		t.index = i
		if err := t.message(m); err != nil {
			return nil, err
		}
	}
	return t.items, nil
}

// transcript collects items.
type transcript struct {
	items   []any
	index   int   // of the message
	role    any   // of content
	content []any // of the current message item
}

// message is an outgoing item of type message.
type message struct {
	Type    string `json:"type"`
	Role    any    `json:"role"`
	Content any    `json:"content"`
}

// textPart is a part of type input_text.
type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imagePart struct {
	Type   string `json:"type"`
	URL    string `json:"image_url"`
	Detail string `json:"detail,omitempty"`
}

type outputItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

func (t *transcript) message(m chat.Message) error {
	if m.Form == chat.FormResponses && m.Raw != nil && t.written(m.Raw) {
		return nil
	}
	t.role = m.Role
	if m.Role == chat.RoleTool {
		t.role = chat.RoleUser // of everything except results
	}
	parts := slices.Clone(m.Parts)
	slices.SortStableFunc(parts, resultsFirst) // right after their calls
	for _, p := range parts {
		if err := t.part(m.Role, p); err != nil {
			return err
		}
	}
	t.flush()
	return nil
}

func resultsFirst(a, b chat.Part) int {
	switch first, second := a.Kind == chat.PartResult, b.Kind == chat.PartResult; {
	case first == second:
		return 0
	case first:
		return -1
	}
	return 1
}

// written adds the items of the array in Raw.
func (t *transcript) written(raw json.RawMessage) bool {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return false
	}
	for _, item := range items {
		if sent, ok := outgoing(item); ok {
			t.items = append(t.items, sent)
		}
	}
	return true
}

// flush ends the current message item.
func (t *transcript) flush() {
	if len(t.content) > 0 {
		t.items = append(t.items, message{itemMessage, t.role, t.content})
	}
	t.content = nil
}

// item adds an item after flushing.
func (t *transcript) item(value any) {
	t.flush()
	t.items = append(t.items, value)
}

func (t *transcript) part(role chat.Role, p chat.Part) error {
	switch p.Kind {
	case chat.PartCall:
		t.item(callOf(p.Call))
	case chat.PartResult:
		output, err := t.output(p.Result)
		if err != nil {
			return err
		}
		t.item(outputItem{"function_call_output", wire.ID(p.Result.ID), output})
	case chat.PartThinking:
		t.thinking(p)
	case chat.PartOther:
		return t.other(role, p)
	default:
		t.plain(role, p)
	}
	return nil
}

// plain adds a text, an image or a refusal. Each text of the assistant is a
// separate message, in the short form: some servers accept parts of type output_text only in items
// with an id.
func (t *transcript) plain(role chat.Role, p chat.Part) {
	if role == chat.RoleAssistant && p.Kind == chat.PartText {
		t.item(message{itemMessage, role, p.Text})
		return
	}
	t.content = append(t.content, contentOf(role, p))
}

func (t *transcript) thinking(p chat.Part) {
	if p.Form != chat.FormResponses || p.Raw == nil {
		return
	}
	if sent, ok := outgoing(p.Raw); ok {
		t.item(sent)
	}
}

// other adds a part that only has Raw. One of another provider is left out of the
// assistant's messages and is an error in the user's.
func (t *transcript) other(role chat.Role, p chat.Part) error {
	switch {
	case role == chat.RoleAssistant || role == chat.RoleTool:
		if p.Form == chat.FormResponses {
			t.item(p.Raw)
		}
		return nil
	case p.Form == chat.FormResponses:
		t.content = append(t.content, p.Raw)
		return nil
	}
	return chat.Invalid(fmt.Sprintf("messages[%d]", t.index),
		"content of type %q is not supported by OpenAI's Responses API; send text, images or files", wire.TypeOf(p.Raw))
}

// output returns a result: a text, or parts if it has more than text.
func (t *transcript) output(r *chat.CallResult) (any, error) {
	plain := true
	for _, p := range r.Parts {
		plain = plain && p.Kind == chat.PartText
	}
	switch text := r.Text(); {
	case plain && text == "" && r.Error:
		return chat.Unexplained, nil
	case plain:
		return text, nil
	}
	inner := &transcript{index: t.index}
	for _, p := range r.Parts {
		if err := inner.part(chat.RoleUser, p); err != nil {
			return nil, err
		}
	}
	return inner.content, nil
}

// maxName is how many characters the name of a call may have.
const maxName = 128

func callOf(c *chat.Call) callItem {
	arguments := c.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return callItem{
		Type: itemCall, CallID: wire.ID(c.ID), Name: wire.Name(c.Name, maxName), Namespace: c.Namespace,
		Arguments: arguments,
	}
}

// contentOf returns an image, a refusal of the assistant, or a text.
func contentOf(role chat.Role, p chat.Part) any {
	switch {
	case p.Kind == chat.PartFile:
		return fileOf(p.File)
	case p.Kind == chat.PartImage && p.Image != nil:
		url := p.Image.URL
		if url == "" {
			url = "data:" + p.Image.MediaType + ";base64," + p.Image.Data
		}
		return imagePart{"input_image", url, p.Image.Detail}
	case p.Kind == chat.PartRefusal && role == chat.RoleAssistant:
		return refusal{"refusal", p.Text}
	}
	return textPart{"input_text", p.Text}
}

// filePart is a file.
type filePart struct {
	Type string `json:"type"`
	Name string `json:"filename,omitempty"`
	ID   string `json:"file_id,omitempty"`
	Data string `json:"file_data,omitempty"`
	URL  string `json:"file_url,omitempty"`
}

func fileOf(f *chat.File) filePart {
	part := filePart{Type: "input_file", Name: wire.FileName(f), ID: f.ID, URL: f.URL}
	part.Data = wire.DataURL(f)
	return part
}
