package isolate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

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

// booleans copies the lowest bit of each byte: C++ permits no others in a bool.
func (f *filler) booleans(v *engine.Vector, n int) error {
	from, err := f.bytes(n)
	if err != nil {
		return err
	}
	for i, values := 0, engine.Values[byte](v, n); i < n; i++ {
		values[i] = from[i] & 1
	}
	return nil
}

func (f *filler) numbers(v *engine.Vector, t *engine.Type, n int) error {
	values, err := f.bytes(n * t.ValueSize())
	if err != nil {
		return err
	}
	copy(engine.Values[byte](v, len(values)), values)
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

// texts fills in texts. Those of NULLs are empty or ignored.
func (f *filler) texts(v *engine.Vector, t *engine.Type, n int) error {
	lengths, err := f.bytes(4 * n)
	if err != nil {
		return err
	}
	total := 0
	bounds := append(f.bounds[:0], 0)
	for ; len(lengths) > 0; lengths = lengths[4:] {
		if total += int(binary.LittleEndian.Uint32(lengths)); total > len(f.rest) {
			return errShort
		}
		bounds = append(bounds, int32(total))
	}
	f.bounds = bounds
	all, err := f.bytes(total)
	if err != nil {
		return err
	}
	if t.ID == engine.Bit {
		for i := range n {
			if s := all[bounds[i]:bounds[i+1]]; v.Valid(i) && (len(s) < 2 || s[0] > 7) {
				return errors.New("a BIT without bits")
			}
		}
	}
	if t.ID != engine.Varchar || validTexts(all, bounds) {
		v.SetTexts(all, bounds)
		return nil
	}
	for i := range n {
		if v.Valid(i) {
			v.SetBytes(i, bytes.ToValidUTF8(all[bounds[i]:bounds[i+1]], []byte("\uFFFD")))
		}
	}
	return nil
}

// validTexts reports whether the parts of all between the bounds are UTF-8.
func validTexts(all []byte, bounds []int32) bool {
	if !utf8.Valid(all) {
		return false
	}
	for _, p := range bounds {
		if int(p) < len(all) && !utf8.RuneStart(all[p]) {
			return false
		}
	}
	return true
}

func (f *filler) lists(v *engine.Vector, t *engine.Type, n int) error {
	lengths, err := f.bytes(4 * n)
	if err != nil {
		return err
	}
	count, most := 0, f.elements/room(t.Elem, false)
	for i, entries := 0, engine.Values[engine.ListEntry](v, n); i < n; i++ {
		length := int(binary.LittleEndian.Uint32(lengths[4*i:]))
		entries[i] = engine.ListEntry{Offset: uint64(count), Length: uint64(length)}
		if count += length; count > most {
			return fmt.Errorf("%d elements, more than the frame has bytes for", count)
		}
	}
	f.elements -= count * room(t.Elem, false)
	v.Grow(count)
	return f.vector(v.Elem(), t.Elem, count)
}

func (f *filler) members(v *engine.Vector, t *engine.Type, n int) error {
	for i, m := range members(t) {
		if err := f.vector(v.Field(i), m, n); err != nil {
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
