package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxDepth limits nesting; deeper subschemas accept anything.
const maxDepth = 64

// upgrade writes a schema of any draft as one of draft 2020-12 and leaves out what no draft
// has, which the runtime's own check ignores as well. References become references to
// $defs, where only what is referred to is kept.
type upgrade struct {
	doc    any
	names  map[string]string // in $defs, by JSON Pointer
	taken  map[string]bool   // those names
	queue  []string          // pointers whose targets are not in defs yet
	defs   map[string]any
	faults []string
}

func (u *upgrade) fault(format string, args ...any) {
	u.faults = append(u.faults, fmt.Sprintf(format, args...))
}

// root upgrades the whole document.
func (u *upgrade) root(root map[string]any) map[string]any {
	schema, ok := u.schema(root, 0).(map[string]any)
	if !ok {
		schema = map[string]any{}
	}
	for len(u.queue) > 0 {
		pointer := u.queue[0]
		u.queue = u.queue[1:]
		target, _ := lookup(u.doc, pointer)
		u.defs[u.names[pointer]] = u.schema(target, 1)
	}
	return schema
}

// Keywords by what their values are.
var (
	schemaMaps  = []string{"properties", "patternProperties", "dependentSchemas"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemas     = []string{
		"additionalProperties", "unevaluatedProperties", "propertyNames", "items", "unevaluatedItems", "contains",
		"not", "if", "then", "else", "contentSchema",
	}
	texts   = []string{"title", "description", "format", "pattern", "$comment", "contentEncoding", "contentMediaType"}
	numbers = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	counts  = []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
		"maxContains",
	}
	booleans = []string{"uniqueItems", "deprecated", "readOnly", "writeOnly"}
	types    = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

	// annotations may stand next to a $ref: drafts before 2019-09 ignore everything else there.
	annotations = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)

// schema upgrades a subschema: an object, or false.
func (u *upgrade) schema(value any, depth int) any {
	switch v := value.(type) {
	case bool:
		if !v {
			return false
		}
		return map[string]any{}
	case map[string]any:
		if depth < maxDepth {
			return u.object(v, depth)
		}
	}
	return map[string]any{}
}

func (u *upgrade) object(in map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if ref, ok := in["$ref"]; ok {
		for _, keyword := range annotations {
			if value, ok := in[keyword]; ok {
				out[keyword] = value
			}
		}
		if name, ok := u.reference(ref); ok {
			out["$ref"] = refersTo + name
		}
		return out
	}
	for _, keyword := range slices.Sorted(maps.Keys(in)) { // in order, so that names are the same each time
		if !u.keyword(out, keyword, in[keyword], depth) {
			u.fault("%q is %s", keyword, kindOf(in[keyword]))
		}
	}
	u.items(out, in, depth)
	u.bounds(out, in)
	return out
}

// keyword upgrades one keyword; false if no draft allows its value.
func (u *upgrade) keyword(out map[string]any, keyword string, value any, depth int) bool {
	switch {
	case slices.Contains([]string{
		"$schema", "$id", "id", "$anchor", "$defs", "definitions", "$vocabulary",
		"$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "items", "additionalItems",
	}, keyword):
		return true // left out, or written elsewhere
	case slices.Contains(schemaMaps, keyword):
		return u.members(out, keyword, value, depth)
	case slices.Contains(schemaLists, keyword):
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			return false
		}
		upgraded := make([]any, len(list))
		for i, item := range list {
			upgraded[i] = u.schema(item, depth+1)
		}
		out[keyword] = upgraded
		return true
	case slices.Contains(schemas, keyword):
		if _, ok := value.(bool); ok {
			out[keyword] = value
			return true
		}
		object, ok := value.(map[string]any)
		if ok {
			out[keyword] = u.schema(object, depth+1)
		}
		return ok
	}
	ok := plain(keyword, value)
	if ok {
		out[keyword] = value
	}
	return ok || keyword == "exclusiveMinimum" || keyword == "exclusiveMaximum" // see bounds
}

func (u *upgrade) members(out map[string]any, keyword string, value any, depth int) bool {
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	upgraded := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		member := object[name]
		if !isSchema(member) {
			u.fault("the schema of %q is %s", name, kindOf(member))
		}
		if schema := u.schema(member, depth+1); schema != false || keyword != "properties" {
			upgraded[name] = schema
		}
	}
	out[keyword] = upgraded
	return true
}

func isSchema(value any) bool {
	switch value.(type) {
	case bool, map[string]any:
		return true
	}
	return false
}

// plain reports whether the value of a keyword without subschemas is one that draft 2020-12
// allows. Unknown keywords may have any value.
func plain(keyword string, value any) bool {
	switch {
	case keyword == "type":
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		return len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool {
			name, _ := v.(string)
			return !slices.Contains(types, name)
		})
	case keyword == "required":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool { _, text := v.(string); return !text })
	case keyword == "enum":
		list, ok := value.([]any)
		return ok && len(list) > 0
	case keyword == "examples":
		_, ok := value.([]any)
		return ok
	case keyword == "dependentRequired", keyword == "dependencies":
		_, ok := value.(map[string]any)
		return ok
	case slices.Contains(texts, keyword):
		_, ok := value.(string)
		return ok
	case slices.Contains(booleans, keyword):
		_, ok := value.(bool)
		return ok
	case slices.Contains(numbers, keyword):
		_, ok := value.(json.Number)
		return ok
	case slices.Contains(counts, keyword):
		n, ok := value.(json.Number)
		count, err := strconv.ParseFloat(n.String(), 64)
		return ok && err == nil && count >= 0
	}
	return true
}

// items writes the tuples of drafts before 2020-12, a list in items, as prefixItems, and
// gives each list of any items the items that OpenAI asks for.
func (u *upgrade) items(out, in map[string]any, depth int) {
	switch items := in["items"].(type) {
	case []any:
		u.fault("a list in items, which draft 2020-12 writes as prefixItems")
		if len(items) > 0 {
			u.keyword(out, "prefixItems", items, depth)
		}
		if extra, ok := in["additionalItems"]; ok {
			u.keyword(out, "items", extra, depth)
			if isSchema(extra) {
				out["items"] = u.schema(extra, depth+1)
			}
		}
	case nil:
		if _, null := in["items"]; null {
			u.fault(`"items" is null`)
		}
	default:
		if !isSchema(items) {
			u.fault(`"items" is %s`, kindOf(items))
		}
		out["items"] = u.schema(items, depth+1)
	}
	if out["items"] == false { // the tuple, or nothing, is all
		prefix, _ := out["prefixItems"].([]any)
		if most, ok := out["maxItems"].(json.Number); !ok || !atMost(most, len(prefix)) {
			out["maxItems"] = json.Number(strconv.Itoa(len(prefix)))
		}
		out["items"] = map[string]any{}
	}
	if _, ok := out["items"]; !ok && hasType(out, "array") {
		out["items"] = map[string]any{}
	}
}

func atMost(n json.Number, most int) bool {
	f, err := n.Float64()
	return err == nil && f <= float64(most)
}

// bounds writes the flags of draft 4 as the numbers of later drafts.
func (u *upgrade) bounds(out, in map[string]any) {
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		value, ok := in[exclusive]
		if _, number := value.(json.Number); !ok || number {
			continue
		}
		u.fault("%q is %s, as in draft 4", exclusive, kindOf(value))
		delete(out, exclusive)
		if bound, there := out[inclusive]; value == true && there {
			out[exclusive] = bound
			delete(out, inclusive)
		}
	}
}

// hasType reports whether type names a type, or there is a list with it.
func hasType(schema map[string]any, name string) bool {
	if list, ok := schema["type"].([]any); ok {
		return slices.Contains(list, any(name))
	}
	return schema["type"] == name
}

// unfitName are the characters that names in $defs and of arguments cannot have.
var unfitName = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// reference returns the name in $defs of what a reference refers to.
func (u *upgrade) reference(value any) (string, bool) {
	ref, _ := value.(string)
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || pointer != "" && pointer[0] != '/' {
		u.fault("the reference %.40q, which is not to a part of the schema", ref)
		return "", false
	}
	if name, ok := u.names[pointer]; ok {
		return name, true
	}
	target, ok := lookup(u.doc, pointer)
	if !ok || !isSchema(target) {
		u.fault("the reference %.40q to nothing", ref)
		return "", false
	}
	last := pointer[strings.LastIndex(pointer, "/")+1:]
	if last == "" {
		last = "arguments"
	}
	base := unfitName.ReplaceAllString(last, "_")
	name := base
	for n := 2; u.taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	u.names[pointer], u.taken[name] = name, true
	u.queue = append(u.queue, pointer)
	return name, true
}

// lookup resolves a JSON Pointer (RFC 6901), also through lists and percent-encoded, as in a
// URL's fragment.
func lookup(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = unescape.Replace(token)
		switch v := value.(type) {
		case map[string]any:
			member, ok := v[token]
			if !ok {
				return nil, false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%25", "%", "%5B", "[", "%5D", "]")

// kindOf names the type of a JSON value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
