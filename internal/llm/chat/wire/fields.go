package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// What a field must be, for [Object.Read].
const (
	String  = "a string"
	Bool    = "true or false"
	Number  = "a number"
	Integer = "an integer"
)

// maxShown is how many bytes of a value an error shows.
const maxShown = 40

// Object is a JSON object of a request. Its methods decode fields by name; the names are
// case-sensitive. [Object.Err] returns the first error of the whole request, for each
// object in it; the values read after an error are arbitrary.
type Object struct {
	Raw    json.RawMessage
	Fields map[string]json.RawMessage
	path   string // of the object; "" is the request
	shared *shared
	inner  map[string][]*Object // decoded before, by field; a list's name ends in []
}

// shared is what the objects of a request have in common.
type shared struct {
	element string // format of the path of an element: "%s[%d]"
	err     *chat.Error
}

// Parse decodes the body of a request. element is the format of the path of an element
// of a list, such as "%s[%d]".
func Parse(body []byte, element string) (*Object, error) {
	if len(body) > chat.MaxRequestBytes {
		return nil, &chat.Error{
			Code:    errcode.RequestTooLarge,
			Message: fmt.Sprintf("the request has %d bytes; at most %d", len(body), chat.MaxRequestBytes),
		}
	}
	o := New(nil, element)
	err := json.Unmarshal(body, &o.Fields)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, chat.Invalid("", "the body is not JSON: %s at byte %d", syntax, syntax.Offset)
	case err != nil || o.Fields == nil:
		return nil, chat.Invalid("", "the body must be a JSON object")
	}
	return o, nil
}

// New returns a request of fields.
func New(fields map[string]json.RawMessage, element string) *Object {
	return &Object{Fields: fields, shared: &shared{element: element}}
}

// At returns the object in raw, at the path of o.
func (o *Object) At(raw json.RawMessage) *Object {
	inner := &Object{Raw: raw, path: o.path, shared: o.shared}
	if json.Unmarshal(raw, &inner.Fields) != nil || inner.Fields == nil {
		inner.fail(o.path, "must be an object, got %s", truncate.Ellipsis(string(raw), maxShown))
	}
	return inner
}

// Object returns the object in a field. It has no fields if the field is missing or
// null.
func (o *Object) Object(name string) *Object {
	inner := &Object{path: o.Path(name), shared: o.shared}
	if !o.Has(name) {
		return inner
	}
	if before := o.inner[name]; len(before) == 1 {
		return before[0]
	}
	inner = inner.At(o.Fields[name])
	o.remember(name, []*Object{inner})
	return inner
}

// remember keeps the objects of a field, so that a body is decoded once however often it
// is walked.
func (o *Object) remember(name string, inner []*Object) {
	if o.inner == nil {
		o.inner = map[string][]*Object{}
	}
	o.inner[name] = inner
}

// Objects returns the objects in a list of at most limit. what is their plural, for the
// error.
func (o *Object) Objects(name, what string, limit int) []*Object {
	if before, ok := o.inner[name+"[]"]; ok && len(before) <= limit {
		return before
	}
	var list []json.RawMessage
	o.Read(name, "a list", &list)
	if len(list) > limit {
		o.Fail(name, "has %d %s; at most %d", len(list), what, limit)
		return nil
	}
	objects := make([]*Object, 0, len(list))
	for i, raw := range list {
		element := &Object{path: fmt.Sprintf(o.shared.element, o.Path(name), i), shared: o.shared}
		objects = append(objects, element.At(raw))
	}
	o.remember(name+"[]", objects)
	return objects
}

// Content returns the parts of a field: one of text if it is a string, else those that
// parse returns for the objects in a list.
func (o *Object) Content(name string, parse func(*Object) chat.Part) []chat.Part {
	switch raw := bytes.TrimSpace(o.Fields[name]); {
	case !o.Need(name, "a string or a list of parts"):
		return nil
	case raw[0] == '"':
		return []chat.Part{{Kind: chat.PartText, Text: o.Text(name)}}
	case raw[0] != '[':
		o.Fail(name, "must be a string or a list of parts, got %s", truncate.Ellipsis(string(raw), maxShown))
		return nil
	}
	parts := []chat.Part{}
	for _, part := range o.Objects(name, "parts", chat.MaxParts) {
		parts = append(parts, parse(part))
	}
	return parts
}

// Path returns the path of a field; that of the object for "".
func (o *Object) Path(name string) string {
	if o.path == "" || name == "" {
		return o.path + name
	}
	return o.path + "." + name
}

// Has reports whether a field is present and not null.
func (o *Object) Has(name string) bool {
	raw, ok := o.Fields[name]
	return ok && !IsNull(raw)
}

// Need is [Object.Has]; it is an error if the field, which must be want, is missing.
func (o *Object) Need(name, want string) bool {
	if !o.Has(name) {
		o.Fail(name, "is missing; it must be %s", want)
		return false
	}
	return true
}

// Is reports whether a field is a string.
func (o *Object) Is(name string) bool {
	raw := bytes.TrimSpace(o.Fields[name])
	return len(raw) > 0 && raw[0] == '"'
}

// Read decodes a field, which must be want. A missing one leaves into unchanged.
func (o *Object) Read(name, want string, into any) {
	if o.Has(name) && json.Unmarshal(o.Fields[name], into) != nil {
		o.Fail(name, "must be %s, got %s", want, truncate.Ellipsis(string(o.Fields[name]), maxShown))
	}
}

// Text decodes a string.
func (o *Object) Text(name string) (text string) {
	o.Read(name, String, &text)
	return text
}

// Required decodes a string that must not be empty.
func (o *Object) Required(name string) string {
	text := o.Text(name)
	if o.Need(name, String) && text == "" {
		o.Fail(name, "must not be empty")
	}
	return text
}

// Fail reports an error of a field; the path precedes the message.
func (o *Object) Fail(name, format string, args ...any) { o.fail(o.Path(name), format, args...) }

func (o *Object) fail(path, format string, args ...any) {
	if o.shared.err == nil {
		o.shared.err = chat.Invalid(path, "%s "+format, append([]any{path}, args...)...)
	}
}

// Only refuses the fields of the object that are not among these: they would be lost.
func (o *Object) Only(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		if !slices.Contains(names, name) {
			o.Fail(name, "is not known; the fields there are %s", strings.Join(names, ", "))
		}
	}
}

// Err returns the first error of the request, or nil.
func (o *Object) Err() error {
	if o.shared.err == nil {
		return nil
	}
	return o.shared.err
}
