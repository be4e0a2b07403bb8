package functions

import (
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/types"
)

// Type is the type of an argument, a column or a result, with its form as declared, in
// DuckDB, in Arrow and in JSON Schema. It is immutable.
type Type struct {
	text   string
	arrow  string
	duck   *engine.Type
	kind   kind
	elem   *Type    // of a list or an array
	fields []field  // of a struct or a union; the key and the value of a map
	values []string // of an enum
}

// field is one member of a struct or union type.
type field struct {
	name string
	typ  *Type
}

// kind groups types that are written and checked in the same way.
type kind uint8

const (
	kindText    kind = iota // and all that DuckDB parses from text
	kindInteger             // up to 64 bits
	kindHuge                // of 128 bits
	kindFloat
	kindDecimal
	kindBoolean
	kindDate
	kindTimestamp // without a time zone
	kindInstant   // with one
	kindInterval
	kindBinary
	kindJSON
	kindList // and array
	kindStruct
	kindMap
	kindUnion
)

var kinds = map[engine.TypeID]kind{
	engine.TinyInt: kindInteger, engine.SmallInt: kindInteger, engine.Integer: kindInteger, engine.BigInt: kindInteger,
	engine.UTinyInt: kindInteger, engine.USmallInt: kindInteger, engine.UInteger: kindInteger, engine.UBigInt: kindInteger,
	engine.HugeInt: kindHuge, engine.UHugeInt: kindHuge, engine.Float: kindFloat, engine.Double: kindFloat,
	engine.Decimal: kindDecimal, engine.Boolean: kindBoolean, engine.Date: kindDate, engine.Interval: kindInterval,
	engine.Blob:      kindBinary,
	engine.Timestamp: kindTimestamp, engine.TimestampS: kindTimestamp, engine.TimestampMS: kindTimestamp,
	engine.TimestampNS: kindTimestamp,
	engine.TimestampTZ: kindInstant,
	engine.List:        kindList, engine.Array: kindList, engine.Struct: kindStruct, engine.Map: kindMap,
	engine.Union: kindUnion,
}

// simpleType is a type without parts; arrow "" is the usual name.
func simpleType(duck *engine.Type, arrow string) *Type {
	t := &Type{duck: duck, kind: kinds[duck.ID], arrow: arrow}
	if duck.JSON {
		t.kind = kindJSON
	}
	if arrow == "" {
		t.arrow = arrowName(duck)
	}
	return t
}

// String returns the type as it was declared, or ? if it has a fault.
func (t *Type) String() string {
	if t == nil {
		return "?"
	}
	return t.text
}

// SQL is DuckDB's name of the type.
func (t *Type) SQL() string { return t.duck.String() }

// Duck is DuckDB's type.
func (t *Type) Duck() *engine.Type { return t.duck }

// Arrow is the type as Arrow displays it, such as Int64 or List(Utf8), or DuckDB's name of
// it if Arrow has no such type.
func (t *Type) Arrow() string { return t.arrow }

// Numeric reports whether a number literal can be a value of the type.
func (t *Type) Numeric() bool {
	return t.kind == kindInteger || t.kind == kindHuge || t.kind == kindFloat || t.kind == kindDecimal
}

// arrowName is Arrow's display form of a DuckDB type, or DuckDB's own name if Arrow has
// no such type.
func arrowName(t *engine.Type) string {
	switch t.ID {
	case engine.Decimal:
		return decimalName("Decimal128", t.Width, t.Scale)
	case engine.List:
		return "List(" + arrowName(t.Elem) + ")"
	case engine.Array:
		return "FixedSizeList(" + strconv.Itoa(t.Size) + " x " + arrowName(t.Elem) + ")"
	case engine.Map:
		return "Map(" + arrowName(t.Elem.Fields[0].Type) + ", " + arrowName(t.Elem.Fields[1].Type) + ")"
	case engine.Struct:
		parts := make([]field, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = field{f.Name, &Type{arrow: arrowName(f.Type)}}
		}
		return structName(parts)
	}
	if info := types.Of(t); info != nil && info.Arrow != nil && !info.Foreign {
		return types.ArrowName(info.Arrow)
	}
	return t.String()
}
