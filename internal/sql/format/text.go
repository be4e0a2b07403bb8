package format

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
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
		return appendUUID
	case engine.Blob:
		return appendBlob
	case engine.Bit:
		return appendBits
	}
	return nil
}

// number returns the appender of an integer or a decimal, or nil.
func number(t *engine.Type) appender {
	switch t.ID {
	case engine.TinyInt:
		return appendSigned[int8]
	case engine.SmallInt:
		return appendSigned[int16]
	case engine.Integer:
		return appendSigned[int32]
	case engine.BigInt:
		return appendSigned[int64]
	case engine.UTinyInt:
		return appendUnsigned[uint8]
	case engine.USmallInt:
		return appendUnsigned[uint16]
	case engine.UInteger:
		return appendUnsigned[uint32]
	case engine.UBigInt:
		return appendUnsigned[uint64]
	case engine.HugeInt:
		return appendHugeInt
	case engine.UHugeInt:
		return appendUHugeInt
	case engine.Decimal:
		return decimalAppender(t)
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
		return func(buf []byte, v *engine.Vector, i int) []byte { return appendValid(buf, v.Bytes(i)) }
	case engine.Enum:
		return func(buf []byte, v *engine.Vector, i int) []byte {
			return appendValid(buf, []byte(v.Type.Values[v.EnumIndex(i)]))
		}
	}
	return jsonValue(t)
}

// appendValid appends s as valid UTF-8.
func appendValid(buf, s []byte) []byte {
	if utf8.Valid(s) {
		return append(buf, s...)
	}
	return append(buf, bytes.ToValidUTF8(s, []byte("\uFFFD"))...)
}

// appendUUID appends a UUID, which DuckDB stores with its first bit inverted, so that
// it sorts as a signed number.
func appendUUID(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.Int128](v, i)
	var raw [16]byte
	high := uint64(n.High) ^ 1<<63
	for b := range 8 {
		raw[b] = byte(high >> (56 - 8*b))
		raw[8+b] = byte(n.Low >> (56 - 8*b))
	}
	var out [36]byte
	at := 0
	for _, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		if at > 0 {
			out[at] = '-'
			at++
		}
		at += hex.Encode(out[at:], part)
	}
	return append(buf, out[:]...)
}

func appendBlob(buf []byte, v *engine.Vector, i int) []byte {
	return base64.StdEncoding.AppendEncode(buf, v.Bytes(i))
}

// appendBits appends the digits of a BIT value, whose first byte is the number of
// padding bits in the second.
func appendBits(buf []byte, v *engine.Vector, i int) []byte {
	b := v.Bytes(i)
	if len(b) == 0 {
		return buf
	}
	for at := int(b[0]); at < 8*(len(b)-1); at++ {
		buf = append(buf, '0'+b[1+at/8]>>(7-at%8)&1)
	}
	return buf
}
