package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// known are the fields that have a neutral form; all others become Extra.
var known = []string{
	"model", "stream", "system", "messages", "tools", "tool_choice", "temperature", "top_p",
	"stop_sequences",
}

// ParseRequest decodes the body of POST /v1/messages. Its errors are [*chat.Error] with
// a Param in Anthropic's style, such as messages.2.content.0.type.
//
// Fields without a neutral form, such as thinking and top_k, stay in Extra; so do
// metadata and output_config; other providers get parts of them.
func ParseRequest(body []byte) (*chat.Request, error) {
	o, err := wire.Parse(body, "%s.%d")
	if err != nil {
		return nil, err
	}
	r := &chat.Request{Form: chat.FormAnthropic, Model: o.Required("model")}
	o.Read("stream", wire.Bool, &r.Stream)
	if o.Has("system") {
		if parts := o.Content("system", contentParser("system")); len(parts) > 0 {
			r.Messages = append(r.Messages, chat.Message{Role: chat.RoleSystem, Parts: parts})
		}
	}
	list := o.Objects("messages", "messages", chat.MaxMessages)
	if o.Need("messages", "a list") && len(list) == 0 {
		o.Fail("messages", "is empty: at least one message is required")
	}
	for _, m := range list {
		r.Messages = append(r.Messages, parseMessage(m))
	}
	parseTools(r, o)
	parseChoice(r, o)
	parseSettings(r, o)
	parseConfig(r, o)
	r.Uses = append(r.Uses, translation.Find(chat.FormAnthropic, o)...)
	if err := o.Err(); err != nil {
		return nil, err
	}
	for _, name := range known {
		delete(o.Fields, name)
	}
	if len(o.Fields) > 0 {
		r.Extra = o.Fields
	}
	return r, nil
}

func invalid(path, text string) error { return chat.Invalid(path, "%s %s", path, text) }

// roles are the roles of messages; some models accept system messages among them.
var roles = map[string]chat.Role{"user": chat.RoleUser, "assistant": chat.RoleAssistant, "system": chat.RoleSystem}

func parseMessage(o *wire.Object) chat.Message {
	role := o.Required("role")
	if roles[role] == "" {
		o.Fail("role", `must be "user" or "assistant", got %q`, role)
	}
	return chat.Message{
		Role: roles[role], Raw: o.Raw, Form: chat.FormAnthropic,
		Parts: o.Content("content", contentParser(role)),
	}
}

// contentParser returns the function that decodes a block of a message with a role. A
// block of an unknown type is for a provider of this API.
func contentParser(role string) func(*wire.Object) chat.Part {
	return func(o *wire.Object) chat.Part {
		p := chat.Part{Kind: chat.PartOther, Raw: o.Raw, Form: chat.FormAnthropic}
		switch o.Required("type") {
		case "text":
			p.Kind, p.Text = chat.PartText, o.Text("text")
			o.Need("text", wire.String)
		case "image":
			if image := parseImage(o); image != nil {
				p.Kind, p.Image = chat.PartImage, image
			}
		case "document":
			if file := parseDocument(o); file != nil {
				p.Kind, p.File = chat.PartFile, file
			}
		case "thinking":
			p.Kind, p.Text = chat.PartThinking, o.Text("thinking")
			o.Need("thinking", wire.String)
			if o.Text("signature") == "" { // another provider's, written by the runtime
				p.Raw = nil
			}
		case "redacted_thinking":
			p.Kind = chat.PartThinking
		case "tool_use":
			if role != "assistant" {
				o.Fail("type", "tool_use is allowed in assistant messages only")
			}
			p.Kind, p.Call = chat.PartCall, parseCall(o)
		case "tool_result":
			if role != "user" {
				o.Fail("type", "tool_result is allowed in user messages only")
			}
			p.Kind, p.Result = chat.PartResult, parseResult(o)
		}
		return p
	}
}

// parseImage returns nil for an image in a file, which only Anthropic supports.
func parseImage(o *wire.Object) *chat.Image {
	o.Need("source", "an object")
	source := o.Object("source")
	switch source.Required("type") {
	case "base64":
		return &chat.Image{MediaType: source.Required("media_type"), Data: source.Required("data")}
	case "url":
		return &chat.Image{URL: source.Required("url")}
	}
	return nil
}

// parseDocument returns nil for a document that only Anthropic supports.
func parseDocument(o *wire.Object) *chat.File {
	o.Need("source", "an object")
	source := o.Object("source")
	file := &chat.File{Name: o.Text("title"), Path: o.Path("")}
	switch source.Required("type") {
	case "base64":
		file.MediaType, file.Data = source.Required("media_type"), source.Required("data")
	case "text":
		file.MediaType, file.Data = "text/plain", base64.StdEncoding.EncodeToString([]byte(source.Required("data")))
	case "url":
		file.URL = source.Required("url")
	default:
		return nil
	}
	return file
}

func parseCall(o *wire.Object) *chat.Call {
	call := &chat.Call{ID: o.Required("id"), Name: o.Required("name"), Arguments: string(o.Fields["input"])}
	if !wire.IsObject(o.Fields["input"]) {
		o.Fail("input", "must be an object")
	}
	return call
}

func parseResult(o *wire.Object) *chat.CallResult {
	result := &chat.CallResult{ID: o.Required("tool_use_id")}
	o.Read("is_error", wire.Bool, &result.Error)
	if o.Has("content") {
		result.Parts = o.Content("content", contentParser("tool_result"))
	}
	result.Found = references(result.Parts)
	return result
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
