package functions

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Literal renders a value of a Spicepod or of JSON as a SQL expression of the type:
// nil, bool, json.Number, float64, string, []any or map[string]any. The error for a
// value of another type says which values are valid.
func (t *Type) Literal(given any) (string, error) {
	if given == nil {
		return "CAST(NULL AS " + t.SQL() + ")", nil
	}
	text, err := t.literal(given)
	if err != nil {
		return "", err
	}
	return "CAST(" + text + " AS " + t.SQL() + ")", nil
}

func (t *Type) literal(given any) (string, error) {
	switch t.kind {
	case kindDate, kindTimestamp, kindInstant, kindInterval:
		if s, ok := given.(string); ok && !strings.ContainsRune(s, 0) {
			return engine.Literal(s), nil
		}
		return "", t.wrong(given)
	case kindList:
		if items, ok := given.([]any); ok {
			return t.listLiteral(items)
		}
	case kindStruct:
		if members, ok := given.(map[string]any); ok {
			return t.structLiteral(members)
		}
	case kindMap, kindUnion:
		text, err := t.Value(given)
		if err != nil {
			return "", err
		}
		return "CAST(" + engine.Literal(text.(string)) + " AS JSON)::" + t.readable().String(), nil
	}
	switch v, err := t.Value(given); v := v.(type) {
	case bool:
		return strconv.FormatBool(v), err
	case float64:
		return engine.Literal(floatText(v)), err
	case []byte:
		return "from_base64(" + engine.Literal(base64.StdEncoding.EncodeToString(v)) + ")", err
	default:
		text := fmt.Sprint(v)
		if strings.ContainsRune(text, 0) {
			return "", t.wrong(given)
		}
		return engine.Literal(text), err
	}
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (t *Type) listLiteral(items []any) (string, error) {
	parts := make([]string, len(items))
	for i, item := range items {
		text, err := t.elem.Literal(item)
		if err != nil {
			return "", fmt.Errorf("element %d: %w", i+1, err)
		}
		parts[i] = text
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}

func (t *Type) structLiteral(members map[string]any) (string, error) {
	parts := make([]string, len(t.fields))
	known := map[string]bool{}
	for i, f := range t.fields {
		known[f.name] = true
		text, err := f.typ.Literal(members[f.name])
		if err != nil {
			return "", fmt.Errorf("field %q: %w", f.name, err)
		}
		parts[i] = engine.Literal(f.name) + ": " + text
	}
	for name := range members {
		if !known[name] {
			return "", fmt.Errorf("%s has no field %q", t, name)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}
