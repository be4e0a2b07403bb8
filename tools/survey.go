package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// same returns the schemas that s applies to the same value.
func same(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	parts = append(parts, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		parts = append(parts, s.DynamicRef.Ref)
	}
	for _, d := range s.Dependencies {
		if d, ok := d.(*jsonschema.Schema); ok {
			parts = append(parts, d)
		}
	}
	for _, d := range s.DependentSchemas {
		parts = append(parts, d)
	}
	return slices.DeleteFunc(parts, func(p *jsonschema.Schema) bool { return p == nil })
}

// below returns the schemas that s applies to parts of the value.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
	}
	for _, p := range s.Properties {
		parts = append(parts, p)
	}
	for _, p := range s.PatternProperties {
		parts = append(parts, p)
	}
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch p := either.(type) {
		case *jsonschema.Schema:
			parts = append(parts, p)
		case []*jsonschema.Schema:
			parts = append(parts, p...)
		}
	}
	parts = append(parts, s.PrefixItems...)
	return slices.DeleteFunc(parts, func(p *jsonschema.Schema) bool { return p == nil })
}

// survey visits every subschema once: it collects them, disables format
// assertions, and rejects schemas whose check could not end or could be wrong.
func (s *Schema) survey() error {
	s.flat = true
	exact := true // whether ignoring a pattern can only accept more
	queue := []*jsonschema.Schema{s.root}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		if s.nodes[node.Location] != nil {
			continue
		}
		s.nodes[node.Location] = node
		if err := s.note(node); err != nil {
			return err
		}
		inPlace := same(node)
		s.flat = s.flat && len(inPlace) == 0
		exact = exact && node.Not == nil && node.If == nil && len(node.OneOf) == 0 && node.Contains == nil
		queue = append(append(queue, inPlace...), below(node)...)
	}
	if len(s.unchecked) > 0 && !exact {
		return fmt.Errorf("the schema: the pattern %q cannot be matched, and not, if, oneOf or contains may depend on it",
			truncate.Runes(s.unchecked[0], maxClip))
	}
	slices.Sort(s.unchecked)
	s.unchecked = slices.Compact(s.unchecked)
	return s.acyclic()
}

// note records the relevant properties of one subschema.
func (s *Schema) note(node *jsonschema.Schema) error {
	if node.Format != nil {
		node.Format = &jsonschema.Format{Name: node.Format.Name, Validate: anything}
	}
	s.normalizes = s.normalizes || node.Default != nil || wantsInteger(node)
	if p, ok := node.Pattern.(unmatched); ok {
		s.unchecked = append(s.unchecked, string(p))
	}
	for p := range node.PatternProperties {
		if p, ok := p.(unmatched); ok {
			return fmt.Errorf("the schema: the pattern %q of patternProperties cannot be matched",
				truncate.Runes(string(p), maxClip))
		}
	}
	// Their targets depend on the path to them, so the cost cannot be bounded.
	// No known tool needs them.
	if strings.HasPrefix(node.Location, base) && (node.DynamicRef != nil || node.RecursiveRef != nil) {
		return fmt.Errorf("the schema: $dynamicRef and $recursiveRef are not supported; write $ref")
	}
	return nil
}

// acyclic rejects a schema that applies itself to the same value.
func (s *Schema) acyclic() error {
	const active, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	var walk func(*jsonschema.Schema) error
	walk = func(node *jsonschema.Schema) error {
		switch state[node] {
		case active:
			return fmt.Errorf("the schema refers to itself without end at %q", pointerOf(node))
		case done:
			return nil
		}
		state[node] = active
		for _, part := range same(node) {
			if err := walk(part); err != nil {
				return err
			}
		}
		state[node] = done
		return nil
	}
	for _, location := range slices.Sorted(maps.Keys(s.nodes)) {
		if err := walk(s.nodes[location]); err != nil {
			return err
		}
	}
	return nil
}

func pointerOf(s *jsonschema.Schema) string {
	_, fragment, _ := strings.Cut(s.Location, "#")
	return fragment
}

// unmatched is a pattern that Go's regexp does not support. It matches
// everything.
type unmatched string

func (unmatched) MatchString(string) bool { return true }
func (u unmatched) String() string        { return string(u) }

// unicodeEscapes are written \uXXXX in ECMAScript and \x{XXXX} in Go.
var unicodeEscapes = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)

func compilePattern(text string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		re, err = regexp.Compile(unicodeEscapes.ReplaceAllString(text, `\x{$1}`))
	}
	if err != nil {
		return unmatched(text), nil
	}
	return re, nil
}

func countNodes(value any) int {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		n++
		for _, member := range v {
			n += countNodes(member)
		}
	case []any:
		n++
		for _, item := range v {
			n += countNodes(item)
		}
	}
	return n
}

// outOfBounds returns a fault for a decoded value that is nested too deeply or
// has too long a number; nil otherwise.
func outOfBounds(value any, depth int) *Fault {
	switch v := value.(type) {
	case map[string]any:
		if depth == 0 {
			return tooDeep()
		}
		for name, member := range v {
			if fault := outOfBounds(member, depth-1); fault != nil {
				fault.Path = "/" + escape.Replace(name) + fault.Path
				return fault
			}
		}
	case []any:
		if depth == 0 {
			return tooDeep()
		}
		for i, item := range v {
			if fault := outOfBounds(item, depth-1); fault != nil {
				fault.Path = "/" + strconv.Itoa(i) + fault.Path
				return fault
			}
		}
	case json.Number:
		if !computable(v) {
			return &Fault{
				Keyword: "type",
				Message: fmt.Sprintf("%q is not a number that can be computed with; at most %d characters and "+
					"exponents up to %d are",
					truncate.Runes(string(v), maxClip), maxNumber, maxNumber),
			}
		}
	}
	return nil
}

func tooDeep() *Fault {
	return &Fault{Keyword: "type", Message: fmt.Sprintf("lists and objects are nested deeper than %d", MaxDepth)}
}

// computable reports whether a number is in JSON's syntax and small enough for
// exact arithmetic: 1e999999 is eight characters and a million digits.
func computable(n json.Number) bool {
	text := string(n)
	if text == "" || len(text) > maxNumber || (text[0] != '-' && (text[0] < '0' || text[0] > '9')) ||
		!json.Valid([]byte(text)) {
		return false
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(text[i+1:])
	return err == nil && exponent <= maxNumber && exponent >= -maxNumber
}

// meter counts the subschemas that a check would apply to parts of a value. It
// bounds the time and memory of the library, which has no limits: thirty allOf
// in a row, each doubling the next, would take hours.
type meter struct{ left int }

func (m *meter) affords(s *jsonschema.Schema, value any) bool {
	m.left--
	if s.Enum != nil {
		m.left -= len(s.Enum.Values)
	}
	if m.left < 0 {
		return false
	}
	for _, part := range same(s) {
		if !m.affords(part, value) {
			return false
		}
	}
	switch v := value.(type) {
	case map[string]any:
		return m.affordsMembers(s, v)
	case []any:
		return m.affordsItems(s, v)
	}
	return true
}

func (m *meter) affordsMembers(s *jsonschema.Schema, object map[string]any) bool {
	for name, member := range object {
		named := s.Properties[name]
		parts := []*jsonschema.Schema{named, s.UnevaluatedProperties}
		for re, part := range s.PatternProperties {
			m.left--
			if re.MatchString(name) {
				parts = append(parts, part)
			}
		}
		if extra, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && named == nil {
			parts = append(parts, extra)
		}
		if s.PropertyNames != nil && !m.affords(s.PropertyNames, name) {
			return false
		}
		if !m.all(parts, member) {
			return false
		}
	}
	return true
}

func (m *meter) affordsItems(s *jsonschema.Schema, list []any) bool {
	inOrder, _ := s.Items.([]*jsonschema.Schema)
	inOrder = append(slices.Clone(s.PrefixItems), inOrder...)
	each, _ := s.Items.(*jsonschema.Schema)
	extra, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i, item := range list {
		parts := []*jsonschema.Schema{s.Contains, s.UnevaluatedItems, each}
		if i < len(inOrder) {
			parts = append(parts, inOrder[i])
		} else {
			parts = append(parts, s.Items2020, extra)
		}
		if !m.all(parts, item) {
			return false
		}
	}
	return true
}

func (m *meter) all(parts []*jsonschema.Schema, value any) bool {
	for _, part := range parts {
		if part != nil && !m.affords(part, value) {
			return false
		}
	}
	return true
}
