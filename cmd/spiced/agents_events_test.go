package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// lorePlays has hawken call a tool, and answer.
func lorePlays(c *chatting) {
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate", `{"agent":"hawken","task":"Who is Mara?"}`)),
		"Hawken":  once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
	}))
}

// streamed are the types of the events of a stream, and the data of the last one.
func streamed(body string) (types []string, last string) {
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		name, data, _ := strings.Cut(block, "\n")
		types = append(types, strings.TrimPrefix(name, "event: "))
		last = strings.TrimPrefix(data, "data: ")
	}
	return types, last
}

// TestInvokeAsStream calls an agent and a function with an answer that is a stream.
func TestInvokeAsStream(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	lorePlays(c)
	stream := []string{"Accept", "text/event-stream"}
	include := append([]string{"X-Spiced-Events", "include"}, stream...)
	for name, f := range map[string]struct {
		tool, body string
		headers    []string
		types      string
		last       string
	}{
		"an agent, with events": {
			"hawken", `{"args":{"task":"Who is Mara?"}}`, include,
			"agent_start agent_chunk agent_tool_call agent_tool_result agent_chunk agent_end result", `lore of Mara`,
		},
		"an agent":                 {"hawken", `{"args":{"task":"Who is Mara?"}}`, stream, "result", `lore of Mara`},
		"a function, with events":  {"word_count", `{"args":{"text":"a b"}}`, include, "result", `"ok":true,"result":2`},
		"json is preferred":        {"word_count", `{"args":{"text":"a b"}}`, []string{"Accept", "application/json, text/event-stream"}, "", `"ok":true,"result":2`},
		"no stream of an error":    {"word_count", `{"args":{}}`, include, "", `"code":"invalid_arguments"`},
		"nor of one not found":     {"word_coumt", `{"args":{}}`, include, "", `"code":"tool_not_found"`},
		"nor of one that is wrong": {"word_count", `{"args":`, include, "", `"code":"invalid_request"`},
	} {
		r := c.do("POST", "/v1/tools/"+f.tool+":invoke", f.body, append([]string{"Content-Type", "application/json"}, f.headers...)...)
		types, last := streamed(r.body)
		if f.types == "" {
			types, last = nil, r.body
		}
		if strings.Join(types, " ") != f.types || !strings.Contains(last, f.last) || (r.header.Get("Content-Type") == "text/event-stream") != (f.types != "") {
			t.Errorf("%s: status %d, %s\nwant the events %s and %s", name, r.status, r.body, f.types, f.last)
		}
	}
}

// TestStreamOfFailedAgent has an agent that fails after its first step: the stream ends with
// a result.
func TestStreamOfFailedAgent(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	c.model.Script(chattest.Always(chattest.ServerError()))
	r := c.do("POST", "/v1/tools/hawken:invoke", `{"args":{"task":"x"}}`, "Accept", "text/event-stream", "X-Spiced-Events", "include")
	types, last := streamed(r.body)
	if r.status != http.StatusOK || !slices.Equal(types, []string{"agent_start", "agent_end", "result"}) || !strings.Contains(last, `"ok":false`) ||
		!strings.Contains(last, "provider_error") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestEventsTable reads the steps of agents, each once, as their caller and as another one.
func TestEventsTable(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "functions: { enabled: true } }", `functions: { enabled: true }, auth: { api-key: { enabled: true, principals: [
    { name: ann, key: ann-key-0123456789-0123456789-012345 }, { name: bob, key: bob-key-0123456789-0123456789-012345 } ] } } }`,
		"agents:\n", "agents:\n  - { name: scribe, model: assistant, description: Writes., instructions: You are Scribe., agents: [ishvana], limits: { "+
			"depth: 3 } }\n",
		"limits: { timeout: 30s } }", "limits: { timeout: 30s }, events: tools }")
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Scribe":  once(chattest.Call("s1", "delegate", `{"agent":"ishvana","task":"Ask."}`)),
		"Ishvana": once(chattest.Call("c1", "delegate", `{"agent":"hawken","task":"Who is Mara?"}`)),
		"Hawken":  once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
	}))
	follows := c.follow("?kinds=agent", keyOf("ann")...)
	if r := c.do("POST", "/v1/chat/completions", `{"model":"scribe","messages":[{"role":"user","content":"x"}]}`,
		append(keyOf("ann"), "X-Request-Id", "the-request")...); !strings.Contains(r.body, "lore of Mara") {
		t.Fatal(r.body)
	}
	const query = `SELECT type, agent, depth, tool, text, arguments, ok, request_id FROM spiced.events ORDER BY occurred_at, depth`
	var rows []struct {
		Type, Agent, Tool, Text, Arguments string
		Depth                              int
		OK                                 *bool
		RequestID                          string `json:"request_id"`
	}
	body := c.do("POST", "/v1/sql", query, keyOf("ann")...).body
	if err := json.Unmarshal([]byte(body), &rows); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var got []string
	for _, x := range rows {
		got = append(got, x.Agent+" "+x.Type+" "+x.Tool)
		if x.RequestID != "the-request" || x.Depth == 0 {
			t.Errorf("%+v", x)
		}
	}
	slices.Sort(got)
	want := []string{
		"hawken agent_end ", "hawken agent_start ", "hawken agent_tool_call lore_search", "hawken agent_tool_result lore_search",
		"ishvana agent_end ", "ishvana agent_start ", "ishvana agent_tool_call delegate", "ishvana agent_tool_result delegate",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range want {
		h, _ := follows.until("agent")
		row := c.row(fmt.Sprintf("SELECT * FROM spiced.events WHERE type = '%s' AND call_id = '%s'", h.row["type"], h.row["call_id"]),
			keyOf("ann")...)
		if !reflect.DeepEqual(row, h.row) {
			t.Errorf("the event and the row of the table differ:\n%s\n%v", h.data, row)
		}
	}
	if body := c.do("POST", "/v1/sql", query, keyOf("bob")...).body; body != "[]" {
		t.Errorf("another caller reads %s", body)
	}
}

// TestEventsOverMCP has the steps of an agent as notifications, over HTTP and stdio.
func TestEventsOverMCP(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	lorePlays(c)
	for how, transport := range map[string]mcp.Transport{
		"http":  &mcp.StreamableClientTransport{Endpoint: c.url + "/v1/mcp"},
		"stdio": overPipes(t, strings.NewReplacer("MODEL_URL", c.model.URL).Replace(agentsPod)),
	} {
		var mu sync.Mutex
		var messages, types []string
		last, grows := -1.0, true
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				grows, last = grows && n.Params.Progress > last, n.Params.Progress
				messages = append(messages, n.Params.Message)
				if step, ok := n.Params.Meta["spiced/event"].(map[string]any); ok {
					types = append(types, step["type"].(string))
				}
			},
		})
		session, err := client.Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		params := &mcp.CallToolParams{Name: "hawken", Arguments: map[string]any{"task": "Who is Mara?"}}
		params.SetProgressToken("p")
		if _, err := session.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		c.eventually("to have sent all steps", func() bool { mu.Lock(); defer mu.Unlock(); return slices.Contains(types, "agent_end") })
		mu.Lock()
		if strings.Join(types, " ") != "agent_start agent_chunk agent_tool_call agent_tool_result agent_chunk agent_end" || !grows ||
			!slices.Contains(messages, "hawken begins: Who is Mara?") || !slices.Contains(messages, "hawken lore_search succeeded") {
			t.Errorf("%s: %s\n%s", how, types, strings.Join(messages, "\n"))
		}
		mu.Unlock()
		if err := session.Close(); err != nil {
			t.Logf("%s: %v", how, err)
		}
	}
}

// overPipes serves a Spicepod over standard input and output until the test ends.
func overPipes(t *testing.T, pod string) mcp.Transport {
	t.Helper()
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended, dir := make(chan int, 1), folder(t, "spicepod.yaml", pod)
	go func() {
		ended <- run(ctx, []string{"mcp", dir}, streams{in, out, &logged{}})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
}

// TestForeignCallsOfAgents counts calls of tools that another agent owns, with the agent that
// the runtime runs as the caller, whatever the header says.
func TestForeignCallsOfAgents(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "name: lore_search, from: sql,", "name: lore_search, from: sql, owner: lagan,", "name: word_count, from: sql,",
		"name: word_count, from: sql, owner: lagan,")
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate_parallel", bothTasks)),
		"Hawken":  once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		"Lagan":   once(chattest.Call("l1", "word_count", `{"text":"a b"}`)),
	}))
	body := `{"model":"ishvana","messages":[{"role":"user","content":"x"}]}`
	if r := c.do("POST", "/v1/chat/completions", body, "X-Spiced-Agent", "lagan"); !strings.Contains(r.body, "lore of Mara") {
		t.Fatal(r.body)
	}
	if got := c.do("POST", "/v1/sql", "SELECT tool, owner, caller, calls FROM spiced.cross_agent_calls").body; got !=
		`[{"tool":"lore_search","owner":"lagan","caller":"hawken","calls":1}]` {
		t.Errorf("foreign calls: %s", got)
	}
}
