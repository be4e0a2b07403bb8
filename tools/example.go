package tools

import (
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxAttempts   = 2000 // subschemas visited per example
	maxExample    = 4096 // bytes per example
	maxExampleLen = 256  // items or characters generated to reach a minimum
)

// Example returns minimal valid arguments: the required ones, from examples,
// default, const and enum if the schema has them, else by type, bounds, format
// and pattern. It returns nil if a bounded search found none. The example is
// computed once.
func (s *Schema) Example() json.RawMessage { return slices.Clone(s.example()) }

func (s *Schema) makeExample() json.RawMessage {
	m := &maker{schema: s, left: maxAttempts, checks: maxRepairs}
	value, ok := m.make(s.root, 0)
	if !ok || len(s.Check(value)) > 0 {
		return nil
	}
	raw, err := Encode(value)
	if err != nil || len(raw) > maxExample {
		return nil
	}
	return raw
}

// maker generates valid values for subschemas.
type maker struct {
	schema *Schema
	left   int // see maxAttempts
	checks int // see maxRepairs
}

// make returns the first value that the schema accepts.
func (m *maker) make(s *jsonschema.Schema, depth int) (any, bool) {
	if m.left--; m.left < 0 || depth > MaxDepth/2 {
		return nil, false
	}
	if s = target(s); s == nil {
		return nil, false
	}
	valid := func(v any) bool {
		r := repair{left: m.checks}
		ok := r.valid(s, v)
		m.checks = r.left
		return ok
	}
	for _, v := range given(s) {
		if valid(v) {
			return v, true
		}
	}
	for _, v := range m.byType(s, depth) {
		if valid(v) {
			return v, true
		}
	}
	own := m.object(s, nil, depth)
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		v, ok := m.make(branch, depth+1)
		if ok && valid(v) {
			return v, true
		}
		// A branch may only add required properties.
		if merged := m.object(s, target(branch), depth); valid(merged) {
			return merged, true
		}
		if object, isObject := v.(map[string]any); isObject {
			merged := maps.Clone(own)
			maps.Copy(merged, object)
			if valid(merged) {
				return merged, true
			}
		}
	}
	return nil, false
}

// given are the values in the schema itself.
func given(s *jsonschema.Schema) []any {
	values := slices.Clone(s.Examples)
	if s.Default != nil {
		values = append(values, *s.Default)
	}
	if s.Const != nil {
		values = append(values, *s.Const)
	}
	if s.Enum != nil {
		values = append(values, s.Enum.Values[:min(len(s.Enum.Values), maxShown)]...)
	}
	return values
}

// byType are values of the allowed types, the most likely first.
func (m *maker) byType(s *jsonschema.Schema, depth int) []any {
	types := typesOf(s)
	switch {
	case len(types) > 0:
	case depth == 0 || s.Properties != nil || len(s.Required) > 0 || len(s.AllOf) > 0:
		types = []string{"object"}
	case itemsOf(s) != nil || s.PrefixItems != nil:
		types = []string{"array"}
	default:
		types = []string{"string", "number", "boolean", "null", "object", "array"}
	}
	slices.SortStableFunc(types, func(a, b string) int { // null is the least informative
		return btoi(a == "null") - btoi(b == "null")
	})
	var values []any
	for _, typ := range types {
		switch typ {
		case "string":
			values = append(values, stringsFor(s)...)
		case "number", "integer":
			values = append(values, numbersFor(s)...)
		case "boolean":
			values = append(values, true, false)
		case "null":
			values = append(values, nil)
		case "array":
			if list, ok := m.list(s, depth); ok {
				values = append(values, list)
			}
		case "object":
			values = append(values, m.object(s, nil, depth))
		}
	}
	return values
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *maker) list(s *jsonschema.Schema, depth int) (any, bool) {
	least := 0
	if s.MinItems != nil {
		least = *s.MinItems
	}
	if s.Contains != nil {
		least = max(least, 1)
	}
	list := []any{}
	for len(list) < min(least, maxExampleLen) {
		item := itemsOf(s)
		switch {
		case len(list) < len(s.PrefixItems):
			item = s.PrefixItems[len(list)]
		case item == nil && s.Contains != nil:
			item = s.Contains
		}
		var v any = "text"
		if item != nil {
			made, ok := m.make(item, depth+1)
			if !ok {
				return nil, false
			}
			v = made
		}
		list = append(list, v)
	}
	return list, true
}

// object builds an object with the required properties of s, its allOf and
// another schema.
func (m *maker) object(s, also *jsonschema.Schema, depth int) map[string]any {
	properties := map[string]*jsonschema.Schema{}
	var required []string
	for _, part := range append([]*jsonschema.Schema{also, s}, s.AllOf...) {
		if part = target(part); part != nil {
			maps.Copy(properties, part.Properties)
			required = append(required, part.Required...)
		}
	}
	if s.MinProperties != nil {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if len(required) < *s.MinProperties && !slices.Contains(required, name) {
				required = append(required, name)
			}
		}
	}
	object := map[string]any{}
	for _, name := range required {
		var v any = "text"
		if p := properties[name]; p != nil {
			made, ok := m.make(p, depth+1)
			if !ok {
				continue
			}
			v = made
		}
		object[name] = v
	}
	return object
}

// numbersFor are numbers at and near the bounds of a schema.
func numbersFor(s *jsonschema.Schema) []any {
	one := big.NewRat(1, 1)
	half := big.NewRat(1, 2)
	candidates := []*big.Rat{one, new(big.Rat)}
	for _, bound := range []*big.Rat{s.Minimum, s.ExclusiveMinimum, s.Maximum, s.ExclusiveMaximum} {
		if bound == nil {
			continue
		}
		up := new(big.Rat).SetInt(new(big.Int).Div(bound.Num(), bound.Denom())) // rounds down
		candidates = append(candidates, bound, up, new(big.Rat).Add(up, one),
			new(big.Rat).Sub(up, one), new(big.Rat).Add(bound, half), new(big.Rat).Sub(bound, half))
	}
	lower, upper := orElse(s.Minimum, s.ExclusiveMinimum), orElse(s.Maximum, s.ExclusiveMaximum)
	if lower != nil && upper != nil {
		candidates = append(candidates, new(big.Rat).Mul(half, new(big.Rat).Add(lower, upper)))
	}
	if step := s.MultipleOf; step != nil && step.Sign() > 0 {
		candidates = append([]*big.Rat{step}, candidates...)
		if lower != nil { // the first multiple above the lower bound
			q := new(big.Rat).Quo(lower, step)
			k := new(big.Int).Add(new(big.Int).Div(q.Num(), q.Denom()), big.NewInt(1))
			candidates = append(candidates, new(big.Rat).Mul(new(big.Rat).SetInt(k), step))
		}
	}
	var values []any
	for _, c := range candidates {
		if n := decimal(c); computable(n) {
			values = append(values, n)
		}
	}
	return values
}

func orElse(a, b *big.Rat) *big.Rat {
	if a != nil {
		return a
	}
	return b
}

// decimal formats a number exactly, or with twenty digits.
func decimal(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	return json.Number(strings.TrimRight(r.FloatString(20), "0"))
}

// formats are examples of the formats of JSON Schema.
var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "PT1H",
	"email": "name@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "url": "https://example.com/", "uri-reference": "/path", "json-pointer": "/name",
	"uuid": "00000000-0000-4000-8000-000000000000", "regex": ".*", "byte": "dGV4dA==",
}

// stringsFor are texts for the format, pattern and length of a schema.
func stringsFor(s *jsonschema.Schema) []any {
	var values []any
	if s.Format != nil && formats[s.Format.Name] != "" {
		values = append(values, formats[s.Format.Name])
	}
	if re, ok := s.Pattern.(*regexp.Regexp); ok {
		if parsed, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
			var text strings.Builder
			sample(&text, parsed)
			values = append(values, padded(text.String(), s), text.String())
		}
	}
	text := padded("text", s)
	if s.MaxLength != nil && *s.MaxLength >= 0 && *s.MaxLength < len(text) {
		text = text[:*s.MaxLength]
	}
	return append(values, text)
}

// padded pads text to the minimum length by repeating its last character.
func padded(text string, s *jsonschema.Schema) string {
	if s.MinLength == nil || text == "" {
		return text
	}
	runes := []rune(text)
	for len(runes) < min(*s.MinLength, maxExampleLen) {
		runes = append(runes, runes[len(runes)-1])
	}
	return string(runes)
}

// sample writes a short text that matches a pattern.
func sample(text *strings.Builder, re *syntax.Regexp) {
	if text.Len() > maxExampleLen {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		text.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		text.WriteRune(charOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		text.WriteByte('a')
	case syntax.OpConcat:
		for _, part := range re.Sub {
			sample(text, part)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		sample(text, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			sample(text, re.Sub[0])
		}
	}
}

// charOf selects a character of a class, given as pairs of bounds: a letter or
// digit if possible.
func charOf(class []rune) rune {
	for _, want := range "a1A" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= want && want <= class[i+1] {
				return want
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}
