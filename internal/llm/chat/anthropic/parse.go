package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// ParseRequest decodes the body of POST /v1/messages. Its errors are [*chat.Error] with
// a Param in Anthropic's style, such as messages.2.content.0.type.
//
// Fields without a neutral form, such as thinking and top_k, stay in Extra; so do
// metadata and output_config, of which other providers get parts.
func ParseRequest(body []byte) (*chat.Request, error) {
	if len(body) > chat.MaxRequestBytes {
		return nil, &chat.Error{Code: errcode.RequestTooLarge, Message: fmt.Sprintf("the request has %d bytes; the limit is %d", len(body), chat.MaxRequestBytes)}
	}
	f, err := parseBody(body)
	if err != nil {
		return nil, err
	}
	r := &chat.Request{Form: chat.FormAnthropic}
	for _, parse := range []func(*chat.Request, fields) error{
		parseHead, parseSystem, parseMessages, parseTools, parseChoice, parseSettings, parseConfig,
	} {
		if err := parse(r, f); err != nil {
			return nil, err
		}
	}
	if len(f) > 0 {
		r.Extra = f
	}
	return r, nil
}

// fields are the fields of a JSON object.
type fields map[string]json.RawMessage

func parseBody(body []byte) (fields, error) {
	var f fields
	err := json.Unmarshal(body, &f)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, chat.Invalid("", "the body is not JSON: %s at byte %d", syntax.Error(), syntax.Offset)
	case err != nil || f == nil:
		return nil, chat.Invalid("", "the body is not a JSON object")
	}
	return f, nil
}

// invalid returns an error of the field at path.
func invalid(path, format string, args ...any) error {
	return chat.Invalid(path, "%s: %s", path, fmt.Sprintf(format, args...))
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func objectAt(raw json.RawMessage, path string) (fields, error) {
	var f fields
	if json.Unmarshal(raw, &f) != nil || f == nil {
		return nil, invalid(path, "must be an object")
	}
	return f, nil
}

// optional decodes a field that may be missing or null.
func optional[T any](f fields, path, name, kind string) (value T, err error) {
	raw, ok := f[name]
	if !ok || string(raw) == "null" {
		return value, nil
	}
	if json.Unmarshal(raw, &value) != nil {
		return value, invalid(under(path, name), "must be %s", kind)
	}
	return value, nil
}

// required decodes a required field.
func required[T any](f fields, path, name, kind string) (value T, err error) {
	if raw, ok := f[name]; !ok || string(raw) == "null" {
		return value, invalid(under(path, name), "is required: %s", kind)
	}
	return optional[T](f, path, name, kind)
}

// name decodes a required string that must not be empty.
func name(f fields, path, key string) (string, error) {
	s, err := required[string](f, path, key, "a string")
	if err == nil && s == "" {
		err = invalid(under(path, key), "must not be empty")
	}
	return s, err
}

func parseHead(r *chat.Request, f fields) (err error) {
	if r.Model, err = name(f, "", "model"); err != nil {
		return err
	}
	if r.Stream, err = optional[bool](f, "", "stream", "true or false"); err != nil {
		return err
	}
	delete(f, "model")
	delete(f, "stream")
	return nil
}

// parseSystem converts the system prompt to the first message, with its blocks as
// parts.
func parseSystem(r *chat.Request, f fields) error {
	raw, ok := f["system"]
	delete(f, "system")
	if !ok || string(raw) == "null" {
		return nil
	}
	parts, err := parseContent(raw, "system", "system")
	if err == nil && len(parts) > 0 {
		r.Messages = append(r.Messages, chat.Message{Role: chat.RoleSystem, Parts: parts})
	}
	return err
}

func parseMessages(r *chat.Request, f fields) error {
	list, err := required[[]json.RawMessage](f, "", "messages", "a list")
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return invalid("messages", "at least one message is required")
	case len(list) > chat.MaxMessages:
		return invalid("messages", "has %d messages; the limit is %d", len(list), chat.MaxMessages)
	}
	delete(f, "messages")
	for i, raw := range list {
		m, err := parseMessage(raw, fmt.Sprintf("messages.%d", i))
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, m)
	}
	return nil
}

// roles are the roles of messages; some models accept system messages among them.
var roles = map[string]chat.Role{"user": chat.RoleUser, "assistant": chat.RoleAssistant, "system": chat.RoleSystem}

func parseMessage(raw json.RawMessage, path string) (chat.Message, error) {
	m := chat.Message{Raw: raw, Form: chat.FormAnthropic}
	f, err := objectAt(raw, path)
	if err != nil {
		return m, err
	}
	role, err := name(f, path, "role")
	if err != nil {
		return m, err
	}
	if m.Role = roles[role]; m.Role == "" {
		return m, invalid(path+".role", `must be "user" or "assistant", got %q`, role)
	}
	if _, ok := f["content"]; !ok {
		return m, invalid(path+".content", "is required: a string or a list of blocks")
	}
	m.Parts, err = parseContent(f["content"], path+".content", role)
	return m, err
}

// parseContent decodes text, or a list of blocks, of a message with that role.
func parseContent(raw json.RawMessage, path, role string) ([]chat.Part, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return []chat.Part{{Kind: chat.PartText, Text: text}}, nil
	}
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) != nil || list == nil:
		return nil, invalid(path, "must be a string or a list of blocks")
	case len(list) > chat.MaxParts:
		return nil, invalid(path, "has %d blocks; the limit is %d", len(list), chat.MaxParts)
	}
	parts := make([]chat.Part, len(list))
	for i, raw := range list {
		var err error
		if parts[i], err = parseBlock(raw, fmt.Sprintf("%s.%d", path, i), role); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// parseBlock decodes a block. One of an unknown type is for a provider of this API.
func parseBlock(raw json.RawMessage, path, role string) (chat.Part, error) {
	p := chat.Part{Kind: chat.PartOther, Raw: raw, Form: chat.FormAnthropic}
	f, err := objectAt(raw, path)
	if err != nil {
		return p, err
	}
	kind, err := name(f, path, "type")
	if err != nil {
		return p, err
	}
	switch kind {
	case "text":
		p.Kind = chat.PartText
		p.Text, err = required[string](f, path, "text", "a string")
	case "image":
		err = parseImage(&p, f, path)
	case "thinking":
		p.Kind = chat.PartThinking
		p.Text, err = required[string](f, path, "thinking", "a string")
	case "redacted_thinking":
		p.Kind = chat.PartThinking
	case "tool_use":
		err = parseCall(&p, f, path, role)
	case "tool_result":
		err = parseResult(&p, f, path, role)
	}
	return p, err
}

// parseImage leaves an image in a file, which only Anthropic supports, as it is.
func parseImage(p *chat.Part, f fields, path string) error {
	raw, err := required[json.RawMessage](f, path, "source", "an object")
	if err != nil {
		return err
	}
	path += ".source"
	src, err := objectAt(raw, path)
	if err != nil {
		return err
	}
	kind, err := name(src, path, "type")
	if err != nil {
		return err
	}
	image := &chat.Image{}
	switch kind {
	case "base64":
		if image.MediaType, err = name(src, path, "media_type"); err == nil {
			image.Data, err = name(src, path, "data")
		}
	case "url":
		image.URL, err = name(src, path, "url")
	default:
		return nil
	}
	p.Kind, p.Image = chat.PartImage, image
	return err
}

func parseCall(p *chat.Part, f fields, path, role string) (err error) {
	if role != "assistant" {
		return invalid(path+".type", "tool_use is allowed in assistant messages only")
	}
	call := &chat.Call{}
	if call.ID, err = name(f, path, "id"); err != nil {
		return err
	}
	if call.Name, err = name(f, path, "name"); err != nil {
		return err
	}
	if !isObject(f["input"]) {
		return invalid(path+".input", "must be an object")
	}
	call.Arguments = string(f["input"])
	p.Kind, p.Call = chat.PartCall, call
	return nil
}

func parseResult(p *chat.Part, f fields, path, role string) (err error) {
	if role != "user" {
		return invalid(path+".type", "tool_result is allowed in user messages only")
	}
	result := &chat.CallResult{}
	if result.ID, err = name(f, path, "tool_use_id"); err != nil {
		return err
	}
	if result.Error, err = optional[bool](f, path, "is_error", "true or false"); err != nil {
		return err
	}
	if raw, ok := f["content"]; ok && string(raw) != "null" {
		if result.Parts, err = parseContent(raw, path+".content", "tool_result"); err != nil {
			return err
		}
	}
	result.Found = references(result.Parts)
	p.Kind, p.Result = chat.PartResult, result
	return nil
}

// references returns the names in the tool_reference blocks among parts.
func references(parts []chat.Part) []string {
	var names []string
	for _, p := range parts {
		var b block
		if p.Kind == chat.PartOther && json.Unmarshal(p.Raw, &b) == nil && b.Type == "tool_reference" && b.ToolName != "" {
			names = append(names, strings.Clone(b.ToolName))
		}
	}
	return names
}
