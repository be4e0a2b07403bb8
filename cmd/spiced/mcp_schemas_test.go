package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// refusedSchemas are schemas of MCP servers that a provider was reported to refuse, by the
// report; decision 0076 has more about them.
var refusedSchemas = map[string]string{
	"mobile_mcp_344":      `{"type":"object","oneOf":[{"required":["yaml"]},{"required":["files"]},{"required":["dir"]}],"properties":{"yaml":{"type":"string"},"files":{"type":"array","items":{"type":"string"}},"dir":{"type":"string"}}}`,
	"google_calendar_39":  `{"type":"object","allOf":[{"if":{"properties":{"scope":{"const":"one"}}},"then":{"required":["id"]}},{"properties":{"scope":{"enum":["one","all"]},"id":{"type":"string"}}}],"required":["scope"]}`,
	"home_agent_545":      `{"anyOf":[{"type":"object","properties":{"duration":{"type":"string"}}},{"type":"object","properties":{"hours":{"type":"integer"},"minutes":{"type":"integer"}}}]}`,
	"stella_781":          `{"type":"object","properties":{"action":{"type":"string","enum":["send","list"]},"to":{"type":"string"}},"required":["action"],"oneOf":[{"properties":{"action":{"const":"send"}},"required":["to"]},{"properties":{"action":{"const":"list"}}}]}`,
	"collmbo_384":         `{}`,
	"openai_agents_392":   `{"type":"object"}`,
	"required_null":       `{"type":"object","properties":{"a":{"type":"string"}},"required":null}`,
	"kintone_553":         `{"type":"object","properties":{"query":{"type":"array","items":[{"type":"object","properties":{"operator":{"type":"string"}}}],"additionalItems":{"$ref":"#/properties/query/items/0"}}}}`,
	"hyperdx_2925":        `{"type":"object","properties":{"value":{"type":"array","minItems":2,"maxItems":2,"items":[{"type":"number"},{"type":"number"}]}}}`,
	"empty_tuple":         `{"type":"object","properties":{"value":{"type":"array","items":[]}}}`,
	"dokploy_74":          `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"ttl":{"type":"integer","exclusiveMinimum":true,"minimum":0,"maximum":9007199254740991}}}`,
	"claude_code_586":     `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"at":{"type":"array","items":[{"type":"number"},{"type":"number"}],"additionalItems":false}}}`,
	"actual_mcp_26":       `{"type":"object","properties":{"value":{"type":["string","number","string[]"]}}}`,
	"appstore_connect_2":  `{"type":"object","properties":{"filter[bundleId]":{"type":"string"},"exists[parent]":{"type":"boolean"}},"required":["filter[bundleId]"],"additionalProperties":false}`,
	"composio_3500":       `{"type":"object","properties":{"$top":{"type":"integer"},"@microsoft.graph.conflictBehavior":{"type":"string","enum":["fail","rename"]}}}`,
	"composio_3067":       `{"type":"object","properties":{"settings__approved__or__denied__countries__or__regions__approved__list":{"type":"array","items":{"type":"string"}}}}`,
	"digitalocean_265":    `{"type":"object","properties":{"AppSlugs":{"type":"array","description":"Slugs."}},"required":["AppSlugs"]}`,
	"fastmcp_2464":        `{"type":"object","properties":{"figsize":{"anyOf":[{"maxItems":2,"minItems":2,"prefixItems":[{"type":"number"},{"type":"number"}],"type":"array"},{"type":"null"}],"default":[10,6]}}}`,
	"byterover_42":        `{"type":"object","properties":{"interaction":{"type":["string","array"]}}}`,
	"mcp_servers_1624":    `{"type":"object","properties":{"url":{"type":"string","format":"uri","minLength":1},"max_length":{"type":"integer","default":5000,"exclusiveMaximum":1000000,"exclusiveMinimum":0}},"required":["url"]}`,
	"zed_44875":           `{"type":"object","properties":{"mode":{"anyOf":[{"const":"a"},{"const":"b"},{"const":7}]}}}`,
	"gemini_cli_3178":     `{"type":"object","properties":{"links":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string","format":"uri"}},"additionalProperties":false}}}}`,
	"laravel_ai_386":      `{"type":"object","properties":{"hotel":{"type":["string","null"]},"stars":{"type":["integer","null"],"enum":[1,2,null]}}}`,
	"weave_router_65":     `{"type":"object","properties":{"level":{"type":"integer","enum":[7,8]},"even":{"type":"number","multipleOf":2}}}`,
	"opencode_11889":      `{"type":"object","properties":{"data":{"type":"string","properties":{"x":{"type":"string"}},"required":["x"]}}}`,
	"gitlab_mcp_166":      `{"type":"object","properties":{"id":{"anyOf":[{"type":""},{"type":"integer"}]}}}`,
	"librechat_6971":      `{"type":"object","properties":{"command":{"description":"Anything."}},"required":["command","gone"]}`,
	"recursive":           `{"$ref":"#/definitions/Node","definitions":{"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/definitions/Node"}}}}}}`,
	"notion_102":          `{"type":"object","properties":{"data":{"allOf":[{"type":"object","properties":{"page_id":{"type":"string"}}},{"type":"object","properties":{"command":{"type":"string"}}}]}}}`,
	"not_a_schema":        `{"type":"object","properties":{"a":"string","b":null,"c":{"type":"strin"}}}`,
	"reference_elsewhere": `{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}`,
}

// rawServer serves MCP over HTTP without an SDK, which would refuse the schemas. A call's
// result are its arguments.
func rawServer(t *testing.T, schemas map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments json.RawMessage }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"protocolVersion":"2025-06-18","serverInfo":{"name":"raw","version":"1"},"capabilities":{"tools":{}}}`
		switch m.Method {
		case "tools/list":
			var list []string
			for _, name := range slices.Sorted(maps.Keys(schemas)) {
				list = append(list, fmt.Sprintf(`{"name":%q,"description":"Does it.","inputSchema":%s}`, name, schemas[name]))
			}
			result = `{"tools":[` + strings.Join(list, ",") + `]}`
		case "tools/call":
			text, _ := json.Marshal(string(m.Params.Arguments))
			result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestRefusedSchemas chats with providers that refuse what they are reported to refuse: each
// takes the tools, the model calls one by the names that it was sent, and the server gets the
// names that it declared. Status names the tools.
func TestRefusedSchemas(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	pod := podHead + "tools:\n" + httpServer("raw", rawServer(t, refusedSchemas)) +
		strings.NewReplacer("MODEL_URL", model.URL, "TOOLS", "all", "PATIENCE", "20s").Replace(read(t, "testdata/chat/models.yaml")) +
		fmt.Sprintf("  - { name: gemini, from: 'openai:gemini-test', params: { endpoint: '%s/v1', tools: all, tool_schemas: subset } }\n", model.URL)
	p := start(t, folder(t, "spicepod.yaml", pod))
	p.connected("raw")
	for _, c := range []struct {
		form        chat.Form
		model       string
		how         chattest.Strictness
		sent, given string
	}{
		{chat.FormOpenAI, "helper", chattest.AsVendor, `{"filter[bundleId]":"x"}`, `{\"filter[bundleId]\":\"x\"}`},
		{chat.FormResponses, "responder", chattest.AsVendor, `{"filter[bundleId]":"x"}`, `{\"filter[bundleId]\":\"x\"}`},
		{chat.FormAnthropic, "claude", chattest.AsVendor, `{"filter_bundleId_":"x"}`, `{\"filter[bundleId]\":\"x\"}`},
		{chat.FormOpenAI, "gemini", chattest.AsGemini, `{"filter_bundleId_":"x","exists_parent_":true}`, `{\"exists[parent]\":true,\"filter[bundleId]\":\"x\"}`},
	} {
		model.Judge(c.how)
		model.Script(chattest.InTurn(chattest.Say(chattest.Call("c1", "raw__appstore_connect_2", c.sent)), chattest.Say(chattest.Text("Done."))))
		got, err := goClients[c.form](p, question{model: c.model, text: "go"})
		if err != nil || got.text != "Done." {
			t.Errorf("%s: %+v %v", c.model, got, err)
			continue
		}
		requests := model.Requests()
		last := requests[len(requests)-1]
		if n := len(slices.DeleteFunc(slices.Clone(last.Tools), func(name string) bool { return !strings.HasPrefix(name, "raw__") })); n != len(refusedSchemas) {
			t.Errorf("%s: %d tools are sent", c.model, n)
		}
		if want := strings.ReplaceAll(c.given, `\"`, `"`); last.Results["c1"] != want {
			t.Errorf("%s: the server got %s, want %s", c.model, last.Results["c1"], want)
		}
		if !strings.Contains(string(last.Body), `The arguments also follow this JSON Schema: {\"oneOf\":[{\"required\":[\"yaml\"]}`) {
			t.Errorf("%s: what is lost is not said", c.model)
		}
	}
	status := fmt.Sprint(p.component("raw").Problems)
	if !strings.Contains(status, "model providers refuse") || !strings.Contains(status, `"actual_mcp_26"`) {
		t.Errorf("status says %s", status)
	}
}

// TestFakesRefuse: each of the schemas is refused by a provider as it is.
func TestFakesRefuse(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	model.Script(chattest.Always(chattest.Say()))
	refused := func(how chattest.Strictness, path, tool string) bool {
		model.Judge(how)
		resp, err := http.Post(model.URL+path, "application/json", strings.NewReader(`{"model":"m","tools":[`+tool+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusBadRequest
	}
	for name, schema := range refusedSchemas {
		function := `{"type":"function","function":{"name":"f","parameters":` + schema + `}}`
		if !refused(chattest.AsVendor, "/v1/chat/completions", function) && !refused(chattest.AsGemini, "/v1/chat/completions", function) &&
			!refused(chattest.AsVendor, "/v1/messages", `{"name":"f","input_schema":`+schema+`}`) {
			t.Errorf("%s is taken by all", name)
		}
	}
}
