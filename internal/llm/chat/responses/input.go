package responses

import (
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// input collects the messages of a request's items.
type input struct {
	lookup     func(id string) (json.RawMessage, bool) // of referenced items; nil leaves references
	messages   []chat.Message
	items      [][]json.RawMessage // of each message, as written
	references bool
	spoke      bool       // a message that is not the system's came
	uses       []chat.Use // of positions and of referenced items
}

// parseInput decodes input: a text, or a list of items. lookup resolves references to
// items; nil leaves them.
func parseInput(o *wire.Object, lookup func(string) (json.RawMessage, bool)) *input {
	in := &input{lookup: lookup}
	switch {
	case !o.Need("input", "a string or a list"):
	case o.Is("input"):
		in.messages = []chat.Message{chat.Text(chat.RoleUser, o.Text("input"))}
	default:
		items := o.Objects("input", "items", chat.MaxMessages)
		for _, item := range items {
			in.item(item)
		}
		if len(items) == 0 {
			o.Fail("input", "is empty: at least one item is required")
		}
	}
	for i, items := range in.items {
		in.messages[i].Raw, in.messages[i].Form = wire.Join(items), chat.FormResponses
	}
	return in
}

// item decodes an item.
func (in *input) item(o *wire.Object) {
	switch kind := o.Text("type"); {
	case kind == "message" || kind == "" && o.Has("role"):
		in.message(o)
	case kind == "function_call":
		in.assistant(chat.Part{Kind: chat.PartCall, Call: parseCall(o)}, o.Raw)
	case kind == "function_call_output":
		in.add(chat.Message{Role: chat.RoleTool, Parts: []chat.Part{{Kind: chat.PartResult, Result: parseResult(o)}}}, o.Raw)
	case kind == "reasoning":
		in.reasoning(o)
	case kind == "item_reference" || kind == "" && o.Has("id"):
		in.reference(o)
	case kind == "":
		o.Need("type", wire.String)
	default:
		in.other(kind, o.Raw)
	}
}

// add begins a message.
func (in *input) add(m chat.Message, raw json.RawMessage) {
	in.messages = append(in.messages, m)
	in.items = append(in.items, []json.RawMessage{raw})
}

// assistant appends to the assistant's message: the Responses API has consecutive items
// where other APIs have one message.
func (in *input) assistant(p chat.Part, raw json.RawMessage) {
	last := len(in.messages) - 1
	if last < 0 || in.messages[last].Role != chat.RoleAssistant || len(in.messages[last].Parts) >= chat.MaxParts {
		in.add(chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{p}}, raw)
		return
	}
	in.messages[last].Parts = append(in.messages[last].Parts, p)
	in.items[last] = append(in.items[last], raw)
}

func (in *input) message(o *wire.Object) {
	m := chat.Message{Role: chat.Role(o.Required("role")), Parts: o.Content("content", parsePart)}
	switch m.Role {
	case chat.RoleUser, chat.RoleSystem, chat.RoleAssistant:
	case "developer":
		m.Role = chat.RoleSystem
	default:
		o.Fail("role", "is %q; it must be user, assistant, system or developer", m.Role)
	}
	if m.Role == chat.RoleSystem && in.spoke {
		in.uses = append(in.uses, translation.Note("input[system later]", o.Path("")))
	}
	in.spoke = in.spoke || m.Role != chat.RoleSystem
	in.add(m, o.Raw)
	if m.Role == chat.RoleAssistant {
		in.merge()
	}
}

// merge joins the last message with the assistant's message before it.
func (in *input) merge() {
	last := len(in.messages) - 1
	if last == 0 || in.messages[last-1].Role != chat.RoleAssistant ||
		len(in.messages[last-1].Parts)+len(in.messages[last].Parts) > chat.MaxParts {
		return
	}
	before := &in.messages[last-1]
	before.Parts = append(before.Parts, in.messages[last].Parts...)
	in.items[last-1] = append(in.items[last-1], in.items[last]...)
	in.messages, in.items = in.messages[:last], in.items[:last]
}

// reasoning decodes a reasoning item. Thinking of another provider in it is restored in
// that provider's form.
func (in *input) reasoning(o *wire.Object) {
	part := chat.Part{Kind: chat.PartThinking, Text: parseThinking(o), Raw: o.Raw, Form: chat.FormResponses}
	encrypted := o.Text("encrypted_content")
	form, inner, ok := unseal(encrypted)
	switch {
	case ok:
		part.Raw, part.Form = inner, form
		in.uses = append(in.uses, translation.Note("input[reasoning of Anthropic]", o.Path("")))
	case encrypted != "":
		in.uses = append(in.uses, translation.Note("input[reasoning of OpenAI]", o.Path("")))
	case part.Text != "" && !o.Has("content"):
		in.uses = append(in.uses, translation.Note("input[reasoning unencrypted]", o.Path("")))
	}
	in.assistant(part, o.Raw)
}

// reference resolves an item_reference.
func (in *input) reference(o *wire.Object) {
	id := o.Required("id")
	in.references = true
	if in.lookup == nil {
		in.other("item_reference", o.Raw)
		return
	}
	if found, ok := in.lookup(id); ok {
		in.item(o.At(found))
		for _, use := range usesOf([]json.RawMessage{found}) {
			use.Path = o.Path("id")
			in.uses = append(in.uses, use)
		}
	} else {
		o.Fail("id", "%q not found: it may have expired, or its answer was not stored; send the whole item", id)
	}
}

// other records an unknown item: as part of the assistant's message, or, if it is the
// result of a call, as a message of role tool.
func (in *input) other(kind string, raw json.RawMessage) {
	part := chat.Part{Kind: chat.PartOther, Raw: raw, Form: chat.FormResponses}
	if strings.HasSuffix(kind, "_output") || strings.HasSuffix(kind, "_response") {
		in.add(chat.Message{Role: chat.RoleTool, Parts: []chat.Part{part}}, raw)
		return
	}
	in.assistant(part, raw)
}

// usesOf returns the uses of items of earlier answers.
func usesOf(items []json.RawMessage) []chat.Use {
	o := wire.New(map[string]json.RawMessage{"input": wire.Join(items)}, element)
	in := parseInput(o, nil)
	uses := append(translation.Find(chat.FormResponses, o), in.uses...)
	for i := range uses {
		uses[i].Earlier = true
	}
	return uses
}

func parseCall(o *wire.Object) *chat.Call {
	return &chat.Call{
		ID: o.Required("call_id"), Name: o.Required("name"), Namespace: o.Text("namespace"),
		Arguments: o.Text("arguments"),
	}
}

func parseResult(o *wire.Object) *chat.CallResult {
	return &chat.CallResult{ID: o.Required("call_id"), Name: o.Text("name"), Parts: o.Content("output", parsePart)}
}

// parseThinking returns the text of a reasoning item: its summary, else its content.
// Parts become paragraphs.
func parseThinking(o *wire.Object) string {
	for _, key := range []string{"summary", "content"} {
		var parts []struct{ Text string }
		o.Read(key, "an array of objects with text", &parts)
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.Text
		}
		if text := strings.Join(texts, "\n\n"); text != "" {
			return text
		}
	}
	return ""
}

// parsePart decodes one part; only Raw is set for unknown types.
func parsePart(o *wire.Object) chat.Part {
	switch kind := o.Required("type"); {
	case kind == "input_text" || kind == "output_text" || kind == "text":
		o.Need("text", wire.String)
		return chat.Part{Kind: chat.PartText, Text: o.Text("text")}
	case kind == "refusal":
		return chat.Part{Kind: chat.PartRefusal, Text: o.Text("refusal")}
	case kind == "input_image" && !o.Has("file_id"):
		return chat.Part{Kind: chat.PartImage, Image: parseImage(o)}
	case kind == "input_file":
		return chat.Part{Kind: chat.PartFile, File: parseFile(o), Raw: o.Raw, Form: chat.FormResponses}
	}
	return chat.Part{Kind: chat.PartOther, Raw: o.Raw, Form: chat.FormResponses}
}

func parseFile(o *wire.Object) *chat.File {
	file := &chat.File{
		Name: o.Text("filename"), ID: o.Text("file_id"), URL: o.Text("file_url"), Form: chat.FormResponses,
		Path: o.Path(""),
	}
	file.MediaType, file.Data = wire.FileData(o.Text("file_data"), file.Name)
	if file.ID == "" && file.URL == "" && file.Data == "" {
		o.Fail("file_data", "is missing, and so are file_url and file_id")
	}
	return file
}

func parseImage(o *wire.Object) *chat.Image {
	url := o.Required("image_url")
	image := &chat.Image{Detail: o.Text("detail")}
	if head, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(head, "data:image/") {
		image.MediaType, image.Data = strings.TrimPrefix(head, "data:"), data
		return image
	}
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		o.Fail("image_url", "must be an http or https URL, or data:image/…;base64,…")
	}
	image.URL = url
	return image
}
