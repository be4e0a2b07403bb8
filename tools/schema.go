package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Limits of schemas and of the values checked against them.
const (
	MaxArguments = 1 << 20 // bytes of the arguments of a call
	MaxDepth     = 64      // nested lists and objects, in schemas and values
	MaxFaults    = 20      // faults reported per value

	maxNodes  = 4096    // lists and objects in a schema
	maxVisits = 1 << 20 // subschemas applied to parts of a value in one check
	maxNumber = 400     // characters of a number, and its exponent
)

// base is the URL of the compiled document. Its domain can never exist (RFC
// 2606), so no reference resolves to it by accident.
const base = "https://schema.invalid/document"

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	root       *jsonschema.Schema            // nil: see [Open]
	nodes      map[string]*jsonschema.Schema // by location
	fast       *fastPath                     // nil if root has keywords that it does not cover
	flat       bool                          // the cost of a check is bounded without counting
	normalizes bool                          // it has defaults or whole numbers
	unchecked  []string
	example    func() json.RawMessage
}

// Open returns the schema that accepts any object. It replaces the schema of a
// foreign tool that does not compile: the tool checks its arguments itself.
func Open() *Schema {
	return &Schema{example: func() json.RawMessage { return json.RawMessage("{}") }}
}

// Compile compiles a JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12. Without
// $schema it is parsed as 2020-12 or else as draft 7 or 4: OpenAPI writes
// exclusiveMinimum as draft 4 did.
//
// References are followed only within the document; nothing is read from files
// or the network. format is an annotation in every draft. Patterns are matched
// by Go's regexp. A pattern that it does not support, such as one with
// lookahead, is not asserted and is ignored; where that
// could reject a valid value (below not, if, oneOf, contains or
// patternProperties), the schema does not compile. A schema over a limit and an
// infinitely recursive one do not compile either.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) > MaxSchema {
		return nil, fmt.Errorf("the schema has %d bytes; the limit is %d", len(raw), MaxSchema)
	}
	doc, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	if fault := outOfBounds(doc, MaxDepth); fault != nil {
		return nil, fmt.Errorf("the schema at %q: %s", fault.Path, fault.Message)
	}
	if n := countNodes(doc); n > maxNodes {
		return nil, fmt.Errorf("the schema has %d lists and objects; the limit is %d", n, maxNodes)
	}
	root, err := compileDrafts(doc)
	if err != nil {
		return nil, err
	}
	s := &Schema{root: root, nodes: map[string]*jsonschema.Schema{}}
	if err := s.survey(); err != nil {
		return nil, err
	}
	s.fast = newFastPath(root)
	s.example = sync.OnceValue(s.makeExample)
	return s, nil
}

// compileDrafts tries the possible drafts of a document. The error is that of
// the first.
func compileDrafts(doc any) (*jsonschema.Schema, error) {
	drafts := []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4}
	if object, ok := doc.(map[string]any); ok && object["$schema"] != nil {
		drafts = drafts[:1]
	}
	var first error
	for _, draft := range drafts {
		root, err := compileAs(doc, draft)
		if err == nil {
			return root, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func compileAs(doc any, draft *jsonschema.Draft) (root *jsonschema.Schema, err error) {
	defer func() { // the library panics on some identifiers
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	c.DefaultDraft(draft)
	c.UseRegexpEngine(compilePattern)
	c.AssertFormat() // preserves the names of formats
	for _, name := range formatsOf(doc, nil) {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: anything})
	}
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	root, err = c.Compile(base)
	return root, explain(err)
}

// refuse is a loader that rejects all other documents.
type refuse struct{}

var errOutside = errors.New("nothing outside of it is read")

func (refuse) Load(string) (any, error) { return nil, errOutside }

func anything(any) error { return nil }

// formatsOf collects the values of format in a document.
func formatsOf(value any, names []string) []string {
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v["format"].(string); ok {
			names = append(names, name)
		}
		for _, member := range v {
			names = formatsOf(member, names)
		}
	case []any:
		for _, item := range v {
			names = formatsOf(item, names)
		}
	}
	return names
}

// explain formats the library's errors in one line.
func explain(err error) error {
	var (
		wrong   *jsonschema.SchemaValidationError
		outside *jsonschema.LoadURLError
		invalid *jsonschema.ValidationError
		pattern *jsonschema.InvalidRegexError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &outside):
		return fmt.Errorf("%q is not part of the schema: %w", truncate.Runes(outside.URL, maxClip), errOutside)
	case errors.As(err, &wrong) && errors.As(wrong.Err, &invalid):
		found := (&Schema{}).findings(invalid)
		if len(found) == 0 {
			return fmt.Errorf("the schema does not follow its draft: %w", err)
		}
		sortFindings(found)
		return fmt.Errorf("the schema at %q: %s", found[0].Path, found[0].Message)
	case errors.As(err, &pattern):
		return fmt.Errorf("the schema: the pattern %q: %w", truncate.Runes(pattern.Regex, maxClip), pattern.Err)
	}
	return fmt.Errorf("the schema: %w", err)
}

// property is a named property of an object schema.
type property struct {
	Name        string
	Type        string // for people: "integer", "array of string", `"km" | "mi"`
	Required    bool
	Description string
}

// propertiesOf returns the named properties of a schema, sorted by name,
// without those of combinations such as allOf.
func propertiesOf(doc any) []property {
	object := resolve(doc, doc)
	members, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	properties := make([]property, 0, len(members))
	for name, member := range members {
		description, _ := resolve(doc, member)["description"].(string)
		properties = append(properties, property{
			Name: name, Type: typeText(doc, member, 0), Description: description,
			Required: slices.Contains(required, any(name)),
		})
	}
	slices.SortFunc(properties, func(a, b property) int { return strings.Compare(a.Name, b.Name) })
	return properties
}

// resolve follows references within a document, up to a small limit.
func resolve(doc, value any) map[string]any {
	for range 4 {
		object, _ := value.(map[string]any)
		ref, _ := object["$ref"].(string)
		pointer, local := strings.CutPrefix(ref, "#")
		if !local {
			return object
		}
		target, ok := lookup(doc, pointer)
		if !ok {
			return object
		}
		value = target
	}
	object, _ := value.(map[string]any)
	return object
}

// lookup resolves a JSON Pointer through objects.
func lookup(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[unescape.Replace(token)]; !ok {
			return nil, false
		}
	}
	return value, true
}

// JSON Pointer's escapes (RFC 6901, section 3).
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// typeText describes the type of a subschema in a few words.
func typeText(doc, value any, depth int) string {
	object := resolve(doc, value)
	if enum, ok := object["enum"].([]any); ok && len(enum) > 0 {
		return alternatives(enum, " | ")
	}
	if constant, ok := object["const"]; ok {
		return show(constant)
	}
	if depth > 3 {
		return "any"
	}
	switch typ := object["type"].(type) {
	case string:
		if items := object["items"]; typ == "array" && items != nil {
			return "array of " + typeText(doc, items, depth+1)
		}
		return typ
	case []any:
		var words []string
		for _, t := range typ {
			words = append(words, fmt.Sprint(t))
		}
		return strings.Join(words, " or ")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches, _ := object[keyword].([]any)
		var words []string
		for _, branch := range branches[:min(len(branches), maxShown)] {
			words = append(words, typeText(doc, branch, depth+1))
		}
		if len(words) > 0 {
			return strings.Join(slices.Compact(words), " or ")
		}
	}
	if object["properties"] != nil {
		return "object"
	}
	return "any"
}
