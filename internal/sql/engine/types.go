package engine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// TypeID is DuckDB's id of a logical type.
type TypeID = mapping.Type

// The types that a result may have.
const (
	Boolean     = mapping.TypeBoolean
	TinyInt     = mapping.TypeTinyInt
	SmallInt    = mapping.TypeSmallInt
	Integer     = mapping.TypeInteger
	BigInt      = mapping.TypeBigInt
	UTinyInt    = mapping.TypeUTinyInt
	USmallInt   = mapping.TypeUSmallInt
	UInteger    = mapping.TypeUInteger
	UBigInt     = mapping.TypeUBigInt
	HugeInt     = mapping.TypeHugeInt
	UHugeInt    = mapping.TypeUHugeInt
	Float       = mapping.TypeFloat
	Double      = mapping.TypeDouble
	Decimal     = mapping.TypeDecimal
	Varchar     = mapping.TypeVarchar
	Blob        = mapping.TypeBlob
	Bit         = mapping.TypeBit
	UUID        = mapping.TypeUUID
	Enum        = mapping.TypeEnum
	Date        = mapping.TypeDate
	Time        = mapping.TypeTime
	TimeNS      = mapping.TypeTimeNS
	TimeTZ      = mapping.TypeTimeTZ
	Timestamp   = mapping.TypeTimestamp // microseconds
	TimestampS  = mapping.TypeTimestampS
	TimestampMS = mapping.TypeTimestampMS
	TimestampNS = mapping.TypeTimestampNS
	TimestampTZ = mapping.TypeTimestampTZ
	Interval    = mapping.TypeInterval
	List        = mapping.TypeList
	Array       = mapping.TypeArray
	Struct      = mapping.TypeStruct
	Map         = mapping.TypeMap
	Union       = mapping.TypeUnion
	Null        = mapping.TypeSQLNull
)

// Type is a DuckDB type.
type Type struct {
	ID     TypeID
	Width  int      // DECIMAL: digits
	Scale  int      // DECIMAL: digits after the point
	Size   int      // ARRAY: elements of each value
	Elem   *Type    // LIST, ARRAY: the element; MAP: a STRUCT of key and value
	Fields []Field  // STRUCT, UNION: the members
	Values []string // ENUM: the dictionary
	JSON   bool     // VARCHAR that is declared JSON
}

// Field is a member of a STRUCT or UNION.
type Field struct {
	Name string
	Type *Type
}

// Column is a column of a result.
type Column struct {
	Name string
	Type *Type
}

var simpleNames = map[TypeID]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Integer: "INTEGER", BigInt: "BIGINT",
	UTinyInt: "UTINYINT", USmallInt: "USMALLINT", UInteger: "UINTEGER", UBigInt: "UBIGINT",
	HugeInt: "HUGEINT", UHugeInt: "UHUGEINT", Float: "FLOAT", Double: "DOUBLE", Varchar: "VARCHAR",
	Blob: "BLOB", Bit: "BIT", UUID: "UUID", Date: "DATE", Time: "TIME", TimeNS: "TIME_NS",
	TimeTZ: "TIME WITH TIME ZONE", Timestamp: "TIMESTAMP", TimestampS: "TIMESTAMP_S",
	TimestampMS: "TIMESTAMP_MS", TimestampNS: "TIMESTAMP_NS", TimestampTZ: "TIMESTAMP WITH TIME ZONE",
	Interval: "INTERVAL", Null: `"NULL"`,
}

// String returns the type as DuckDB writes it.
func (t *Type) String() string {
	switch t.ID {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Width, t.Scale)
	case List:
		return t.Elem.String() + "[]"
	case Array:
		return fmt.Sprintf("%s[%d]", t.Elem, t.Size)
	case Map:
		return fmt.Sprintf("MAP(%s, %s)", t.Elem.Fields[0].Type, t.Elem.Fields[1].Type)
	case Struct, Union:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.String()
		}
		name := "STRUCT("
		if t.ID == Union {
			name = "UNION("
		}
		return name + strings.Join(parts, ", ") + ")"
	case Enum:
		parts := make([]string, len(t.Values))
		for i, v := range t.Values {
			parts[i] = Literal(v)
		}
		return "ENUM(" + strings.Join(parts, ", ") + ")"
	case Varchar:
		if t.JSON {
			return "JSON"
		}
	}
	if name, ok := simpleNames[t.ID]; ok {
		return name
	}
	return fmt.Sprintf("type %d", t.ID)
}

// String returns the member as DuckDB writes it. Members of row(…) have no names.
func (f Field) String() string {
	switch {
	case f.Name == "":
		return f.Type.String()
	case plainName.MatchString(f.Name) && !keywords[sqltree.Fold(f.Name)]:
		return f.Name + " " + f.Type.String()
	}
	return Identifier(f.Name) + " " + f.Type.String()
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Supported reports whether values of the type can be read from a result.
func (t *Type) Supported() bool {
	switch t.ID {
	case List, Array, Map:
		return t.Elem.Supported()
	case Struct, Union:
		for _, f := range t.Fields {
			if !f.Type.Supported() {
				return false
			}
		}
		return true
	case Decimal, Enum:
		return true
	}
	_, ok := simpleNames[t.ID]
	return ok
}

// ValueSize is the number of bytes of a value of a fixed-width type, see [Values].
func (t *Type) ValueSize() int {
	switch t.ID {
	case Boolean, TinyInt, UTinyInt:
		return 1
	case SmallInt, USmallInt:
		return 2
	case Integer, UInteger, Float, Date:
		return 4
	case HugeInt, UHugeInt, UUID, Interval:
		return 16
	case Decimal:
		switch {
		case t.Width <= 4:
			return 2
		case t.Width <= 9:
			return 4
		case t.Width > 18:
			return 16
		}
	case Enum:
		switch n := len(t.Values); {
		case n < 1<<8:
			return 1
		case n < 1<<16:
			return 2
		}
		return 4
	}
	return 8
}

// newType reads a logical type and destroys it.
func newType(lt mapping.LogicalType) *Type {
	defer mapping.DestroyLogicalType(&lt)
	return readType(lt)
}

// readType reads a logical type that DuckDB owns.
func readType(lt mapping.LogicalType) *Type {
	t := &Type{ID: mapping.GetTypeId(lt)}
	switch t.ID {
	case Varchar:
		t.JSON = mapping.LogicalTypeGetAlias(lt) == "JSON"
	case Decimal:
		t.Width, t.Scale = int(mapping.DecimalWidth(lt)), int(mapping.DecimalScale(lt))
	case Enum:
		for i := range mapping.EnumDictionarySize(lt) {
			t.Values = append(t.Values, mapping.EnumDictionaryValue(lt, mapping.IdxT(i)))
		}
		if len(t.Values) == 0 { // CREATE TYPE … AS ENUM of a query without rows
			return &Type{ID: Null}
		}
	case List:
		t.Elem = newType(mapping.ListTypeChildType(lt))
	case Array:
		t.Elem, t.Size = newType(mapping.ArrayTypeChildType(lt)), int(mapping.ArrayTypeArraySize(lt))
	case Map:
		t.Elem = &Type{ID: Struct, Fields: []Field{
			{"key", newType(mapping.MapTypeKeyType(lt))}, {"value", newType(mapping.MapTypeValueType(lt))},
		}}
	case Struct:
		for i := range mapping.StructTypeChildCount(lt) {
			t.Fields = append(t.Fields, Field{mapping.StructTypeChildName(lt, i), newType(mapping.StructTypeChildType(lt, i))})
		}
	case Union:
		for i := range mapping.UnionTypeMemberCount(lt) {
			t.Fields = append(t.Fields, Field{mapping.UnionTypeMemberName(lt, i), newType(mapping.UnionTypeMemberType(lt, i))})
		}
	}
	return t
}

// logical makes DuckDB's form of the type. The caller destroys it.
func (t *Type) logical() mapping.LogicalType {
	switch t.ID {
	case List:
		elem := t.Elem.logical()
		defer mapping.DestroyLogicalType(&elem)
		return mapping.CreateListType(elem)
	case Array:
		elem := t.Elem.logical()
		defer mapping.DestroyLogicalType(&elem)
		return mapping.CreateArrayType(elem, mapping.IdxT(t.Size))
	case Map:
		key, value := t.Elem.Fields[0].Type.logical(), t.Elem.Fields[1].Type.logical()
		defer mapping.DestroyLogicalType(&key)
		defer mapping.DestroyLogicalType(&value)
		return mapping.CreateMapType(key, value)
	case Decimal:
		return mapping.CreateDecimalType(uint8(t.Width), uint8(t.Scale))
	case Enum:
		return mapping.CreateEnumType(t.Values)
	case Struct:
		return logicalMembers(t.Fields, mapping.CreateStructType)
	case Union:
		return logicalMembers(t.Fields, mapping.CreateUnionType)
	}
	lt := mapping.CreateLogicalType(t.ID)
	if t.JSON {
		mapping.LogicalTypeSetAlias(lt, "JSON")
	}
	return lt
}

func logicalMembers(fields []Field,
	create func([]mapping.LogicalType, []string) mapping.LogicalType,
) mapping.LogicalType {
	types := make([]mapping.LogicalType, len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		types[i], names[i] = f.Type.logical(), f.Name
		defer mapping.DestroyLogicalType(&types[i])
	}
	return create(types, names)
}

// Literal renders s as a SQL string literal.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Identifier renders s as a quoted SQL identifier.
func Identifier(s string) string { return sqltree.Identifier(s) }

// Qualified renders a name in one of the runtime's schemas.
func Qualified(schema, name string) string {
	return CatalogName + "." + Identifier(schema) + "." + Identifier(name)
}
