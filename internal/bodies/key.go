package bodies

import (
	"encoding/binary"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// appendRow appends a key of row i: rows have equal keys if and only if their values are
// equal as bytes. It tells -0 from 0, and NaNs apart.
func appendRow(buf []byte, args *engine.Chunk, columns, i int) []byte {
	for c := range columns {
		buf = appendKey(buf, args.Column(c), i)
	}
	return buf
}

// appendKey appends value i of a vector. Each part has a known length, or begins with it.
func appendKey(buf []byte, v *engine.Vector, i int) []byte {
	if v.Type.ID == engine.Null || !v.Valid(i) {
		return append(buf, 0)
	}
	buf = append(buf, 1)
	switch v.Type.ID {
	case engine.Varchar, engine.Blob, engine.Bit:
		text := v.Bytes(i)
		return append(binary.LittleEndian.AppendUint32(buf, uint32(len(text))), text...)
	case engine.List, engine.Map:
		e := engine.Value[engine.ListEntry](v, i)
		buf = binary.LittleEndian.AppendUint64(buf, e.Length)
		return appendKeys(buf, v.Elem(), int(e.Offset), int(e.Offset+e.Length))
	case engine.Array:
		return appendKeys(buf, v.Elem(), i*v.Type.Size, (i+1)*v.Type.Size)
	case engine.Struct:
		for n := range v.Type.Fields {
			buf = appendKey(buf, v.Field(n), i)
		}
		return buf
	case engine.Union:
		for n := range len(v.Type.Fields) + 1 { // the tag first
			buf = appendKey(buf, v.Field(n), i)
		}
		return buf
	}
	size := v.Type.ValueSize()
	return append(buf, engine.Values[byte](v, (i+1)*size)[i*size:]...)
}

func appendKeys(buf []byte, v *engine.Vector, from, to int) []byte {
	for i := from; i < to; i++ {
		buf = appendKey(buf, v, i)
	}
	return buf
}
