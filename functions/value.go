package functions

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// Value converts a value of a Spicepod or of JSON to one that [engine.Params] takes for
// the type, with all its digits: nil, bool, json.Number, float64, string, []any or
// map[string]any. What the engine cannot take as it is becomes text: see [Type.Carriers].
// The error for a value of another type says which values are valid.
func (t *Type) Value(given any) (any, error) {
	if given == nil {
		return nil, nil
	}
	switch t.kind {
	case kindInteger:
		return t.integer(given)
	case kindHuge:
		return t.huge(given)
	case kindJSON:
		return jsonText(given)
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
	case kindMap, kindUnion:
		if _, ok := given.(map[string]any); ok {
			return t.encoded(given)
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
	if t.duck.ID == engine.Array && len(items) != t.duck.Size {
		return nil, fmt.Errorf("%d elements are not a valid %s: it has %d", len(items), t, t.duck.Size)
	}
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
			return nil, fmt.Errorf("there is no field %q%s", name, nearest.Clause(name, slices.Collect(maps.Keys(out))))
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
		return strings.TrimPrefix(strings.TrimSpace(v), "+"), true
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

// huge returns a number of up to 128 bits as text.
func (t *Type) huge(given any) (any, error) {
	text, ok := numberText(given)
	r, isNumber := value.Rational(text)
	if !ok || !isNumber || !r.IsInt() {
		return nil, t.wrong(given)
	}
	limits := bounds[t.duck.ID]
	low, _ := value.Rational(limits[0])
	high, _ := value.Rational(limits[1])
	if r.Cmp(low) < 0 || r.Cmp(high) > 0 {
		return nil, fmt.Errorf("%s is out of the range of %s, %s to %s", describe(given), t, limits[0], limits[1])
	}
	return r.Num().String(), nil
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
	bits := 64
	if t.duck.ID == engine.Float {
		bits = 32
	}
	f, ok := given.(float64) // a default may be .inf
	if text, isText := numberText(given); !ok && isText {
		var err error
		f, err = value.Float(text, bits)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return nil, fmt.Errorf("%.60s is out of the range of %s", text, t)
		case errors.Is(err, strconv.ErrSyntax):
			return nil, t.wrong(given)
		case err != nil:
			return nil, fmt.Errorf("%w; pass that, or declare a decimal and not %s", err, t)
		}
		ok = true
	}
	if !ok {
		return nil, t.wrong(given)
	}
	if bits == 32 && !math.IsInf(f, 0) && math.IsInf(float64(float32(f)), 0) {
		return nil, fmt.Errorf("%g is out of the range of %s", f, t)
	}
	return f, nil
}

// parse returns the value of a text. Times are in UTC; a time without an offset is UTC.
func (t *Type) parse(s string) (any, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("text must be UTF-8")
	}
	if t.values != nil && !slices.Contains(t.values, s) {
		return nil, fmt.Errorf("%s is not one of %s%s", describe(s), describe(t.values), nearest.Clause(s, t.values))
	}
	switch t.duck.ID {
	case engine.Varchar, engine.Enum:
		return s, nil
	case engine.Blob:
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("%s is not base64 text", describe(s))
		}
		return raw, nil
	case engine.Date:
		if d, ok := value.ParseDate(s); ok {
			return d, nil
		}
		return nil, fmt.Errorf("%w; write YYYY-MM-DD", t.wrong(s))
	case engine.Interval:
		if v, ok := value.ParseInterval(s); ok {
			return v, nil
		}
		return nil, fmt.Errorf("%w; write 1 day 02:30:00 or P1DT2H30M", t.wrong(s))
	case engine.Timestamp, engine.TimestampS, engine.TimestampMS, engine.TimestampNS, engine.TimestampTZ:
		return t.timestamp(s)
	}
	return t.checked(s)
}

func (t *Type) timestamp(s string) (any, error) {
	if t.duck.ID == engine.TimestampNS {
		if at, ok := value.ParseTimestampNS(s); ok {
			return value.TimestampNS(at), nil
		}
	} else if at, ok := value.ParseTimestamp(s); ok {
		if t.duck.ID == engine.TimestampTZ {
			return value.TimestampTZ(at), nil
		}
		return value.Timestamp(at), nil
	}
	return nil, fmt.Errorf("%w; write YYYY-MM-DDThh:mm:ssZ", t.wrong(s))
}

// Forms of the texts that DuckDB parses.
var (
	clockText  = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?$|^24:00(:00(\.0{1,9})?)?$`)
	offsetText = regexp.MustCompile(`(Z|[+-]\d{2}(:?[0-5]\d){0,2})$`)
	bitText    = regexp.MustCompile(`^[01]+$`)
)

// checked returns a text in the form that DuckDB parses.
func (t *Type) checked(s string) (any, error) {
	switch t.duck.ID {
	case engine.Time, engine.TimeNS:
		if clockText.MatchString(s) {
			return s, nil
		}
		return nil, fmt.Errorf("%w; write hh:mm:ss", t.wrong(s))
	case engine.TimeTZ:
		offset := offsetText.FindString(s)
		if clock := strings.TrimSuffix(s, offset); clockText.MatchString(clock) {
			return clock + cmp.Or(strings.TrimPrefix(offset, "Z"), "+00"), nil
		}
		return nil, fmt.Errorf("%w; write hh:mm:ss+00:00", t.wrong(s))
	case engine.UUID:
		if id, err := uuid.Parse(s); err == nil {
			return id.String(), nil
		}
		return nil, fmt.Errorf("%w; write 32 hexadecimal digits, such as 01234567-89ab-4def-8123-456789abcdef", t.wrong(s))
	case engine.Bit:
		if bitText.MatchString(s) {
			return s, nil
		}
		return nil, fmt.Errorf("%w; write digits 0 and 1", t.wrong(s))
	}
	return nil, t.wrong(s)
}
