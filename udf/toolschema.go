package udf

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// parameterSchema is the JSON Schema of the arguments of a call that models and people are
// shown. Types are plain: a call also takes null for every argument, as SQL does, and
// numbers as text. Null is shown where the declaration means it: for an argument that may be
// omitted and is NULL then.
func parameterSchema(f *functions.Function) (json.RawMessage, error) {
	return argumentSchema(f, func(a functions.Arg, d spicepod.Arg) map[string]any {
		schema := a.Type.JSONSchema()
		if !d.IsRequired() && d.Default == nil {
			schema = functions.Nullable(schema)
		}
		if d.Description != "" {
			schema["description"] = d.Description
		}
		return schema
	})
}

// acceptedSchema is the JSON Schema of the arguments that a call takes.
func acceptedSchema(f *functions.Function) (json.RawMessage, error) {
	return argumentSchema(f, func(a functions.Arg, _ spicepod.Arg) map[string]any { return a.Type.AcceptedSchema() })
}

func argumentSchema(f *functions.Function,
	of func(functions.Arg, spicepod.Arg) map[string]any,
) (json.RawMessage, error) {
	properties, required := map[string]any{}, []string{}
	for i, a := range f.Args {
		d := f.Declared.Signature.Args[i]
		schema := of(a, d)
		if d.Default != nil && inJSON(d.Default) {
			schema["default"] = d.Default
			if text, ok := d.Default.(string); ok && a.Type.Numeric() && a.Default != "" && json.Valid([]byte(text)) {
				schema["default"] = json.Number(text)
			}
		}
		properties[a.Name] = schema
		if d.IsRequired() {
			required = append(required, a.Name)
		}
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
			column := c.Type.ResultSchema()
			if d := f.Declared.Signature.Returns.Columns[i]; d.Description != "" {
				column["description"] = d.Description
			}
			properties[c.Name] = column
			required = append(required, c.Name)
		}
		schema = map[string]any{"type": "array", "items": object(properties, required)}
	} else {
		schema = f.Returns.ResultSchema()
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
