package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// sameColumns compares the columns of a result with those wanted.
func sameColumns(got, want []arrow.Field, named bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("expected %d column(s), got %d column(s)", len(want), len(got))
	}
	for i, f := range want {
		if named && got[i].Name != f.Name || !sameType(got[i].Type, f.Type, 0) {
			name := f.Name
			if !named {
				name = got[i].Name
			}
			return fmt.Errorf("column %d expected '%s: %s', got '%s: %s'", i, name, f.Type, got[i].Name, got[i].Type)
		}
	}
	return nil
}

// sameType reports whether values of a type can be made into those wanted by [conformed]:
// it ignores the names of the elements of lists, what may be NULL, and the width of
// offsets.
func sameType(got, want arrow.DataType, depth int) bool {
	if depth > maxNested {
		return false
	}
	switch want := want.(type) {
	case *arrow.StringType:
		return got.ID() == arrow.STRING || got.ID() == arrow.LARGE_STRING
	case *arrow.BinaryType:
		return got.ID() == arrow.BINARY || got.ID() == arrow.LARGE_BINARY
	case *arrow.TimestampType:
		got, ok := got.(*arrow.TimestampType)
		return ok && got.Unit == want.Unit && (got.TimeZone == "") == (want.TimeZone == "")
	case *arrow.MapType:
		got, ok := got.(*arrow.MapType)
		return ok && sameType(got.KeyType(), want.KeyType(), depth+1) && sameType(got.ItemType(), want.ItemType(), depth+1)
	case *arrow.ListType:
		if got, ok := got.(*arrow.LargeListType); ok {
			return sameType(got.Elem(), want.Elem(), depth+1)
		}
		got, ok := got.(*arrow.ListType)
		return ok && sameType(got.Elem(), want.Elem(), depth+1)
	case *arrow.FixedSizeListType:
		got, ok := got.(*arrow.FixedSizeListType)
		return ok && got.Len() == want.Len() && sameType(got.Elem(), want.Elem(), depth+1)
	case *arrow.StructType:
		got, ok := got.(*arrow.StructType)
		return ok && sameFields(got.Fields(), want.Fields(), depth+1)
	}
	return arrow.TypeEqual(got, want)
}

func sameFields(got, want []arrow.Field, depth int) bool {
	if len(got) != len(want) {
		return false
	}
	for i, f := range want {
		if got[i].Name != f.Name || !sameType(got[i].Type, f.Type, depth) {
			return false
		}
	}
	return true
}

// Unreadable returns the part of a type that [Read] cannot read, or nil.
func Unreadable(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType, *arrow.SparseUnionType, *arrow.NullType:
		return t
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if part := Unreadable(f.Type); part != nil {
				return part
			}
		}
	}
	return nil
}

// conformed returns values of the type wanted, which [sameType] has compared.
func conformed(data arrow.ArrayData, want arrow.DataType, rows int) (arrow.Array, error) {
	d, err := conform(data, want, rows)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

// conform checks every buffer of the first rows values and returns them with the type
// wanted.
func conform(data arrow.ArrayData, want arrow.DataType, rows int) (arrow.ArrayData, error) {
	c := column{data: data, from: data.Offset(), n: rows}
	if data.Len() < rows || c.from < 0 || rows < 0 {
		return nil, errInvalid
	}
	if c.valid = c.buffer(0); len(c.valid) > 0 && len(c.valid) < (c.from+rows+7)/8 {
		return nil, errInvalid
	}
	buffers, children, err := c.values(want)
	if err != nil {
		return nil, err
	}
	var valid *memory.Buffer
	nulls := 0
	if len(c.valid) > 0 { // what the writer says about their number is not used
		valid, nulls = memory.NewBufferBytes(c.valid), array.UnknownNullCount
	}
	return array.NewData(want, rows, append([]*memory.Buffer{valid}, buffers...), children, nulls, c.from), nil
}

// column is an array of the writer.
type column struct {
	data    arrow.ArrayData
	valid   []byte
	from, n int
}

func (c column) buffer(i int) []byte {
	if buffers := c.data.Buffers(); i < len(buffers) && buffers[i] != nil {
		return buffers[i].Bytes()
	}
	return nil
}

func (c column) null(i int) bool {
	at := c.from + i
	return len(c.valid) > 0 && c.valid[at/8]>>(at%8)&1 == 0
}

// values returns the buffers after that of NULLs, and the children.
func (c column) values(want arrow.DataType) (buffers []*memory.Buffer, children []arrow.ArrayData, err error) {
	switch want := want.(type) {
	case *arrow.StringType, *arrow.BinaryType:
		buffers, err = c.texts(want.ID() == arrow.STRING)
	case *arrow.BooleanType:
		buffers, err = c.fixed(1)
	case *arrow.StructType:
		children, err = c.members(want)
	case *arrow.MapType:
		buffers, children, err = c.list(want.ElemField().Type)
		if err == nil && array.MakeFromData(children[0].Children()[0]).NullN() > 0 {
			err = errors.New("a map has a key that is NULL")
		}
	case *arrow.ListType:
		buffers, children, err = c.list(want.Elem())
	case *arrow.FixedSizeListType:
		children, err = c.fixedList(want)
	case arrow.FixedWidthDataType:
		if buffers, err = c.fixed(want.BitWidth()); err == nil {
			err = c.ranges(want, buffers[0].Bytes())
		}
	default:
		err = errInvalid
	}
	return buffers, children, err
}

// fixed returns the values of a fixed width.
func (c column) fixed(bits int) ([]*memory.Buffer, error) {
	b := c.buffer(1)
	if len(b) < ((c.from+c.n)*bits+7)/8 {
		return nil, errInvalid
	}
	return []*memory.Buffer{memory.NewBufferBytes(b)}, nil
}

// ranges checks values of types for which some bit patterns are not valid.
func (c column) ranges(want arrow.DataType, b []byte) error {
	switch want := want.(type) {
	case *arrow.Decimal128Type:
		a := array.NewDecimal128Data(array.NewData(want, c.n, []*memory.Buffer{nil, memory.NewBufferBytes(b)}, nil,
			0, c.from))
		for i, v := range a.Values() {
			if !c.null(i) && !v.FitsInPrecision(want.Precision) {
				return fmt.Errorf("a decimal has more than %d digits", want.Precision)
			}
		}
	case *arrow.Time64Type:
		day := int64(24*60*60) * int64(1e6)
		if want.Unit == arrow.Nanosecond {
			day *= 1000
		}
		for i := range c.n {
			if v := int64(binary.LittleEndian.Uint64(b[8*(c.from+i):])); !c.null(i) && (v < 0 || v > day) {
				return errors.New("a time is not within a day")
			}
		}
	}
	return nil
}

// offsets returns the offsets of lists or texts in 32 bits; the last is at most end.
func (c column) offsets(end int) ([]byte, error) {
	b := c.buffer(1)
	if c.n == 0 {
		return make([]byte, 4*(c.from+1)), nil
	}
	id := c.data.DataType().ID()
	width := 4
	if id == arrow.LARGE_STRING || id == arrow.LARGE_BINARY || id == arrow.LARGE_LIST {
		width = 8
	}
	if len(b) < width*(c.from+c.n+1) {
		return nil, errInvalid
	}
	if width == 8 {
		narrow := make([]byte, 4*(c.from+c.n+1))
		for i := c.from; i <= c.from+c.n; i++ {
			n := binary.LittleEndian.Uint64(b[8*i:])
			if n > math.MaxInt32 {
				return nil, errInvalid
			}
			binary.LittleEndian.PutUint32(narrow[4*i:], uint32(n))
		}
		b = narrow
	}
	last := int64(0)
	for i := c.from; i <= c.from+c.n; i++ {
		at := int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		if at < last || at > int64(end) {
			return nil, errInvalid
		}
		last = at
	}
	return b, nil
}

func (c column) texts(isText bool) ([]*memory.Buffer, error) {
	all := c.buffer(2)
	offsets, err := c.offsets(len(all))
	if err != nil {
		return nil, err
	}
	for i := range c.n {
		at := 4 * (c.from + i)
		if isText && !c.null(i) &&
			!utf8.Valid(all[binary.LittleEndian.Uint32(offsets[at:]):binary.LittleEndian.Uint32(offsets[at+4:])]) {
			return nil, fmt.Errorf("the text of row %d is not UTF-8", i)
		}
	}
	return []*memory.Buffer{memory.NewBufferBytes(offsets), memory.NewBufferBytes(all)}, nil
}

func (c column) list(elem arrow.DataType) ([]*memory.Buffer, []arrow.ArrayData, error) {
	children := c.data.Children()
	if len(children) != 1 {
		return nil, nil, errInvalid
	}
	child, err := conform(children[0], elem, children[0].Len())
	if err != nil {
		return nil, nil, err
	}
	offsets, err := c.offsets(child.Len())
	if err != nil {
		return nil, nil, err
	}
	return []*memory.Buffer{memory.NewBufferBytes(offsets)}, []arrow.ArrayData{child}, nil
}

func (c column) fixedList(want *arrow.FixedSizeListType) ([]arrow.ArrayData, error) {
	children := c.data.Children()
	if len(children) != 1 || children[0].Len() < (c.from+c.n)*int(want.Len()) {
		return nil, errInvalid
	}
	child, err := conform(children[0], want.Elem(), children[0].Len())
	return []arrow.ArrayData{child}, err
}

func (c column) members(want *arrow.StructType) ([]arrow.ArrayData, error) {
	children := c.data.Children()
	if len(children) != want.NumFields() {
		return nil, errInvalid
	}
	out := make([]arrow.ArrayData, len(children))
	for i, f := range want.Fields() {
		if children[i].Len() < c.from+c.n {
			return nil, errInvalid
		}
		var err error
		if out[i], err = conform(children[i], f.Type, children[i].Len()); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return out, nil
}
