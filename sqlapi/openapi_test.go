package sqlapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
)

// probe is a request for one of a route's declared answers.
type probe struct {
	path, body string
	header     []string
	status     int
}

// mcpHello begins a session.
const mcpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func mcpHeader(more ...string) []string {
	return append([]string{"Content-Type", "application/json"}, more...)
}

const refreshPath = "/v1/datasets/%s/acceleration/refresh"

var probes = map[string][]probe{
	"sql": {
		{"/v1/sql", "SELECT 1 AS a, NULL AS b, [1] AS c", nil, 200},
		{"/v1/sql", "SELECT 1 AS a, {'x': DATE '2020-01-01'} AS s", []string{"Accept", "application/vnd.spiceai.sql.v1+json"}, 200},
		{"/v1/sql", "SELECT 1 AS a", []string{"Accept", "application/x-ndjson"}, 200},
		{"/v1/sql", "SELECT 1 AS a", []string{"Accept", "text/csv"}, 200},
		{"/v1/sql", "SELECT 1 AS a", []string{"Accept", "text/plain"}, 200},
		{"/v1/sql", "SELECT 1 AS a", []string{"Accept", "application/vnd.apache.arrow.stream"}, 200},
		{"/v1/sql", "SELECT", []string{"Accept", "application/json"}, 400},
		{"/v1/sql", "SELECT", nil, 400},
		{"/v1/sql", "SELECT 1", []string{"Content-Encoding", "br", "Accept", "application/json"}, 415},
		{"/v1/sql", "SELECT 1", []string{"Origin", "http://x", "Accept", "application/json"}, 403},
	},
	"active_queries": {
		{"/v1/sql/active", "", nil, 200},
		{"/v1/sql/active", "", []string{headerUser, strings.Repeat("x", 200)}, 400},
	},
	"cancel_query": {
		{"/v1/sql/8c6f1f5e-0000-4000-8000-000000000000/cancel", "", nil, 404},
		{"/v1/sql/x/cancel", "", []string{headerUser, strings.Repeat("x", 200)}, 400},
	},
	"submit_query": {
		{"/v1/queries", `{"sql":"SELECT 1 AS a"}`, nil, 202},
		{"/v1/queries", `{"sq":"SELECT 1 AS a"}`, nil, 400},
		{"/v1/queries", "", []string{headerUser, strings.Repeat("x", 200)}, 400},
	},
	"list_queries": {
		{"/v1/queries", "", nil, 200},
		{"/v1/queries?status=completed&limit=1", "", nil, 200},
		{"/v1/queries?status=sideways", "", nil, 400},
		{"/v1/queries?limit=0", "", nil, 400},
	},
	"get_query":              {{"/v1/queries/nope", "", nil, 404}},
	"get_query_status":       {{"/v1/queries/nope/status", "", nil, 404}},
	"get_query_chunk":        {{"/v1/queries/nope/results/chunks/0", "", nil, 404}},
	"cancel_submitted_query": {{"/v1/queries/nope/cancel", "", nil, 404}},
	"list_results":           {{"/v1/results", "", nil, 200}, {"/v1/results", "", []string{headerUser, strings.Repeat("x", 200)}, 400}},
	"get_result":             {{"/v1/results/r_nope", "", nil, 404}},
	"delete_result":          {{"/v1/results/r_nope", "", nil, 404}},
	"create_chat_completion": chatProbes(0),
	"create_message":         chatProbes(1),
	"create_response":        chatProbes(2),
	"list_agents": {
		{"/v1/agents", "", nil, 200},
	},
	"list_models": {
		{"/v1/models?status=true&metadata_fields=supports_responses_api", "", nil, 200},
		{"/v1/models", "", []string{"Anthropic-Version", "2023-06-01"}, 200},
		{"/v1/models?format=csv", "", nil, 200},
		{"/v1/models?format=x", "", nil, 400},
	},
	"get_model": {
		{"/v1/models/team/helper", "", nil, 200},
		{"/v1/models/broken", "", []string{"Anthropic-Version", "2023-06-01"}, 200},
		{"/v1/models/broken?status=x", "", nil, 400},
		{"/v1/models/nope", "", nil, 404},
		{"/v1/models/nope", "", []string{"Anthropic-Version", "2023-06-01"}, 404},
	},
	"mcp_send": {
		{"/v1/mcp", mcpHello, mcpHeader("Accept", "application/json, text/event-stream"), 200},
		{"/v1/mcp?mode=x", mcpHello, mcpHeader("Accept", "application/json, text/event-stream"), 400},
		{"/v1/mcp", mcpHello, mcpHeader("X-Spiced-User", strings.Repeat("x", 200)), 400},
		{"/v1/mcp", mcpHello, mcpHeader("Origin", "http://x"), 403},
		{"/v1/mcp", mcpHello, mcpHeader("Mcp-Session-Id", "gone"), 404},
	},
	"mcp_listen": {{"/v1/mcp", "", []string{"Accept", "text/event-stream", "Mcp-Session-Id", "gone"}, 404}},
	"mcp_end":    {{"/v1/mcp", "", []string{"Mcp-Session-Id", "gone"}, 404}},
	"cancel_request": {
		{"/v1/requests/nope:cancel", "", nil, 404},
		{"/v1/requests/nope:cancel", "", []string{headerUser, strings.Repeat("x", 200)}, 400},
	},
	"nsql": {
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, nil, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", mediaNSQL}, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", mediaSQL}, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", "application/vnd.spiceai.sql.v1+json"}, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", "application/x-ndjson"}, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", "text/csv"}, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", "text/plain"}, 200},
		{"/v1/nsql", `{"query":"SELECT 42 AS answer"}`, []string{"Accept", "application/vnd.apache.arrow.stream"}, 200},
		{"/v1/nsql", `{"query":"SELECT nothing"}`, nil, 400},
		{"/v1/nsql", `{}`, nil, 400},
		{"/v1/nsql", `{"query":"q","model":"model_not_found"}`, nil, 404},
		{"/v1/nsql", strings.Repeat(" ", maxSmallBody+1), nil, 413},
		{"/v1/nsql", `{"query":"q"}`, []string{"Content-Encoding", "br"}, 415},
		{"/v1/nsql", `{"query":"q","model":"rate_limited"}`, nil, 429},
		{"/v1/nsql", `{"query":"q","model":"cancelled"}`, nil, 499},
		{"/v1/nsql", `{"query":"q","model":"provider_error"}`, nil, 502},
		{"/v1/nsql", `{"query":"q","model":"model_not_loaded"}`, nil, 503},
		{"/v1/nsql", `{"query":"q","model":"provider_timeout"}`, nil, 504},
	},
	"list_tools": {
		{"/v1/tools", "", nil, 200},
		{"/v1/tools?view=full", "", nil, 200},
		{"/v1/tools?view=stats", "", nil, 200},
		{"/v1/tools?view=stats&format=csv", "", nil, 200},
		{"/v1/tools?format=xml", "", nil, 200},
		{"/v1/tools?view=x", "", nil, 400},
	},
	"tool_search_definitions": {{"/v1/tools/search", "", nil, 200}, {"/v1/tools/search?format=openai", "", nil, 200}, {"/v1/tools/search?format=x", "", nil, 400}},
	"get_tool": {
		{"/v1/tools/haversine_km", "", nil, 200},
		{"/v1/tools/huge", "", nil, 200},
		{"/v1/tools/haversine_km?explain", "", nil, 200},
		{"/v1/tools/jump", "", nil, 403},
		{"/v1/tools/nope", "", nil, 404},
	},
	"invoke_tool": {
		{"/v1/tools/haversine_km:invoke", `{"args":` + berlinParis + `,"trace":{"flow_id":"f"}}`, nil, 200},
		{"/v1/tools/three_rows:invoke", "", nil, 200},
		{"/v1/tools/fails:invoke", "", nil, 200},
		{"/v1/tools/haversine_km:invoke", `{"dry_run":true,"args":` + berlinParis + `}`, nil, 200},
		{"/v1/tools/haversine_km:invoke", "", nil, 400},
		{"/v1/tools/haversine_km:invoke", "{", nil, 400},
		{"/v1/tools/jump:invoke", "", nil, 403},
		{"/v1/tools/haversine_km:invoke", "", []string{"Origin", "http://x"}, 403},
		{"/v1/tools/nope:invoke", "", nil, 404},
		{"/v1/tools/huge:invoke", "", nil, 413},
		{"/v1/tools/huge:invoke", "", []string{"Content-Encoding", "br"}, 415},
		{"/v1/tools/broken:invoke", "", nil, 500},
		{"/v1/tools/stops:invoke", "", nil, 503},
		{"/v1/tools/slow:invoke", "", nil, 504},
	},
	"call_tool": {
		{"/v1/tools/haversine_km", berlinParis, nil, 200},
		{"/v1/tools/haversine_km", "", nil, 400},
		{"/v1/tools/jump", "", nil, 403},
		{"/v1/tools/nope", "", nil, 404},
		{"/v1/tools/huge", "", nil, 413},
		{"/v1/tools/huge", "", []string{"Content-Encoding", "br"}, 415},
		{"/v1/tools/broken", "", nil, 500},
		{"/v1/tools/lies", "", nil, 502},
		{"/v1/tools/stops", "", nil, 503},
		{"/v1/tools/slow", "", nil, 504},
	},
	"call_tool_deprecated": {{"/v1/tool/haversine_km", berlinParis, nil, 200}, {"/v1/tool/nope", "", nil, 404}},
	"search_tools": {
		{"/v1/tools:search", `{"query":"distance"}`, nil, 200},
		{"/v1/tools:search", `{"query":"distance","explain":true,"tool":"fails"}`, nil, 200},
		{"/v1/tools:search", `{"query":""}`, nil, 400},
		{"/v1/tools:search", `{"query":"x","explain":true,"tool":"nope"}`, nil, 404},
		{"/v1/tools:search", strings.Repeat(" ", maxSmallBody+1), nil, 413},
	},
	"search_tools_by_query": {
		{"/v1/tools:search?q=*", "", nil, 200},
		{"/v1/tools:search?q=distance&explain&tool=haversine_km", "", nil, 200},
		{"/v1/tools:search", "", nil, 400},
	},
	"create_embeddings": {
		{"/v1/embeddings", `{"model":"local","input":"x"}`, nil, 200},
		{"/v1/embeddings", `{"model":"local","input":["x"],"encoding_format":"base64"}`, nil, 200},
		{"/v1/embeddings", `{"model":"local"}`, nil, 400},
		{"/v1/embeddings", `{}`, []string{"Origin", "http://x"}, 403},
		{"/v1/embeddings", `{"model":"nope","input":"x"}`, nil, 404},
		{"/v1/embeddings", `{}`, []string{"Content-Encoding", "br"}, 415},
	},
	"list_approvals": {{"/v1/approvals", "", nil, 200}, {"/v1/approvals?status=pending", "", nil, 200}, {"/v1/approvals?status=x", "", nil, 400}},
	"get_approval":   {{"/v1/approvals/apr_nope", "", nil, 404}, {"/v1/approvals/apr_nope", "", []string{headerUser, strings.Repeat("x", 200)}, 400}},
	"decide_approval": {
		{"/v1/approvals/apr_nope", `{"decision":"approve"}`, nil, 404},
		{"/v1/approvals/apr_nope", `{"decision":"maybe"}`, nil, 400},
		{"/v1/approvals/apr_nope", `{"decision":"deny"}`, []string{"Origin", "http://x"}, 403},
		{"/v1/approvals/apr_nope", strings.Repeat(" ", maxSmallBody+1), nil, 413},
	},
	"list_functions": {{"/v1/functions", "", nil, 200}, {"/v1/functions?format=csv", "", nil, 200}, {"/v1/functions?as_tool=x", "", nil, 400}},
	"get_datasets":   {{"/v1/datasets?status=true", "", nil, 200}, {"/v1/datasets?format=csv", "", nil, 200}, {"/v1/datasets?status=x", "", nil, 400}},
	"refresh_dataset": {
		{fmt.Sprintf(refreshPath, "trips"), `{"refresh_mode":"full"}`, nil, 201},
		{fmt.Sprintf(refreshPath, "plain"), "", nil, 400},
		{fmt.Sprintf(refreshPath, "nope"), "", nil, 404},
		{fmt.Sprintf(refreshPath, "trips"), strings.Repeat(" ", maxSmallBody+1), nil, 413},
	},
	"search": {
		{"/v1/search", `{"text":"goods","explain":true}`, nil, 200},
		{"/v1/search", `{}`, nil, 400},
		{"/v1/search", `{"text":"building"}`, nil, 503},
		{"/v1/search", strings.Repeat(" ", maxSmallBody+1), nil, 413},
	},
	"list_sandboxes": {{"/v1/sandboxes", "", nil, 200}, {"/v1/sandboxes?format=csv", "", nil, 200}, {"/v1/sandboxes?format=x", "", nil, 400}},
	"get_sandbox":    {{"/v1/sandboxes/geo", "", nil, 200}, {"/v1/sandboxes/nope", "", nil, 404}},
	"build_sandbox":  {{"/v1/sandboxes/geo/build", "", nil, 200}, {"/v1/sandboxes/default/build", "", nil, 422}, {"/v1/sandboxes/nope/build", "", nil, 404}},
	"get_spicepods":  {{"/v1/spicepods", "", nil, 200}, {"/v1/spicepods?format=csv", "", nil, 200}, {"/v1/spicepods?format=x", "", nil, 400}},
	"get_status":     {{"/v1/status", "", nil, 200}, {"/v1/status?format=csv", "", nil, 200}, {"/v1/status?format=x", "", nil, 400}},
	"ready":          {{"/v1/ready", "", nil, 200}},
	"health":         {{"/health", "", nil, 200}},
	"metrics":        {{"/metrics", "", nil, 200}},
	"reload":         {{"/v1/reload", "", nil, 200}},
	"openapi":        {{"/v1/openapi.json", "", nil, 200}},
	"console":        {{"/ui/tools", "", nil, 200}, {"/ui/assets/none.js", "", nil, 404}},
	"page":           {{"/", "", []string{"Accept", "text/html"}, 302}, {"/", "", nil, 404}},
	"events":         {{"/v1/events?kinds=x", "", nil, 400}, {"/v1/events", "", nil, 404}},
	"get_caller":     {{"/v1/caller", "", nil, 200}, {"/v1/caller", "", []string{headerUser, strings.Repeat("x", 200)}, 400}},
	"test_function": {
		{"/v1/functions/twice:test", "", nil, 200},
		{"/v1/functions/nope:test", "", nil, 404},
		{"/v1/functions/twice:test", "", []string{headerUser, strings.Repeat("x", 200)}, 400},
	},
	"list_spicepod_files": {{"/v1/spicepods/files", "", nil, 200}},
	"get_spicepod_file": {
		{"/v1/spicepods/files/sql/f.sql", "", nil, 200},
		{"/v1/spicepods/files/nope.sql", "", nil, 404},
		{"/v1/spicepods/files/gone.sql", "", nil, 404},
	},
	"spicepod_schema": {{"/v1/schema/spicepod.json", "", nil, 200}},
}

// chatProbes are requests for what the endpoints answer; see [echoes].
func chatProbes(door int) []probe {
	form := forms[door]
	list := []probe{
		{form.path, form.whole(), nil, 200},
		{form.path, form.whole(), []string{headerEvents, "include"}, 200},
		{form.path, form.whole(), []string{headerEvents, ""}, 400},
		{form.path, form.whole(), []string{headerEvents, "all"}, 400},
		{form.path, form.stream(), nil, 200},
		{form.path, "{", nil, 400},
		{form.path, form.whole(), []string{"Origin", "http://x"}, 403},
		{form.path, form.whole(), []string{"Content-Encoding", "br"}, 415},
	}
	for _, c := range []struct {
		code   errcode.Code
		status int
	}{
		{errcode.ModelNotFound, 404},
		{errcode.RequestTooLarge, 413},
		{errcode.RateLimited, 429},
		{errcode.Cancelled, 499},
		{errcode.Internal, 500},
		{errcode.ProviderError, 502},
		{errcode.ModelNotLoaded, 503},
		{errcode.ProviderTimeout, 504},
	} {
		list = append(list, probe{form.path, strings.Replace(form.whole(), "helper", string(c.code), 1), nil, c.status})
	}
	return list
}

// TestTheAnswersAreAsDeclared walks the table against a running server.
func TestTheAnswersAreAsDeclared(t *testing.T) {
	f := serveChats(t, echoes(), func(o *Options) {
		s := mcpserver.New(mcpserver.Options{Registry: o.Tools})
		t.Cleanup(s.Close)
		o.MCP, o.Sandboxes, o.Search = s, &fakeSandboxes{}, fakeSearch
		o.Tester, o.Files = fakeTester{}, fakeFiles{}
	})
	check := newChecker(t, f)
	for _, rt := range routes(handlers{}) {
		if len(probes[rt.id]) == 0 {
			t.Errorf("%s %s has no probe", rt.method, rt.path)
		}
		for _, p := range probes[rt.id] {
			r := f.send(rt.method, p.path, p.body, p.header...)
			if r.status != p.status {
				t.Errorf("%s: got %d, want %d: %s", p.path, r.status, p.status, r.body)
				continue
			}
			check(rt, r)
		}
	}
	byID := func(id string) route {
		all := routes(handlers{})
		return all[slices.IndexFunc(all, func(rt route) bool { return rt.id == id })]
	}
	ready, reload := byID("ready"), byID("reload")
	f.runtime.ready = false
	check(ready, f.send("GET", "/v1/ready", ""))
	f.runtime.reload = Reload{Problems: f.runtime.Problems()}
	check(reload, f.send("POST", "/v1/reload", ""))
	f.runtime.reloadErr = errors.New("x")
	check(reload, f.send("POST", "/v1/reload", ""))
}

// newChecker returns what compares an answer with its declaration in the
// document that the server itself sends.
func newChecker(t *testing.T, f *fixture) func(route, reply) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(f.send("GET", "/v1/openapi.json", "").body))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	const base = "http://spiced.test/openapi.json"
	if err := compiler.AddResource(base, document); err != nil {
		t.Fatal(err)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B")
	return func(rt route, r reply) {
		t.Helper()
		media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
		if err != nil {
			t.Errorf("%s: %v", rt.path, err)
			return
		}
		declared := false
		for _, a := range rt.allAnswers() {
			for _, c := range a.body {
				if a.status != r.status || c.media != media {
					continue
				}
				declared = true
				if c.schema == nil {
					continue
				}
				at := fmt.Sprintf("%s#/paths/%s/%s/responses/%d/content/%s/schema", base,
					escape.Replace(rt.path), strings.ToLower(rt.method), a.status, escape.Replace(media))
				s, err := compiler.Compile(at)
				if err != nil {
					t.Errorf("%s: %v", rt.path, err)
					continue
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
				if err == nil {
					err = s.Validate(value)
				}
				if err != nil {
					t.Errorf("%s %d: %v\n%s", rt.path, r.status, err, r.body)
				}
			}
		}
		if !declared {
			t.Errorf("%s: the answer %d %s is not declared", rt.path, r.status, media)
		}
	}
}

func TestTheExamplesAreAsDeclared(t *testing.T) {
	for _, rt := range routes(handlers{}) {
		for _, a := range rt.answers {
			for _, c := range a.body {
				if c.example != "" && strings.HasSuffix(c.media, "/json") && !json.Valid([]byte(c.example)) {
					t.Errorf("%s: the example is not JSON: %s", rt.path, c.example)
				}
			}
		}
	}
}

func TestRoutesAreDescribedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, rt := range routes(handlers{}) {
		if seen[rt.id] || rt.id == "" || rt.summary == "" || rt.tag == "" || len(rt.answers) == 0 || !strings.HasSuffix(rt.summary, ".") {
			t.Errorf("%s %s is not described, or twice", rt.method, rt.path)
		}
		seen[rt.id] = true
	}
}
