package runtime

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// in returns a context of a caller in a space.
func in(t *testing.T, space string) context.Context {
	return registry.WithScope(t.Context(), tools.Scope{Caller: caller.Caller{SpaceID: space}})
}

// availabilityPod has f, which is available as it says, and g, which calls it.
func availabilityPod(available, toolset string) string {
	return fmt.Sprintf(`version: v1
kind: Spicepod
name: pod
runtime: { functions: { enabled: true }, tools: { settings: { space: s } } }
embeddings:
  - { name: hash, from: "builtin:hash" }
functions:
  - name: f
    from: sql
    description: Adds one to a number.
    %s
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x + 1
    tests: [{ args: { x: 1 }, returns: 2 }]
  - { name: g, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: f(x) * 10, tests: [{ args: { x: 1 }, returns: 20 }] }
%s
search_tests:
  - { query: adds one to a number, expect: f, top: 1 }
`, available, toolset)
}

// Tests, search tests, and the bodies of others are those of the author: what is hidden
// from callers is there.
func TestAvailabilityIsOfCallers(t *testing.T) {
	r := start(t, files{"spicepod.yaml": availabilityPod("available: ctx.space_id == ctx.settings.space", "")})
	r.problems(r.LastReport())
	for space, want := range map[string]string{"s": "2 20", "": "not_found 20", "other": "not_found 20"} {
		f, err := ask(in(t, space), r.Runtime, "SELECT f(1)")
		if err != nil && strings.Contains(err.Error(), "there is no function") {
			f = "not_found"
		}
		g, err := ask(in(t, space), r.Runtime, "SELECT g(1)")
		if got := f + " " + g; err != nil || got != want {
			t.Errorf("space %q: %s %v", space, got, err)
		}
	}
	if g := r.call("g", `{"x":1}`); g != "20" {
		t.Errorf("the tool g: %s", g)
	}
}

// A fault in an expression leaves the last good one in force; without one, no one can call
// the function. Each is reported at its position.
func TestFaultsOfAvailability(t *testing.T) {
	r := start(t, files{"spicepod.yaml": availabilityPod("available: ctx.space_id == 's'", "")})
	check := func(s, other bool) {
		t.Helper()
		for space, want := range map[string]bool{"s": s, "other": other} {
			if _, err := ask(in(t, space), r.Runtime, "SELECT f(1)"); (err == nil) != want {
				t.Errorf("space %q: %v", space, err)
			}
		}
	}
	check(true, false)
	r.problems(r.pod(availabilityPod("available: ctx.spaceid == 's'", "")),
		`spicepod.yaml:11:20: function f: available: ctx has no field "spaceid" (did you mean "space_id"?)`)
	check(true, false)
	r.problems(r.pod(availabilityPod("available: ctx.space_id != 's'", "")))
	check(false, true)
	r.problems(r.pod(availabilityPod("", "")))
	check(true, true)
	r.problems(r.pod(availabilityPod("available: ctx.spaceid == 's'", "")), `ctx has no field "spaceid"`)
	check(false, false)
}

func TestToolsets(t *testing.T) {
	r := start(t, files{"spicepod.yaml": availabilityPod("available: ctx.space_id != 'no'", `
toolsets:
  - { name: numbers, tools: [f, "g*"], available: ctx.space_id != null }
`)})
	r.problems(r.LastReport())
	for space, want := range map[string]bool{"": false, "no": false, "s": true} {
		if _, err := ask(in(t, space), r.Runtime, "SELECT f(1)"); (err == nil) != want {
			t.Errorf("f in space %q: %v", space, err)
		}
	}
	if _, err := ask(in(t, ""), r.Runtime, "SELECT g(1)"); err == nil {
		t.Error("a pattern of a toolset hides nothing")
	}
	r.problems(r.pod(availabilityPod("", `
toolsets:
  - { name: numbers, tools: [describe_functon, "h*"], available: ctx.space_id != null }
`)), `there is no tool or function "describe_functon" (did you mean "describe_function"?)`, `there is no tool or function "h*"`)
}

// The toolsets of a dependency hold as well.
func TestToolsetsOfDependencies(t *testing.T) {
	r := start(t, files{
		"spicepod.yaml": strings.Replace(availabilityPod("", ""), "embeddings:", "dependencies: [parts]\nembeddings:", 1),
		"parts/spicepod.yaml": `version: v1
kind: Spicepod
name: parts
toolsets:
  - { name: numbers, tools: [f], available: ctx.space_id == 's' }
`,
	})
	r.problems(r.LastReport())
	for space, want := range map[string]bool{"": false, "s": true} {
		if _, err := ask(in(t, space), r.Runtime, "SELECT f(1)"); (err == nil) != want {
			t.Errorf("space %q: %v", space, err)
		}
	}
}

// Approvals that no one can give, and approvers without effect, are warned of.
func TestApproversAreChecked(t *testing.T) {
	const pod = `version: v1
kind: Spicepod
name: pod
runtime:
  functions: { enabled: true }
  auth: { %s }
functions:
  - { name: f, from: sql, description: F., requires_approval: true, signature: { returns: int64 }, body: "1" }
`
	const keys = "api-key: { principals: [{ name: ann, key: ann-key-0123456789-0123456789 }] }"
	for auth, want := range map[string]string{
		keys: "no one can approve calls: keys are required and there are no approvers",
		"approvers: [ann], api-key: { enabled: false }": "approvers have no effect: without keys, everyone decides",
		"approvers: [ann], " + keys:                     "",
	} {
		r := start(t, files{"spicepod.yaml": fmt.Sprintf(pod, auth)})
		var got []string
		for _, p := range r.LastReport().Problems {
			if p.Line == 0 || p.Severity != spicepod.Warning {
				t.Errorf("%+v", p)
			}
			got = append(got, p.Message)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q", auth, got)
		}
	}
}
