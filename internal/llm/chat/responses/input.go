package responses

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// input collects the messages of a request's items.
type input struct {
	lookup     func(id string) (json.RawMessage, bool) // of referenced items; nil leaves references
	messages   []chat.Message
	items      [][]json.RawMessage // of each message, as written
	references bool
}

// parseInput decodes input: a text, or a list of items. lookup resolves references to
// items; nil leaves them.
func parseInput(raw json.RawMessage, lookup func(string) (json.RawMessage, bool)) (*input, *chat.Error) {
	in := &input{lookup: lookup}
	f := &fields{values: map[string]json.RawMessage{"input": raw}}
	switch {
	case len(raw) == 0 || isNull(raw):
		f.fail("input", "input is missing")
	case isString(raw):
		in.messages = []chat.Message{chat.Text(chat.RoleUser, f.text("input"))}
		return in, f.err
	default:
		for i, item := range f.list("input", chat.MaxMessages) {
			in.item(at("input", i), item, f)
		}
	}
	return in.close(), f.err
}

// close sets Raw of each message to the array of items.
func (in *input) close() *input {
	for i, items := range in.items {
		in.messages[i].Raw, in.messages[i].Form = join(items), chat.FormResponses
	}
	return in
}

// join returns an array of items, which stay as written.
func join(items []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(asBytes(items), []byte(",")), []byte("]"))
}

func asBytes(items []json.RawMessage) [][]byte {
	all := make([][]byte, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// item decodes the item at path.
func (in *input) item(path string, raw json.RawMessage, f *fields) {
	o := object(path, raw)
	defer func() { f.also(o.err) }()
	kind := o.text("type")
	switch {
	case o.err != nil:
	case kind == "message" || kind == "" && o.has("role"):
		in.message(o, raw)
	case kind == "function_call":
		in.assistant(chat.Part{Kind: chat.PartCall, Call: parseCall(o)}, raw)
	case kind == "function_call_output":
		in.add(chat.Message{Role: chat.RoleTool, Parts: []chat.Part{{Kind: chat.PartResult, Result: parseResult(o)}}}, raw)
	case kind == "reasoning":
		in.reasoning(o, raw)
	case kind == "item_reference" || kind == "" && o.has("id"):
		in.reference(path, o, raw, f)
	case kind == "":
		o.fail("type", "%stype is missing", o.path)
	default:
		in.other(kind, raw)
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

func (in *input) message(o *fields, raw json.RawMessage) {
	role := chat.Role(o.required("role"))
	parts := parseContent(o)
	switch role {
	case chat.RoleUser, chat.RoleSystem:
		in.add(chat.Message{Role: role, Parts: parts}, raw)
	case "developer":
		in.add(chat.Message{Role: chat.RoleSystem, Parts: parts}, raw)
	case chat.RoleAssistant:
		in.add(chat.Message{Role: role, Parts: parts}, raw)
		in.merge()
	default:
		o.fail("role", "%srole is %q; it must be user, assistant, system or developer", o.path, role)
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
func (in *input) reasoning(o *fields, raw json.RawMessage) {
	part := chat.Part{Kind: chat.PartThinking, Text: parseThinking(o), Raw: raw, Form: chat.FormResponses}
	if form, inner, ok := unseal(o.text("encrypted_content")); ok {
		part.Raw, part.Form = inner, form
	}
	in.assistant(part, raw)
}

// reference resolves an item_reference.
func (in *input) reference(path string, o *fields, raw json.RawMessage, f *fields) {
	id := o.required("id")
	in.references = true
	if in.lookup == nil {
		in.other("item_reference", raw)
		return
	}
	found, ok := in.lookup(id)
	if !ok {
		o.fail("id", "item %q not found: it may have expired, or its answer was not stored; send the whole item", id)
		return
	}
	in.item(path, found, f)
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

func parseCall(o *fields) *chat.Call {
	return &chat.Call{ID: o.required("call_id"), Name: o.required("name"), Namespace: o.text("namespace"), Arguments: o.text("arguments")}
}

func parseResult(o *fields) *chat.CallResult {
	r := &chat.CallResult{ID: o.required("call_id"), Name: o.text("name")}
	if !o.has("output") {
		o.fail("output", "%soutput is missing", o.path)
		return r
	}
	r.Parts = parseParts(o, "output")
	return r
}

// parseThinking returns the text of a reasoning item: its summary, else its content.
// Parts become paragraphs.
func parseThinking(o *fields) string {
	for _, key := range []string{"summary", "content"} {
		var parts []struct{ Text string }
		o.read(key, "an array of objects with text", &parts)
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

func parseContent(o *fields) []chat.Part {
	if !o.has("content") {
		o.fail("content", "%scontent is missing", o.path)
		return nil
	}
	return parseParts(o, "content")
}

// parseParts decodes a text or a list of parts.
func parseParts(o *fields, key string) []chat.Part {
	if isString(o.values[key]) {
		return []chat.Part{{Kind: chat.PartText, Text: o.text(key)}}
	}
	parts := []chat.Part{}
	for i, raw := range o.list(key, chat.MaxParts) {
		p := object(at(o.path+key, i), raw)
		parts = append(parts, parsePart(p, raw))
		o.also(p.err)
	}
	return parts
}

// parsePart decodes one part; only Raw is set for files and unknown types.
func parsePart(o *fields, raw json.RawMessage) chat.Part {
	switch kind := o.required("type"); {
	case kind == "input_text" || kind == "output_text" || kind == "text":
		if !o.has("text") {
			o.fail("text", "%stext is missing", o.path)
		}
		return chat.Part{Kind: chat.PartText, Text: o.text("text")}
	case kind == "refusal":
		return chat.Part{Kind: chat.PartRefusal, Text: o.text("refusal")}
	case kind == "input_image" && !o.has("file_id"):
		return chat.Part{Kind: chat.PartImage, Image: parseImage(o)}
	}
	return chat.Part{Kind: chat.PartOther, Raw: raw, Form: chat.FormResponses}
}

func parseImage(o *fields) *chat.Image {
	url := o.required("image_url")
	image := &chat.Image{Detail: o.text("detail")}
	if head, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(head, "data:image/") {
		image.MediaType, image.Data = strings.TrimPrefix(head, "data:"), data
		return image
	}
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		o.fail("image_url", "%simage_url must be an http or https URL, or data:image/…;base64,…", o.path)
	}
	image.URL = url
	return image
}
