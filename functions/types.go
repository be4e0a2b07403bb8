package functions

import (
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Type is the type of an argument, a column or a result, with its form as declared, in
// DuckDB, in Arrow and in JSON Schema. It is immutable.
type Type struct {
	text   string
	arrow  string
	duck   *engine.Type
	kind   kind
	elem   *Type   // of a list
	fields []field // of a struct
}

// field is one member of a struct type.
type field struct {
	name string
	typ  *Type
}

// kind groups types that are written and checked in the same way.
type kind uint8

const (
	kindInteger kind = iota
	kindFloat
	kindText
	kindBoolean
	kindBinary
	kindDate
	kindTimestamp // without a time zone
	kindInstant   // with one
	kindDecimal
	kindList
	kindStruct
)

// String returns the type as it was declared.
func (t *Type) String() string { return t.text }

// SQL is DuckDB's name of the type.
func (t *Type) SQL() string { return t.duck.String() }

// Duck is DuckDB's type.
func (t *Type) Duck() *engine.Type { return t.duck }

// Arrow is the type as Arrow displays it, such as Int64 or List(Utf8).
func (t *Type) Arrow() string { return t.arrow }

// Numeric reports whether a number literal can be a value of the type.
func (t *Type) Numeric() bool {
	return t.kind == kindInteger || t.kind == kindFloat || t.kind == kindDecimal
}

// scalarType is one word of the type language.
type scalarType struct {
	arrow string
	id    engine.TypeID
	kind  kind
}

// scalars are the types of one word, by lower-case name: Spice's aliases and Arrow's own
// names are the same words.
var scalars = map[string]scalarType{
	"int8":         {"Int8", engine.TinyInt, kindInteger},
	"int16":        {"Int16", engine.SmallInt, kindInteger},
	"int32":        {"Int32", engine.Integer, kindInteger},
	"int":          {"Int32", engine.Integer, kindInteger},
	"int64":        {"Int64", engine.BigInt, kindInteger},
	"uint8":        {"UInt8", engine.UTinyInt, kindInteger},
	"uint16":       {"UInt16", engine.USmallInt, kindInteger},
	"uint32":       {"UInt32", engine.UInteger, kindInteger},
	"uint64":       {"UInt64", engine.UBigInt, kindInteger},
	"float32":      {"Float32", engine.Float, kindFloat},
	"float":        {"Float32", engine.Float, kindFloat},
	"float64":      {"Float64", engine.Double, kindFloat},
	"double":       {"Float64", engine.Double, kindFloat},
	"utf8":         {"Utf8", engine.Varchar, kindText},
	"string":       {"Utf8", engine.Varchar, kindText},
	"large_utf8":   {"LargeUtf8", engine.Varchar, kindText},
	"largeutf8":    {"LargeUtf8", engine.Varchar, kindText},
	"boolean":      {"Boolean", engine.Boolean, kindBoolean},
	"bool":         {"Boolean", engine.Boolean, kindBoolean},
	"binary":       {"Binary", engine.Blob, kindBinary},
	"large_binary": {"LargeBinary", engine.Blob, kindBinary},
	"largebinary":  {"LargeBinary", engine.Blob, kindBinary},
	"date32":       {"Date32", engine.Date, kindDate},
	"date64":       {"Date64", engine.TimestampMS, kindTimestamp},
}

// timeUnit is a unit of Arrow's timestamps.
type timeUnit struct {
	arrow string
	id    engine.TypeID
}

var timeUnits = map[string]timeUnit{
	"s": {"Second", engine.TimestampS}, "sec": {"Second", engine.TimestampS}, "second": {"Second", engine.TimestampS},
	"ms": {"Millisecond", engine.TimestampMS}, "millisecond": {"Millisecond", engine.TimestampMS},
	"us": {"Microsecond", engine.Timestamp}, "µs": {"Microsecond", engine.Timestamp}, "microsecond": {"Microsecond", engine.Timestamp},
	"ns": {"Nanosecond", engine.TimestampNS}, "nanosecond": {"Nanosecond", engine.TimestampNS},
}

// arrowNames are Arrow's names of DuckDB's simple types.
var arrowNames = map[engine.TypeID]string{
	engine.Boolean: "Boolean", engine.TinyInt: "Int8", engine.SmallInt: "Int16", engine.Integer: "Int32",
	engine.BigInt: "Int64", engine.UTinyInt: "UInt8", engine.USmallInt: "UInt16", engine.UInteger: "UInt32",
	engine.UBigInt: "UInt64", engine.Float: "Float32", engine.Double: "Float64", engine.Varchar: "Utf8",
	engine.Blob: "Binary", engine.Date: "Date32", engine.Null: "Null",
	engine.TimestampS: "Timestamp(Second, None)", engine.TimestampMS: "Timestamp(Millisecond, None)",
	engine.Timestamp: "Timestamp(Microsecond, None)", engine.TimestampNS: "Timestamp(Nanosecond, None)",
	engine.TimestampTZ: `Timestamp(Microsecond, Some("UTC"))`,
}

// arrowName is Arrow's display form of a DuckDB type, or DuckDB's own name if Arrow has
// no such type.
func arrowName(t *engine.Type) string {
	switch t.ID {
	case engine.Decimal:
		return decimalName("Decimal128", t.Width, t.Scale)
	case engine.List:
		return "List(" + arrowName(t.Elem) + ")"
	case engine.Struct:
		parts := make([]field, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = field{f.Name, &Type{arrow: arrowName(f.Type)}}
		}
		return structName(parts)
	}
	if name, ok := arrowNames[t.ID]; ok && !t.JSON {
		return name
	}
	return t.String()
}
