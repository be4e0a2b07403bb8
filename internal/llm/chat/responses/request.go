package responses

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
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
	root       string // the first answer of the chain that it continues
}

// Root returns the first answer of the chain to which the request's answer, of that id,
// belongs.
func (r *Request) Root(id string) string { return cmp.Or(r.root, id) }

// known are the keys that have a neutral form or mean nothing to a provider; all others
// become Extra.
var known = []string{
	"model", "input", "instructions", "tools", "tool_choice", "stream", "stream_options", "store", "background",
	"conversation",
	"previous_response_id", "max_output_tokens", "temperature", "top_p", "parallel_tool_calls", "reasoning", "text",
}

// ParseRequest decodes the body of POST /v1/responses. Its errors are [*chat.Error] and
// name the field as OpenAI does: input[2].content[0].type.
func ParseRequest(body []byte) (*Request, error) {
	o, err := wire.Parse(body, element)
	if err != nil {
		return nil, err
	}
	r := &Request{Request: &chat.Request{Form: chat.FormResponses}, Store: true, raw: o.Fields}
	r.Model = o.Required("model")
	r.Instructions = o.Text("instructions")
	r.PreviousID = o.Text("previous_response_id")
	o.Read("store", wire.Bool, &r.Store)
	o.Read("stream", wire.Bool, &r.Stream)
	r.settings(o)
	r.Tools = parseTools(o)
	r.parseChoice(o)
	if r.Instructions != "" {
		r.Messages = append(r.Messages, chat.Text(chat.RoleSystem, r.Instructions))
	}
	in := parseInput(o, nil)
	r.Messages, r.references = append(r.Messages, in.messages...), in.references
	r.Uses = slices.Concat(translation.Find(chat.FormResponses, o), in.uses, r.Uses,
		translation.Warm(r.Settings.Temperature), translation.Shadowed(o.Text("user"), o.Text("safety_identifier")))
	if err := o.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// element is the format of the path of an element of a list.
const element = "%s[%d]"

// settings decodes the settings and sets aside unknown parts.
func (r *Request) settings(o *wire.Object) {
	s := &r.Settings
	r.Extra = maps.Clone(o.Fields)
	for _, key := range known {
		delete(r.Extra, key)
	}
	if o.Read("max_output_tokens", wire.Integer, &s.MaxTokens); o.Has("max_output_tokens") && s.MaxTokens < 1 {
		o.Fail("max_output_tokens", "must be at least 1")
	}
	o.Read("temperature", wire.Number, &s.Temperature)
	o.Read("top_p", wire.Number, &s.TopP)
	o.Read("parallel_tool_calls", wire.Bool, &s.ParallelCalls)
	s.User = cmp.Or(o.Text("user"), o.Text("safety_identifier"))
	s.Effort = r.nested(o, "reasoning", "effort").Text("effort")
	s.Format = nestFormat(r.nested(o, "text", "format"))
}

// nested returns an object with one field that has a neutral form; the rest of it stays
// in Extra.
func (r *Request) nested(o *wire.Object, key, taken string) *wire.Object {
	inner := o.Object(key)
	rest := maps.Clone(inner.Fields)
	delete(rest, taken)
	if raw, err := tools.Encode(rest); err == nil && len(rest) > 0 {
		r.Extra[key] = raw
	}
	return inner
}

// nestFormat converts text.format to response_format of chat completions, which nests a
// JSON schema one level deeper.
func nestFormat(o *wire.Object) json.RawMessage {
	if !o.Has("format") {
		return nil
	}
	inner := o.Object("format")
	kind := inner.Required("type")
	if kind != "json_schema" {
		return o.Fields["format"]
	}
	inner.Required("name")
	inner.Need("schema", "an object")
	schema := maps.Clone(inner.Fields)
	delete(schema, "type")
	nested, _ := tools.Encode(nestedFormat{kind, schema}) // its values are JSON already
	return nested
}

// nestedFormat is response_format of chat completions.
type nestedFormat struct {
	Type   string                     `json:"type"`
	Schema map[string]json.RawMessage `json:"json_schema"`
}

// flattenFormat is the inverse of nestFormat.
func flattenFormat(format json.RawMessage) json.RawMessage {
	var nested nestedFormat
	if err := json.Unmarshal(format, &nested); err != nil || nested.Type != "json_schema" || nested.Schema == nil {
		return format
	}
	nested.Schema["type"] = json.RawMessage(`"json_schema"`)
	flat, err := tools.Encode(nested.Schema)
	if err != nil {
		return format
	}
	return flat
}
