package format

import (
	"errors"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// errTooLong is returned since Arrow offsets have 32 bits in the types used here.
var errTooLong = errors.New("values of more than 2 GiB do not fit an Arrow batch")

// bytesColumn holds text and binary values: the concatenated values and their
// offsets.
type bytesColumn struct {
	validity
	dt      arrow.DataType
	value   appender
	offsets []int32
	buf     []byte
}

func newBytes(dt arrow.DataType, value appender) *bytesColumn {
	return &bytesColumn{dt: dt, value: value, offsets: []int32{0}}
}

func (c *bytesColumn) append(v *engine.Vector, from, n int) error {
	return c.values(v, from, n, c.validity.append(v, from, n))
}

// values adds the values of rows; nulls says whether some are NULL.
func (c *bytesColumn) values(v *engine.Vector, from, n int, nulls bool) error {
	for i := from; i < from+n; i++ {
		if !nulls || v.Valid(i) {
			c.buf = c.value(c.buf, v, i)
		}
		if len(c.buf) > math.MaxInt32 {
			return errTooLong
		}
		c.offsets = append(c.offsets, int32(len(c.buf)))
	}
	return nil
}

func (c *bytesColumn) data() *array.Data {
	buffers := []*memory.Buffer{c.buffer(), memory.NewBufferBytes(arrow.GetBytes(c.offsets)), memory.NewBufferBytes(c.buf)}
	return array.NewData(c.dt, c.n, buffers, nil, c.nulls, 0)
}

func (c *bytesColumn) size() int { return len(c.buf) + 4*len(c.offsets) }

func (c *bytesColumn) reset() {
	c.validity.reset()
	c.offsets = c.offsets[:1]
	if c.buf = c.buf[:0]; cap(c.buf) > keepCap {
		c.buf = nil
	}
}

// textColumn holds text. Bytes that are not UTF-8 become U+FFFD.
type textColumn struct{ bytesColumn }

// append copies the texts and validates all of them at once, which takes a fraction
// of the time of validating each. If that fails, invalid texts are copied again.
func (c *textColumn) append(v *engine.Vector, from, n int) error {
	nulls := c.validity.append(v, from, n)
	buf, offsets, done := v.AppendTexts(c.buf, c.offsets, from, n)
	for i := from; i < from+n && !done; i++ {
		if !nulls || v.Valid(i) {
			buf = append(buf, v.Bytes(i)...)
		}
		if len(buf) > math.MaxInt32 {
			return errTooLong
		}
		offsets = append(offsets, int32(len(buf)))
	}
	if len(buf) > math.MaxInt32 {
		return errTooLong
	}
	if !allValid(buf, offsets[len(c.offsets)-1:]) {
		return c.values(v, from, n, nulls)
	}
	c.buf, c.offsets = buf, offsets
	return nil
}

// allValid reports whether each text between two offsets is UTF-8: all are valid
// together, and none begins within a character.
func allValid(buf []byte, offsets []int32) bool {
	if !utf8.Valid(buf[offsets[0]:]) {
		return false
	}
	for _, at := range offsets {
		if int(at) < len(buf) && !utf8.RuneStart(buf[at]) {
			return false
		}
	}
	return true
}

// enumColumn is a dictionary and the indexes of the values in it.
type enumColumn struct {
	rawColumn
	dictionary *array.Data
}

func newEnum(t *engine.Type, dt arrow.DataType) column {
	d := dt.(*arrow.DictionaryType)
	values := newBytes(d.ValueType, nil)
	for _, s := range t.Values {
		values.buf = appendValid(values.buf, []byte(s))
		values.offsets = append(values.offsets, int32(len(values.buf)))
		values.n++
	}
	width := d.IndexType.(arrow.FixedWidthDataType).Bytes()
	return &enumColumn{rawColumn{dt: dt, width: width}, values.data()}
}

func (c *enumColumn) data() *array.Data {
	buffers := []*memory.Buffer{c.buffer(), memory.NewBufferBytes(c.buf)}
	return array.NewDataWithDictionary(c.dt, c.n, buffers, c.nulls, 0, c.dictionary)
}
