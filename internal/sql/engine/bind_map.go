package engine

import (
	"fmt"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

// mapValue makes a MAP, or the STRUCT that t requires. The keys, and the values, become a
// list first: DuckDB casts the elements of a list to one type, and those of a map not.
func mapValue(m value.Map, t *Type, depth int) (mapping.Value, error) {
	if len(m.Keys) != len(m.Values) {
		return mapping.Value{}, fmt.Errorf("a map has %d keys and %d values", len(m.Keys), len(m.Values))
	}
	if t != nil && t.ID == Struct {
		return structOfMap(m, t, depth)
	}
	keyType, valueType := &Type{ID: List}, &Type{ID: List}
	if t != nil && t.ID == Map {
		keyType.Elem, valueType.Elem = t.Elem.Fields[0].Type, t.Elem.Fields[1].Type
	}
	keys, keyElem, err := likeItems(m.Keys, keyType, depth)
	defer destroyValues(keys)
	if err != nil {
		return mapping.Value{}, fmt.Errorf("the keys of a map: %w", err)
	}
	values, valueElem, err := likeItems(m.Values, valueType, depth)
	defer destroyValues(values)
	if err != nil {
		return mapping.Value{}, fmt.Errorf("the values of a map: %w", err)
	}
	seen := map[string]bool{}
	for i, key := range keys {
		text, ok := m.Keys[i].(string)
		if !ok {
			text = mapping.GetVarchar(key)
		}
		switch {
		case m.Keys[i] == nil:
			return mapping.Value{}, fmt.Errorf("a key of a map is NULL")
		case seen[text]:
			return mapping.Value{}, fmt.Errorf("a map has the key %.40q twice", text)
		}
		seen[text] = true
	}
	lt := (&Type{ID: Map, Elem: &Type{ID: Struct, Fields: []Field{{"key", keyElem}, {"value", valueElem}}}}).logical()
	defer mapping.DestroyLogicalType(&lt)
	return mapping.CreateMapValue(lt, keys, values), nil
}

// likeItems makes the values of a list of type t, and their common type.
func likeItems(items []any, t *Type, depth int) (values []mapping.Value, elem *Type, err error) {
	list, err := listValue(items, t, depth)
	if err != nil {
		return nil, nil, err
	}
	defer mapping.DestroyValue(&list)
	elem = readType(mapping.GetValueType(list)).Elem
	if elem.ID == Null && t.Elem != nil {
		elem = t.Elem
	}
	for i := range items {
		values = append(values, mapping.GetListChild(list, mapping.IdxT(i)))
	}
	return values, elem, nil
}

// structOfMap makes a STRUCT of a map whose keys are text.
func structOfMap(m value.Map, t *Type, depth int) (mapping.Value, error) {
	fields := make(map[string]any, len(m.Keys))
	for i, key := range m.Keys {
		name, ok := key.(string)
		if !ok {
			return mapping.Value{}, fmt.Errorf("a map becomes a STRUCT only if its keys are text")
		}
		if _, twice := fields[name]; twice {
			return mapping.Value{}, fmt.Errorf("a map has the key %.40q twice", name)
		}
		fields[name] = m.Values[i]
	}
	return structValue(fields, t, depth)
}
