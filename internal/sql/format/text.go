package format

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// number returns the appender of an integer or a decimal, or nil.
func number(t *engine.Type) appender { return lookup(numbers[:], t) }

var numbers = [...]appender{
	engine.TinyInt:   AppendSigned[int8],
	engine.SmallInt:  AppendSigned[int16],
	engine.Integer:   AppendSigned[int32],
	engine.BigInt:    AppendSigned[int64],
	engine.UTinyInt:  AppendUnsigned[uint8],
	engine.USmallInt: AppendUnsigned[uint16],
	engine.UInteger:  AppendUnsigned[uint32],
	engine.UBigInt:   AppendUnsigned[uint64],
	engine.HugeInt:   AppendHugeInt,
	engine.UHugeInt:  AppendUHugeInt,
	engine.Decimal:   AppendDecimal,
}

// plain returns the appender of a type whose text never needs quotes or escapes in
// any form, or nil.
func plain(t *engine.Type) appender {
	if f := number(t); f != nil {
		return f
	}
	return lookup(plains[:], t)
}

var plains = [...]appender{
	engine.Boolean:     appendBool,
	engine.Float:       appendFloat32,
	engine.Double:      appendFloat64,
	engine.Date:        appendDate,
	engine.Time:        timeAppender(1e6),
	engine.TimeNS:      timeAppender(1e9),
	engine.TimeTZ:      appendTimeTZ,
	engine.TimestampS:  timestampAppender(1, ""),
	engine.TimestampMS: timestampAppender(1e3, ""),
	engine.Timestamp:   timestampAppender(1e6, ""),
	engine.TimestampNS: timestampAppender(1e9, ""),
	engine.TimestampTZ: timestampAppender(1e6, "Z"),
	engine.Interval:    appendInterval,
	engine.UUID:        AppendUUID,
	engine.Blob:        appendBlob,
	engine.Bit:         AppendBits,
}

// lookup returns the appender of a type from a table by type, or nil.
func lookup(table []appender, t *engine.Type) appender {
	if int(t.ID) < len(table) {
		return table[t.ID]
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
