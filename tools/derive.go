package tools

import (
	"encoding/json"
	"reflect"

	"github.com/spiced-sql/spiced/internal/kit/schema"
)

// Derive returns the JSON Schema of a struct, from its fields and their tags:
// json, doc, default, enum, min and max, as of [schema.Deriver]. Fields are
// text, booleans, numbers, lists, maps by text, structs and, for any value,
// [json.RawMessage] and any. No other properties are allowed.
func Derive(t reflect.Type) (json.RawMessage, error) {
	d := schema.Deriver{Key: "json"}
	s, err := d.Object(t)
	if err != nil {
		return nil, err
	}
	return Encode(s)
}
