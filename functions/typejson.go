package functions

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/types"
)

// bounds are the smallest and largest values of DuckDB's integers.
var bounds = map[engine.TypeID][2]string{
	engine.TinyInt:   {"-128", "127"},
	engine.SmallInt:  {"-32768", "32767"},
	engine.Integer:   {"-2147483648", "2147483647"},
	engine.BigInt:    {strconv.FormatInt(math.MinInt64, 10), strconv.FormatInt(math.MaxInt64, 10)},
	engine.HugeInt:   {"-" + power(127, 0), power(127, -1)},
	engine.UTinyInt:  {"0", "255"},
	engine.USmallInt: {"0", "65535"},
	engine.UInteger:  {"0", "4294967295"},
	engine.UBigInt:   {"0", strconv.FormatUint(math.MaxUint64, 10)},
	engine.UHugeInt:  {"0", power(128, -1)},
}

// power is 2^exponent + plus.
func power(exponent uint, plus int64) string {
	n := new(big.Int).Lsh(big.NewInt(1), exponent)
	return n.Add(n, big.NewInt(plus)).String()
}

// JSONSchema is the JSON Schema of a non-null value of the type as an argument, as a new
// map for json.Marshal. It is what models and people are shown: plain types. See
// [Type.AcceptedSchema].
func (t *Type) JSONSchema() map[string]any {
	return t.schema(func(t *Type) map[string]any { return types.Of(t.duck).Argument })
}

// ResultSchema is the JSON Schema of a value of the type as a result, which may be null, as
// may its parts. A whole number beyond ±(2^53-1) and every decimal is text, so that readers
// that only know doubles lose no digits.
func (t *Type) ResultSchema() map[string]any {
	return nullable(t.schema(func(t *Type) map[string]any {
		info := types.Of(t.duck)
		if info.Result != nil {
			return info.Result
		}
		return info.Argument
	}), true)
}

// AcceptedSchema is the JSON Schema of all values of an argument that calls take: those of
// [Type.JSONSchema], null, and numbers as text. [Type.Value] checks more.
func (t *Type) AcceptedSchema() map[string]any {
	return nullable(t.schema(func(t *Type) map[string]any {
		switch t.kind {
		case kindInteger, kindHuge:
			return acceptedInteger
		case kindDecimal, kindFloat:
			return acceptedNumber
		case kindText:
			return acceptedText
		}
		return types.Of(t.duck).Argument
	}), true)
}

var (
	acceptedText    = map[string]any{"type": "string"}
	acceptedInteger = map[string]any{"type": []string{"integer", "string"}, "pattern": `^\s*[+-]?[0-9]+\s*$`}
	acceptedNumber  = map[string]any{
		"type":    []string{"number", "string"},
		"pattern": `^\s*[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*$`,
	}
)

// schema is a schema of the type, with that of its simple parts.
func (t *Type) schema(simple func(*Type) map[string]any) map[string]any {
	switch t.kind {
	case kindList:
		s := map[string]any{"type": "array", "items": t.elem.schema(simple)}
		if t.duck.ID == engine.Array {
			s["minItems"], s["maxItems"] = t.duck.Size, t.duck.Size
		}
		return s
	case kindStruct:
		return objectSchema(t.fields, simple)
	case kindMap:
		return map[string]any{"type": "object", "additionalProperties": t.fields[1].typ.schema(simple)}
	case kindUnion:
		branches := make([]any, len(t.fields))
		for i := range t.fields {
			branches[i] = objectSchema(t.fields[i:i+1], simple)
		}
		return map[string]any{"anyOf": branches}
	}
	if t.values != nil {
		return map[string]any{"type": "string", "enum": anys(t.values)}
	}
	return maps.Clone(simple(t))
}

func anys(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

func objectSchema(fields []field, simple func(*Type) map[string]any) map[string]any {
	properties, required := map[string]any{}, make([]string, len(fields))
	for i, f := range fields {
		properties[f.name], required[i] = f.typ.schema(simple), f.name
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// Nullable makes a schema of [Type.JSONSchema] accept null too.
func Nullable(schema map[string]any) map[string]any { return nullable(schema, false) }

// nullable makes a schema accept null too, if deep also for its parts.
func nullable(schema map[string]any, deep bool) map[string]any {
	switch t := schema["type"].(type) {
	case string:
		schema["type"] = []string{t, "null"}
	case []string:
		schema["type"] = append(slices.Clone(t), "null")
	}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(values, nil)
	}
	if branches, ok := schema["anyOf"].([]any); ok {
		schema["anyOf"] = append(branches, map[string]any{"type": "null"})
	}
	if deep {
		nullableParts(schema)
	}
	return schema
}

// nullableParts makes the schemas of the parts accept null.
func nullableParts(schema map[string]any) {
	branches, _ := schema["anyOf"].([]any)
	for _, b := range branches {
		nullableParts(b.(map[string]any))
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, part := range append(slices.Collect(maps.Values(properties)), schema["items"], schema["additionalProperties"]) {
		if s, ok := part.(map[string]any); ok {
			nullable(s, true)
		}
	}
}
