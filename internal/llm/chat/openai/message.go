package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// wireMessage is a message of a request.
type wireMessage struct {
	Role       json.RawMessage `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    json.RawMessage `json:"refusal"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
	ToolCallID json.RawMessage `json:"tool_call_id"`
	Audio      json.RawMessage `json:"audio"`
	Function   json.RawMessage `json:"function_call"`
	// Reasoning is returned and accepted by servers other than OpenAI's.
	Reasoning json.RawMessage `json:"reasoning_content"`
}

func setMessages(r *chat.Request, name string, raw json.RawMessage) error {
	var list []json.RawMessage
	if err := decode(name, raw, &list); err != nil {
		return err
	}
	if len(list) > chat.MaxMessages {
		return chat.Invalid(name, "%s has %d messages; at most %d", name, len(list), chat.MaxMessages)
	}
	r.Messages = make([]chat.Message, 0, len(list))
	for i, raw := range list {
		m, err := parseMessage(fmt.Sprintf("%s[%d]", name, i), raw)
		if err != nil {
			return err
		}
		m.Raw, m.Form = raw, chat.FormOpenAI
		r.Messages = append(r.Messages, m)
	}
	return nil
}

func parseMessage(param string, raw json.RawMessage) (chat.Message, error) {
	var w wireMessage
	if json.Unmarshal(raw, &w) != nil || isNull(raw) {
		return chat.Message{}, chat.Invalid(param, "%s must be an object, got %s", param, truncate.Ellipsis(string(raw), maxShown))
	}
	var role string
	if json.Unmarshal(w.Role, &role) != nil {
		return chat.Message{}, chat.Invalid(param+".role", "%s.role is missing or not a string", param)
	}
	m := chat.Message{Role: chat.Role(role)}
	var err error
	switch role {
	case "system", "developer":
		m.Role = chat.RoleSystem
		m.Parts, err = w.content(param, onlyText)
	case "user":
		m.Parts, err = w.content(param, anything)
	case "assistant":
		m.Parts, err = w.assistant(param)
	case "tool":
		m.Parts, err = w.result(param)
	case "function":
		err = chat.Invalid(param+".role", "%s.role is %q, which is no longer supported; use tool with tool_call_id", param, role)
	default:
		err = chat.Invalid(param+".role", "%s.role must be system, developer, user, assistant or tool, got %q", param, role)
	}
	return m, err
}

// allowed are the kinds of parts that a message may have in addition to text.
type allowed int

const (
	onlyText allowed = iota
	orRefusal
	orImage
	anything // with a type: the provider decides about unknown ones
)

// content decodes a string or a list of parts.
func (w wireMessage) content(param string, may allowed) ([]chat.Part, error) {
	param += ".content"
	var text string
	if w.Content == nil || isNull(w.Content) {
		return nil, chat.Invalid(param, "%s is missing: it must be a string or a list of parts", param)
	}
	if json.Unmarshal(w.Content, &text) == nil {
		return []chat.Part{{Kind: chat.PartText, Text: text}}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(w.Content, &list) != nil {
		return nil, chat.Invalid(param, "%s must be a string or a list of parts, got %s", param, truncate.Ellipsis(string(w.Content), maxShown))
	}
	if len(list) > chat.MaxParts {
		return nil, chat.Invalid(param, "%s has %d parts; at most %d", param, len(list), chat.MaxParts)
	}
	parts := make([]chat.Part, 0, len(list))
	for i, raw := range list {
		part, err := parsePart(fmt.Sprintf("%s[%d]", param, i), raw, may)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func parsePart(param string, raw json.RawMessage, may allowed) (chat.Part, error) {
	kind, err := typeOf(param, raw)
	if err != nil {
		return chat.Part{}, err
	}
	switch {
	case kind == "text":
		return textPart(param+".text", chat.PartText, raw)
	case kind == "refusal" && may == orRefusal:
		return textPart(param+".refusal", chat.PartRefusal, raw)
	case kind == "image_url" && may >= orImage:
		return imagePart(param+".image_url", raw)
	case may == anything:
		return chat.Part{Kind: chat.PartOther, Raw: raw, Form: chat.FormOpenAI}, nil
	}
	return chat.Part{}, chat.Invalid(param+".type", "%s.type is %q, which is not allowed in a message of this role", param, kind)
}

func textPart(param string, kind chat.PartKind, raw json.RawMessage) (chat.Part, error) {
	var form struct{ Text, Refusal *string }
	err := json.Unmarshal(raw, &form)
	text := form.Text
	if kind == chat.PartRefusal {
		text = form.Refusal
	}
	if err != nil || text == nil {
		return chat.Part{}, chat.Invalid(param, "%s is missing or not a string", param)
	}
	return chat.Part{Kind: kind, Text: *text}, nil
}

func imagePart(param string, raw json.RawMessage) (chat.Part, error) {
	var form struct {
		ImageURL struct{ URL, Detail string } `json:"image_url"`
	}
	if json.Unmarshal(raw, &form) != nil || form.ImageURL.URL == "" {
		return chat.Part{}, chat.Invalid(param, "%s must be an object with a string url", param)
	}
	image := &chat.Image{Detail: form.ImageURL.Detail}
	target := form.ImageURL.URL
	scheme, rest, _ := strings.Cut(target, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		image.URL = target
	case "data":
		media, data, ok := strings.Cut(rest, ";base64,")
		if !ok || !strings.Contains(media, "/") {
			return chat.Part{}, chat.Invalid(param+".url", "%s.url must be data:image/…;base64,… (RFC 2397)", param)
		}
		image.MediaType, image.Data = media, data
	default:
		return chat.Part{}, chat.Invalid(param+".url", "%s.url must begin with http:, https: or data:", param)
	}
	return chat.Part{Kind: chat.PartImage, Image: image}, nil
}

// assistant decodes an earlier answer of a model.
func (w wireMessage) assistant(param string) ([]chat.Part, error) {
	if w.Function != nil && !isNull(w.Function) {
		return nil, chat.Invalid(param+".function_call", "%s.function_call is no longer supported; use tool_calls", param)
	}
	var parts []chat.Part
	for _, f := range []struct {
		name string
		raw  json.RawMessage
		kind chat.PartKind
	}{{".reasoning_content", w.Reasoning, chat.PartThinking}, {".refusal", w.Refusal, chat.PartRefusal}} {
		var text *string
		if f.raw == nil {
			continue
		}
		if err := decode(param+f.name, f.raw, &text); err != nil {
			return nil, err
		}
		if text != nil && *text != "" {
			parts = append(parts, chat.Part{Kind: f.kind, Text: *text})
		}
	}
	calls, err := w.calls(param + ".tool_calls")
	if err != nil {
		return nil, err
	}
	audio := w.Audio != nil && !isNull(w.Audio)
	if w.Content == nil || isNull(w.Content) {
		if len(parts) == 0 && len(calls) == 0 && !audio {
			return nil, chat.Invalid(param+".content", "%s has neither content nor tool_calls", param)
		}
		return append(parts, calls...), nil
	}
	content, err := w.content(param, orRefusal)
	return append(append(parts, content...), calls...), err
}

func (w wireMessage) calls(param string) ([]chat.Part, error) {
	if w.ToolCalls == nil || isNull(w.ToolCalls) {
		return nil, nil
	}
	var list []json.RawMessage
	if err := decode(param, w.ToolCalls, &list); err != nil {
		return nil, err
	}
	if len(list) > chat.MaxParts {
		return nil, chat.Invalid(param, "%s has %d calls; at most %d", param, len(list), chat.MaxParts)
	}
	parts := make([]chat.Part, 0, len(list))
	for i, raw := range list {
		part, err := parseCall(fmt.Sprintf("%s[%d]", param, i), raw)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// parseCall decodes a function call; calls of other tools stay as they are.
func parseCall(param string, raw json.RawMessage) (chat.Part, error) {
	kind, err := typeOf(param, raw)
	if err != nil {
		return chat.Part{}, err
	}
	if kind != "function" {
		return chat.Part{Kind: chat.PartOther, Raw: raw, Form: chat.FormOpenAI}, nil
	}
	var form struct {
		ID       string
		Function struct{ Name, Arguments string }
	}
	if json.Unmarshal(raw, &form) != nil {
		return chat.Part{}, chat.Invalid(param, "%s must have the strings id, function.name and function.arguments", param)
	}
	if form.ID == "" {
		return chat.Part{}, chat.Invalid(param+".id", "%s.id is missing", param)
	}
	if form.Function.Name == "" {
		return chat.Part{}, chat.Invalid(param+".function.name", "%s.function.name is missing", param)
	}
	call := &chat.Call{ID: form.ID, Name: form.Function.Name, Arguments: form.Function.Arguments}
	return chat.Part{Kind: chat.PartCall, Call: call}, nil
}

// result decodes the result of a tool.
func (w wireMessage) result(param string) ([]chat.Part, error) {
	var id string
	if json.Unmarshal(w.ToolCallID, &id) != nil || id == "" {
		return nil, chat.Invalid(param+".tool_call_id", "%s.tool_call_id must be a string: the id of the call that it answers", param)
	}
	parts, err := w.content(param, orImage)
	if err != nil {
		return nil, err
	}
	return []chat.Part{{Kind: chat.PartResult, Result: &chat.CallResult{ID: id, Parts: parts}}}, nil
}
