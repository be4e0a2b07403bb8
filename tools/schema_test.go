package tools_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/test/cputime"
	"github.com/spiced-sql/spiced/tools"
)

const haversine = `{"type":"object","properties":{
	"lat1":{"type":"number"},"lon1":{"type":"number"},"lat2":{"type":"number"},"lon2":{"type":"number"}},
	"required":["lat1","lon1","lat2","lon2"],"additionalProperties":false}`

func compile(t testing.TB, schema string) *tools.Schema {
	t.Helper()
	s, err := tools.Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("Compile(%.200s): %v", schema, err)
	}
	return s
}

func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := tools.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return v
}

func encode(t testing.TB, value any) string {
	t.Helper()
	b, err := tools.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCheckSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ name, schema, value, want string }{
		{"valid", haversine, `{"lat1":1,"lon1":2.5,"lat2":-3,"lon2":4e1}`, ``},
		{"missing", haversine, `{"lon1":2,"lat2":3,"lon2":4}`, `/lat1 required "lat1" is missing; a number is needed`},
		{"text", haversine, `{"lat1":"x","lon1":2,"lat2":3,"lon2":4}`, `/lat1 type "lat1" is text; a number is needed`},
		{
			"other name", haversine, `{"latitude":1,"lon1":2,"lat2":3,"lon2":4}`,
			`/lat1 required "lat1" is missing; a number is needed|/latitude additionalProperties there is no argument "latitude"; did you mean "lat1"?`,
		},
		{"no object", haversine, `[1]`, ` type the value is a list; an object is needed`},
		{"no arguments", `{"type":"object","additionalProperties":false}`, `{"x":1}`, `/x additionalProperties there is no argument "x"; it takes none`},
		{
			"nested", `{"properties":{"f":{"properties":{"ids":{"items":{"type":"integer"}}},"additionalProperties":false}}}`,
			`{"f":{"ids":[1,"b"],"x":0}}`,
			`/f/ids/1 type "f.ids[1]" is text; a whole number is needed|/f/x additionalProperties there is no "x" in "f"; there are "ids"`,
		},
		{"pointer is escaped", `{"properties":{"a/b~c":{"type":"null"}}}`, `{"a/b~c":1}`, `/a~1b~0c type "a/b~c" is a number; null is needed`},
		{"enum", `{"properties":{"unit":{"enum":["km","mi"]}}}`, `{"unit":"parsec"}`, `/unit enum "unit" is "parsec"; one of "km", "mi" is needed`},
		{"enum, near", `{"properties":{"unit":{"enum":["metre","mile"]}}}`, `{"unit":"metres"}`, `/unit enum "unit" is "metres"; did you mean "metre"?`},
		{"const", `{"properties":{"v":{"const":2}}}`, `{"v":3}`, `/v const "v" is 3; 2 is needed`},
		{"minimum", `{"properties":{"n":{"minimum":1}}}`, `{"n":0.5}`, `/n minimum "n" is 0.5; at least 1 is needed`},
		{
			"maximum", `{"properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740994}`,
			`/n maximum "n" is 9007199254740994; at most 9007199254740993 is allowed`,
		},
		{"exclusive", `{"properties":{"n":{"exclusiveMinimum":0,"exclusiveMaximum":1}}}`, `{"n":1}`, `/n exclusiveMaximum "n" is 1; less than 1 is needed`},
		{"multiple", `{"properties":{"n":{"multipleOf":5}}}`, `{"n":7}`, `/n multipleOf "n" is 7; a multiple of 5 is needed`},
		{"length", `{"properties":{"s":{"minLength":3}}}`, `{"s":"é"}`, `/s minLength "s" has 1 characters; at least 3 are needed`},
		{"pattern", `{"properties":{"s":{"pattern":"^a+$"}}}`, `{"s":"b"}`, `/s pattern "s" is "b"; text that matches ^a+$ is needed`},
		{"items", `{"properties":{"l":{"minItems":1,"uniqueItems":true}}}`, `{"l":[1,1.0]}`, `/l uniqueItems "l" has equal items at 0 and 1; they must differ`},
		{"either type", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, `/a anyOf "a" has the wrong type; text or null is needed`},
		{
			"the branch meant", `{"properties":{"a":{"anyOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"type":"null"}]}}}`, `{"a":{"x":"q"}}`,
			`/a/x type "a.x" is text; a whole number is needed`,
		},
		{
			"the kind meant", `{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}}},{"properties":{"kind":{"const":"b"},"y":{"type":"integer"}}}]}`,
			`{"kind":"b","x":"s","y":"t"}`, `/y type "y" is text; a whole number is needed`,
		},
		{"depends", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b dependentRequired "b" is missing; it belongs to "a"`},
		{"not", `{"properties":{"a":{"not":{"const":1}}}}`, `{"a":1}`, `/a not "a" is not allowed`},
		{"names", `{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, ` propertyNames the name "A" in the value is not allowed`},
		{
			"huge number", `{"properties":{"n":{"minimum":0}}}`, `{"n":1e999999999}`,
			`/n type "1e999999999" is not a number that can be computed with; at most 400 characters and exponents up to 400 are`,
		},
		{
			"format is a note", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"d":{"format":"date"},"r":{"format":"regex"}}}`,
			`{"d":"never","r":"("}`, ``,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range compile(t, c.schema).Check(decode(t, c.value)) {
				got = append(got, f.Path+" "+f.Keyword+" "+f.Message)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFaultsAreFewSortedAndTheSameEachTime(t *testing.T) {
	s := compile(t, `{"additionalProperties":{"type":"integer"}}`)
	value := map[string]any{}
	for _, a := range "zyxwvutsrqponmlkjihgfedcba" {
		value[string(a)] = "text"
	}
	first := s.Check(value)
	if len(first) != tools.MaxFaults || first[0].Path != "/a" || first[1].Path != "/b" {
		t.Fatalf("%d faults, the first %v", len(first), first[0])
	}
	for range 20 {
		if diff := cmp.Diff(first, s.Check(value)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestEveryDraftIsRead(t *testing.T) {
	for name, schema := range map[string]string{
		"draft 4":            `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`,
		"draft 6":            `{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"n":{"exclusiveMinimum":0}}}`,
		"draft 7":            `{"$schema":"http://json-schema.org/draft-07/schema","properties":{"n":{"exclusiveMinimum":0}}}`,
		"2019-09":            `{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"n":{"exclusiveMinimum":0}}}`,
		"2020-12":            `{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"n":{"exclusiveMinimum":0}}}`,
		"none, as draft 4":   `{"properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`,
		"none, as 2020-12":   `{"properties":{"n":{"exclusiveMinimum":0}}}`,
		"with definitions":   `{"$ref":"#/definitions/A","definitions":{"A":{"properties":{"n":{"exclusiveMinimum":0}}}}}`,
		"with its own name":  `{"$id":"https://example.com/a.json","properties":{"n":{"$ref":"#/$defs/pos"}},"$defs":{"pos":{"exclusiveMinimum":0}}}`,
		"named as in draft4": `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://example.com/a","properties":{"n":{"$ref":"#/definitions/p"}},"definitions":{"p":{"minimum":0,"exclusiveMinimum":true}}}`,
	} {
		s := compile(t, schema)
		if f := s.Check(decode(t, `{"n":0}`)); len(f) != 1 || f[0].Path != "/n" {
			t.Errorf("%s: faults of 0: %v", name, f)
		}
		if f := s.Check(decode(t, `{"n":1}`)); f != nil {
			t.Errorf("%s: faults of 1: %v", name, f)
		}
	}
}

func TestNothingOutsideTheDocumentIsRead(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{
		"file:///etc/hostname", "file://" + file, file, "http://" + listener.Addr().String() + "/schema",
		"http://127.0.0.1/schema.json", "other.json", "../other.json#/a", "https://example.com/schema",
	} {
		for _, schema := range []string{
			`{"$ref":` + encode(t, ref) + `}`,
			`{"properties":{"a":{"items":{"$ref":` + encode(t, ref) + `}}}}`,
			`{"$schema":` + encode(t, ref) + `}`,
			`{"$id":` + encode(t, ref) + `,"$ref":"x"}`,
		} {
			_, err := tools.Compile(json.RawMessage(schema))
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
	if err := listener.(*net.TCPListener).SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if c, err := listener.Accept(); err == nil {
		t.Errorf("a connection came from %s", c.RemoteAddr())
	}
}

func TestCompileSaysWhy(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"no JSON", `{`, "not JSON"},
		{"two values", `{} {}`, "something follows"},
		{"a bracket follows", `{}]`, "something follows"},
		{"no schema", `[]`, "the value is a list"},
		{"wrong type", `{"properties":{"a":{"type":"float"}}}`, `/properties/a/type`},
		{"no such definition", `{"$ref":"#/$defs/a"}`, "$defs/a"},
		{"outside", `{"$ref":"file:///etc/hostname"}`, `"file:///etc/hostname" is not part of the schema: nothing outside of it is read`},
		{"itself", `{"$ref":"#"}`, "without end"},
		{"itself by another", `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`, "without end"},
		{"dynamic", `{"$dynamicRef":"#a","$defs":{"x":{"$dynamicAnchor":"a"}}}`, "$dynamicRef"},
		{"too long", `{"description":"` + strings.Repeat("a", tools.MaxSchema) + `"}`, "the limit is"},
		{"too deep", strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat("}", 100), "deeper than 64"},
		{"too many", `{"enum":[` + strings.Repeat("[],", 5000) + `[]]}`, "the limit is 4096"},
		{"huge number", `{"minimum":1e999999}`, "exponents"},
		{"unmatched names", `{"patternProperties":{"(?=a)":{}}}`, "cannot be matched"},
		{"unmatched below not", `{"not":{"pattern":"(?=a)"}}`, "cannot be matched"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tools.Compile(json.RawMessage(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestPatternThatGoCannotMatchIsNotAsserted(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"pattern":"^(?!x)"},"b":{"pattern":"^\\u0041$"},"c":{"type":"integer"}}}`)
	if diff := cmp.Diff([]string{"^(?!x)"}, s.Unchecked()); diff != "" {
		t.Error(diff)
	}
	if f := s.Check(decode(t, `{"a":"x","b":"A"}`)); f != nil {
		t.Errorf("faults: %v", f)
	}
	if f := s.Check(decode(t, `{"b":"B","c":"x"}`)); len(f) != 2 {
		t.Errorf("faults: %v", f)
	}
}

func TestHostileSchemasEndSoon(t *testing.T) {
	within := cputime.Limit(t, 20*time.Second)
	var doubling strings.Builder
	doubling.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range 60 {
		next := string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10))
		name := string(rune('0'+i/10)) + string(rune('0'+i%10))
		doubling.WriteString(`"a` + name + `":{"allOf":[{"$ref":"#/$defs/a` + next + `"},{"$ref":"#/$defs/a` + next + `"}]},`)
	}
	doubling.WriteString(`"a60":{"type":"integer"}}}`)
	schema := strings.Replace(doubling.String(), "#/$defs/a0\"", "#/$defs/a00\"", 1)
	s := compile(t, schema)
	if f := s.Check(decode(t, `{}`)); len(f) != 1 || !strings.Contains(f[0].Message, "too long") {
		t.Errorf("faults: %v", f)
	}
	s.Repair(map[string]any{"a": "1"})
	s.Example()

	s = compile(t, `{"type":"object","properties":{"x":{"$ref":"#"}},"allOf":[{"properties":{"x":{"$ref":"#"}}}]}`)
	deep := decode(t, strings.Repeat(`{"x":`, 60)+`{}`+strings.Repeat(`}`, 60))
	if f := s.Check(deep); len(f) != 1 || !strings.Contains(f[0].Message, "too long") {
		t.Errorf("faults: %v", f)
	}
	s.Repair(deep.(map[string]any))
	within()
}

func TestRecursiveSchema(t *testing.T) {
	s := compile(t, `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["v"],"additionalProperties":false,
		"properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}}}}}`)
	if f := s.Check(decode(t, `{"v":1,"next":{"v":2,"next":{"v":"x"}}}`)); len(f) != 1 || f[0].Path != "/next/next/v" {
		t.Errorf("faults: %v", f)
	}
	if f := s.Check(decode(t, strings.Repeat(`{"v":1,"next":`, 80)+`{}`+strings.Repeat(`}`, 80))); len(f) != 1 || !strings.Contains(f[0].Message, "deeper") {
		t.Errorf("faults: %v", f)
	}
}

func TestOpenAsksForAnObjectOnly(t *testing.T) {
	s := tools.Open()
	if f := s.Check(map[string]any{"a": 1}); f != nil {
		t.Errorf("faults: %v", f)
	}
	if f := s.Check("text"); len(f) != 1 {
		t.Errorf("faults: %v", f)
	}
	if got, notices := s.Repair(map[string]any{"a": "1"}); got["a"] != "1" || notices != nil {
		t.Errorf("repaired to %v, %v", got, notices)
	}
	if string(s.Example()) != "{}" || len(s.Unchecked()) != 0 {
		t.Error("the open schema names something")
	}
}

func TestProperties(t *testing.T) {
	const schema = `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","required":["b"],"properties":{
		"b":{"type":"array","items":{"$ref":"#/definitions/S"},"description":"names"},
		"a":{"enum":["x","y"]},"c":{"type":["integer","null"]},"d":{"anyOf":[{"type":"string"},{"type":"null"}]},"e":{}}},
		"S":{"type":"string"}}}`
	want := []tools.Property{
		{Name: "a", Type: `"x" | "y"`},
		{Name: "b", Type: "array of string", Required: true, Description: "names"},
		{Name: "c", Type: "integer or null"},
		{Name: "d", Type: "string or null"},
		{Name: "e", Type: "any"},
	}
	if diff := cmp.Diff(want, tools.Properties(schema)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkCheck(b *testing.B) {
	s := compile(b, haversine)
	for name, text := range map[string]string{
		"valid":   `{"lat1":47.37,"lon1":8.54,"lat2":40.71,"lon2":-74.0}`,
		"invalid": `{"lat1":47.37,"lon1":"east","lat2":40.71}`,
	} {
		value := decode(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Check(value)
			}
		})
	}
}
