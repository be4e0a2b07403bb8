package udf

import (
	"math"

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
		return appendList(buf, v, i)
	case engine.Struct:
		return appendStruct(buf, v, i)
	}
	if asText {
		return append(format.JSON(append(buf, '"'), v, i), '"'), nil
	}
	return format.JSON(buf, v, i), nil
}

func appendList(buf []byte, v *engine.Vector, i int) ([]byte, error) {
	e := engine.Value[engine.ListEntry](v, i)
	buf = append(buf, '[')
	for at := e.Offset; at < e.Offset+e.Length; at++ {
		if at > e.Offset {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = appendValue(buf, v.Elem(), int(at)); err != nil {
			return nil, err
		}
	}
	return append(buf, ']'), nil
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
