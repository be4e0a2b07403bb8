package results

import "github.com/spiced-sql/spiced/internal/sql/engine"

// valueSize is about how many bytes DuckDB takes for a value: its place in a
// vector, or what stands there of a longer one.
const valueSize = 8

// chunkSize is about how many bytes DuckDB takes for the rows of a chunk.
func chunkSize(c *engine.Chunk, columns int) int64 {
	var n int64
	for i := range columns {
		n += vectorSize(c.Column(i), 0, c.Len())
	}
	return n
}

// vectorSize is that of the values from one to, but not with, another.
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
