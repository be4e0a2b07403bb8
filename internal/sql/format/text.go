package format

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// plain returns the appender of a type whose text never needs quotes or escapes in
// any form, or nil.
func plain(t *engine.Type) appender {
	if f := number(t); f != nil {
		return f
	}
	switch t.ID {
	case engine.Boolean:
		return appendBool
	case engine.Float:
		return appendFloat32
	case engine.Double:
		return appendFloat64
	case engine.Date:
		return appendDate
	case engine.Time:
		return timeAppender(1e6)
	case engine.TimeNS:
		return timeAppender(1e9)
	case engine.TimeTZ:
		return appendTimeTZ
	case engine.TimestampS:
		return timestampAppender(1, "")
	case engine.TimestampMS:
		return timestampAppender(1e3, "")
	case engine.Timestamp:
		return timestampAppender(1e6, "")
	case engine.TimestampNS:
		return timestampAppender(1e9, "")
	case engine.TimestampTZ:
		return timestampAppender(1e6, "Z")
	case engine.Interval:
		return appendInterval
	case engine.UUID:
		return AppendUUID
	case engine.Blob:
		return appendBlob
	case engine.Bit:
		return AppendBits
	}
	return nil
}

// number returns the appender of an integer or a decimal, or nil.
func number(t *engine.Type) appender {
	switch t.ID {
	case engine.TinyInt:
		return AppendSigned[int8]
	case engine.SmallInt:
		return AppendSigned[int16]
	case engine.Integer:
		return AppendSigned[int32]
	case engine.BigInt:
		return AppendSigned[int64]
	case engine.UTinyInt:
		return AppendUnsigned[uint8]
	case engine.USmallInt:
		return AppendUnsigned[uint16]
	case engine.UInteger:
		return AppendUnsigned[uint32]
	case engine.UBigInt:
		return AppendUnsigned[uint64]
	case engine.HugeInt:
		return AppendHugeInt
	case engine.UHugeInt:
		return AppendUHugeInt
	case engine.Decimal:
		return AppendDecimal
	}
	return nil
}

// text returns the appender of a value as text, not quoted or escaped, except for
// nested values, which are JSON.
func text(t *engine.Type) appender {
	if f := plain(t); f != nil {
		return f
	}
	switch t.ID {
	case engine.Varchar:
		return AppendText
	case engine.Enum:
		return AppendEnum
	}
	return jsonValue(t)
}

// AppendText appends text as valid UTF-8.
func AppendText(buf []byte, v *engine.Vector, i int) []byte { return appendValid(buf, v.Bytes(i)) }

// AppendEnum appends the name of an ENUM's value as valid UTF-8.
func AppendEnum(buf []byte, v *engine.Vector, i int) []byte {
	s := v.Type.Values[v.EnumIndex(i)]
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return append(buf, s...)
}

// appendValid appends s as valid UTF-8.
func appendValid(buf, s []byte) []byte {
	if utf8.Valid(s) {
		return append(buf, s...)
	}
	return append(buf, bytes.ToValidUTF8(s, []byte("\uFFFD"))...)
}

// AppendUUID appends a UUID.
func AppendUUID(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendUUID(buf, engine.Value[value.Int128](v, i).UUID())
}

func appendBlob(buf []byte, v *engine.Vector, i int) []byte {
	return base64.StdEncoding.AppendEncode(buf, v.Bytes(i))
}

// AppendBits appends the digits of a BIT value, whose first byte is the number of
// padding bits in the second.
func AppendBits(buf []byte, v *engine.Vector, i int) []byte {
	b := v.Bytes(i)
	if len(b) == 0 {
		return buf
	}
	for at := int(b[0]); at < 8*(len(b)-1); at++ {
		buf = append(buf, '0'+b[1+at/8]>>(7-at%8)&1)
	}
	return buf
}
