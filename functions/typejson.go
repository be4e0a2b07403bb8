package functions

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// bounds are the smallest and largest values of DuckDB's integers.
var bounds = map[engine.TypeID][2]string{
	engine.TinyInt:   {"-128", "127"},
	engine.SmallInt:  {"-32768", "32767"},
	engine.Integer:   {"-2147483648", "2147483647"},
	engine.BigInt:    {strconv.FormatInt(math.MinInt64, 10), strconv.FormatInt(math.MaxInt64, 10)},
	engine.UTinyInt:  {"0", "255"},
	engine.USmallInt: {"0", "65535"},
	engine.UInteger:  {"0", "4294967295"},
	engine.UBigInt:   {"0", strconv.FormatUint(math.MaxUint64, 10)},
}

// JSONSchema is the JSON Schema of a non-null value of the type, as a new map for
// json.Marshal. 64-bit integers and decimals may also be given as text, so that readers
// that only know doubles lose no digits.
func (t *Type) JSONSchema() map[string]any {
	switch t.kind {
	case kindInteger:
		return integerSchema(t.duck.ID)
	case kindFloat:
		return map[string]any{"type": "number"}
	case kindBoolean:
		return map[string]any{"type": "boolean"}
	case kindBinary:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case kindDate:
		return map[string]any{"type": "string", "format": "date"}
	case kindTimestamp, kindInstant:
		return map[string]any{"type": "string", "format": "date-time"}
	case kindDecimal:
		return map[string]any{
			"type": []string{"number", "string"}, "format": "decimal", "pattern": `^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$`,
		}
	case kindList:
		return map[string]any{"type": "array", "items": t.elem.JSONSchema()}
	case kindStruct:
		return structSchema(t.fields)
	}
	return map[string]any{"type": "string"}
}

func integerSchema(id engine.TypeID) map[string]any {
	limits := bounds[id]
	schema := map[string]any{"type": "integer", "minimum": json.Number(limits[0]), "maximum": json.Number(limits[1])}
	switch id {
	case engine.BigInt:
		schema["type"], schema["format"], schema["pattern"] = []string{"integer", "string"}, "int64", "^-?[0-9]+$"
	case engine.UBigInt:
		schema["type"], schema["format"], schema["pattern"] = []string{"integer", "string"}, "uint64", "^[0-9]+$"
	}
	return schema
}

func structSchema(fields []field) map[string]any {
	properties, required := map[string]any{}, make([]string, len(fields))
	for i, f := range fields {
		properties[f.name], required[i] = f.typ.JSONSchema(), f.name
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
