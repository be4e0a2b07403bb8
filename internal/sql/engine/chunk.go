package engine

import (
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Chunk is up to [ChunkRows] rows of a result, column by column, in DuckDB's own
// memory or, with the same layout, in Go's. It and everything read from it is valid
// until the next iteration over [Rows.Chunks].
type Chunk struct {
	raw  mapping.DataChunk // nil for a chunk in Go's memory
	free func()            // of a chunk in Go's memory
	rows int
	cols []Vector
}

// Len is the number of rows.
func (c *Chunk) Len() int { return c.rows }

// Columns is the number of columns.
func (c *Chunk) Columns() int { return len(c.cols) }

// only reduces the chunk to the columns of these numbers, in this order.
func (c *Chunk) only(columns []int) *Chunk {
	cols := make([]Vector, len(columns))
	for i, n := range columns {
		cols[i] = c.cols[n]
	}
	c.cols = cols
	return c
}

// Column returns column i.
func (c *Chunk) Column(i int) *Vector { return &c.cols[i] }

// Vector is one column of a [Chunk], or the elements of nested values.
type Vector struct {
	Type     *Type
	raw      mapping.Vector
	data     unsafe.Pointer
	validity unsafe.Pointer // one bit a row, 1 is valid; nil: all valid
	texts    *textValues    // instead of data: VARCHAR, BLOB and BIT in Go's memory
	elem     *Vector        // LIST, ARRAY, MAP
	fields   []Vector       // STRUCT; UNION: the tag first
}

// Valid reports whether row i is not NULL.
func (v *Vector) Valid(i int) bool {
	if v.validity == nil {
		return true
	}
	word := *(*uint64)(unsafe.Add(v.validity, i/64*8))
	return word>>(i%64)&1 == 1
}

// AllValid reports whether no row can be NULL.
func (v *Vector) AllValid() bool { return v.validity == nil }

// Validity returns the words of the validity mask of n rows, lowest bit first,
// or nil when every row is valid.
func (v *Vector) Validity(n int) []uint64 {
	if v.validity == nil {
		return nil
	}
	return unsafe.Slice((*uint64)(v.validity), (n+63)/64)
}

// Values returns the first n values of a fixed-width vector. T must have the
// width of the type: int8…int64, uint8…uint64, float32, float64, bool for the
// types of these names; int32 days for DATE; int64 for TIME, TIMESTAMP_* (in
// their unit) and TIMETZ; int16, int32, int64 or [value.Int128] for DECIMAL by width
// (≤ 4, ≤ 9, ≤ 18, ≤ 38); [value.Int128] for HUGEINT, UHUGEINT and UUID;
// [value.Interval] for INTERVAL; [ListEntry] for LIST and MAP; uint8, uint16 or
// uint32 for ENUM by the size of the dictionary.
func Values[T any](v *Vector, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(v.data), n)
}

// Value returns value i of a fixed-width vector; T is as for [Values].
func Value[T any](v *Vector, i int) T {
	var zero T
	return *(*T)(unsafe.Add(v.data, uintptr(i)*unsafe.Sizeof(zero)))
}

// ListEntry locates the elements of one LIST or MAP value in [Vector.Elem].
type ListEntry struct{ Offset, Length uint64 }

// Bytes returns value i of VARCHAR, BLOB or BIT without a copy.
func (v *Vector) Bytes(i int) []byte {
	if v.texts != nil {
		return v.texts.at(i)
	}
	at := unsafe.Add(v.data, i*16)
	n := *(*uint32)(at)
	if n <= inlineBytes {
		return unsafe.Slice((*byte)(unsafe.Add(at, 4)), n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(at, 8)), n)
}

// Elem holds the elements of LIST, ARRAY and MAP values.
func (v *Vector) Elem() *Vector { return v.elem }

// Field returns member i of STRUCT values. Of UNION values, Field(0) is the
// tag (UTINYINT) and Field(i+1) member i.
func (v *Vector) Field(i int) *Vector { return &v.fields[i] }

// EnumIndex returns the index of value i in the dictionary of an ENUM.
func (v *Vector) EnumIndex(i int) int {
	switch n := len(v.Type.Values); {
	case n <= 1<<8-1:
		return int(Value[uint8](v, i))
	case n <= 1<<16-1:
		return int(Value[uint16](v, i))
	}
	return int(Value[uint32](v, i))
}

// loadChunk returns the rows of a DuckDB chunk, which it owns.
func loadChunk(raw mapping.DataChunk, columns []Column) *Chunk {
	c := &Chunk{}
	c.load(raw, columns)
	return c
}

// load points c at a DuckDB chunk.
func (c *Chunk) load(raw mapping.DataChunk, columns []Column) {
	c.raw, c.rows = raw, int(mapping.DataChunkGetSize(raw))
	if c.cols == nil {
		c.cols = make([]Vector, len(columns))
		for i := range c.cols {
			c.cols[i].Type = columns[i].Type
		}
	}
	for i := range c.cols {
		c.cols[i].load(mapping.DataChunkGetVector(raw, mapping.IdxT(i)))
	}
}

func (v *Vector) load(raw mapping.Vector) {
	v.raw = raw
	v.data = mapping.VectorGetData(raw)
	v.validity = mapping.VectorGetValidity(raw)
	switch v.Type.ID {
	case List, Map:
		v.child(v.Type.Elem).load(mapping.ListVectorGetChild(raw))
	case Array:
		v.child(v.Type.Elem).load(mapping.ArrayVectorGetChild(raw))
	case Struct:
		v.members(v.Type.Fields, raw)
	case Union:
		v.members(append([]Field{{"", tagType}}, v.Type.Fields...), raw)
	}
}

// tagType is the type of the tags of a UNION.
var tagType = &Type{ID: UTinyInt}

func (v *Vector) child(t *Type) *Vector {
	if v.elem == nil {
		v.elem = &Vector{Type: t}
	}
	return v.elem
}

func (v *Vector) members(fields []Field, raw mapping.Vector) {
	if v.fields == nil {
		v.fields = make([]Vector, len(fields))
		for i, f := range fields {
			v.fields[i].Type = f.Type
		}
	}
	for i := range v.fields {
		v.fields[i].load(mapping.StructVectorGetChild(raw, mapping.IdxT(i)))
	}
}

// part returns n rows of a chunk in DuckDB's memory, which must outlive it.
func (c *Chunk) part(from, n int) *Chunk {
	out := &Chunk{rows: n, cols: make([]Vector, len(c.cols))}
	for i := range c.cols {
		out.cols[i] = c.cols[i].part(from, n)
	}
	return out
}

func (v *Vector) part(from, n int) Vector {
	out := Vector{Type: v.Type, elem: v.elem}
	if v.validity != nil {
		mask := make([]uint64, (n+63)/64+1) // of a vector without values too
		for i := range n {
			if v.Valid(from + i) {
				mask[i/64] |= 1 << (i % 64)
			}
		}
		out.validity = unsafe.Pointer(unsafe.SliceData(mask))
	}
	switch v.Type.ID {
	case Null:
	case Varchar, Blob, Bit, List, Map:
		out.data = unsafe.Add(v.data, from*16) // the elements of lists stay where they are
	case Array:
		elem := v.elem.part(from*v.Type.Size, n*v.Type.Size)
		out.elem = &elem
	case Struct, Union:
		out.fields = make([]Vector, len(v.fields))
		for i := range v.fields {
			out.fields[i] = v.fields[i].part(from, n)
		}
	default:
		out.data = unsafe.Add(v.data, from*v.Type.ValueSize())
	}
	return out
}

// rowSize is [Chunk.Size] of one row.
func (c *Chunk) rowSize(row int, slot int64) (n int64) {
	for i := range c.cols {
		n += c.cols[i].size(row, row+1, slot)
	}
	return n
}

// Size is the approximate number of bytes that the rows take. Each text, list, array
// and struct adds slot bytes for itself.
func (c *Chunk) Size(slot int64) int64 {
	var n int64
	for i := range c.cols {
		n += c.cols[i].size(0, c.rows, slot)
	}
	return n
}

func (v *Vector) size(from, to int, slot int64) int64 {
	n := int64(to-from) * slot
	switch v.Type.ID {
	case Varchar, Blob, Bit:
		for i := from; i < to; i++ {
			if v.Valid(i) {
				n += int64(len(v.Bytes(i)))
			}
		}
	case List, Map:
		for i := from; i < to; i++ {
			if v.Valid(i) {
				e := Value[ListEntry](v, i)
				n += v.elem.size(int(e.Offset), int(e.Offset+e.Length), slot)
			}
		}
	case Array:
		n += v.elem.size(from*v.Type.Size, to*v.Type.Size, slot)
	case Union:
		n = 0 // the tag is one of the fields
		fallthrough
	case Struct:
		for i := range v.fields {
			n += v.fields[i].size(from, to, slot)
		}
	default:
		return int64(to-from) * 8
	}
	return n
}
