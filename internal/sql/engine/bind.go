package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// Params are the parameters of a statement: by position, for ? and $1, or by
// name, for $name and :name. Values are nil, bool, int64, uint64, float64, string,
// json.Number, []byte, []any, map[string]any, or of a type of package value. An
// integral json.Number becomes the smallest of BIGINT, HUGEINT and DOUBLE that holds
// it, all its digits included; text is parsed where DuckDB knows the parameter to be a date, time or number.
type Params struct {
	Positional []any
	Named      map[string]any
}

const maxParamDepth = 32 // lists in lists

// bind binds the parameters of s: all of them, and no others.
func (s *stmt) bind(p Params) error {
	if err := s.checkParams(p); err != nil {
		return err
	}
	for i, d := range s.params {
		given, ok := p.Named[d.name]
		if !ok {
			given = p.Positional[i]
		}
		v, err := exactValue(given, d.typ)
		if err != nil {
			return NewError(errcode.Argument, "", "parameter $%s: %s", d.name, err)
		}
		if v.Ptr == nil { // DuckDB would crash
			return NewError(errcode.Argument, "", "parameter $%s: DuckDB cannot represent its value", d.name)
		}
		state := mapping.BindValue(s.raw, mapping.IdxT(i+1), v)
		mapping.DestroyValue(&v)
		if state != mapping.StateSuccess {
			return NewError(errcode.Argument, "", "parameter $%s cannot be bound", d.name)
		}
	}
	return nil
}

func (s *stmt) checkParams(p Params) error {
	if len(p.Named) > 0 && len(p.Positional) > 0 {
		return NewError(errcode.Argument, "", "give parameters by position or by name, not both")
	}
	if p.Named == nil {
		if len(p.Positional) != len(s.params) {
			return NewError(errcode.Argument, "bind one value for each parameter", "the statement has %s, got %d",
				plural.Of(len(s.params), "parameter"), len(p.Positional))
		}
		return s.checkPositions()
	}
	for _, d := range s.params {
		if _, ok := p.Named[d.name]; !ok {
			return NewError(errcode.Argument, fmt.Sprintf("add %q to parameters", d.name), "parameter $%s has no value", d.name)
		}
	}
	for name := range p.Named {
		if !slices.ContainsFunc(s.params, func(d param) bool { return d.name == name }) {
			return NewError(errcode.Argument, "", "the statement has no parameter $%s", name)
		}
	}
	return nil
}

// checkPositions refuses positional values for named parameters: their order
// would be a guess.
func (s *stmt) checkPositions() error {
	for _, d := range s.params {
		if _, err := strconv.Atoi(d.name); err != nil {
			return NewError(errcode.Argument, "give parameters as an object", "parameter $%s is named", d.name)
		}
	}
	return nil
}

// toValue makes a DuckDB value; t is the type that DuckDB expects, nil when it is
// not known yet.
func toValue(given any, t *Type, depth int) (mapping.Value, error) {
	if depth > maxParamDepth {
		return mapping.Value{}, fmt.Errorf("nested deeper than %d", maxParamDepth)
	}
	switch v := given.(type) {
	case nil:
		return mapping.CreateNullValue(), nil
	case bool:
		return mapping.CreateBool(v), nil
	case int64:
		return mapping.CreateInt64(v), nil
	case int:
		return mapping.CreateInt64(int64(v)), nil
	case uint64:
		return mapping.CreateUInt64(v), nil
	case float64:
		return mapping.CreateDouble(v), nil
	case json.Number:
		return numberValue(v.String(), t)
	case value.Numeric:
		return numericValue(v, t)
	case string:
		if !utf8.ValidString(v) {
			return mapping.Value{}, fmt.Errorf("text must be UTF-8")
		}
		return textValue(v, t)
	case []byte:
		return mapping.CreateBlob(v), nil
	case []any:
		return listValue(v, t, depth)
	case map[string]any:
		return structValue(v, t, depth)
	case value.Map:
		return mapValue(v, t, depth)
	}
	return timeValue(castable(given, t))
}

// castable converts a time to a type that DuckDB can cast to t.
func castable(given any, t *Type) any {
	if t == nil {
		return given
	}
	switch v := given.(type) {
	case value.TimestampNS:
		if t.ID == TimestampS || t.ID == TimestampMS || t.ID == TimeTZ {
			return value.Timestamp(value.Micros(int64(v), 1_000_000_000))
		}
	case value.TimeNS:
		if t.ID == TimeTZ || t.ID == Interval {
			return castable(value.Time(v/1000), t)
		}
	case value.Time:
		switch t.ID {
		case TimeNS:
			return value.TimeNS(v * 1000)
		case Interval:
			return value.Interval{Micros: int64(v)}
		}
	}
	return given
}

// timeValue makes a date, a time or an interval.
func timeValue(given any) (mapping.Value, error) {
	if err := checkTime(given); err != nil {
		return mapping.Value{}, err
	}
	switch v := given.(type) {
	case value.Date:
		return mapping.CreateDate(mapping.NewDate(int32(v))), nil
	case value.Timestamp:
		return mapping.CreateTimestamp(mapping.NewTimestamp(int64(v))), nil
	case value.TimestampTZ:
		return mapping.CreateTimestampTZ(mapping.NewTimestamp(int64(v))), nil
	case value.TimestampNS:
		return mapping.CreateTimestampNS(mapping.NewTimestampNS(int64(v))), nil
	case value.Interval:
		return mapping.CreateInterval(mapping.NewInterval(v.Months, v.Days, v.Micros)), nil
	case value.Time:
		return mapping.CreateTime(mapping.NewTime(int64(v))), nil
	case value.TimeNS:
		return mapping.CreateTimeNS(mapping.NewTimeNS(int64(v))), nil
	case value.TimeTZ:
		return mapping.CreateTimeTZValue(mapping.CreateTimeTZ(int64(v.Time), v.Offset)), nil
	}
	return mapping.Value{}, fmt.Errorf("values of Go type %T are not supported", given)
}

// checkTime returns an error for a time that is out of range. DuckDB does not check the
// values that it is given, and writes outside of a buffer when it makes texts of them.
func checkTime(given any) error {
	if clock, ok := given.(interface{ Check() error }); ok {
		return clock.Check()
	}
	return nil
}

func numberValue(s string, t *Type) (mapping.Value, error) {
	if t != nil && t.ID == Decimal {
		if d, err := decimalValue(s, t); err == nil {
			return d, nil
		}
	}
	if len(s) > value.MaxNumber {
		return mapping.Value{}, fmt.Errorf("%.40q… is not a number in range", s)
	}
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && (t == nil || t.ID != UHugeInt) {
			return mapping.CreateInt64(n), nil
		}
		if n, ok := new(big.Int).SetString(s, 10); ok {
			h, fits := value.NewInt128(n)
			if t != nil && t.ID == UHugeInt && n.Sign() >= 0 && n.BitLen() <= 128 {
				return mapping.CreateUHugeInt(mapping.NewUHugeInt(h.Low, uint64(h.High))), nil
			}
			if fits {
				return mapping.CreateHugeInt(mapping.NewHugeInt(h.Low, h.High)), nil
			}
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return mapping.Value{}, fmt.Errorf("%q is not a number in range", s)
	}
	return mapping.CreateDouble(f), nil
}

// exactDigits is how many digits a DOUBLE shows of every number.
const exactDigits = 17

// numericValue keeps all digits: a number that has more of them than the type that DuckDB
// expects is a DECIMAL with its own digits, so that DuckDB compares it exactly and rounds it
// where it is stored. Only one with more digits than a DECIMAL has is rounded here.
func numericValue(n value.Numeric, t *Type) (mapping.Value, error) {
	if t != nil && (t.ID == Double || t.ID == Float) {
		return numberValue(string(n), t)
	}
	if t != nil && t.ID == Decimal {
		if d, err := decimalValue(string(n), t); err == nil {
			return d, nil
		}
	}
	if width, scale, ok := n.Size(); ok {
		return decimalValue(string(n), &Type{ID: Decimal, Width: width, Scale: scale})
	}
	switch r, ok := value.Rational(string(n)); {
	case !ok:
	case r.IsInt():
		if _, fits := value.NewInt128(r.Num()); fits {
			return numberValue(r.Num().String(), t)
		}
	case t == nil && n.Digits() > exactDigits:
		return mapping.Value{},
			fmt.Errorf("a number of %d digits, which no type has: send it as text, and write a cast to the DECIMAL to which "+
				"it is rounded", n.Digits())
	case t == nil:
	case t.ID == Decimal:
		d, err := value.RoundDecimal(string(n), t.Width, t.Scale)
		if err != nil {
			return mapping.Value{}, err
		}
		return newDecimal(d, t), nil
	default:
		return numberValue(r.FloatString(0), t)
	}
	return numberValue(string(n), t)
}

// decimalValue parses s exactly, or fails when t cannot hold it.
func decimalValue(s string, t *Type) (mapping.Value, error) {
	n, err := value.ParseDecimal(s, t.Width, t.Scale)
	if err != nil {
		return mapping.Value{}, err
	}
	return newDecimal(n, t), nil
}

func newDecimal(n value.Int128, t *Type) mapping.Value {
	return mapping.CreateDecimal(mapping.NewDecimal(uint8(t.Width), uint8(t.Scale), mapping.NewHugeInt(n.Low, n.High)))
}

// textValue makes a text, or the date, time or number that t requires.
func textValue(s string, t *Type) (mapping.Value, error) {
	if t == nil {
		return mapping.CreateVarchar(s), nil
	}
	switch t.ID {
	case Date:
		if d, ok := value.ParseDate(s); ok {
			return timeValue(d)
		}
	case Timestamp, TimestampS, TimestampMS:
		if at, ok := value.ParseTimestamp(s); ok {
			return timeValue(value.Timestamp(at))
		}
	case TimestampTZ:
		if at, ok := value.ParseTimestamp(s); ok {
			return timeValue(value.TimestampTZ(at))
		}
	case Interval:
		if v, ok := value.ParseInterval(s); ok {
			return timeValue(v)
		}
	case Decimal:
		return decimalValue(s, t)
	case HugeInt, UHugeInt, BigInt, Integer, SmallInt, TinyInt, UBigInt, UInteger, USmallInt, UTinyInt, Double, Float:
		return numberValue(s, t)
	}
	return mapping.CreateVarchar(s), nil
}

func listValue(items []any, t *Type, depth int) (mapping.Value, error) {
	var elem *Type
	if t != nil {
		elem = t.Elem
	}
	values := make([]mapping.Value, 0, len(items))
	defer func() { destroyValues(values) }()
	for i, item := range items {
		v, err := toValue(item, elem, depth+1)
		if err != nil {
			return mapping.Value{}, fmt.Errorf("element %d: %w", i, err)
		}
		values = append(values, v)
	}
	common := &Type{ID: Null}
	for _, v := range values {
		if common = merge(common, readType(mapping.GetValueType(v))); common != nil {
			continue
		}
		if elem != nil { // only DuckDB can parse some texts, such as infinity: pass all as text
			return listValue(items, nil, depth)
		}
		return mapping.Value{}, fmt.Errorf("the elements of a list must have one type")
	}
	if elem != nil && common.ID == Null && (simpleNames[elem.ID] != "" || elem.ID == Decimal) {
		common = elem // otherwise DuckDB, which expects that type, plans again
	}
	lt := common.logical()
	defer mapping.DestroyLogicalType(&lt)
	return mapping.CreateListValue(lt, values), nil
}

// merge returns the type that holds values of both, or nil: the wider of two
// numbers, and the same for the members of lists and structs.
func merge(a, b *Type) *Type {
	numbers := []TypeID{BigInt, HugeInt, Double}
	i, j := slices.Index(numbers, a.ID), slices.Index(numbers, b.ID)
	switch {
	case a.ID == Null:
		return b
	case b.ID == Null:
		return a
	case a.ID == Decimal && (j >= 0 || b.ID == Decimal), b.ID == Decimal && i >= 0:
		return mergeDecimals(a, b)
	case i >= 0 && j >= 0:
		return &Type{ID: numbers[max(i, j)]}
	case a.ID != b.ID:
		return nil
	case a.ID == List || a.ID == Map: // the elements of a MAP are structs
		if elem := merge(a.Elem, b.Elem); elem != nil {
			return &Type{ID: a.ID, Elem: elem}
		}
		return nil
	case a.ID == Struct:
		return mergeStructs(a, b)
	}
	return a
}

// mergeDecimals returns the DECIMAL that holds numbers of two types, at least one
// of them a DECIMAL, or DOUBLE when none does.
func mergeDecimals(a, b *Type) *Type {
	whole, scale := 0, 0
	for _, t := range []*Type{a, b} {
		switch t.ID {
		case Decimal:
			whole, scale = max(whole, t.Width-t.Scale), max(scale, t.Scale)
		case BigInt:
			whole = max(whole, 19)
		default:
			return &Type{ID: Double}
		}
	}
	if whole+scale > value.MaxDigits {
		return &Type{ID: Double}
	}
	return &Type{ID: Decimal, Width: whole + scale, Scale: scale}
}

func mergeStructs(a, b *Type) *Type {
	if len(a.Fields) != len(b.Fields) {
		return nil
	}
	out := &Type{ID: Struct}
	for i, f := range a.Fields {
		t := merge(f.Type, b.Fields[i].Type)
		if f.Name != b.Fields[i].Name || t == nil {
			return nil
		}
		out.Fields = append(out.Fields, Field{f.Name, t})
	}
	return out
}

func structValue(fields map[string]any, t *Type, depth int) (mapping.Value, error) {
	names := slices.Sorted(maps.Keys(fields))
	if err := checkFields(names); err != nil {
		return mapping.Value{}, err
	}
	values := make([]mapping.Value, 0, len(names))
	defer func() { destroyValues(values) }()
	own := &Type{ID: Struct}
	for _, name := range names {
		v, err := toValue(fields[name], fieldType(t, name), depth+1)
		if err != nil {
			return mapping.Value{}, fmt.Errorf("field %q: %w", name, err)
		}
		values = append(values, v)
		own.Fields = append(own.Fields, Field{name, readType(mapping.GetValueType(v))})
	}
	lt := own.logical()
	defer mapping.DestroyLogicalType(&lt)
	return mapping.CreateStructValue(lt, values), nil
}

// checkFields refuses fields that no STRUCT can have; DuckDB would end the process.
func checkFields(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("an object needs at least one field")
	}
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
			return fmt.Errorf("%q is not a valid field name", name)
		}
		if seen[sqltree.Fold(name)] {
			return fmt.Errorf("field %q is given twice: field names are case-insensitive", name)
		}
		seen[sqltree.Fold(name)] = true
	}
	return nil
}

func fieldType(t *Type, name string) *Type {
	if t != nil {
		for _, f := range t.Fields {
			if f.Name == name {
				return f.Type
			}
		}
	}
	return nil
}

func destroyValues(values []mapping.Value) {
	for i := range values {
		mapping.DestroyValue(&values[i])
	}
}
