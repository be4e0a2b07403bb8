package wire

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// decode returns a parameter as the engine takes it: see engine.Params. oid is
// its type, 0 if unknown; data is nil for NULL.
func decode(oid uint32, code int16, data []byte) (any, error) {
	if data == nil {
		return nil, nil
	}
	if code == FormatBinary {
		return decodeBinary(oid, data)
	}
	if oid == pgtype.ByteaOID {
		return decodeBytea(data)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, sqlstate.Errorf(sqlstate.Text, "", "the text is not UTF-8, or has a zero byte")
	}
	return decodeText(oid, string(data))
}

// decodeText reads the text of a value. What is not listed stays text, which the
// engine parses as the type that a parameter has.
func decodeText(oid uint32, s string) (any, error) {
	if elem, ok := elementOf[oid]; ok {
		return parseArray(elem, s)
	}
	switch oid {
	case pgtype.BoolOID:
		return ParseBool(s)
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return nil, sqlstate.Errorf(sqlstate.Text, "", "%.40q is not an integer of 64 bits", s)
		}
		return n, nil
	case pgtype.Float4OID, pgtype.Float8OID:
		return parseFloat(s)
	case pgtype.NumericOID:
		return parseNumeric(s)
	}
	return parseTime(oid, s), nil
}

// nanoseconds matches a text with a fraction of a second that a microsecond does not have.
var nanoseconds = regexp.MustCompile(`\.\d{7}`)

// zoned matches a time of day with an offset from UTC, which a TIMESTAMP does not have.
var zoned = regexp.MustCompile(`(?i):\d.*([+-]|z$)`)

// parseTime reads the text of a date, a timestamp or an interval as PostgreSQL writes
// it; other texts stay text, which DuckDB parses as the type of the column.
func parseTime(oid uint32, s string) any {
	if nanoseconds.MatchString(s) || oid == pgtype.TimestampOID && zoned.MatchString(s) {
		return s
	}
	switch oid {
	case pgtype.DateOID:
		if v, ok := value.ParseDate(s); ok {
			return v
		}
	case pgtype.TimestampOID:
		if v, ok := value.ParseTimestamp(s); ok {
			return value.Timestamp(v)
		}
	case pgtype.TimestamptzOID:
		if v, ok := value.ParseTimestamp(s); ok {
			return value.TimestampTZ(v)
		}
	case pgtype.IntervalOID:
		if v, ok := value.ParseInterval(s); ok {
			return v
		}
	}
	return s
}

// ParseBool reads the text of a boolean, as PostgreSQL does.
func ParseBool(s string) (any, error) {
	switch word := strings.ToLower(strings.TrimSpace(s)); word {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return true, nil
	case "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0":
		return false, nil
	}
	return nil, sqlstate.Errorf(sqlstate.Text, "write true or false", "%.40q is not a boolean", s)
}

func parseFloat(s string) (any, error) {
	s = strings.TrimSpace(s)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xXpP_") {
		return nil, sqlstate.Errorf(sqlstate.Text, "", "%.40q is not a number in range", s)
	}
	return f, nil
}

// parseNumeric returns a number as its digits.
func parseNumeric(s string) (any, error) {
	s = strings.TrimSpace(s)
	if s != "" && len(s) <= value.MaxNumber && strings.Trim(s, "0123456789+-.eE") == "" {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return value.Numeric(strings.TrimPrefix(s, "+")), nil
		}
	}
	return parseFloat(s) // NaN and the infinities
}

// decodeBytea reads \x0a0b, or the older form with \ooo for a byte.
func decodeBytea(data []byte) (any, error) {
	if digits, ok := bytes.CutPrefix(data, []byte(`\x`)); ok {
		out := make([]byte, hex.DecodedLen(len(digits)))
		if _, err := hex.Decode(out, digits); err != nil {
			return nil, sqlstate.Errorf(sqlstate.Text, `write \x and pairs of hexadecimal digits`,
				"the bytes of a bytea are not hexadecimal")
		}
		return out, nil
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] != '\\':
			out = append(out, data[i])
		case i+1 < len(data) && data[i+1] == '\\':
			out = append(out, '\\')
			i++
		default:
			n, ok := octal(data[i+1:])
			if !ok {
				return nil, sqlstate.Errorf(sqlstate.Text, `write \\ or \ and three octal digits`,
					"a bytea has a backslash by itself")
			}
			out = append(out, n)
			i += 3
		}
	}
	return out, nil
}

func octal(b []byte) (byte, bool) {
	if len(b) < 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:3]), 8, 8)
	return byte(n), err == nil
}

// elementOf are the types of the elements, by the OID of an array.
var elementOf = func() map[uint32]uint32 {
	of := map[uint32]uint32{
		pgtype.OIDArrayOID: pgtype.OIDOID, pgtype.VarcharArrayOID: pgtype.TextOID,
		pgtype.BPCharArrayOID: pgtype.TextOID, pgtype.JSONBArrayOID: pgtype.JSONOID,
	}
	for elem, array := range arrays {
		of[array] = elem
	}
	return of
}()

// lowerBounds matches the dimensions that may be written in front of an array, as in
// [1:2][1:3]={…}, if all begin with 1.
var lowerBounds = regexp.MustCompile(`^(\[1:\d+\])+=$`)

// parseArray reads {1,2,NULL,"a b",{…}}, with or without dimensions in front.
func parseArray(elem uint32, s string) (any, error) {
	if strings.HasPrefix(s, "[") {
		if at := strings.Index(s, "={"); at >= 0 {
			if !lowerBounds.MatchString(s[:at+1]) {
				return nil, errBounds
			}
			s = s[at+1:]
		}
	}
	p := arrayParser{elem: elem, text: s}
	list, err := p.list(0)
	p.blanks()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.wrong()
	}
	if p.asText && p.elem != pgtype.TextOID { // DuckDB parses all elements
		return parseArray(pgtype.TextOID, s)
	}
	return list, nil
}

var errBounds = sqlstate.Errorf(sqlstate.Unsupported, "",
	"an array whose first element is not number 1 cannot be a LIST")

// Limits of arrays.
const (
	maxDimensions = 6                     // as in PostgreSQL
	maxItems      = MaxValues / paramSize // in all dimensions
)

type arrayParser struct {
	elem  uint32
	text  string
	at    int
	items int

	asText bool // an element is a text that DuckDB must parse
}

func (p *arrayParser) wrong() error {
	return sqlstate.Errorf(sqlstate.Text, `write {1,2,NULL,"a b"}`, "character %d of an array is not understood", p.at+1)
}

func (p *arrayParser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r\v\f", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take reports whether c comes next, and goes over it.
func (p *arrayParser) take(c byte) bool {
	p.blanks()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *arrayParser) list(depth int) ([]any, error) {
	if depth == maxDimensions {
		return nil, sqlstate.Errorf(sqlstate.Program, "", "an array has more than %d dimensions", maxDimensions)
	}
	if !p.take('{') {
		return nil, p.wrong()
	}
	items := []any{}
	if p.take('}') {
		return items, nil
	}
	for {
		item, err := p.item(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		switch {
		case p.take('}'):
			return items, nil
		case !p.take(','):
			return nil, p.wrong()
		}
	}
}

func (p *arrayParser) item(depth int) (any, error) {
	p.blanks()
	p.items++
	switch {
	case p.at == len(p.text):
		return nil, p.wrong()
	case p.items > maxItems:
		return nil, tooLarge()
	case p.text[p.at] == '{':
		return p.list(depth + 1)
	}
	s, quoted, err := p.word()
	switch {
	case err != nil:
		return nil, err
	case !quoted && strings.EqualFold(s, "null"):
		return nil, nil
	case p.elem == pgtype.ByteaOID:
		return decodeBytea([]byte(s))
	}
	v, err := decodeText(p.elem, s)
	if _, ok := v.(string); ok {
		p.asText = true
	}
	return v, err
}

// word reads an element, quoted or not.
func (p *arrayParser) word() (s string, quoted bool, err error) {
	var b strings.Builder
	quoted = p.take('"')
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '\\':
			if p.at++; p.at == len(p.text) {
				return "", quoted, p.wrong()
			}
			b.WriteByte(p.text[p.at])
		case quoted && c == '"':
			p.at++
			return b.String(), true, nil
		case !quoted && (c == ',' || c == '}'):
			s = strings.TrimRight(b.String(), " \t\n\r\v\f")
			if s == "" {
				return "", false, p.wrong()
			}
			return s, false, nil
		case !quoted && (c == '{' || c == '"'):
			return "", false, p.wrong()
		default:
			b.WriteByte(c)
		}
	}
	return "", quoted, p.wrong()
}
