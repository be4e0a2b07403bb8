package search

import (
	"encoding/json"
	"maps"
	"slices"
)

// Weights of what a JSON Schema says, in the schema channel.
const (
	keyWeight   = 4.0 // a parameter's name
	proseWeight = .25 // of a parameter's weight: its description, and each value it may have
	nesting     = .5  // of the weight one level above
)

// Where a JSON Schema holds further schemas.
var (
	schemasByKey  = []string{"properties", "patternProperties"}
	namedSchemas  = []string{"$defs", "definitions"}
	schemasAtHand = []string{"items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "then", "else"}
)

// walkSchema hands over the parameters' names, descriptions and possible
// values, each with its weight. JSON Schema's own words are left out. What is
// no schema says nothing.
func walkSchema(doc json.RawMessage, emit func(text string, weight float64)) {
	if len(doc) == 0 || len(doc) > maxSchemaBytes {
		return
	}
	var root any
	if json.Unmarshal(doc, &root) != nil {
		return
	}
	schemaWalk(emit).schema(root, keyWeight, 0)
}

type schemaWalk func(text string, weight float64)

func (emit schemaWalk) schema(node any, weight float64, depth int) {
	object, ok := node.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return
	}
	if depth > 0 {
		emit.prose(object, weight*proseWeight)
	}
	for _, keyword := range schemasByKey {
		properties, _ := object[keyword].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			emit(key, weight)
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

// prose hands over a parameter's description and the values that it may have.
func (emit schemaWalk) prose(object map[string]any, weight float64) {
	if text, ok := object["description"].(string); ok {
		emit(text, weight)
	}
	values, _ := object["enum"].([]any)
	for _, value := range append(slices.Clip(values), object["const"]) {
		if text, ok := value.(string); ok {
			emit(text, weight)
		}
	}
}
