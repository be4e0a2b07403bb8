package dialect_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/tools/dialect"
)

// TestSay has a schema for each rule. Where a case has no text for a dialect, that dialect writes the schema
// as the one before.
func TestSay(t *testing.T) {
	for name, c := range map[string]struct{ schema, openai, anthropic, subset, lost, faults string }{
		"plain": {
			schema: `{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}`,
			openai: `{"additionalProperties":false,"properties":{"a":{"minimum":1,"type":"integer"}},"required":["a"],"type":"object"}`,
			subset: `{"properties":{"a":{"minimum":1,"type":"integer"}},"required":["a"],"type":"object"}`,
		},
		"nothing": {schema: `{}`, openai: `{"properties":{},"type":"object"}`, subset: `{"type":"object"}`},
		"no JSON": {schema: `{`, openai: `{"properties":{},"type":"object"}`, subset: `{"type":"object"}`, faults: "no object"},
		"one of several": {
			schema: `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
			openai: `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`,
			lost:   `The arguments also follow this JSON Schema: {"oneOf":[{"required":["a"]},{"required":["b"]}]}`, faults: "oneOf at the top",
		},
		"tagged union": {
			schema: `{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]},{"type":"string"}]}`,
			openai: `{"properties":{"kind":{"enum":["a","b"]},"x":{"type":"integer"}},"required":["kind"],"type":"object"}`,
			subset: `{"properties":{"kind":{"enum":["a","b"],"type":"string"},"x":{"type":"integer"}},"required":["kind"],"type":"object"}`,
			lost:   `The arguments also follow this JSON Schema: {"anyOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"],"type":"object"},{"properties":{"kind":{"const":"b"}},"required":["kind"],"type":"object"},{"type":"string"}]}`,
			faults: "anyOf at the top|no type object at the top",
		},
		"recursion": {
			schema: `{"$ref":"#/definitions/T","definitions":{"T":{"type":"object","properties":{"next":{"$ref":"#/definitions/T"}}},"unused":{}}}`,
			openai: `{"$defs":{"T":{"properties":{"next":{"$ref":"#/$defs/T"}},"type":"object"}},"properties":{"next":{"$ref":"#/$defs/T"}},"type":"object"}`,
			subset: `{"properties":{"next":{"properties":{"next":{"description":"(as T above)","type":"object"}},"type":"object"}},"type":"object"}`,
			faults: "$ref at the top|no type object at the top",
		},
		"tuple of draft 7": {
			schema: `{"type":"object","properties":{"q":{"type":"array","items":[{"type":"string"}],"additionalItems":{"$ref":"#/properties/q/items/0"}},"r":{"type":"array","items":[{"type":"number"}],"additionalItems":false}}}`,
			openai: `{"$defs":{"0":{"type":"string"}},"properties":{"q":{"items":{"$ref":"#/$defs/0"},"prefixItems":[{"type":"string"}],"type":"array"},"r":{"items":{},"maxItems":1,"prefixItems":[{"type":"number"}],"type":"array"}},"type":"object"}`,
			subset: `{"properties":{"q":{"description":"(JSON Schema: {\"prefixItems\":[{\"type\":\"string\"}]})","items":{"anyOf":[{"nullable":true,"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"type":"array"},"r":{"description":"(JSON Schema: {\"prefixItems\":[{\"type\":\"number\"}]})","items":{"anyOf":[{"nullable":true,"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]},"maxItems":1,"type":"array"}},"type":"object"}`,
			faults: "a list in items, which draft 2020-12 writes as prefixItems",
		},
		"bounds of draft 4": {
			schema: `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":true,"minimum":0,"exclusiveMaximum":false,"maximum":9007199254740993}}}`,
			openai: `{"properties":{"n":{"exclusiveMinimum":0,"maximum":9007199254740993,"type":"integer"}},"type":"object"}`,
			subset: `{"properties":{"n":{"description":"(JSON Schema: {\"exclusiveMinimum\":0})","maximum":9007199254740993,"minimum":0,"type":"integer"}},"type":"object"}`,
			faults: `"exclusiveMaximum" is a boolean, as in draft 4|"exclusiveMinimum" is a boolean, as in draft 4`,
		},
		"names of arguments": {
			schema:    `{"type":"object","properties":{"filter[id]":{"type":"string","description":"By id."},"filter_id_":{"type":"string"},"é":{}},"required":["filter[id]"],"additionalProperties":false,"dependentRequired":{"é":["filter_id_"]}}`,
			openai:    `{"additionalProperties":false,"dependentRequired":{"é":["filter_id_"]},"properties":{"filter[id]":{"description":"By id.","type":"string"},"filter_id_":{"type":"string"},"é":{}},"required":["filter[id]"],"type":"object"}`,
			anthropic: `{"additionalProperties":false,"properties":{"_":{"description":"\"é\"."},"filter_id_":{"type":"string"},"filter_id__665d001d":{"description":"\"filter[id]\". By id.","type":"string"}},"required":["filter_id__665d001d"],"type":"object"}`,
			subset:    `-`,
			lost:      `The arguments also follow this JSON Schema: {"dependentRequired":{"é":["filter_id_"]}}`,
			faults:    `the name "filter[id]" of an argument|the name "é" of an argument|dependentRequired at the top`,
		},
		"what no draft has": {
			schema: `{"type":"object","required":null,"properties":{"a":"string","b":{"type":"any","required":true,"minLength":"1"},"c":{"enum":[]},"d":false,"e":{"$ref":"https://example.com/x"}}}`,
			openai: `{"properties":{"a":{},"b":{},"c":{},"e":{}},"type":"object"}`, subset: `-`,
			faults: `"enum" is a list|"minLength" is a text|"required" is a boolean|"required" is null|"type" is a text|the reference "https://example.com/x", which is not to a part of the schema|the schema of "a" is a text`,
		},
		"optional values": {
			schema: `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"description":"An integer."},"c":{"type":["integer","string"],"minimum":1,"minLength":2}}}`,
			openai: `{"properties":{"a":{"enum":["x",null],"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"description":"An integer."},"c":{"minLength":2,"minimum":1,"type":["integer","string"]}},"type":"object"}`,
			subset: `{"properties":{"a":{"enum":["x"],"nullable":true,"type":"string"},"b":{"description":"An integer. (JSON Schema: {\"default\":null})","nullable":true,"type":"integer"},"c":{"anyOf":[{"minimum":1,"type":"integer"},{"description":"(JSON Schema: {\"minLength\":2})","type":"string"}]}},"type":"object"}`,
		},
	} {
		want := c.openai
		for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Anthropic, dialect.Subset} {
			if own := map[dialect.Dialect]string{dialect.Anthropic: c.anthropic, dialect.Subset: c.subset}[d]; own != "" {
				want = own
			}
			said := dialect.Say(json.RawMessage(c.schema), d)
			if string(said.Schema) != want && want != "-" {
				t.Errorf("%s, %s:\n%s, want\n%s", name, d, said.Schema, want)
			}
			if named := d == dialect.OpenAI && strings.Contains(c.faults, "the name"); !named &&
				(said.Lost != c.lost || strings.Join(said.Faults, "|") != sorted(c.faults)) {
				t.Errorf("%s, %s: %q %q", name, d, said.Lost, said.Faults)
			}
		}
	}
}

func sorted(faults string) string {
	if faults == "" {
		return ""
	}
	list := strings.Split(faults, "|")
	slices.Sort(list)
	return strings.Join(list, "|")
}

// TestHostileSchemas end soon, and stay small: each level of the first has the next twice.
func TestHostileSchemas(t *testing.T) {
	twice := `"$defs":{"d0":{"type":"object"}`
	for i := range 40 {
		twice += `,"d` + jsonInt(i+1) + `":{"allOf":[{"$ref":"#/$defs/d` + jsonInt(i) + `"},{"$ref":"#/$defs/d` + jsonInt(i) +
			`"}],"properties":{"l":{"$ref":"#/$defs/d` + jsonInt(i) + `"},"r":{"$ref":"#/$defs/d` + jsonInt(i) + `"}}}`
	}
	twice += "}"
	for name, schema := range map[string]string{
		"doubling":  `{"$ref":"#/$defs/d40",` + twice + `}`,
		"all of":    `{"allOf":[{"$ref":"#/$defs/d40"},{"$ref":"#/$defs/d39"}],` + twice + `}`,
		"itself":    `{"$ref":"#","allOf":[{"$ref":"#"}],"anyOf":[{"$ref":"#"},{"$ref":"#/anyOf/0"}]}`,
		"deep":      strings.Repeat(`{"properties":{"a":`, 5000) + `{}` + strings.Repeat(`}}`, 5000),
		"many refs": `{"properties":{"x":{}` + strings.Repeat(`,"y":{"$ref":"#/properties/x"}`, 20000) + `}}`,
	} {
		for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Anthropic, dialect.Subset} {
			began := time.Now()
			said := dialect.Say(json.RawMessage(schema), d)
			if took := time.Since(began); took > 5*time.Second || len(said.Schema) > 1<<20 {
				t.Errorf("%s, %s: %d bytes after %s", name, d, len(said.Schema), took)
			}
		}
	}
}

func jsonInt(i int) string {
	text, _ := json.Marshal(i)
	return string(text)
}
