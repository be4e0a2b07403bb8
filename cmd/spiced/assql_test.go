package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// farPod has functions that call the tools of another runtime; the first of them is used by a
// function and by a view.
const farPod = podHead + `functions:
  - { name: four_times, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: far_twice(far_twice(x)) }
views:
  - { name: eight, sql: SELECT far_twice(4) AS n }
tools:
  - { name: hq, from: "spiced:%s", params: { api_key: %s } }
  - { name: far_twice, from: "tool:hq__twice", as_sql: true, signature: { args: [{ name: n, type: int64 }], returns: int64 } }
  - { name: far_many, from: "tool:hq/many", as_sql: true, signature: { returns: [{ name: n, type: int64 }] } }
  - { name: far_rows, from: "tool:hq__sql", as_sql: true, signature: { args: [{ name: query, type: utf8 }], returns: "list<struct<a: int64, b: utf8>>" } }
  - { name: far_text, from: "tool:hq__text", as_sql: true, signature: { returns: utf8 } }
`

// TestToolsOfAnotherRuntimeInSQL calls them before and after their server has answered.
func TestToolsOfAnotherRuntimeInSQL(t *testing.T) {
	t.Parallel()
	hq := start(t, folder(t, "spicepod.yaml", strings.Replace(hqPod, "%", "0", 1)))
	p := start(t, folder(t, "spicepod.yaml", fmt.Sprintf(farPod, hq.url, hqKey)))
	p.eventually("to have the tools", func() bool { return len(hqTools(p)) > 2 })
	for statement, want := range map[string]string{
		"SELECT four_times(3) AS n": `[{"n":12}]`,
		"FROM eight":                `[{"n":8}]`,
		"FROM far_rows('SELECT 1 AS a, ''x'' AS b UNION ALL SELECT 2, NULL ORDER BY a')": `[{"a":1,"b":"x"},{"a":2,"b":null}]`,
		"SELECT far_text() AS s": `[{"s":"0042"}]`,
		"SELECT count(*) AS n, sum(far_twice(i % 7)) AS s FROM range(700) r(i)": `[{"n":700,"s":4200}]`,
	} {
		if got := p.sql(statement); got != want {
			t.Errorf("%s: got %s, want %s", statement, got, want)
		}
	}
	p.want(p.do("POST", "/v1/sql", "FROM far_many()"), 400, "the result has more rows than the 2 that the tool may return")
	calls := hq.do("POST", "/v1/sql", "SELECT count(*) AS n FROM spiced.tool_calls WHERE tool = 'twice'", "X-API-Key", hqKey)
	hq.want(calls, 200, `[{"n":10}]`) // 2 for four_times, 1 for eight, 7 for 700 rows
}

// TestToolsInSQLWithoutTheirServer: what calls them is served, and a call says why it fails.
func TestToolsInSQLWithoutTheirServer(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", fmt.Sprintf(farPod, "http://"+reserve.Address(t), hqKey)))
	r := p.do("POST", "/v1/sql", "SELECT four_times(3) AS n")
	if r.status == 200 {
		t.Errorf("got %s", r.body)
	}
	p.want(r, r.status, "function 'far_twice' failed")
	p.want(p.do("POST", "/v1/sql", "SELECT name FROM list_udfs() WHERE source = 'tool' ORDER BY name LIMIT 1"), 200, "far_many")
}

// TestToolsInSQLAreCheckedOffline: `spiced validate` connects to no server.
func TestToolsInSQLAreCheckedOffline(t *testing.T) {
	t.Parallel()
	pod := fmt.Sprintf(farPod, "http://"+reserve.Address(t), hqKey)
	if status, out := spiced(t, "validate", folder(t, "spicepod.yaml", pod)); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
	pod = strings.Replace(pod, "tool:hq__twice", "tool:qh__twice", 1)
	if status, out := spiced(t, "validate", folder(t, "spicepod.yaml", pod)); status != 1 || !strings.Contains(out, `there is no tool "qh__twice"`) {
		t.Errorf("status %d: %s", status, out)
	}
}
