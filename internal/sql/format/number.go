package format

import (
	"bytes"
	"math"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

type signed interface{ int8 | int16 | int32 | int64 }

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// AppendSigned appends a signed integer.
func AppendSigned[T signed](buf []byte, v *engine.Vector, i int) []byte {
	return strconv.AppendInt(buf, int64(engine.Value[T](v, i)), 10)
}

// AppendUnsigned appends an unsigned integer.
func AppendUnsigned[T unsigned](buf []byte, v *engine.Vector, i int) []byte {
	return strconv.AppendUint(buf, uint64(engine.Value[T](v, i)), 10)
}

func appendBool(buf []byte, v *engine.Vector, i int) []byte {
	return strconv.AppendBool(buf, engine.Value[bool](v, i))
}

func appendFloat32(buf []byte, v *engine.Vector, i int) []byte {
	return appendFloat(buf, float64(engine.Value[float32](v, i)), 32)
}

func appendFloat64(buf []byte, v *engine.Vector, i int) []byte {
	return appendFloat(buf, engine.Value[float64](v, i), 64)
}

// appendFloat appends the shortest text that parses to f; it has a point or an
// exponent.
func appendFloat(buf []byte, f float64, bitSize int) []byte {
	abs := math.Abs(f)
	exact := 1e15 // smaller whole numbers are shortest as digits
	if bitSize == 32 {
		exact = 1 << 24
	}
	switch {
	case abs == 0 && math.Signbit(f):
		return append(buf, "-0.0"...)
	case abs < exact && f == math.Trunc(f):
		return append(strconv.AppendInt(buf, int64(f), 10), ".0"...)
	case abs >= 1e-5 && abs < 1e16:
		from := len(buf)
		buf = strconv.AppendFloat(buf, f, 'f', -1, bitSize)
		if bytes.IndexByte(buf[from:], '.') >= 0 {
			return buf
		}
		return append(buf, ".0"...)
	case math.IsInf(f, 1):
		return append(buf, "inf"...)
	case math.IsInf(f, -1):
		return append(buf, "-inf"...)
	}
	return strconv.AppendFloat(buf, f, 'e', -1, bitSize) // and NaN
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// AppendHugeInt appends a signed 128-bit integer.
func AppendHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendDecimal(buf, engine.Value[value.Int128](v, i), 0)
}

// AppendUHugeInt appends an unsigned 128-bit integer.
func AppendUHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[value.Int128](v, i)
	return value.AppendUnsigned(buf, uint64(n.High), n.Low, 0)
}

// AppendDecimal appends a DECIMAL with all its digits.
func AppendDecimal(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendDecimal(buf, Unscaled(v, i), v.Type.Scale)
}

// Unscaled is a DECIMAL without its point.
func Unscaled(v *engine.Vector, i int) value.Int128 {
	var n int64
	switch width := v.Type.Width; {
	case width <= 4:
		n = int64(engine.Value[int16](v, i))
	case width <= 9:
		n = int64(engine.Value[int32](v, i))
	case width <= 18:
		n = engine.Value[int64](v, i)
	default:
		return engine.Value[value.Int128](v, i)
	}
	return value.Int128{Low: uint64(n), High: n >> 63}
}
