package isolate

import (
	"encoding/binary"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// encoder writes the rows of a result as frames. The payload of a frame is the number
// of rows and a vector for each column. Numbers are little-endian and have 4 bytes. A
// vector is
//
//   - a byte, 1 if there is a mask, and the mask: one bit for each value, the lowest
//     first, 0 for NULL;
//   - of VARCHAR, BLOB and BIT: the length of each text, and the texts;
//   - of LIST and MAP: the number of elements of each value, and the vector of all
//     elements;
//   - of ARRAY: the vector of all elements;
//   - of STRUCT and UNION: the vector of each member, of a UNION after that of the
//     tags;
//   - of NULL: nothing, not even a mask;
//   - of any other type: the values as they are in DuckDB's vector.
type encoder struct {
	out     *frameWriter
	columns int
	buf     []byte
}

// span is a range of the values of a vector.
type span struct{ from, n int }

// frameBytes is about how large a frame of rows is at most, if one row is not larger.
const frameBytes = 1 << 20

func newEncoder(columns []engine.Column, out *frameWriter) *encoder {
	return &encoder{out: out, columns: len(columns)}
}

// write writes the rows of a chunk.
func (e *encoder) write(chunk *engine.Chunk) error {
	rows := chunk.Len()
	step := rows
	if size := chunk.Size(4); size > frameBytes {
		step = max(1, int(int64(rows)*frameBytes/size))
	}
	for from := 0; from < rows; from += step {
		n := min(step, rows-from)
		e.buf = appendNumber(e.buf[:0], n)
		for i := range e.columns {
			e.vector(chunk.Column(i), []span{{from, n}})
		}
		if err := e.out.write(kindRows, e.buf); err != nil {
			return err
		}
	}
	if cap(e.buf) > 4*frameBytes {
		e.buf = nil
	}
	return nil
}

func appendNumber(buf []byte, n int) []byte { return binary.LittleEndian.AppendUint32(buf, uint32(n)) }

// vector adds the values of v in these spans.
func (e *encoder) vector(v *engine.Vector, spans []span) {
	if v.Type.ID == engine.Null {
		return
	}
	e.mask(v, spans)
	switch v.Type.ID {
	case engine.Varchar, engine.Blob, engine.Bit:
		e.texts(v, spans)
	case engine.List, engine.Map:
		e.vector(v.Elem(), e.lengths(v, spans))
	case engine.Array:
		elements := make([]span, len(spans))
		for i, s := range spans {
			elements[i] = span{s.from * v.Type.Size, s.n * v.Type.Size}
		}
		e.vector(v.Elem(), elements)
	case engine.Struct, engine.Union:
		for i := range members(v.Type) {
			e.vector(v.Field(i), spans)
		}
	default:
		size := v.Type.ValueSize()
		for _, s := range spans {
			e.buf = append(e.buf, engine.Values[byte](v, (s.from+s.n)*size)[s.from*size:]...)
		}
	}
}

// mask adds the mask of the values.
func (e *encoder) mask(v *engine.Vector, spans []span) {
	if v.AllValid() {
		e.buf = append(e.buf, 0)
		return
	}
	e.buf = append(e.buf, 1)
	bits, n := byte(0), 0
	for _, s := range spans {
		for i := s.from; i < s.from+s.n; i++ {
			if v.Valid(i) {
				bits |= 1 << (n % 8)
			}
			if n++; n%8 == 0 {
				e.buf, bits = append(e.buf, bits), 0
			}
		}
	}
	if n%8 != 0 {
		e.buf = append(e.buf, bits)
	}
}

func (e *encoder) texts(v *engine.Vector, spans []span) {
	for _, s := range spans {
		for i := s.from; i < s.from+s.n; i++ {
			n := 0
			if v.Valid(i) {
				n = len(v.Bytes(i))
			}
			e.buf = appendNumber(e.buf, n)
		}
	}
	for _, s := range spans {
		for i := s.from; i < s.from+s.n; i++ {
			if v.Valid(i) {
				e.buf = append(e.buf, v.Bytes(i)...)
			}
		}
	}
}

// lengths adds the lengths of lists and returns the spans of their elements.
func (e *encoder) lengths(v *engine.Vector, spans []span) (elements []span) {
	for _, s := range spans {
		for i := s.from; i < s.from+s.n; i++ {
			var list engine.ListEntry
			if v.Valid(i) {
				list = engine.Value[engine.ListEntry](v, i)
			}
			from, n := int(list.Offset), int(list.Length)
			e.buf = appendNumber(e.buf, n)
			last := len(elements) - 1
			switch {
			case n == 0:
			case last >= 0 && elements[last].from+elements[last].n == from:
				elements[last].n += n
			default:
				elements = append(elements, span{from, n})
			}
		}
	}
	return elements
}
