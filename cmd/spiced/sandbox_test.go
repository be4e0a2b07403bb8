package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/pypitest"
)

// sandboxPod has functions that need packages and secrets.
const sandboxPod = `version: v1
kind: Spicepod
name: sandboxes
runtime: { functions: { enabled: true } }
sandboxes:
  - { name: geo, description: Distances., dependencies: [tiny], secrets: [SANDBOX_T_BASE], isolation: best_effort }
functions:
  - name: scaled
    from: exec
    sandbox: geo
    description: Scales a number.
    dependencies: [inner]
    secrets: [SANDBOX_T_TOKEN]
    signature: { args: [{ name: x, type: int64, description: The number }], returns: int64 }
    body: |
      import os
      import tiny, inner

      async def scaled(x):
          return x * tiny.factor + len(os.environ["SANDBOX_T_TOKEN"])
  - { name: for_ada, from: exec, available: ctx.user_id == 'ada', signature: { returns: int64 }, body: 'def for_ada(): return 1' }
  - name: twice
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2
`

// needsIsolation skips the test where functions with from: exec cannot run.
func needsIsolation(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	if exe, err := os.Executable(); err != nil || !sandbox.Probe([]string{exe, sandboxCommand}).Full {
		t.Skip("this system cannot isolate code")
	}
}

// sandboxFolder returns a Spicepod with its packages in an index, and its secrets set.
func sandboxFolder(t *testing.T) string {
	t.Helper()
	full.Need(t, "pip takes seconds for each environment")
	needsIsolation(t)
	x := pypitest.New(t)
	x.Add("tiny", "1.5", map[string]string{"tiny.py": "factor = 10\n"})
	x.Add("inner", "2.0", map[string]string{"inner.py": ""})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("SANDBOX_T_BASE", "base-s3cr3t")
	t.Setenv("SANDBOX_T_TOKEN", "t0ken")
	return folder(t, "spicepod.yaml", sandboxPod)
}

// TestSandboxesOfAServer: packages are installed while it serves, and used.
func TestSandboxesOfAServer(t *testing.T) {
	dir, state := sandboxFolder(t), t.TempDir()
	p := start(t, dir, "--state-dir", state)
	if got := p.sql("SELECT twice(2) AS v"); got != `[{"v":4}]` {
		t.Error(got)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT scaled(1)"), 400,
		`function scaled is not served: the packages of its sandbox "geo" are not installed (spicepod.yaml:10:14)`, "spiced sandbox build geo --state-dir DIR")
	p.want(p.do("GET", "/v1/sandboxes/geo", ""), 200, `"dependencies":["inner","tiny"],"secrets":["SANDBOX_T_BASE","SANDBOX_T_TOKEN"]`,
		`"built":false,"functions":["scaled"]`)

	p.want(p.do("POST", "/v1/sandboxes/geo/build", ""), 200, `"built":true`, `{"name":"tiny","version":"1.5","sha256":["`)
	if got := p.sql("SELECT scaled(4) AS v"); got != `[{"v":45}]` {
		t.Error(got)
	}
	p.want(p.do("GET", "/v1/tools?format=xml&sandbox=geo", ""), 200, "<name>scaled</name>", "<description>The number</description>")
	p.want(p.do("GET", "/v1/tools?sandbox=default", ""), 200, "[]")

	p.want(p.do("GET", "/v1/sandboxes/geo", ""), 200, `"isolation":"best_effort","isolated":true,"layers":["Landlock `, `"seccomp","resource limits"`)
	if got := p.sql("SELECT isolated, list_contains(layers, 'seccomp') AS filtered FROM spiced.sandboxes WHERE name = 'geo'"); got !=
		`[{"isolated":true,"filtered":true}]` {
		t.Error(got)
	}
	// Who may not see a function does not see it here.
	for user, want := range map[string]string{"": `"functions":[]`, "ada": `"functions":["for_ada"]`} {
		p.want(p.do("GET", "/v1/sandboxes/default", "", "X-Spiced-User", user), 200, want)
		p.want(p.do("POST", "/v1/sql", "SELECT functions FROM spiced.sandboxes WHERE name = 'default'", "X-Spiced-User", user), 200, want)
	}

	// A changed line needs no new packages, and another package needs another installation,
	// until when the last good version serves.
	checksum := p.sql("SELECT checksum FROM spiced.sandboxes WHERE name = 'geo'")
	write(t, dir+"/spicepod.yaml", strings.Replace(sandboxPod, "x * tiny.factor", "-x * tiny.factor", 1))
	p.eventually("the new code runs", func() bool { return p.sql("SELECT scaled(4) AS v") == `[{"v":-35}]` })
	if p.sql("SELECT checksum FROM spiced.sandboxes WHERE name = 'geo'") == checksum {
		t.Error("a changed line leaves the checksum")
	}
	write(t, dir+"/spicepod.yaml", strings.Replace(sandboxPod, "[inner]", "[inner, 'tiny>=1']", 1))
	p.eventually("the fault is reported", func() bool { return strings.Contains(p.do("GET", "/v1/status", "").body, "are not installed") })
	if got := p.sql("SELECT scaled(4) AS v"); got != `[{"v":-35}]` {
		t.Errorf("the last good version: %s", got)
	}
	if status, out := spiced(t, "sandbox", "build", "--dir", dir, "--state-dir", state); status != 0 ||
		!strings.Contains(out, "sandbox geo: the packages are installed\n") {
		t.Errorf("status %d: %s", status, out)
	}
	p.eventually("the server takes the packages over", func() bool { return p.sql("SELECT scaled(4) AS v") == `[{"v":45}]` })

	for _, shown := range []string{p.log.String(), p.do("GET", "/v1/sandboxes", "").body, p.sql("FROM spiced.sandboxes"), p.do("GET", "/v1/status", "").body} {
		if strings.Contains(shown, "t0ken") || strings.Contains(shown, "base-s3cr3t") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

func TestSandboxCommands(t *testing.T) {
	dir := sandboxFolder(t)
	run := func(want int, args ...string) string {
		t.Helper()
		status, out := spiced(t, append([]string{"sandbox"}, args...)...)
		if status != want {
			t.Errorf("%q: status %d: %s", args, status, out)
		}
		return out
	}
	if out := run(0, "list", "--dir", dir); !strings.Contains(out,
		"geo      python   no     yes       scaled     inner, tiny   SANDBOX_T_BASE, SANDBOX_T_TOKEN") || !strings.Contains(out, "run: spiced sandbox build geo;") {
		t.Error(out)
	}
	run(0, "build", "GEO", "--dir", dir)
	if out := run(0, "build", "--dir", dir); !strings.Contains(out, "sandbox geo: the packages are installed already") {
		t.Error(out)
	}
	if out := run(0, "show", "geo", "--dir", dir); !strings.Contains(out, "packages      inner==2.0\n              tiny==1.5\n") &&
		!strings.Contains(out, "packages      tiny==1.5\n              inner==2.0\n") {
		t.Error(out)
	}
	if out := run(0, "show", "geo", "--dir", dir, "--format", "json"); !strings.Contains(out, `"built": true`) {
		t.Error(out)
	}
	if out := run(0, "show", "geo", "--dir", dir); !strings.Contains(out, "isolation     best_effort\nisolated      yes\nlayers        Landlock ") {
		t.Error(out)
	}
	if out := run(0, "prompt", "geo", "--dir", dir); !strings.Contains(out, "<tools>\n  <tool>\n    <name>scaled</name>") || strings.Contains(out, "twice") {
		t.Error(out)
	}
	for _, c := range []struct {
		status int
		args   []string
		want   string
	}{
		{1, []string{"show", "gep", "--dir", dir}, `there is no sandbox "gep"` + "\n" + `  hint: did you mean "geo"?`},
		{1, []string{"build", "x", "--dir", dir}, "the sandboxes are default, geo"},
		{1, []string{"prompt", "gep", "--dir", dir}, `did you mean "geo"?`},
		{1, []string{"list", "--dir", t.TempDir()}, "run: spiced init"},
		{2, []string{"show"}, "spiced sandbox list lists them"},
		{2, []string{"list", "geo"}, "takes no names"},
		{2, []string{"build", "a", "b"}, "takes one name, got 2"},
		{2, []string{"prompt", ""}, "the name of the sandbox is empty"},
		{2, []string{"list", "--url", "localhost:1", "--dir", dir}, "give --dir or --url, not both"},
		{2, []string{"list", "--format", "xml"}, "--format must be one of text, json"},
		{1, []string{"list", "--url", "localhost:1"}, "no answer from"},
	} {
		if out := run(c.status, c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%q: %s, want %s", c.args, out, c.want)
		}
	}
	write(t, dir+"/spicepod.yaml", strings.Replace(sandboxPod, "[tiny]", "[tiny, nosuchpackage]", 1))
	if out := run(1, "build", "--dir", dir); !strings.Contains(out, `spicepod.yaml:6:64: sandbox geo: the packages of sandbox "geo" cannot be installed: `) ||
		!strings.Contains(out, "hint: check the name and the version") {
		t.Error(out)
	}
}

func TestSandboxCommandsOfAServer(t *testing.T) {
	dir := sandboxFolder(t)
	p := start(t, dir)
	url := p.endpoint("http")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list"}, "geo      python   no     yes       scaled"},
		{[]string{"build", "geo"}, "sandbox geo: the packages are installed\n"},
		{[]string{"build"}, "sandbox default: needs no packages\nsandbox geo: the packages are installed already\n"},
		{[]string{"show", "geo"}, "built         yes"},
		{[]string{"show", "geo"}, "isolated      yes\nlayers        Landlock "},
		{[]string{"prompt", "geo"}, "<name>scaled</name>"},
	} {
		if status, out := spiced(t, append(append([]string{"sandbox"}, c.args...), "--url", url)...); status != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%q: status %d: %s", c.args, status, out)
		}
	}
	if status, out := spiced(t, "sandbox", "show", "gep", "--url", url); status != 1 || !strings.Contains(out, `did you mean "geo"?`) {
		t.Errorf("status %d: %s", status, out)
	}
	// Without a state directory, the packages are in the user's.
	if _, err := os.Stat(os.Getenv("XDG_CACHE_HOME") + "/spiced/environments/built"); err != nil {
		t.Error(err)
	}
}
