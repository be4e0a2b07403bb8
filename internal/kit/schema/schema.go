// Package schema derives JSON Schemas from Go types and the tags of their
// fields, so that a value is described where it is declared. The schemas of
// tools, of the HTTP API and of spicepod.yaml come from it.
//
//	type forecast struct {
//		City string `json:"city" doc:"Name of the city."`
//		Days int    `json:"days,omitempty" min:"1" doc:"Days to forecast."`
//	}
//	d := schema.Deriver{Key: "json"}
//	s, err := d.Object(reflect.TypeFor[forecast]())
package schema

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

// Schema is a JSON Schema.
type Schema = map[string]any

// maxDepth bounds the nesting of types that are described in place.
const maxDepth = 32

// Deriver derives schemas from types and these tags of struct fields:
//
//	json, yaml  the name, by Key; omitempty and omitzero make a field optional
//	doc         the description
//	default     the value of an absent field, which makes it optional
//	required    "true" for a field that would be optional by its type or default
//	nullable    "true" for a value that may be null
//	enum        the texts allowed, separated by commas
//	min, max    the bounds of a number, or of the length of text or a list
//	type        the JSON types of a value that Go leaves open, such as
//	            object, string|[]string or array|null
//
// A pointer is optional, and so are the fields of an embedded pointer. A struct
// has no other properties, unless a blank field has the tag open:"true".
//
// A type that encodes itself has the method JSONForm() any, which returns the
// value that it encodes.
type Deriver struct {
	// Key is the tag with the name of a field. With json, a field without the
	// tag has its Go name; with any other key it is left out.
	Key string
	// Optional makes all fields optional that are not required by a tag.
	Optional bool
	// Nullable lets optional fields be null, which encoding/json reads as absent.
	Nullable bool
	// Custom returns the schema of a type that is not derived, such as a
	// reference to it, or nil. It may be nil itself.
	Custom func(reflect.Type) Schema
	// Field completes the schema of a field. It may be nil.
	Field func(reflect.StructField, Schema)

	depth int
}

// former is a type that encodes itself as another value.
type former interface{ JSONForm() any }

// Object returns the schema of a struct, in place.
func (d *Deriver) Object(t reflect.Type) (Schema, error) {
	if t = formOf(t); t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a schema of an object needs a struct, not %s", t)
	}
	if d.depth++; d.depth > maxDepth {
		return nil, fmt.Errorf("%s holds itself", t)
	}
	defer func() { d.depth-- }()
	fields, open, err := d.fields(t)
	if err != nil {
		return nil, err
	}
	properties, required := Schema{}, []string{}
	for _, f := range fields {
		s, err := d.field(f.StructField)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		if d.Nullable && !f.required {
			s = orNull(s)
		}
		properties[f.key] = s
		if f.required {
			required = append(required, f.key)
		}
	}
	object := Schema{"type": "object", "properties": properties, "additionalProperties": open}
	if len(required) > 0 {
		slices.Sort(required)
		object["required"] = required
	}
	return object, nil
}

// formOf is the type that is encoded for a value of type t.
func formOf(t reflect.Type) reflect.Type {
	t = elem(t)
	if f, ok := reflect.New(t).Interface().(former); ok {
		return reflect.TypeOf(f.JSONForm())
	}
	return t
}

// field is a field of a struct that is encoded.
type field struct {
	reflect.StructField
	key      string
	required bool
}

// fields returns the fields of a struct and of the structs embedded in it, as
// encoding/json sees them: of two with the same key, the outer one. open reports
// whether there may be other keys.
func (d *Deriver) fields(t reflect.Type) (all []field, open bool, err error) {
	type embedded struct {
		typ      reflect.Type
		optional bool
	}
	depths := map[string]int{}
	for depth, level := 1, []embedded{{t, false}}; len(level) > 0; depth++ {
		if depth > maxDepth {
			return nil, false, fmt.Errorf("%s holds itself", t)
		}
		var next []embedded
		for _, in := range level {
			for i := range in.typ.NumField() {
				f := in.typ.Field(i)
				open = open || f.Tag.Get("open") == "true"
				_, tagged := f.Tag.Lookup(d.Key)
				if f.Anonymous && !tagged {
					if typ := elem(f.Type); typ.Kind() == reflect.Struct {
						next = append(next, embedded{typ, in.optional || typ != f.Type})
					}
					continue
				}
				key, optional := d.nameOf(f)
				switch {
				case key == "" || depths[key] > 0 && depths[key] < depth:
					continue
				case depths[key] == depth:
					return nil, false, fmt.Errorf("%s: two fields are named %q", t, key)
				}
				depths[key] = depth
				optional = (d.Optional || optional || in.optional) && f.Tag.Get("required") != "true"
				all = append(all, field{f, key, !optional})
			}
		}
		level = next
	}
	return all, open, nil
}

func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// nameOf returns the key of a field, or "", and whether the field is optional
// by its type and tags.
func (d *Deriver) nameOf(f reflect.StructField) (name string, optional bool) {
	tag, tagged := f.Tag.Lookup(d.Key)
	if tag == "-" || !f.IsExported() || !tagged && d.Key != "json" {
		return "", false
	}
	name, options, _ := strings.Cut(tag, ",")
	if name == "" {
		name = f.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		optional = optional || option == "omitempty" || option == "omitzero"
	}
	_, fallback := f.Tag.Lookup("default")
	return name, optional || fallback || f.Type.Kind() == reflect.Pointer
}

// field returns the schema of a field, from the type and the tags.
func (d *Deriver) field(f reflect.StructField) (Schema, error) {
	s, err := d.Type(f.Type)
	if types := f.Tag.Get("type"); types != "" {
		s, err = typesOf(types), nil
	}
	if err != nil {
		return nil, err
	}
	if doc := f.Tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		texts := s
		if items, ok := s["items"].(Schema); ok {
			texts = items
		}
		if texts["type"] != "string" {
			return nil, fmt.Errorf("enum is for text, not %s", f.Type)
		}
		texts["enum"] = strings.Split(enum, ",")
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		if s["default"], err = valueOf(s["type"], text); err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
	}
	if err := bound(f, s); err != nil {
		return nil, err
	}
	if f.Tag.Get("nullable") == "true" {
		s = orNull(s)
	}
	if d.Field != nil {
		d.Field(f, s)
	}
	return s, nil
}

// orNull is s or null.
func orNull(s Schema) Schema {
	switch types := s["type"].(type) {
	case string:
		s["type"] = []string{types, "null"}
	case []string:
		if !slices.Contains(types, "null") {
			s["type"] = append(slices.Clone(types), "null")
		}
	case nil:
		if forms, ok := s["anyOf"].([]any); ok {
			s["anyOf"] = append(slices.Clone(forms), Schema{"type": "null"})
		} else if len(s) > 0 {
			return Schema{"anyOf": []any{s, Schema{"type": "null"}}}
		}
	}
	if choices, ok := s["enum"].([]string); ok {
		values := make([]any, len(choices), len(choices)+1)
		for i, c := range choices {
			values[i] = c
		}
		s["enum"] = append(values, nil)
	}
	return s
}

// typesOf reads the tag type.
func typesOf(tag string) Schema {
	var plain []string
	var any []any
	for name := range strings.SplitSeq(tag, "|") {
		if item, ok := strings.CutPrefix(name, "[]"); ok {
			any = append(any, Schema{"type": "array", "items": Schema{"type": item}})
			continue
		}
		plain, any = append(plain, name), append(any, Schema{"type": name})
	}
	switch {
	case len(any) == 1:
		return any[0].(Schema)
	case len(plain) == len(any):
		return Schema{"type": plain}
	}
	return Schema{"anyOf": any}
}

// valueOf parses a default: text unquoted, others as JSON.
func valueOf(typ any, text string) (any, error) {
	if _, several := typ.([]string); several || typ == "string" {
		return text, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil || d.More() {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	return value, nil
}

// bound adds the tags min and max to the schema of a field.
func bound(f reflect.StructField, s Schema) error {
	typ, _ := s["type"].(string)
	for tag, keywords := range map[string]map[string]string{
		"min": {"number": "minimum", "integer": "minimum", "string": "minLength", "array": "minItems"},
		"max": {"number": "maximum", "integer": "maximum", "string": "maxLength", "array": "maxItems"},
	} {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			continue
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil || keywords[typ] == "" || !json.Valid([]byte(text)) {
			return fmt.Errorf("%s %q is not a bound of %s", tag, text, f.Type)
		}
		s[keywords[typ]] = json.Number(text)
	}
	return nil
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
	textEncoder = reflect.TypeFor[encoding.TextMarshaler]()
)

// Type returns the schema of a type.
func (d *Deriver) Type(t reflect.Type) (Schema, error) {
	t = elem(t)
	if d.Custom != nil {
		if s := d.Custom(t); s != nil {
			return s, nil
		}
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.Number]():
		return Schema{"type": "number"}, nil
	case t == reflect.TypeFor[time.Time]():
		return Schema{"type": "string", "format": "date-time"}, nil
	case pointer.Implements(jsonDecoder):
		return Schema{}, nil
	// the latter in base64
	case pointer.Implements(textDecoder), pointer.Implements(textEncoder), t == reflect.TypeFor[[]byte]():
		return Schema{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return Schema{"type": "string"}, nil
	case reflect.Bool:
		return Schema{"type": "boolean"}, nil
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		// The bounds of 64 bits are omitted: models read the schema.
		s := Schema{"type": "integer"}
		if bits := t.Bits(); bits < 64 {
			s["minimum"], s["maximum"] = json.Number(strconv.FormatInt(-1<<(bits-1), 10)),
				json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
		}
		return s, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s := Schema{"type": "integer", "minimum": json.Number("0")}
		if bits := t.Bits(); bits < 64 {
			s["maximum"] = json.Number(strconv.FormatUint(1<<bits-1, 10))
		}
		return s, nil
	case reflect.Interface:
		return Schema{}, nil
	case reflect.Struct:
		return d.Object(t)
	case reflect.Slice, reflect.Map:
		return d.container(t)
	}
	return nil, fmt.Errorf("JSON has no %s", t)
}

func (d *Deriver) container(t reflect.Type) (Schema, error) {
	if t.Kind() == reflect.Map && t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("the names of %s are not texts", t)
	}
	if d.depth++; d.depth > maxDepth {
		return nil, fmt.Errorf("%s holds itself", t)
	}
	defer func() { d.depth-- }()
	element, err := d.Type(t.Elem())
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Map {
		return Schema{"type": "object", "additionalProperties": element}, nil
	}
	return Schema{"type": "array", "items": element}, nil
}

// Must returns s. It panics if the type or a tag is wrong, which a test of the
// type finds.
func Must(s Schema, err error) Schema {
	if err != nil {
		panic("schema: " + err.Error())
	}
	return s
}
