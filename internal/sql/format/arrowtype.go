package format

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/types"
)

// ArrowTypes selects the Arrow types in which values are sent.
type ArrowTypes int

const (
	// Exact is Arrow's own type for each type of DuckDB that has one: unsigned
	// integers stay unsigned, and ENUM is a dictionary.
	Exact ArrowTypes = iota
	// Plain is for clients that misread those: unsigned integers are the next wider
	// signed type, UBIGINT is Decimal128(20, 0), and ENUM is text, as over PostgreSQL.
	// This holds within lists, structs, maps and unions, too.
	Plain
)

// ArrowSchema describes a result's columns in Arrow's types; see [ArrowType].
func ArrowSchema(columns []engine.Column) *arrow.Schema { return Exact.Schema(columns) }

// ArrowType returns the Arrow type of a DuckDB type. HUGEINT, the type of sum(), is
// Decimal128(38, 0), with all 128 bits even beyond 38 digits; UHUGEINT is
// Decimal256(39, 0). ENUM is a dictionary. UUID, BIT and TIME WITH TIME ZONE are
// text: Arrow has no type for them that every reader supports.
func ArrowType(t *engine.Type) arrow.DataType { return Exact.Of(t) }

// Schema describes a result's columns.
func (a ArrowTypes) Schema(columns []engine.Column) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: a.Of(c.Type), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Of returns the Arrow type of a DuckDB type.
func (a ArrowTypes) Of(t *engine.Type) arrow.DataType {
	if plain := plainTypes[t.ID]; a == Plain && plain != nil {
		return plain
	}
	switch t.ID {
	case engine.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Width), Scale: int32(t.Scale)}
	case engine.Enum:
		return &arrow.DictionaryType{IndexType: enumIndex(t), ValueType: arrow.BinaryTypes.String}
	case engine.List:
		return arrow.ListOfField(a.item(t))
	case engine.Array:
		return arrow.FixedSizeListOfField(int32(t.Size), a.item(t))
	case engine.Struct:
		return arrow.StructOf(a.fields(t.Fields)...)
	case engine.Map:
		return arrow.MapOf(a.Of(t.Elem.Fields[0].Type), a.Of(t.Elem.Fields[1].Type))
	case engine.Union:
		codes := make([]arrow.UnionTypeCode, len(t.Fields))
		for i := range codes {
			codes[i] = arrow.UnionTypeCode(i)
		}
		return arrow.SparseUnionOf(a.fields(t.Fields), codes)
	}
	if info := types.Of(t); info != nil && info.Arrow != nil {
		return info.Arrow
	}
	return arrow.Null
}

// plainTypes are the types in which Plain differs from Exact.
var plainTypes = map[engine.TypeID]arrow.DataType{
	engine.UTinyInt:  arrow.PrimitiveTypes.Int16,
	engine.USmallInt: arrow.PrimitiveTypes.Int32,
	engine.UInteger:  arrow.PrimitiveTypes.Int64,
	engine.UBigInt:   &arrow.Decimal128Type{Precision: 20},
	engine.Enum:      arrow.BinaryTypes.String,
}

func (a ArrowTypes) item(t *engine.Type) arrow.Field {
	return arrow.Field{Name: "item", Type: a.Of(t.Elem), Nullable: true}
}

func (a ArrowTypes) fields(members []engine.Field) []arrow.Field {
	fields := make([]arrow.Field, len(members))
	for i, m := range members {
		fields[i] = arrow.Field{Name: m.Name, Type: a.Of(m.Type), Nullable: true}
	}
	return fields
}

// enumIndex is the type of an ENUM's values in DuckDB's vectors.
func enumIndex(t *engine.Type) arrow.DataType {
	switch t.ValueSize() {
	case 1:
		return arrow.PrimitiveTypes.Uint8
	case 2:
		return arrow.PrimitiveTypes.Uint16
	}
	return arrow.PrimitiveTypes.Uint32
}

// appendSchema appends the columns in Spice's JSON form of an Arrow schema.
func appendSchema(buf []byte, columns []engine.Column) []byte {
	buf = append(buf, `{"fields":[`...)
	for i, name := range uniqueNames(columns) {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendField(buf, name, true, ArrowType(columns[i].Type))
	}
	return append(buf, "]}"...)
}

func appendField(buf []byte, name string, nullable bool, dt arrow.DataType) []byte {
	buf = AppendString(append(buf, `{"name":`...), name)
	buf = AppendDataType(append(buf, `,"data_type":`...), dt)
	buf = strconv.AppendBool(append(buf, `,"nullable":`...), nullable)
	return append(buf, `,"dict_id":0,"dict_is_ordered":false,"metadata":{}}`...)
}

// AppendDataType appends an Arrow type in the JSON form of Arrow's Rust library and
// Spice: "Int64", {"Timestamp":["Microsecond",null]}.
func AppendDataType(buf []byte, dt arrow.DataType) []byte {
	switch dt := dt.(type) {
	case *arrow.MonthDayNanoIntervalType:
		return append(buf, `{"Interval":"MonthDayNano"}`...)
	case *arrow.Decimal128Type:
		return appendPrecision(append(buf, `{"Decimal128":[`...), dt.Precision, dt.Scale)
	case *arrow.Decimal256Type:
		return appendPrecision(append(buf, `{"Decimal256":[`...), dt.Precision, dt.Scale)
	case *arrow.Time64Type:
		return append(append(append(buf, `{"Time64":"`...), types.UnitName(dt.Unit)...), `"}`...)
	case *arrow.TimestampType:
		buf = append(append(append(buf, `{"Timestamp":["`...), types.UnitName(dt.Unit)...), `",`...)
		if dt.TimeZone == "" {
			return append(buf, "null]}"...)
		}
		return append(AppendString(buf, dt.TimeZone), "]}"...)
	case *arrow.DictionaryType:
		buf = append(AppendDataType(append(buf, `{"Dictionary":[`...), dt.IndexType), ',')
		return append(AppendDataType(buf, dt.ValueType), "]}"...)
	case *arrow.ListType:
		return append(appendArrowField(append(buf, `{"List":`...), dt.ElemField()), '}')
	case *arrow.FixedSizeListType:
		buf = append(appendArrowField(append(buf, `{"FixedSizeList":[`...), dt.ElemField()), ',')
		return append(strconv.AppendInt(buf, int64(dt.Len()), 10), "]}"...)
	case *arrow.MapType:
		return append(appendArrowField(append(buf, `{"Map":[`...), dt.ElemField()), ",false]}"...)
	case *arrow.StructType:
		return append(appendArrowFields(append(buf, `{"Struct":[`...), dt.Fields()), "]}"...)
	case *arrow.SparseUnionType:
		return append(appendArrowFields(append(buf, `{"Union":[[`...), dt.Fields()), `],"Sparse"]}`...)
	}
	return AppendString(buf, types.ArrowName(dt))
}

func appendPrecision(buf []byte, precision, scale int32) []byte {
	buf = append(strconv.AppendInt(buf, int64(precision), 10), ',')
	return append(strconv.AppendInt(buf, int64(scale), 10), "]}"...)
}

func appendArrowField(buf []byte, f arrow.Field) []byte {
	return appendField(buf, f.Name, f.Nullable, f.Type)
}

func appendArrowFields(buf []byte, fields []arrow.Field) []byte {
	for i, f := range fields {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendArrowField(buf, f)
	}
	return buf
}
