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
	p.isAway("SELECT four_times(3) AS n", "far_twice", "hq")
	p.want(p.do("POST", "/v1/sql", "SELECT name FROM list_udfs() WHERE source = 'tool' ORDER BY name LIMIT 1"), 200, "far_many")
}

// isAway checks that a statement fails because of the server of a tool, after it was tried.
func (p *program) isAway(statement, function, server string) {
	p.t.Helper()
	var r reply
	p.eventually("to have tried the server", func() bool {
		r = p.do("POST", "/v1/sql", statement)
		return r.status != 503
	})
	p.want(r, 403, "tool-backed function '"+function+"' call failed: ", `"`+server+`" is not available: `)
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

// nearPod is served over stdio.
const nearPod = podHead + `functions:
  - { name: twice, from: sql, description: Doubles., signature: { args: [{ name: n, type: int64 }], returns: int64 }, body: n * 2 }
  - { name: place, from: sql, description: A place., signature: { args: [{ name: name, type: utf8 }, { name: km, type: float64, default: 1.5 }], returns: "struct<name: utf8, km: float64>" }, body: "{'name': name, 'km': km}" }
  - { name: rows, kind: table, as_tool: true, from: sql, description: Rows., signature: { args: [{ name: n, type: int64 }], returns: [{ name: i, type: int64 }, { name: t, type: utf8 }] }, body: "SELECT i, 'row ' || i AS t FROM range((SELECT n FROM args)) r(i)" }
  - { name: fails, from: sql, description: Fails., signature: { args: [{ name: t, type: utf8 }], returns: int64 }, body: CAST(t AS BIGINT) }
`

// TestToolsOfAStdioServerInSQL calls the tools of a program.
func TestToolsOfAStdioServerInSQL(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", podHead+fmt.Sprintf(`functions:
  - { name: four_times, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: near_twice(near_twice(x)) }
views:
  - { name: eight, sql: SELECT near_twice(4) AS n }
tools:
  - { name: near, from: "mcp:spiced", params: { mcp_args: %q } }
  - { name: gone, from: "mcp:no-such-program" }
  - { name: near_twice, from: "tool:near__twice", as_sql: true, signature: { args: [{ name: n, type: int64 }], returns: int64 } }
  - { name: near_place, from: "tool:near/place", as_sql: true, signature: { args: [{ name: name, type: utf8 }], returns: "struct<name: utf8, km: float64>" } }
  - { name: near_any, from: "tool:near__place", as_sql: true }
  - { name: near_rows, from: "tool:near__rows", as_sql: true, signature: { args: [{ name: n, type: int64 }], returns: [{ name: i, type: int64 }, { name: t, type: utf8 }] } }
  - { name: near_fails, from: "tool:near__fails", as_sql: true, signature: { args: [{ name: t, type: utf8 }], returns: int64 } }
  - { name: gone_x, from: "tool:gone__x", as_sql: true, signature: { args: [{ name: t, type: utf8 }], returns: int64 } }
`, "mcp "+folder(t, "spicepod.yaml", nearPod))))
	p.connected("near")
	p.eventually("to have the function without a signature", func() bool {
		return p.do("POST", "/v1/sql", "SELECT near_any('a')").status == 200
	})
	for statement, want := range map[string]string{
		"SELECT four_times(3) AS n": `[{"n":12}]`,
		"FROM eight":                `[{"n":8}]`,
		"SELECT near_place('Bonn') AS p, near_place('Bonn').km AS km":              `[{"p":{"name":"Bonn","km":1.5},"km":1.5}]`,
		"SELECT near_any('Bonn') ->> 'km' AS a, near_any('Bonn', 2) ->> 'km' AS b": `[{"a":"1.5","b":"2.0"}]`,
		"FROM near_rows(2)": `[{"i":0,"t":"row 0"},{"i":1,"t":"row 1"}]`,
		"SELECT n, t FROM range(3) r(n), near_rows(n) ORDER BY ALL":              `[{"n":1,"t":"row 0"},{"n":2,"t":"row 0"},{"n":2,"t":"row 1"}]`,
		"SELECT near_fails('12') AS n":                                           `[{"n":12}]`,
		"SELECT count(*) AS n, sum(near_twice(i % 7)) AS s FROM range(700) r(i)": `[{"n":700,"s":4200}]`,
	} {
		if got := p.sql(statement); got != want {
			t.Errorf("%s: got %s, want %s", statement, got, want)
		}
	}
	if got := p.sql("SELECT count(*) AS n FROM spiced.tool_calls WHERE tool = 'near__twice' AND surface = 'sql'"); got != `[{"n":10}]` { // 2, 1 and 7
		t.Errorf("calls: %s", got)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT near_fails('x')"), 400, `function 'near_fails' failed for (t := "x"): tool-backed function 'near_fails' call failed: `,
		"Could not convert string 'x' to INT64")
	p.isAway("SELECT gone_x('x')", "gone_x", "gone")
}
