package openai

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

func parseMessage(o *wire.Object) chat.Message {
	m := chat.Message{Role: chat.Role(o.Required("role")), Raw: o.Raw, Form: chat.FormOpenAI}
	switch m.Role {
	case "system", "developer":
		m.Role = chat.RoleSystem
		m.Parts = o.Content("content", parser(onlyText))
	case "user":
		m.Parts = o.Content("content", parser(anything))
	case "assistant":
		m.Parts = parseAnswer(o)
	case "tool":
		result := &chat.CallResult{ID: o.Required("tool_call_id"), Parts: o.Content("content", parser(orImage))}
		m.Parts = []chat.Part{{Kind: chat.PartResult, Result: result}}
	case "function": // refused by package translation
	default:
		o.Fail("role", "must be system, developer, user, assistant or tool, got %q", m.Role)
	}
	return m
}

// allowed are the kinds of parts that a message may have in addition to text.
type allowed int

const (
	onlyText allowed = iota
	orRefusal
	orImage
	anything // with a type: the provider decides about unknown ones
)

// parser returns the function that decodes a part.
func parser(may allowed) func(*wire.Object) chat.Part {
	return func(o *wire.Object) chat.Part {
		switch kind := o.Required("type"); {
		case kind == "text":
			o.Need("text", wire.String)
			return chat.Part{Kind: chat.PartText, Text: o.Text("text")}
		case kind == "refusal" && may == orRefusal:
			o.Need("refusal", wire.String)
			return chat.Part{Kind: chat.PartRefusal, Text: o.Text("refusal")}
		case kind == "file" && may == anything:
			return chat.Part{Kind: chat.PartFile, File: parseFile(o), Raw: o.Raw, Form: chat.FormOpenAI}
		case kind == "image_url" && may >= orImage:
			return chat.Part{Kind: chat.PartImage, Image: parseImage(o.Object("image_url"))}
		case may != anything:
			o.Fail("type", "is %q, which is not allowed in a message of this role", kind)
		}
		return chat.Part{Kind: chat.PartOther, Raw: o.Raw, Form: chat.FormOpenAI}
	}
}

func parseImage(o *wire.Object) *chat.Image {
	target := o.Required("url")
	image := &chat.Image{Detail: o.Text("detail")}
	scheme, rest, _ := strings.Cut(target, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		image.URL = target
	case "data":
		media, data, ok := strings.Cut(rest, ";base64,")
		if !ok || !strings.Contains(media, "/") {
			o.Fail("url", "must be data:image/…;base64,… (RFC 2397)")
		}
		image.MediaType, image.Data = media, data
	default:
		o.Fail("url", "must begin with http:, https: or data:")
	}
	return image
}

// parseFile decodes a file: its data, as base64 or as a data: URL (RFC 2397), or its id
// at OpenAI.
func parseFile(o *wire.Object) *chat.File {
	o.Need("file", "an object")
	inner := o.Object("file")
	file := &chat.File{
		Name: inner.Text("filename"), ID: inner.Text("file_id"), Form: chat.FormOpenAI,
		Path: inner.Path(""),
	}
	file.MediaType, file.Data = wire.FileData(inner.Text("file_data"), file.Name)
	return file
}

// parseAnswer decodes an earlier answer of a model. Servers other than OpenAI's return
// and accept reasoning_content.
func parseAnswer(o *wire.Object) []chat.Part {
	var parts []chat.Part
	if text := o.Text("reasoning_content"); text != "" {
		parts = append(parts, chat.Part{Kind: chat.PartThinking, Text: text})
	}
	if text := o.Text("refusal"); text != "" {
		parts = append(parts, chat.Part{Kind: chat.PartRefusal, Text: text})
	}
	calls := o.Objects("tool_calls", "calls", chat.MaxParts)
	switch {
	case o.Has("content"):
		parts = append(parts, o.Content("content", parser(orRefusal))...)
	case len(parts) == 0 && len(calls) == 0 && !o.Has("audio") && !o.Has("function_call"):
		o.Fail("content", "is missing, and so is tool_calls")
	}
	for _, call := range calls {
		parts = append(parts, parseCall(call))
	}
	return parts
}

// parseCall decodes a function call; calls of other tools stay as they are.
func parseCall(o *wire.Object) chat.Part {
	if o.Required("type") != "function" {
		return chat.Part{Kind: chat.PartOther, Raw: o.Raw, Form: chat.FormOpenAI}
	}
	f := o.Object("function")
	call := &chat.Call{ID: o.Required("id"), Name: f.Required("name"), Arguments: f.Text("arguments")}
	return chat.Part{Kind: chat.PartCall, Call: call}
}
