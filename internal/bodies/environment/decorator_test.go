package environment

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decoratedCode is a function with a decorator that says everything.
const decoratedCode = `from jazzmine.core.tools import tool, ToolParameter, ToolResponse
open("/tmp/never", "w").close() if False else None
@tool(
    description="Analyze user behavior data.",
    parameters=[ToolParameter("user_id", "str", "Unique user identifier", required=True)],
    dependencies=["pandas"],
    secrets=["ANALYTICS_TOKEN"],
    sandbox="analytics",
    name="analyze",
)
async def analyze_behavior(user_id: str) -> ToolResponse:
    return ToolResponse(success=True, data=1)
`

// TestDecoratorsFillIn have a function that declares no more than it must.
func TestDecoratorsFillIn(t *testing.T) {
	needsPython(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "code.py"), []byte(decoratedCode), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ANALYTICS_TOKEN", "tok-0123456789")
	set, problems := Compile(context.Background(), loadIn(t, dir, `sandboxes: [{ name: analytics, secrets: [ANALYTICS_TOKEN] }]
functions:
  - { name: analyze, from: exec, body_ref: code.py, sandbox: analytics, signature: { args: [{ name: user_id, type: utf8 }], returns: int64 } }
`), newStore(t))
	e, f := set.Of("analyze")
	if e == nil || e.Name != "analytics" || !slices.Equal(e.Dependencies, []string{"pandas"}) || !slices.Equal(e.Secrets, []string{"ANALYTICS_TOKEN"}) {
		t.Fatalf("%+v %v", e, problems)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "are not installed") {
		t.Errorf("problems: %v", problems)
	}
	d := set.Pod().Functions[0]
	if f.Entrypoint != "analyze_behavior" || d.Description != "Analyze user behavior data." || d.Signature.Args[0].Description != "Unique user identifier" {
		t.Errorf("%s %+v", f.Entrypoint, d)
	}
}

// TestDecoratorsContradict have a Spicepod that says something else.
func TestDecoratorsContradict(t *testing.T) {
	needsPython(t)
	const good = `name: analyze, from: exec, entrypoint: analyze_behavior, sandbox: analytics, description: "Analyze user  behavior data.", dependencies: [pandas], secrets: [ANALYTICS_TOKEN]`
	const args = `args: [{ name: user_id, type: utf8, description: Unique user identifier, required: true }]`
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"sandbox: analytics", "sandbox: ANALYTICS", ""},
		{
			", secrets: [ANALYTICS_TOKEN]",
			"", `spicepod.yaml:6:5: function analyze: @tool at code.py:7:13 needs the secrets [ANALYTICS_TOKEN], which the Spicepod does not give`,
		},
		{"sandbox: analytics, ", "", `sandbox is "default" here, and @tool at code.py:8:13 says "analytics"`},
		{", dependencies: [pandas]", "", ""},
		{"name: analyze,", "name: analyse,", `spicepod.yaml:6:13: function analyse: name is "analyse" here, and @tool at code.py:9:10 says "analyze"`},
		{"Analyze user  behavior", "Delete", `description is "Delete data." here, and @tool at code.py:4:17 says "Analyze user behavior data."`},
		{"sandbox: analytics", "sandbox: default", `sandbox is "default" here, and @tool at code.py:8:13 says "analytics"`},
		{"[pandas]", "[pandas, six]", `dependencies are [pandas, six] here, and @tool at code.py:6:18 says [pandas]`},
		{"[ANALYTICS_TOKEN]", "[DB_URL]", `secrets are [DB_URL] here, and @tool at code.py:7:13 says [ANALYTICS_TOKEN]`},
		{"name: user_id", "name: who", `code.py:5:17: function analyze: @tool has the parameter "user_id", which signature.args at spicepod.yaml:6`},
		{"type: utf8", "type: int64", `type is int64 here, and @tool at code.py:5:42 says "str"`},
		{"type: utf8", "type: date", ""},
		{"required: true", "required: false", `required is false here, and @tool at code.py:5:84 says true`},
		{"Unique user identifier", "A number", `signature.args[0].description is "A number" here, and @tool at code.py:5:49 says "Unique user identifier"`},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "code.py"), []byte(decoratedCode), 0o600); err != nil {
			t.Fatal(err)
		}
		line := "  - { " + good + ", body_ref: code.py, signature: { " + args + ", returns: int64 } }\n"
		line = strings.Replace(line, c.old, c.new, 1)
		t.Setenv("ANALYTICS_TOKEN", "tok-0123456789")
		t.Setenv("DB_URL", "postgres://db")
		_, problems := Compile(context.Background(), loadIn(t, dir, "sandboxes: [{ name: analytics }]\nfunctions:\n"+line), newStore(t))
		got := problems.Error()
		if c.want == "" && strings.Contains(got, "@tool") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.new, got)
		}
	}
}

// TestDecoratorsThatAreComputed: they are reported, not read; decorators of other packages are ignored.
func TestDecoratorsThatAreComputed(t *testing.T) {
	needsPython(t)
	for _, c := range []struct{ code, want string }{
		{"from jazzmine.core.tools import tool\n@tool(description='a' + str(1))\ndef f(x): return x", "@tool computes its description, which is not read"},
		{"import jazzmine.core.tools as jt\n@jt.tool('Other.')\ndef f(x): return x", `description is "Mine." here`},
		{"from jazzmine.core.tools import tool as t\n@t('Other.')\ndef f(x): return x", `description is "Mine." here`},
		{"from jazzmine.core.tools import *\n@tool('Other.')\ndef f(x): return x", `description is "Mine." here`},
		{"from jazzmine.core.tools import tool\nall = {}\n@tool(**all)\ndef f(x): return x", "@tool computes the arguments, which is not read"},
		{"from jazzmine.core.tools import tool\n@tool('Mine.', secrets=5)\ndef f(x): return x", "@tool computes its secrets"},
		{"# jazzmine\nfrom other import tool\n@tool('Other.')\ndef f(x): return x", "the import of other will fail"},
		{"from jazzmine.core.tools import tool\n@tool('Mine.', [], [], [])\ndef f(x): return x", ""},
		{
			"from jazzmine.core.tools import tool\n@tool('Mine.', [{'name': 'x', 'type': 'number', 'description': 'A number.'}])\ndef f(x): return x",
			`type is int64 here, and @tool at spicepod.yaml:11:45 says "number"`,
		},
		{"from jazzmine.core.tools import tool\n@tool('Mine.', [{'name': 'x', 'type': 'int', 'description': 'A number.'}])\ndef f(x): return x", ""},
		{"from jazzmine.core.tools import tool\n@tool('Mine.', [{'name': 'y'}])\ndef f(x): return x", `@tool has the parameter "y"`},
		{"from jazzmine.core.tools import tool\n@tool('Mine.', [{**all}])\ndef f(x): return x", "@tool computes the name of a parameter"},
		{"from jazzmine.core.tools import tool\n@tool\ndef f(x): return x", ""},
		{
			"from jazzmine.core.tools import tool\n@tool('Mine.')\ndef f(x): return x\n@tool('Mine.', name='f')\ndef g(x): return x",
			`@tool gives the name "f" to g, and to f at spicepod.yaml:`,
		},
	} {
		_, problems := compile(t, "functions:\n"+function("f", "    description: Mine.\n", c.code))
		if got := problems.Error(); len(problems) > 1 || !strings.Contains(got, c.want) || c.want == "" && len(problems) > 0 {
			t.Errorf("%q: %s", c.code, got)
		}
	}
}

// TestSandboxesThatCodeRegisters are those of the Spicepod; others are reported.
func TestSandboxesThatCodeRegisters(t *testing.T) {
	needsPython(t)
	const code = `from jazzmine.core.tools import registry, SandboxConfig
registry.register_sandbox(SandboxConfig(name="analytics", dependencies=["pandas"]))
registry.register_sandbox(SandboxConfig("unknown"))
named = SandboxConfig("other")
registry.register_sandbox(named)
def one(): return 1
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "code.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems := Compile(context.Background(), loadIn(t, dir, `sandboxes: [{ name: Analytics }]
functions:
  - { name: one, from: exec, body_ref: code.py, signature: { returns: int64 } }
`), newStore(t))
	var got []string
	for _, p := range problems {
		got = append(got, p.Position.String()+" "+p.Message)
	}
	want := []string{
		`code.py:3:41 registry.register_sandbox has no effect here, and the Spicepod declares no sandbox "unknown"`,
		"code.py:5:1 registry.register_sandbox has no effect here",
	}
	if len(got) != 2 || !strings.HasSuffix(got[0], want[0]) || !strings.HasSuffix(got[1], want[1]) {
		t.Errorf("got %q", got)
	}
}

// TestDecoratorsNeedADescription, as in seed 003, unless the Spicepod has one.
func TestDecoratorsNeedADescription(t *testing.T) {
	needsPython(t)
	const code = "from jazzmine.core.tools import tool\n@tool(sandbox='default')\ndef f(x): return x"
	if _, problems := compile(t, "functions:\n"+function("f", "    description: Mine.\n", code)); len(problems) > 0 {
		t.Error(problems)
	}
	_, problems := compile(t, "functions:\n"+function("f", "", code))
	if got := problems.Error(); len(problems) != 1 || !strings.Contains(got, "function f: @tool has no description, which it requires") ||
		!strings.Contains(got, "description=") {
		t.Error(got)
	}
}

func TestKindsOfTypes(t *testing.T) {
	for text, want := range map[string]string{
		"str": "string", "utf8": "string", "int": "integer", "uint64": "integer", "int8": "integer", "integer": "integer", "float": "number", "float64": "number",
		"decimal(10, 2)": "number", "Optional[int]": "integer", "int | None": "integer", "int | str": "", "List[str]": "array", "list<utf8>": "array",
		"int64[]":        "array",
		"dict[str, int]": "object", "map<utf8, int64>": "object", "date": "", "timestamp": "", "DataFrame": "", "": "", "intern": "", "string": "string",
		"bool": "boolean",
	} {
		if got := kindOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestHintsOfContradictions can be followed: what the Spicepod must have is not left out of it, and
// what code does not choose is left out of the code.
func TestHintsOfContradictions(t *testing.T) {
	needsPython(t)
	for code, want := range map[string]string{
		"@tool('Mine.', name='other')":                           "make them equal, or leave it out of @tool",
		"@tool('Mine.', sandbox='other')":                        "make them equal, or leave it out of @tool",
		"@tool('Mine.', secrets=['OTHER'])":                      "make them equal, or leave it out of @tool",
		"@tool('Mine.', parameters=[ToolParameter('x', 'str')])": "make them equal, or leave it out of @tool",
		"@tool('Other.')":                                        "make them equal, or leave one of them out",
	} {
		t.Setenv("MINE", "m-0123456789")
		_, problems := compile(t, "functions:\n"+function("f", "    description: Mine.\n    secrets: [MINE]\n    entrypoint: f\n",
			"from jazzmine.core.tools import tool, ToolParameter\n"+code+"\ndef f(x): return x"))
		if len(problems) != 1 || problems[0].Hint != want {
			t.Errorf("%s: %v", code, problems)
		}
	}
}

// TestWarningsOfSharedCode are reported once, and not for each function of the file.
func TestWarningsOfSharedCode(t *testing.T) {
	needsPython(t)
	const code = "from jazzmine.core.tools import registry, SandboxConfig\nregistry.register_sandbox(SandboxConfig('unknown'))\ndef one(): return 1\ndef " +
		"two(): return 2\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "code.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems := Compile(context.Background(), loadIn(t, dir, `functions:
  - { name: one, from: exec, body_ref: code.py, signature: { returns: int64 } }
  - { name: two, from: exec, body_ref: code.py, signature: { returns: int64 } }
`), newStore(t))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "register_sandbox") {
		t.Errorf("%v", problems)
	}
}
