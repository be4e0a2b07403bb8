package functions

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Literal renders a value of a Spicepod or of JSON as a SQL expression of the type:
// nil, bool, json.Number, float64, string, []any or map[string]any. The error for a
// value of another type says which values are valid.
func (t *Type) Literal(value any) (string, error) {
	if value == nil {
		return "CAST(NULL AS " + t.SQL() + ")", nil
	}
	text, err := t.literal(value)
	if err != nil {
		return "", err
	}
	return "CAST(" + text + " AS " + t.SQL() + ")", nil
}

func (t *Type) literal(value any) (string, error) {
	switch t.kind {
	case kindInteger, kindFloat, kindDecimal:
		return t.numberLiteral(value)
	case kindBoolean:
		if b, ok := value.(bool); ok {
			return strconv.FormatBool(b), nil
		}
	case kindText, kindDate, kindTimestamp, kindInstant:
		if s, ok := value.(string); ok && !strings.ContainsRune(s, 0) {
			return engine.Literal(s), nil
		}
	case kindBinary:
		return binaryLiteral(value)
	case kindList:
		if items, ok := value.([]any); ok {
			return t.listLiteral(items)
		}
	case kindStruct:
		if members, ok := value.(map[string]any); ok {
			return t.structLiteral(members)
		}
	}
	return "", t.wrong(value)
}

func (t *Type) wrong(value any) error {
	return fmt.Errorf("%s is not a valid %s", describe(value), t)
}

// describe shows a value in an error.
func describe(value any) string {
	if n, ok := value.(json.Number); ok {
		return n.String()
	}
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return truncate.Ellipsis(string(b), 60)
}

func (t *Type) numberLiteral(value any) (string, error) {
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		if t.kind == kindFloat {
			return "", t.wrong(value)
		}
		text = v
	case float64:
		if t.kind != kindFloat && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return "", t.wrong(value)
		}
		text = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return "", t.wrong(value)
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil && t.kind != kindDecimal && !isRange(err) {
		return "", t.wrong(value)
	}
	if t.kind == kindInteger {
		return t.integerLiteral(text, value)
	}
	return engine.Literal(text), nil
}

func isRange(err error) bool { return strings.HasSuffix(err.Error(), "out of range") }

// integerLiteral accepts 3, "3" and 3.0 for integers and nothing with a fraction.
func (t *Type) integerLiteral(text string, value any) (string, error) {
	if e := strings.IndexAny(text, "eE"); len(text) > 64 || e >= 0 && len(text)-e > 4 {
		return "", t.wrong(value) // an exponent that would take memory to write out
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.IsInt() {
		return "", t.wrong(value)
	}
	low, _ := new(big.Int).SetString(bounds[t.duck.ID][0], 10)
	high, _ := new(big.Int).SetString(bounds[t.duck.ID][1], 10)
	if r.Num().Cmp(low) < 0 || r.Num().Cmp(high) > 0 {
		return "", fmt.Errorf("%s is out of the range of %s, %s to %s", describe(value), t, low, high)
	}
	return engine.Literal(r.Num().String()), nil
}

func binaryLiteral(value any) (string, error) {
	s, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("%s is not base64 text", describe(value))
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("%s is not base64 text", describe(value))
	}
	return "from_base64(" + engine.Literal(base64.StdEncoding.EncodeToString(raw)) + ")", nil
}

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
