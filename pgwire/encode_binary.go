package pgwire

import (
	"encoding/binary"

	"github.com/spiced-sql/spiced/engine"
)

func binaryBool(buf []byte, v *engine.Vector, i int) []byte {
	return append(buf, min(engine.Value[uint8](v, i), 1))
}

func binaryInt2[T int8 | int16 | uint8](buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint16(buf, uint16(int16(engine.Value[T](v, i))))
}

func binaryInt4[T int32 | uint16](buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint32(buf, uint32(int32(engine.Value[T](v, i))))
}

func binaryInt8[T int64 | uint32](buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint64(buf, uint64(int64(engine.Value[T](v, i))))
}

// binaryFixed32 and binaryFixed64 append values whose bits are the same in
// PostgreSQL.
func binaryFixed32(buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint32(buf, engine.Value[uint32](v, i))
}

func binaryFixed64(buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint64(buf, engine.Value[uint64](v, i))
}

func binaryBlob(buf []byte, v *engine.Vector, i int) []byte { return append(buf, v.Bytes(i)...) }

func binaryUUID(buf []byte, v *engine.Vector, i int) []byte {
	raw := uuid(v, i)
	return append(buf, raw[:]...)
}

// binaryBit appends the number of bits and the bits, from the highest of the
// first byte on; DuckDB has them at the end of the last.
func binaryBit(buf []byte, v *engine.Vector, i int) []byte {
	padding, b := bitString(v, i)
	n := 8*len(b) - padding
	buf = binary.BigEndian.AppendUint32(buf, uint32(n))
	for at := 0; at < len(b); at++ {
		shifted := b[at] << padding
		if at+1 < len(b) {
			shifted |= b[at+1] >> (8 - padding)
		}
		buf = append(buf, shifted)
	}
	return buf
}

func binaryUBigInt(buf []byte, v *engine.Vector, i int) []byte {
	return binaryNumeric(buf, 0, engine.Value[uint64](v, i), false, 0)
}

func binaryHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	high, low, negative := absolute(engine.Value[engine.Int128](v, i))
	return binaryNumeric(buf, high, low, negative, 0)
}

func binaryUHugeInt(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.Int128](v, i)
	return binaryNumeric(buf, uint64(n.High), n.Low, false, 0)
}

func binaryDecimal(buf []byte, v *engine.Vector, i int) []byte {
	high, low, negative := absolute(decimal(v, i))
	return binaryNumeric(buf, high, low, negative, v.Type.Scale)
}

const (
	numericBase     = 10_000
	numericDigits   = 4 // of the base
	numericNegative = 0x4000
)

// powers are those of ten up to the base.
var powers = [...]uint64{1, 10, 100, 1000, numericBase}

// binaryNumeric appends a numeric: the number of its digits to the base
// 10,000, the weight of the first, the sign, the digits after the point that
// are shown, and the digits (PostgreSQL, numeric_send).
func binaryNumeric(buf []byte, high, low uint64, negative bool, scale int) []byte {
	var room [12]uint16 // 39 decimal digits, the point anywhere
	n := 0
	if part := scale % numericDigits; part != 0 {
		var rest uint64
		high, low, rest = divide(high, low, powers[part])
		room[n] = uint16(rest * powers[numericDigits-part])
		n++
	}
	for high != 0 || low != 0 {
		var rest uint64
		high, low, rest = divide(high, low, numericBase)
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
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(digits)))
	buf = binary.BigEndian.AppendUint16(buf, uint16(int16(weight)))
	buf = binary.BigEndian.AppendUint16(buf, sign)
	buf = binary.BigEndian.AppendUint16(buf, uint16(scale))
	for i := len(digits) - 1; i >= 0; i-- {
		buf = binary.BigEndian.AppendUint16(buf, digits[i])
	}
	return buf
}
