package wire

import (
	"encoding/hex"
	"math"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

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
