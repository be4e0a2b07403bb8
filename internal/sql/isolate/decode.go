package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// decoder reads the payload of a frame of an [encoder]. It trusts nothing: a malformed
// payload is an error, and memory use is bounded by the bytes received. The chunks lie
// in the payload, which starts at a multiple of 8 bytes in memory.
type decoder struct {
	columns []engine.Column
	memory  *memory // nil when the payload was read
	rest    []byte  // of the payload
	nulls   int     // NULLs without a type that it may still have
}

// bareNulls is how many NULLs without a type a frame may have in addition to one for
// each byte: they take no bytes in it.
const bareNulls = 1 << 20

var errShort = errors.New("fewer bytes than values")

func newDecoder(columns []engine.Column, payload []byte) decoder {
	return decoder{columns, newMemory(payload), payload, len(payload) + bareNulls}
}

// next returns the next chunk, or nil after the last one.
func (d *decoder) next() (*engine.Chunk, error) {
	if len(d.rest) == 0 {
		if d.memory != nil {
			d.memory.release()
			d.memory = nil
		}
		return nil, nil
	}
	rows, err := d.number()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	if rows < 1 || rows > engine.ChunkRows {
		return nil, fmt.Errorf("%w: %d rows in a chunk", errFrame, rows)
	}
	vectors := make([]engine.Vector, len(d.columns))
	for i, c := range d.columns {
		if vectors[i], err = d.vector(c.Type, rows); err != nil {
			return nil, fmt.Errorf("%w: column %d: %w", errFrame, i+1, err)
		}
	}
	d.memory.users.Add(1)
	return engine.NewChunk(rows, vectors, d.memory.release), nil
}

// bytes takes a part of n bytes and its padding.
func (d *decoder) bytes(n int) ([]byte, error) {
	padded := (n + 7) &^ 7
	if padded > len(d.rest) {
		return nil, errShort
	}
	b := d.rest[:n:n]
	d.rest = d.rest[padded:]
	return b, nil
}

func (d *decoder) number() (int, error) {
	b, err := d.bytes(4)
	if err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint32(b)), nil
}

// vector returns n values of type t.
func (d *decoder) vector(t *engine.Type, n int) (v engine.Vector, err error) {
	v.Type = t
	if t.ID == engine.Null {
		if d.nulls -= n; d.nulls < 0 {
			return v, errors.New("more NULLs than the frame has bytes")
		}
		v.SetValidity(make([]byte, 8*words(max(1, n))))
		return v, nil
	}
	if err := d.mask(&v, n); err != nil {
		return v, err
	}
	switch t.ID {
	case engine.Varchar, engine.Blob, engine.Bit:
		return v, d.texts(&v, n)
	case engine.List, engine.Map:
		return v, d.lists(&v, n)
	case engine.Array:
		elements, err := d.vector(t.Elem, n*t.Size)
		v.SetElem(&elements)
		return v, err
	case engine.Struct, engine.Union:
		return v, d.members(&v, n)
	}
	return v, d.values(&v, n)
}

// words is the number of words of a mask of n values.
func words(n int) int { return (n + 63) / 64 }

// mask reads which of the values are NULL.
func (d *decoder) mask(v *engine.Vector, n int) error {
	masked, err := d.number()
	if err != nil || masked == 0 {
		return err
	}
	mask, err := d.bytes(8 * words(n))
	v.SetValidity(mask)
	return err
}

func (d *decoder) values(v *engine.Vector, n int) error {
	values, err := d.bytes(n * v.Type.ValueSize())
	if err != nil {
		return err
	}
	v.SetValues(values)
	switch v.Type.ID {
	case engine.Boolean:
		for i := range values {
			values[i] &= 1 // no other byte is a bool
		}
	case engine.Enum:
		for i := range n {
			if v.Valid(i) && v.EnumIndex(i) >= len(v.Type.Values) {
				return errors.New("an ENUM value outside its dictionary")
			}
		}
	}
	return nil
}

// texts reads texts. Those of NULLs are ignored. VARCHAR may have bytes that are not
// UTF-8.
func (d *decoder) texts(v *engine.Vector, n int) error {
	ends, err := d.bytes(4 * n)
	if err != nil {
		return err
	}
	last, err := checkEnds(ends)
	if err != nil {
		return err
	}
	all, err := d.bytes(last)
	if err != nil {
		return err
	}
	v.SetTexts(all, ends)
	if v.Type.ID == engine.Bit {
		return checkBits(v, n)
	}
	return nil
}

// checkEnds returns the last end of texts.
func checkEnds(ends []byte) (last int, err error) {
	for ; len(ends) > 0; ends = ends[4:] {
		end := int(binary.LittleEndian.Uint32(ends))
		if end < last {
			return 0, errors.New("a text that ends before it starts")
		}
		last = end
	}
	return last, nil
}

// checkBits refuses what is not a BIT: the number of unused bits is before the bits.
func checkBits(v *engine.Vector, n int) error {
	for i := range n {
		if s := v.Bytes(i); v.Valid(i) && (len(s) < 2 || s[0] > 7) {
			return errors.New("a BIT without bits")
		}
	}
	return nil
}

func (d *decoder) lists(v *engine.Vector, n int) error {
	lengths, err := d.bytes(4 * n)
	if err != nil {
		return err
	}
	count := 0
	entries := make([]engine.ListEntry, n)
	for i := range entries {
		length := int(binary.LittleEndian.Uint32(lengths[4*i:]))
		entries[i] = engine.ListEntry{Offset: uint64(count), Length: uint64(length)}
		if count += length; count > 8*len(d.memory.payload)+bareNulls {
			return fmt.Errorf("%d elements, more than the frame has bytes for", count)
		}
	}
	elements, err := d.vector(v.Type.Elem, count)
	if err != nil {
		return err
	}
	v.SetEntries(entries, &elements)
	if v.Type.ID != engine.Map {
		return nil
	}
	for i := range count {
		if !elements.Valid(i) || !elements.Field(0).Valid(i) {
			return errors.New("a MAP with a key that is NULL")
		}
	}
	return nil
}

func (d *decoder) members(v *engine.Vector, n int) error {
	types := members(v.Type)
	fields := make([]engine.Vector, len(types))
	for i, t := range types {
		var err error
		if fields[i], err = d.vector(t, n); err != nil {
			return err
		}
	}
	v.SetFields(fields)
	if v.Type.ID != engine.Union {
		return nil
	}
	tags := &fields[0]
	for i := range n {
		if v.Valid(i) && (!tags.Valid(i) || int(engine.Value[uint8](tags, i)) >= len(v.Type.Fields)) {
			return errors.New("a UNION value without a valid member")
		}
	}
	return nil
}
