package environment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bodies are as the kinds of bodies exec and wasm have them.
var bodies = []spicepod.BodyKind{
	{Schemes: []string{"exec"}, Keys: []string{"sandbox"}, Process: true},
	{Schemes: []string{"wasm"}, Keys: []string{"sandbox"}, Runtime: spicepod.RuntimeWASM},
}

func load(t *testing.T, sections string) *spicepod.Pod {
	t.Helper()
	return podtest.Load(t, sections, bodies...)
}

func loadIn(t *testing.T, dir, sections string) *spicepod.Pod {
	t.Helper()
	return podtest.LoadIn(t, dir, sections, bodies...)
}

// newStore returns a store in a folder of its own.
func newStore(t *testing.T) *Store {
	t.Helper()
	store := NewStore(t.TempDir())
	t.Cleanup(store.Close)
	return store
}

// compile compiles a Spicepod with a store of its own.
func compile(t *testing.T, sections string) (*Set, spicepod.Problems) {
	t.Helper()
	return Compile(context.Background(), load(t, sections), newStore(t))
}

// function returns a function with code.
func function(name, more, code string) string {
	return fmt.Sprintf("  - name: %s\n    from: exec\n    signature: { args: [{ name: x, type: int64 }], returns: int64 }\n%s    body: |\n      %s\n",
		name, more, strings.ReplaceAll(code, "\n", "\n      "))
}

const twice = "def twice(x):\n  return 2 * x"

// analytics is the example of the registry of tools that this follows.
const analytics = `sandboxes:
  - { name: analytics, dependencies: [numpy], secrets: [DB_URL] }
functions:
  - name: analyze_behavior
    from: exec
    sandbox: analytics
    description: Analyze user behavior data.
    dependencies: [pandas]
    secrets: [ANALYTICS_TOKEN]
    signature: { args: [{ name: user_id, type: utf8, description: Unique user identifier }], returns: 'struct<success: bool, data: struct<score: float64>>' }
    body: |
      async def analyze_behavior(user_id: str) -> dict:
          import pandas as pd
          import os
          token = os.environ.get("ANALYTICS_TOKEN")
          return {"success": True, "data": {"score": 0.85}}
`

func TestEnvironmentAggregatesItsFunctions(t *testing.T) {
	needsPython(t)
	t.Setenv("DB_URL", "postgres://db")
	t.Setenv("ANALYTICS_TOKEN", "s3cr3t-value")
	set, problems := compile(t, analytics)
	if names := set.Names(); !slices.Equal(names, []string{"analytics", "default"}) {
		t.Errorf("sandboxes %q", names)
	}
	e, f := set.Of("analyze_behavior")
	if !slices.Equal(e.Dependencies, []string{"numpy", "pandas"}) || !slices.Equal(e.Secrets, []string{"ANALYTICS_TOKEN", "DB_URL"}) {
		t.Errorf("dependencies %q, secrets %q", e.Dependencies, e.Secrets)
	}
	if !slices.Equal(e.Variables(), []string{"ANALYTICS_TOKEN=s3cr3t-value", "DB_URL=postgres://db"}) {
		t.Error("the code gets other variables than the secrets")
	}
	if len(e.Checksum) != 64 || len(f.Checksum) != 16 {
		t.Errorf("checksums %q and %q", e.Checksum, f.Checksum)
	}
	if e.Built() || !strings.HasSuffix(e.Interpreter(), "/bin/python") {
		t.Errorf("built %v, interpreter %q", e.Built(), e.Interpreter())
	}
	if len(problems) != 1 || problems[0].Component != "function analyze_behavior" ||
		problems[0].Message != `the packages of its sandbox "analytics" are not installed` ||
		!strings.Contains(problems[0].Hint, "spiced sandbox build analytics") || strings.Contains(problems[0].Hint, e.store.dir) {
		t.Errorf("problems: %v", problems)
	}
	if shown := fmt.Sprintf("%v %+v %#v", e, *e, *f); strings.Contains(shown, "s3cr3t-value") {
		t.Error("printing an environment shows a secret")
	}
	if d := set.Get("DEFAULT"); d == nil || !d.Built() || d.Declared.Limits.Workers != 2 {
		t.Errorf("the sandbox default: %+v", d)
	}
}

// TestFaultsOfDeclarations: each is reported where it is, and a function next to it serves.
func TestFaultsOfDeclarations(t *testing.T) {
	needsPython(t)
	t.Setenv("SPICED_T_SET", "x")
	store := newStore(t)
	for _, c := range []struct{ name, sandboxes, more, message, hint, at, component string }{
		{
			"unknown sandbox", "- { name: analytics }", "    sandbox: analitics\n", `there is no sandbox "analitics"`, `did you mean "analytics"?`, "14:14",
			"function twice",
		},
		{"far sandbox", "- { name: analytics }", "    sandbox: xyz\n", `there is no sandbox "xyz"`, "one of analytics, default", "14:14", "function twice"},
		{
			"option of pip", "- { name: s }", "    dependencies: ['--index-url https://evil.example']\n", "is an option of pip", "PIP_INDEX_URL", "14:20",
			"function twice",
		},
		{"URL", "- { name: s }", "    dependencies: [six, 'git+https://evil.example/x']\n", "names a URL", "installed from indexes alone", "14:25", "function twice"},
		{
			"conflict", "- { name: s, dependencies: ['six==1.16'] }", "    sandbox: s\n    dependencies: ['Six>=1.17']\n",
			"six==1.16 and six>=1.17, which exclude each other: see spicepod.yaml:5:29, spicepod.yaml:15:20", "different sandboxes", "15:20", "sandbox s",
		},
		{
			"secret that is a value", "- { name: s }", "    secrets: ['hunter2 is the password']\n", "the secret is not the name of a variable", "such as API_KEY",
			"14:15", "function twice",
		},
		{
			"secret of the process", "- { name: s }", "    secrets: [LD_PRELOAD]\n", "the variable LD_PRELOAD is a setting of processes", "another name", "14:15",
			"function twice",
		},
		{
			"missing secret", "- { name: s }", "    secrets: [SPICED_T_SEC]\n", "missing_secret: the variable SPICED_T_SEC is not set",
			"there is a variable SPICED_T_SET", "14:15", "function twice",
		},
		{
			"missing secret of the sandbox", "- { name: s, secrets: [SPICED_T_BASE] }", "    sandbox: s\n", "missing_secret: the variable SPICED_T_BASE is not set",
			"set it in the environment", "5:24", "function twice",
		},
		{
			"dependencies of a command", "- { name: s, runtime: command, dependencies: [six] }", "    sandbox: s\n",
			"dependencies are packages of Python, and this runs command", "leave dependencies out", "5:46", "sandbox s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := load(t, "sandboxes:\n"+c.sandboxes+"\nfunctions:\n  - name: other\n    from: exec\n    signature: { returns: int64 }\n    body: "+
				"'def other(): return 1'\n"+function("twice", c.more, twice))
			set, problems := Compile(context.Background(), pod, store)
			i := slices.IndexFunc(problems, func(p spicepod.Problem) bool {
				return p.Component == c.component && strings.Contains(p.Message, c.message)
			})
			if i < 0 {
				t.Fatalf("problems: %v", problems)
			}
			p := problems[i]
			if !strings.Contains(p.Hint, c.hint) || p.Position.String() != "spicepod.yaml:"+c.at {
				t.Errorf("%s: %s at %s; hint: %s", p.Component, p.Message, p.Position, p.Hint)
			}
			for _, p := range problems {
				if strings.Contains(p.Message+p.Hint, "hunter2") {
					t.Errorf("a secret is shown: %v", p)
				}
			}
			if _, f := set.Of("twice"); f == nil || f.Fault() == nil {
				t.Error("the function has no fault")
			}
			if _, f := set.Of("other"); f == nil || f.Fault() != nil {
				t.Errorf("the function next to it has a fault: %v", f)
			}
		})
	}
}

// TestChecksums: they do not depend on the order of declarations, and change with everything
// else; the packages are rebuilt only for other requirements.
func TestChecksums(t *testing.T) {
	base := func() *spicepod.Pod {
		s := spicepod.NewSandbox()
		s.Name, s.Dependencies, s.Secrets = "s", []string{"b", "A"}, []string{"Y", "X"}
		d := spicepod.NewSandbox()
		d.Name = "default"
		pod := &spicepod.Pod{Sandboxes: []spicepod.Sandbox{s, d}}
		for i := range 4 {
			name := fmt.Sprint("f", i)
			pod.Functions = append(pod.Functions, spicepod.Function{
				Name: name, From: "exec", BodyKind: &bodies[0], Enabled: true, Sandbox: "s", Body: "def " + name + "(): pass",
				Dependencies: []string{fmt.Sprint("p", i), "a"}, Secrets: []string{"Z"},
				Signature: spicepod.Signature{Returns: spicepod.Returns{Type: "int64"}},
			})
		}
		return pod
	}
	python := &Python{Executable: "/usr/bin/python3", Version: "3.11.7", Implementation: "cpython", Platform: "linux-x86_64"}
	store := NewStore(t.TempDir())
	store.python = python
	t.Cleanup(store.Close)
	sums := func(pod *spicepod.Pod) (sandbox, key string, functions []string) {
		set, _ := Compile(context.Background(), pod, store)
		e := set.Get("s")
		for _, f := range e.Functions {
			functions = append(functions, f.Checksum)
		}
		return e.Checksum, e.buildKey, functions
	}
	sandbox, key, functions := sums(base())
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		pod := base()
		random.Shuffle(len(pod.Functions), func(i, j int) { pod.Functions[i], pod.Functions[j] = pod.Functions[j], pod.Functions[i] })
		random.Shuffle(len(pod.Sandboxes), func(i, j int) { pod.Sandboxes[i], pod.Sandboxes[j] = pod.Sandboxes[j], pod.Sandboxes[i] })
		for _, list := range [][]string{pod.Sandboxes[0].Dependencies, pod.Sandboxes[0].Secrets, pod.Functions[0].Dependencies} {
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if s, k, f := sums(pod); s != sandbox || k != key || !slices.Equal(f, functions) {
			t.Fatal("a checksum depends on the order of declarations")
		}
	}
	for _, c := range []struct {
		what              string
		edit              func(*spicepod.Pod)
		function, rebuilt bool
	}{
		{"line of code", func(p *spicepod.Pod) { p.Functions[0].Body += " # changed" }, true, false},
		{"entry point", func(p *spicepod.Pod) { p.Functions[0].Entrypoint = "g" }, true, false},
		{"signature", func(p *spicepod.Pod) { p.Functions[0].Signature.Returns.Type = "utf8" }, true, false},
		{"param", func(p *spicepod.Pod) { p.Functions[0].Params = spicepod.Params{"a": "b"} }, true, false},
		{"secret of a function", func(p *spicepod.Pod) { p.Functions[0].Secrets = append(p.Functions[0].Secrets, "W") }, true, false},
		{"dependency of a function", func(p *spicepod.Pod) { p.Functions[0].Dependencies = append(p.Functions[0].Dependencies, "new") }, true, true},
		{"version", func(p *spicepod.Pod) { p.Functions[0].Dependencies[0] += "==1" }, true, true},
		{"dependency of the sandbox", func(p *spicepod.Pod) { p.Sandboxes[0].Dependencies = append(p.Sandboxes[0].Dependencies, "new") }, false, true},
		{"secret of the sandbox", func(p *spicepod.Pod) { p.Sandboxes[0].Secrets = append(p.Sandboxes[0].Secrets, "W") }, false, false},
		{"network", func(p *spicepod.Pod) { p.Sandboxes[0].Network = "all" }, false, false},
		{"isolation", func(p *spicepod.Pod) { p.Sandboxes[0].Isolation = "best_effort" }, false, false},
		{"limit", func(p *spicepod.Pod) { p.Sandboxes[0].Limits.Workers++ }, false, false},
		{"name of a function", func(p *spicepod.Pod) { p.Functions[0].Name, p.Functions[0].Entrypoint = "f00", "f0" }, false, false},
		{"function less", func(p *spicepod.Pod) { p.Functions = p.Functions[1:] }, false, true},
	} {
		pod := base()
		c.edit(pod)
		s, k, f := sums(pod)
		if s == sandbox {
			t.Errorf("%s: the checksum of the sandbox is the same", c.what)
		}
		if (k != key) != c.rebuilt {
			t.Errorf("%s: rebuilt %v, want %v", c.what, k != key, c.rebuilt)
		}
		if c.function && f[0] == functions[0] {
			t.Errorf("%s: the checksum of the function is the same", c.what)
		}
	}
	python.Version = "3.12.0"
	if _, k, _ := sums(base()); k == key {
		t.Error("another interpreter has the same packages")
	}
}

// TestVersions: code that runs goes on only where it would behave the same.
func TestVersions(t *testing.T) {
	sections := "sandboxes:\n  - { name: s, runtime: command, secrets: [SPICED_T_TOKEN] }\n"
	store := newStore(t)
	version := func() string {
		set, _ := Compile(context.Background(), load(t, sections), store)
		return set.Get("s").Version()
	}
	unset := version()
	t.Setenv("SPICED_T_TOKEN", "one")
	first := version()
	if again := version(); again != first {
		t.Error("the version differs without a reason")
	}
	t.Setenv("SPICED_T_TOKEN", "two")
	if second := version(); second == first || first == unset {
		t.Error("another value of a secret has the same version")
	}
	other := newStore(t)
	set, _ := Compile(context.Background(), load(t, sections), other)
	if set.Get("s").Version() == version() {
		t.Error("versions of two runs are the same: they would show secrets that can be guessed")
	}
}

// TestCodeIsChecked: without running it. Positions are lines and columns of the code.
func TestCodeIsChecked(t *testing.T) {
	needsPython(t)
	marker := filepath.Join(t.TempDir(), "ran")
	run := fmt.Sprintf("open(%q, 'w').close()\n", marker)
	cases := []struct{ name, code, message, hint, at string }{
		{"good", run + "def run(x): return x", "", "", ""},
		{"async", "async def run(x): return x", "", "", ""},
		{"any argument", "def run(**all): return all", "", "", ""},
		{"optional parameter", "def run(x, *rest, y=1): return x", "", "", ""},
		{"assigned", "run = lambda x: x", "", "", ""},
		{"conditional", "if True:\n  def run(x): return x\nelse:\n  run = None", "", "", ""},
		{"standard library", "import os, json.decoder, xml.dom\ndef run(x): return x", "", "", ""},
		{"guarded import", "try:\n  import ujson as json\nexcept ImportError:\n  import json\ndef run(x): return x", "", "", ""},
		{"syntax", "import os\ndef run(x):\n  é = 'ü' return x", "invalid Python: invalid syntax", "", "3:11"},
		{"unfinished", "def run(x):\n  return (x", "invalid Python: '(' was never closed", "", "2:10"},
		{"return outside", "def run(x): return x\nreturn 1", "invalid Python: 'return' outside function", "", "2:1"},
		{"await outside", "def run(x): return await x", "invalid Python: 'await' outside async function", "", "1:20"},
		{"deep", "x = " + strings.Repeat("(", 5000) + "\ndef run(x): return x", "invalid Python: too many nested parentheses", "", "1:205"},
		{"chain", "x = " + strings.Repeat("-", 200_000) + "1\ndef run(x): return x", "", "", "any"},
		{
			"wrong entry point", "def other(x): return x\ndef runs(x): return x", `the code defines no function "run"`,
			`did you mean "runs"? write entrypoint: runs`, "",
		},
		{"inner function", "def a():\n  def run(x): return x", `the code defines no function "run"`, "write entrypoint: a", ""},
		{"missing parameter", "def run(y=1): return y", `run has no parameter "x", which the signature declares`, "add the parameter", "1:5"},
		{
			"needed parameter", "def run(x, y, *, z=1): return y", `run needs the parameter "y", which signature.args does not declare`,
			"give it a default value", "1:12",
		},
		{"needed keyword", "def run(x, *, z): return y", `run needs the parameter "z", which signature.args does not declare`, "give it a default value", "1:15"},
		{"position", "def run(x, /, y=1): return x", "", "", ""},
		{"position alone", "def run(y=1, x=2, /): return x", "takes x by position alone", "remove the /", "1:14"},
		{"registry of tools", "from jazzmine.core.tools import ToolResponse\ndef run(x): return x", "", "", ""},
		{"import", "def run(x):\n  import numpy.linalg\n  return x", "the import of numpy will fail", "add to dependencies: numpy", "2:3"},
		{"import of another name", "from yaml import safe_load\ndef run(x): return x", "the import of yaml will fail", "add to dependencies: pyyaml", "1:1"},
		{"relative import", "from . import x\ndef run(x): return x", "the relative import of . will fail", "into the code", "1:1"},
	}
	sections := "functions:\n"
	for i, c := range cases {
		sections += function(fmt.Sprint("f", i), "    entrypoint: run\n", c.code)
	}
	pod := load(t, sections)
	set, _ := Compile(context.Background(), pod, newStore(t))
	for i, c := range cases {
		_, f := set.Of(fmt.Sprint("f", i))
		switch {
		case c.at == "any": // more than this parser takes, or not
			if len(f.Problems) > 1 {
				t.Errorf("%s: %v", c.name, f.Problems)
			}
		case c.message == "":
			if len(f.Problems) > 0 {
				t.Errorf("%s: %v", c.name, f.Problems)
			}
		case len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, c.message) || !strings.Contains(f.Problems[0].Hint, c.hint):
			t.Errorf("%s: %v, want %s; hint %s", c.name, f.Problems, c.message, c.hint)
		default:
			p, start := f.Problems[0], pod.TextAt(f.Path+".body", 0)
			if at := fmt.Sprintf("%d:%d", p.Line-start.Line+1, p.Column-start.Column+1); c.at != "" && at != c.at {
				t.Errorf("%s is at %s, want %s", c.name, at, c.at)
			}
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the code ran")
	}
}

func TestTheEntryPointIsTheName(t *testing.T) {
	needsPython(t)
	_, problems := compile(t, "functions:\n"+function("twice", "", "def twise(x): return x"))
	if len(problems) != 1 || problems[0].Message != `the code defines no function "twice"` ||
		problems[0].Hint != `did you mean "twise"? write entrypoint: twise` || problems[0].Position.String() != "spicepod.yaml:5:11" {
		t.Errorf("problems: %v", problems)
	}
}

func TestProblemsOfCodeInAFileAreInThatFile(t *testing.T) {
	needsPython(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"code.py": "import helper\r\nimport numpy\r\ndef f(:\r\n", "helper.py": "",
		"good.py": "import helper\nimport six\ndef g(): return 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, problems := Compile(context.Background(), loadIn(t, dir, `functions:
  - { name: f, from: exec, body_ref: code.py, signature: { returns: int64 } }
  - { name: g, from: exec, body_ref: good.py, signature: { returns: int64 } }
`), newStore(t))
	var got []string
	for _, p := range problems {
		got = append(got, p.Position.String()+": "+p.Severity.String()+": "+p.Message)
	}
	want := []string{
		"code.py:3:7: error: invalid Python: invalid syntax",
		"good.py:1:1: warning: the import of helper will fail: the code is moved to the sandbox alone, without the files next to it",
		"good.py:2:1: warning: the import of six will fail: it is not in the dependencies of the function or its sandbox",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestWithoutPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	set, problems := compile(t, "functions:\n"+function("twice", "", twice)+"  - { name: s, from: sql, signature: { returns: int64 }, body: '1' }\n")
	if len(problems) != 2 || problems[0].Message != `sandbox "default" needs Python: there is no python3 in PATH` ||
		!strings.Contains(problems[0].Hint, "install Python 3.9 or later") {
		t.Errorf("problems: %v", problems)
	}
	if _, f := set.Of("twice"); f.Fault() == nil {
		t.Error("the function has no fault")
	}
	if _, problems := compile(t, "sandboxes:\n  - { name: s }\n"); len(problems) > 0 {
		t.Errorf("a Spicepod without code needs Python: %v", problems)
	}
}

// TestInterpretersThatDoNotWork are reported, and bounded.
func TestInterpretersThatDoNotWork(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"error":   {"echo 'no such library' >&2; exit 3", "python3 does not work: no such library"},
		"old":     {`echo '{"executable": "/x", "version": "3.8.1", "minor": "3.8"}'`, "is version 3.8.1, which is too old"},
		"python2": {`echo '{"executable": "/x", "version": "2.7.1", "minor": "2.7"}'`, "is version 2.7.1, which is too old"},
		"silent":  {"true", "it does not describe itself"},
		"loud":    {"exec cat /dev/zero", "its output is too long"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		if _, err := findPython(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestCodeIsCheckedOnce: a load parses only what differs.
func TestCodeIsCheckedOnce(t *testing.T) {
	needsPython(t)
	store := newStore(t)
	good, bad := function("twice", "", twice), function("thrice", "", "def thrice(x): return x *")
	_, first := Compile(context.Background(), load(t, "functions:\n"+good+bad), store)
	python := store.python.Executable
	store.python.Executable = filepath.Join(t.TempDir(), "python3") // which parses nothing
	facts := map[string]checked{}
	for _, code := range []string{twice + "\n", "def thrice(x): return x *\n"} {
		facts[newSum(store.python.Executable, store.python.Version, code).hex()] = store.facts[newSum(python, store.python.Version, code).hex()]
	}
	store.facts = facts
	_, again := Compile(context.Background(), load(t, "functions:\n"+bad+good), store)
	if len(first) != 1 || len(again) != 1 || first[0].Message != again[0].Message {
		t.Errorf("first %v, then %v", first, again)
	}
}
