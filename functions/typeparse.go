package functions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// ParseType parses a type in Spice's spelling (int64, list<utf8>, struct<a:int64>,
// decimal(10,2), timestamp(us, UTC)) or in Arrow's display form (Int64, List(Utf8),
// Decimal128(10, 2), Timestamp(Microsecond, Some("UTC"))). It ignores case and outer
// white space.
func ParseType(text string) (*Type, error) {
	if len(text) > MaxTypeText {
		return nil, fmt.Errorf("a type of %d bytes is too long; the limit is %d", len(text), MaxTypeText)
	}
	t, err := parseType(text, 0)
	if err != nil {
		return nil, typeError(fmt.Sprintf("unsupported or invalid Arrow type '%s' for SQL UDF signature%s. Use Arrow display types like "+
			"`Int64`, `List(Int64)`, `Struct(\"name\": Utf8)`, or Spicepod aliases like `int64`, `list<int64>`, "+
			"`struct<name:utf8>`, `decimal(38,10)`.", text, reasonOf(err)))
	}
	return t, nil
}

// typeError is an error about a type; as a reason, "" means unknown type.
type typeError string

func (e typeError) Error() string { return string(e) }

const errUnknownType = typeError("")

func reasonOf(err error) string {
	if err == errUnknownType {
		return ""
	}
	return ": " + err.Error()
}

func parseType(text string, depth int) (*Type, error) {
	text = strings.TrimSpace(text)
	if depth > MaxTypeDepth {
		return nil, typeError(fmt.Sprintf("nested deeper than %d", MaxTypeDepth))
	}
	end := strings.IndexAny(text, "<( \t\n\r")
	if end < 0 {
		if s, ok := scalars[strings.ToLower(text)]; ok {
			return &Type{text: text, arrow: s.arrow, duck: &engine.Type{ID: s.id}, kind: s.kind}, nil
		}
		return nil, errUnknownType
	}
	head, rest := strings.ToLower(text[:end]), strings.TrimSpace(text[end:])
	if depth > 0 && (head == "nullable" || head == "non-null") { // newer Arrow displays it inside lists and structs
		return parseType(rest, depth+1)
	}
	inner, ok := unwrap(rest)
	if !ok {
		return nil, errUnknownType
	}
	angled := rest[0] == '<'
	var t *Type
	var err error
	switch head {
	case "list":
		t, err = listType("List", inner, depth)
	case "large_list", "largelist":
		t, err = listType("LargeList", inner, depth)
	case "struct":
		t, err = structType(inner, depth)
	case "decimal", "decimal128", "decimal256":
		t, err = decimalType(head, inner, angled)
	case "timestamp":
		t, err = timestampType(inner, angled)
	default:
		return nil, errUnknownType
	}
	if err != nil {
		return nil, err
	}
	t.text = text
	return t, nil
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

func structType(inner string, depth int) (*Type, error) {
	if strings.TrimSpace(inner) == "" {
		return nil, typeError("DuckDB has no struct without fields")
	}
	parts, ok := splitTop(inner, ',')
	if !ok {
		return nil, errUnknownType
	}
	t := &Type{kind: kindStruct, duck: &engine.Type{ID: engine.Struct}}
	for _, part := range parts {
		f, err := structField(part, depth)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(t.fields, func(g field) bool { return strings.EqualFold(g.name, f.name) }) {
			return nil, typeError(fmt.Sprintf("field %q occurs twice", f.name))
		}
		t.fields = append(t.fields, f)
		t.duck.Fields = append(t.duck.Fields, engine.Field{Name: f.name, Type: f.typ.duck})
	}
	t.arrow = structName(t.fields)
	return t, nil
}

// structField parses name:type, the name bare or in any of three quotes.
func structField(text string, depth int) (field, error) {
	colon := -1
	ok := scanTop(text, func(i int, _ byte) bool { colon = i; return false }, ":")
	if !ok || colon < 0 {
		return field{}, errUnknownType
	}
	name := strings.TrimSpace(text[:colon])
	if n := len(name); n >= 2 && strings.IndexByte("\"'`", name[0]) >= 0 && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	if name == "" || strings.ContainsRune(name, 0) {
		return field{}, typeError("a field has no name")
	}
	typ, err := parseType(text[colon+1:], depth+1)
	return field{name, typ}, err
}

func structName(fields []field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = strconv.Quote(f.name) + ": " + f.typ.arrow
	}
	return "Struct(" + strings.Join(parts, ", ") + ")"
}

// maxDigits is the width of DuckDB's largest DECIMAL.
const maxDigits = 38

func decimalType(head, inner string, angled bool) (*Type, error) {
	precision, scale, ok := strings.Cut(inner, ",")
	p, err1 := strconv.Atoi(strings.TrimSpace(precision))
	s, err2 := strconv.Atoi(strings.TrimSpace(scale))
	switch {
	case angled || !ok || err1 != nil || err2 != nil || p < 1 || s < 0:
		return nil, errUnknownType
	case p > maxDigits:
		return nil, typeError(fmt.Sprintf("DuckDB's decimals have at most %d digits", maxDigits))
	case s > p:
		return nil, typeError("the scale is larger than the precision")
	}
	name := "Decimal128"
	if head == "decimal256" {
		name = "Decimal256"
	}
	return &Type{arrow: decimalName(name, p, s), kind: kindDecimal, duck: &engine.Type{ID: engine.Decimal, Width: p, Scale: s}}, nil
}

func decimalName(name string, width, scale int) string {
	return fmt.Sprintf("%s(%d, %d)", name, width, scale)
}

func timestampType(inner string, angled bool) (*Type, error) {
	unit, zone, hasZone := strings.Cut(inner, ",")
	u, ok := timeUnits[strings.ToLower(strings.TrimSpace(unit))]
	if angled || !ok {
		return nil, errUnknownType
	}
	zone, err := timeZone(zone, hasZone)
	if err != nil {
		return nil, err
	}
	if zone == "" {
		return &Type{arrow: "Timestamp(" + u.arrow + ", None)", kind: kindTimestamp, duck: &engine.Type{ID: u.id}}, nil
	}
	return &Type{
		arrow: fmt.Sprintf("Timestamp(%s, Some(%q))", u.arrow, zone), kind: kindInstant,
		duck: &engine.Type{ID: engine.TimestampTZ},
	}, nil
}

// timeZone reads a zone: UTC, "UTC", Some("UTC"), or none.
func timeZone(text string, written bool) (string, error) {
	text = strings.TrimSpace(text)
	if !written || strings.EqualFold(text, "none") {
		return "", nil
	}
	if len(text) > 6 && strings.EqualFold(text[:5], "some(") && text[len(text)-1] == ')' {
		text = strings.TrimSpace(text[5 : len(text)-1])
	}
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		text = text[1 : n-1]
	}
	if text == "" || strings.ContainsAny(text, "()<>,\"'") {
		return "", errUnknownType
	}
	return text, nil
}
