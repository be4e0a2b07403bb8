package format

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

type signed interface{ int8 | int16 | int32 | int64 }

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

func appendSigned[T signed](buf []byte, v *engine.Vector, i int) []byte {
	return strconv.AppendInt(buf, int64(engine.Value[T](v, i)), 10)
}

func appendUnsigned[T unsigned](buf []byte, v *engine.Vector, i int) []byte {
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
		for _, c := range buf[from:] {
			if c == '.' {
				return buf
			}
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

// appendHugeInt appends a signed 128-bit integer.
func appendHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	return appendDecimal128(buf, engine.Value[engine.Int128](v, i), 0)
}

// appendUHugeInt appends an unsigned 128-bit integer.
func appendUHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.Int128](v, i)
	var room [40]byte
	return append(buf, digits(&room, uint64(n.High), n.Low)...)
}

// decimalAppender appends DECIMAL(width, scale) with all its digits.
func decimalAppender(t *engine.Type) appender {
	scale := t.Scale
	switch {
	case t.Width <= 4:
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return appendDecimal(buf, int64(engine.Value[int16](v, i)), scale)
		}
	case t.Width <= 9:
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return appendDecimal(buf, int64(engine.Value[int32](v, i)), scale)
		}
	case t.Width <= 18:
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return appendDecimal(buf, engine.Value[int64](v, i), scale)
		}
	}
	return func(buf []byte, v *engine.Vector, i int) []byte {
		return appendDecimal128(buf, engine.Value[engine.Int128](v, i), scale)
	}
}

func appendDecimal(buf []byte, n int64, scale int) []byte {
	high := int64(0)
	if n < 0 {
		high = -1
	}
	return appendDecimal128(buf, engine.Int128{Low: uint64(n), High: high}, scale)
}

func appendDecimal128(buf []byte, n engine.Int128, scale int) []byte {
	high, low := uint64(n.High), n.Low
	if n.High < 0 {
		buf = append(buf, '-')
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	var room [40]byte
	d := digits(&room, high, low)
	if scale == 0 {
		return append(buf, d...)
	}
	if len(d) <= scale {
		buf = append(buf, '0', '.')
		for range scale - len(d) {
			buf = append(buf, '0')
		}
		return append(buf, d...)
	}
	point := len(d) - scale
	return append(append(append(buf, d[:point]...), '.'), d[point:]...)
}

// digits writes an unsigned 128-bit integer at the end of room.
func digits(room *[40]byte, high, low uint64) []byte {
	const split, splitDigits = 1e19, 19
	i := len(room)
	put := func(digit uint64) {
		i--
		room[i] = byte('0' + digit)
	}
	for high != 0 {
		top := high / split
		quotient, rest := bits.Div64(high%split, low, split)
		high, low = top, quotient
		for range splitDigits {
			put(rest % 10)
			rest /= 10
		}
	}
	for low != 0 || i == len(room) {
		put(low % 10)
		low /= 10
	}
	return room[i:]
}
