package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

// exactValue is [toValue] for numbers of JSON that a DOUBLE would change: they are errors.
// Text becomes a number as in SQL.
func exactValue(given any, t *Type) (mapping.Value, error) {
	if err := checkExact(given, t); err != nil {
		return mapping.Value{}, err
	}
	if n, ok := given.(json.Number); ok && strings.ContainsAny(n.String(), ".eE") &&
		value.Numeric(n).Digits() > exactDigits {
		given = value.Numeric(n) // so many are not meant to be a DOUBLE
	}
	v, err := toValue(given, t, 0)
	switch given.(type) {
	case []any, map[string]any: // a list has the type that all its numbers fit, such as DOUBLE
		if err == nil && v.Ptr != nil {
			if err = checkExact(given, readType(mapping.GetValueType(v))); err != nil {
				mapping.DestroyValue(&v)
			}
		}
	}
	return v, err
}

// checkExact checks the numbers of a value that becomes one of a type, or of the type that
// [numberValue] chooses where t is nil.
func checkExact(given any, t *Type) error {
	switch v := given.(type) {
	case json.Number:
		return checkExactNumber(v.String(), t)
	case value.Numeric: // of PostgreSQL; a DOUBLE is rounded there
		if t == nil {
			return checkExact(json.Number(v), nil)
		}
	case []any:
		if t != nil {
			t = t.Elem
		}
		for i, item := range v {
			if err := checkExact(item, t); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := checkExact(v[name], fieldType(t, name)); err != nil {
				return fmt.Errorf("field %q: %w", name, err)
			}
		}
	}
	return nil
}

// checkExactNumber is checkExact for a number of JSON. What is no number, or is out of the range of
// its type, is left to [toValue].
func checkExactNumber(text string, t *Type) error {
	bits := 64
	switch whole := !strings.ContainsAny(text, ".eE"); {
	case t != nil && t.ID == Float:
		bits = 32
	case t != nil && (t.ID == Decimal || t.ID == UHugeInt):
		return nil
	case whole && (t == nil || t.ID != Double) && fitsHugeInt(text):
		return nil
	}
	_, err := value.Float(text, bits)
	if err == nil || errors.Is(err, strconv.ErrRange) || errors.Is(err, strconv.ErrSyntax) {
		return nil
	}
	if len(text) > value.MaxNumber {
		return nil
	}
	return fmt.Errorf("%w; send that, or send the number as text", err)
}

// fitsHugeInt reports whether a text is an integer that HUGEINT holds.
func fitsHugeInt(text string) bool {
	if plainInteger(text) {
		return true
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return false
	}
	_, fits := value.NewInt128(n)
	return fits
}
