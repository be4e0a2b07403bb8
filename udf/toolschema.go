package udf

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/tools"
)

// parameterSchema is the JSON Schema of the arguments of a call.
func parameterSchema(f *functions.Function) (json.RawMessage, error) {
	properties, required := map[string]any{}, []string{}
	for i, a := range f.Args {
		d := f.Declared.Signature.Args[i]
		schema := a.Type.JSONSchema()
		if d.IsRequired() {
			required = append(required, a.Name)
		} else {
			schema = nullable(schema)
		}
		if d.Description != "" {
			schema["description"] = d.Description
		}
		if d.HasDefault && inJSON(d.Default) {
			schema["default"] = d.Default
		}
		properties[a.Name] = schema
	}
	raw, err := tools.Encode(object(properties, required))
	if err != nil {
		return nil, fmt.Errorf("the schema of the parameters of %q: %w", f.Name, err)
	}
	return raw, nil
}

// inJSON excludes .inf and .nan, which a default may be.
func inJSON(value any) bool {
	v, ok := value.(float64)
	return !ok || !math.IsNaN(v) && !math.IsInf(v, 0)
}

// returnSchema is the JSON Schema of the result of a call.
func returnSchema(f *functions.Function) (json.RawMessage, error) {
	var schema map[string]any
	if f.IsTable() {
		properties, required := map[string]any{}, []string{}
		for i, c := range f.Columns {
			column := nullableDeep(c.Type.JSONSchema())
			if d := f.Declared.Signature.Returns.Columns[i]; d.Description != "" {
				column["description"] = d.Description
			}
			properties[c.Name] = column
			required = append(required, c.Name)
		}
		schema = map[string]any{"type": "array", "items": object(properties, required)}
	} else {
		schema = nullableDeep(f.Returns.JSONSchema())
	}
	raw, err := tools.Encode(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of the result of %q: %w", f.Name, err)
	}
	return raw, nil
}

func object(properties map[string]any, required []string) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// nullable makes a schema of [functions.Type.JSONSchema] accept null too.
func nullable(schema map[string]any) map[string]any {
	switch t := schema["type"].(type) {
	case string:
		schema["type"] = []string{t, "null"}
	case []string:
		schema["type"] = append(t, "null")
	}
	return schema
}

// nullableDeep is nullable for elements and fields as well: any value in a result may be
// NULL.
func nullableDeep(schema map[string]any) map[string]any {
	if items, ok := schema["items"].(map[string]any); ok {
		nullableDeep(items)
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for _, p := range properties {
			if p, ok := p.(map[string]any); ok {
				nullableDeep(p)
			}
		}
	}
	return nullable(schema)
}
