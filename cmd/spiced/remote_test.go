package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// hqKey is a key of a runtime whose tools others use.
const hqKey = "hq-key-0123456789-0123456789-0123456789"

// hqPod is a Spicepod that needs a key; % is added to the result of twice.
const hqPod = `version: v1
kind: Spicepod
name: hq
runtime:
  functions: { enabled: true }
  auth: { api-key: { enabled: true, keys: [` + hqKey + `] } }
  mcp: { mode: registry }
functions:
  - { name: twice, from: sql, description: Doubles a number., tags: [numbers], signature: { args: [{ name: n, type: int64 }], returns: int64 }, body: "n * 2 + %" }
  - { name: fail, from: sql, description: Fails., signature: { args: [{ name: why, type: string }], returns: string }, body: error(why) }
  - { name: text, from: sql, description: A text that is a number., signature: { returns: string }, body: "'0042'" }
  - { name: many, from: sql, kind: table, as_tool: true, description: Three rows., signature: { returns: [{ name: n, type: int64 }] }, body: SELECT n FROM range(3) r(n), limits: { max_rows: 2 } }
`

// branch is a Spicepod with the tools of another runtime.
func branch(url string, more ...string) string {
	return podHead + fmt.Sprintf(`tools:
  - { name: hq, from: "spiced:%s", params: { api_key: %s }, %s }
`, url, hqKey, strings.Join(more, ", "))
}

// hqTools are the functions of hqPod that a runtime has.
func hqTools(p *program) []string {
	return slices.DeleteFunc(p.toolNames("?source=mcp:hq"), func(name string) bool {
		return !slices.Contains([]string{"hq__twice", "hq__fail", "hq__text", "hq__many", "hq__half"}, name)
	})
}

// TestRemoteTools uses the tools of another runtime, with its schemas, tags, errors and rows.
func TestRemoteTools(t *testing.T) {
	t.Parallel()
	hq := start(t, folder(t, "spicepod.yaml", strings.Replace(hqPod, "%", "0", 1)))
	p := start(t, folder(t, "spicepod.yaml", branch(hq.url, "limits: { max_bytes: 50KiB }", `available: "tool.name != 'hq__text' || 'numbers' in tool.tags"`)))
	p.connected("hq")
	p.eventually("to have the tools", func() bool { return len(hqTools(p)) > 2 })
	if got := hqTools(p); !slices.Equal(got, []string{"hq__fail", "hq__many", "hq__twice"}) {
		t.Errorf("tools: %s", got)
	}
	def := p.do("GET", "/v1/tools/hq__twice", "").body
	for _, part := range []string{`"description":"Doubles a number."`, `"required":["n"]`, `"tags":["numbers"]`, `"source":"mcp:hq"`, `"read_only":true`} {
		if !strings.Contains(def, part) {
			t.Errorf("%s is not in %s", part, def)
		}
	}
	p.want(p.do("POST", "/v1/tools/hq__twice:invoke", `{"args":{"n":21},"trace":{"flow_id":"f7","step_id":"s8"}}`, "X-Request-Id", "far-1"), 200, `"result":42`)
	p.want(p.do("POST", "/v1/tools/hq__twice:invoke", `{"args":{"n":"x"}}`), 400, `"code":"invalid_arguments"`, `a whole number is needed`)
	p.want(p.do("POST", "/v1/tools/hq__fail:invoke", `{"args":{"why":"the ferry is late"}}`), 200, `"code":"execution_error"`, "the ferry is late")
	p.want(p.do("POST", "/v1/tools/hq__many:invoke", `{}`), 200, `"preview":[{"n":0},{"n":1}]`, `"truncated":true`, `"returned":2`)
	p.want(p.do("POST", "/v1/tools/hq__sql:invoke", `{"args":{"query":"SELECT nn FROM spiced.tools"}}`), 200, `"code":"not_found"`,
		`"hint":"there are columns such as name`)
	p.want(p.do("POST", "/v1/tools/hq__text:invoke", `{}`), 404, `tool_not_found`)
	if got := p.sql(`SELECT CAST(tool_invoke('hq__twice', '{"n": 4}') AS INT) AS r`); got != `[{"r":8}]` {
		t.Errorf("from SQL: %s", got)
	}
	recorded := hq.do("POST", "/v1/sql", "SELECT tool, surface, flow_id, step_id FROM spiced.tool_calls WHERE request_id = 'far-1'", "X-API-Key", hqKey)
	hq.want(recorded, 200, `[{"tool":"twice","surface":"mcp","flow_id":"f7","step_id":"s8"}]`)
	if c := p.component("hq"); c.Endpoint != "spiced:"+hq.url && !strings.Contains(fmt.Sprint(c), hq.url) {
		t.Errorf("component %+v", c)
	}
	if log := p.log.String() + p.do("GET", "/v1/status", "").body; strings.Contains(log, hqKey) {
		t.Error("the key is shown")
	}
	for _, refused := range []struct{ pod, want string }{
		{strings.Replace(branch(hq.url), hqKey, "another", 1), "the server refused the key (401 Unauthorized); check params.api_key"},
		{branch(strings.Replace(hq.url, "127.0.0.1", "127.0.0.1:1", 1)), "invalid address"},
		{branch(hq.url + "/v1/mcp"), "leave /v1/mcp out"},
		{branch("ftp://h"), "write spiced:http://host:8090"},
		{strings.Replace(branch(hq.url), "api_key", "api_kye", 1), `unknown param "api_kye" of another runtime`},
		{branch("http://" + reserve.Address(t)), "the server cannot be reached"},
		{branch(hq.url + "/elsewhere"), "there is no runtime at that URL (404 Not Found)"},
	} {
		dir := folder(t, "spicepod.yaml", refused.pod)
		other := start(t, dir)
		other.eventually("to say "+refused.want, func() bool {
			return strings.Contains(fmt.Sprint(other.component("hq"))+other.do("GET", "/v1/status", "").body, strings.ReplaceAll(refused.want, `"`, `\"`))
		})
	}
}

// TestRemoteChanges changes the Spicepod of the other runtime while its tools are called, and
// then restarts it.
func TestRemoteChanges(t *testing.T) {
	t.Parallel()
	address := reserve.Address(t)
	dir := folder(t, "spicepod.yaml", strings.Replace(hqPod, "%", "0", 1))
	hq := start(t, dir, "--http", address)
	p := start(t, folder(t, "spicepod.yaml", strings.Replace(haversine(t), podHead, branch("http://"+address), 1)))
	p.connected("hq")
	p.eventually("to have the tools", func() bool { return len(hqTools(p)) > 2 })

	var calls sync.WaitGroup
	var count, stop atomic.Int64
	for range 3 {
		calls.Go(func() {
			for stop.Load() == 0 {
				if r := p.do("POST", "/v1/tools/hq__twice:invoke", `{"args":{"n":21}}`); r.status != 200 || !strings.Contains(r.body, `"ok":true`) {
					t.Errorf("status %d: %s", r.status, r.body)
					return
				}
				count.Add(1)
			}
		})
	}
	end := sync.OnceFunc(func() {
		stop.Store(1)
		calls.Wait()
	})
	defer end()
	checksum := func() string {
		var def struct{ Checksum string }
		_ = json.Unmarshal([]byte(p.do("GET", "/v1/tools/hq__twice", "").body), &def)
		return def.Checksum
	}
	for i := 1; i <= 3; i++ {
		before := checksum()
		text := strings.Replace(hqPod, "%", fmt.Sprint(i), 1)
		if i == 3 {
			text += `  - { name: half, from: sql, description: Halves a number., signature: { args: [{ name: n, type: int64 }], returns: int64 }, body: n // 2 }` + "\n"
		}
		write(t, filepath.Join(dir, "spicepod.yaml"), text)
		p.eventually("to call the changed tool", func() bool { return string(p.call("hq__twice", `{"n":21}`).Result) == fmt.Sprint(42+i) })
		p.eventually("to see that the tool changed", func() bool { return checksum() != before })
	}
	p.eventually("to have the new tool", func() bool { return slices.Contains(hqTools(p), "hq__half") })
	end()
	if count.Load() < 20 {
		t.Errorf("only %d calls", count.Load())
	}

	hq.end()
	p.eventually("to notice that it is away", func() bool { return !p.call("hq__twice", `{"n":1}`).OK })
	p.eventually("to report the error", func() bool { return p.component("hq").Status == "Error" })
	p.want(p.do("POST", "/v1/tools/hq__twice:invoke", `{"args":{"n":1}}`), 403, `"code":"tool_unavailable"`, `runtime \"hq\" is not available: `)
	p.wantCall("haversine_km", coordinates, "4129.")
	start(t, dir, "--http", address)
	p.eventually("to call it again", func() bool { return p.call("hq__twice", `{"n":1}`).OK })
}

// TestRemoteLoops has runtimes that use each other's tools: none has its own tools back, and
// agents that call each other end.
func TestRemoteLoops(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	pod := func(name, other, address string) string {
		return podHead + fmt.Sprintf(`functions:
  - { name: %s_only, from: sql, description: Of %[1]s., signature: { returns: string }, body: "'%[1]s'" }
tools:
  - { name: %[2]s, from: "spiced:http://%[3]s" }
models:
  - { name: assistant, from: "openai:gpt-test", params: { endpoint: "%[4]s/v1", openai_api_key: sk-live-0123456789, max_retries: 0 } }
agents:
  - { name: %[1]s_agent, model: assistant, description: Asks the other one., instructions: You are %[1]s., tools: [%[2]s__%[2]s_agent], limits: { calls: 1 } }
`, name, other, address, model.URL)
	}
	model.Script(func(r chattest.Request) chattest.Answer {
		for _, result := range r.Results {
			return chattest.Say(chattest.Text(result))
		}
		tool := "right__right_agent"
		if strings.Contains(r.System, "You are right.") {
			tool = "left__left_agent"
		}
		return chattest.Say(chattest.Call("c1", tool, `{"task":"go on"}`))
	})
	one, two := reserve.Address(t), reserve.Address(t)
	left := start(t, folder(t, "spicepod.yaml", pod("left", "right", two)), "--http", one)
	right := start(t, folder(t, "spicepod.yaml", pod("right", "left", one)), "--http", two)
	left.connected("right")
	right.connected("left")
	left.eventually("to have the agent", func() bool { return slices.Contains(left.toolNames(""), "right__right_agent") })
	right.eventually("to have the agent", func() bool { return slices.Contains(right.toolNames(""), "left__left_agent") })
	crossed := func(name string) bool { return strings.Contains(name, "left") && strings.Contains(name, "right") }
	for _, p := range []*program{left, right} {
		if names := p.toolNames(""); slices.ContainsFunc(names, crossed) {
			t.Errorf("a tool came back: %s", names)
		}
	}
	left.want(left.do("POST", "/v1/tools/left_agent:invoke", `{"args":{"task":"go"}}`), 200, "the call has passed 5 runtimes, which is the limit")
	if n := len(model.Requests()); n != 12 { // two for each agent: left, right, left, right, left, right
		t.Errorf("%d requests to the model", n)
	}
	right.end()
	left.eventually("to notice that the other one is away", func() bool { return !left.call("right__right_only", "{}").OK })
	right = start(t, folder(t, "spicepod.yaml", pod("right", "left", one)), "--http", two)
	left.connected("right")
	for _, p := range []*program{left, right} {
		p.eventually("to have no tool of its own back", func() bool {
			names := p.toolNames("")
			return len(names) > 20 && !slices.ContainsFunc(names, crossed)
		})
	}
}
