package wire

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

const (
	// Chunk is the size from which collected messages are worth sending.
	Chunk  = 64 << 10
	maxRow = 1 << 30 // bytes of a row
)

// Style is what changes the form of values.
type Style struct {
	Catalog      bool // the statement reads PostgreSQL's catalog: lists of BIGINT are OIDs
	ISOIntervals bool // intervals are written as by ISO 8601
}

// typeOf is PostgreSQL's type for a column of a result.
func (s Style) typeOf(t *engine.Type) Type {
	if s.Catalog && t.ID == engine.List && t.Elem.ID == engine.BigInt {
		return Type{pgtype.OIDArrayOID, -1, -1, textArray, binaryOIDs}
	}
	return TypeOf(t)
}

// encoder encodes values of type t for a client that knows the column's type as
// oid; nil if values of t are not of that type.
func (s Style) encoder(oid uint32, t *engine.Type, format int16) encoder {
	as, ok := numericOf(t)
	if !ok || oid != as.OID {
		as = s.typeOf(t)
	}
	if oid != as.OID {
		return nil
	}
	if s.ISOIntervals {
		as = as.inISO()
	}
	return as.encoder(format)
}

// inISO is the type with its intervals as ISO 8601 writes them.
func (t Type) inISO() Type {
	switch t.OID {
	case pgtype.IntervalOID:
		t.text = textISOInterval
	case pgtype.IntervalArrayOID:
		t.text = func(buf []byte, v *engine.Vector, i int) []byte { return textElements(buf, v, i, textISOInterval) }
	}
	return t
}

// Column is a column of a result as clients get it.
type Column struct {
	Name  string
	Type  Type
	Title string // what clients see instead of the name; "": the name
}

// Columns describes a result. A column without a type is [Unknown]; anyScale
// means that the scale of numbers depends on parameters.
func Columns(columns []engine.Column, s Style, anyScale bool) []Column {
	out := make([]Column, len(columns))
	for i, c := range columns {
		out[i] = Column{Name: c.Name, Type: Unknown}
		if c.Type != nil {
			out[i].Type = s.typeOf(c.Type)
		}
		if anyScale {
			out[i].Type.Modifier = -1
		}
	}
	return out
}

// RowDescription is the message that describes the columns of rows.
func RowDescription(columns []Column, formats []int16) *pgproto3.RowDescription {
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, c := range columns {
		fields[i] = pgproto3.FieldDescription{
			Name: []byte(cmp.Or(c.Title, c.Name)), DataTypeOID: c.Type.OID, DataTypeSize: c.Type.Size,
			TypeModifier: c.Type.Modifier, Format: formatOf(formats, i),
		}
	}
	return &pgproto3.RowDescription{Fields: fields}
}

// ErrChanged is the error when the columns of a result differ from those that were
// announced. It is PostgreSQL's own: drivers prepare the statement again.
var ErrChanged = sqlstate.Errorf(sqlstate.Unsupported, "prepare it again", "cached plan must not change result type")

// Rows encodes the rows of a result, each as a message: DataRow, or CopyData for
// COPY.
type Rows struct {
	encoders []encoder
	nulls    []int            // columns that must be NULL
	vectors  []*engine.Vector // of the chunk that is encoded
	copy     *copying         // nil for DataRow
}

// NewRows encodes rows for a client that knows the columns by a description. It
// is nil if the result has other types: a new generation may have come between. A
// column that DuckDB has only found to be NULL when it planned the statement with its
// parameters is an INTEGER, whatever its type was.
func NewRows(known []Column, columns []engine.Column, formats []int16, s Style) *Rows {
	if len(columns) != len(known) {
		return nil
	}
	r := &Rows{encoders: make([]encoder, len(columns))}
	for i, c := range columns {
		t := known[i].Type
		format := formatOf(formats, i)
		if t.text == nil { // Unknown
			t, format = s.typeOf(c.Type), FormatText
		}
		if r.encoders[i] = s.encoder(t.OID, c.Type, format); r.encoders[i] != nil {
			continue
		}
		if c.Type.ID != engine.Integer {
			return nil
		}
		r.nulls = append(r.nulls, i)
	}
	return r
}

// Append appends rows of a chunk, from one up to another, as long as buf is
// shorter than [Chunk]. It returns the first row that is left.
func (r *Rows) Append(buf []byte, chunk *engine.Chunk, from, to int) ([]byte, int, error) {
	kind := byte('D')
	if r.copy != nil {
		kind = 'd'
	}
	r.vectors = slices.Grow(r.vectors[:0], len(r.encoders))
	for n := range r.encoders {
		r.vectors = append(r.vectors, chunk.Column(n))
	}
	for ; from < to && len(buf) < Chunk; from++ {
		if slices.ContainsFunc(r.nulls, func(n int) bool { return r.vectors[n].Valid(from) }) {
			return buf, from, ErrChanged
		}
		var start int
		buf, start = begin(buf, kind)
		if r.copy != nil {
			buf = r.copy.appendRow(buf, r, from)
		} else {
			buf = r.appendRow(buf, from)
		}
		if len(buf)-start > maxRow {
			return buf[:start-1], from, sqlstate.Errorf(sqlstate.Program, "select less", "a row has more than %d bytes", maxRow)
		}
		finish(buf, start)
	}
	return buf, from, nil
}

// appendRow appends a row: the number of its values, and the values.
func (r *Rows) appendRow(buf []byte, i int) []byte {
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(r.encoders)))
	for n, encode := range r.encoders {
		buf = appendValue(buf, encode, r.vectors[n], i)
	}
	return buf
}
