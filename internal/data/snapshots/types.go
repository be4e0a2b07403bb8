package snapshots

import (
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// columnType is a type of DuckDB in a manifest. SQL is made of it alone, never of a text of
// the store.
type columnType struct {
	Name   string        `json:"name"` // of a simple type, DECIMAL, LIST, ARRAY, STRUCT, MAP, ENUM or JSON
	Width  int           `json:"width,omitempty"`
	Scale  int           `json:"scale,omitempty"`
	Size   int           `json:"size,omitempty"`   // of an ARRAY
	Of     *columnType   `json:"of,omitempty"`     // of a LIST or ARRAY
	Fields []columnField `json:"fields,omitempty"` // of a STRUCT; key and value of a MAP
	Values []string      `json:"values,omitempty"` // of an ENUM
}

type columnField struct {
	Name string     `json:"name"`
	Type columnType `json:"type"`
}

// column is a column of a snapshot.
type column struct {
	Name string     `json:"name"`
	Type columnType `json:"type"`
}

// Limits of a manifest's columns.
const (
	maxColumns = 10_000
	maxDepth   = 32 // of nested types
)

// exact are the types whose values a Parquet file has, as they are or in a form that is
// cast back without a loss.
var exact = []engine.TypeID{
	engine.Boolean, engine.TinyInt, engine.SmallInt, engine.Integer, engine.BigInt, engine.UTinyInt, engine.USmallInt,
	engine.UInteger, engine.UBigInt,
	engine.Float, engine.Double, engine.Varchar, engine.Blob, engine.Bit, engine.UUID, engine.Date, engine.Time,
	engine.TimeNS,
	engine.Timestamp, engine.TimestampS, engine.TimestampMS, engine.TimestampNS, engine.TimestampTZ,
}

// asText are the types whose digits, months or time zones DuckDB loses in Parquet files:
// such a column is written as text.
var asText = []engine.TypeID{engine.HugeInt, engine.UHugeInt, engine.TimeTZ, engine.Interval}

// The names of types that are not simple.
const (
	nameDecimal = "DECIMAL"
	nameList    = "LIST"
	nameArray   = "ARRAY"
	nameStruct  = "STRUCT"
	nameMap     = "MAP"
	nameEnum    = "ENUM"
	nameJSON    = "JSON"
)

func simpleName(id engine.TypeID) string { return (&engine.Type{ID: id}).String() }

// describeType returns the type of a column, or an error if a snapshot cannot have it.
func describeType(name string, t *engine.Type) (columnType, error) {
	if slices.Contains(asText, t.ID) {
		return columnType{Name: simpleName(t.ID)}, nil
	}
	out, ok := describe(t)
	if !ok {
		return out, fault.New("acceleration.snapshots", "cast it in refresh_sql, or declare another type in columns",
			"column %q is %s, and a Parquet file cannot represent all of its values", name, t)
	}
	return out, nil
}

// describe describes a type; false if a Parquet file does not have all of its values.
func describe(t *engine.Type) (out columnType, ok bool) {
	switch {
	case t.ID == engine.Varchar && t.JSON:
		return columnType{Name: nameJSON}, true
	case slices.Contains(exact, t.ID):
		return columnType{Name: simpleName(t.ID)}, true
	}
	var of columnType
	switch t.ID {
	case engine.Decimal:
		return columnType{Name: nameDecimal, Width: t.Width, Scale: t.Scale}, true
	case engine.Enum:
		return columnType{Name: nameEnum, Values: t.Values}, true
	case engine.List, engine.Array:
		of, ok = describe(t.Elem)
		out = columnType{Name: nameList, Of: &of}
		if t.ID == engine.Array {
			out.Name, out.Size = nameArray, t.Size
		}
		return out, ok
	case engine.Map:
		out.Name, ok = nameMap, true
		out.Fields, ok = describeFields(t.Elem.Fields)
	case engine.Struct:
		out.Name = nameStruct
		out.Fields, ok = describeFields(t.Fields)
	}
	return out, ok
}

func describeFields(fields []engine.Field) (list []columnField, ok bool) {
	for _, f := range fields {
		of, ok := describe(f.Type)
		if !ok {
			return nil, false
		}
		list = append(list, columnField{f.Name, of})
	}
	return list, true
}

// simpleTypes are the types without others, by name.
var simpleTypes = func() map[string]engine.TypeID {
	all := map[string]engine.TypeID{}
	for _, id := range slices.Concat(exact, asText) {
		all[simpleName(id)] = id
	}
	return all
}()

// parse returns the type of DuckDB. The error says what is wrong with that of a manifest.
func (c *columnType) parse(depth int) (*engine.Type, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("a type has more than %d levels", maxDepth)
	}
	if id, ok := simpleTypes[c.Name]; ok {
		return &engine.Type{ID: id}, nil
	}
	switch c.Name {
	case nameJSON:
		return &engine.Type{ID: engine.Varchar, JSON: true}, nil
	case nameDecimal:
		if c.Width < 1 || c.Width > 38 || c.Scale < 0 || c.Scale > c.Width {
			return nil, fmt.Errorf("there is no DECIMAL(%d,%d)", c.Width, c.Scale)
		}
		return &engine.Type{ID: engine.Decimal, Width: c.Width, Scale: c.Scale}, nil
	case nameEnum:
		return &engine.Type{ID: engine.Enum, Values: c.Values}, nil
	case nameList, nameArray:
		return c.parseList(depth)
	case nameStruct, nameMap:
		return c.parseFields(depth)
	}
	return nil, fmt.Errorf("there is no type %q", c.Name)
}

func (c *columnType) parseList(depth int) (*engine.Type, error) {
	if c.Of == nil || c.Size < 0 {
		return nil, fmt.Errorf("%s needs a type", c.Name)
	}
	of, err := c.Of.parse(depth + 1)
	t := &engine.Type{ID: engine.List, Elem: of}
	if c.Name == nameArray {
		t.ID, t.Size = engine.Array, c.Size
	}
	return t, err
}

func (c *columnType) parseFields(depth int) (*engine.Type, error) {
	t := &engine.Type{ID: engine.Struct}
	for _, f := range c.Fields {
		of, err := f.Type.parse(depth + 1)
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, engine.Field{Name: f.Name, Type: of})
	}
	switch {
	case c.Name == nameMap && len(t.Fields) != 2 || len(t.Fields) == 0:
		return nil, fmt.Errorf("%s needs other fields", c.Name)
	case c.Name == nameMap:
		return &engine.Type{ID: engine.Map, Elem: t}, nil
	}
	return t, nil
}
