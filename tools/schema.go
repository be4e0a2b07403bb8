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

// Limits on schemas and on the values that are checked against them.
const (
	MaxArguments = 1 << 20 // bytes of the arguments of a call
	MaxDepth     = 64      // lists and objects inside each other, in schemas and values
	MaxFaults    = 20      // faults reported of one value

	maxNodes  = 4096    // lists and objects in a schema
	maxVisits = 1 << 20 // subschemas applied to parts of a value in one check
	maxNumber = 400     // characters of a number, and its exponent
)

// base names the document that is compiled. The domain can never exist
// (RFC 2606), so no reference reaches it by accident.
const base = "https://schema.invalid/document"

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	root      *jsonschema.Schema            // nil: see [Open]
	nodes     map[string]*jsonschema.Schema // by location
	quick     *quick                        // nil when root has keywords that it does not cover
	flat      bool                          // the cost of a check needs no counting
	settles   bool                          // there are defaults or whole numbers
	doc       any
	unchecked []string
	example   func() json.RawMessage
}

// Open returns the schema of which only is asked that a value is an object. It
// stands in for the schema of a foreign tool that does not compile: the tool
// checks its arguments itself.
func Open() *Schema {
	return &Schema{example: func() json.RawMessage { return json.RawMessage("{}") }}
}

// Compile compiles a JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12. Without
// $schema it is read as 2020-12 and, if it is none, as draft 7 and 4: OpenAPI
// writes exclusiveMinimum as draft 4 did.
//
// References are followed within the document only; nothing is read from files
// or the network. format is an annotation in every draft. Patterns are matched
// by Go's regexp. A pattern that it cannot match, such as one that looks ahead,
// is not asserted and is listed by [Schema.Unchecked]; where that could refuse
// a value that is right (below not, if, oneOf, contains or patternProperties),
// the schema does not compile. A schema over a limit and one that refers to
// itself without end do not compile either.
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
	s := &Schema{root: root, doc: doc, nodes: map[string]*jsonschema.Schema{}}
	if err := s.survey(); err != nil {
		return nil, err
	}
	s.quick = quicken(root)
	s.example = sync.OnceValue(s.makeExample)
	return s, nil
}

// compileDrafts tries the drafts that a document may be written in. The error
// is that of the first.
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
	defer func() { // the library gives up that way on some identifiers
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	c.DefaultDraft(draft)
	c.UseRegexpEngine(compilePattern)
	c.AssertFormat() // so that their names are kept
	for _, name := range formatsOf(doc, nil) {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: anything})
	}
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	root, err = c.Compile(base)
	return root, explain(err)
}

// refuse is the loader of documents beside the one that is compiled.
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

// explain makes one line of the library's errors.
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

// Unchecked returns the patterns that are not asserted, sorted.
func (s *Schema) Unchecked() []string { return slices.Clone(s.unchecked) }

// Property is a property that a schema of objects names.
type Property struct {
	Name        string
	Type        string // as people write it: "integer", "array of string", `"km" | "mi"`
	Required    bool
	Description string
	Schema      json.RawMessage // canonical
}

// Properties returns the properties that the schema names, sorted by name;
// those that combinations such as allOf add are not among them.
func (s *Schema) Properties() []Property { return propertiesOf(s.doc) }

func propertiesOf(doc any) []Property {
	object := resolve(doc, doc)
	members, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	properties := make([]Property, 0, len(members))
	for name, member := range members {
		raw, err := Encode(member)
		if err != nil {
			continue // what was decoded always encodes
		}
		description, _ := resolve(doc, member)["description"].(string)
		properties = append(properties, Property{
			Name: name, Type: typeText(doc, member, 0), Description: description, Schema: raw,
			Required: slices.Contains(required, any(name)),
		})
	}
	slices.SortFunc(properties, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return properties
}

// resolve follows references within a document, a few at most.
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

// lookup finds the value that a JSON Pointer leads to through objects.
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

// typeText writes the type of a subschema in a few words.
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
