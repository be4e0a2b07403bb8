package engine

import (
	"slices"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// ChunkRows is how many rows a chunk has room for.
const ChunkRows = 2048

// NewChunk makes an empty chunk. Fill it through [Values], [Vector.SetNull],
// [Vector.SetTexts] and [Vector.Grow], then set its length. Its owner destroys it
// or passes it on.
func NewChunk(columns []Column) *Chunk {
	types := make([]mapping.LogicalType, len(columns))
	for i, c := range columns {
		types[i] = c.Type.logical()
		defer mapping.DestroyLogicalType(&types[i])
	}
	c := &Chunk{}
	c.load(mapping.CreateDataChunk(types), columns)
	return c
}

// SetLen sets the number of filled rows, at most ChunkRows.
func (c *Chunk) SetLen(n int) {
	mapping.DataChunkSetSize(c.raw, mapping.IdxT(n))
	c.rows = n
}

// Detach takes the rows out of the iteration over [Rows.Chunks]; the caller
// destroys them. The chunk itself can be read only until the next iteration.
func (c *Chunk) Detach() *Chunk {
	own := *c
	own.cols = slices.Clone(c.cols)
	for i := range own.cols {
		own.cols[i].elem, own.cols[i].fields = nil, nil
		own.cols[i].load(own.cols[i].raw)
	}
	c.raw.Ptr = nil
	return &own
}

// Destroy frees a chunk made by NewChunk or Detach.
func (c *Chunk) Destroy() { mapping.DestroyDataChunk(&c.raw) }

// SetNull makes value i NULL.
func (v *Vector) SetNull(i int) {
	if v.validity == nil {
		mapping.VectorEnsureValidityWritable(v.raw)
		v.validity = mapping.VectorGetValidity(v.raw)
	}
	*(*uint64)(unsafe.Add(v.validity, i/64*8)) &^= 1 << (i % 64)
}

// SetBytes makes value i of VARCHAR, BLOB or BIT a copy of b.
func (v *Vector) SetBytes(i int, b []byte) {
	if len(b) > inlineBytes {
		mapping.VectorAssignStringElementLen(v.raw, mapping.IdxT(i), b)
		return
	}
	v.setText(i, b, nil)
}

// SetTexts makes the first values of VARCHAR, BLOB or BIT copies of the parts of all
// between two successive bounds. The parts of a VARCHAR are UTF-8. It calls DuckDB
// once, which SetBytes does for each value.
func (v *Vector) SetTexts(all []byte, bounds []int32) {
	var stored unsafe.Pointer
	if len(all) > inlineBytes {
		v.SetBytes(0, all)
		stored = *(*unsafe.Pointer)(unsafe.Add(v.data, 8))
	}
	for i, start := range bounds[:len(bounds)-1] {
		at := stored
		if at != nil {
			at = unsafe.Add(stored, start)
		}
		v.setText(i, all[start:bounds[i+1]], at)
	}
}

// setText writes the 16 bytes of a text in a vector (string_t in DuckDB): the
// length, and the text or its first four bytes and where it is stored.
func (v *Vector) setText(i int, b []byte, stored unsafe.Pointer) {
	at := unsafe.Add(v.data, i*16)
	*(*[16]byte)(at) = [16]byte{}
	*(*uint32)(at) = uint32(len(b))
	text := unsafe.Slice((*byte)(unsafe.Add(at, 4)), inlineBytes)
	if len(b) <= inlineBytes {
		copy(text, b)
		return
	}
	copy(text[:4], b)
	*(*unsafe.Pointer)(unsafe.Add(at, 8)) = stored
}

// inlineBytes is the length of the longest text that DuckDB stores in the vector
// itself.
const inlineBytes = 12

// Grow makes room for n elements of all values of a LIST or MAP together. What was
// read from [Vector.Elem] before is no longer valid.
func (v *Vector) Grow(n int) {
	mapping.ListVectorReserve(v.raw, mapping.IdxT(n))
	mapping.ListVectorSetSize(v.raw, mapping.IdxT(n))
	v.elem.load(mapping.ListVectorGetChild(v.raw))
}
