package models_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/tools"
)

// goldenField compares a field of a body, indented, with a file in testdata.
func goldenField(t testing.TB, name string, body []byte, field string) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, fields[field], "", "  "); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	b.WriteByte('\n')
	golden.Equal(t, "testdata/"+name, b.Bytes())
}

// few are a handful of tools of several owners.
func few(t testing.TB) []tools.Tool {
	list := functions(t, 2)
	for _, d := range []tools.Definition{
		{Name: "list_datasets", Source: tools.SourceBuiltin},
		{Name: "maps__route", Source: "mcp:maps"},
		{Name: "pay", Source: tools.SourceFunction, Owner: "team: money"},
		{Name: "sql", Source: tools.SourceBuiltin},
	} {
		d.Description = "Is " + d.Name + "."
		list = append(list, tool(t, d, nil))
	}
	return list
}

const fewEntries = "tools: [{name: maps, from: 'mcp:npx'}]\n"

func TestNativeOpenAI(t *testing.T) {
	server := serve(t)
	set, problems, _ := open(t, fewEntries+at(server, "openai:gpt", "tools: search_registry, tool_search: native, auto_threshold: 0, pinned_tools: f01"), few(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	must(t, set, "m", hello())
	r := server.Requests()[0]
	if r.Path != "/v1/responses" {
		t.Errorf("path %s", r.Path)
	}
	goldenField(t, "native_openai.json", r.Body, "tools")
}

func TestNativeAnthropic(t *testing.T) {
	server := serve(t)
	server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("toolu_1", "tool_search", `{"query":"adds 0 f00","limit":1}`)),
		chattest.Say(chattest.Call("toolu_2", "f00", `{"x":1}`)),
		chattest.Say(chattest.Text("done")),
	))
	set, problems, _ := open(t,
		worlds[1].sections+fewEntries+at(server, "anthropic:claude", "tools: auto, tool_search: native, auto_threshold: 1, pinned_tools: f01"), few(t))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	must(t, set, "m", hello())
	requests := server.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	goldenField(t, "native_anthropic.json", requests[0].Body, "tools")
	goldenField(t, "native_anthropic_found.json", requests[1].Body, "messages")
	if toolBytes(t, requests[0].Body) != toolBytes(t, requests[1].Body) {
		t.Error("what was found changes the tools, and the prompt cache is lost")
	}
	if !strings.Contains(requests[2].Results["toolu_2"], "done") {
		t.Errorf("%v", requests[2].Results)
	}
}
