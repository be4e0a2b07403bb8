// Package wire has what the APIs of chats share: the fields of a client's request, with
// errors that name them; the body of a request to a provider; server-sent events; and
// OpenAI's errors.
//
//	o, err := wire.Parse(body, "%s[%d]")
//	...
//	r.Model = o.Required("model")
//	o.Read("stream", wire.Bool, &r.Stream)
//	return r, o.Err()
package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// IsNull reports whether raw is null.
func IsNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// IsObject reports whether raw is one whole JSON object.
func IsObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// Quote returns text as a JSON string, with <, > and & unescaped.
func Quote(text string) json.RawMessage {
	raw, _ := tools.Encode(text) // encoding a string cannot fail
	return raw
}

// Join returns a JSON list of JSON values.
func Join[T ~[]byte](values []T) json.RawMessage {
	size := len("[]") + len(values)
	for _, v := range values {
		size += len(v)
	}
	out := append(make(json.RawMessage, 0, size), '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// TypeOf returns the field type of an object, or "".
func TypeOf(raw json.RawMessage) string {
	var object struct{ Type string }
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	return object.Type
}

// Body is the body of a request to a provider. Equal bodies have equal bytes.
type Body struct {
	Fields map[string]json.RawMessage
	Err    error // the first one
}

// Fail records an error, unless there is one.
func (b *Body) Fail(err error) {
	if b.Err == nil {
		b.Err = err
	}
}

// Set encodes a field.
func (b *Body) Set(name string, value any) {
	raw, err := tools.Encode(value)
	b.Fail(err)
	b.Fields[name] = raw
}

// Render returns the object: the first fields in order, the others by name, and the last
// one.
func (b *Body) Render(first []string, last string) ([]byte, error) {
	if b.Err != nil {
		return nil, b.Err
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(b.Fields)), func(name string) bool {
		return name == last || slices.Contains(first, name)
	})
	var o Writer
	size := 0
	for name, raw := range b.Fields {
		size += len(name) + len(raw) + len(`"":,`)
	}
	o.Grow(size + len("{}"))
	for _, name := range slices.Concat(first, others, []string{last}) {
		if raw, ok := b.Fields[name]; ok {
			quoted := Quote(name) // a client's field can have any name
			o.Raw(string(quoted[1:len(quoted)-1]), raw)
		}
	}
	return o.End(), nil
}

// Writer writes a JSON object with fields in order. Values that are JSON already are
// copied.
type Writer struct{ bytes.Buffer }

// Raw writes a field, whose name needs no escapes.
func (o *Writer) Raw(name string, value []byte) {
	o.next()
	o.WriteString(`"` + name + `":`)
	o.Write(value)
}

// Value writes a field whose value cannot fail to encode.
func (o *Writer) Value(name string, value any) {
	encoded, _ := tools.Encode(value)
	o.Raw(name, encoded)
}

// Fields writes the fields of another object.
func (o *Writer) Fields(other []byte) {
	inner := bytes.TrimSpace(bytes.TrimSpace(other)[1:])
	if inner[0] != '}' {
		o.next()
		o.Write(inner[:len(inner)-1])
	}
}

func (o *Writer) next() {
	if o.Len() == 0 {
		o.WriteByte('{')
	} else {
		o.WriteByte(',')
	}
}

// End returns the object.
func (o *Writer) End() []byte {
	if o.Len() == 0 {
		return []byte("{}")
	}
	o.WriteByte('}')
	return o.Bytes()
}

// Events writes server-sent events. Add collects them and Flush writes them at once.
type Events struct {
	to   io.Writer
	buf  bytes.Buffer
	json *json.Encoder
}

// NewEvents returns a writer of events.
func NewEvents(to io.Writer) *Events {
	e := &Events{to: to}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}

// Add adds an event with JSON data; name may be "".
func (e *Events) Add(name string, data any) error {
	before := e.buf.Len()
	if name != "" {
		e.buf.WriteString("event: " + name + "\n")
	}
	e.buf.WriteString("data: ")
	if err := e.json.Encode(data); err != nil {
		e.buf.Truncate(before)
		return err
	}
	e.buf.WriteByte('\n') // Encode has ended the line
	return nil
}

// AddText adds an event with text.
func (e *Events) AddText(data string) { e.buf.WriteString("data: " + data + "\n\n") }

// Flush writes the events.
func (e *Events) Flush() error {
	if e.buf.Len() == 0 {
		return nil
	}
	_, err := e.to.Write(e.buf.Bytes())
	e.buf.Reset()
	return err
}

// Error is the error object of OpenAI's APIs; an empty param or code is null.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// openAIErrors are the type and code of errors for which OpenAI has other names; all
// others are a server_error with our code.
var openAIErrors = map[errcode.Code]struct{ kind, code string }{
	errcode.InvalidRequest:  {"invalid_request_error", ""},
	errcode.ModelNotFound:   {"invalid_request_error", "model_not_found"},
	errcode.RequestTooLarge: {"invalid_request_error", "request_too_large"},
	errcode.RateLimited:     {"rate_limit_error", "rate_limit_exceeded"},
	audit.Unauthorized:      {"invalid_request_error", "invalid_api_key"},
	audit.Denied:            {"invalid_request_error", "insufficient_permissions"},
}

// NewError returns an error in OpenAI's form.
func NewError(e *chat.Error) Error {
	names, ok := openAIErrors[e.Code]
	if !ok {
		names.kind, names.code = "server_error", string(e.Code)
	}
	param := e.Param
	if e.Code == errcode.ModelNotFound && param == "" {
		param = "model"
	}
	return Error{e.Message, names.kind, OrNull(param), OrNull(names.code)}
}

// Encode returns {"error": …}.
func (e Error) Encode() []byte {
	body, _ := tools.Encode(struct { // strings cannot fail to encode
		Error Error `json:"error"`
	}{e})
	return body
}

// OrNull returns nil for "".
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
