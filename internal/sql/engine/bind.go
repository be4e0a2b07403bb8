package engine

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Params are the parameters of a statement: by position, for ? and $1, or by
// name, for $name and :name. Values are nil, bool, int64, float64, string,
// json.Number, Numeric, []byte, []any or map[string]any. An integral json.Number
// becomes the smallest of BIGINT, HUGEINT and DOUBLE that holds it; text is
// parsed where DuckDB knows the parameter to be a date, time or number.
type Params struct {
	Positional []any
	Named      map[string]any
}

// Numeric is a json.Number that keeps its digits after the point: it becomes the
// narrowest DECIMAL that holds them, if DuckDB expects no other type.
type Numeric string

// Limits of parameters.
const (
	maxParamDepth = 32  // lists in lists
	maxNumber     = 400 // bytes of a number
)

// bind binds the parameters of s: all of them, and no others.
func (s *stmt) bind(p Params) error {
	if err := s.checkParams(p); err != nil {
		return err
	}
	for i, d := range s.params {
		value, ok := p.Named[d.name]
		if !ok {
			value = p.Positional[i]
		}
		v, err := toValue(value, d.typ, 0)
		if err != nil {
			return newError(errcode.Argument, "", "parameter $%s: %s", d.name, err)
		}
		if v.Ptr == nil { // DuckDB would crash
			return newError(errcode.Argument, "", "parameter $%s: DuckDB cannot represent its value", d.name)
		}
		state := mapping.BindValue(s.raw, mapping.IdxT(i+1), v)
		mapping.DestroyValue(&v)
		if state != mapping.StateSuccess {
			return newError(errcode.Argument, "", "parameter $%s cannot be bound", d.name)
		}
	}
	return nil
}

func (s *stmt) checkParams(p Params) error {
	if len(p.Named) > 0 && len(p.Positional) > 0 {
		return newError(errcode.Argument, "", "give parameters by position or by name, not both")
	}
	if p.Named == nil {
		if len(p.Positional) != len(s.params) {
			return newError(errcode.Argument, "", "the statement has %d parameters, got %d", len(s.params), len(p.Positional))
		}
		return s.checkPositions()
	}
	for _, d := range s.params {
		if _, ok := p.Named[d.name]; !ok {
			return newError(errcode.Argument, fmt.Sprintf("add %q to parameters", d.name), "parameter $%s has no value", d.name)
		}
	}
	for name := range p.Named {
		if !slices.ContainsFunc(s.params, func(d param) bool { return d.name == name }) {
			return newError(errcode.Argument, "", "the statement has no parameter $%s", name)
		}
	}
	return nil
}

// checkPositions refuses positional values for named parameters: their order
// would be a guess.
func (s *stmt) checkPositions() error {
	for _, d := range s.params {
		if _, err := strconv.Atoi(d.name); err != nil {
			return newError(errcode.Argument, "give parameters as an object", "parameter $%s is named", d.name)
		}
	}
	return nil
}

// toValue makes a DuckDB value; t is the type that DuckDB expects, nil when it is
// not known yet.
func toValue(value any, t *Type, depth int) (mapping.Value, error) {
	if depth > maxParamDepth {
		return mapping.Value{}, fmt.Errorf("nested deeper than %d", maxParamDepth)
	}
	switch v := value.(type) {
	case nil:
		return mapping.CreateNullValue(), nil
	case bool:
		return mapping.CreateBool(v), nil
	case int64:
		return mapping.CreateInt64(v), nil
	case int:
		return mapping.CreateInt64(int64(v)), nil
	case float64:
		return mapping.CreateDouble(v), nil
	case json.Number:
		return numberValue(v.String(), t)
	case Numeric:
		return numericValue(string(v), t)
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
	}
	return mapping.Value{}, fmt.Errorf("values of Go type %T are not supported", value)
}

func numberValue(s string, t *Type) (mapping.Value, error) {
	if t != nil && t.ID == Decimal {
		if d, err := decimalValue(s, t); err == nil {
			return d, nil
		}
	}
	if len(s) > maxNumber {
		return mapping.Value{}, fmt.Errorf("%.40q… is not a number in range", s)
	}
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return mapping.CreateInt64(n), nil
		}
		if n, ok := new(big.Int).SetString(s, 10); ok && fitsHugeInt(n) {
			return mapping.CreateHugeInt(hugeInt(n)), nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return mapping.Value{}, fmt.Errorf("%q is not a number in range", s)
	}
	return mapping.CreateDouble(f), nil
}

func numericValue(s string, t *Type) (mapping.Value, error) {
	if t != nil && t.ID != Decimal {
		return numberValue(s, t)
	}
	if t != nil {
		if d, err := decimalValue(s, t); err == nil {
			return d, nil
		}
	}
	if own := decimalOf(s); own != nil {
		return decimalValue(s, own)
	}
	return numberValue(s, nil)
}

// maxDigits is the number of digits that a DECIMAL may have.
const maxDigits = 38

// decimalOf returns the DECIMAL with the digits of a number; nil for an integer,
// and for a number with too many digits.
func decimalOf(s string) *Type {
	number, exponent, scientific := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(number, "+-"), ".")
	shift := 0
	if scientific {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || max(shift, -shift) > maxNumber {
			return nil
		}
	}
	scale := max(len(fraction)-shift, 0)
	width := max(len(strings.TrimLeft(whole, "0"))+shift, 0) + scale
	if width > maxDigits || !strings.ContainsAny(s, ".eE") {
		return nil
	}
	return &Type{ID: Decimal, Width: max(width, 1), Scale: scale}
}

// fitsHugeInt reports whether n has at most 127 bits and a sign.
func fitsHugeInt(n *big.Int) bool {
	if n.Sign() < 0 {
		n = new(big.Int).Not(n) // two's complement has one more negative number
	}
	return n.BitLen() <= 127
}

func hugeInt(n *big.Int) mapping.HugeInt {
	low := new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1)).Uint64()
	high := new(big.Int).Rsh(n, 64).Int64()
	return mapping.NewHugeInt(low, high)
}

// decimalValue parses s exactly, or fails when t cannot hold it.
func decimalValue(s string, t *Type) (mapping.Value, error) {
	if len(s) > maxNumber || strings.Trim(s, "0123456789+-.eE") != "" {
		return mapping.Value{}, fmt.Errorf("%.40q is not a number", s)
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return mapping.Value{}, fmt.Errorf("%q is not a number", s)
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)))
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Width)), nil)
	if !r.IsInt() || r.Num().CmpAbs(limit) >= 0 {
		return mapping.Value{}, fmt.Errorf("%s does not fit %s", s, t)
	}
	return mapping.CreateDecimal(mapping.NewDecimal(uint8(t.Width), uint8(t.Scale), hugeInt(r.Num()))), nil
}

// textValue makes a text, or the date, time or number that t requires.
func textValue(s string, t *Type) (mapping.Value, error) {
	if t == nil {
		return mapping.CreateVarchar(s), nil
	}
	switch t.ID {
	case Date:
		if d, err := time.Parse(time.DateOnly, s); err == nil {
			return mapping.CreateDate(mapping.NewDate(int32(d.Unix() / 86400))), nil
		}
	case Timestamp:
		if at, ok := parseTime(s); ok {
			return mapping.CreateTimestamp(mapping.NewTimestamp(at.UnixMicro())), nil
		}
	case TimestampTZ:
		if at, ok := parseTime(s); ok {
			return mapping.CreateTimestampTZ(mapping.NewTimestamp(at.UnixMicro())), nil
		}
	case Decimal:
		return decimalValue(s, t)
	case HugeInt, BigInt, Integer, SmallInt, TinyInt, UBigInt, UInteger, USmallInt, UTinyInt, Double, Float:
		return numberValue(s, t)
	}
	return mapping.CreateVarchar(s), nil
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
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
	if elem != nil && common.ID == Null && simpleNames[elem.ID] != "" {
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
	case a.ID == List:
		if elem := merge(a.Elem, b.Elem); elem != nil {
			return &Type{ID: List, Elem: elem}
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
	if whole+scale > maxDigits {
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
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
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
	if t == nil {
		return nil
	}
	for _, f := range t.Fields {
		if f.Name == name {
			return f.Type
		}
	}
	return nil
}

func destroyValues(values []mapping.Value) {
	for i := range values {
		mapping.DestroyValue(&values[i])
	}
}
