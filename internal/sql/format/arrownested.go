package format

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

func newNested(t *engine.Type, dt arrow.DataType) column {
	switch dt := dt.(type) {
	case *arrow.ListType:
		return &listColumn{dt: dt, offsets: []int32{0}, elem: newColumn(t.Elem, dt.Elem())}
	case *arrow.MapType:
		return &listColumn{dt: dt, offsets: []int32{0}, elem: newColumn(t.Elem, dt.Elem())}
	case *arrow.FixedSizeListType:
		return &arrayColumn{dt: dt, len: t.Size, elem: newColumn(t.Elem, dt.Elem())}
	case *arrow.StructType:
		return &structColumn{dt: dt, members: newMembers(t, dt.Fields())}
	case *arrow.SparseUnionType:
		return &unionColumn{structColumn: structColumn{dt: dt, members: newMembers(t, dt.Fields())}}
	}
	return &nullColumn{}
}

func newMembers(t *engine.Type, fields []arrow.Field) []column {
	members := make([]column, len(fields))
	for i, f := range fields {
		members[i] = newColumn(t.Fields[i].Type, f.Type)
	}
	return members
}

// listColumn holds LIST and MAP values.
type listColumn struct {
	validity
	dt      arrow.DataType
	offsets []int32
	elem    column
	count   int // elements
}

// append adds the elements in runs: adjacent values, the usual case, are copied at
// once.
func (c *listColumn) append(v *engine.Vector, from, n int) error {
	c.validity.append(v, from, n)
	start, end := 0, 0
	for i := from; i < from+n; i++ {
		if v.Valid(i) {
			e := engine.Value[engine.ListEntry](v, i)
			if int(e.Offset) != end && e.Length > 0 {
				if err := c.run(v, start, end); err != nil {
					return err
				}
				start, end = int(e.Offset), int(e.Offset)
			}
			end += int(e.Length)
			c.count += int(e.Length)
		}
		if c.count > math.MaxInt32 {
			return errTooLong
		}
		c.offsets = append(c.offsets, int32(c.count))
	}
	return c.run(v, start, end)
}

func (c *listColumn) run(v *engine.Vector, start, end int) error {
	if start == end {
		return nil
	}
	return c.elem.append(v.Elem(), start, end-start)
}

func (c *listColumn) data() *array.Data {
	elem := c.elem.data()
	defer elem.Release()
	buffers := []*memory.Buffer{c.buffer(), memory.NewBufferBytes(arrow.GetBytes(c.offsets))}
	return array.NewData(c.dt, c.n, buffers, []arrow.ArrayData{elem}, c.nulls, 0)
}

func (c *listColumn) size() int { return 4*len(c.offsets) + c.elem.size() }

func (c *listColumn) reset() {
	c.validity.reset()
	c.offsets, c.count = c.offsets[:1], 0
	c.elem.reset()
}

// arrayColumn holds ARRAY values, all of one length.
type arrayColumn struct {
	validity
	dt   arrow.DataType
	len  int
	elem column
}

func (c *arrayColumn) append(v *engine.Vector, from, n int) error {
	c.validity.append(v, from, n)
	return c.elem.append(v.Elem(), from*c.len, n*c.len)
}

func (c *arrayColumn) data() *array.Data {
	elem := c.elem.data()
	defer elem.Release()
	return array.NewData(c.dt, c.n, []*memory.Buffer{c.buffer()}, []arrow.ArrayData{elem}, c.nulls, 0)
}

func (c *arrayColumn) size() int { return c.elem.size() }

func (c *arrayColumn) reset() {
	c.validity.reset()
	c.elem.reset()
}

// structColumn holds STRUCT values, member by member.
type structColumn struct {
	validity
	dt      arrow.DataType
	members []column
}

func (c *structColumn) append(v *engine.Vector, from, n int) error {
	c.validity.append(v, from, n)
	return c.appendMembers(v, 0, from, n)
}

// appendMembers adds the rows of the members; the first is field first of v.
func (c *structColumn) appendMembers(v *engine.Vector, first, from, n int) error {
	for i, m := range c.members {
		if err := m.append(v.Field(first+i), from, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *structColumn) data() *array.Data { return c.build([]*memory.Buffer{c.buffer()}, c.nulls) }

func (c *structColumn) build(buffers []*memory.Buffer, nulls int) *array.Data {
	children := make([]arrow.ArrayData, len(c.members))
	for i, m := range c.members {
		child := m.data()
		defer child.Release()
		children[i] = child
	}
	return array.NewData(c.dt, c.n, buffers, children, nulls, 0)
}

func (c *structColumn) size() int {
	n := 0
	for _, m := range c.members {
		n += m.size()
	}
	return n
}

func (c *structColumn) reset() {
	c.validity.reset()
	for _, m := range c.members {
		m.reset()
	}
}

// unionColumn holds UNION values in Arrow's sparse form. Arrow's unions have no
// NULLs: a NULL becomes a NULL of the first member, as in DuckDB's own vectors.
type unionColumn struct {
	structColumn
	tags []byte
}

func (c *unionColumn) append(v *engine.Vector, from, n int) error {
	c.n += n
	start := len(c.tags)
	c.tags = append(c.tags, engine.Values[byte](v.Field(0), from+n)[from:]...)
	clearNulls(c.tags[start:], 1, v, from, n)
	return c.appendMembers(v, 1, from, n)
}

func (c *unionColumn) data() *array.Data {
	return c.build([]*memory.Buffer{nil, memory.NewBufferBytes(c.tags)}, 0)
}

func (c *unionColumn) size() int { return len(c.tags) + c.structColumn.size() }

func (c *unionColumn) reset() {
	c.structColumn.reset()
	c.tags = c.tags[:0]
}
