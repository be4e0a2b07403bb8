package sandbox

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Type is what a declaration says of a type beyond its type in Arrow.
type Type struct {
	Name  string // as declared, for messages; "" is that of Arrow
	JSON  bool   // the texts are JSON
	Parts []Type // of a list its elements', of a struct its fields', of a map its keys' and values'
}

// typeAt returns a type, which is unknown beyond their end.
func typeAt(types []Type, i int) Type {
	if i < len(types) {
		return types[i]
	}
	return Type{}
}

// typeSpec describes a type to a worker. Kind is int, float (Code: of Python's module
// array), bool, text, json, bytes, date, timestamp (Unit, Zone), time (Unit), decimal,
// interval, list (Item), struct (Fields), map (Key, Item) or null.
type typeSpec struct {
	Kind      string     `json:"k"`
	Name      string     `json:"name"` // for messages
	Field     string     `json:"field,omitempty"`
	Code      string     `json:"code,omitempty"`
	Unit      string     `json:"unit,omitempty"`
	Zone      bool       `json:"tz"`
	Precision int32      `json:"precision,omitempty"`
	Scale     int32      `json:"scale"`
	Size      *int32     `json:"size,omitempty"` // of a list of fixed size
	Item      *typeSpec  `json:"item,omitempty"`
	Key       *typeSpec  `json:"key,omitempty"`
	Fields    []typeSpec `json:"fields,omitempty"`
	// Unwrap says whether a dict {success, data, error} is a response; it is not where the
	// type has such a field itself.
	Unwrap bool `json:"unwrap"`
}

var codes = map[arrow.Type]string{
	arrow.INT8: "b", arrow.INT16: "h", arrow.INT32: "i", arrow.INT64: "q",
	arrow.UINT8: "B", arrow.UINT16: "H", arrow.UINT32: "I", arrow.UINT64: "Q",
	arrow.FLOAT32: "f", arrow.FLOAT64: "d",
}

var kinds = map[arrow.Type]string{
	arrow.INT8: "int", arrow.INT16: "int", arrow.INT32: "int", arrow.INT64: "int",
	arrow.UINT8: "int", arrow.UINT16: "int", arrow.UINT32: "int", arrow.UINT64: "int",
	arrow.FLOAT32: "float", arrow.FLOAT64: "float", arrow.BOOL: "bool", arrow.STRING: "text", arrow.BINARY: "bytes",
	arrow.DATE32: "date", arrow.TIMESTAMP: "timestamp", arrow.TIME64: "time",
	arrow.DECIMAL128: "decimal", arrow.DECIMAL256: "decimal", arrow.INTERVAL_MONTH_DAY_NANO: "interval",
	arrow.LIST: "list", arrow.FIXED_SIZE_LIST: "list", arrow.STRUCT: "struct", arrow.MAP: "map",
	arrow.DICTIONARY: "text", arrow.NULL: "null",
}

// describe describes a type.
func describe(dt arrow.DataType, declared Type) (typeSpec, error) {
	t := typeSpec{Kind: kinds[dt.ID()], Name: declared.Name, Code: codes[dt.ID()], Unwrap: true}
	if t.Kind == "" {
		return t, fmt.Errorf("code in a sandbox cannot have values of the type %s", dt)
	}
	if t.Kind == "text" && declared.JSON {
		t.Kind = "json"
	}
	switch {
	case t.Name == "" && t.Kind == "json":
		t.Name = "json"
	case t.Name == "":
		t.Name = dt.String()
	}
	return t, t.describeParts(dt, declared.Parts)
}

func (t *typeSpec) describeParts(dt arrow.DataType, parts []Type) (err error) {
	switch dt := dt.(type) {
	case *arrow.TimestampType:
		t.Unit, t.Zone = dt.Unit.String(), dt.TimeZone != ""
	case *arrow.Time64Type:
		t.Unit = dt.Unit.String()
	case arrow.DecimalType:
		t.Precision, t.Scale = dt.GetPrecision(), dt.GetScale()
	case *arrow.MapType:
		if t.Key, err = describePart(dt.KeyType(), Type{}); err == nil { // a dict or a list cannot be a key in Python
			t.Item, err = describePart(dt.ItemType(), typeAt(parts, 1))
		}
	case *arrow.FixedSizeListType:
		size := dt.Len()
		t.Size = &size
		t.Item, err = describePart(dt.Elem(), typeAt(parts, 0))
	case *arrow.ListType:
		t.Item, err = describePart(dt.Elem(), typeAt(parts, 0))
	case *arrow.StructType:
		for i, f := range dt.Fields() {
			part, err := describe(f.Type, typeAt(parts, i))
			if err != nil {
				return err
			}
			part.Field = f.Name
			t.Fields = append(t.Fields, part)
			t.Unwrap = t.Unwrap && f.Name != "success"
		}
	}
	return err
}

func describePart(dt arrow.DataType, declared Type) (*typeSpec, error) {
	t, err := describe(dt, declared)
	return &t, err
}
