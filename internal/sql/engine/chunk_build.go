package engine

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// ChunkRows is how many rows a chunk has room for.
const ChunkRows = 2048

// NewChunk returns a chunk in Go's memory, of at most ChunkRows rows. free, which may
// be nil, is called when no one reads it any more.
func NewChunk(rows int, columns []Vector, free func()) *Chunk {
	return &Chunk{rows: rows, cols: columns, free: free}
}

// SetValidity sets the mask of a vector in Go's memory: whole words, see
// [Vector.Validity], at a multiple of 8.
func (v *Vector) SetValidity(mask []byte) { v.validity = unsafe.Pointer(unsafe.SliceData(mask)) }

// SetValues sets the values of a fixed-width vector in Go's memory, see [Values]. Their
// address is a multiple of 8.
func (v *Vector) SetValues(values []byte) { v.data = unsafe.Pointer(unsafe.SliceData(values)) }

// SetEntries sets the values of LIST or MAP in Go's memory, and their elements.
func (v *Vector) SetEntries(entries []ListEntry, elements *Vector) {
	v.data, v.elem = unsafe.Pointer(unsafe.SliceData(entries)), elements
}

// SetElem sets the elements of ARRAY in Go's memory.
func (v *Vector) SetElem(elements *Vector) { v.elem = elements }

// SetFields sets the members of STRUCT or UNION in Go's memory, see [Vector.Field].
func (v *Vector) SetFields(fields []Vector) { v.fields = fields }

// textValues are values of VARCHAR, BLOB or BIT, one after another.
type textValues struct {
	all  []byte
	ends []byte // 4 bytes each, little-endian
}

func (t *textValues) end(i int) uint32 { return binary.LittleEndian.Uint32(t.ends[4*i:]) }

func (t *textValues) at(i int) []byte {
	if i == 0 {
		return t.all[:t.end(0)]
	}
	return t.all[t.end(i-1):t.end(i)]
}

// SetTexts sets the values of VARCHAR, BLOB or BIT in Go's memory to the parts of all
// that end there, in this order. The ends have 4 bytes each, little-endian.
func (v *Vector) SetTexts(all, ends []byte) { v.texts = &textValues{all, ends} }

// AppendTexts appends n values of VARCHAR, BLOB or BIT in Go's memory to a buffer, and
// their ends in it to a list. It reports whether the vector is one.
func (v *Vector) AppendTexts(buf []byte, ends []int32, from, n int) ([]byte, []int32, bool) {
	if v.texts == nil || n == 0 {
		return buf, ends, false
	}
	start := uint32(0)
	if from > 0 {
		start = v.texts.end(from - 1)
	}
	shift := int32(len(buf)) - int32(start)
	for i := from; i < from+n; i++ {
		ends = append(ends, int32(v.texts.end(i))+shift)
	}
	return append(buf, v.texts.all[start:v.texts.end(from+n-1)]...), ends, true
}

// newDuckChunk makes an empty chunk in DuckDB's memory.
func newDuckChunk(columns []Column) *Chunk {
	types := make([]mapping.LogicalType, len(columns))
	for i, c := range columns {
		types[i] = c.Type.logical()
		defer mapping.DestroyLogicalType(&types[i])
	}
	return loadChunk(mapping.CreateDataChunk(types), columns)
}

// setLen sets the number of filled rows of a chunk in DuckDB's memory.
func (c *Chunk) setLen(n int) {
	mapping.DataChunkSetSize(c.raw, mapping.IdxT(n))
	c.rows = n
}

// inDuckDB returns a copy of a chunk in DuckDB's memory.
func (c *Chunk) inDuckDB() *Chunk {
	columns := make([]Column, len(c.cols))
	for i := range c.cols {
		columns[i].Type = c.cols[i].Type
	}
	own := newDuckChunk(columns)
	for i := range c.cols {
		own.cols[i].fill(&c.cols[i], c.rows, 0)
	}
	own.setLen(c.rows)
	return own
}

// fill copies the first n values of a vector in Go's memory to one in DuckDB's, after the first
// at, which are filled.
func (v *Vector) fill(from *Vector, n, at int) {
	for i := range n {
		if !from.Valid(i) {
			v.setNull(at + i)
		}
	}
	switch v.Type.ID {
	case Null:
	case Varchar, Blob, Bit:
		v.fillTexts(from, n, at)
	case List, Map:
		v.fillLists(from, n, at)
	case Array:
		v.elem.fill(from.elem, n*v.Type.Size, at*v.Type.Size)
	case Struct, Union:
		for i := range v.fields {
			v.fields[i].fill(&from.fields[i], n, at)
		}
	default:
		size := v.Type.ValueSize()
		copy(Values[byte](v, (at+n)*size)[at*size:], Values[byte](from, n*size))
	}
}

func (v *Vector) fillLists(from *Vector, n, at int) {
	had := 0 // elements of the filled values
	if at > 0 {
		had = int(mapping.ListVectorGetSize(v.raw))
	}
	entries := Values[ListEntry](v, at+n)[at:]
	count := uint64(0)
	for i, e := range Values[ListEntry](from, n) {
		if !from.Valid(i) {
			e = ListEntry{}
		}
		count = max(count, e.Offset+e.Length)
		entries[i] = ListEntry{uint64(had) + e.Offset, e.Length}
	}
	v.grow(had + int(count))
	v.elem.fill(from.elem, int(count), had)
}

// fillTexts is fill for texts. Those that another process calls VARCHAR may not be
// UTF-8, which DuckDB relies on.
func (v *Vector) fillTexts(from *Vector, n, at int) {
	for i := range n {
		if !from.Valid(i) {
			continue
		}
		text := from.Bytes(i)
		if v.Type.ID == Varchar && !utf8.Valid(text) {
			text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
		}
		mapping.VectorAssignStringElementLen(v.raw, mapping.IdxT(at+i), text)
	}
}

// inlineBytes is the length of the longest text that DuckDB stores in the vector
// itself.
const inlineBytes = 12

// setNull makes value i of a vector in DuckDB's memory NULL.
func (v *Vector) setNull(i int) {
	if v.validity == nil {
		mapping.VectorEnsureValidityWritable(v.raw)
		v.validity = mapping.VectorGetValidity(v.raw)
	}
	*(*uint64)(unsafe.Add(v.validity, i/64*8)) &^= 1 << (i % 64)
}

// grow makes room for n elements of all values of a LIST or MAP together. What was
// read from [Vector.Elem] before is no longer valid.
func (v *Vector) grow(n int) {
	mapping.ListVectorReserve(v.raw, mapping.IdxT(n))
	mapping.ListVectorSetSize(v.raw, mapping.IdxT(n))
	v.elem.load(mapping.ListVectorGetChild(v.raw))
}

// Detach takes the rows out of the iteration over [Rows.Chunks]; the caller
// destroys them.
func (c *Chunk) Detach() *Chunk {
	own := *c
	c.raw.Ptr, c.free = nil, nil
	return &own
}

// Destroy frees the memory of the rows. Further calls do nothing.
func (c *Chunk) Destroy() {
	if c.raw.Ptr != nil {
		mapping.DestroyDataChunk(&c.raw)
	}
	if c.free != nil {
		c.free()
		c.free = nil
	}
}
