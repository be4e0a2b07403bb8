package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

const (
	numericBase     = 10_000
	numericDigits   = 4 // of the base
	numericNegative = 0x4000
	numericNaN      = 0xC000
	numericInf      = 0xD000
	numericMinus    = 0xF000
)

// powers are those of ten up to the base.
var powers = [...]uint64{1, 10, 100, 1000, numericBase}

func binaryHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	high, low, negative := engine.Value[value.Int128](v, i).Abs()
	return binaryNumeric(buf, high, low, negative, 0)
}

func binaryUHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[value.Int128](v, i)
	return binaryNumeric(buf, uint64(n.High), n.Low, false, 0)
}

func binaryDecimal(buf []byte, v *engine.Vector, i int) []byte {
	high, low, negative := format.Unscaled(v, i).Abs()
	return binaryNumeric(buf, high, low, negative, v.Type.Scale)
}

// binaryNumeric appends a numeric: the number of its digits to the base
// 10,000, the weight of the first, the sign, the digits after the point that
// are shown, and the digits (PostgreSQL, numeric_send).
func binaryNumeric(buf []byte, high, low uint64, negative bool, scale int) []byte {
	var room [12]uint16 // 39 decimal digits, the point anywhere
	n := 0
	if part := scale % numericDigits; part != 0 {
		var rest uint64
		high, low, rest = value.Divide(high, low, powers[part])
		room[n] = uint16(rest * powers[numericDigits-part])
		n++
	}
	for high != 0 || low != 0 {
		var rest uint64
		high, low, rest = value.Divide(high, low, numericBase)
		room[n] = uint16(rest)
		n++
	}
	digits := room[:n] // lowest first
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	weight := len(digits) - (scale+numericDigits-1)/numericDigits - 1
	for len(digits) > 0 && digits[0] == 0 {
		digits = digits[1:]
	}
	sign := uint16(0)
	if negative {
		sign = numericNegative
	}
	if len(digits) == 0 {
		weight = 0
	}
	buf = appendNumericHead(buf, len(digits), weight, sign, scale)
	for i := len(digits) - 1; i >= 0; i-- {
		buf = binary.BigEndian.AppendUint16(buf, digits[i])
	}
	return buf
}

func appendNumericHead(buf []byte, digits, weight int, sign uint16, scale int) []byte {
	buf = binary.BigEndian.AppendUint16(buf, uint16(digits))
	buf = binary.BigEndian.AppendUint16(buf, uint16(int16(weight)))
	buf = binary.BigEndian.AppendUint16(buf, sign)
	return binary.BigEndian.AppendUint16(buf, uint16(scale))
}

// numericOf is how values of type t are sent to a client that expects numeric
// because it gave a parameter that type: values that are integers or NULL leave
// the result an integer, and NaN makes it a DOUBLE.
func numericOf(t *engine.Type) (Type, bool) {
	if t.ID != engine.List {
		w, ok := numerics[t.ID]
		return w, ok
	}
	elem, ok := numerics[t.Elem.ID]
	return Type{
		pgtype.NumericArrayOID, -1, -1,
		func(buf []byte, v *engine.Vector, i int) []byte { return textElements(buf, v, i, elem.text) },
		func(buf []byte, v *engine.Vector, i int) []byte {
			return arrayOfElements(buf, v, i, elem.OID, elem.binary)
		},
	}, ok
}

// numerics are the types of numbers that are not numeric otherwise.
var numerics = map[engine.TypeID]Type{
	engine.TinyInt:   {pgtype.NumericOID, -1, -1, format.AppendSigned[int8], numericSigned[int8]},
	engine.SmallInt:  {pgtype.NumericOID, -1, -1, format.AppendSigned[int16], numericSigned[int16]},
	engine.Integer:   {pgtype.NumericOID, -1, -1, format.AppendSigned[int32], numericSigned[int32]},
	engine.BigInt:    {pgtype.NumericOID, -1, -1, format.AppendSigned[int64], numericSigned[int64]},
	engine.UTinyInt:  {pgtype.NumericOID, -1, -1, format.AppendUnsigned[uint8], numericUnsigned[uint8]},
	engine.USmallInt: {pgtype.NumericOID, -1, -1, format.AppendUnsigned[uint16], numericUnsigned[uint16]},
	engine.UInteger:  {pgtype.NumericOID, -1, -1, format.AppendUnsigned[uint32], numericUnsigned[uint32]},
	engine.Double:    {pgtype.NumericOID, -1, -1, textNumeric, numericDouble},
}

func numericSigned[T int8 | int16 | int32 | int64](buf []byte, v *engine.Vector, i int) []byte {
	n := int64(engine.Value[T](v, i))
	_, low, negative := value.Int128{Low: uint64(n), High: n >> 63}.Abs()
	return binaryNumeric(buf, 0, low, negative, 0)
}

func numericUnsigned[T uint8 | uint16 | uint32 | uint64](buf []byte, v *engine.Vector, i int) []byte {
	return binaryNumeric(buf, 0, uint64(engine.Value[T](v, i)), false, 0)
}

// textNumeric is textFloat8 without an exponent.
func textNumeric(buf []byte, v *engine.Vector, i int) []byte {
	f := engine.Value[float64](v, i)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return textFloat8(buf, v, i)
	}
	return strconv.AppendFloat(buf, f, 'f', -1, 64)
}

func numericDouble(buf []byte, v *engine.Vector, i int) []byte {
	f := engine.Value[float64](v, i)
	switch {
	case math.IsNaN(f):
		return appendNumericHead(buf, 0, 0, numericNaN, 0)
	case math.IsInf(f, 1):
		return appendNumericHead(buf, 0, 0, numericInf, 0)
	case math.IsInf(f, -1):
		return appendNumericHead(buf, 0, 0, numericMinus, 0)
	}
	return numericOfText(buf, strconv.FormatFloat(f, 'f', -1, 64))
}

// numericOfText is binaryNumeric for a number that is written without an
// exponent.
func numericOfText(buf []byte, s string) []byte {
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(s, ".")
	scale := len(fraction)
	padding := func(s string) string { return "000"[:(numericDigits-len(s)%numericDigits)%numericDigits] }
	whole, fraction = padding(whole)+whole, fraction+padding(fraction)
	weight, digits := len(whole)/numericDigits-1, whole+fraction
	for strings.HasPrefix(digits, "0000") {
		weight, digits = weight-1, digits[numericDigits:]
	}
	for strings.HasSuffix(digits, "0000") {
		digits = digits[:len(digits)-numericDigits]
	}
	sign := uint16(0)
	if negative {
		sign = numericNegative
	}
	if digits == "" {
		weight, sign = 0, 0
	}
	buf = appendNumericHead(buf, len(digits)/numericDigits, weight, sign, scale)
	for ; digits != ""; digits = digits[numericDigits:] {
		n, _ := strconv.ParseUint(digits[:numericDigits], 10, 16)
		buf = binary.BigEndian.AppendUint16(buf, uint16(n))
	}
	return buf
}
