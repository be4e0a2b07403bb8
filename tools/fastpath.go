package tools

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fastPath accepts most valid values of simple schemas, the usual ones of tools,
// without the library, which allocates for every subschema it applies. Values
// that it does not accept are checked by the library.
type fastPath struct {
	types      []string // empty: any
	enum       []string // allowed texts; nil: any
	pattern    jsonschema.Regexp
	min, max   *float64
	properties map[string]*fastPath
	required   []string
	closed     bool
	items      *fastPath
}

// covered are the fields of a compiled schema that the fast path checks or that assert
// nothing.
var covered = []string{
	"DraftVersion", "Location", "Bool", "ID", "Anchor", "Types", "Enum", "Pattern", "Minimum", "Maximum", "Properties",
	"Required",
	"AdditionalProperties", "Items", "Items2020", "Format", "Title", "Description", "Default", "Comment",
	"ReadOnly", "WriteOnly", "Examples", "Deprecated",
}

// newFastPath returns nil for a schema with other keywords.
func newFastPath(s *jsonschema.Schema) *fastPath {
	value := reflect.ValueOf(s).Elem()
	for _, f := range reflect.VisibleFields(value.Type()) {
		if f.IsExported() && !slices.Contains(covered, f.Name) && !value.FieldByIndex(f.Index).IsZero() {
			return nil
		}
	}
	if s.Bool != nil && !*s.Bool {
		return nil
	}
	q := &fastPath{required: s.Required, pattern: s.Pattern}
	if s.Types != nil {
		q.types = s.Types.ToStrings()
	}
	if s.Enum != nil {
		q.enum = append([]string{}, texts(s.Enum.Values)...)
	}
	if s.Minimum != nil {
		f, _ := s.Minimum.Float64()
		q.min = &f
	}
	if s.Maximum != nil {
		f, _ := s.Maximum.Float64()
		q.max = &f
	}
	switch extra := s.AdditionalProperties.(type) {
	case nil:
	case bool:
		q.closed = !extra
	default:
		return nil
	}
	return q.parts(s)
}

// parts adds the schemas of members and items.
func (q *fastPath) parts(s *jsonschema.Schema) *fastPath {
	items := s.Items2020
	switch each := s.Items.(type) {
	case nil:
	case *jsonschema.Schema:
		items = each
	default:
		return nil
	}
	if items != nil {
		if q.items = newFastPath(items); q.items == nil {
			return nil
		}
	}
	for name, p := range s.Properties {
		member := newFastPath(p)
		if member == nil {
			return nil
		}
		if q.properties == nil {
			q.properties = map[string]*fastPath{}
		}
		q.properties[name] = member
	}
	return q
}

// accepts reports whether a value is certainly valid. There are no false
// positives.
func (q *fastPath) accepts(value any) bool { return q != nil && q.accept(value, MaxDepth) }

// accept reports whether a value, with members and items in so many levels, is certainly
// valid. A nil q is the schema of a member or item that has none: any scalar is valid.
func (q *fastPath) accept(value any, depth int) bool {
	if q == nil {
		return scalar(value)
	}
	if text, ok := value.(string); ok {
		if q.enum != nil && !slices.Contains(q.enum, text) {
			return false
		}
		return q.allows("string") && (q.pattern == nil || q.pattern.MatchString(text))
	}
	if q.enum != nil { // of texts
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		return depth > 0 && q.allows("object") && q.acceptMembers(v, depth-1)
	case []any:
		rejected := func(item any) bool { return !q.items.accept(item, depth-1) }
		return depth > 0 && q.allows("array") && !slices.ContainsFunc(v, rejected)
	case json.Number:
		return q.acceptNumber(v)
	case bool:
		return q.allows("boolean")
	case nil:
		return q.allows("null")
	}
	return false
}

func (q *fastPath) acceptMembers(object map[string]any, depth int) bool {
	for _, name := range q.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, member := range object {
		p := q.properties[name]
		if p == nil && q.closed || !p.accept(member, depth) {
			return false
		}
	}
	return true
}

// acceptNumber compares rounded numbers; rounding is monotonic, so only equal
// numbers need the library.
func (q *fastPath) acceptNumber(n json.Number) bool {
	whole := !strings.ContainsAny(string(n), ".eE")
	if !computable(n) || !q.allows("number") && !(whole && q.allows("integer")) {
		return false
	}
	if q.min == nil && q.max == nil {
		return true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	return err == nil && (q.min == nil || f > *q.min) && (q.max == nil || f < *q.max)
}

func (q *fastPath) allows(typ string) bool {
	return len(q.types) == 0 || slices.Contains(q.types, typ)
}

// scalar reports whether a value has no members and no number out of bounds;
// such values are valid without a schema.
func scalar(value any) bool {
	switch v := value.(type) {
	case nil, bool, string:
		return true
	case json.Number:
		return computable(v)
	}
	return false
}
