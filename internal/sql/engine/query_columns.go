package engine

import (
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// DuckDB silently binds a prepared statement again when a file that it reads has
// changed. The columns it was prepared with may therefore differ from those of
// the result; the result's are used.

// hasColumns reports whether a result has these columns.
func hasColumns(res *mapping.Result, columns []Column) bool {
	if int(mapping.ColumnCount(res)) != len(columns) {
		return false
	}
	for i, c := range columns {
		at := mapping.IdxT(i)
		if mapping.ColumnName(res, at) != c.Name || !c.Type.owned(mapping.ColumnLogicalType(res, at), true) {
			return false
		}
	}
	return true
}

// checkChunk refuses a chunk whose vectors do not have the types of the columns:
// reading them as such would access invalid memory.
func checkChunk(raw mapping.DataChunk, columns []Column) error {
	if n := int(mapping.DataChunkGetColumnCount(raw)); n != len(columns) {
		return NewError(errcode.Internal, hintReport, "DuckDB returned %d columns, not %d", n, len(columns))
	}
	for i, c := range columns {
		vector := mapping.DataChunkGetVector(raw, mapping.IdxT(i))
		if !c.Type.owned(mapping.VectorGetColumnType(vector), false) {
			return NewError(errcode.Internal, hintReport, "DuckDB returned column %q with another type than %s", c.Name, c.Type)
		}
	}
	return nil
}

const hintReport = "please report it with the statement"

// owned is like is and destroys the logical type.
func (t *Type) owned(lt mapping.LogicalType, names bool) bool {
	defer mapping.DestroyLogicalType(&lt)
	return t.is(lt, names)
}

// is reports whether newType would read t from a logical type. Without names, it
// ignores what does not affect the layout in memory: the names of members, and
// the alias JSON.
func (t *Type) is(lt mapping.LogicalType, names bool) bool {
	id := mapping.GetTypeId(lt)
	if id == Enum && mapping.EnumDictionarySize(lt) == 0 {
		id = Null // see readType
	}
	if id != t.ID {
		return false
	}
	switch id {
	case Varchar:
		return !names || t.JSON == (mapping.LogicalTypeGetAlias(lt) == "JSON")
	case Decimal:
		return t.Width == int(mapping.DecimalWidth(lt)) && t.Scale == int(mapping.DecimalScale(lt))
	case Enum:
		return int(mapping.EnumDictionarySize(lt)) == len(t.Values) // the values cannot change: no file has ENUMs
	case List:
		return t.Elem.owned(mapping.ListTypeChildType(lt), names)
	case Array:
		return t.Size == int(mapping.ArrayTypeArraySize(lt)) && t.Elem.owned(mapping.ArrayTypeChildType(lt), names)
	case Map:
		return t.Elem.Fields[0].Type.owned(mapping.MapTypeKeyType(lt), names) &&
			t.Elem.Fields[1].Type.owned(mapping.MapTypeValueType(lt), names)
	case Struct:
		return t.hasMembers(lt, names, mapping.StructTypeChildCount, mapping.StructTypeChildName, mapping.StructTypeChildType)
	case Union:
		return t.hasMembers(lt, names, mapping.UnionTypeMemberCount, mapping.UnionTypeMemberName, mapping.UnionTypeMemberType)
	}
	return true
}

func (t *Type) hasMembers(
	lt mapping.LogicalType, names bool, count func(mapping.LogicalType) mapping.IdxT,
	name func(mapping.LogicalType, mapping.IdxT) string,
	member func(mapping.LogicalType, mapping.IdxT) mapping.LogicalType,
) bool {
	if int(count(lt)) != len(t.Fields) {
		return false
	}
	for i, f := range t.Fields {
		at := mapping.IdxT(i)
		if names && name(lt, at) != f.Name || !f.Type.owned(member(lt, at), names) {
			return false
		}
	}
	return true
}
