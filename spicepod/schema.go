package spicepod

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// schemaID is the id of the published schema.
const schemaID = "https://github.com/spiced-sql/spiced/docs/spicepod.schema.json"

// JSONSchema returns the JSON Schema (draft 2020-12) of spicepod.yaml, for
// editors. The bytes are the same for every call.
func JSONSchema() []byte {
	s := schemaWriter{types: describer{}, defs: map[string]any{}}
	root := s.object(reflect.TypeFor[Pod]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = schemaID
	root["title"] = "Spicepod"
	root["description"] = "Datasets, views, functions and the rest of what spiced serves."
	root["$defs"] = s.defs
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil // maps, slices, strings, numbers and booleans always encode
	}
	return out.Bytes()
}

// schemaWriter collects the definitions of struct types.
type schemaWriter struct {
	types describer
	defs  map[string]any
}

type schema = map[string]any

func (s schemaWriter) object(t reflect.Type) schema {
	info := s.types.describe(t)
	properties := schema{}
	required := []string{}
	for i := range info.fields {
		f := &info.fields[i]
		properties[f.name] = s.field(f)
		if f.required {
			required = append(required, f.name)
		}
	}
	object := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		object["required"] = required
	}
	return object
}

func (s schemaWriter) field(f *field) schema {
	result := s.typ(f.typ)
	if f.component != "" {
		s.defs["Ref"] = refSchema()
		result["items"] = schema{"anyOf": []any{result["items"], schema{"$ref": "#/$defs/Ref"}}}
	}
	result["description"] = f.doc
	if !f.served {
		result["description"] = f.doc + " Not served yet."
	}
	if len(f.enum) > 0 {
		result["enum"] = f.enum
	}
	if f.min != nil {
		result["minimum"] = *f.min
	}
	if f.fallback != "" {
		result["default"] = fallbackValue(f)
	}
	return result
}

// fallbackValue is the default as JSON.
func fallbackValue(f *field) any {
	switch f.shape {
	case shapeBool:
		return f.fallback == "true"
	case shapeInt, shapeFloat:
		if n, err := strconv.ParseFloat(f.fallback, 64); err == nil {
			return n
		}
	}
	return f.fallback
}

func (s schemaWriter) typ(t reflect.Type) schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch shapeOf(t) {
	case shapeString, shapeText:
		return schema{"type": "string"}
	case shapeBool:
		return schema{"type": "boolean"}
	case shapeInt:
		return schema{"type": "integer"}
	case shapeFloat:
		return schema{"type": "number"}
	case shapeDuration:
		return schema{"type": []string{"string", "integer"}, "examples": []string{"30s", "500ms", "2m30s"}}
	case shapeSize:
		return schema{"type": []string{"string", "integer"}, "examples": []string{"128MiB", "4GB"}}
	case shapeParams:
		return schema{"type": "object"}
	case shapeMap:
		return schema{"type": "object", "additionalProperties": s.typ(t.Elem())}
	case shapeReturns:
		return schema{"anyOf": []any{
			schema{"type": "string"},
			schema{"type": "array", "items": s.typ(reflect.TypeFor[Column]())},
		}}
	case shapeList:
		return schema{"type": "array", "items": s.typ(t.Elem())}
	case shapeStruct:
		if s.defs[t.Name()] == nil {
			s.defs[t.Name()] = schema{} // ends the recursion for a recursive type
			s.defs[t.Name()] = s.object(t)
		}
		return schema{"$ref": "#/$defs/" + t.Name()}
	default:
		return schema{}
	}
}

func refSchema() schema {
	return schema{
		"type": "object",
		"properties": schema{
			"ref":       schema{"type": "string", "description": "File with the component, or a folder with such a file; relative to the file that names it."},
			"dependsOn": schema{"type": "array", "items": schema{"type": "string"}, "description": "Components that must be loaded first."},
		},
		"required":             []string{"ref"},
		"additionalProperties": false,
	}
}
