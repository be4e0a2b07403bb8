package pgwire

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// binaryHead begins what COPY writes in binary: a signature, no flags, and no
// extension of the header.
const binaryHead = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// binaryEnd stands in place of the number of a next row's columns.
const binaryEnd = "\xff\xff"

// copying is the state of a COPY that writes rows.
type copying struct {
	*copyOut
	names []string // of the columns
	head  string   // stands before the first row, in one message
}

// beginCopy tells the client that rows come as COPY writes them.
func (c *conn) beginCopy(out *copyOut, columns []engine.Column) (*copying, error) {
	to := &copying{copyOut: out}
	for _, column := range columns {
		to.names = append(to.names, column.Name)
	}
	for name := range out.force {
		if !slices.Contains(to.names, name) {
			return nil, failure(stateNoColumn, "", "there is no column %q to FORCE_QUOTE", name)
		}
	}
	code := byte(formatText)
	if out.format == copyBinary {
		code, to.head = formatBinary, binaryHead
	}
	start := c.out.begin('H') // CopyOutResponse
	c.out.buf = binary.BigEndian.AppendUint16(append(c.out.buf, code), uint16(len(columns)))
	for range columns {
		c.out.buf = append(c.out.buf, 0, code)
	}
	c.out.finish(start)
	if out.header {
		start := c.out.begin('d')
		c.out.buf = to.appendHeader(c.out.buf)
		c.out.finish(start)
	}
	return to, nil
}

// endCopy ends the rows.
func (c *conn) endCopy(to *copying) {
	if to.format == copyBinary {
		start := c.out.begin('d')
		c.out.buf = append(append(c.out.buf, to.head...), binaryEnd...)
		c.out.finish(start)
	}
	c.out.empty('c') // CopyDone
}

func (to *copying) appendHeader(buf []byte) []byte {
	for n, name := range to.names {
		if n > 0 {
			buf = append(buf, to.delimiter)
		}
		start := len(buf)
		buf = append(buf, name...)
		if to.format == copyCSV {
			buf = to.quoteValue(buf, start, false)
		} else {
			buf = to.escapeValue(buf, start)
		}
	}
	return append(buf, '\n')
}

// appendRow appends a row.
func (to *copying) appendRow(buf []byte, encoders []encoder, chunk *engine.Chunk, i int) []byte {
	if to.format == copyBinary {
		buf = append(buf, to.head...)
		to.head = ""
		return appendRow(buf, encoders, chunk, i)
	}
	for n, encode := range encoders {
		if n > 0 {
			buf = append(buf, to.delimiter)
		}
		v := chunk.Column(n)
		if !v.Valid(i) || v.Type.ID == engine.Null {
			buf = append(buf, to.null...)
			continue
		}
		start := len(buf)
		buf = encode(buf, v, i)
		if to.format == copyCSV {
			buf = to.quoteValue(buf, start, to.forceAll || to.force[to.names[n]])
		} else {
			buf = to.escapeValue(buf, start)
		}
	}
	return append(buf, '\n')
}

// quoteValue puts the value that starts at start in quotes if it must be, or
// could be taken for NULL, for more than one value or for the end of the data.
func (to *copying) quoteValue(buf []byte, start int, force bool) []byte {
	value := buf[start:]
	special := func(b byte) bool { return b == to.delimiter || b == to.quote || b == '\n' || b == '\r' }
	if !force && string(value) != to.null && !slices.ContainsFunc(value, special) && (len(to.names) > 1 || string(value) != `\.`) {
		return buf
	}
	value = slices.Clone(value)
	buf = append(buf[:start], to.quote)
	for _, b := range value {
		if b == to.quote || b == to.escape {
			buf = append(buf, to.escape)
		}
		buf = append(buf, b)
	}
	return append(buf, to.quote)
}

// escapeValue writes a backslash before what means something in the text
// format.
func (to *copying) escapeValue(buf []byte, start int) []byte {
	special := func(b byte) bool { return b == '\\' || b == to.delimiter || '\b' <= b && b <= '\r' }
	first := slices.IndexFunc(buf[start:], special)
	if first < 0 {
		return buf
	}
	rest := bytes.Clone(buf[start+first:])
	buf = buf[:start+first]
	for _, b := range rest {
		switch {
		case '\b' <= b && b <= '\r':
			buf = append(buf, '\\', "btnvfr"[b-'\b'])
		case special(b):
			buf = append(buf, '\\', b)
		default:
			buf = append(buf, b)
		}
	}
	return buf
}
