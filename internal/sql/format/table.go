package format

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Limits of a table: its columns are as wide as the first rows require.
const (
	sampleRows  = 10_000
	sampleBytes = 1 << 20
	maxWidth    = 200 // a wider value makes its own row longer
)

// table writes a table with borders, as Spice and Arrow print one:
//
//	+---+-------+
//	| a | b     |
//	+---+-------+
//	| 1 | hello |
//	+---+-------+
//
// NULL is NULL. Control characters are escaped: a value can neither break a line nor
// control a terminal.
type table struct {
	buffered
	columns []engine.Column
	values  []appender
	widths  []int // nil while the first rows are collected

	cells   []byte // of the first rows
	ends    []int  // of each cell in cells
	scratch []byte
}

func newTable(w io.Writer) Writer { return &table{buffered: buffered{w: w}} }

func (t *table) Begin(columns []engine.Column) error {
	t.columns = columns
	for _, c := range columns {
		t.values = append(t.values, text(c.Type))
	}
	return nil
}

func (t *table) Write(chunk *engine.Chunk) error {
	for i := range chunk.Len() {
		if t.widths == nil {
			t.collect(chunk, i)
			continue
		}
		for n := range t.values {
			t.scratch = t.cell(t.scratch[:0], chunk, n, i)
			t.put(n, t.scratch)
		}
		t.buf = append(t.buf, "|\n"...)
		if err := t.spill(); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) End() error {
	if t.widths == nil {
		t.layOut()
	}
	t.border()
	return t.Flush()
}

// cell appends the text of a value.
func (t *table) cell(buf []byte, chunk *engine.Chunk, n, i int) []byte {
	v := chunk.Column(n)
	if !v.Valid(i) {
		return append(buf, "NULL"...)
	}
	from := len(buf)
	return printable(t.values[n](buf, v, i), from)
}

// collect buffers a row until the widths are known.
func (t *table) collect(chunk *engine.Chunk, i int) {
	for n := range t.values {
		t.cells = t.cell(t.cells, chunk, n, i)
		t.ends = append(t.ends, len(t.cells))
	}
	if len(t.ends) >= sampleRows*len(t.values) || len(t.cells) >= sampleBytes {
		t.layOut()
	}
}

// layOut fixes the widths and writes the header and the collected rows.
func (t *table) layOut() {
	t.widths = make([]int, len(t.columns))
	names := make([][]byte, len(t.columns))
	for n, c := range t.columns {
		names[n] = printable(appendValid(nil, []byte(c.Name)), 0)
		t.widths[n] = min(width(names[n]), maxWidth)
	}
	t.eachCell(func(n int, s []byte) { t.widths[n] = max(t.widths[n], min(width(s), maxWidth)) })
	t.border()
	for n, name := range names {
		t.put(n, name)
	}
	t.buf = append(t.buf, "|\n"...)
	t.border()
	t.eachCell(func(n int, s []byte) {
		t.put(n, s)
		if n == len(t.columns)-1 {
			t.buf = append(t.buf, "|\n"...)
		}
	})
	t.cells, t.ends = nil, nil
}

// eachCell calls f with the collected cells, row by row.
func (t *table) eachCell(f func(n int, s []byte)) {
	from := 0
	for i, end := range t.ends {
		f(i%len(t.columns), t.cells[from:end])
		from = end
	}
}

func (t *table) put(n int, s []byte) {
	t.buf = append(append(t.buf, "| "...), s...)
	t.pad(' ', t.widths[n]-width(s)+1)
}

func (t *table) border() {
	for _, w := range t.widths {
		t.buf = append(t.buf, '+')
		t.pad('-', w+2)
	}
	t.buf = append(t.buf, "+\n"...)
}

func (t *table) pad(c byte, n int) {
	for range max(n, 1) {
		t.buf = append(t.buf, c)
	}
}

// width is the number of terminal cells that s takes.
func width(s []byte) int {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return runewidth.StringWidth(string(s))
		}
	}
	return len(s)
}

// printable escapes the control characters in buf[from:].
func printable(buf []byte, from int) []byte {
	if bytes.IndexFunc(buf[from:], hidden) < 0 {
		return buf
	}
	s := string(buf[from:])
	buf = buf[:from]
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf && hidden(r):
			buf = appendEscaped(buf, byte(r))
		case hidden(r):
			buf = append(buf, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			buf = utf8.AppendRune(buf, r)
		}
	}
	return buf
}

// hidden reports whether a rune of the basic plane moves the cursor or changes the
// direction of text instead of being visible.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
