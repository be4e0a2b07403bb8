package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// encodeMessages encodes the chat. Messages of this form are sent as written.
func encodeMessages(r *chat.Request) (json.RawMessage, error) {
	var h history
	for i, m := range r.Messages {
		if err := h.add(m); err != nil {
			var invalid *chat.Error
			if errors.As(err, &invalid) {
				return nil, invalid
			}
			return nil, chat.Invalid(fmt.Sprintf("messages[%d]", i), "messages[%d]: %s", i, err)
		}
	}
	h.flush()
	return wire.Join(h.out), nil
}

// history collects messages. In this API results are consecutive text messages, so
// images and files in results wait until the last result of an answer.
type history struct {
	out         [][]byte
	attachments []wirePart
}

type wirePart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *wireImage `json:"image_url,omitempty"`
	File  *wireFile  `json:"file,omitempty"`
}

type wireFile struct {
	Name string `json:"filename,omitempty"`
	Data string `json:"file_data,omitempty"`
	ID   string `json:"file_id,omitempty"`
}

type wireImage struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

func (h *history) add(m chat.Message) error {
	raw := m.Raw != nil && m.Form == chat.FormOpenAI
	if m.Role == chat.RoleAssistant || m.Role == chat.RoleSystem || raw && m.Role == chat.RoleUser {
		h.flush()
	}
	if raw {
		h.out = append(h.out, m.Raw)
		return nil
	}
	switch m.Role {
	case chat.RoleAssistant:
		return h.assistant(m)
	case chat.RoleSystem:
		return h.system(m)
	}
	return h.user(m)
}

func startsWithResult(m chat.Message) bool {
	return len(m.Parts) > 0 && m.Parts[0].Kind == chat.PartResult
}

// flush writes the attachments of results as a user message, if no user message follows that
// can hold them.
func (h *history) flush() {
	if h.attachments == nil {
		return
	}
	h.message("user", h.attachments)
	h.attachments = nil
}

func (h *history) message(role string, content any) {
	o := wire.Writer{}
	o.Value("role", role)
	o.Value("content", content)
	h.out = append(h.out, o.End())
}

func (h *history) system(m chat.Message) error {
	for _, p := range m.Parts {
		if p.Kind != chat.PartText {
			return fmt.Errorf("a system message cannot have a part of kind %q", p.Kind)
		}
	}
	h.message("system", m.Text())
	return nil
}

// user writes results, each as a message of role tool, and then the rest, preceded by
// the attachments of results.
func (h *history) user(m chat.Message) error {
	var rest []chat.Part
	for _, p := range m.Parts {
		if p.Kind != chat.PartResult {
			rest = append(rest, p)
			continue
		}
		if err := h.result(p.Result); err != nil {
			return err
		}
	}
	if len(rest) == 0 && startsWithResult(m) {
		return nil
	}
	attachments := h.attachments
	h.attachments = nil
	if attachments == nil && (len(rest) == 0 || len(rest) == 1 && rest[0].Kind == chat.PartText) {
		h.message("user", chat.Message{Parts: rest}.Text())
		return nil
	}
	content, err := encodeParts(attachments, rest)
	if err != nil {
		return err
	}
	o := wire.Writer{}
	o.Value("role", "user")
	o.Raw("content", content)
	h.out = append(h.out, o.End())
	return nil
}

// encodeParts encodes attachments of results and parts as a list.
func encodeParts(attachments []wirePart, parts []chat.Part) ([]byte, error) {
	out := make([][]byte, 0, len(attachments)+len(parts))
	for _, p := range attachments {
		encoded, _ := tools.Encode(p)
		out = append(out, encoded)
	}
	for _, p := range parts {
		part, err := encodePart(p)
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return wire.Join(out), nil
}

func encodePart(p chat.Part) ([]byte, error) {
	switch {
	case p.Raw != nil && p.Form == chat.FormOpenAI:
		return p.Raw, nil
	case p.Kind == chat.PartText:
		return tools.Encode(textOf(p.Text))
	case p.Kind == chat.PartImage:
		return tools.Encode(pictureOf(p.Image))
	case p.Kind == chat.PartFile && p.File.URL != "":
		return nil, chat.Invalid(p.File.Path, "%s is a URL: Chat Completions takes files as data only", p.File.Path)
	case p.Kind == chat.PartFile:
		return tools.Encode(filePartOf(p.File))
	}
	return nil, unknownPart(p)
}

func unknownPart(p chat.Part) error {
	if p.Kind == chat.PartOther {
		return fmt.Errorf("only providers of %q support this part: %s", p.Form, truncate.Ellipsis(string(p.Raw), maxShown))
	}
	return fmt.Errorf("a part of kind %q is not allowed in this message", p.Kind)
}

func textOf(text string) wirePart { return wirePart{Type: "text", Text: text} }

func pictureOf(i *chat.Image) wirePart {
	target := i.URL
	if i.Data != "" {
		target = "data:" + i.MediaType + ";base64," + i.Data
	}
	return wirePart{Type: "image_url", Image: &wireImage{target, i.Detail}}
}

func filePartOf(f *chat.File) wirePart {
	return wirePart{Type: "file", File: &wireFile{wire.FileName(f), wire.DataURL(f), f.ID}}
}

// result writes the result of a call; its images and files follow later.
func (h *history) result(r *chat.CallResult) error {
	text, what := r.Text(), ""
	var attached []wirePart
	for _, p := range r.Parts {
		switch {
		case p.Kind == chat.PartText:
		case p.Kind == chat.PartImage:
			attached, what = append(attached, pictureOf(p.Image)), "image"
		case p.Kind == chat.PartFile && p.File.URL == "":
			attached, what = append(attached, filePartOf(p.File)), "file"
		default:
			return unknownPart(p)
		}
	}
	switch {
	case attached != nil:
		h.attachments = append(append(h.attachments, textOf("Images and files in the result of "+r.ID+":")), attached...)
		if text == "" {
			text = "The result is the " + what + " that follows."
		}
	case text == "" && r.Error:
		text = chat.Unexplained
	}
	o := wire.Writer{}
	o.Value("role", "tool")
	o.Value("tool_call_id", wire.ID(r.ID))
	o.Value("content", text)
	h.out = append(h.out, o.End())
	return nil
}

// assistant writes an earlier answer. Thinking of this form is returned as it came,
// which DeepSeek's and Moonshot's models require between tool calls; OpenAI streams
// none. Thinking signed by another provider is left out.
func (h *history) assistant(m chat.Message) error {
	var calls [][]byte
	text, refusal, thinking := m.Text(), "", ""
	for _, p := range m.Parts {
		switch {
		case p.Kind == chat.PartText, p.Kind == chat.PartThinking && signed(p):
		case p.Kind == chat.PartThinking:
			thinking += p.Text
		case p.Kind == chat.PartRefusal:
			refusal += p.Text
		case p.Kind == chat.PartCall:
			calls = append(calls, encodeCall(p.Call))
		case p.Kind == chat.PartOther && p.Form == chat.FormOpenAI:
			calls = append(calls, p.Raw)
		default:
			return unknownPart(p)
		}
	}
	if text == "" && thinking == "" && refusal == "" && calls == nil {
		return nil // it was only reasoning that another provider has signed
	}
	o := wire.Writer{}
	o.Value("role", "assistant")
	if text == "" && calls != nil {
		o.Raw("content", []byte("null"))
	} else {
		o.Value("content", text)
	}
	if thinking != "" {
		o.Value("reasoning_content", thinking)
	}
	if refusal != "" {
		o.Value("refusal", refusal)
	}
	if calls != nil {
		o.Raw("tool_calls", wire.Join(calls))
	}
	h.out = append(h.out, o.End())
	return nil
}

// signed reports whether only the provider that wrote a reasoning can read it. One of the
// Responses API may be text without encryption.
func signed(p chat.Part) bool {
	var item struct {
		Encrypted string `json:"encrypted_content"`
	}
	if p.Form == chat.FormResponses && json.Unmarshal(p.Raw, &item) == nil {
		return item.Encrypted != ""
	}
	return p.Raw != nil
}

// maxName is how many characters the name of a call may have.
const maxName = 64

func encodeCall(c *chat.Call) []byte {
	arguments := c.Arguments
	if arguments == "" {
		arguments = "{}"
	}
	call, _ := tools.Encode(wholeCall{wire.ID(c.ID), "function", callFunction{wire.Name(c.Name, maxName), arguments}})
	return call
}
