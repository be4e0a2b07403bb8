package udf

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// argument describes how an argument of a function is passed to DuckDB.
type argument struct {
	name     string
	declared spicepod.Arg
	typ      *functions.Type
	carrier  *engine.Type
}

func newArguments(f *functions.Function) []argument {
	args := make([]argument, len(f.Args))
	for i, a := range f.Args {
		args[i] = argument{a.Name, f.Declared.Signature.Args[i], a.Type, carrier(a.Type.Duck())}
	}
	return args
}

// carrier is the type of the parameter that takes a value of type t. It is the type that
// [engine.Params] gives to the output of [convert]: if the two differ, DuckDB plans the
// statement again at each execution. Values that no such type holds are passed as text.
func carrier(t *engine.Type) *engine.Type {
	if _, ok := integerBits[t.ID]; ok && t.ID != engine.UBigInt {
		return &engine.Type{ID: engine.BigInt}
	}
	switch t.ID {
	case engine.Float, engine.Double:
		return &engine.Type{ID: engine.Double}
	case engine.Boolean, engine.Blob:
		return t
	case engine.List:
		return &engine.Type{ID: engine.List, Elem: carrier(t.Elem)}
	case engine.Struct:
		fields := make([]engine.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = engine.Field{Name: f.Name, Type: carrier(f.Type)}
		}
		slices.SortFunc(fields, func(a, b engine.Field) int { return strings.Compare(a.Name, b.Name) })
		return &engine.Type{ID: engine.Struct, Fields: fields}
	}
	return &engine.Type{ID: engine.Varchar}
}

// sql is the expression of the argument, passed as parameter $n; list is [] in a batch,
// for lists of values.
func (a *argument) sql(n int, list string) string {
	param, from, to := "$"+strconv.Itoa(n), a.carrier.String()+list, a.typ.SQL()+list
	if from == to {
		return "CAST(" + param + " AS " + to + ")"
	}
	return "CAST(CAST(" + param + " AS " + from + ") AS " + to + ")"
}

// value is the argument's value in a call: nil, a bool, json.Number, float64, string,
// []any or map[string]any.
func (a *argument) value(given map[string]any) (any, error) {
	value, ok := given[a.name]
	switch {
	case ok:
		return value, nil
	case a.declared.HasDefault:
		return a.declared.Default, nil
	case a.declared.IsRequired():
		return nil, errors.New("it is missing")
	}
	return nil, nil
}

// convertAll returns the values of a call for [engine.Params], in the order of the
// signature. The error is a [*tools.Error].
func convertAll(args []argument, given map[string]any) ([]any, error) {
	values := make([]any, len(args), len(args)+1) // batches have one more parameter
	for i := range args {
		value, err := args[i].value(given)
		if err == nil {
			value, err = convert(args[i].typ.Duck(), value)
		}
		if err != nil {
			return nil, wrongArgument(args[i].name, err)
		}
		values[i] = value
	}
	return values, nil
}

func wrongArgument(name string, err error) *tools.Error {
	e := tools.NewError(errcode.InvalidArguments, fmt.Sprintf("argument %q: %s", name, err), "")
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	e.Faults = []tools.Fault{{Path: pointer, Keyword: "type", Message: err.Error()}}
	return e
}

// convert converts a JSON value, or a default in a Spicepod, to the carrier of t, with
// all its digits.
func convert(t *engine.Type, value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	if bits, ok := integerBits[t.ID]; ok {
		return convertInteger(t, bits, value)
	}
	switch t.ID {
	case engine.Boolean:
		if b, ok := value.(bool); ok {
			return b, nil
		}
	case engine.Float, engine.Double:
		return convertFloat(t, value)
	case engine.Decimal:
		return convertDecimal(t, value)
	case engine.List:
		if items, ok := value.([]any); ok {
			return convertList(t, items)
		}
	case engine.Struct:
		if members, ok := value.(map[string]any); ok {
			return convertStruct(t, members)
		}
	default:
		if s, ok := value.(string); ok {
			return convertText(t, s)
		}
	}
	return nil, wrong(t, value)
}

func wrong(t *engine.Type, value any) error {
	shown, err := json.Marshal(value)
	if err != nil {
		shown = fmt.Append(nil, value)
	}
	return fmt.Errorf("%s is not a valid %s", truncate.Ellipsis(strings.ToValidUTF8(string(shown), ""), 60), t)
}

func convertList(t *engine.Type, items []any) (any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		var err error
		if out[i], err = convert(t.Elem, item); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return out, nil
}

func convertStruct(t *engine.Type, members map[string]any) (any, error) {
	out := make(map[string]any, len(t.Fields))
	for _, f := range t.Fields {
		var err error
		if out[f.Name], err = convert(f.Type, members[f.Name]); err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	for name := range members {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("there is no field %q", name)
		}
	}
	return out, nil
}

// integerBits are the sizes of the integers; negative ones have no sign.
var integerBits = map[engine.TypeID]int{
	engine.TinyInt: 8, engine.SmallInt: 16, engine.Integer: 32, engine.BigInt: 64,
	engine.UTinyInt: -8, engine.USmallInt: -16, engine.UInteger: -32, engine.UBigInt: -64,
}

// convertInteger accepts 3, "3", 3.0 and 3e0.
func convertInteger(t *engine.Type, bits int, value any) (any, error) {
	text, ok := numberText(value)
	if !ok {
		return nil, wrong(t, value)
	}
	if strings.Trim(text, "0123456789-") != "" || text == "-0" {
		r := rational(text)
		if r == nil || !r.IsInt() {
			return nil, wrong(t, value)
		}
		text = r.Num().String()
	}
	if bits > 0 {
		n, err := strconv.ParseInt(text, 10, bits)
		return n, outOfRange(t, value, err)
	}
	n, err := strconv.ParseUint(text, 10, -bits)
	if t.ID == engine.UBigInt {
		return text, outOfRange(t, value, err)
	}
	return int64(n), outOfRange(t, value, err)
}

func outOfRange(t *engine.Type, value any, err error) error {
	if err == nil {
		return nil
	}
	return wrong(t, value)
}

// numberText is the text of a number that may be given as text.
func numberText(value any) (string, bool) {
	switch v := value.(type) {
	case json.Number:
		return v.String(), true
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// Limits of the text of a number, so that computing it takes little memory.
const (
	maxNumberText = 128
	maxExponent   = 3 // digits, or two and a sign
)

// rational is the value of a number's text, nil if it is not a number.
func rational(text string) *big.Rat {
	e := strings.IndexAny(text, "eE")
	if len(text) > maxNumberText || strings.Trim(text, "0123456789+-.eE") != "" || e >= 0 && len(text)-e-1 > maxExponent {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// convertDecimal returns text with exactly the scale of t. DuckDB would round.
func convertDecimal(t *engine.Type, value any) (any, error) {
	text, ok := numberText(value)
	if !ok {
		return nil, wrong(t, value)
	}
	r := rational(text)
	if r == nil {
		return nil, wrong(t, value)
	}
	units := new(big.Rat).Mul(r, new(big.Rat).SetInt(power(t.Scale)))
	if !units.IsInt() {
		return nil, fmt.Errorf("%s has more than %d digits after the point", text, t.Scale)
	}
	if units.Num().CmpAbs(power(t.Width)) >= 0 {
		return nil, fmt.Errorf("%s is too large for %s", text, t)
	}
	return r.FloatString(t.Scale), nil
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func convertFloat(t *engine.Type, value any) (any, error) {
	var f float64
	switch v := value.(type) {
	case float64: // a default may be .inf
		f = v
	case json.Number:
		var err error
		if f, err = strconv.ParseFloat(v.String(), 64); err != nil {
			return nil, fmt.Errorf("%.60s is out of the range of %s", v, t)
		}
	default:
		return nil, wrong(t, value)
	}
	if t.ID == engine.Float && !math.IsInf(f, 0) && math.IsInf(float64(float32(f)), 0) {
		return nil, fmt.Errorf("%g is out of the range of %s", f, t)
	}
	return f, nil
}

func convertText(t *engine.Type, s string) (any, error) {
	switch t.ID {
	case engine.Blob:
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, errors.New("it is not base64 text")
		}
		return raw, nil
	case engine.Date:
		return convertDate(t, s)
	case engine.Varchar:
		if !utf8.ValidString(s) {
			return nil, errors.New("text must be UTF-8")
		}
		return s, nil
	}
	return convertTime(t, s)
}

// Dates and times that DuckDB accepts and package time does not: infinite ones and years
// of more than four digits or before 0000.
var (
	longDate = regexp.MustCompile(`^([+-]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}|-?infinity)$`)
	longTime = regexp.MustCompile(`^([+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?Z?|-?infinity)$`)
)

func convertDate(t *engine.Type, s string) (any, error) {
	if _, err := time.Parse(time.DateOnly, s); err != nil && (!longDate.MatchString(s) || len(s) == len(time.DateOnly) && s[0] != '-') {
		return nil, fmt.Errorf("%w; write YYYY-MM-DD", wrong(t, s))
	}
	return strings.TrimPrefix(s, "+"), nil
}

// timeLayouts are the accepted forms of a time, the usual ones first.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime,
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// convertTime returns the time in UTC; a time without an offset is UTC. DuckDB drops the
// offset for some types and uses its own zone for others.
func convertTime(t *engine.Type, s string) (any, error) {
	zone := ""
	if t.ID == engine.TimestampTZ {
		zone = "Z"
	}
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, s); err == nil && at.UTC().Year() >= 0 && at.UTC().Year() <= 9999 {
			return at.UTC().Format("2006-01-02 15:04:05.999999999") + zone, nil
		}
	}
	if !longTime.MatchString(s) || s[0] >= '0' && s[0] <= '9' && strings.IndexByte(s, '-') == 4 {
		return nil, fmt.Errorf("%w; write YYYY-MM-DDThh:mm:ssZ", wrong(t, s))
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "+"), "Z")
	if strings.HasSuffix(s, "infinity") {
		return s, nil
	}
	return s + zone, nil
}
