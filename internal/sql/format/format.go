// Package format writes the rows of a result as JSON, CSV, a text table or Arrow.
//
// A [Form] is chosen by name or from an Accept header; its [Writer] takes DuckDB's
// vectors and holds only a bounded part of the result. Each column is compiled once
// to a function that appends a value to a buffer: nothing is allocated per row.
//
//	form := format.Negotiate(r.Header.Get("Accept"))
//	w.Header().Set("Content-Type", form.ContentType)
//	n, err := format.Copy(form.NewWriter(w), rows)
//
// Values have the same representation in every form but Arrow:
//
//   - integers and decimals keep all their digits, as JSON numbers too; the
//     reader decides whether its numbers are wide enough;
//   - floating-point numbers have a point or an exponent, so that 1.0 stays
//     one; NaN and infinities are null in JSON, NaN, inf and -inf in text;
//   - dates and times are ISO 8601, a TIMESTAMPTZ is in UTC and ends in Z;
//     years beyond 9999 and before 0000 have a sign; infinite ones are the
//     words infinity and -infinity;
//   - an INTERVAL is written as DuckDB does, so that it can be cast back;
//   - a BLOB is base64, a BIT its digits, a UUID its usual form;
//   - LIST and ARRAY are JSON arrays, STRUCT and MAP objects, a UNION is an
//     object with its current member, an unnamed STRUCT (row) an array; in CSV and
//     tables they are JSON text;
//   - a column of type JSON is embedded, not quoted, if it is valid;
//   - text is valid UTF-8, whatever the data contains.
package format

import (
	"io"
	"iter"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Writer writes one result. The calls are Begin, Write for every chunk, End; an error
// ends them. A Writer is used by one goroutine.
type Writer interface {
	// Begin sets the columns of the result. It writes nothing yet.
	Begin(columns []engine.Column) error
	// Write adds the next rows. It may buffer a bounded part of them.
	Write(chunk *engine.Chunk) error
	// Flush writes what is buffered, if the form allows it.
	Flush() error
	// End completes the result. Without it, a result is incomplete except in CSV and
	// NDJSON, which have no terminator.
	End() error
}

// Form is an output format.
type Form struct {
	Name        string // short, for command lines: json, csv, …
	MediaType   string // without parameters
	ContentType string // value of the header
	aliases     []string
	newWriter   func(io.Writer) Writer
}

// NewWriter returns a writer of the form. It writes in large pieces; w needs no
// buffer.
func (f Form) NewWriter(w io.Writer) Writer { return f.newWriter(w) }

var forms = []Form{
	{"json", "application/json", "application/json", nil, newJSON},
	{"sql", "application/vnd.spiceai.sql.v1+json", "application/vnd.spiceai.sql.v1+json", nil, newSQLv1},
	{
		"ndjson", "application/x-ndjson", "application/x-ndjson",
		[]string{"application/ndjson", "application/jsonl"},
		newNDJSON,
	},
	{"csv", "text/csv", "text/csv; charset=utf-8; header=present", nil, newCSV},
	{"table", "text/plain", "text/plain; charset=utf-8", nil, newTable},
	{"cells", CellsType, CellsType, nil, newCells},
	{"arrow", "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream", nil, newArrow},
}

// ByName returns the form with a short name.
func ByName(name string) (Form, bool) {
	for _, f := range forms {
		if f.Name == name {
			return f, true
		}
	}
	return Form{}, false
}

// Rows are the input of [Copy]; [*engine.Rows] implements it.
type Rows interface {
	Columns() []engine.Column
	Chunks() iter.Seq2[*engine.Chunk, error]
	Read() int64
}

// Copy writes all of rows and returns their number. It does not close rows.
func Copy(w Writer, rows Rows) (int64, error) {
	if err := w.Begin(rows.Columns()); err != nil {
		return 0, err
	}
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return rows.Read(), err
		}
		if err := w.Write(chunk); err != nil {
			return rows.Read(), err
		}
	}
	return rows.Read(), w.End()
}

// appender appends value i of a vector to buf. The value must not be NULL, unless the
// function says otherwise.
type appender func(buf []byte, v *engine.Vector, i int) []byte

// Limits of the buffers.
const (
	spillAt = 64 << 10 // bytes that are collected before they are written
	keepCap = 4 << 20  // a larger buffer is not reused for the next rows
)

// buffered collects bytes and writes them in large pieces.
type buffered struct {
	w   io.Writer
	buf []byte
}

// spill writes the collected bytes if there are enough.
func (b *buffered) spill() error {
	if len(b.buf) < spillAt {
		return nil
	}
	return b.Flush()
}

// Flush writes the collected bytes.
func (b *buffered) Flush() error {
	if len(b.buf) == 0 {
		return nil
	}
	_, err := b.w.Write(b.buf)
	if b.buf = b.buf[:0]; cap(b.buf) > keepCap {
		b.buf = nil
	}
	return err
}
