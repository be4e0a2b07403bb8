package functions

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Implicit coercion of a body's type to the declared one. This is Spice's list
// (int8/16/32 → int64, uint8/16/32 → uint64, integers and float32 → float64, utf8 ↔
// large_utf8) and what DuckDB converts without loss:
//
//	NULL                     → any type
//	integers                 → wider integers, DECIMALs with enough digits, DOUBLE
//	8 and 16 bit integers    → FLOAT
//	HUGEINT, UHUGEINT        → int64, uint64 (sum() and products; overflow is an error)
//	DECIMAL                  → wider DECIMAL, DOUBLE (1.5 is a DECIMAL here, a float64 in DataFusion)
//	DATE                     → timestamps of s, ms, us
//	timestamps               → timestamps of a finer unit
//	TIME                     → TIME_NS
//	JSON, UUID, ENUM         → utf8
//	ENUM                     → an ENUM with all its values
//	lists, structs, maps     → element by element; structs by field name
//
// Everything else needs a CAST in the body.

// coercible reports whether values of type from are converted to type to.
func coercible(from, to *engine.Type) bool {
	switch {
	case from.ID == engine.Null:
		return true
	case to.ID == engine.List && (from.ID == engine.List || from.ID == engine.Array):
		return coercible(from.Elem, to.Elem)
	case from.ID == engine.Struct && to.ID == engine.Struct:
		return coercibleStruct(from, to)
	case from.ID == engine.Array && to.ID == engine.Array:
		return from.Size == to.Size && coercible(from.Elem, to.Elem)
	case from.ID == engine.Map && to.ID == engine.Map:
		return coercibleStruct(from.Elem, to.Elem)
	case from.ID == engine.Union && to.ID == engine.Union:
		return from.String() == to.String()
	case from.ID == engine.Enum && to.ID == engine.Enum:
		return !slices.ContainsFunc(from.Values, func(v string) bool { return !slices.Contains(to.Values, v) })
	case to.JSON:
		return from.JSON
	case to.ID == engine.TimeNS && from.ID == engine.Time:
		return true
	case to.ID == engine.Decimal:
		return coercibleDecimal(from, to)
	case from.ID == engine.Decimal:
		return to.ID == engine.Double
	case from.ID == to.ID:
		return true
	case to.ID == engine.Varchar:
		return from.ID == engine.UUID || from.ID == engine.Enum
	}
	if a, ok := integers[from.ID]; ok {
		return coercibleInteger(from.ID, a, to.ID)
	}
	if a, ok := resolutions[from.ID]; ok {
		b, ok := resolutions[to.ID]
		return ok && a < b && (from.ID != engine.Date || to.ID != engine.TimestampNS)
	}
	return from.ID == engine.Float && to.ID == engine.Double
}

// integerShape is the number of bits and digits of an integer type.
type integerShape struct {
	bits, digits int
	signed       bool
}

var integers = map[engine.TypeID]integerShape{
	engine.TinyInt: {8, 3, true}, engine.SmallInt: {16, 5, true}, engine.Integer: {32, 10, true},
	engine.BigInt: {64, 19, true}, engine.HugeInt: {128, 39, true},
	engine.UTinyInt: {8, 3, false}, engine.USmallInt: {16, 5, false}, engine.UInteger: {32, 10, false},
	engine.UBigInt: {64, 20, false}, engine.UHugeInt: {128, 39, false},
}

// resolutions orders DATE and the timestamps without a zone.
var resolutions = map[engine.TypeID]int{
	engine.Date: 0, engine.TimestampS: 1, engine.TimestampMS: 2, engine.Timestamp: 3, engine.TimestampNS: 4,
}

func coercibleInteger(from engine.TypeID, a integerShape, to engine.TypeID) bool {
	b, ok := integers[to]
	switch {
	case to == engine.Double:
		return a.bits <= 64
	case to == engine.Float:
		return a.bits <= 16
	case !ok:
		return false
	case from == engine.HugeInt || from == engine.UHugeInt:
		return b.bits == 64
	case a.signed == b.signed:
		return a.bits <= b.bits
	}
	return b.signed && a.bits < b.bits
}

func coercibleDecimal(from, to *engine.Type) bool {
	room := to.Width - to.Scale
	if from.ID == engine.Decimal {
		return from.Scale <= to.Scale && from.Width-from.Scale <= room
	}
	a, ok := integers[from.ID]
	return ok && a.digits <= room
}

func coercibleStruct(from, to *engine.Type) bool {
	if len(from.Fields) != len(to.Fields) {
		return false
	}
	for _, want := range to.Fields {
		found := false
		for _, have := range from.Fields {
			found = found || strings.EqualFold(have.Name, want.Name) && coercible(have.Type, want.Type)
		}
		if !found {
			return false
		}
	}
	return true
}
