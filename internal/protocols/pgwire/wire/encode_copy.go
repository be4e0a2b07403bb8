package wire

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// binaryHead begins what COPY writes in binary: a signature, no flags, and no
// extension of the header.
const binaryHead = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// binaryEnd replaces the number of columns after the last row.
const binaryEnd = "\xff\xff"

// Copy is how COPY … TO STDOUT writes rows, and COPY … FROM STDIN reads them.
// https://www.postgresql.org/docs/15/sql-copy.html
type Copy struct {
	Format        CopyFormat
	Delimiter     byte
	Null          string
	Quote, Escape byte            // of CSV
	Header        bool            // a first row of the columns' names
	Match         bool            // the header that is read must have the names
	ForceAll      bool            // every value is in quotes,
	Force         map[string]bool // or those of these columns
}

// CopyFormat is a format of COPY.
type CopyFormat byte

// The formats of COPY.
const (
	CopyText CopyFormat = iota
	CopyCSV
	CopyBinary
)

// copying is the state of a COPY that writes rows.
type copying struct {
	*Copy
	names []string // of the columns
	head  string   // precedes the first row, in one message
}

// NewCopy encodes the rows of a result as COPY writes them.
func NewCopy(out *Copy, columns []engine.Column, s Style) (*Rows, error) {
	r := &Rows{copy: &copying{Copy: out}}
	format := int16(FormatText)
	if out.Format == CopyBinary {
		format, r.copy.head = FormatBinary, binaryHead
	}
	for _, c := range columns {
		r.copy.names = append(r.copy.names, c.Name)
		r.encoders = append(r.encoders, s.encoder(s.typeOf(c.Type).OID, c.Type, format))
	}
	for name := range out.Force {
		if !slices.Contains(r.copy.names, name) {
			return nil, sqlstate.Errorf(sqlstate.NoColumn, "", "there is no column %q to FORCE_QUOTE", name)
		}
	}
	return r, nil
}

// AppendStart appends what precedes the rows of a COPY: CopyOutResponse and the
// header.
func (r *Rows) AppendStart(buf []byte) []byte {
	to := r.copy
	format := byte(FormatText)
	if to.Format == CopyBinary {
		format = FormatBinary
	}
	buf, start := begin(buf, 'H')
	buf = binary.BigEndian.AppendUint16(append(buf, format), uint16(len(to.names)))
	for range to.names {
		buf = append(buf, 0, format)
	}
	finish(buf, start)
	if to.Header {
		buf, start = begin(buf, 'd')
		buf = to.appendHeader(buf)
		finish(buf, start)
	}
	return buf
}

// AppendEnd appends what follows the rows of a COPY: the end of the data and
// CopyDone.
func (r *Rows) AppendEnd(buf []byte) []byte {
	if r.copy.Format == CopyBinary {
		var start int
		buf, start = begin(buf, 'd')
		buf = append(append(buf, r.copy.head...), binaryEnd...)
		finish(buf, start)
	}
	return append(buf, 'c', 0, 0, 0, 4)
}

// begin appends the head of a message; finish sets its length.
func begin(buf []byte, kind byte) (out []byte, start int) {
	return append(buf, kind, 0, 0, 0, 0), len(buf) + 1
}

func finish(buf []byte, start int) {
	binary.BigEndian.PutUint32(buf[start:], uint32(len(buf)-start))
}

func (to *copying) appendHeader(buf []byte) []byte {
	for n, name := range to.names {
		if n > 0 {
			buf = append(buf, to.Delimiter)
		}
		start := len(buf)
		buf = append(buf, name...)
		if to.Format == CopyCSV {
			buf = to.quoteValue(buf, start, false)
		} else {
			buf = to.escapeValue(buf, start)
		}
	}
	return append(buf, '\n')
}

func (to *copying) appendRow(buf []byte, r *Rows, i int) []byte {
	if to.Format == CopyBinary {
		buf = append(buf, to.head...)
		to.head = ""
		return r.appendRow(buf, i)
	}
	for n, encode := range r.encoders {
		if n > 0 {
			buf = append(buf, to.Delimiter)
		}
		v := r.vectors[n]
		if !v.Valid(i) || v.Type.ID == engine.Null {
			buf = append(buf, to.Null...)
			continue
		}
		start := len(buf)
		buf = encode(buf, v, i)
		if to.Format == CopyCSV {
			buf = to.quoteValue(buf, start, to.ForceAll || to.Force[to.names[n]])
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
	special := func(b byte) bool { return b == to.Delimiter || b == to.Quote || b == '\n' || b == '\r' }
	if !force && string(value) != to.Null && !slices.ContainsFunc(value, special) &&
		(len(to.names) > 1 || string(value) != `\.`) {
		return buf
	}
	value = slices.Clone(value)
	buf = append(buf[:start], to.Quote)
	for _, b := range value {
		if b == to.Quote || b == to.Escape {
			buf = append(buf, to.Escape)
		}
		buf = append(buf, b)
	}
	return append(buf, to.Quote)
}

// escapeValue writes a backslash before what means something in the text
// format.
func (to *copying) escapeValue(buf []byte, start int) []byte {
	special := func(b byte) bool { return b == '\\' || b == to.Delimiter || '\b' <= b && b <= '\r' }
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
