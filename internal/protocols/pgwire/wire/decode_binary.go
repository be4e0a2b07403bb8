package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// fixed are the lengths of binary values, by type.
var fixed = map[uint32]int{
	pgtype.BoolOID: 1, pgtype.Int2OID: 2, pgtype.Int4OID: 4, pgtype.Int8OID: 8, pgtype.OIDOID: 4,
	pgtype.Float4OID: 4, pgtype.Float8OID: 8, pgtype.UUIDOID: 16, pgtype.DateOID: 4, pgtype.TimeOID: 8,
	pgtype.TimetzOID: 12, pgtype.TimestampOID: 8, pgtype.TimestamptzOID: 8, pgtype.IntervalOID: 16,
}

// decodeBinary reads a binary value. UUIDs and bit strings become text, which DuckDB
// casts to the type it needs.
func decodeBinary(oid uint32, data []byte) (any, error) {
	if want, ok := fixed[oid]; ok && len(data) != want {
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary value of the type %d has %d bytes, not %d", oid,
			want, len(data))
	}
	if elem, ok := elementOf[oid]; ok {
		return decodeArray(elem, data)
	}
	switch oid {
	case pgtype.BoolOID:
		return data[0] != 0, nil
	case pgtype.Int2OID:
		return int64(int16(binary.BigEndian.Uint16(data))), nil
	case pgtype.Int4OID:
		return int64(int32(binary.BigEndian.Uint32(data))), nil
	case pgtype.OIDOID:
		return int64(binary.BigEndian.Uint32(data)), nil
	case pgtype.Int8OID:
		return int64(binary.BigEndian.Uint64(data)), nil
	case pgtype.Float4OID:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(data))), nil
	case pgtype.Float8OID:
		return math.Float64frombits(binary.BigEndian.Uint64(data)), nil
	case pgtype.NumericOID:
		return decodeNumeric(data)
	case pgtype.ByteaOID:
		return bytes.Clone(data), nil
	case pgtype.JSONBOID:
		if len(data) == 0 || data[0] != 1 {
			return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary jsonb value does not begin with its version, 1")
		}
		data = data[1:]
	case pgtype.BitOID, pgtype.VarbitOID:
		return decodeBits(data)
	case pgtype.UUIDOID:
		return string(value.AppendUUID(nil, [16]byte(data))), nil
	case pgtype.DateOID, pgtype.TimeOID, pgtype.TimetzOID, pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.IntervalOID:
		return decodeTime(oid, data)
	}
	switch oid {
	case 0, pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.UnknownOID, pgtype.JSONOID,
		pgtype.JSONBOID, pgtype.XMLOID:
		if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return nil, sqlstate.Errorf(sqlstate.Binary, "", "the text is not UTF-8, or has a zero byte")
		}
		return string(data), nil
	}
	return nil, sqlstate.Errorf(sqlstate.Unsupported, "send it as text",
		"binary values of the type %d are not served", oid)
}

// decodeTime reads a date, a time or an interval.
func decodeTime(oid uint32, data []byte) (any, error) {
	switch oid {
	case pgtype.DateOID:
		return decodeDate(int64(int32(binary.BigEndian.Uint32(data))))
	case pgtype.IntervalOID:
		v := value.Interval{
			Micros: int64(binary.BigEndian.Uint64(data)),
			Days:   int32(binary.BigEndian.Uint32(data[8:])),
			Months: int32(binary.BigEndian.Uint32(data[12:])),
		}
		if v == infiniteInterval || v == infinitelyBefore {
			return nil, sqlstate.Errorf(sqlstate.DatetimeOverflow, "", "DuckDB has no infinite interval")
		}
		return v, nil
	}
	n := int64(binary.BigEndian.Uint64(data))
	switch oid {
	case pgtype.TimeOID:
		return inRange(value.Time(n))
	case pgtype.TimetzOID:
		return inRange(value.TimeTZ{Time: value.Time(n), Offset: -int32(binary.BigEndian.Uint32(data[8:]))})
	}
	switch {
	case n == wireTimeBefore:
		n = -value.Infinity
	case n == value.Infinity:
	case n >= value.Infinity-epochMicros:
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a timestamp is out of range")
	default:
		n += epochMicros
	}
	if oid == pgtype.TimestamptzOID {
		return inRange(value.TimestampTZ(n))
	}
	return inRange(value.Timestamp(n))
}

// inRange returns a time, or the error that it is out of range.
func inRange(v interface{ Check() error }) (any, error) {
	if err := v.Check(); err != nil {
		return nil, sqlstate.Errorf(sqlstate.DatetimeOverflow, "", "%s", err)
	}
	return v, nil
}

// The infinite intervals of PostgreSQL 17.
var (
	infiniteInterval = value.Interval{Micros: math.MaxInt64, Days: math.MaxInt32, Months: math.MaxInt32}
	infinitelyBefore = value.Interval{Micros: math.MinInt64, Days: math.MinInt32, Months: math.MinInt32}
)

func decodeDate(days int64) (any, error) {
	switch {
	case days == wireDateBefore:
		return value.Date(-value.DateInfinity), nil
	case days == value.DateInfinity:
		return value.Date(value.DateInfinity), nil
	case days >= value.DateInfinity-epochDays:
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a date is out of range")
	}
	return value.Date(days + epochDays), nil
}

// decodeBits reads a number of bits and the bits.
func decodeBits(data []byte) (any, error) {
	if len(data) < 4 {
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary bit string has %d bytes; at least 4 are needed", len(data))
	}
	n, bits := int64(binary.BigEndian.Uint32(data)), data[4:]
	if (n+7)/8 != int64(len(bits)) {
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary bit string of %d bits has %d bytes", n, len(bits))
	}
	if n > MaxValues {
		return nil, tooLarge()
	}
	var out strings.Builder
	out.Grow(int(n))
	for i := range int(n) {
		out.WriteByte('0' + bits[i/8]>>(7-i%8)&1)
	}
	return out.String(), nil
}

// maxWeight bounds the size of a number that is read.
const maxWeight = 80

// decodeNumeric reads what binaryNumeric writes.
func decodeNumeric(data []byte) (any, error) {
	if len(data) < 8 {
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary numeric has %d bytes; at least 8 are needed", len(data))
	}
	n := int(binary.BigEndian.Uint16(data))
	weight := int(int16(binary.BigEndian.Uint16(data[2:])))
	sign := binary.BigEndian.Uint16(data[4:])
	scale := int(binary.BigEndian.Uint16(data[6:]))
	switch {
	case sign == numericNaN:
		return math.NaN(), nil
	case sign == numericInf:
		return math.Inf(1), nil
	case sign == numericMinus:
		return math.Inf(-1), nil
	case sign != 0 && sign != numericNegative, len(data) != 8+2*n:
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary numeric is not well formed")
	case n > maxWeight, weight > maxWeight, weight < -maxWeight, scale > value.MaxNumber:
		return nil, sqlstate.Errorf(sqlstate.Program, "", "a numeric has too many digits")
	}
	text := make([]byte, 0, numericDigits*n+8)
	if sign == numericNegative {
		text = append(text, '-')
	}
	text = append(text, '0')
	for i := range n {
		d := binary.BigEndian.Uint16(data[8+2*i:])
		if d >= numericBase {
			return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary numeric is not well formed")
		}
		text = fmt.Appendf(text, "%04d", d)
	}
	text = strconv.AppendInt(append(text, 'e'), int64(numericDigits*(weight+1-n)), 10)
	r, _ := new(big.Rat).SetString(string(text))
	return value.Numeric(r.FloatString(scale)), nil
}

// decodeArray reads what binaryArray writes, with any number of dimensions.
func decodeArray(elem uint32, data []byte) (any, error) {
	wrong := sqlstate.Errorf(sqlstate.Binary, "", "a binary array is not well formed")
	if len(data) < 12 {
		return nil, wrong
	}
	dimensions := int64(int32(binary.BigEndian.Uint32(data)))
	own := binary.BigEndian.Uint32(data[8:])
	if _, nested := elementOf[own]; nested {
		return nil, sqlstate.Errorf(sqlstate.Binary, "",
			"a binary array of the type %d has elements of the type %d, which is one of arrays", elem, own)
	}
	data = data[12:]
	switch {
	case dimensions == 0 && len(data) == 0:
		return []any{}, nil
	case dimensions < 1 || dimensions > maxDimensions || int64(len(data)) < 8*dimensions:
		return nil, wrong
	}
	lengths, total, items := make([]int, dimensions), int64(1), int64(0)
	for i := range lengths {
		n := int64(int32(binary.BigEndian.Uint32(data[8*i:])))
		if total *= n; n < 0 || total > int64(len(data)) { // an element has 4 bytes at least
			return nil, wrong
		}
		if items += total; items > maxItems {
			return nil, tooLarge()
		}
		if first := binary.BigEndian.Uint32(data[8*i+4:]); first != 1 {
			return nil, errBounds
		}
		lengths[i] = int(n)
	}
	r := arrayReader{own, data[8*dimensions:]}
	list, err := r.list(lengths)
	if err == nil && len(r.data) > 0 {
		return nil, wrong
	}
	return list, err
}

type arrayReader struct {
	elem uint32
	data []byte
}

func (r *arrayReader) list(lengths []int) (any, error) {
	if len(lengths) == 0 {
		return r.value()
	}
	items := make([]any, lengths[0])
	for i := range items {
		item, err := r.list(lengths[1:])
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

func (r *arrayReader) value() (any, error) {
	if len(r.data) < 4 {
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary array ends too early")
	}
	n := binary.BigEndian.Uint32(r.data)
	r.data = r.data[4:]
	if n == null {
		return nil, nil
	}
	if uint64(n) > uint64(len(r.data)) {
		return nil, sqlstate.Errorf(sqlstate.Binary, "", "a binary array ends too early")
	}
	value := r.data[:n]
	r.data = r.data[n:]
	return decodeBinary(r.elem, value)
}
