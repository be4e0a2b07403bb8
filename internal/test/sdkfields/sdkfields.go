// Package sdkfields lists the fields of requests as the official SDKs of OpenAI and
// Anthropic declare them, for tests: which fields a form has, and which of a body it
// does not have.
//
//	sdkfields.Of(chat.FormOpenAI)                 // messages[user].content[file].file.file_id, …
//	sdkfields.Unknown(chat.FormAnthropic, body)   // nil: the SDK has every field of the body
package sdkfields

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// requests are the types of requests.
var requests = map[chat.Form]reflect.Type{
	chat.FormOpenAI:    reflect.TypeFor[openai.ChatCompletionNewParams](),
	chat.FormResponses: reflect.TypeFor[responses.ResponseNewParams](),
	chat.FormAnthropic: reflect.TypeFor[anthropic.BetaMessageNewParams](),
}

// Of returns the paths of a form's fields, sorted. Variants of a union are in brackets, by
// the type or role that chooses them; a list of one kind is x[].
func Of(form chat.Form) []string {
	w := &walker{found: map[string]bool{}}
	w.walk(requests[form], "", map[reflect.Type]bool{})
	return slices.Sorted(maps.Keys(w.found))
}

type walker struct{ found map[string]bool }

func (w *walker) walk(t reflect.Type, path string, outer map[reflect.Type]bool) {
	t = target(t)
	switch {
	case t.Kind() == reflect.Slice:
		w.elements(target(t.Elem()), path, outer)
	case !isObject(t) || outer[t]:
		w.found[path] = true
	case isUnion(t):
		w.union(t, path, outer)
	default:
		w.fields(t, path, outer)
	}
}

func (w *walker) fields(t reflect.Type, path string, outer map[reflect.Type]bool) {
	outer[t] = true
	defer delete(outer, t)
	for name, field := range fields(t) {
		if !isConstant(field) {
			w.walk(field, strings.TrimPrefix(path+"."+name, "."), outer)
		}
	}
}

func (w *walker) union(t reflect.Type, path string, outer map[reflect.Type]bool) {
	if outer[t] {
		w.found[path] = true
		return
	}
	outer[t] = true
	defer delete(outer, t)
	for v := range variants(t) {
		if !isObject(v) {
			w.walk(v, path, outer)
			continue
		}
		for _, name := range names(v) {
			w.walk(v, path+"["+name+"]", outer)
		}
	}
}

func (w *walker) elements(t reflect.Type, path string, outer map[reflect.Type]bool) {
	switch {
	case !isObject(t):
		w.found[path] = true
	case isUnion(t):
		w.union(t, path, outer)
	default:
		for _, name := range names(t) {
			w.walk(t, path+"["+name+"]", outer)
		}
	}
}

// Unknown returns the paths of a body that the SDK of the form does not have.
func Unknown(form chat.Form, body []byte) []string {
	var value map[string]any
	if err := json.Unmarshal(body, &value); err != nil {
		return []string{err.Error()}
	}
	delete(value, "stream") // the SDKs have a method for it
	c := &checker{}
	c.check(requests[form], value, "")
	return c.unknown
}

type checker struct{ unknown []string }

func (c *checker) check(t reflect.Type, value any, path string) {
	t = target(t)
	switch v := value.(type) {
	case []any:
		if isUnion(t) {
			t = listOf(t)
		}
		if t.Kind() != reflect.Slice {
			return
		}
		for i, element := range v {
			c.check(t.Elem(), element, fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		c.object(t, v, path)
	}
}

func (c *checker) object(t reflect.Type, value map[string]any, path string) {
	switch {
	case !isObject(t):
	case isUnion(t):
		c.union(t, value, path)
	default:
		known := maps.Collect(fields(t))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if field, ok := known[name]; ok {
				c.check(field, value[name], path+"."+name)
			} else {
				c.unknown = append(c.unknown, path+"."+name)
			}
		}
	}
}

// union checks an object against each variant that its type or role chooses, and takes
// the one that fits best: several have the same.
func (c *checker) union(t reflect.Type, value map[string]any, path string) {
	best := []string{fmt.Sprintf("%s of type %v", path, value["type"])}
	for v := range variants(t) {
		if !isObject(v) || !chooses(names(v), value) {
			continue
		}
		inner := &checker{}
		if inner.check(v, value, path); len(inner.unknown) == 0 {
			return
		}
		best = inner.unknown
	}
	c.unknown = append(c.unknown, best...)
}

// chooses reports whether an object is the variant of these names. A message may lack its
// type.
func chooses(names []string, value map[string]any) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == "" || name == value["type"] || value["type"] == nil && (name == value["role"] || name == "message")
	})
}

// listOf returns the variant of a union that is a list.
func listOf(t reflect.Type) reflect.Type {
	for v := range variants(t) {
		if v.Kind() == reflect.Slice {
			return v
		}
	}
	return t
}
