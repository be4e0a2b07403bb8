package format

import (
	"io"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// CellsType is the media type of rows for a terminal: a line with the columns, then a
// line for each row with the texts of the values, or null.
//
//	[{"name":"i","type":"BIGINT","numeric":true},{"name":"s","type":"VARCHAR"}]
//	["1",null]
const CellsType = "application/vnd.spiced.cells"

// cells writes the rows of CellsType.
type cells struct {
	buffered
	values  []appender
	scratch []byte
}

func newCells(w io.Writer) Writer { return &cells{buffered: buffered{w: w}} }

func (c *cells) Begin(columns []engine.Column) error {
	c.buf = append(c.buf, '[')
	for i, col := range columns {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.buf = AppendString(append(c.buf, `{"name":`...), col.Name)
		c.buf = AppendString(append(c.buf, `,"type":`...), col.Type.String())
		if number(col.Type) != nil || slices.Contains(floats, col.Type.ID) {
			c.buf = append(c.buf, `,"numeric":true`...)
		}
		c.buf = append(c.buf, '}')
		c.values = append(c.values, text(col.Type))
	}
	c.buf = append(c.buf, "]\n"...)
	return nil
}

var floats = []engine.TypeID{engine.Float, engine.Double}

func (c *cells) Write(chunk *engine.Chunk) error {
	for i := range chunk.Len() {
		c.buf = append(c.buf, '[')
		for n, value := range c.values {
			if n > 0 {
				c.buf = append(c.buf, ',')
			}
			if v := chunk.Column(n); v.Valid(i) {
				c.scratch = value(c.scratch[:0], v, i)
				c.buf = AppendString(c.buf, c.scratch)
			} else {
				c.buf = append(c.buf, "null"...)
			}
		}
		c.buf = append(c.buf, "]\n"...)
		if err := c.spill(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cells) End() error { return c.Flush() }
