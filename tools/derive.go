package tools

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Derive makes the JSON Schema of a struct from its fields and their tags:
//
//	json     the name; omitempty and omitzero make it optional
//	doc      the description
//	default  the value when it is absent, which makes it optional
//	enum     the texts allowed, with commas between them
//	min      the least number, or the least length of text or a list
//	max      the greatest
//
// A pointer is optional too; every other field is required. Fields are text,
// truth values, numbers, lists, maps by text, structs and, for any value,
// [json.RawMessage] and any. No other properties are allowed.
func Derive(t reflect.Type) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("arguments are a struct, not %s", t)
	}
	schema, err := deriveObject(t, 0)
	if err != nil {
		return nil, err
	}
	return Encode(schema)
}

func deriveObject(t reflect.Type, depth int) (map[string]any, error) {
	if depth > MaxDepth/2 {
		return nil, fmt.Errorf("%s holds itself", t)
	}
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, omittable := tagName(f)
		if name == "" || len(f.Index) > 1 && f.Anonymous || f.Anonymous && f.Tag.Get("json") == "" {
			continue // the fields of an embedded struct are listed separately
		}
		if properties[name] != nil {
			return nil, fmt.Errorf("%s: two fields are named %q", t, name)
		}
		schema, err := deriveField(f, depth)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		properties[name] = schema
		_, fallback := f.Tag.Lookup("default")
		if !omittable && !fallback && f.Type.Kind() != reflect.Pointer {
			required = append(required, name)
		}
	}
	object := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		object["required"] = required
	}
	return object, nil
}

// deriveField returns the schema of a field, from the type and the tags.
func deriveField(f reflect.StructField, depth int) (map[string]any, error) {
	schema, err := deriveType(f.Type, depth)
	if err != nil {
		return nil, err
	}
	typ, _ := schema["type"].(string)
	if doc := f.Tag.Get("doc"); doc != "" {
		schema["description"] = doc
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		if typ != "string" {
			return nil, fmt.Errorf("enum is for text, not %s", f.Type)
		}
		schema["enum"] = strings.Split(enum, ",")
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		if schema["default"], err = tagValue(typ, text); err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
	}
	for tag, keywords := range map[string]map[string]string{
		"min": {"number": "minimum", "integer": "minimum", "string": "minLength", "array": "minItems"},
		"max": {"number": "maximum", "integer": "maximum", "string": "maxLength", "array": "maxItems"},
	} {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			continue
		}
		keyword := keywords[typ]
		if keyword == "" || !computable(json.Number(text)) {
			return nil, fmt.Errorf("%s %q is no bound of %s", tag, text, f.Type)
		}
		schema[keyword] = json.Number(text)
	}
	return schema, nil
}

// tagValue parses a value in a tag: text unquoted, others as JSON.
func tagValue(typ, text string) (any, error) {
	if typ == "string" {
		return text, nil
	}
	value, err := Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return value, nil
}

// Types with custom decoding.
var (
	fromText = reflect.TypeFor[encoding.TextUnmarshaler]()
	fromJSON = reflect.TypeFor[json.Unmarshaler]()
)

func deriveType(t reflect.Type, depth int) (map[string]any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch pointer := reflect.PointerTo(t); {
	case t == reflect.TypeFor[json.Number]():
		return map[string]any{"type": "number"}, nil
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case pointer.Implements(fromJSON):
		return map[string]any{}, nil
	case pointer.Implements(fromText), t == reflect.TypeFor[[]byte](): // the latter in base64
		return map[string]any{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		// The bounds of 64 bits are omitted: models read the schema.
		schema := map[string]any{"type": "integer"}
		if bits := t.Bits(); bits < 64 {
			schema["minimum"] = json.Number(strconv.FormatInt(-1<<(bits-1), 10))
			schema["maximum"] = json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
		}
		return schema, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		schema := map[string]any{"type": "integer", "minimum": json.Number("0")}
		if bits := t.Bits(); bits < 64 {
			schema["maximum"] = json.Number(strconv.FormatUint(1<<bits-1, 10))
		}
		return schema, nil
	case reflect.Interface:
		return map[string]any{}, nil
	case reflect.Struct:
		return deriveObject(t, depth+1)
	case reflect.Slice, reflect.Map:
		return deriveContainer(t, depth)
	}
	return nil, fmt.Errorf("JSON has no %s", t)
}

func deriveContainer(t reflect.Type, depth int) (map[string]any, error) {
	if depth > MaxDepth/2 {
		return nil, fmt.Errorf("%s holds itself", t)
	}
	if t.Kind() == reflect.Map && t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("the names of %s are no text", t)
	}
	element, err := deriveType(t.Elem(), depth+1)
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Map {
		return map[string]any{"type": "object", "additionalProperties": element}, nil
	}
	return map[string]any{"type": "array", "items": element}, nil
}
