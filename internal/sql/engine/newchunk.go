package engine

import (
	"slices"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// ChunkRows is how many rows a chunk has room for.
const ChunkRows = 2048

// NewChunk makes an empty chunk. Fill it through [Values], [Vector.SetNull],
// [Vector.SetBytes] and [Vector.Grow], then set its length. Its owner destroys it
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
	at := unsafe.Add(v.data, i*16)
	*(*[16]byte)(at) = [16]byte{}
	*(*uint32)(at) = uint32(len(b))
	copy(unsafe.Slice((*byte)(unsafe.Add(at, 4)), inlineBytes), b)
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
