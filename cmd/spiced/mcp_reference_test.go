package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// referenceServers are the entries of testdata/mcp/reference.yaml.
var referenceServers = []string{"everything", "files", "memory", "thinking", "streamed", "legacy"}

// referencing is a program whose tools are those of the reference servers.
type referencing struct {
	*chatting
	files string // the folder that server-filesystem and server-memory have
}

func startReference(t *testing.T) *referencing {
	t.Helper()
	npm := mcpPeers(t)
	everything := npm.entry("server-everything/dist/index.js")
	serve := func(kind string) string {
		address := reserve.Address(t)
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		npm.background(t, address, []string{"PORT=" + port}, everything, kind)
		return address
	}
	files, err := filepath.EvalSymlinks(t.TempDir()) // as server-filesystem sees it
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(files, "towns.csv"), read(t, "testdata/mcp/towns.csv"))
	servers := strings.NewReplacer("NODE", npm.node, "PEERS", npm.entry(""), "FILES", files,
		"STREAMABLE", serve("streamableHttp"), "SSE", serve("sse")).Replace(read(t, "testdata/mcp/reference.yaml"))
	model := startModel(t)
	pod := chatPod{functions: 1, tools: "auto", embeddings: hashEmbeddings}.text(t, model.URL)
	p := start(t, folder(t, "spicepod.yaml", pod+servers))
	p.connected(referenceServers...)
	for _, s := range referenceServers {
		p.eventually("to have the tools of "+s, func() bool { return len(p.toolNames("?source=mcp:"+s)) > 0 })
	}
	return &referencing{&chatting{p, model}, files}
}

// TestMCPReferenceServers lists, finds and calls what the reference servers
// have, over stdio, streamable HTTP and the SSE of old.
func TestMCPReferenceServers(t *testing.T) {
	t.Parallel()
	r := startReference(t)
	for _, step := range []struct {
		name string
		run  func(*referencing)
	}{
		{"listed", (*referencing).listed},
		{"found", (*referencing).found},
		{"called over HTTP", (*referencing).overHTTP},
		{"called from SQL", (*referencing).fromSQL},
		{"called from a chat", (*referencing).fromChat},
		{"counted", (*referencing).counted},
	} {
		t.Run(step.name, func(t *testing.T) { step.run(r.in(t)) })
	}
}

// in is r for a part of the test.
func (r *referencing) in(t *testing.T) *referencing {
	p := *r.program
	p.t = t
	return &referencing{&chatting{&p, r.model}, r.files}
}

func (r *referencing) listed() {
	for server, want := range map[string][]string{
		"everything": {"everything__echo", "everything__get-structured-content", "everything__get-sum"},
		"streamed":   {"streamed__echo", "streamed__get-sum"},
		"legacy":     {"legacy__echo", "legacy__get-sum"},
		"files":      {"files__directory_tree", "files__read_text_file", "files__write_file"},
		"memory":     {"memory__create_entities", "memory__read_graph", "memory__search_nodes"},
		"thinking":   {"thinking__sequentialthinking"},
	} {
		names := r.toolNames("?source=mcp:" + server)
		if !slices.IsSorted(names) {
			r.t.Errorf("%s: %q is not sorted", server, names)
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				r.t.Errorf("%s: no %s in %q", server, name, names)
			}
		}
	}
	// What a server offers to clients that answer questions is not offered us.
	for _, name := range r.toolNames("?source=mcp") {
		if strings.Contains(name, "elicitation") || strings.Contains(name, "sampling") || strings.Contains(name, "get-roots-list") {
			r.t.Errorf("%s is listed, which needs what we refuse", name)
		}
	}
}

func (r *referencing) found() {
	for query, want := range map[string]string{
		"create several new entities in the knowledge graph": "memory__create_entities",
		"read the complete contents of a text file":          "files__read_text_file",
		"reflective problem solving through thoughts":        "thinking__sequentialthinking",
		"everything__get-sum":                                "everything__get-sum",
	} {
		var found struct {
			Tools []struct {
				ToolID string `json:"tool_id"`
			}
		}
		reply := r.do("POST", "/v1/tools:search", fmt.Sprintf(`{"query": %q, "limit": 3}`, query))
		if err := json.Unmarshal([]byte(reply.body), &found); err != nil {
			r.t.Fatalf("%v: %s", err, reply.body)
		}
		ids := []string{}
		for _, tool := range found.Tools {
			ids = append(ids, tool.ToolID)
		}
		if !slices.Contains(ids, want) {
			r.t.Errorf("%q finds %q, not %s", query, ids, want)
		}
	}
}

func (r *referencing) overHTTP() {
	for _, server := range []string{"everything", "streamed", "legacy"} {
		r.wantCall(server+"__echo", `{"message": "hello"}`, "Echo: hello")
		r.wantCall(server+"__get-sum", `{"a": 2, "b": 3.5}`, "The sum of 2 and 3.5 is 5.5")
		r.wantCall(server+"__get-structured-content", `{"location": "Chicago"}`, `"temperature":36`, `"humidity":82`)
		r.wantCall(server+"__get-tiny-image", `{}`, "image/png")
		r.wantCall(server+"__trigger-long-running-operation", `{"duration": 0.1, "steps": 2}`, "completed")
	}
	r.wantCall("everything/echo", `{"message": "the other spelling"}`, "Echo: the other spelling")
	r.wantCall("files__read_text_file", fmt.Sprintf(`{"path": %q}`, filepath.Join(r.files, "towns.csv")), "Turku")
	r.wantCall("thinking__sequentialthinking", `{"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}`, `"thoughtHistoryLength":1`)
	if got := r.call("files__read_text_file", `{"path": "/"}`); got.OK || got.Error.Code != "execution_error" ||
		!strings.Contains(got.Error.Message, "outside allowed directories") {
		r.t.Errorf("outside its folder: %+v", got)
	}
	if got := r.call("everything__get-sum", `{"a": "two", "b": 3}`); got.OK || got.Error.Code != "invalid_arguments" {
		r.t.Errorf("bad arguments: %+v", got)
	}
}

func (r *referencing) fromSQL() {
	r.want(r.do("POST", "/v1/sql", "SELECT tool_invoke('everything__echo', {message: name}) AS said FROM (VALUES ('a'), ('b')) t(name)"), 200,
		"Echo: a", "Echo: b")
	r.want(r.do("POST", "/v1/sql", fmt.Sprintf("SELECT tool_invoke('files__list_directory', {path: '%s'}) AS list", r.files)), 200, "towns.csv")
	r.want(r.do("POST", "/v1/sql", "SELECT name, source FROM spiced.tools WHERE name = 'thinking__sequentialthinking'"), 200, `"source":"mcp:thinking"`)
}

// remembering is a model that writes to the memory server and reads it back.
func remembering(r chattest.Request) chattest.Answer {
	invoke := func(id, tool, arguments string) chattest.Answer {
		return chattest.Say(chattest.Call(id, "tool_invoke", fmt.Sprintf(`{"tool_id": %q, "arguments": %s}`, tool, arguments)))
	}
	if read, ok := r.Results["read"]; ok {
		return chattest.Say(chattest.Text("I read ", read))
	}
	if _, ok := r.Results["write"]; ok {
		return invoke("read", "memory__search_nodes", `{"query": "Turku"}`)
	}
	return invoke("write", "memory__create_entities", `{"entities": [{"name": "Turku", "entityType": "town", "observations": ["has a castle"]}]}`)
}

func (r *referencing) fromChat() {
	r.model.Script(remembering)
	got, err := askOpenAI(r.program, question{model: "helper", text: "Remember Turku."})
	if err != nil || !strings.Contains(got.text, "has a castle") {
		r.t.Errorf("%v: it said %q", err, got.text)
	}
	if kept, err := os.ReadFile(filepath.Join(r.files, "memory.jsonl")); err != nil || !strings.Contains(string(kept), "Turku") {
		r.t.Errorf("the memory has %q, %v", kept, err)
	}
}

// counted has the calls of the tests before, like all others.
func (r *referencing) counted() {
	for tool, surface := range map[string]string{
		"legacy__echo": "http", "everything__echo": "sql", "memory__create_entities": "chat",
	} {
		got := r.sql(fmt.Sprintf("SELECT bool_or(ok AND surface = '%s' AND latency_ms > 0) AS there FROM spiced.tool_calls WHERE tool = '%s'", surface, tool))
		if got != `[{"there":true}]` {
			r.t.Errorf("%s by %s: %s", tool, surface, got)
		}
	}
}
