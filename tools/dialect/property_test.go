package dialect_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/dialect"
)

type object = map[string]any

// maker makes schemas, and values that they may accept.
type maker struct{ *rand.Rand }

func (m maker) one(list ...func() any) any { return list[m.IntN(len(list))]() }

var argumentNames = []string{
	"a", "b", "c", "filter[id]", "$top", "héllo",
	"a_very_long_name_of_more_than_sixty_four_characters_which_is_too_long_for_anthropic",
}

// schema returns a schema with a type.
func (m maker) schema(depth int) any {
	leaf := []func() any{
		func() any { return object{"type": "string", "description": "Text."} },
		func() any { return object{"type": "string", "enum": []any{"x", "y"}} },
		func() any { return object{"enum": []any{"x", 1, nil}} },
		func() any { return object{"type": "string", "format": "uri", "minLength": 1} },
		func() any { return object{"type": "integer", "exclusiveMinimum": 0} },
		func() any { return object{"type": "number", "maximum": 5, "default": 1} },
		func() any { return object{"type": []any{"string", "null"}} },
		func() any { return object{"type": []any{"integer", "string"}, "enum": []any{"x", 3}} },
		func() any { return object{"const": "x"} },
		func() any { return object{"const": 3, "type": "integer"} },
		func() any { return object{"type": "boolean"} },
		func() any { return object{"$ref": "#/$defs/D"} },
		func() any { return object{"$ref": "#/definitions/E", "description": "E."} },
		func() any { return object{"type": "object"} },
	}
	if depth == 0 {
		return m.one(leaf...)
	}
	inner := func() any { return m.schema(depth - 1) }
	return m.one(append(leaf,
		func() any { return object{"type": "array", "items": inner(), "maxItems": 3} },
		func() any {
			return object{"type": "array", "items": []any{object{"type": "string"}, object{"type": "integer"}}, "additionalItems": m.IntN(2) == 0}
		},
		func() any { return object{"type": "object", "additionalProperties": inner()} },
		func() any { return m.object(depth - 1) },
		func() any { return object{"anyOf": []any{inner(), inner()}, "description": "Either."} },
		func() any { return object{"oneOf": []any{inner(), object{"type": "null"}}} },
		func() any { return object{"allOf": []any{inner()}} },
		func() any { return object{"not": object{"type": "string"}, "type": "integer"} },
	)...)
}

// object returns a schema of objects.
func (m maker) object(depth int) object {
	properties, required := object{}, []any{}
	for range 1 + m.IntN(3) {
		name := argumentNames[m.IntN(len(argumentNames))]
		properties[name] = m.schema(depth)
		if m.IntN(2) == 0 && !slices.Contains(required, any(name)) {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	switch m.IntN(4) {
	case 0:
		out["additionalProperties"] = false
	case 1:
		out["minProperties"] = 1
	}
	return out
}

// root returns a schema of arguments.
func (m maker) root() object {
	out := m.object(2)
	switch m.IntN(7) {
	case 0:
		out["oneOf"] = []any{object{"required": []any{"a"}}, object{"required": []any{"b"}}}
	case 1:
		out = object{"anyOf": []any{m.object(1), m.object(1), m.object(0)}}
	case 2:
		out = object{"allOf": []any{m.object(1), object{"$ref": "#/$defs/F"}}, "type": "object"}
	case 3:
		out = object{"$ref": "#/$defs/F"}
	case 4:
		out["not"] = object{"required": []any{"a", "b"}}
	case 5:
		out["if"], out["then"] = object{"required": []any{"$top"}}, object{"required": []any{"a"}}
	}
	out["$defs"] = object{
		"D": object{"type": "object", "properties": object{"d": object{"$ref": "#/$defs/D"}, "s": object{"type": "string"}}},
		"F": m.object(1),
	}
	out["definitions"] = object{"E": object{"type": "string", "maxLength": 1}}
	return out
}

// value returns a value for a schema, which it may not fit.
func (m maker) value(doc object, schema any, depth int) any {
	s, _ := schema.(object)
	if ref, ok := s["$ref"].(string); ok {
		s, _ = object{
			"#/$defs/D": doc["$defs"].(object)["D"], "#/$defs/F": doc["$defs"].(object)["F"],
			"#/definitions/E": doc["definitions"].(object)["E"],
		}[ref].(object)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := s[keyword].([]any); ok && s["properties"] == nil {
			if keyword == "allOf" && len(list) > 1 { // of objects
				all := object{}
				for _, branch := range list {
					part, _ := m.value(doc, branch, depth-1).(object)
					for name, v := range part {
						all[name] = v
					}
				}
				return all
			}
			return m.value(doc, list[m.IntN(len(list))], depth-1)
		}
	}
	if values, ok := s["enum"].([]any); ok {
		return values[m.IntN(len(values))]
	}
	if v, ok := s["const"]; ok {
		return v
	}
	typ := s["type"]
	if list, ok := typ.([]any); ok {
		typ = list[m.IntN(len(list))]
	}
	switch typ {
	case "string":
		return []any{"x", "", "yes"}[m.IntN(3)]
	case "integer":
		return m.IntN(3)
	case "number":
		return 1.5
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		list := []any{}
		for i := range m.IntN(3) {
			items := s["items"]
			if tuple, ok := items.([]any); ok {
				items = tuple[i]
			}
			list = append(list, m.value(doc, items, depth-1))
		}
		return list
	}
	out := object{}
	properties, _ := s["properties"].(object)
	for name, p := range properties {
		if depth > 0 && m.IntN(3) > 0 {
			out[name] = m.value(doc, p, depth-1)
		}
	}
	if extra, ok := s["additionalProperties"].(object); ok && depth > 0 {
		out["k"] = m.value(doc, extra, depth-1)
	}
	return out
}

// decoded returns a value as tools decode it.
func decoded(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tools.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// nullable writes Gemini's nullable as JSON Schema.
func nullable(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, member := range v {
			out[name] = nullable(member)
		}
		if out["nullable"] == true {
			delete(out, "nullable")
			return object{"anyOf": []any{out, object{"type": "null"}}}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = nullable(item)
		}
		return out
	}
	return v
}

// TestNothingValidIsRuledOut: arguments that a schema accepts are accepted by what is sent for
// it in each dialect, with the names that are sent, and come back with the declared names.
// What is sent is in its dialect already.
func TestNothingValidIsRuledOut(t *testing.T) {
	checked := 0
	for seed := range uint64(300) {
		m := maker{rand.New(rand.NewPCG(seed, 76))}
		doc := m.root()
		raw, _ := json.Marshal(doc)
		full, err := tools.Compile(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Anthropic, dialect.Subset} {
			said := dialect.Say(raw, d)
			if again := dialect.Say(said.Schema, d); string(again.Schema) != string(said.Schema) || again.Lost != "" || again.Faults != nil || again.Names != nil {
				t.Fatalf("%s %d:\n%s\n%s\n%s\n%+v", d, seed, raw, said.Schema, again.Schema, again)
			}
			sent := compiled(t, said.Schema)
			for range 5 {
				value := decoded(t, m.value(doc, any(doc), 4))
				if len(full.Check(value)) > 0 || !follows(t, doc, value.(object)) {
					continue
				}
				checked++
				renamed := object{}
				for name, v := range value.(object) {
					for to, from := range said.Names {
						if from == name {
							name = to
						}
					}
					renamed[name] = v
				}
				if faults := sent.Check(any(renamed)); len(faults) > 0 {
					t.Fatalf("%s %d: %v is refused: %v\n%s\n%s", d, seed, value, faults, raw, said.Schema)
				}
				text, _ := tools.Encode(renamed)
				back, _ := tools.Encode(value)
				if got := dialect.Restore(said.Names, text); string(got) != string(back) {
					t.Fatalf("%s %d: %s comes back as %s", d, seed, back, got)
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d values were valid", checked)
	}
}

// follows reports whether one of the alternatives at the top, if there are any with
// properties, accepts the arguments and names them all.
func follows(t *testing.T, doc, value object) bool {
	list, ok := doc["anyOf"].([]any)
	if !ok {
		return true
	}
	return slices.ContainsFunc(list, func(branch any) bool {
		alone := object{"$defs": doc["$defs"], "definitions": doc["definitions"]}
		maps.Copy(alone, branch.(object))
		text, _ := json.Marshal(alone)
		schema, err := tools.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		properties := alone["properties"].(object)
		for name := range value {
			if _, ok := properties[name]; !ok {
				return false
			}
		}
		return len(schema.Check(any(value))) == 0
	})
}

func compiled(t *testing.T, schema json.RawMessage) *tools.Schema {
	t.Helper()
	doc, err := tools.Decode(schema)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := tools.Encode(nullable(doc))
	s, err := tools.Compile(text)
	if err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	return s
}

// FuzzSay has any JSON as the schema: what is sent is a schema of objects in its dialect.
func FuzzSay(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"required":true,"properties":{"a":7,"b":false}}`, `{"$ref":"#","properties":{"x":{"$ref":"#/properties/x"}}}`,
		`{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"anyOf":[{"$ref":"#/$defs/a~1b%25"}],"$defs":{"a/b%":{"items":[{},false]}}}`,
		`{"type":["object",7],"enum":[{}],"properties":{"":{"type":"any"},"é":{"enum":[]}},"if":{},"patternProperties":{"(":null}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Anthropic, dialect.Subset} {
			said := dialect.Say(json.RawMessage(schema), d)
			root, err := tools.Decode(said.Schema)
			if object, _ := root.(object); err != nil || object["type"] != "object" {
				t.Fatalf("%s: %s %v", d, said.Schema, err)
			}
			if again := dialect.Say(said.Schema, d); string(again.Schema) != string(said.Schema) {
				t.Fatalf("%s:\n%s\n%s", d, said.Schema, again.Schema)
			}
			if other := dialect.Say(json.RawMessage(schema), d); string(other.Schema) != string(said.Schema) || other.Lost != said.Lost {
				t.Fatalf("%s: differs from time to time: %s, %s", d, said.Schema, other.Schema)
			}
		}
	})
}
