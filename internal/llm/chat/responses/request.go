package responses

import (
	"encoding/json"
	"maps"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Request is a request to POST /v1/responses.
type Request struct {
	*chat.Request
	// Instructions are also the first message, of role system. A request that names
	// this one's answer does not inherit them.
	Instructions string
	PreviousID   string // previous_response_id; [Store.Resume] loads its chain
	Store        bool   // whether later requests may name the answer; OpenAI's default is true

	raw        map[string]json.RawMessage // as written by the client, for the echo
	references bool                       // the input has items of type item_reference
	resumed    bool
}

// known are the keys that have a neutral form or mean nothing to a provider; all others
// become Extra.
var known = []string{
	"model", "input", "instructions", "tools", "tool_choice", "stream", "store", "background", "conversation",
	"previous_response_id", "max_output_tokens", "temperature", "top_p", "parallel_tool_calls", "reasoning", "text",
}

// ParseRequest decodes the body of POST /v1/responses. Its errors are [*chat.Error] and
// name the field as OpenAI does: input[2].content[0].type. Conversations and background
// responses are not supported.
func ParseRequest(body []byte) (*Request, error) {
	if len(body) > chat.MaxRequestBytes {
		return nil, &chat.Error{Code: errcode.RequestTooLarge, Message: "the request is larger than 64 MiB"}
	}
	f := &fields{}
	if err := json.Unmarshal(body, &f.values); err != nil || f.values == nil {
		return nil, chat.Invalid("", "the body must be a JSON object, with model and input")
	}
	r := &Request{Request: &chat.Request{Form: chat.FormResponses}, Store: true, raw: f.values}
	r.Model = f.required("model")
	r.Instructions = f.text("instructions")
	r.PreviousID = f.text("previous_response_id")
	f.read("store", "true or false", &r.Store)
	f.read("stream", "true or false", &r.Stream)
	f.refuse()
	r.settings(f)
	r.Tools = parseTools(f)
	r.Choice = parseChoice(f)
	r.Messages = r.messages(f)
	if f.err != nil {
		return nil, f.err
	}
	return r, nil
}

// refuse rejects unsupported features.
func (f *fields) refuse() {
	var background bool
	f.read("background", "true or false", &background)
	if background {
		f.fail("background", "background responses are not supported; leave background out and read the answer from the stream")
	}
	if f.has("conversation") {
		f.fail("conversation", "conversations are not supported; send the whole input, or previous_response_id")
	}
}

// settings decodes the settings and sets aside unknown parts.
func (r *Request) settings(f *fields) {
	s := &r.Settings
	r.Extra = maps.Clone(f.values)
	for _, key := range known {
		delete(r.Extra, key)
	}
	f.read("max_output_tokens", "an integer", &s.MaxTokens)
	if f.has("max_output_tokens") && s.MaxTokens < 1 {
		f.fail("max_output_tokens", "max_output_tokens must be at least 1")
	}
	f.read("temperature", "a number", &s.Temperature)
	f.read("top_p", "a number", &s.TopP)
	f.read("parallel_tool_calls", "true or false", &s.ParallelCalls)
	s.User = f.text("safety_identifier")
	if user := f.text("user"); user != "" {
		s.User = user
	}
	r.nested(f, "reasoning", func(inner *fields) { s.Effort = inner.text("effort") }, "effort")
	r.nested(f, "text", func(inner *fields) { s.Format = nestFormat(inner) }, "format")
}

// nested decodes the known part of an object; the rest of it stays in Extra.
func (r *Request) nested(f *fields, key string, read func(*fields), taken string) {
	if !f.has(key) {
		return
	}
	inner := object(f.path+key, f.values[key])
	if inner.err == nil {
		read(inner)
	}
	f.also(inner.err)
	rest := maps.Clone(inner.values)
	delete(rest, taken)
	if len(rest) == 0 {
		return
	}
	if raw, err := encode(rest); err == nil {
		r.Extra[key] = raw
	}
}

// messages returns the instructions and the input.
func (r *Request) messages(f *fields) []chat.Message {
	var messages []chat.Message
	if r.Instructions != "" {
		messages = append(messages, chat.Text(chat.RoleSystem, r.Instructions))
	}
	input, err := parseInput(f.values["input"], nil)
	if err != nil {
		f.also(err)
		return nil
	}
	r.references = input.references
	return append(messages, input.messages...)
}

// nestFormat converts text.format to response_format of chat completions, which nests a
// JSON schema one level deeper.
func nestFormat(f *fields) json.RawMessage {
	if !f.has("format") {
		return nil
	}
	inner := object(f.path+"format", f.values["format"])
	kind := inner.required("type")
	if kind != "json_schema" {
		f.also(inner.err)
		return f.values["format"]
	}
	inner.required("name")
	if !inner.has("schema") {
		inner.fail("schema", "%sschema is missing", inner.path)
	}
	f.also(inner.err)
	schema := maps.Clone(inner.values)
	delete(schema, "type")
	nested, err := encode(struct {
		Type   string                     `json:"type"`
		Schema map[string]json.RawMessage `json:"json_schema"`
	}{kind, schema})
	if err != nil {
		inner.fail("schema", "%sschema is not JSON", inner.path)
	}
	return nested
}

// flattenFormat is the inverse of nestFormat.
func flattenFormat(format json.RawMessage) json.RawMessage {
	var nested struct {
		Type   string                     `json:"type"`
		Schema map[string]json.RawMessage `json:"json_schema"`
	}
	if err := json.Unmarshal(format, &nested); err != nil || nested.Type != "json_schema" || nested.Schema == nil {
		return format
	}
	nested.Schema["type"] = json.RawMessage(`"json_schema"`)
	flat, err := encode(nested.Schema)
	if err != nil {
		return format
	}
	return flat
}
