package dialect

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

// maxNodes limits the subschemas that are written: references are written out.
const maxNodes = 2000

// subset writes a schema with the keywords that Gemini's Schema has had from the beginning:
// https://ai.google.dev/api/caching#Schema. What they do not say goes to the descriptions.
type subset struct {
	defs map[string]any
	path []string // references that are being written out
	left int      // subschemas that may still be written
}

func (s *subset) root(root map[string]any) map[string]any {
	root = maps.Clone(root)
	delete(root, "$defs")
	return s.object(root)
}

// unsaid are keywords that need not be said anywhere.
var unsaid = []string{"title", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly", "$defs"}

// node is a schema that is being written: out is what is said, rest what is not.
type node struct {
	in, out, rest map[string]any
}

// schema writes a subschema.
func (s *subset) schema(value any) map[string]any {
	in, _ := value.(map[string]any)
	if s.left--; s.left < 0 {
		return s.any(in)
	}
	if ref, ok := in["$ref"].(string); ok {
		return s.reference(ref, in)
	}
	if all, ok := in["allOf"].([]any); ok {
		in = s.merge(in, all)
	}
	if list := alternativesOf(in); list != nil {
		return s.alternatives(in, list)
	}
	return s.typed(in)
}

// reference writes what a reference refers to. One to a schema that is being written is
// an object of any kind.
func (s *subset) reference(ref string, in map[string]any) map[string]any {
	name := strings.TrimPrefix(ref, refersTo)
	target, ok := s.defs[name].(map[string]any)
	if !ok || slices.Contains(s.path, name) {
		out := described(map[string]any{}, in)
		if !ok {
			return s.any(in)
		}
		out["type"] = "object"
		return add(out, "as "+name+" above")
	}
	s.path = append(s.path, name)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	whole := maps.Clone(target)
	for _, keyword := range []string{"description", "default"} {
		if value, ok := in[keyword]; ok {
			whole[keyword] = value
		}
	}
	return s.schema(whole)
}

// merge adds what all of a list ask for to a schema.
func (s *subset) merge(in map[string]any, all []any) map[string]any {
	f := &flat{defs: s.defs}
	out := maps.Clone(in)
	delete(out, "allOf")
	for _, branch := range all {
		branch, _ := branch.(map[string]any)
		for range maxFlat {
			ref, ok := branch["$ref"].(string)
			if !ok {
				break
			}
			target, _ := s.defs[strings.TrimPrefix(ref, refersTo)].(map[string]any)
			branch = maps.Clone(target)
		}
		branch = maps.Clone(branch)
		if nested, ok := branch["allOf"].([]any); ok && s.left > 0 {
			s.left--
			branch = s.merge(branch, nested)
		}
		f.and(out, branch)
	}
	return out
}

// alternativesOf returns the alternatives of a schema: of anyOf, oneOf or several types.
func alternativesOf(in map[string]any) []any {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := in[keyword].([]any); ok && in["properties"] == nil && in["items"] == nil {
			return list
		}
	}
	list, _ := in["type"].([]any)
	if values, ok := in["enum"].([]any); ok && in["type"] == nil {
		list = typesOf(values)
	}
	if len(list) < 2 {
		return nil
	}
	alternatives := make([]any, len(list))
	for i, name := range list {
		branch := map[string]any{"type": name}
		if values, ok := in["enum"].([]any); ok {
			fits := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return !isType(v, name) })
			if len(fits) == 0 {
				continue
			}
			branch["enum"] = fits
		}
		for keyword, value := range in {
			if keyword != "type" && keyword != "enum" && keyword != "description" && keyword != "default" &&
				concerns(keyword, name) {
				branch[keyword] = value
			}
		}
		alternatives[i] = branch
	}
	return slices.DeleteFunc(alternatives, func(v any) bool { return v == nil })
}

func typesOf(values []any) []any {
	var list []any
	for _, name := range types {
		if name != "integer" && slices.ContainsFunc(values, func(v any) bool { return isType(v, name) }) {
			list = append(list, name)
		}
	}
	return list
}

// concerns reports whether a keyword limits values of a type.
func concerns(keyword string, typ any) bool {
	var types []string
	switch keyword {
	case "minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType":
		types = []string{"string"}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		types = []string{"number", "integer"}
	case "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains",
		"unevaluatedItems":
		types = []string{"array"}
	case "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
		"maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties":
		types = []string{"object"}
	default:
		return true
	}
	name, _ := typ.(string)
	return slices.Contains(types, name)
}

func isType(value, name any) bool {
	switch value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer"
	case []any:
		return name == "array"
	}
	return name == "object"
}

// alternatives writes anyOf, which stands alone: null becomes nullable.
func (s *subset) alternatives(in map[string]any, list []any) map[string]any {
	var written []any
	null := false
	outer := map[string]any{} // what each alternative also asks for
	for keyword, value := range in {
		if !slices.Contains([]string{"anyOf", "oneOf", "type", "enum", "description", "default"}, keyword) {
			outer[keyword] = value
		}
	}
	if name, ok := in["type"].(string); ok {
		outer["type"] = name
	}
	for _, alternative := range list {
		branch, _ := alternative.(map[string]any)
		if branch["type"] == "null" || branch["const"] == nil && hasKey(branch, "const") {
			null = true
			continue
		}
		if _, several := in["type"].([]any); !several {
			branch = merged(branch, outer)
		}
		for _, one := range flattened(s.schema(branch)) {
			if !slices.ContainsFunc(written, func(w any) bool { return equal(w, one) }) {
				written = append(written, one)
			}
		}
	}
	if len(written) == 0 {
		return s.any(in)
	}
	first := maps.Clone(written[0].(map[string]any))
	written[0] = first
	if null {
		for i := range written {
			nullable := maps.Clone(written[i].(map[string]any))
			nullable["nullable"] = true
			written[i] = nullable
		}
		first = written[0].(map[string]any)
	}
	if text, ok := in["description"].(string); ok {
		own, _ := first["description"].(string)
		first["description"] = strings.TrimSpace(text + " " + own)
	}
	if value, ok := in["default"]; ok {
		add(first, jsonText(map[string]any{"default": value}))
	}
	if len(written) == 1 {
		return first
	}
	return map[string]any{"anyOf": written}
}

func hasKey(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}

// flattened returns the alternatives of a written schema.
func flattened(schema map[string]any) []map[string]any {
	list, ok := schema["anyOf"].([]any)
	if !ok {
		return []map[string]any{schema}
	}
	var out []map[string]any
	for _, one := range list {
		out = append(out, one.(map[string]any))
	}
	return out
}

// typed writes a schema of one type.
func (s *subset) typed(in map[string]any) map[string]any {
	typ, _ := in["type"].(string)
	if list, ok := in["type"].([]any); ok && len(list) == 1 {
		typ, _ = list[0].(string)
	}
	if typ == "" {
		typ = inferred(in)
	}
	out := map[string]any{}
	switch typ {
	case "":
		return s.any(in)
	case "null":
		return described(map[string]any{"type": "string", "nullable": true}, in)
	case "object":
		return s.object(in)
	case "array":
		return s.array(in)
	}
	n := &node{in, out, map[string]any{}}
	out["type"] = typ
	n.values(typ)
	n.keep(map[string][]string{
		"string":  {"description", "nullable"},
		"number":  {"description", "nullable", "minimum", "maximum"},
		"integer": {"description", "nullable", "minimum", "maximum"},
		"boolean": {"description", "nullable"},
	}[typ]...)
	return n.end()
}

// inferred is the type that a schema without one means.
func inferred(in map[string]any) string {
	values, _ := in["enum"].([]any)
	if constant, ok := in["const"]; ok {
		values = []any{constant}
	}
	for _, name := range []string{"string", "boolean", "number"} {
		if len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { return !isType(v, name) }) {
			return name
		}
	}
	switch {
	case in["properties"] != nil || in["additionalProperties"] != nil:
		return "object"
	case in["items"] != nil || in["prefixItems"] != nil:
		return "array"
	}
	return ""
}

// formats are the values of format in the subset, by type.
var formats = map[string][]string{
	"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

// values writes the keywords that restrict values. The subset has enum for texts that are not
// empty, a few formats, and inclusive bounds: an exclusive one is written as inclusive, and
// stays in the description.
func (n *node) values(typ string) {
	values, restricted := n.in["enum"].([]any)
	if constant, there := n.in["const"]; there {
		values, restricted = []any{constant}, true
	}
	isEmpty := func(v any) bool { text, _ := v.(string); return text == "" }
	switch {
	case !restricted:
	case typ == "string" && !slices.ContainsFunc(values, isEmpty):
		n.out["enum"] = values
	default:
		n.rest["enum"] = values
	}
	if format, _ := n.in["format"].(string); slices.Contains(formats[typ], format) {
		n.out["format"] = format
	}
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if bound, ok := n.in[exclusive]; ok {
			n.rest[exclusive] = bound
			if n.in[inclusive] == nil {
				n.out[inclusive] = bound
			}
		}
	}
}

// keep copies keywords.
func (n *node) keep(keywords ...string) {
	for _, keyword := range keywords {
		if value, ok := n.in[keyword]; ok {
			n.out[keyword] = value
		}
	}
}

// end returns what was written, with everything else in its description.
func (n *node) end() map[string]any {
	for keyword, value := range n.in {
		_, said := n.out[keyword]
		_, kept := n.rest[keyword]
		if !said && !kept && keyword != "const" && keyword != "type" && !slices.Contains(unsaid, keyword) {
			n.rest[keyword] = value
		}
	}
	if len(n.rest) == 0 {
		return n.out
	}
	return add(n.out, jsonText(n.rest))
}

func jsonText(value map[string]any) string {
	text, err := tools.Encode(value)
	if err != nil || len(text) > maxLost {
		return "more rules apply"
	}
	return "JSON Schema: " + string(text)
}

// add adds a text to a description.
func add(schema map[string]any, text string) map[string]any {
	own, _ := schema["description"].(string)
	schema["description"] = strings.TrimSpace(own + " (" + text + ")")
	return schema
}

func described(out, in map[string]any) map[string]any {
	if text, ok := in["description"].(string); ok {
		out["description"] = text
	}
	return out
}

// object writes a schema of objects. Properties are never empty, and what is required has a
// schema.
func (s *subset) object(in map[string]any) map[string]any {
	n := &node{in, map[string]any{"type": "object"}, map[string]any{}}
	n.keep("description", "nullable")
	properties, _ := in["properties"].(map[string]any)
	written := map[string]any{}
	for name, schema := range properties {
		written[name] = s.schema(schema)
	}
	if len(written) > 0 {
		n.out["properties"] = written
	}
	n.rest["properties"] = nil // said, or empty
	var required []any
	for _, name := range union(nil, in["required"]) {
		if text, _ := name.(string); written[text] != nil {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		n.out["required"] = required
	}
	if list, _ := in["required"].([]any); len(list) == len(required) {
		n.rest["required"] = nil
	}
	for _, open := range []string{"additionalProperties", "unevaluatedProperties"} {
		if plainOpen(in[open]) {
			n.rest[open] = nil
		}
	}
	return n.without("properties", "required", "additionalProperties", "unevaluatedProperties").end()
}

// plainOpen reports a value that need not be said: true, false, and a schema of anything.
func plainOpen(value any) bool {
	object, ok := value.(map[string]any)
	_, flag := value.(bool)
	return flag || ok && len(object) == 0
}

// without removes keywords that need no description: those whose rest is nil.
func (n *node) without(keywords ...string) *node {
	in := maps.Clone(n.in)
	for _, keyword := range keywords {
		if value, ok := n.rest[keyword]; ok && value == nil {
			delete(n.rest, keyword)
			delete(in, keyword)
		}
	}
	n.in = in
	return n
}

// array writes a schema of lists, which always has items.
func (s *subset) array(in map[string]any) map[string]any {
	n := &node{in, map[string]any{"type": "array"}, map[string]any{}}
	n.keep("description", "nullable", "minItems", "maxItems")
	items, _ := in["items"].(map[string]any)
	if in["prefixItems"] != nil {
		items = nil
	}
	switch {
	case len(items) == 0:
		n.out["items"] = map[string]any{"anyOf": scalars()}
	default:
		n.out["items"] = s.schema(items)
	}
	return n.end()
}

// scalars are the alternatives of a value of any type within a list.
func scalars() []any {
	return []any{
		map[string]any{"type": "string", "nullable": true},
		map[string]any{"type": "number"},
		map[string]any{"type": "boolean"},
		map[string]any{"type": "object"},
	}
}

// any writes a schema of values of any type.
func (s *subset) any(in map[string]any) map[string]any {
	n := &node{in, map[string]any{}, map[string]any{"$ref": nil}}
	n.keep("description")
	said := n.without("$ref").end()
	list := append(scalars(), map[string]any{"type": "array", "items": map[string]any{"anyOf": scalars()}})
	if text, ok := said["description"]; ok {
		list[0].(map[string]any)["description"] = text
	}
	return map[string]any{"anyOf": list}
}
