package main

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

const learningPod = `version: v1
kind: Spicepod
name: learning
runtime:
  functions: { enabled: true }
  auth:
    api-key:
      enabled: true
      principals:
        - { name: ann, key: ann-key-0123456789-0123456789-012345 }
        - { name: bob, key: bob-key-0123456789-0123456789-012345 }
        - { name: cid, key: cid-key-0123456789-0123456789-012345 }
        - { name: dan, key: dan-key-0123456789-0123456789-012345 }
embeddings: [{ name: meaning, from: 'builtin:semantic' }]
functions:
  - { name: figures, from: sql, description: The shop in figures., signature: { args: [], returns: int64 }, body: '42' }
  - { name: day_report, from: sql, description: Report of a day in the shop., signature: { args: [], returns: int64 }, body: '7' }
models:
  - name: clerk
    from: scripted:clerk
    params: { tools: search_registry }
    script:
      - { user: '.', calls: [{ tool: tool_search, arguments: { query: '{{user}}' } }] }
      - { after: tool_search, calls: [{ tool: tool_invoke, arguments: { tool_id: figures, arguments: {} } }] }
      - { after: tool_invoke, say: '{{result}}' }
`

// TestLearning has keys that call figures after searches for a report: over HTTP in a session, in
// a chat without one. Each finds it first from then on, also after a restart; another key does when
// three have.
func TestLearning(t *testing.T) {
	t.Parallel()
	dir, state := folder(t, "spicepod.yaml", learningPod), t.TempDir()
	key := func(name string) []string {
		return append(keyOf(name), "X-Spiced-Session", "one of "+name)
	}
	p := start(t, dir, "--state-dir", state)
	first := func(name string) string {
		t.Helper()
		var found struct {
			Tools []struct {
				ToolID string `json:"tool_id"`
			}
		}
		r := p.do("GET", "/v1/tools:search?q="+url.QueryEscape("the report of the shop for April"), "", key(name)...)
		if err := json.Unmarshal([]byte(r.body), &found); err != nil || len(found.Tools) == 0 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return found.Tools[0].ToolID
	}
	chat := func(name string) {
		t.Helper()
		p.want(p.do("POST", "/v1/chat/completions",
			`{"model":"clerk","messages":[{"role":"user","content":"the report of the shop for March"}]}`, keyOf(name)...), 200, "42")
	}
	if got := first("ann"); got != "day_report" {
		t.Fatalf("before: %s", got)
	}
	for range 3 {
		first("ann")
		p.want(p.do("POST", "/v1/tools/figures:invoke", `{"args":{}}`, key("ann")...), 200, "42")
	}
	for range 3 {
		chat("bob")
	}
	for name, want := range map[string]string{"ann": "figures", "bob": "figures", "dan": "day_report"} {
		if got := first(name); got != want {
			t.Errorf("%s is given %s, not %s", name, got, want)
		}
	}
	p.want(p.do("POST", "/v1/sql", "FROM spiced.learned_queries", key("bob")...), 200,
		`"query":"the report of the shop for March"`, `"calls":3`)
	if got := p.do("POST", "/v1/sql", "FROM spiced.learned_queries", key("dan")...).body; got != "[]" {
		t.Errorf("dan reads %s", got)
	}
	p.end()

	p = start(t, dir, "--state-dir", state)
	if got := first("ann"); got != "figures" {
		t.Errorf("ann is given %s after a restart", got)
	}
	for range 3 {
		chat("cid")
	}
	if got := first("dan"); got != "figures" {
		t.Errorf("dan is given %s, which three keys would not", got)
	}
	p.wantNotLogged("the report of the shop")
	write(t, filepath.Join(dir, "spicepod.yaml"),
		strings.Replace(learningPod, "runtime:\n", "runtime:\n  tools: { search: { learn: off } }\n", 1))
	p.eventually("to forget", func() bool { return first("ann") == "day_report" })
}
