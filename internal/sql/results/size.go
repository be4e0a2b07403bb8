package results

import "github.com/spiced-sql/spiced/internal/sql/engine"

// valueSize is the approximate size of a value in DuckDB: its slot in a vector, or
// the reference there to a longer one.
const valueSize = 8

// chunkSize is the approximate size in bytes of the rows of a chunk in DuckDB.
func chunkSize(c *engine.Chunk, columns int) int64 {
	var n int64
	for i := range columns {
		n += vectorSize(c.Column(i), 0, c.Len())
	}
	return n
}

// vectorSize is the approximate size of the values in [from, to).
func vectorSize(v *engine.Vector, from, to int) int64 {
	n := int64(to-from) * valueSize
	switch v.Type.ID {
	case engine.Varchar, engine.Blob, engine.Bit:
		for i := from; i < to; i++ {
			if v.Valid(i) {
				n += int64(len(v.Bytes(i)))
			}
		}
	case engine.List, engine.Map:
		for i := from; i < to; i++ {
			if v.Valid(i) {
				e := engine.Value[engine.ListEntry](v, i)
				n += vectorSize(v.Elem(), int(e.Offset), int(e.Offset+e.Length))
			}
		}
	case engine.Array:
		n += vectorSize(v.Elem(), from*v.Type.Size, to*v.Type.Size)
	case engine.Struct:
		for i := range v.Type.Fields {
			n += vectorSize(v.Field(i), from, to)
		}
	case engine.Union: // Field(0) is the tag
		for i := range v.Type.Fields {
			n += vectorSize(v.Field(i+1), from, to)
		}
	}
	return n
}
