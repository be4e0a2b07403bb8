package format

import (
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/engine"
)

// errTooLong: Arrow counts with 32 bits, as every reader can.
var errTooLong = errors.New("values of more than 2 GiB do not fit an Arrow batch")

// bytesColumn holds text and binary values: all of them one after the other,
// and where each begins.
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
	nulls := c.validity.append(v, from, n)
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

// enumColumn is a dictionary and the places of the values in it.
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
