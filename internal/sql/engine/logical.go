package engine

import "github.com/duckdb/duckdb-go/v2/mapping"

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

func logicalMembers(fields []Field, create func([]mapping.LogicalType, []string) mapping.LogicalType) mapping.LogicalType {
	types := make([]mapping.LogicalType, len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		types[i], names[i] = f.Type.logical(), f.Name
		defer mapping.DestroyLogicalType(&types[i])
	}
	return create(types, names)
}
