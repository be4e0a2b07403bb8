// Package dialect says the JSON Schema of a tool's arguments in the way that a model
// provider takes it. Providers refuse a whole request because of one schema, and none of
// them takes all of JSON Schema; decision 0076 lists what they are reported to refuse.
//
//	said := dialect.Say(definition.Parameters, dialect.Anthropic)
//	// said.Schema is sent; said.Lost is added to the tool's description
//	args = dialect.Restore(said.Names, args) // of a call: with the declared names of arguments
//
// The schema that is sent accepts everything that the declared one accepts, so that no valid
// call is ruled out; the declared one still checks the arguments. There are two exceptions,
// which are senseless calls: arguments that the alternative which a call follows does not
// name, and, in [Subset], lists within values of any type.
package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

// Dialect is what a kind of provider takes.
type Dialect string

// The dialects.
const (
	OpenAI    Dialect = "openai"    // Chat Completions and the Responses API, not strict
	Anthropic Dialect = "anthropic" // the Messages API
	Subset    Dialect = "subset"    // Gemini's API and gateways to it; every other provider takes it too
)

// maxLost limits what is added to a description, in bytes.
const maxLost = 2000

// Said is a schema in a dialect.
type Said struct {
	Schema json.RawMessage // canonical
	// Names are the declared names of arguments by those in Schema, where they differ.
	Names map[string]string
	// Lost says in a sentence what Schema does not; "" if it says everything, or says it
	// in descriptions of its own.
	Lost string
	// Faults are what was changed, for people: `oneOf at the top`.
	Faults []string
}

// Say returns a schema of arguments in a dialect. A schema that is already in it is returned
// as canonical JSON, without $schema and $id. It never fails: what is not a schema is left out.
func Say(schema json.RawMessage, d Dialect) Said {
	doc, err := tools.Decode(schema)
	if err != nil {
		doc = nil
	}
	u := &upgrade{doc: doc, names: map[string]string{}, taken: map[string]bool{}, defs: map[string]any{}}
	root, ok := doc.(map[string]any)
	if !ok {
		u.fault("no object")
	}
	root = u.root(root)
	f := &flat{defs: u.defs, left: maxNodes}
	root = f.arguments(root)
	said := Said{}
	if d != OpenAI {
		said.Names = f.rename(root)
	}
	if used := reachable(root, u.defs); len(used) > 0 {
		root["$defs"] = used
	}
	if d == Subset {
		s := &subset{defs: u.defs, left: maxNodes}
		root = s.root(root)
	}
	said.Schema, _ = tools.Encode(root) // it was decoded from JSON
	said.Faults = append(u.faults, f.faults...)
	slices.Sort(said.Faults)
	said.Faults = slices.Compact(said.Faults)
	said.Lost = sentence(f.lost)
	return said
}

// reachable are the definitions that a schema refers to, also through others.
func reachable(root any, defs map[string]any) map[string]any {
	used := map[string]any{}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				name := strings.TrimPrefix(ref, refersTo)
				if def, ok := defs[name]; ok && used[name] == nil {
					used[name] = def
					walk(def)
				}
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(root)
	return used
}

// refersTo begins every reference of a schema that is sent.
const refersTo = "#/$defs/"

// sentence says what a schema lost.
func sentence(lost map[string]any) string {
	if len(lost) == 0 {
		return ""
	}
	text, err := tools.Encode(lost)
	if err != nil || len(text) > maxLost {
		var words []string
		for word := range lost {
			words = append(words, word)
		}
		slices.Sort(words)
		return "The arguments also follow rules that are too long to show (" + strings.Join(words, ", ") +
			"); an error names the one that is broken."
	}
	return "The arguments also follow this JSON Schema: " + string(text)
}

// Describe returns the description of a tool with what its schema lost.
func (s Said) Describe(description string) string {
	if s.Lost == "" {
		return description
	}
	return strings.TrimSpace(description + "\n\n" + s.Lost)
}

// Restore returns the arguments of a call with the declared names, [Said.Names]. Arguments that
// are no object are returned unchanged.
func Restore(names map[string]string, args json.RawMessage) json.RawMessage {
	if len(names) == 0 {
		return args
	}
	object, _, fault := tools.Parse(args)
	if fault != nil {
		return args
	}
	restored := make(map[string]any, len(object))
	for name, value := range object {
		if declared, ok := names[name]; ok {
			name = declared
		}
		restored[name] = value
	}
	encoded, err := tools.Encode(restored)
	if err != nil {
		return args
	}
	return encoded
}
