package functions

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// Value converts a value of a Spicepod or of JSON to one that [engine.Params] takes for
// the type, with all its digits: nil, bool, json.Number, float64, string, []any or
// map[string]any. The error for a value of another type says which values are valid.
func (t *Type) Value(given any) (any, error) {
	if given == nil {
		return nil, nil
	}
	switch t.kind {
	case kindInteger:
		return t.integer(given)
	case kindFloat:
		return t.float(given)
	case kindDecimal:
		return t.decimal(given)
	case kindBoolean:
		if b, ok := given.(bool); ok {
			return b, nil
		}
	case kindList:
		if items, ok := given.([]any); ok {
			return t.list(items)
		}
	case kindStruct:
		if members, ok := given.(map[string]any); ok {
			return t.members(members)
		}
	default:
		if s, ok := given.(string); ok {
			return t.parse(s)
		}
	}
	return nil, t.wrong(given)
}

func (t *Type) wrong(given any) error {
	return fmt.Errorf("%s is not a valid %s", describe(given), t)
}

// describe shows a value in an error.
func describe(given any) string {
	shown, err := json.Marshal(given)
	if err != nil {
		shown = fmt.Append(nil, given)
	}
	return truncate.Ellipsis(strings.ToValidUTF8(string(shown), ""), 60)
}

func (t *Type) list(items []any) (any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		var err error
		if out[i], err = t.elem.Value(item); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return out, nil
}

func (t *Type) members(given map[string]any) (any, error) {
	out := make(map[string]any, len(t.fields))
	for _, f := range t.fields {
		var err error
		if out[f.name], err = f.typ.Value(given[f.name]); err != nil {
			return nil, fmt.Errorf("field %q: %w", f.name, err)
		}
	}
	for name := range given {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("there is no field %q", name)
		}
	}
	return out, nil
}

// numberText is the text of a number that may be given as text.
func numberText(given any) (string, bool) {
	switch v := given.(type) {
	case json.Number:
		return v.String(), true
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// integer accepts 3, "3", 3.0 and 3e0. It returns an int64, or a uint64 for uint64.
func (t *Type) integer(given any) (n any, err error) {
	text, ok := numberText(given)
	if ok && (strings.Trim(text, "0123456789-") != "" || text == "-0") {
		r, isNumber := value.Rational(text)
		if ok = isNumber && r.IsInt(); ok {
			text = r.Num().String()
		}
	}
	if !ok {
		return nil, t.wrong(given)
	}
	switch shape := integers[t.duck.ID]; {
	case shape.signed:
		n, err = strconv.ParseInt(text, 10, shape.bits)
	case shape.bits < 64:
		var u uint64
		u, err = strconv.ParseUint(text, 10, shape.bits)
		n = int64(u)
	default:
		n, err = strconv.ParseUint(text, 10, 64)
	}
	if err == nil {
		return n, nil
	}
	if _, ok := value.Rational(text); !ok {
		return nil, t.wrong(given)
	}
	limits := bounds[t.duck.ID]
	return nil, fmt.Errorf("%s is out of the range of %s, %s to %s", describe(given), t, limits[0], limits[1])
}

func (t *Type) decimal(given any) (any, error) {
	text, ok := numberText(given)
	if !ok {
		return nil, t.wrong(given)
	}
	if _, ok := value.Rational(text); !ok {
		return nil, t.wrong(given)
	}
	_, err := value.ParseDecimal(text, t.duck.Width, t.duck.Scale)
	return value.Numeric(text), err
}

func (t *Type) float(given any) (any, error) {
	var f float64
	switch v := given.(type) {
	case float64: // a default may be .inf
		f = v
	case json.Number:
		var err error
		if f, err = strconv.ParseFloat(v.String(), 64); err != nil {
			return nil, fmt.Errorf("%.60s is out of the range of %s", v, t)
		}
	default:
		return nil, t.wrong(given)
	}
	if t.duck.ID == engine.Float && !math.IsInf(f, 0) && math.IsInf(float64(float32(f)), 0) {
		return nil, fmt.Errorf("%g is out of the range of %s", f, t)
	}
	return f, nil
}

// parse returns the value of a text. Times are in UTC; a time without an offset is UTC.
func (t *Type) parse(s string) (any, error) {
	switch t.duck.ID {
	case engine.Blob:
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("%s is not base64 text", describe(s))
		}
		return raw, nil
	case engine.Varchar:
		if !utf8.ValidString(s) {
			return nil, errors.New("text must be UTF-8")
		}
		return s, nil
	case engine.Date:
		if d, ok := value.ParseDate(s); ok {
			return d, nil
		}
		return nil, fmt.Errorf("%w; write YYYY-MM-DD", t.wrong(s))
	case engine.TimestampNS:
		if at, ok := value.ParseTimestampNS(s); ok {
			return value.TimestampNS(at), nil
		}
	case engine.TimestampTZ:
		if at, ok := value.ParseTimestamp(s); ok {
			return value.TimestampTZ(at), nil
		}
	default:
		if at, ok := value.ParseTimestamp(s); ok {
			return value.Timestamp(at), nil
		}
	}
	return nil, fmt.Errorf("%w; write YYYY-MM-DDThh:mm:ssZ", t.wrong(s))
}
