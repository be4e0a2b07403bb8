package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// ReadCopy decodes the data of COPY … FROM STDIN. It returns the rows, as [CopyColumns]
// describes them, and about the memory that they take. An error has the line and the column
// where it is, as PostgreSQL reports them.
// https://www.postgresql.org/docs/15/sql-copy.html
func ReadCopy(from *Copy, table string, columns []Column, data []byte) (rows [][]any, size int, err error) {
	r := &copyReader{from: from, data: data, columns: columns}
	where := func(column string) string { return fmt.Sprintf("COPY %s, line %d%s", table, r.line, column) }
	if err := r.start(); err != nil {
		return nil, 0, located(err, where(""))
	}
	format := int16(FormatText)
	if from.Format == CopyBinary {
		format = FormatBinary
	}
	carriers, width := make([][]*engine.Type, len(columns)), 0
	for i, c := range columns {
		carriers[i] = copied(c.Type.OID)
		width += len(carriers[i])
	}
	var values []any // of the next rows
	for {
		fields, err := r.next()
		if err != nil {
			return nil, 0, located(err, where(""))
		}
		if fields == nil {
			return rows, size, nil
		}
		if len(values) < width {
			values = make([]any, width*engine.ChunkRows)
		}
		row := values[:0:width]
		values = values[width:]
		for i, c := range columns {
			v, err := decodeCopied(c.Type.OID, format, fields[i])
			if err != nil {
				return nil, 0, located(err, where(", column "+c.Name+shown(fields[i], format)))
			}
			if size += sizeOf(v); size > MaxValues {
				return nil, 0, located(tooLarge(), where(""))
			}
			row = appendCopied(row, carriers[i], v)
		}
		rows = append(rows, row)
	}
}

// CopyColumns returns the columns of an [engine.Input] that has the values of these columns, and
// an expression over it for each of them. A value whose text only DuckDB can parse, such as a
// time that is not written as PostgreSQL does, is in a second column of texts. Errors of DuckDB
// name the columns of texts, so these have the names of the table's.
func CopyColumns(columns []engine.Column) (input []engine.Column, values []string) {
	taken := map[string]bool{}
	for _, c := range columns {
		taken[sqltree.Fold(c.Name)] = true
	}
	for _, c := range columns {
		carriers := copied(TypeOf(c.Type).OID)
		cast := func(name string, carrier *engine.Type) string {
			input = append(input, engine.Column{Name: name, Type: carrier})
			return "CAST(" + engine.Identifier(name) + " AS " + c.Type.String() + ")"
		}
		if len(carriers) == 1 {
			values = append(values, cast(c.Name, carriers[0]))
			continue
		}
		typed := c.Name + " typed"
		for taken[sqltree.Fold(typed)] {
			typed += "_"
		}
		taken[sqltree.Fold(typed)] = true
		values = append(values, "coalesce("+cast(typed, carriers[0])+", "+cast(c.Name, carriers[1])+")")
	}
	return input, values
}

// copiedTypes are the types of values that are not read as texts.
var copiedTypes = map[uint32]engine.TypeID{
	pgtype.BoolOID: engine.Boolean, pgtype.ByteaOID: engine.Blob,
	pgtype.Int2OID: engine.BigInt, pgtype.Int4OID: engine.BigInt, pgtype.Int8OID: engine.BigInt,
	pgtype.OIDOID:    engine.BigInt,
	pgtype.Float4OID: engine.Double, pgtype.Float8OID: engine.Double,
	pgtype.DateOID: engine.Date, pgtype.TimeOID: engine.Time, pgtype.TimetzOID: engine.TimeTZ,
	pgtype.IntervalOID:  engine.Interval,
	pgtype.TimestampOID: engine.Timestamp, pgtype.TimestamptzOID: engine.TimestampTZ,
}

// copied returns the types of the columns of an [engine.Input] that have the values of a column
// of that type. Only one of them is not NULL.
func copied(oid uint32) []*engine.Type {
	elem, array := elementOf[oid]
	if array {
		oid = elem
	}
	ids := []engine.TypeID{engine.Varchar}
	switch id, known := copiedTypes[oid]; id {
	case engine.Date, engine.Time, engine.TimeTZ, engine.Interval, engine.Timestamp, engine.TimestampTZ:
		ids = []engine.TypeID{id, engine.Varchar}
	default:
		if known {
			ids[0] = id
		}
	}
	types := make([]*engine.Type, len(ids))
	for i, id := range ids {
		if types[i] = (&engine.Type{ID: id}); array {
			types[i] = &engine.Type{ID: engine.List, Elem: types[i]}
		}
	}
	return types
}

// appendCopied appends a value in the column of those types that it is of, and NULL in the others.
func appendCopied(row []any, types []*engine.Type, v any) []any {
	if len(types) == 2 {
		if hasText(v) {
			return append(row, nil, v)
		}
		return append(row, v, nil)
	}
	if t := types[0]; t.ID == engine.Varchar || t.ID == engine.List && t.Elem.ID == engine.Varchar {
		v = asText(v)
	}
	return append(row, v)
}

func hasText(v any) bool {
	list, _ := v.([]any)
	_, is := v.(string)
	return is || slices.ContainsFunc(list, hasText)
}

// asText returns a value with its numbers as texts.
func asText(v any) any {
	switch v := v.(type) {
	case value.Numeric:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		for i := range v {
			v[i] = asText(v[i])
		}
	}
	return v
}

// decodeCopied is decode with the range of the integers and the dimensions of arrays, so that
// an error has its line.
func decodeCopied(oid uint32, format int16, data []byte) (any, error) {
	v, err := decode(oid, format, data)
	switch n := v.(type) {
	case int64:
		if oid == pgtype.Int2OID && n != int64(int16(n)) || oid == pgtype.Int4OID && n != int64(int32(n)) {
			return nil, sqlstate.Errorf(sqlstate.OutOfRange, "", "%d is out of range for the type of the column", n)
		}
	case []any:
		if slices.ContainsFunc(n, func(e any) bool { _, is := e.([]any); return is }) {
			return nil, sqlstate.Errorf(sqlstate.Text, "write {1,2}", "the column takes arrays of one dimension")
		}
	}
	return v, err
}

// maxShown is how many bytes of a value an error shows.
const maxShown = 100

func shown(field []byte, format int16) string {
	if format == FormatBinary || field == nil {
		return ""
	}
	text := string(field)
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return fmt.Sprintf(": %q", text)
}

// located adds a place to an error.
func located(err error, where string) error {
	if e, ok := errors.AsType[*sqlstate.Error](err); ok {
		out := *e
		out.Where = where
		return &out
	}
	return err
}

// badCopy is the error of data that is not as its format says.
func badCopy(format string, args ...any) error {
	return sqlstate.Errorf(sqlstate.CopyFormat, "", format, args...)
}

// copyReader splits the data of a COPY into rows. It keeps no copy of the data except for
// fields with escapes.
type copyReader struct {
	from    *Copy
	columns []Column
	data    []byte
	at      int
	line    int      // of the row that was read last, from 1
	fields  [][]byte // of that row; nil is NULL
}

// start reads what precedes the rows.
func (r *copyReader) start() error {
	switch {
	case r.from.Format == CopyBinary:
		return r.binaryHeader()
	case r.from.Header:
		names, err := r.row()
		if err != nil || !r.from.Match || names == nil {
			return err
		}
		for i, name := range names {
			if i >= len(r.columns) || string(name) != r.columns[i].Name {
				return badCopy("column name mismatch in header line field %d: got %.100q", i+1, name)
			}
		}
		return r.count(len(names))
	}
	return nil
}

// next returns the fields of the next row, valid until the next call; nil at the end.
func (r *copyReader) next() ([][]byte, error) {
	if r.from.Format == CopyBinary {
		return r.binaryRow()
	}
	fields, err := r.row()
	if fields == nil || err != nil {
		return nil, err
	}
	return fields, r.count(len(fields))
}

// count refuses a row with another number of fields than there are columns.
func (r *copyReader) count(n int) error {
	switch {
	case n < len(r.columns):
		return badCopy("missing data for column %q", r.columns[n].Name)
	case n > len(r.columns):
		return badCopy("extra data after last expected column")
	}
	return nil
}

// row reads a row of text or CSV.
func (r *copyReader) row() ([][]byte, error) {
	rest := r.data[r.at:]
	if len(rest) == 0 || bytes.HasPrefix(rest, []byte(`\.`)) && (len(rest) == 2 || rest[2] == '\n' || rest[2] == '\r') {
		r.at = len(r.data)
		return nil, nil
	}
	r.line++
	r.fields = r.fields[:0]
	read := r.textField
	if r.from.Format == CopyCSV {
		read = r.csvField
	}
	for {
		field, err := read()
		if err != nil {
			return nil, err
		}
		r.fields = append(r.fields, field)
		if r.at == len(r.data) {
			return r.fields, nil
		}
		c := r.data[r.at]
		r.at++
		if c == r.from.Delimiter {
			switch {
			case len(r.fields) <= len(r.columns):
			case r.line == 1 && r.from.Header && !r.from.Match: // its names do not matter
				r.fields = r.fields[:0]
			default:
				return nil, badCopy("extra data after last expected column")
			}
			continue
		}
		if c == '\r' && r.at < len(r.data) && r.data[r.at] == '\n' {
			r.at++
		}
		return r.fields, nil
	}
}

// ends reports whether a byte ends a field.
func (r *copyReader) ends(c byte) bool { return c == r.from.Delimiter || c == '\n' || c == '\r' }

// textField reads a field of the text format, up to what ends it. NULL is what the field
// is without looking at its escapes.
func (r *copyReader) textField() ([]byte, error) {
	start, escaped := r.at, false
	for r.at < len(r.data) && !r.ends(r.data[r.at]) {
		if r.data[r.at] == '\\' {
			escaped = true
			r.at++ // the next byte is of the field, whatever it is
			if r.at < len(r.data) && r.data[r.at] == '\n' {
				r.line++
			}
		}
		r.at++
	}
	r.at = min(r.at, len(r.data))
	field := r.data[start:r.at]
	switch {
	case string(field) == r.from.Null:
		return nil, nil
	case !escaped:
		return field, nil
	}
	return unescape(field), nil
}

// unescape reads the escapes of the text format: \b, \f, \n, \r, \t, \v, \ and one to
// three octal digits, \x and one or two hexadecimal ones; any other byte is itself.
func unescape(field []byte) []byte {
	out := make([]byte, 0, len(field))
	for i := 0; i < len(field); i++ {
		if field[i] != '\\' || i+1 == len(field) {
			out = append(out, field[i])
			continue
		}
		i++
		c := field[i]
		if at := strings.IndexByte("bfnrtv", c); at >= 0 {
			out = append(out, "\b\f\n\r\t\v"[at])
			continue
		}
		if n, digits := number(field[i:], 8, 3); digits > 0 {
			out = append(out, n)
			i += digits - 1
		} else if n, digits := number(field[i+1:], 16, 2); c == 'x' && digits > 0 {
			out = append(out, n)
			i += digits
		} else {
			out = append(out, c)
		}
	}
	return out
}

// number reads at most that many digits.
func number(text []byte, base, most int) (n byte, digits int) {
	for digits < min(most, len(text)) {
		d := strings.IndexByte("0123456789abcdef", text[digits]|0x20)
		if text[digits] >= '0' && text[digits] <= '9' {
			d = int(text[digits] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		n = n*byte(base) + byte(d)
		digits++
	}
	return n, digits
}

// csvField reads a field of CSV, up to what ends it. Quotes may begin anywhere in it; a
// field with quotes is not NULL.
func (r *copyReader) csvField() ([]byte, error) {
	start := r.at
	for r.at < len(r.data) && !r.ends(r.data[r.at]) && r.data[r.at] != r.from.Quote {
		r.at++
	}
	field := r.data[start:r.at]
	if r.at == len(r.data) || r.data[r.at] != r.from.Quote {
		if string(field) == r.from.Null {
			return nil, nil
		}
		return field, nil
	}
	out, inside := append(make([]byte, 0, len(field)+16), field...), false
	for ; r.at < len(r.data) && (inside || !r.ends(r.data[r.at])); r.at++ {
		c := r.data[r.at]
		switch {
		case inside && c == r.from.Escape && r.at+1 < len(r.data) &&
			(r.data[r.at+1] == r.from.Quote || r.data[r.at+1] == r.from.Escape):
			r.at++
			out = append(out, r.data[r.at])
		case c == r.from.Quote:
			inside = !inside
		default:
			if c == '\n' {
				r.line++
			}
			out = append(out, c)
		}
	}
	if inside {
		return nil, badCopy("unterminated CSV quoted field")
	}
	return out, nil
}

// binaryHeader reads the signature, the flags and the extension of the header.
func (r *copyReader) binaryHeader() error {
	const signature, critical = len(binaryHead) - 8, 0xffff0000
	head, ok := r.take(len(binaryHead))
	switch {
	case !ok || string(head[:signature]) != binaryHead[:signature]:
		return badCopy("COPY file signature not recognized")
	case binary.BigEndian.Uint32(head[signature:])&critical != 0:
		return badCopy("unrecognized critical flags in COPY file header")
	}
	extension := binary.BigEndian.Uint32(head[signature+4:])
	if extension > math.MaxInt32 {
		return badCopy("invalid COPY file header (wrong length)")
	}
	if _, ok := r.take(int(extension)); !ok {
		return badCopy("invalid COPY file header (wrong length)")
	}
	return nil
}

// binaryRow reads a row: the number of its fields, and each with its length.
func (r *copyReader) binaryRow() ([][]byte, error) {
	r.line++
	head, ok := r.take(2)
	if !ok {
		if len(r.data) == r.at { // without a trailer, as some clients end it
			return nil, nil
		}
		return nil, badCopy("unexpected EOF in COPY data")
	}
	n := int(int16(binary.BigEndian.Uint16(head)))
	if n == -1 {
		if r.at < len(r.data) {
			return nil, badCopy("received copy data after EOF marker")
		}
		return nil, nil
	}
	if n != len(r.columns) {
		return nil, badCopy("row field count is %d, expected %d", n, len(r.columns))
	}
	r.fields = r.fields[:0]
	for range n {
		head, ok := r.take(4)
		if !ok {
			return nil, badCopy("unexpected EOF in COPY data")
		}
		size := int32(binary.BigEndian.Uint32(head))
		if size == -1 {
			r.fields = append(r.fields, nil)
			continue
		}
		field, ok := r.take(int(size))
		if !ok {
			return nil, badCopy("unexpected EOF in COPY data")
		}
		r.fields = append(r.fields, field[:len(field):len(field)])
	}
	return r.fields, nil
}

// take returns the next n bytes.
func (r *copyReader) take(n int) ([]byte, bool) {
	if n < 0 || n > len(r.data)-r.at {
		return nil, false
	}
	r.at += n
	return r.data[r.at-n : r.at], true
}
