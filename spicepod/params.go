package spicepod

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// Params is a `params:` map. Strings in it, at any depth, are Text; other
// values are json.Number, bool, nil, []any and map[string]any (.inf and .nan
// are float64). Printing a Params prints references, never secrets.
type Params map[string]any

// Param declares one key of params.
type Param struct {
	Name   string
	Type   ParamType
	Secret bool // a key, or another value that messages must not show if it is a reference
	Doc    string
}

// ParamNames returns the names of params.
func ParamNames(params []Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// ParamType is what a param takes. Scalars may be written as text.
type ParamType int

// Types of params, with the Go type that [Params.Value] returns.
const (
	ParamText     ParamType = iota // string
	ParamBool                      // bool
	ParamInt                       // int
	ParamNumber                    // float64, finite
	ParamDuration                  // time.Duration
	ParamSize                      // Size
	ParamFlag                      // bool, or string
	ParamTexts                     // []string
	ParamTextMap                   // map[string]string
	ParamTextsMap                  // []string or map[string]string
	ParamObject                    // map[string]any
)

// String returns what the type takes, for messages.
func (t ParamType) String() string {
	return [...]string{
		"text", "true or false", "a whole number", "a number", "a duration such as 30s", "a size such as 128MiB",
		"true, false or text",
		"text or a list of texts", "a mapping of names to values", "a mapping of names to values, or a list of texts",
		"a mapping, or JSON of one",
	}[t]
}

// ParamError is what is wrong with one param.
type ParamError struct {
	Key     string
	Unknown bool // the key is wrong, not its value
	Message string
	Hint    string
}

// Error returns the message. It holds no secret.
func (e *ParamError) Error() string { return e.Message }

// Has reports whether the key is written with a value other than null.
func (p Params) Has(key string) bool { return p[key] != nil }

// Unknown returns an error for each key that is not one of known, sorted by
// key. The owner is what takes the params, such as "a model from openai".
func (p Params) Unknown(owner string, known []string) (list []*ParamError) {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if slices.Contains(known, key) {
			continue
		}
		hint := "known here: " + strings.Join(known, ", ")
		if near := nearest.Name(key, known); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		list = append(list, &ParamError{key, true, fmt.Sprintf("unknown param %q of %s", key, owner), hint})
	}
	return list
}

// CheckKnown returns one error, at the first key that is not one of known, which names them
// all; nil if there is none. See [Params.Unknown].
func (p Params) CheckKnown(owner string, known []string) error {
	list := p.Unknown(owner, known)
	if len(list) == 0 {
		return nil
	}
	keys := make([]string, len(list))
	for i, e := range list {
		keys[i] = strconv.Quote(e.Key)
	}
	if len(keys) > 1 {
		list[0].Message = fmt.Sprintf("unknown params %s of %s", strings.Join(keys, ", "), owner)
	}
	return list[0]
}

// String returns the revealed text of a scalar, or "" when the key is absent.
// Numbers and booleans are returned as written.
func (p Params) String(key string) (string, error) { return valueOr(p, key, ParamText, "") }

// Int returns a whole number, or fallback when the key is absent.
func (p Params) Int(key string, fallback int) (int, error) {
	return valueOr(p, key, ParamInt, fallback)
}

// Duration returns a length of time as ParseDuration reads it, or fallback
// when the key is absent.
func (p Params) Duration(key string, fallback time.Duration) (time.Duration, error) {
	return valueOr(p, key, ParamDuration, fallback)
}

// valueOr is Value of a type, or fallback when the key is absent.
func valueOr[T any](p Params, key string, t ParamType, fallback T) (T, error) {
	if !p.Has(key) {
		return fallback, nil
	}
	v, err := p.Value(key, t)
	if err != nil {
		return fallback, err
	}
	return v.(T), nil
}

// Value returns the value of a key with references revealed, as the Go type
// that t names. An error is a [*ParamError].
func (p Params) Value(key string, t ParamType) (any, error) {
	switch v := p[key].(type) {
	case []any:
		if t == ParamTexts || t == ParamTextsMap {
			return p.texts(key, v, t)
		}
	case map[string]any:
		switch t {
		case ParamTextMap, ParamTextsMap:
			return p.textMap(key, v, t)
		case ParamObject:
			return MapTexts(v, Text.Reveal), nil
		}
	default:
		if text, ok := scalar(v); ok {
			if value, err := t.parse(text); err == nil {
				return value, nil
			}
		}
	}
	return nil, p.wrong(key, t, p[key], "")
}

var errParamType = errors.New("not of this type")

// parse reads a scalar.
func (t ParamType) parse(text string) (any, error) {
	switch t {
	case ParamText:
		return text, nil
	case ParamBool, ParamFlag:
		switch strings.ToLower(text) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		if t == ParamFlag {
			return text, nil
		}
	case ParamInt:
		return strconv.Atoi(text)
	case ParamNumber:
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if n-n != 0 {
			err = errParamType
		}
		return n, err
	case ParamDuration:
		return ParseDuration(text)
	case ParamSize:
		return ParseSize(text)
	case ParamTexts:
		return []string{text}, nil
	case ParamObject:
		var fields map[string]json.RawMessage // keeps the order of what is nested
		if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			return nil, errParamType
		}
		object := make(map[string]any, len(fields))
		for name, value := range fields {
			object[name] = value
		}
		return object, nil
	}
	return nil, errParamType
}

func (p Params) texts(key string, list []any, t ParamType) (any, error) {
	texts := make([]string, len(list))
	for i, v := range list {
		text, ok := scalar(v)
		if !ok {
			return nil, p.wrong(key, t, v, " in the list")
		}
		texts[i] = text
	}
	return texts, nil
}

func (p Params) textMap(key string, m map[string]any, t ParamType) (any, error) {
	texts := make(map[string]string, len(m))
	for name, v := range m {
		text, ok := scalar(v)
		if !ok {
			return nil, p.wrong(key, t, v, fmt.Sprintf(" for %q", name))
		}
		texts[name] = text
	}
	return texts, nil
}

// scalar returns the revealed text of a scalar.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case Text:
		return v.Reveal(), true
	case json.Number:
		return v.String(), true
	case bool, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// wrong returns the error of a value, which it shows as written: it cannot hold
// a secret then.
func (p Params) wrong(key string, t ParamType, value any, where string) *ParamError {
	shown := ""
	switch v := value.(type) {
	case map[string]any:
		shown = "a mapping"
	case []any:
		shown = "a list"
	case nil:
		shown = "null"
	case Text:
		shown = strconv.Quote(v.String())
	default:
		shown = fmt.Sprint(v)
	}
	return &ParamError{Key: key, Message: fmt.Sprintf("params.%s takes %s, not %s%s", key, t, shown, where)}
}

// MapTexts returns a value of params with f in place of each text, also in lists and mappings.
func MapTexts(v any, f func(Text) string) any {
	switch v := v.(type) {
	case Text:
		return f(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = MapTexts(value, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = MapTexts(value, f)
		}
		return out
	}
	return v
}
