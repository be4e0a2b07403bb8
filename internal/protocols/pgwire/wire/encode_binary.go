package wire

import (
	"encoding/binary"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
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

func binaryBlob(buf []byte, v *engine.Vector, i int) []byte { return append(buf, v.Bytes(i)...) }

func binaryUUID(buf []byte, v *engine.Vector, i int) []byte {
	raw := engine.Value[value.Int128](v, i).UUID()
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
