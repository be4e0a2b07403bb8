package spicepod

import (
	"bytes"
	"reflect"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/schema"
)

// schemaID is the id of the published schema.
const schemaID = "https://github.com/spiced-sql/spiced/docs/spicepod.schema.json"

// JSONSchema returns the JSON Schema (draft 2020-12) of spicepod.yaml, for
// editors. The bytes are the same for every call.
func JSONSchema() []byte {
	d := &schema.Deriver{Key: "yaml", Optional: true, Field: completeField}
	defs := schema.Schema{"Ref": schema.Must(d.Object(reflect.TypeFor[refEntry]()))}
	d.Custom = func(t reflect.Type) schema.Schema { return customSchema(d, defs, t) }
	root := schema.Must(d.Object(reflect.TypeFor[Pod]()))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = schemaID
	root["title"] = "Spicepod"
	root["description"] = "Datasets, views, functions and the rest of what spiced serves."
	root["$defs"] = defs
	var out bytes.Buffer
	if err := writeIndented(&out, root); err != nil {
		return nil // maps, slices, strings, numbers and booleans always encode
	}
	return out.Bytes()
}

// refEntry is an entry of a component list that names a file.
type refEntry struct {
	Ref       string   `yaml:"ref" required:"true" doc:"File with the component, or a folder with such a file; relative to the file that names it."`
	DependsOn []string `yaml:"dependsOn" doc:"Components that must be loaded first."`
}

// completeField adds what only keys of a Spicepod have.
func completeField(f reflect.StructField, s schema.Schema) {
	if f.Tag.Get("component") != "" {
		s["items"] = schema.Schema{"anyOf": []any{s["items"], schema.Schema{"$ref": "#/$defs/Ref"}}}
	}
	switch service(f.Tag.Get("served")) {
	case notServed:
		s["description"] = f.Tag.Get("doc") + " Not served yet."
	case renamed:
		s["description"] = f.Tag.Get("doc") + " Write " + strings.ReplaceAll(f.Tag.Get("instead"), "'", "") + "."
	}
}

// customSchema returns the schema of a type that YAML writes in a way of its
// own, or a reference to a struct in defs.
func customSchema(d *schema.Deriver, defs schema.Schema, t reflect.Type) schema.Schema {
	switch t {
	case reflect.TypeFor[Text]():
		return schema.Schema{"type": "string"}
	case reflect.TypeFor[time.Duration]():
		return schema.Schema{"type": []string{"string", "integer"}, "examples": []string{"30s", "500ms", "2m30s"}}
	case reflect.TypeFor[Size]():
		return schema.Schema{"type": []string{"string", "integer"}, "examples": []string{"128MiB", "4GB"}}
	case reflect.TypeFor[Condition]():
		return schema.Schema{"type": []string{"string", "boolean"}}
	case reflect.TypeFor[Params]():
		return schema.Schema{"type": "object"}
	case reflect.TypeFor[Names]():
		return schema.Schema{"type": []string{"string", "array"}, "items": schema.Schema{"type": "string"}}
	case reflect.TypeFor[Returns]():
		return schema.Schema{"anyOf": []any{
			schema.Schema{"type": "string"},
			schema.Must(d.Type(reflect.TypeFor[[]Column]())),
		}}
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	if name := t.Name(); defs[name] == nil {
		defs[name] = schema.Schema{} // ends the recursion of a type that holds itself
		defs[name] = schema.Must(d.Object(t))
	}
	return schema.Schema{"$ref": "#/$defs/" + t.Name()}
}
