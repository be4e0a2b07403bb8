package responses

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// fields decodes an object of a request key by key and retains the first error. Keys
// are case-sensitive, as at OpenAI.
type fields struct {
	path   string // of the object, with a trailing dot, or ""
	values map[string]json.RawMessage
	err    *chat.Error
}

// object opens raw, the value at path.
func object(path string, raw json.RawMessage) *fields {
	f := &fields{}
	if err := json.Unmarshal(raw, &f.values); err != nil || f.values == nil {
		f.err = chat.Invalid(path, "%s must be an object", path)
	}
	if path != "" {
		f.path = path + "."
	}
	return f
}

// has reports whether the key is present and not null.
func (f *fields) has(key string) bool {
	raw, ok := f.values[key]
	return ok && !isNull(raw)
}

// read decodes a key of the type described by want; an absent or null one leaves into
// unchanged.
func (f *fields) read(key, want string, into any) {
	if !f.has(key) {
		return
	}
	if err := json.Unmarshal(f.values[key], into); err != nil {
		f.fail(key, "%s must be %s", f.path+key, want)
	}
}

// text decodes a string.
func (f *fields) text(key string) string {
	var text string
	f.read(key, "a string", &text)
	return text
}

// required decodes a string that must be present and not empty.
func (f *fields) required(key string) string {
	text := f.text(key)
	if text == "" {
		f.fail(key, "%s is missing", f.path+key)
	}
	return text
}

// list decodes an array of at most limit elements.
func (f *fields) list(key string, limit int) []json.RawMessage {
	var list []json.RawMessage
	f.read(key, "an array", &list)
	if len(list) > limit {
		f.fail(key, "%s has %d elements; at most %d", f.path+key, len(list), limit)
		return nil
	}
	return list
}

// fail records an error of a key, unless there is one already.
func (f *fields) fail(key, format string, args ...any) {
	if f.err == nil {
		f.err = chat.Invalid(f.path+key, format, args...)
	}
}

// also records an error of a nested object.
func (f *fields) also(err *chat.Error) {
	if f.err == nil {
		f.err = err
	}
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// isString reports whether raw is a JSON string.
func isString(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}

// at returns the path of an element.
func at(path string, index int) string { return fmt.Sprintf("%s[%d]", path, index) }

// encode returns a value as JSON, with <, > and & unescaped.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
