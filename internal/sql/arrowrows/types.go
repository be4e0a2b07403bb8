package arrowrows

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Columns returns the columns of DuckDB for those of Arrow. What DuckDB has no type for
// is a text.
func Columns(schema *arrow.Schema) []engine.Column {
	columns := make([]engine.Column, schema.NumFields())
	for i, f := range schema.Fields() {
		columns[i] = engine.Column{Name: f.Name, Type: TypeOf(f.Type)}
	}
	return columns
}

// simple are the types that depend on no parameters. A date64 is a day in milliseconds.
var simple = map[arrow.Type]engine.TypeID{
	arrow.NULL: engine.Null, arrow.BOOL: engine.Boolean,
	arrow.INT8: engine.TinyInt, arrow.INT16: engine.SmallInt, arrow.INT32: engine.Integer, arrow.INT64: engine.BigInt,
	arrow.UINT8: engine.UTinyInt, arrow.UINT16: engine.USmallInt, arrow.UINT32: engine.UInteger,
	arrow.UINT64:  engine.UBigInt,
	arrow.FLOAT16: engine.Float, arrow.FLOAT32: engine.Float, arrow.FLOAT64: engine.Double,
	arrow.BINARY: engine.Blob, arrow.LARGE_BINARY: engine.Blob, arrow.BINARY_VIEW: engine.Blob,
	arrow.FIXED_SIZE_BINARY: engine.Blob,
	arrow.DATE32:            engine.Date, arrow.DATE64: engine.Date, arrow.TIME32: engine.Time,
	arrow.DURATION: engine.Interval, arrow.INTERVAL_MONTHS: engine.Interval, arrow.INTERVAL_DAY_TIME: engine.Interval,
	arrow.INTERVAL_MONTH_DAY_NANO: engine.Interval,
}

// maxArray is DuckDB's limit of the elements of an ARRAY.
const maxArray = 100_000

// TypeOf returns DuckDB's type for a type of Arrow.
func TypeOf(t arrow.DataType) *engine.Type {
	if id, ok := simple[t.ID()]; ok {
		return &engine.Type{ID: id}
	}
	switch t := t.(type) {
	case arrow.ExtensionType:
		return TypeOf(t.StorageType())
	case arrow.DecimalType:
		if p, s := t.GetPrecision(), t.GetScale(); p >= 1 && p <= 38 && s >= 0 && s <= p {
			return &engine.Type{ID: engine.Decimal, Width: int(p), Scale: int(s)}
		}
	case *arrow.Time64Type:
		if t.Unit == arrow.Nanosecond {
			return &engine.Type{ID: engine.TimeNS}
		}
		return &engine.Type{ID: engine.Time}
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return &engine.Type{ID: engine.TimestampTZ}
		}
		return &engine.Type{ID: map[arrow.TimeUnit]engine.TypeID{
			arrow.Second: engine.TimestampS, arrow.Millisecond: engine.TimestampMS, arrow.Microsecond: engine.Timestamp,
			arrow.Nanosecond: engine.TimestampNS,
		}[t.Unit]}
	case *arrow.FixedSizeListType:
		if t.Len() >= 1 && t.Len() <= maxArray {
			return &engine.Type{ID: engine.Array, Size: int(t.Len()), Elem: TypeOf(t.Elem())}
		}
	case *arrow.MapType:
		return &engine.Type{ID: engine.Map, Elem: &engine.Type{
			ID:     engine.Struct,
			Fields: []engine.Field{{Name: "key", Type: TypeOf(t.KeyType())}, {Name: "value", Type: TypeOf(t.ItemType())}},
		}}
	case *arrow.StructType:
		return structOf(t)
	case arrow.ListLikeType:
		return &engine.Type{ID: engine.List, Elem: TypeOf(t.Elem())}
	}
	return &engine.Type{ID: engine.Varchar}
}

// structOf returns the type of a struct. DuckDB has none without members, or with two of
// a name.
func structOf(t *arrow.StructType) *engine.Type {
	out := &engine.Type{ID: engine.Struct}
	seen := map[string]bool{}
	for _, f := range t.Fields() {
		if seen[f.Name] || f.Name == "" {
			return &engine.Type{ID: engine.Varchar}
		}
		seen[f.Name] = true
		out.Fields = append(out.Fields, engine.Field{Name: f.Name, Type: TypeOf(f.Type)})
	}
	if len(out.Fields) == 0 {
		return &engine.Type{ID: engine.Varchar}
	}
	return out
}
