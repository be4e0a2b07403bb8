package wire

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

func textSigned[T int8 | int16 | int32 | int64](buf []byte, v *engine.Vector, i int) []byte {
	return strconv.AppendInt(buf, int64(engine.Value[T](v, i)), 10)
}

func textUnsigned[T uint8 | uint16 | uint32 | uint64](buf []byte, v *engine.Vector, i int) []byte {
	return strconv.AppendUint(buf, uint64(engine.Value[T](v, i)), 10)
}

func textBool(buf []byte, v *engine.Vector, i int) []byte {
	if engine.Value[uint8](v, i) != 0 {
		return append(buf, 't')
	}
	return append(buf, 'f')
}

func textFloat4(buf []byte, v *engine.Vector, i int) []byte {
	return appendFloat(buf, float64(engine.Value[float32](v, i)), 32, 6)
}

func textFloat8(buf []byte, v *engine.Vector, i int) []byte {
	return appendFloat(buf, engine.Value[float64](v, i), 64, 15)
}

// appendFloat appends the shortest text that reads back as f, with an exponent
// where PostgreSQL has one: below 1e-4 and from so many digits on.
func appendFloat(buf []byte, f float64, bitSize, digits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(buf, "NaN"...)
	case math.IsInf(f, 1):
		return append(buf, "Infinity"...)
	case math.IsInf(f, -1):
		return append(buf, "-Infinity"...)
	}
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-4 || abs >= math.Pow10(digits)) {
		return strconv.AppendFloat(buf, f, 'e', -1, bitSize)
	}
	return strconv.AppendFloat(buf, f, 'f', -1, bitSize)
}

func textHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	return appendNumber(buf, engine.Value[engine.Int128](v, i), 0)
}

func textUHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.Int128](v, i)
	return appendDigits(buf, uint64(n.High), n.Low, 0)
}

func textDecimal(buf []byte, v *engine.Vector, i int) []byte {
	return appendNumber(buf, decimal(v, i), v.Type.Scale)
}

// decimal is a DECIMAL without its point.
func decimal(v *engine.Vector, i int) engine.Int128 {
	var n int64
	switch width := v.Type.Width; {
	case width <= 4:
		n = int64(engine.Value[int16](v, i))
	case width <= 9:
		n = int64(engine.Value[int32](v, i))
	case width <= 18:
		n = engine.Value[int64](v, i)
	default:
		return engine.Value[engine.Int128](v, i)
	}
	return engine.Int128{Low: uint64(n), High: n >> 63}
}

// absolute is |n| in two halves.
func absolute(n engine.Int128) (high, low uint64, negative bool) {
	high, low = uint64(n.High), n.Low
	if n.High >= 0 {
		return high, low, false
	}
	low, borrow := bits.Sub64(0, low, 0)
	high, _ = bits.Sub64(0, high, borrow)
	return high, low, true
}

func appendNumber(buf []byte, n engine.Int128, scale int) []byte {
	high, low, negative := absolute(n)
	if negative {
		buf = append(buf, '-')
	}
	return appendDigits(buf, high, low, scale)
}

// divide divides a 128-bit number by d.
func divide(high, low, d uint64) (quotientHigh, quotientLow, rest uint64) {
	quotientHigh = high / d
	quotientLow, rest = bits.Div64(high%d, low, d)
	return quotientHigh, quotientLow, rest
}

// appendDigits appends an unsigned 128-bit number with scale digits after the
// point.
func appendDigits(buf []byte, high, low uint64, scale int) []byte {
	var room [42]byte // 39 digits, the point, a zero before it
	at := len(room)
	for n := 0; high != 0 || low != 0 || n <= scale; n++ {
		if n == scale && scale > 0 {
			at--
			room[at] = '.'
		}
		var digit uint64
		if high == 0 {
			low, digit = low/10, low%10
		} else {
			high, low, digit = divide(high, low, 10)
		}
		at--
		room[at] = byte('0' + digit)
	}
	return append(buf, room[at:]...)
}

// textVarchar appends text; what is not UTF-8 of it becomes U+FFFD.
func textVarchar(buf []byte, v *engine.Vector, i int) []byte {
	s := v.Bytes(i)
	if utf8.Valid(s) {
		return append(buf, s...)
	}
	return append(buf, bytes.ToValidUTF8(s, []byte("\uFFFD"))...)
}

func textEnum(buf []byte, v *engine.Vector, i int) []byte {
	return append(buf, v.Type.Values[v.EnumIndex(i)]...)
}

func textBlob(buf []byte, v *engine.Vector, i int) []byte {
	return hex.AppendEncode(append(buf, `\x`...), v.Bytes(i))
}

// bitString is the padding and the bytes of a BIT value: its first byte says
// how many bits of the second are padding.
func bitString(v *engine.Vector, i int) (padding int, b []byte) {
	b = v.Bytes(i)
	if len(b) == 0 {
		return 0, nil
	}
	return int(b[0]), b[1:]
}

func textBit(buf []byte, v *engine.Vector, i int) []byte {
	padding, b := bitString(v, i)
	for at := padding; at < 8*len(b); at++ {
		buf = append(buf, '0'+b[at/8]>>(7-at%8)&1)
	}
	return buf
}

func textUUID(buf []byte, v *engine.Vector, i int) []byte {
	raw := uuid(v, i)
	for part, end := range [...]int{4, 6, 8, 10, 16} {
		from := 0
		if part > 0 {
			from = 2*part + 2
			buf = append(buf, '-')
		}
		buf = hex.AppendEncode(buf, raw[from:end])
	}
	return buf
}

// uuid is a UUID, which DuckDB keeps with its first bit inverted.
func uuid(v *engine.Vector, i int) [16]byte {
	n := engine.Value[engine.Int128](v, i)
	var raw [16]byte
	high := uint64(n.High) ^ 1<<63
	for b := range 8 {
		raw[b] = byte(high >> (56 - 8*b))
		raw[8+b] = byte(n.Low >> (56 - 8*b))
	}
	return raw
}

func textJSON(buf []byte, v *engine.Vector, i int) []byte { return format.JSON(buf, v, i) }
