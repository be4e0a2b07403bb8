package udf

import (
	"math"
	"strconv"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/tools"
)

// maxExact is the largest integer up to which doubles represent all integers.
const maxExact = 1<<53 - 1

// appendValue appends value i of a vector, which may be NULL, as the JSON of a tool's result:
// like package format, except that numbers that a reader of doubles would change are text,
// and NaN and infinities are an error.
func appendValue(buf []byte, v *engine.Vector, i int) ([]byte, error) {
	if !v.Valid(i) {
		return append(buf, "null"...), nil
	}
	asText := false
	switch v.Type.ID {
	case engine.BigInt:
		n := engine.Value[int64](v, i)
		asText = n > maxExact || n < -maxExact
	case engine.UBigInt:
		asText = engine.Value[uint64](v, i) > maxExact
	case engine.HugeInt, engine.UHugeInt:
		n, err := strconv.ParseInt(string(format.JSON(nil, v, i)), 10, 64)
		asText = err != nil || n > maxExact || n < -maxExact
	case engine.Decimal:
		asText = true
	case engine.Float:
		if !finite(float64(engine.Value[float32](v, i))) {
			return nil, errNotFinite()
		}
	case engine.Double:
		if !finite(engine.Value[float64](v, i)) {
			return nil, errNotFinite()
		}
	case engine.List:
		e := engine.Value[engine.ListEntry](v, i)
		return appendList(buf, v.Elem(), int(e.Offset), int(e.Offset+e.Length))
	case engine.Array:
		return appendList(buf, v.Elem(), i*v.Type.Size, (i+1)*v.Type.Size)
	case engine.Struct:
		return appendStruct(buf, v, i)
	case engine.Map:
		return appendMap(buf, v, i)
	case engine.Union:
		return appendUnion(buf, v, i)
	}
	if asText {
		return append(format.JSON(append(buf, '"'), v, i), '"'), nil
	}
	return format.JSON(buf, v, i), nil
}

func appendList(buf []byte, elem *engine.Vector, from, to int) (_ []byte, err error) {
	buf = append(buf, '[')
	for at := from; at < to; at++ {
		if at > from {
			buf = append(buf, ',')
		}
		if buf, err = appendValue(buf, elem, at); err != nil {
			return nil, err
		}
	}
	return append(buf, ']'), nil
}

// appendMap appends an object whose names are the keys as text.
func appendMap(buf []byte, v *engine.Vector, i int) (_ []byte, err error) {
	e := engine.Value[engine.ListEntry](v, i)
	keys, values := v.Elem().Field(0), v.Elem().Field(1)
	buf = append(buf, '{')
	for at := int(e.Offset); at < int(e.Offset+e.Length); at++ {
		if at > int(e.Offset) {
			buf = append(buf, ',')
		}
		if name := format.JSON(nil, keys, at); name[0] == '"' {
			buf = append(buf, name...)
		} else {
			buf = format.AppendString(buf, name)
		}
		if buf, err = appendValue(append(buf, ':'), values, at); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}

// appendUnion appends an object with the member that the value has.
func appendUnion(buf []byte, v *engine.Vector, i int) ([]byte, error) {
	tag := int(engine.Value[uint8](v.Field(0), i))
	buf, err := appendValue(append(format.AppendString(append(buf, '{'), v.Type.Fields[tag].Name), ':'), v.Field(tag+1), i)
	return append(buf, '}'), err
}

func appendStruct(buf []byte, v *engine.Vector, i int) ([]byte, error) {
	buf = append(buf, '{')
	for n, f := range v.Type.Fields {
		if n > 0 {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = appendValue(append(format.AppendString(buf, f.Name), ':'), v.Field(n), i); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func errNotFinite() error {
	return tools.NewError(errcode.Execution, "float result is NaN or infinite and cannot be represented in JSON", "")
}
