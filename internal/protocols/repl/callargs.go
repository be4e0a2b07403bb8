package repl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// maxShownValue is how many characters of a value an error shows.
const maxShownValue = 60

// parameter is what a schema says of one argument.
type parameter struct {
	Type  any         `json:"type"` // a text or a list
	AnyOf []parameter `json:"anyOf"`
	OneOf []parameter `json:"oneOf"`
}

// parameters is the part of a tool's schema that is read here. The server checks the rest.
type parameters struct {
	Properties map[string]parameter `json:"properties"`
	Additional any                  `json:"additionalProperties"`
}

// arguments converts name=value pairs to the arguments of a tool with that schema.
func arguments(schema json.RawMessage, pairs []string) (json.RawMessage, error) {
	var known parameters
	_ = json.Unmarshal(schema, &known) // a schema of another form names no arguments
	args := map[string]json.RawMessage{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if _, twice := args[name]; twice {
			return nil, invalidArgument(`--arg %s is given twice; write a list as JSON: --arg '%s=["a","b"]'`, name, name)
		}
		if !ok || name == "" {
			return nil, invalidArgument("--arg %q must be name=value", truncate.Line(pair, maxShownValue))
		}
		p, found := known.Properties[name]
		if !found && known.Additional == false {
			return nil, known.missing(name)
		}
		value, err := p.convert(text)
		if err != nil {
			return nil, invalidArgument("--arg %s: %s", name, err)
		}
		args[name] = value
	}
	return json.Marshal(args)
}

// missing is the error for an argument that the tool does not have.
func (p parameters) missing(name string) error {
	names := slices.Sorted(maps.Keys(p.Properties))
	all := "the tool takes no arguments"
	if len(names) > 0 {
		all = "the arguments are " + strings.Join(names, ", ")
	}
	return invalidArgument("--arg %s: there is no argument %q; %s", name, name, nearest.Hint(name, names, all))
}

func invalidArgument(format string, a ...any) error {
	return tools.NewError(errcode.InvalidArguments, fmt.Sprintf(format, a...), "")
}

// types are the types that an argument may have; none are known of a schema that says
// them in another way.
func (p parameter) types() []string {
	var types []string
	switch t := p.Type.(type) {
	case string:
		types = append(types, t)
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				types = append(types, name)
			}
		}
	}
	for _, one := range slices.Concat(p.AnyOf, p.OneOf) {
		types = append(types, one.types()...)
	}
	return types
}

// forms are how values of a type are written.
var forms = map[string]string{
	"integer": "a whole number such as 3", "number": "a number such as 1.5", "boolean": "true or false",
	"array": `a JSON array such as ["a","b"]`, "object": `a JSON object such as {"a":1}`, "null": "null",
}

// convert is a value as JSON. A text is itself where the argument may be a text, unless it
// is JSON of another type that the argument may have, too.
func (p parameter) convert(text string) (json.RawMessage, error) {
	types := p.types()
	asText := len(types) == 0 || slices.Contains(types, "string")
	if got, is := jsonType(text); got != "string" &&
		(len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return fits(got, t, asText) })) {
		return is, nil
	}
	if asText {
		return json.Marshal(text)
	}
	var want []string
	for _, t := range types {
		if form := forms[t]; form != "" && t != "null" && !slices.Contains(want, form) {
			want = append(want, form)
		}
	}
	return nil, fmt.Errorf("%q is not %s", truncate.Line(text, maxShownValue), strings.Join(want, " or "))
}

// fits reports whether JSON of a type is taken for an argument of the type. The word null is
// a text where a text may be.
func fits(got, want string, asText bool) bool {
	return got == want && !(got == "null" && asText) || got == "integer" && want == "number"
}

// jsonType is the type of a JSON text in the terms of JSON Schema, and the JSON; what is
// not JSON is a string.
func jsonType(text string) (string, json.RawMessage) {
	value, err := tools.Canonical([]byte(text))
	if err != nil {
		return "string", nil
	}
	switch value[0] {
	case '"':
		return "string", nil
	case '{':
		return "object", value
	case '[':
		return "array", value
	case 't', 'f':
		return "boolean", value
	case 'n':
		return "null", value
	}
	if bytes.ContainsAny(value, ".eE") {
		return "number", value
	}
	return "integer", value
}
