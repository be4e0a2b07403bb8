package format

import (
	"bytes"
	"io"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// csvRows writes a header and rows, quoted as in RFC 4180, separated by line feeds.
// NULL is an empty field, the empty string is "". In a result of one column NULL is
// "" as well: most readers skip an empty line.
type csvRows struct {
	buffered
	values []appender
	null   string
}

func newCSV(w io.Writer) Writer { return &csvRows{buffered: buffered{w: w}} }

func (c *csvRows) Begin(columns []engine.Column) error {
	if len(columns) == 1 {
		c.null = `""`
	}
	for i, col := range columns {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.buf = appendCSV(c.buf, []byte(col.Name))
		c.values = append(c.values, csvValue(col.Type))
	}
	c.buf = append(c.buf, '\n')
	return nil
}

func (c *csvRows) Write(chunk *engine.Chunk) error {
	for i := range chunk.Len() {
		for n, value := range c.values {
			if n > 0 {
				c.buf = append(c.buf, ',')
			}
			if v := chunk.Column(n); v.Valid(i) {
				c.buf = value(c.buf, v, i)
			} else {
				c.buf = append(c.buf, c.null...)
			}
		}
		c.buf = append(c.buf, '\n')
		if err := c.spill(); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvRows) End() error { return c.Flush() }

func csvValue(t *engine.Type) appender {
	if f := plain(t); f != nil && t.ID != engine.Blob && t.ID != engine.Bit {
		return f // never empty
	}
	if t.ID == engine.Varchar {
		return func(buf []byte, v *engine.Vector, i int) []byte { return appendCSV(buf, v.Bytes(i)) }
	}
	value := text(t)
	var scratch []byte
	return func(buf []byte, v *engine.Vector, i int) []byte {
		scratch = value(scratch[:0], v, i)
		return appendCSV(buf, scratch)
	}
}

// csvSpecial are the bytes that require quotes.
var csvSpecial = [256]bool{',': true, '"': true, '\n': true, '\r': true}

// appendCSV appends a field, in quotes if it needs them.
func appendCSV(buf, s []byte) []byte {
	quote := len(s) == 0
	for _, c := range s {
		if csvSpecial[c] {
			quote = true
			break
		}
	}
	if !quote {
		return appendValid(buf, s)
	}
	buf = append(buf, '"')
	for {
		i := bytes.IndexByte(s, '"')
		if i < 0 {
			return append(appendValid(buf, s), '"')
		}
		buf = append(appendValid(buf, s[:i]), '"', '"')
		s = s[i+1:]
	}
}
