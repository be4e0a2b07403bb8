package format

import (
	"encoding/json"
	"math"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Value returns value i of a vector as a Go value, for small results: nil, bool,
// int64, float64, string, []byte for BLOB, []any, map[string]any, or [json.Number]
// for numbers that int64 or float64 would change. Dates, times and similar types are
// text, as the forms write them. Text is a copy.
func Value(v *engine.Vector, i int) any {
	if !v.Valid(i) {
		return nil
	}
	t := v.Type
	switch t.ID {
	case engine.Null:
		return nil
	case engine.Boolean:
		return engine.Value[bool](v, i)
	case engine.Float:
		return float64(engine.Value[float32](v, i))
	case engine.Double:
		return engine.Value[float64](v, i)
	case engine.Blob:
		return append([]byte{}, v.Bytes(i)...)
	case engine.List:
		e := engine.Value[engine.ListEntry](v, i)
		return values(v.Elem(), int(e.Offset), int(e.Length))
	case engine.Array:
		return values(v.Elem(), i*t.Size, t.Size)
	case engine.Struct:
		return members(v, i)
	case engine.Map:
		return mapValue(v, i)
	case engine.Union:
		tag := int(engine.Value[uint8](v.Field(0), i))
		return map[string]any{t.Fields[tag].Name: Value(v.Field(tag+1), i)}
	}
	if number(t) != nil {
		return numberValue(v, i)
	}
	return string(text(t)(nil, v, i))
}

func numberValue(v *engine.Vector, i int) any {
	switch v.Type.ID {
	case engine.TinyInt:
		return int64(engine.Value[int8](v, i))
	case engine.SmallInt:
		return int64(engine.Value[int16](v, i))
	case engine.Integer:
		return int64(engine.Value[int32](v, i))
	case engine.BigInt:
		return engine.Value[int64](v, i)
	case engine.UTinyInt:
		return int64(engine.Value[uint8](v, i))
	case engine.USmallInt:
		return int64(engine.Value[uint16](v, i))
	case engine.UInteger:
		return int64(engine.Value[uint32](v, i))
	case engine.UBigInt:
		if n := engine.Value[uint64](v, i); n <= math.MaxInt64 {
			return int64(n)
		}
	}
	return json.Number(number(v.Type)(nil, v, i))
}

func values(v *engine.Vector, from, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = Value(v, from+i)
	}
	return out
}

func members(v *engine.Vector, i int) any {
	fields := v.Type.Fields
	if len(fields) > 0 && fields[0].Name == "" {
		out := make([]any, len(fields))
		for f := range fields {
			out[f] = Value(v.Field(f), i)
		}
		return out
	}
	out := make(map[string]any, len(fields))
	for f, field := range fields {
		out[field.Name] = Value(v.Field(f), i)
	}
	return out
}

func mapValue(v *engine.Vector, i int) any {
	e := engine.Value[engine.ListEntry](v, i)
	out := make(map[string]any, e.Length)
	key := text(v.Elem().Field(0).Type)
	for at := int(e.Offset); at < int(e.Offset+e.Length); at++ {
		out[string(key(nil, v.Elem().Field(0), at))] = Value(v.Elem().Field(1), at)
	}
	return out
}
