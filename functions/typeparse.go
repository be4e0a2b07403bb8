package functions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/types"
)

// ParseType parses a type by any of the names of package types: those of SQL and DuckDB
// (bigint, DECIMAL(10,2), INTEGER[], STRUCT(a INTEGER)), those of Spice (int64,
// list<utf8>, struct<a:int64>) and Arrow's display form (Int64, List(Utf8),
// Timestamp(Microsecond, Some("UTC"))). It ignores case and outer white space. An error
// is a [*TypeError].
func ParseType(text string) (*Type, error) {
	if len(text) > MaxTypeText {
		return nil, &TypeError{fmt.Sprintf("a type of %d bytes is too long; the limit is %d", len(text), MaxTypeText), ""}
	}
	t, err := parseType(text, 0)
	if err == nil {
		return t, nil
	}
	reason, hint := "", typesPage
	switch e := err.(type) {
	case unknownType:
		if word := string(e); word != "" && !strings.EqualFold(word, strings.TrimSpace(text)) {
			reason = fmt.Sprintf(": there is no type %q", word)
		}
		if near := nearest.Hint(string(e), types.Words(), ""); near != "" {
			hint = near + " " + typesPage
		}
	default:
		reason = ": " + err.Error()
	}
	return nil, &TypeError{fmt.Sprintf("unsupported or invalid Arrow type '%s' for SQL UDF signature%s. Use "+
		"Arrow display types like "+
		"`Int64`, `List(Int64)`, `Struct(\"name\": Utf8)`, or Spicepod aliases like `int64`, `list<int64>`, "+
		"`struct<name:utf8>`, `decimal(38,10)`.", text, reason), hint}
}

// typesPage says where the types are documented.
const typesPage = "docs/types.md lists the types"

// TypeError is the error of a text that is not a type.
type TypeError struct{ Message, Hint string }

// Error returns the message.
func (e *TypeError) Error() string { return e.Message }

// unknownType is the word that should be a type.
type unknownType string

func (e unknownType) Error() string { return fmt.Sprintf("there is no type %q", string(e)) }

// typeError is an error about a type.
type typeError string

func (e typeError) Error() string { return string(e) }

// unusable are DuckDB's types that are neither arguments nor results.
var unusable = map[string]string{
	"null": "it has no values", `"null"`: "it has no values", "bignum": "write varchar", "varint": "write varchar",
	"geometry": "write varchar", "variant": "write json", "type": "write varchar",
}

func parseType(text string, depth int) (*Type, error) {
	text = strings.TrimSpace(text)
	if depth > MaxTypeDepth {
		return nil, typeError(fmt.Sprintf("nested deeper than %d", MaxTypeDepth))
	}
	if strings.HasSuffix(text, "]") {
		return suffixed(text, depth)
	}
	end := strings.IndexAny(text, "<(")
	if end < 0 {
		return plainType(text, depth)
	}
	head, rest := wordsOf(text[:end]), strings.TrimSpace(text[end:])
	if inner, ok := displayed(head, depth); ok {
		return parseType(strings.TrimSpace(inner+rest), depth+1)
	}
	form := types.Form(head)
	if form == nil {
		return nil, unknownType(head)
	}
	inner, ok := unwrap(rest)
	if !ok {
		return nil, unknownType(text)
	}
	t, err := formed(form, head, inner, rest[0] == '<', depth)
	if err != nil {
		return nil, err
	}
	t.text = text
	return t, nil
}

// wordsOf is text in lower case, with single spaces.
func wordsOf(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// displayed removes the word that newer versions of Arrow display inside lists and structs.
func displayed(head string, depth int) (string, bool) {
	if depth == 0 {
		return "", false
	}
	for _, word := range []string{"nullable ", "non-null "} {
		if inner, ok := strings.CutPrefix(head, word); ok {
			return inner, true
		}
	}
	return "", false
}

// plainType is a type without parameters.
func plainType(text string, depth int) (*Type, error) {
	name := wordsOf(text)
	if inner, ok := displayed(name, depth); ok {
		return parseType(inner, depth+1)
	}
	if info := types.Named(name); info != nil {
		t := simpleType(&info.Type, types.Spellings[name])
		t.text = text
		return t, nil
	}
	if why, ok := unusable[name]; ok {
		return nil, typeError(fmt.Sprintf("values of the type %s can be neither arguments nor results; %s",
			strings.ToUpper(strings.Trim(name, `"`)), why))
	}
	if form := types.Form(name); form != nil {
		return nil, typeError("it needs parameters; write " + form.Form)
	}
	return nil, unknownType(name)
}

// suffixed parses int64[] and int64[3].
func suffixed(text string, depth int) (*Type, error) {
	open := strings.LastIndexByte(text, '[')
	if open < 0 {
		return nil, unknownType(text)
	}
	size := strings.TrimSpace(text[open+1 : len(text)-1])
	var t *Type
	var err error
	if size == "" {
		t, err = listType("List", text[:open], depth)
	} else {
		t, err = arrayType(text[:open], size, depth)
	}
	if err != nil {
		return nil, err
	}
	t.text = text
	return t, nil
}

// formed is a type with the parameters inner.
func formed(form *types.Info, head, inner string, angled bool, depth int) (*Type, error) {
	switch form.Type.ID {
	case engine.List:
		name := "List"
		if strings.HasPrefix(head, "large") {
			name = "LargeList"
		}
		return listType(name, inner, depth)
	case engine.Array:
		size, elem, ok := strings.Cut(inner, " x ") // as Arrow displays it
		if !ok {
			at := max(strings.LastIndexByte(inner, ','), 0)
			elem, size = inner[:at], strings.Trim(inner[at:], ", ")
		}
		return arrayType(elem, strings.TrimSpace(size), depth)
	case engine.Struct:
		return structType(inner, depth)
	case engine.Union:
		return unionType(inner, depth)
	case engine.Map:
		return mapType(inner, depth)
	case engine.Enum:
		return enumType(inner, depth)
	}
	if angled {
		return nil, unknownType(head + "<" + inner + ">")
	}
	switch form.Type.ID {
	case engine.Decimal:
		return decimalType(head, inner)
	case engine.Timestamp:
		return timestampType(inner)
	case engine.Time:
		return timeType(head, inner)
	case engine.Varchar: // the length has no effect, as in DuckDB
		if _, err := strconv.ParseUint(strings.TrimSpace(inner), 10, 31); err != nil {
			return nil, unknownType(head + "(" + inner + ")")
		}
	}
	return simpleType(&engine.Type{ID: form.Type.ID}, ""), nil
}

// unwrap returns the text between the brackets that enclose all of s.
func unwrap(s string) (string, bool) {
	if len(s) < 2 || s[0] != '<' && s[0] != '(' {
		return "", false
	}
	end := -1
	ok := scanTop(s[1:], func(i int, c byte) bool {
		end = i + 1
		return false
	}, ">)")
	closer := byte('>')
	if s[0] == '(' {
		closer = ')'
	}
	return s[1:max(end, 1)], ok && end == len(s)-1 && s[end] == closer
}

// scanTop calls f at every byte of stops that is outside brackets and quotes, until f
// returns false. It reports false for unbalanced brackets.
func scanTop(s string, f func(i int, c byte) bool, stops string) bool {
	var open []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if len(open) == 0 && strings.IndexByte(stops, c) >= 0 {
			if !f(i, c) {
				return true
			}
			continue
		}
		switch c {
		case '"', '\'', '`':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 {
				return false
			}
			i += n + 1
		case '<':
			open = append(open, '>')
		case '(':
			open = append(open, ')')
		case '>', ')':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

// splitTop splits s at every sep outside brackets and quotes.
func splitTop(s string, sep byte) ([]string, bool) {
	var parts []string
	last := 0
	ok := scanTop(s, func(i int, _ byte) bool {
		parts = append(parts, s[last:i])
		last = i + 1
		return true
	}, string(sep))
	return append(parts, s[last:]), ok
}

func listType(name, inner string, depth int) (*Type, error) {
	elem, err := parseType(inner, depth+1)
	if err != nil {
		return nil, err
	}
	return &Type{
		arrow: name + "(" + elem.arrow + ")", kind: kindList, elem: elem,
		duck: &engine.Type{ID: engine.List, Elem: elem.duck},
	}, nil
}

// maxArray is DuckDB's limit of the elements of an array.
const maxArray = 100_000

func arrayType(inner, size string, depth int) (*Type, error) {
	elem, err := parseType(inner, depth+1)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 || n > maxArray {
		return nil, typeError(fmt.Sprintf("the size of an array must be 1 to %d", maxArray))
	}
	duck := &engine.Type{ID: engine.Array, Elem: elem.duck, Size: n}
	return &Type{arrow: "FixedSizeList(" + size + " x " + elem.arrow + ")", kind: kindList, elem: elem, duck: duck}, nil
}

func structType(inner string, depth int) (*Type, error) {
	fields, err := members(inner, depth, "a struct", "a field")
	if err != nil {
		return nil, err
	}
	return &Type{
		kind: kindStruct, fields: fields, duck: &engine.Type{ID: engine.Struct, Fields: duckFields(fields)},
		arrow: structName(fields),
	}, nil
}

// maxTags is DuckDB's limit of the members of a union.
const maxTags = 256

func unionType(inner string, depth int) (*Type, error) {
	fields, err := members(inner, depth, "a union", "a member")
	if err != nil {
		return nil, err
	}
	if len(fields) > maxTags {
		return nil, typeError(fmt.Sprintf("a union has at most %d members", maxTags))
	}
	duck := &engine.Type{ID: engine.Union, Fields: duckFields(fields)}
	return &Type{kind: kindUnion, fields: fields, duck: duck, arrow: duck.String()}, nil
}

func duckFields(fields []field) []engine.Field {
	out := make([]engine.Field, len(fields))
	for i, f := range fields {
		out[i] = engine.Field{Name: f.name, Type: f.typ.duck}
	}
	return out
}

func mapType(inner string, depth int) (*Type, error) {
	parts, ok := splitTop(inner, ',')
	if !ok || len(parts) != 2 {
		return nil, typeError("a map needs the types of its keys and its values; write map<utf8, int64>")
	}
	key, err := parseType(parts[0], depth+1)
	if err != nil {
		return nil, err
	}
	switch key.kind {
	case kindList, kindStruct, kindMap, kindUnion, kindJSON, kindBinary:
		return nil, typeError(fmt.Sprintf("the keys of a map cannot be of type %s: they are the names of a JSON object", key))
	}
	value, err := parseType(parts[1], depth+1)
	if err != nil {
		return nil, err
	}
	entry := &engine.Type{
		ID:     engine.Struct,
		Fields: []engine.Field{{Name: "key", Type: key.duck}, {Name: "value", Type: value.duck}},
	}
	return &Type{
		kind: kindMap, fields: []field{{"key", key}, {"value", value}}, arrow: "Map(" + key.arrow + ", " + value.arrow + ")",
		duck: &engine.Type{ID: engine.Map, Elem: entry},
	}, nil
}

// enumType parses the values of an enum, each in quotes. Inside another type it is VARCHAR
// to DuckDB, which cannot serialize a statement with the type otherwise.
func enumType(inner string, depth int) (*Type, error) {
	parts, ok := splitTop(inner, ',')
	if !ok {
		return nil, unknownType("enum(" + inner + ")")
	}
	t := &engine.Type{ID: engine.Enum}
	for _, part := range parts {
		value, quoted := unquote(strings.TrimSpace(part))
		switch {
		case !quoted:
			return nil, typeError("the values of an enum must be in quotes; write enum('low', 'high')")
		case slices.Contains(t.Values, value):
			return nil, typeError(fmt.Sprintf("the value %q occurs twice", value))
		case strings.ContainsRune(value, 0):
			return nil, typeError("a value has a NUL byte")
		}
		t.Values = append(t.Values, value)
	}
	values := t.Values
	if depth > 0 {
		t = &engine.Type{ID: engine.Varchar}
	}
	enum := simpleType(t, "")
	enum.values = values
	return enum, nil
}

// members parses the fields of a struct or the members of a union.
func members(inner string, depth int, of, one string) ([]field, error) {
	if strings.TrimSpace(inner) == "" {
		return nil, typeError("DuckDB has no " + strings.TrimPrefix(of, "a ") + " without fields")
	}
	parts, ok := splitTop(inner, ',')
	if !ok {
		return nil, unknownType(inner)
	}
	var fields []field
	for _, part := range parts {
		f, err := member(part, depth, one)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(fields, func(g field) bool { return strings.EqualFold(g.name, f.name) }) {
			return nil, typeError(fmt.Sprintf("field %q occurs twice", f.name))
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// member parses name:type or name type, the name bare or in any of three quotes.
func member(text string, depth int, one string) (field, error) {
	text = strings.TrimSpace(text)
	at := -1
	ok := scanTop(text, func(i int, _ byte) bool { at = i; return false }, ":")
	if at < 0 {
		ok = scanTop(text, func(i int, _ byte) bool { at = i; return false }, " \t\r\n")
	}
	switch {
	case !ok:
		return field{}, unknownType(text)
	case at < 0:
		return field{}, typeError(fmt.Sprintf("%s has no name or no type: %s", one, truncate.Ellipsis(text, 60)))
	}
	name := strings.TrimSpace(text[:at])
	if bare, quoted := unquote(name); quoted {
		name = bare
	}
	if name == "" || strings.ContainsRune(name, 0) {
		return field{}, typeError(one + " has no name")
	}
	typ, err := parseType(text[at+1:], depth+1)
	return field{name, typ}, err
}

// unquote returns the text in any of three quotes; a doubled quote is an escaped quote.
func unquote(text string) (string, bool) {
	n := len(text)
	if n < 2 || strings.IndexByte("\"'`", text[0]) < 0 || text[n-1] != text[0] {
		return text, false
	}
	quote := text[:1]
	return strings.ReplaceAll(text[1:n-1], quote+quote, quote), true
}

func structName(fields []field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = strconv.Quote(f.name) + ": " + f.typ.arrow
	}
	return "Struct(" + strings.Join(parts, ", ") + ")"
}
