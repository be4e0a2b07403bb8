// Package arrowjson has the JSON form of the Arrow values of DuckDB's types, as Arrow's Rust
// library and Spice write it: numbers with all their digits, dates and times as ISO 8601,
// binary data as hexadecimal text, structs as objects with every member, NULL as null.
//
//	form, err := arrowjson.Of(t, column.DataType())
//	buf = form.Append(buf, column, 3)
//	values, err := form.Array(raw, 10) // of a list in JSON with 10 values
package arrowjson

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// Form is the JSON form of a type. It is immutable.
type Form struct {
	Type  *engine.Type
	Arrow arrow.DataType

	tool   bool // see OfTool
	append appender
	decode decoder
}

// appender appends a value that is not null.
type appender func(buf []byte, a arrow.Array, i int) []byte

// Of returns the form of a type whose values Arrow carries as another type: those that Arrow
// does not have are text. UNION has none.
func Of(t *engine.Type, carried arrow.DataType) (*Form, error) {
	return (&Form{}).of(t, carried)
}

// OfTool is [Of] for the arguments and results of tools, in which binary data is base64.
func OfTool(t *engine.Type, carried arrow.DataType) (*Form, error) {
	return (&Form{tool: true}).of(t, carried)
}

// of returns the form of a part of f.
func (f *Form) of(t *engine.Type, carried arrow.DataType) (*Form, error) {
	f = &Form{Type: t, Arrow: carried, tool: f.tool}
	switch carried := carried.(type) {
	case arrow.ListLikeType:
		if m, ok := carried.(*arrow.MapType); ok && t.ID == engine.Map {
			return f, f.mapping(m)
		}
		if t.ID == engine.List || t.ID == engine.Array {
			return f, f.list(carried)
		}
	case *arrow.StructType:
		if t.ID == engine.Struct && len(t.Fields) == carried.NumFields() {
			return f, f.object(carried)
		}
	default:
		return f, f.simple()
	}
	return nil, f.missing()
}

func (f *Form) missing() error { return fmt.Errorf("type %s has no form in JSON", f.Type) }

// Append appends a value, which may be null.
func (f *Form) Append(buf []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return append(buf, "null"...)
	}
	return f.append(buf, a, i)
}

func (f *Form) simple() (err error) {
	f.append = appenders[f.Type.ID]
	if f.Arrow.ID() == arrow.STRING && f.Type.ID == engine.UHugeInt {
		f.append = appendDigits
	}
	if f.append == nil {
		return f.missing()
	}
	if f.Type.JSON {
		f.append = appendJSON
	}
	f.decode, err = simpleDecoder(f.Type)
	if f.Type.ID == engine.Blob && f.tool {
		f.append, f.decode = appendBase64, readBase64
	}
	return err
}

var appenders = map[engine.TypeID]appender{
	engine.Boolean: func(buf []byte, a arrow.Array, i int) []byte {
		return strconv.AppendBool(buf, a.(*array.Boolean).Value(i))
	},
	engine.TinyInt: integer[int8], engine.SmallInt: integer[int16], engine.Integer: integer[int32],
	engine.BigInt:   integer[int64],
	engine.UTinyInt: unsigned[uint8], engine.USmallInt: unsigned[uint16], engine.UInteger: unsigned[uint32],
	engine.UBigInt: unsigned[uint64],
	engine.Float: func(buf []byte, a arrow.Array, i int) []byte {
		return appendFloat(buf, float64(a.(*array.Float32).Value(i)), 32)
	},
	engine.Double: func(buf []byte, a arrow.Array, i int) []byte {
		return appendFloat(buf, a.(*array.Float64).Value(i), 64)
	},
	engine.HugeInt: appendDecimal, engine.Decimal: appendDecimal,
	engine.Varchar: appendText, engine.UUID: appendText, engine.Bit: appendText, engine.TimeTZ: appendText,
	engine.Enum: appendText,
	engine.Blob: func(buf []byte, a arrow.Array, i int) []byte {
		return append(hex.AppendEncode(append(buf, '"'), a.(*array.Binary).Value(i)), '"')
	},
	engine.Date:      appendDate,
	engine.Time:      clock(1e6),
	engine.TimeNS:    clock(1e9),
	engine.Timestamp: timestamp(1e6, ""), engine.TimestampS: timestamp(1, ""), engine.TimestampMS: timestamp(1e3, ""),
	engine.TimestampNS: timestamp(1e9, ""), engine.TimestampTZ: timestamp(1e6, "Z"),
	engine.Interval: func(buf []byte, a arrow.Array, i int) []byte {
		v := a.(*array.MonthDayNanoInterval).Value(i)
		micros, _ := value.FloorDiv(v.Nanoseconds, 1000)
		return append(value.AppendInterval(append(buf, '"'), value.Interval{Months: v.Months, Days: v.Days, Micros: micros}),
			'"')
	},
}

// values are Arrow's arrays of numbers.
type values[T any] interface{ Value(i int) T }

func integer[T int8 | int16 | int32 | int64](buf []byte, a arrow.Array, i int) []byte {
	return strconv.AppendInt(buf, int64(a.(values[T]).Value(i)), 10)
}

func unsigned[T uint8 | uint16 | uint32 | uint64](buf []byte, a arrow.Array, i int) []byte {
	return strconv.AppendUint(buf, uint64(a.(values[T]).Value(i)), 10)
}

// appendFloat appends null for what JSON has no number for.
func appendFloat(buf []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(buf, "null"...)
	}
	return strconv.AppendFloat(buf, f, 'g', -1, bits)
}

func appendDecimal(buf []byte, a arrow.Array, i int) []byte {
	d := a.(*array.Decimal128)
	n := d.Value(i)
	return value.AppendDecimal(buf, value.Int128{Low: n.LowBits(), High: n.HighBits()},
		int(d.DataType().(*arrow.Decimal128Type).Scale))
}

func appendText(buf []byte, a arrow.Array, i int) []byte {
	return format.AppendString(buf, a.(*array.String).Value(i))
}

// appendJSON appends the value of a JSON column as it is.
func appendJSON(buf []byte, a arrow.Array, i int) []byte {
	return format.AppendEmbedded(buf, []byte(a.(*array.String).Value(i)))
}

func appendBase64(buf []byte, a arrow.Array, i int) []byte {
	return append(base64.StdEncoding.AppendEncode(append(buf, '"'), a.(*array.Binary).Value(i)), '"')
}

// appendDigits appends a number that is carried as text.
func appendDigits(buf []byte, a arrow.Array, i int) []byte {
	return append(buf, a.(*array.String).Value(i)...)
}

func appendDate(buf []byte, a arrow.Array, i int) []byte {
	days := int64(a.(*array.Date32).Value(i))
	buf = append(buf, '"')
	if value.Infinite(days, value.DateInfinity) {
		return append(value.AppendInfinity(buf, days), '"')
	}
	return append(value.AppendDate(buf, days), '"')
}

// clock appends times of day counted in a fraction of a second.
func clock(perSecond int64) appender {
	return func(buf []byte, a arrow.Array, i int) []byte {
		at := int64(a.(*array.Time64).Value(i))
		return append(value.AppendClock(append(buf, '"'), at/perSecond, at%perSecond*(1e9/perSecond)), '"')
	}
}

// timestamp appends timestamps counted in a fraction of a second, followed by the zone.
func timestamp(perSecond int64, zone string) appender {
	return func(buf []byte, a arrow.Array, i int) []byte {
		at := int64(a.(*array.Timestamp).Value(i))
		buf = append(buf, '"')
		if value.Infinite(at, value.Infinity) {
			return append(value.AppendInfinity(buf, at), '"')
		}
		return append(append(value.AppendTimestamp(buf, at, perSecond), zone...), '"')
	}
}
