package format

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// column collects the values of one column, or of a part of a nested one, in
// Arrow's layout.
type column interface {
	// append adds the rows [from, from+n) of a vector.
	append(v *engine.Vector, from, n int) error
	// data returns what was added. It is valid until reset.
	data() *array.Data
	reset()
	size() int // in bytes
}

// newColumn collects the values of type t as dt, which is one of [ArrowTypes.Of].
func newColumn(t *engine.Type, dt arrow.DataType) column {
	if convert := widened[t.ID]; convert != nil && dt.ID() == plainTypes[t.ID].ID() {
		return &converted{rawColumn{dt: dt, width: dt.(arrow.FixedWidthDataType).Bytes()}, convert}
	}
	switch t.ID {
	case engine.Null:
		return &nullColumn{}
	case engine.Boolean:
		return &boolColumn{dt: dt}
	case engine.UHugeInt:
		return &converted{rawColumn{dt: dt, width: 32}, widenUHugeInt}
	case engine.Decimal:
		return newDecimal(t, dt)
	case engine.Interval:
		return &converted{rawColumn{dt: dt, width: 16}, convertInterval}
	case engine.Varchar:
		return &textColumn{*newBytes(dt, AppendText)}
	case engine.Blob:
		return newBytes(dt, func(buf []byte, v *engine.Vector, i int) []byte { return append(buf, v.Bytes(i)...) })
	case engine.Bit, engine.UUID, engine.TimeTZ:
		return newBytes(dt, plain(t))
	case engine.Enum:
		if dt.ID() != arrow.DICTIONARY {
			return newBytes(dt, AppendEnum)
		}
		return newEnum(t, dt)
	case engine.List, engine.Map, engine.Array, engine.Struct, engine.Union:
		return newNested(t, dt)
	}
	return &rawColumn{dt: dt, width: t.ValueSize()}
}

// validity collects which values are not NULL, one bit each.
type validity struct {
	bits  []byte // covers all n values once there is a NULL
	n     int
	nulls int
}

// append adds the rows [from, from+n) of v and reports whether any of them is NULL.
func (b *validity) append(v *engine.Vector, from, n int) bool {
	nulls := 0
	words := v.Validity(from + n)
	source := arrow.GetBytes(words)
	if words != nil {
		nulls = n - bitutil.CountSetBits(source, from, n)
	}
	switch {
	case nulls > 0 && b.nulls == 0:
		b.grow(b.n)
		bitutil.SetBitsTo(b.bits, 0, int64(b.n), true)
		fallthrough
	case nulls > 0:
		b.grow(b.n + n)
		bitutil.CopyBitmap(source, from, n, b.bits, b.n)
	case b.nulls > 0:
		b.grow(b.n + n)
		bitutil.SetBitsTo(b.bits, int64(b.n), int64(n), true)
	}
	b.n += n
	b.nulls += nulls
	return nulls > 0
}

// grow makes room for n bits.
func (b *validity) grow(n int) { b.bits = growBits(b.bits, n) }

// growBits lengthens a bitmap to n bits; new ones are zero.
func growBits(bits []byte, n int) []byte {
	for need := (n + 7) / 8; len(bits) < need; {
		bits = append(bits, 0)
	}
	return bits
}

func (b *validity) reset() { b.bits, b.n, b.nulls = b.bits[:0], 0, 0 }

// buffer returns Arrow's validity bitmap; nil when nothing is NULL.
func (b *validity) buffer() *memory.Buffer {
	if b.nulls == 0 {
		return nil
	}
	return memory.NewBufferBytes(b.bits)
}

// rawColumn copies values whose layout is the same in DuckDB and Arrow.
type rawColumn struct {
	validity
	dt    arrow.DataType
	width int
	buf   []byte
}

func (c *rawColumn) append(v *engine.Vector, from, n int) error {
	start := len(c.buf)
	c.buf = append(c.buf, engine.Values[byte](v, (from+n)*c.width)[from*c.width:]...)
	if c.validity.append(v, from, n) {
		clearNulls(c.buf[start:], c.width, v, from, n)
	}
	return nil
}

// clearNulls zeroes the slots of NULLs: DuckDB has arbitrary bytes there.
func clearNulls(buf []byte, width int, v *engine.Vector, from, n int) {
	for i := range n {
		if !v.Valid(from + i) {
			clear(buf[i*width : (i+1)*width])
		}
	}
}

func (c *rawColumn) data() *array.Data {
	return array.NewData(c.dt, c.n, []*memory.Buffer{c.buffer(), memory.NewBufferBytes(c.buf)}, nil, c.nulls, 0)
}

func (c *rawColumn) size() int { return len(c.buf) }

func (c *rawColumn) reset() {
	c.validity.reset()
	c.buf = c.buf[:0]
}

// converted writes values of another layout, n at a time.
type converted struct {
	rawColumn
	convert func(out []byte, v *engine.Vector, from, n int)
}

func (c *converted) append(v *engine.Vector, from, n int) error {
	start := len(c.buf)
	c.buf = grow(c.buf, n*c.width)
	c.convert(c.buf[start:], v, from, n)
	if c.validity.append(v, from, n) {
		clearNulls(c.buf[start:], c.width, v, from, n)
	}
	return nil
}

// grow lengthens buf by n bytes of arbitrary content.
func grow(buf []byte, n int) []byte {
	if len(buf)+n <= cap(buf) {
		return buf[:len(buf)+n]
	}
	return append(buf, make([]byte, n)...)
}

func newDecimal(t *engine.Type, dt arrow.DataType) column {
	switch t.ValueSize() {
	case 2:
		return &converted{rawColumn{dt: dt, width: 16}, widen[int16]}
	case 4:
		return &converted{rawColumn{dt: dt, width: 16}, widen[int32]}
	case 8:
		return &converted{rawColumn{dt: dt, width: 16}, widen[int64]}
	}
	return &rawColumn{dt: dt, width: 16}
}

// widen extends signed integers to 128 bits.
func widen[T int16 | int32 | int64](out []byte, v *engine.Vector, from, n int) {
	to := arrow.GetData[uint64](out)
	for i, n := range engine.Values[T](v, from+n)[from:] {
		to[2*i], to[2*i+1] = uint64(n), uint64(int64(n)>>63)
	}
}

// widened converts the unsigned integers to their plain types.
var widened = map[engine.TypeID]func(out []byte, v *engine.Vector, from, n int){
	engine.UTinyInt:  nextWider[uint8, int16],
	engine.USmallInt: nextWider[uint16, int32],
	engine.UInteger:  nextWider[uint32, int64],
	engine.UBigInt:   widenUnsigned,
}

// nextWider converts unsigned integers to a wider type.
func nextWider[From uint8 | uint16 | uint32, To int16 | int32 | int64](out []byte, v *engine.Vector, from, n int) {
	to := arrow.GetData[To](out)
	for i, n := range engine.Values[From](v, from+n)[from:] {
		to[i] = To(n)
	}
}

// widenUnsigned extends unsigned 64-bit integers to 128 bits.
func widenUnsigned(out []byte, v *engine.Vector, from, n int) {
	to := arrow.GetData[uint64](out)
	for i, n := range engine.Values[uint64](v, from+n)[from:] {
		to[2*i], to[2*i+1] = n, 0
	}
}

// widenUHugeInt extends unsigned 128-bit integers to 256 bits.
func widenUHugeInt(out []byte, v *engine.Vector, from, n int) {
	to := arrow.GetData[uint64](out)
	for i, n := range engine.Values[value.Int128](v, from+n)[from:] {
		to[4*i], to[4*i+1], to[4*i+2], to[4*i+3] = n.Low, uint64(n.High), 0, 0
	}
}

// convertInterval converts microseconds to Arrow's nanoseconds. Those beyond 292 years do not
// fit: they move whole days to the days, which makes an equal interval in SQL.
func convertInterval(out []byte, v *engine.Vector, from, n int) {
	const limit = math.MaxInt64 / 1000
	to := arrow.GetData[arrow.MonthDayNanoInterval](out)
	for i, span := range engine.Values[value.Interval](v, from+n)[from:] {
		days, micros := int64(span.Days), span.Micros
		if micros > limit || micros < -limit {
			days, micros = days+micros/value.MicrosPerDay, micros%value.MicrosPerDay
		}
		days = min(max(days, math.MinInt32), math.MaxInt32) // 5.9 million years
		to[i] = arrow.MonthDayNanoInterval{Months: span.Months, Days: int32(days), Nanoseconds: micros * 1000}
	}
}

// nullColumn has the type of a bare NULL.
type nullColumn struct{ n int }

func (c *nullColumn) append(_ *engine.Vector, _, n int) error {
	c.n += n
	return nil
}

func (c *nullColumn) data() *array.Data {
	return array.NewData(arrow.Null, c.n, []*memory.Buffer{nil}, nil, c.n, 0)
}

func (c *nullColumn) size() int { return 0 }
func (c *nullColumn) reset()    { c.n = 0 }

// boolColumn packs DuckDB's bytes to bits.
type boolColumn struct {
	validity
	dt   arrow.DataType
	bits []byte
	len  int
}

func (c *boolColumn) append(v *engine.Vector, from, n int) error {
	nulls := c.validity.append(v, from, n)
	c.bits = growBits(c.bits, c.len+n)
	for i, value := range engine.Values[uint8](v, from+n)[from:] {
		if value != 0 && (!nulls || v.Valid(from+i)) {
			at := c.len + i
			c.bits[at/8] |= 1 << (at % 8)
		}
	}
	c.len += n
	return nil
}

func (c *boolColumn) data() *array.Data {
	return array.NewData(c.dt, c.n, []*memory.Buffer{c.buffer(), memory.NewBufferBytes(c.bits)}, nil, c.nulls, 0)
}

func (c *boolColumn) size() int { return len(c.bits) }

func (c *boolColumn) reset() {
	c.validity.reset()
	c.bits, c.len = c.bits[:0], 0
}
