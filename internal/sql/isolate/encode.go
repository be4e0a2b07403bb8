package isolate

import (
	"encoding/binary"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// encoder writes the rows of a result as frames. The payload of a frame is a sequence
// of chunks. A chunk is the number of rows and a vector for each column. Numbers are
// little-endian and have 4 bytes. Each part of a payload is padded to a multiple of 8
// bytes. A vector has these parts:
//
//   - 1 if there is a mask, otherwise 0;
//   - the mask, if there is one: one bit for each value, the lowest first, 0 for NULL;
//   - of VARCHAR, BLOB and BIT: the end of each text in all texts; the texts;
//   - of LIST and MAP: the number of elements of each value; the vector of all
//     elements;
//   - of ARRAY: the vector of all elements;
//   - of STRUCT and UNION: the vector of each member, of a UNION after that of the
//     tags;
//   - of NULL: nothing, not even whether there is a mask;
//   - of any other type: the values as they are in DuckDB's vector.
type encoder struct {
	out     *frameWriter
	columns int
	buf     []byte
}

// span is a range of the values of a vector.
type span struct{ from, n int }

// Sizes of frames with rows.
const (
	frameBytes = 1 << 20   // about the most, if one row is not larger
	sendBytes  = 256 << 10 // of chunks, after which they are sent
)

func newEncoder(columns []engine.Column, out *frameWriter) *encoder {
	return &encoder{out: out, columns: len(columns)}
}

// add adds the rows of a chunk to a frame and sends it when it is large enough.
func (e *encoder) add(chunk *engine.Chunk) error {
	rows := chunk.Len()
	step := rows
	if size := chunk.Size(4); size > frameBytes {
		step = max(1, int(int64(rows)*frameBytes/size))
	}
	for from := 0; from < rows; from += step {
		n := min(step, rows-from)
		e.number(n)
		e.pad()
		for i := range e.columns {
			e.vector(chunk.Column(i), []span{{from, n}})
		}
		if len(e.buf) < sendBytes {
			continue
		}
		if err := e.write(); err != nil {
			return err
		}
	}
	return nil
}

// write ends the frame, which is sent with the next flush or earlier.
func (e *encoder) write() error {
	if len(e.buf) == 0 {
		return nil
	}
	err := e.out.write(kindRows, e.buf)
	if e.buf = e.buf[:0]; cap(e.buf) > 4*frameBytes {
		e.buf = nil
	}
	return err
}

func (e *encoder) number(n int) { e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n)) }

// pad ends a part.
func (e *encoder) pad() {
	var zeros [8]byte
	e.buf = append(e.buf, zeros[:-len(e.buf)&7]...)
}

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
		e.pad()
	}
}

// mask adds the mask of the values.
func (e *encoder) mask(v *engine.Vector, spans []span) {
	if v.AllValid() {
		e.number(0)
		e.pad()
		return
	}
	e.number(1)
	e.pad()
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
	e.pad()
}

func (e *encoder) texts(v *engine.Vector, spans []span) {
	n := 0
	for _, s := range spans {
		n += s.n
	}
	end := len(e.buf) // of the ends so far
	e.buf = slices.Grow(e.buf, 4*n)[:end+4*n]
	e.pad()
	start := len(e.buf)
	for _, s := range spans {
		for i := s.from; i < s.from+s.n; i++ {
			if v.Valid(i) {
				e.buf = append(e.buf, v.Bytes(i)...)
			}
			binary.LittleEndian.PutUint32(e.buf[end:], uint32(len(e.buf)-start))
			end += 4
		}
	}
	e.pad()
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
			e.number(n)
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
	e.pad()
	return elements
}
