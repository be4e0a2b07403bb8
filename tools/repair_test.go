package tools_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// TestMistakesOfModels runs testdata/mistakes.txt: nine in ten at least must be
// repaired, or answered with a fault that names the right thing.
func TestMistakesOfModels(t *testing.T) {
	text, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n== ")
	schemas := map[string]*tools.Schema{}
	for line := range strings.Lines(head) {
		if fields := strings.SplitN(strings.TrimSpace(line), " ", 3); len(fields) == 3 && fields[0] == "schema" {
			schemas[fields[1]] = compile(t, fields[2])
		}
	}
	total, good := 0, 0
	for block := range strings.SplitSeq(rest, "\n== ") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		c := map[string]string{}
		for _, line := range lines[1:] {
			key, value, _ := strings.Cut(line, ": ")
			c[key] = value
		}
		given, err := strconv.Unquote(c["given"])
		if err != nil {
			t.Fatalf("%s: %v", lines[0], err)
		}
		total++
		if problem := answer(t, schemas[c["schema"]], given, c["repaired"], c["fault"]); problem != "" {
			t.Logf("%s: %s", lines[0], problem)
			continue
		}
		good++
	}
	t.Logf("%d of %d", good, total)
	if total < 40 || good*10 < total*9 {
		t.Errorf("%d of %d mistakes are answered in one turn", good, total)
	}
}

// answer returns "" or what was wrong with the answer to a mistake.
func answer(t *testing.T, s *tools.Schema, given, repaired, fault string) string {
	args, notices, e := tools.Parse(json.RawMessage(given))
	if e != nil {
		if fault == "" || !strings.Contains(e.Error(), fault) {
			return e.Error()
		}
		return ""
	}
	fixed, more := s.Repair(args)
	messages := ""
	for _, f := range s.Check(fixed) {
		messages += f.Message + "\n"
	}
	switch {
	case repaired == "" && (messages == "" || !strings.Contains(messages, fault)):
		return encode(t, fixed) + ": " + messages
	case repaired != "" && (messages != "" || encode(t, fixed) != repaired):
		return encode(t, fixed) + ": " + messages
	case repaired != "" && len(notices)+len(more) == 0 && !strings.Contains(given, ".0"):
		return "no notice"
	}
	return ""
}

func TestRepairLeavesAlone(t *testing.T) {
	for _, c := range []struct{ name, schema, args string }{
		{"text that looks like a number", `{"properties":{"a":{"type":"string"}}}`, `{"a":"5"}`},
		{"another name where others are allowed", `{"properties":{"limit":{"type":"integer"}}}`, `{"Limit":5}`},
		{"two names for one property", `{"properties":{"a_b":{}},"required":["a_b"],"additionalProperties":false}`, `{"AB":2,"aB":1}`},
		{"a number for two properties' names", `{"properties":{"ab":{},"a_b":{}},"additionalProperties":false}`, `{"AB":1}`},
		{"text for two types", `{"properties":{"a":{"type":["number","array"],"items":{"type":"number"}}}}`, `{"a":"5"}`},
		{"enum that fits twice", `{"properties":{"a":{"enum":["A-b","a_B"]}}}`, `{"a":"AB"}`},
		{"a property named as a wrapper", `{"properties":{"input":{"type":"object"},"x":{}},"required":["x"],"additionalProperties":false}`, `{"input":{"x":1}}`},
		{"null that is allowed", `{"properties":{"a":{"type":["null","string"]}}}`, `{"a":null}`},
		{"what is needed", `{"properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := compile(t, c.schema)
			got, notices := s.Repair(decode(t, c.args).(map[string]any))
			if diff := cmp.Diff(c.args, encode(t, got)); diff != "" || notices != nil {
				t.Error(diff, notices)
			}
		})
	}
}

func TestRepairFillsDefaultsAndTheyAreNotShared(t *testing.T) {
	s := compile(t, `{"properties":{"n":{"type":"integer","default":10},"l":{"type":"array","default":["a"]},"bad":{"type":"integer","default":"x"},
		"in":{"type":"object","properties":{"d":{"default":true}}}}}`)
	given := decode(t, `{"in":{}}`).(map[string]any)
	got, notices := s.Repair(given)
	if want := `{"in":{"d":true},"l":["a"],"n":10}`; encode(t, got) != want || notices != nil {
		t.Errorf("%s %v, want %s", encode(t, got), notices, want)
	}
	if encode(t, given) != `{"in":{}}` {
		t.Error("the arguments given were changed")
	}
	got["l"].([]any)[0] = "changed"
	if again, _ := s.Repair(nil); again["l"].([]any)[0] != "a" {
		t.Error("a default was changed through a result")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		code      errcode.Code
	}{
		{"too long", `"` + strings.Repeat("a", tools.MaxArguments) + `"`, errcode.Limit},
		{"too deep", strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat("}", 70), errcode.Limit},
		{"a number", `5`, errcode.InvalidArguments},
		{"text", `"hello"`, errcode.InvalidArguments},
		{"two objects", `{} {}`, errcode.InvalidArguments},
		{"a brace too many", `{}}`, errcode.InvalidArguments},
	} {
		if _, _, e := tools.Parse(json.RawMessage(c.raw)); e == nil || e.Code != c.code {
			t.Errorf("%s: %v, want %s", c.name, e, c.code)
		}
	}
	for _, raw := range []string{"", "null", " ", `""`, `{}`, `"null"`} {
		if args, _, e := tools.Parse(json.RawMessage(raw)); e != nil || args == nil || len(args) != 0 {
			t.Errorf("%q: %v, %v", raw, args, e)
		}
	}
}

func TestExample(t *testing.T) {
	for schema, want := range map[string]string{
		haversine: `{"lat1":1,"lat2":1,"lon1":1,"lon2":1}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":5,"maximum":9}}}`:               `{"a":5}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"number","exclusiveMinimum":0,"maximum":0.5}}}`:     `{"a":0.5}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","multipleOf":7,"minimum":50}}}`:           `{"a":56}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","format":"date"}}}`:                        `{"a":"2026-01-31"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[A-Z]{3}-[0-9]+$"}}}`:          `{"a":"AAA-1"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":6}}}`:                          `{"a":"texttt"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":2,"items":{"enum":["x"]}}}}`:     `{"a":["x","x"]}`,
		`{"type":"object","required":["a"],"properties":{"a":{"examples":["e"],"default":"d"}}}`:                         `{"a":"e"}`,
		`{"oneOf":[{"properties":{"k":{"const":"a"}},"required":["k"]}]}`:                                                `{"k":"a"}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`: `{"a":1}`,
		`{"allOf":[{"required":["a"],"properties":{"a":{"type":"boolean"}}},{"required":["b"]}]}`:                        `{"a":true,"b":"text"}`,
		`false`: ``,
		`{"type":"object","required":["a"],"properties":{"a":false}}`:        ``,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`: ``,
	} {
		if got := string(compile(t, schema).Example()); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

// FuzzSchema checks what holds of every schema and value.
func FuzzSchema(f *testing.F) {
	for _, seed := range [][2]string{
		{haversine, `{"lat1":"1","Lon1":2,"lat2":3,"lon2":4}`},
		{`{"properties":{"a":{"type":["number","null"],"minimum":0}},"additionalProperties":false}`, `{"A":"5"}`},
		{`{"anyOf":[{"required":["a"],"properties":{"a":{"type":"integer"}}},{"$ref":"#/$defs/b"}],"$defs":{"b":{"type":"object","properties":{"l":{"type":"array","items":{"enum":["x","Y"]}}}}}}`, `{"l":"X","a":"1"}`},
		{`{"properties":{"a":{"default":{"b":1.0},"properties":{"b":{"type":"integer"}}}},"required":["a"]}`, `{"input":"{\"a\":null}"}`},
		{`{"patternProperties":{"^a":{"type":"boolean"}},"propertyNames":{"maxLength":2},"unevaluatedProperties":false}`, `{"a":"true","abc":1}`},
		{`{"type":"object","properties":{"p":{"oneOf":[{"type":"string","pattern":"^[a-c]+$"},{"type":"array","prefixItems":[{"const":1}],"contains":{"type":"string"}}]}}}`, `{"p":"[1,\"a\"]"}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		if len(schema) > 4000 || len(value) > 4000 {
			return
		}
		s, err := tools.Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		if example := s.Example(); example != nil && s.Check(decode(t, string(example))) != nil {
			t.Errorf("the example %s is not valid", example)
		}
		tools.Properties(schema)
		v, err := tools.Decode([]byte(value))
		if err != nil {
			return
		}
		before := s.Check(v)
		args, ok := v.(map[string]any)
		if !ok {
			return
		}
		text := encode(t, args)
		fixed, notices := s.Repair(args)
		if encode(t, args) != text {
			t.Errorf("Repair changed what it was given: %s, now %s", text, encode(t, args))
		}
		if after := s.Check(fixed); len(before) == 0 && (len(after) > 0 || len(notices) > 0) {
			t.Errorf("%s is valid; repaired to %s %v: %v", text, encode(t, fixed), notices, after)
		}
		again, more := s.Repair(fixed)
		if encode(t, again) != encode(t, fixed) || len(more) > 0 {
			t.Errorf("repaired %s, then %s %v", encode(t, fixed), encode(t, again), more)
		}
	})
}

// FuzzParse checks that what is parsed is an object that parses to itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `"{\"a\":1}"`, "```json\n{}\n```", `"null"`, ``, `[{}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		args, _, e := tools.Parse(json.RawMessage(raw))
		if e != nil {
			if args != nil || e.Message == "" {
				t.Errorf("%q: %v next to %v", raw, args, e)
			}
			return
		}
		text := encode(t, args)
		again, notices, e := tools.Parse(json.RawMessage(text))
		if e != nil && e.Code == errcode.Limit { // escapes make text longer
			return
		}
		if e != nil || len(notices) > 0 || encode(t, again) != text {
			t.Errorf("%q: %s, then %v %v %v", raw, text, again, notices, e)
		}
	})
}
