package spicepod

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func TestParseDuration(t *testing.T) {
	good := map[string]time.Duration{
		"30s": 30 * time.Second, "500ms": 500 * time.Millisecond, "2m30s": 150 * time.Second,
		"1h": time.Hour, "1d": 24 * time.Hour, "1w 2h": 170 * time.Hour, "1.5s": 1500 * time.Millisecond, "15": 15 * time.Second, "0": 0, "10 s": 10 * time.Second,
		"3us": 3 * time.Microsecond,
	}
	for text, want := range good {
		if got, err := ParseDuration(text); got != want || err != nil {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "s", "-1s", "1x", "1s1", "9e9h", "99999999999999999999", "1..2s", "9999999999h", "s1"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v", text, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	good := map[string]Size{"128MiB": 128 << 20, "4GB": 4e9, "4 gib": 4 << 30, "0": 0, "4096": 4096, "12B": 12, "1.5KiB": 1536, "2TiB": 2 << 40}
	for text, want := range good {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B", "-1", "1XB", "1e3", "NaN", "inf", "99999999999TiB", "1.2.3", "1 2"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d", text, got)
		}
	}
	for size, want := range map[Size]string{0: "0B", 5: "5B", 1024: "1KiB", 32 << 20: "32MiB", 4 << 30: "4GiB", 32<<20 + 5: "32.0MiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d is %s, want %s", int64(size), got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"description", "name", "from", "kind", "args", "returns", "volatility"}
	tests := map[string]string{
		"descripton": "description", "Description": "description", "form": "from", "nmae": "name", "naem": "name",
		"knd": "kind", "volatilty": "volatility", "return": "returns", "xyz": "", "": "", "a": "", "arguments": "", "desc": "", "漢字": "",
	}
	for name, want := range tests {
		if got := nearest.Name(name, candidates); got != want {
			t.Errorf("nearest.Name(%q) = %q, want %q", name, got, want)
		}
	}
	if got := nearest.Name("x", nil); got != "" {
		t.Errorf("nothing is near, but got %q", got)
	}
}

func TestQualifiedNames(t *testing.T) {
	tests := []struct{ name, schema, table string }{
		{"Flights", "", "flights"},
		{"sales.Orders", "sales", "orders"},
		{`"Big Data"`, "", "Big Data"},
		{`S."a.B""c"`, "s", `a.B"c`},
	}
	for _, test := range tests {
		schema, table := Dataset{Name: test.name}.Qualified()
		if schema != test.schema || table != test.table {
			t.Errorf("%s is %q %q", test.name, schema, table)
		}
	}
}

func TestFingerprint(t *testing.T) {
	load := func(body, sql string, env string) Function {
		t.Setenv("SPICED_T_FP", env)
		dir := write(t, map[string]string{"f.sql": sql, "spicepod.yaml": head + "functions:\n" + body})
		pod, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return pod.Functions[0]
	}
	base := "- {name: f, from: sql, signature: {returns: int64}, body_ref: f.sql, params: {b: 1, a: '${env:SPICED_T_FP}'}}\n"
	moved := "\n\n- params: {a: '${env:SPICED_T_FP}', b: 1}\n  body_ref: f.sql\n  signature: {returns: int64}\n  from: sql\n  name: f\n"
	first := Fingerprint(load(base, "1", "x"))
	if len(first) != 64 {
		t.Errorf("fingerprint is %q", first)
	}
	if got := Fingerprint(load(moved, "1", "x")); got != first {
		t.Error("the place in the file counts")
	}
	different := map[string]string{
		"text of body_ref": Fingerprint(load(base, "2", "x")),
		"secret":           Fingerprint(load(base, "1", "y")),
		"number":           Fingerprint(load(strings.Replace(base, "b: 1", "b: 2", 1), "1", "x")),
		"type of a value":  Fingerprint(load(strings.Replace(base, "b: 1", "b: '1'", 1), "1", "x")),
		"pointer":          Fingerprint(load(strings.Replace(base, "{name", "{as_tool: false, name", 1), "1", "x")),
	}
	for what, got := range different {
		if got == first {
			t.Errorf("a different %s gives the same fingerprint", what)
		}
	}
	if Fingerprint([]string{"ab", "c"}) == Fingerprint([]string{"a", "bc"}) || Fingerprint(nil) == Fingerprint("") {
		t.Error("different values collide")
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	types := describer{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		if types[typ] != nil {
			return
		}
		for _, f := range types.describe(typ).fields {
			if !strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s.%s has no sentence: %q", typ.Name(), f.name, f.doc)
			}
			if inside, _ := structInside(f.typ); inside != nil {
				visit(inside)
			}
		}
	}
	visit(reflect.TypeFor[Pod]())
}

func TestJSONSchemaAcceptsGoodFilesAndRefusesUnknownKeys(t *testing.T) {
	if !bytes.Equal(JSONSchema(), JSONSchema()) {
		t.Error("the bytes differ between calls")
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaID, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(file string) error {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := yaml.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(instance)
	}
	good, _ := filepath.Glob("testdata/good/*.yaml")
	for _, file := range good {
		if err := validate(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, name := range []string{"function_unknown_key", "function_kind", "top_wrong_version", "scalar_bool_maybe", "ref_number", "scalar_int_negative"} {
		if err := validate("testdata/bad/" + name + ".yaml"); err == nil {
			t.Errorf("the schema accepts %s", name)
		}
	}
}

func sampleProblems() Problems {
	return Problems{
		{Position: Position{"lib/a b.yaml", 2, 3}, Path: "functions[0].kind", Message: "kind is wrong", Hint: "scalar", Source: "\tkind: x", Severity: Error},
		{Position: Position{"spicepod.yaml", 9, 0}, Message: "later", Severity: Warning, Component: "function f"},
		{Position: Position{"spicepod.yaml", 2, 8}, Message: "b", Source: "漢字: é"},
		{Position: Position{"/other/x.yaml", 0, 0}, Message: "cannot read the file"},
		{Message: "nowhere"},
	}
}

func TestProblemsAsText(t *testing.T) {
	problems := sampleProblems()
	problems.Sort()
	want := `spicepod.yaml:2:8: b
  2 | 漢字: é
    |        ^
spicepod.yaml:9: warning: function f: later
nowhere
/other/x.yaml: cannot read the file
lib/a b.yaml:2:3: kind is wrong
  2 |     kind: x
    |      ^
  hint: scalar`
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Error(diff)
	}
	if !problems.HasErrors() || (Problems{{Severity: Warning}}).HasErrors() {
		t.Error("HasErrors is wrong")
	}
}

func TestTerminalIsSafe(t *testing.T) {
	p := Problem{Position: Position{"x", 1, 5}, Message: "a\x1b[31m\nb", Source: "a: \x1b[2J\u202Eb"}
	if text := p.text(); strings.ContainsAny(text, "\x1b\u202E") || strings.Count(text, "\n") != 3 {
		t.Errorf("text is %q", text)
	}
}

func TestProblemsAsJSON(t *testing.T) {
	var out bytes.Buffer
	if err := sampleProblems().WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"file": "lib/a b.yaml", "line": 2.0, "column": 3.0, "severity": "error", "path": "functions[0].kind",
		"message": "kind is wrong", "hint": "scalar", "source": "\tkind: x",
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := Problems(nil).WriteJSON(&out); err != nil || out.String() != "[]\n" {
		t.Errorf("no problems are %q, %v", out.String(), err)
	}
}

func TestProblemsAsSARIF(t *testing.T) {
	var out bytes.Buffer
	if err := sampleProblems().WriteSARIF(&out); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/problems.sarif", out.String())
}
