package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// bareElements is the memory, in bytes, that list elements in a frame may take in
// addition to eight times the frame's size, the factor of BOOLEANs: NULLs without a
// type take no bytes in a frame.
const bareElements = 1 << 20

var errShort = errors.New("fewer values than rows")

// filler fills the vectors of one chunk with the values of Arrow arrays of the
// physical types. It checks their buffers and offsets.
type filler struct {
	elements int // remaining bytes for list elements
}

// vector fills the first n values of v, which is of type t.
func (f *filler) vector(v *engine.Vector, t *engine.Type, data arrow.ArrayData, n int) error {
	if n == 0 {
		return nil
	}
	if data.Len() < n || data.Offset() != 0 {
		return errShort
	}
	if t.ID == engine.Null {
		setNulls(v, make([]byte, (n+7)/8), n)
		return nil
	}
	if err := nulls(v, data, n); err != nil {
		return err
	}
	switch t.ID {
	case engine.Boolean:
		return booleans(v, data, n)
	case engine.Varchar, engine.Blob, engine.Bit:
		return texts(v, t, data, n)
	case engine.List, engine.Map:
		return f.lists(v, t, data, n)
	case engine.Array:
		return f.vector(v.Elem(), t.Elem, data.Children()[0], n*t.Size)
	case engine.Struct, engine.Union:
		return f.members(v, t, data, n)
	}
	return numbers(v, t, data, n)
}

// buffer returns the first size bytes of a buffer.
func buffer(data arrow.ArrayData, i, size int) ([]byte, error) {
	b := data.Buffers()[i]
	if b == nil || b.Len() < size {
		return nil, errShort
	}
	return b.Bytes()[:size], nil
}

// nulls copies the NULLs of data.
func nulls(v *engine.Vector, data arrow.ArrayData, n int) error {
	if data.NullN() == 0 {
		return nil
	}
	valid, err := buffer(data, 0, (n+7)/8)
	if err != nil {
		return err
	}
	setNulls(v, valid, n)
	return nil
}

// setNulls sets those of n values to NULL whose bit is not set.
func setNulls(v *engine.Vector, valid []byte, n int) {
	for at, b := range valid {
		for missing := ^b; missing != 0; missing &= missing - 1 {
			if i := at*8 + bits.TrailingZeros8(missing); i < n {
				v.SetNull(i)
			}
		}
	}
}

func booleans(v *engine.Vector, data arrow.ArrayData, n int) error {
	packed, err := buffer(data, 1, (n+7)/8)
	if err != nil {
		return err
	}
	for i, values := 0, engine.Values[bool](v, n); i < n; i++ {
		values[i] = packed[i/8]>>(i%8)&1 == 1
	}
	return nil
}

func numbers(v *engine.Vector, t *engine.Type, data arrow.ArrayData, n int) error {
	size := n * t.ValueSize()
	values, err := buffer(data, 1, size)
	if err != nil {
		return err
	}
	copy(engine.Values[byte](v, size), values)
	if t.ID == engine.Enum {
		return checkIndexes(v, t, n)
	}
	return nil
}

func checkIndexes(v *engine.Vector, t *engine.Type, n int) error {
	for i := range n {
		if v.Valid(i) && v.EnumIndex(i) >= len(t.Values) {
			return errors.New("an ENUM value outside its dictionary")
		}
	}
	return nil
}

// offsets returns n+1 ascending positions, at most size.
func offsets(data arrow.ArrayData, n, size int) ([]int32, error) {
	raw, err := buffer(data, 1, (n+1)*4)
	if err != nil {
		return nil, err
	}
	bounds := arrow.GetData[int32](raw)
	last := int32(0)
	for _, p := range bounds {
		if p < last || int(p) > size {
			return nil, fmt.Errorf("offset %d of %d", p, size)
		}
		last = p
	}
	return bounds, nil
}

func texts(v *engine.Vector, t *engine.Type, data arrow.ArrayData, n int) error {
	var all []byte
	if b := data.Buffers()[2]; b != nil {
		all = b.Bytes()
	}
	bounds, err := offsets(data, n, len(all))
	if err != nil {
		return err
	}
	for i := range n {
		if !v.Valid(i) {
			continue
		}
		s := all[bounds[i]:bounds[i+1]]
		if t.ID == engine.Varchar && !utf8.Valid(s) {
			s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
		}
		if t.ID == engine.Bit && (len(s) < 2 || s[0] > 7) {
			return errors.New("a BIT without bits")
		}
		v.SetBytes(i, s)
	}
	return nil
}

func (f *filler) lists(v *engine.Vector, t *engine.Type, data arrow.ArrayData, n int) error {
	elem := data.Children()[0]
	bounds, err := offsets(data, n, elem.Len())
	if err != nil {
		return err
	}
	count := int(bounds[n])
	if f.elements -= count * room(t.Elem, false); f.elements < 0 {
		return fmt.Errorf("%d elements, more than the frame has bytes for", count)
	}
	v.Grow(count)
	for i, entries := 0, engine.Values[engine.ListEntry](v, n); i < n; i++ {
		entries[i] = engine.ListEntry{Offset: uint64(bounds[i]), Length: uint64(bounds[i+1] - bounds[i])}
	}
	return f.vector(v.Elem(), t.Elem, elem, count)
}

func (f *filler) members(v *engine.Vector, t *engine.Type, data arrow.ArrayData, n int) error {
	types := members(t)
	for i, m := range types {
		if err := f.vector(v.Field(i), m, data.Children()[i], n); err != nil {
			return err
		}
	}
	if t.ID != engine.Union {
		return nil
	}
	for i := range n {
		if tag := v.Field(0); v.Valid(i) && (!tag.Valid(i) || int(engine.Value[uint8](tag, i)) >= len(t.Fields)) {
			return errors.New("a UNION value without a valid member")
		}
	}
	return nil
}
