package search

import (
	"encoding/json"
	"maps"
	"slices"
)

// Weights of the parts of a JSON Schema, in the schema channel.
const (
	keyWeight   = 4.0 // a parameter's name
	proseWeight = .25 // relative to the parameter: its description, and each possible value
	nesting     = .5  // relative to the level above
)

// Keywords of JSON Schema that contain further schemas.
var (
	schemasByKey  = []string{"properties", "patternProperties"}
	namedSchemas  = []string{"$defs", "definitions"}
	schemasAtHand = []string{"items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "then", "else"}
)

// ParameterNames returns the names of the parameters in a JSON Schema, at all levels.
func ParameterNames(doc json.RawMessage) []string {
	var out []string
	walkSchema(doc, schemaWalk{
		name:  func(text string, _ float64) { out = append(out, text) },
		prose: func(string, float64) {},
	})
	return out
}

// walkSchema walks a schema. Keywords of JSON Schema are not emitted. Invalid schemas are
// ignored.
func walkSchema(doc json.RawMessage, emit schemaWalk) {
	if len(doc) == 0 || len(doc) > maxSchemaBytes {
		return
	}
	var root any
	if json.Unmarshal(doc, &root) != nil {
		return
	}
	emit.schema(root, keyWeight, 0)
}

// schemaWalk gets the texts of a schema with their weights.
type schemaWalk struct {
	name  func(text string, weight float64) // of a parameter
	prose func(text string, weight float64) // its description, and each possible value
}

func (emit schemaWalk) schema(node any, weight float64, depth int) {
	object, ok := node.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return
	}
	if depth > 0 {
		emit.texts(object, weight*proseWeight)
	}
	for _, keyword := range schemasByKey {
		properties, _ := object[keyword].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			emit.name(key, weight)
			emit.schema(properties[key], weight*nesting, depth+1)
		}
	}
	for _, keyword := range namedSchemas {
		definitions, _ := object[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(definitions)) {
			emit.schema(definitions[name], weight*nesting, depth+1)
		}
	}
	for _, keyword := range schemasAtHand {
		if list, ok := object[keyword].([]any); ok {
			for _, inner := range list {
				emit.schema(inner, weight, depth+1)
			}
			continue
		}
		emit.schema(object[keyword], weight, depth+1)
	}
}

// texts emits a parameter's description and possible values.
func (emit schemaWalk) texts(object map[string]any, weight float64) {
	if text, ok := object["description"].(string); ok {
		emit.prose(text, weight)
	}
	values, _ := object["enum"].([]any)
	for _, value := range append(slices.Clip(values), object["const"]) {
		if text, ok := value.(string); ok {
			emit.prose(text, weight)
		}
	}
}
