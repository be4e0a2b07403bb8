package tools

import "slices"

// Property is a named property of an object schema.
type Property = property

// Properties returns the named properties of a JSON Schema.
func Properties(schema string) []Property {
	doc, _ := Decode([]byte(schema))
	return propertiesOf(doc)
}

// Unchecked returns the patterns that are not asserted, sorted.
func (s *Schema) Unchecked() []string { return slices.Clone(s.unchecked) }
