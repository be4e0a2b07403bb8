package arrowrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// vector returns the values of an array, whose memory it may share.
func vector(t *engine.Type, a arrow.Array) (v engine.Vector, err error) {
	if e, ok := a.(array.ExtensionArray); ok {
		return vector(t, e.Storage())
	}
	v.Type = t
	if mask := validity(a); mask != nil {
		v.SetValidity(mask)
	}
	switch t.ID {
	case engine.Null:
	case engine.Boolean:
		err = booleans(&v, a)
	case engine.Varchar, engine.Blob:
		err = texts(&v, a)
	case engine.Decimal:
		err = decimals(&v, a)
	case engine.List, engine.Map:
		err = lists(&v, a)
	case engine.Array:
		err = fixedLists(&v, a)
	case engine.Struct:
		err = members(&v, a.(*array.Struct))
	default:
		err = numbers(&v, a)
	}
	return v, err
}

// validity returns the mask of the values that are not NULL, in whole words, or nil if
// none is.
func validity(a arrow.Array) []byte {
	dictionary, ok := a.(*array.Dictionary)
	if ok = ok && dictionary.Dictionary().NullN() > 0; !ok && a.NullN() == 0 && a.DataType().ID() != arrow.NULL {
		return nil
	}
	mask := make([]byte, max(1, (a.Len()+63)/64)*8)
	switch bits := a.NullBitmapBytes(); {
	case ok:
		for i := range a.Len() {
			bitutil.SetBitTo(mask, i, a.IsValid(i) && dictionary.Dictionary().IsValid(dictionary.GetValueIndex(i)))
		}
	case len(bits) > 0:
		bitutil.CopyBitmap(bits, a.Data().Offset(), a.Len(), mask, 0)
	}
	return mask
}

func booleans(v *engine.Vector, a arrow.Array) error {
	b, ok := a.(*array.Boolean)
	if !ok {
		return errInvalid
	}
	values := make([]byte, b.Len())
	for i := range values {
		if b.IsValid(i) && b.Value(i) {
			values[i] = 1
		}
	}
	v.SetValues(values)
	return nil
}

// numbers are the values of fixed width: those of Arrow if DuckDB has the same ones.
func numbers(v *engine.Vector, a arrow.Array) error {
	switch a := a.(type) {
	case *array.Float16:
		return set(v, a, func(i int) (float32, error) { return a.Value(i).Float32(), nil })
	case *array.Date64:
		return set(v, a, func(i int) (int32, error) {
			days := int64(a.Value(i)) / (24 * time.Hour).Milliseconds()
			if days != int64(int32(days)) {
				return 0, errors.New("a date is out of range")
			}
			return int32(days), nil
		})
	case *array.Time32:
		unit := int64(a.DataType().(*arrow.Time32Type).Unit.Multiplier() / time.Microsecond)
		return set(v, a, func(i int) (int64, error) { return int64(a.Value(i)) * unit, nil })
	case *array.Timestamp:
		if t := a.DataType().(*arrow.TimestampType); t.TimeZone != "" && t.Unit != arrow.Microsecond {
			return set(v, a, func(i int) (int64, error) { return micros(int64(a.Value(i)), t.Unit) })
		}
	case *array.Duration:
		unit := a.DataType().(*arrow.DurationType).Unit
		return set(v, a, func(i int) (value.Interval, error) {
			n, err := micros(int64(a.Value(i)), unit)
			return value.Interval{Micros: n}, err
		})
	case *array.MonthInterval:
		return set(v, a, func(i int) (value.Interval, error) { return value.Interval{Months: int32(a.Value(i))}, nil })
	case *array.DayTimeInterval:
		return set(v, a, func(i int) (value.Interval, error) {
			x := a.Value(i)
			return value.Interval{Days: x.Days, Micros: int64(x.Milliseconds) * 1000}, nil
		})
	case *array.MonthDayNanoInterval:
		return set(v, a, func(i int) (value.Interval, error) {
			x := a.Value(i)
			return value.Interval{Months: x.Months, Days: x.Days, Micros: floor(x.Nanoseconds, 1000)}, nil
		})
	}
	if a.Len() == 0 {
		return nil
	}
	width := v.Type.ValueSize()
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); !ok || fixed.Bytes() != width {
		return errInvalid
	}
	from := a.Data().Offset() * width
	v.SetValues(a.Data().Buffers()[1].Bytes()[from : from+a.Len()*width])
	return nil
}

// set makes the values of a vector those that convert returns. It is not called for NULL.
func set[T any](v *engine.Vector, a arrow.Array, convert func(int) (T, error)) error {
	n := a.Len()
	if n == 0 {
		return nil
	}
	values := make([]T, n)
	for i := range values {
		if a.IsNull(i) {
			continue
		}
		var err error
		if values[i], err = convert(i); err != nil {
			return err
		}
	}
	v.SetValues(unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), n*int(unsafe.Sizeof(values[0]))))
	return nil
}

// micros converts a number of units to microseconds.
func micros(n int64, unit arrow.TimeUnit) (int64, error) {
	if unit == arrow.Nanosecond {
		return floor(n, 1000), nil
	}
	factor := int64(unit.Multiplier() / time.Microsecond)
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, errors.New("a time is out of range")
	}
	return n * factor, nil
}

// floor divides and rounds down.
func floor(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// texts are the values of VARCHAR and BLOB; those of other types as Arrow writes them.
func texts(v *engine.Vector, a arrow.Array) error {
	n := a.Len()
	ends := make([]byte, 0, 4*n)
	if id := a.DataType().ID(); id == arrow.STRING || id == arrow.BINARY {
		b := a.(array.BinaryLike)
		all, at := b.ValueBytes(), 0
		for i := range n {
			if at += b.ValueLen(i); b.ValueLen(i) < 0 || at > len(all) {
				return errInvalid
			}
			ends = binary.LittleEndian.AppendUint32(ends, uint32(at))
		}
		v.SetTexts(all, ends)
		return nil
	}
	text := textOf(a)
	var all []byte
	for i := range n {
		if a.IsValid(i) {
			all = append(all, text(i)...)
		}
		if len(all) > math.MaxUint32 {
			return errInvalid
		}
		ends = binary.LittleEndian.AppendUint32(ends, uint32(len(all)))
	}
	v.SetTexts(all, ends)
	return nil
}

// textOf returns a function that gives value i as a text or as bytes.
func textOf(a arrow.Array) func(i int) string {
	switch a := a.(type) {
	case array.StringLike:
		return a.Value
	case *array.Dictionary:
		text := textOf(a.Dictionary())
		return func(i int) string { return text(a.GetValueIndex(i)) }
	case interface{ Value(i int) []byte }:
		return func(i int) string { return string(a.Value(i)) }
	}
	return a.ValueStr
}

// decimals are the values of DECIMAL, whose width in memory depends on that of the type.
func decimals(v *engine.Vector, a arrow.Array) error {
	var at func(i int) *big.Int
	switch a := a.(type) {
	case *array.Decimal32:
		at = func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) }
	case *array.Decimal64:
		at = func(i int) *big.Int { return big.NewInt(int64(a.Value(i))) }
	case *array.Decimal128:
		if v.Type.Width > 18 {
			return set(v, a, func(i int) (value.Int128, error) {
				n := a.Value(i)
				return value.Int128{Low: n.LowBits(), High: n.HighBits()}, fits(n.FitsInPrecision(int32(v.Type.Width)))
			})
		}
		return small(v, a, func(i int) (int64, bool) {
			return int64(a.Value(i).LowBits()), a.Value(i).FitsInPrecision(int32(v.Type.Width))
		})
	case *array.Decimal256:
		at = func(i int) *big.Int { return a.Value(i).BigInt() }
	default:
		return errInvalid
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Type.Width)), nil)
	if v.Type.Width <= 18 {
		return small(v, a, func(i int) (int64, bool) { n := at(i); return n.Int64(), n.CmpAbs(limit) < 0 })
	}
	return set(v, a, func(i int) (value.Int128, error) {
		n := at(i)
		low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
		return value.Int128{Low: low.Uint64(), High: new(big.Int).Rsh(n, 64).Int64()}, fits(n.CmpAbs(limit) < 0)
	})
}

func fits(ok bool) error {
	if !ok {
		return errors.New("a DECIMAL has more digits than its type")
	}
	return nil
}

// small are the values of a DECIMAL of at most 18 digits.
func small(v *engine.Vector, a arrow.Array, at func(i int) (n int64, fits bool)) error {
	switch v.Type.ValueSize() {
	case 2:
		return set(v, a, func(i int) (int16, error) { n, ok := at(i); return int16(n), fits(ok) })
	case 4:
		return set(v, a, func(i int) (int32, error) { n, ok := at(i); return int32(n), fits(ok) })
	}
	return set(v, a, func(i int) (int64, error) { n, ok := at(i); return n, fits(ok) })
}

// lists are the values of LIST and MAP.
func lists(v *engine.Vector, a arrow.Array) error {
	list, ok := a.(array.ListLike)
	if !ok {
		return errInvalid
	}
	values := list.ListValues()
	first, last := int64(0), int64(0)
	entries := make([]engine.ListEntry, a.Len())
	for i := range entries {
		if a.IsNull(i) {
			continue
		}
		from, to := list.ValueOffsets(i)
		if from < 0 || to < from || to > int64(values.Len()) {
			return errInvalid
		}
		if from < to && last == 0 {
			first = from
		}
		if from < to {
			first, last = min(first, from), max(last, to)
		}
		entries[i] = engine.ListEntry{Offset: uint64(from), Length: uint64(to - from)}
	}
	for i := range entries {
		if entries[i].Offset -= uint64(first); entries[i].Length == 0 {
			entries[i].Offset = 0
		}
	}
	part := array.NewSlice(values, first, last)
	defer part.Release()
	if m, ok := part.(*array.Struct); ok && v.Type.ID == engine.Map && m.Field(0).NullN() > 0 {
		return errors.New("a MAP has a key that is NULL")
	}
	elements, err := vector(v.Type.Elem, part)
	v.SetEntries(entries, &elements)
	return err
}

func fixedLists(v *engine.Vector, a arrow.Array) error {
	list, ok := a.(*array.FixedSizeList)
	if !ok {
		return errInvalid
	}
	from := a.Data().Offset() * v.Type.Size
	part := array.NewSlice(list.ListValues(), int64(from), int64(from+a.Len()*v.Type.Size))
	defer part.Release()
	elements, err := vector(v.Type.Elem, part)
	v.SetElem(&elements)
	return err
}

func members(v *engine.Vector, a *array.Struct) error {
	fields := make([]engine.Vector, len(v.Type.Fields))
	for i, f := range v.Type.Fields {
		if a.Field(i).Len() < a.Len() {
			return errInvalid
		}
		var err error
		if fields[i], err = vector(f.Type, a.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	v.SetFields(fields)
	return nil
}
