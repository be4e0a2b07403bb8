package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/tools/builtin/documents"
)

// documentToolsPod has the twelve tools over documents of two spaces, each with its members.
const documentToolsPod = `version: v1
kind: Spicepod
name: pod
runtime:
  functions: { enabled: true }
  tools: { settings: { web_search: true } }
  auth:
    api-key:
      enabled: true
      principals:
        - { name: ann, key: ann-key-0123456789-0123456789-012345, user_id: ann, space_id: s1 }
        - { name: bob, key: bob-key-0123456789-0123456789-012345, user_id: bob, space_id: s2 }
        - { name: eve, key: eve-key-0123456789-0123456789-012345, user_id: ann }
        - { name: web, key: web-key-0123456789-0123456789-012345, on_behalf_of: true }
datasets:
  - name: docs
    from: file:docs.json
    row_filter: "list_contains(members, ctx('user_id')) AND (ctx('space_id') IS NULL OR space_id = ctx('space_id'))"
    columns: [{ name: content, full_text_search: { enabled: true, row_id: id }, embeddings: [{ from: semantic, row_id: id }] }]
embeddings:
  - { name: semantic, from: "builtin:semantic" }
models:
  - { name: assistant, from: "openai:gpt-test", params: { endpoint: "MODEL_URL/v1", openai_api_key: sk-live-0123456789, max_retries: 0 } }
agents:
  - { name: analyst, model: assistant, description: Reads documents., instructions: You are Analyst., tools: [list_datasets, sql], limits: { timeout: 30s } }
  - { name: worker, model: assistant, description: Works with documents., instructions: You are Worker., tools: [documents] }
functions:
  - { name: find_web, from: sql, description: Finds pages., signature: { args: [{ name: q, type: string }], returns: string }, body: "'found ' || q" }
tools:
  - { name: read_it, from: "tool:read_document", as_sql: true, signature: { args: [{ name: id, type: string }] } }
  - { name: grep_it, from: "tool:grep_documents", as_sql: true, signature: { args: [{ name: pattern, type: string }] } }
toolsets:
  - name: documents
    from: builtin:documents
    params: { dataset: docs, analyst: analyst, web_search: find_web, fetch_hosts: ["PAGE_HOST"], columns: { name: title, folder: path } }
`

// documentsOfSpaces are documents of a space that ann and bob share with no one.
func documentsOfSpaces(spaces ...string) string {
	const rows = `
{"id":"a1","title":"Plan.md","path":"finance/2026","content":"The plan of the year.\nRevenue is 7 million.","source":"mail","space_id":"s1","members":["ann"],"metadata":{"pages":2},"data":null}
{"id":"a2","title":"sales.xlsx","path":"finance","content":"Sales by region.","source":"drive","space_id":"s1","members":["ann"],"metadata":{"pages":1},"data":[{"region":"EU","amount":"1,200"},{"region":"US","amount":"300"}]}
{"id":"b1","title":"zorblax.md","path":"quuxdir/deep","content":"zorblax is the plan of the year; revenue is 9 million.","source":"zorbfeed","space_id":"s2","members":["bob"],"metadata":{"pages":99},"data":null}
{"id":"b2","title":"zorb.xlsx","path":"quuxdir","content":"plan plan zorblax","source":"mail","space_id":"s2","members":["bob"],"metadata":{"author":"zorb"},"data":[{"region":"ZORB","amount":"777","zorbcolumn":1}]}
`
	var kept []string
	for line := range strings.Lines(strings.TrimSpace(rows) + "\n") {
		for _, s := range spaces {
			if strings.Contains(line, `"space_id":"`+s+`"`) {
				kept = append(kept, line)
			}
		}
	}
	return strings.Join(kept, "")
}

// documented is a program with the documents of some spaces.
type documented struct {
	*chatting
	page    string
	session *mcp.ClientSession
}

func startDocuments(t *testing.T, spaces ...string) *documented {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>Page</title><body><p>A page about plans, and about years, and about revenue.</p></body>")
	}))
	t.Cleanup(page.Close)
	model := startModel(t)
	text := strings.NewReplacer("MODEL_URL", model.URL, "PAGE_HOST", page.Listener.Addr().String()).Replace(documentToolsPod)
	p := start(t, folder(t, "spicepod.yaml", text, "docs.json", documentsOfSpaces(spaces...)))
	c := &documented{chatting: &chatting{p, model}, page: page.URL}
	model.Script(c.plays)
	return c
}

// plays has the worker call the tool that the user names, and say its result; the analyst use all of its tools; and
// writes SQL that reads whatever there is.
func (c *documented) plays(r chattest.Request) chattest.Answer {
	switch {
	case strings.Contains(r.System, "You write SQL"):
		return chattest.Say(chattest.Text("```sql\n" + strings.TrimPrefix(r.User, "run ") + "\n```"))
	case strings.Contains(r.System, "You are Analyst."):
		return once(chattest.Call("r1", "read_document", `{}`), chattest.Call("r2", "grep_documents", `{"pattern":"plan"}`),
			chattest.Call("r3", "search_documents", `{"query":"plan"}`), chattest.Call("r4", "sql", `{"query":"SELECT 1"}`))(r)
	}
	name, args, _ := strings.Cut(r.User, " ")
	return once(chattest.Call("w1", name, args))(r)
}

// invoke calls a tool over HTTP.
func (c *documented) invoke(key, tool, args string, header ...string) string {
	c.t.Helper()
	r := c.do("POST", "/v1/tools/"+tool+":invoke", `{"args":`+args+`}`, append(append(keyOf(key), "Content-Type", "application/json"), header...)...)
	return latency.ReplaceAllString(r.body, "")
}

func TestTheTwelveTools(t *testing.T) {
	t.Parallel()
	c := startDocuments(t, "s1", "s2")
	for _, q := range [][3]string{
		{"list_sources", `{}`, `{"source":"drive","documents":1,"folders":1},{"source":"mail","documents":1,"folders":1}`},
		{"list_folder_contents", `{"folder":"finance"}`, `{"type":"folder","id":null,"name":"2026","path":"finance/2026","documents":1},{"type":"document","id":"a2"`},
		{"folder_tree", `{"source":"mail"}`, `"folders":[{"name":"finance","path":"finance","documents":0,"total":1`},
		{"search_documents", `{"query":"revenue","feeds":["mail"]}`, `"documents":[{"id":"a1","name":"Plan.md","source":"mail"`},
		{"search_documents", `{"query":"how much was earned","mode":"vector","limit":1}`, `"mode":"vector"`},
		{"grep_documents", `{"pattern":"[0-9]+ million","regex":true,"context_lines":1}`, `"line":2,"offset":33,"length":9,"text":"Revenue is 7 million.","before":["The plan of the year."]`},
		{"find_by_name", `{"pattern":"*.md"}`, `"documents":[{"id":"a1","name":"Plan.md"`},
		{"document_info", `{"id":"a1"}`, `"characters":43,"metadata":{"pages":2}`},
		{"read_document", `{"id":"a1","offset":4,"length":4}`, `"content":"plan","offset":4,"length":4,"characters":43,"more":true,"next_offset":8`},
		{"analyze_document", `{"id":"a1","question":"What is planned?"}`, `Revenue is 7 million.`},
		{"query_documents", `{"question":"run SELECT sum(amount) AS total FROM records"}`, `"rows":[{"total":1500}]`},
		{"web_search", `{"query":"plans"}`, `"result":"found plans"`},
		{"fetch_web_page", fmt.Sprintf(`{"url":%q}`, c.page), `"content":"A page about plans`},
	} {
		if got := c.invoke("ann", q[0], q[1]); !strings.Contains(got, `"ok":true`) || !strings.Contains(got, q[2]) {
			t.Errorf("%s(%s): %s, want %s", q[0], q[1], got, q[2])
		}
	}
	// Without a space, there is no navigation, and the user has all of their spaces.
	if got := c.invoke("eve", "list_sources", `{}`); !strings.Contains(got, `"code":"tool_not_found"`) {
		t.Errorf("navigation without a space: %s", got)
	}
	if got := c.invoke("eve", "grep_documents", `{"pattern":"plan"}`); !strings.Contains(got, `"id":"a1"`) || strings.Contains(got, "zorb") {
		t.Errorf("without a space: %s", got)
	}
	for key, want := range map[string]int{"ann": 12, "eve": 9} {
		list, err := c.mcpSession(keyOf(key)[1]).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, tool := range list.Tools {
			if slices.Contains(documents.Names(), tool.Name) {
				n++
			}
		}
		if n != want {
			t.Errorf("%s sees %d of the tools over MCP, want %d", key, n, want)
		}
	}
	if got := c.metric(`spiced_tool_unavailable_calls_total{tool="list_sources"}`); got != "1" {
		t.Errorf("unavailable calls: %s", got)
	}
}

// TestAnalystsStepsStream has the steps of the analyst in the events of the call, and the tools that it gets.
func TestAnalystsStepsStream(t *testing.T) {
	t.Parallel()
	c := startDocuments(t, "s1")
	r := c.do("POST", "/v1/tools/analyze_document:invoke", `{"args":{"id":"a1","question":"What?"}}`,
		append(keyOf("ann"), "Accept", "text/event-stream", "X-Spiced-Events", "include")...)
	types, last := streamed(r.body)
	if got := strings.Join(types, " "); strings.Count(got, "agent_tool_call") != 3 || strings.Count(got, "agent_tool_result") != 3 ||
		!strings.HasPrefix(got, "agent_start ") || !strings.HasSuffix(got, "agent_end result") {
		t.Errorf("events: %s", got)
	}
	if !strings.Contains(last, "there is no tool") || !strings.Contains(last, "7 million") {
		t.Errorf("the answer has no error of a tool that the analyst does not have: %s", last)
	}
	parents := map[string]bool{}
	for block := range strings.SplitSeq(r.body, "\n\n") {
		var e agentEvent
		name, data, _ := strings.Cut(block, "\ndata: ")
		if json.Unmarshal([]byte(data), &e) == nil && (name == "event: agent_start" || name == "event: agent_end") {
			parents[e.ParentCallID] = true
			if e.Agent != "analyst" || e.Depth != 1 {
				t.Errorf("%+v", e)
			}
		}
	}
	if len(parents) != 1 || parents[""] {
		t.Errorf("parents: %v", parents)
	}
	for _, q := range c.model.Requests() {
		if !slices.Equal(q.Tools, []string{"grep_documents", "read_document", "search_documents"}) {
			t.Errorf("the analyst is offered %q", q.Tools)
		}
	}
	// The same in a chat with an agent that has the toolset: one level deeper.
	_, events := c.asks("worker", `analyze_document {"id":"a1","question":"What?"}`, keyOf("ann")...)
	var chat []string
	for _, e := range events {
		if e.Type != "response_end" { // a call may begin before the response ends
			chat = append(chat, e.Type)
		}
	}
	if got := strings.Join(chat, " "); !strings.HasPrefix(got, "tool_call agent_start ") || !strings.HasSuffix(got, "agent_end tool_result") {
		t.Errorf("events of a chat: %s", got)
	}
}

// TestDocumentConversation finds a document, reads it, has it analysed and counts, in one chat.
func TestDocumentConversation(t *testing.T) {
	t.Parallel()
	c := startDocuments(t, "s1", "s2")
	steps := []chattest.Step{
		chattest.Call("d1", "find_by_name", `{"pattern":"plan*"}`), chattest.Call("d2", "read_document", `{"id":"a1"}`),
		chattest.Call("d3", "analyze_document", `{"id":"a1","question":"What is planned?"}`),
		chattest.Call("d4", "query_documents", `{"question":"run SELECT region, amount FROM records WHERE amount > 500"}`),
	}
	c.model.Script(func(r chattest.Request) chattest.Answer {
		if !strings.Contains(r.System, "You are Worker.") {
			return c.plays(r)
		}
		for i, want := range []string{`"name":"Plan.md"`, `"content":"The plan of the year.`, "7 million", `"rows":[{"region":"EU","amount":1200}]`} {
			if i < len(r.Results) && !strings.Contains(r.Results[fmt.Sprint("d", i+1)], want) {
				t.Errorf("result %d: %s, want %s", i+1, r.Results[fmt.Sprint("d", i+1)], want)
			}
		}
		if n := len(r.Results); n < len(steps) {
			return chattest.Say(steps[n])
		}
		return chattest.Say(chattest.Text("The plan is 7 million; the EU sold 1200."))
	})
	answer, events := c.asks("worker", "What is the plan, and who sold more than 500?", keyOf("ann")...)
	var calls []string
	for _, e := range events {
		switch {
		case e.Type == "tool_call":
			calls = append(calls, e.Tool)
		case strings.HasPrefix(e.Type, "agent_"):
			calls = append(calls, e.Type)
		}
	}
	if answer != "The plan is 7 million; the EU sold 1200." || !strings.HasPrefix(strings.Join(calls, " "),
		"find_by_name read_document analyze_document agent_start agent_tool_call") || calls[len(calls)-2] != "agent_end" || calls[len(calls)-1] != "query_documents" {
		t.Errorf("%s %q", answer, calls)
	}
}

// TestDocumentsAreCancelled interrupts chats whose model waits for an analyst, and for SQL.
func TestDocumentsAreCancelled(t *testing.T) {
	t.Parallel()
	c := startDocuments(t, "s1")
	c.model.Script(func(r chattest.Request) chattest.Answer {
		if strings.Contains(r.System, "You are Worker.") {
			return c.plays(r)
		}
		return chattest.Answer{Hang: true}
	})
	for i, call := range []string{`analyze_document {"id":"a1","question":"x"}`, `query_documents {"question":"x"}`} {
		body, _ := json.Marshal(map[string]any{"model": "worker", "messages": []any{map[string]string{"role": "user", "content": call}}})
		id, done := fmt.Sprint("chat-", i), make(chan reply, 1)
		go func() {
			done <- c.do("POST", "/v1/chat/completions", string(body), append(keyOf("ann"), "Content-Type", "application/json", "X-Request-Id", id)...)
		}()
		c.eventually("to ask the other model", func() bool { return len(c.model.Requests()) == 2*(i+1) })
		if r := c.do("POST", "/v1/requests/"+id+":cancel", "", keyOf("ann")...); r.status != http.StatusOK {
			t.Fatalf("cancel: %s", r.body)
		}
		select {
		case r := <-done:
			if !strings.Contains(r.body, "cancelled") {
				t.Errorf("%d %s", r.status, r.body)
			}
		case <-time.After(patience):
			t.Fatal("it was not cancelled")
		}
	}
	c.eventually("to end the calls", func() bool {
		r := c.do("POST", "/v1/sql", "SELECT tool, code FROM spiced.tool_calls ORDER BY tool", keyOf("ann")...)
		return strings.Contains(r.body, `{"tool":"analyze_document","code":"cancelled"}`) && strings.Contains(r.body, `{"tool":"query_documents","code":"cancelled"}`)
	})
}

// documentAttacks are calls by which ann, of space s1, tries to learn of space s2.
func documentAttacks(page string) [][2]string {
	list := [][2]string{
		{"list_sources", `{}`},
		{"list_folder_contents", `{}`},
		{"list_folder_contents", `{"source":"zorbfeed"}`},
		{"list_folder_contents", `{"source":"mail"}`},
		{"list_folder_contents", `{"folder":"quuxdir"}`},
		{"list_folder_contents", `{"folder":"quuxdir/deep"}`},
		{"list_folder_contents", `{"folder":"finance","limit":1}`},
		{"folder_tree", `{}`},
		{"folder_tree", `{"source":"zorbfeed"}`},
		{"folder_tree", `{"source":"mail","depth":1}`},
		{"search_documents", `{"query":"zorblax plan"}`},
		{"search_documents", `{"query":"plan","mode":"keyword","limit":1}`},
		{"search_documents", `{"query":"plan revenue year","feeds":["zorbfeed","mail"]}`},
		{"search_documents", `{"query":"plan","feeds":["x') OR true --"]}`},
		{"search_documents", `{"query":"plan","mode":"vector"}`},
		{"search_documents", `{"query":"zorblax","mode":"keyword"}`},
		{"search_documents", `{"query":"how much did we earn","mode":"vector","limit":100}`},
		{"search_documents", `{"query":"earnings of the year","mode":"hybrid","limit":100}`},
		{"grep_documents", `{"pattern":"plan"}`},
		{"grep_documents", `{"pattern":".*","regex":true,"limit":500,"context_lines":20}`},
		{"grep_documents", `{"pattern":"plan","document_id":"b1"}`},
		{"grep_documents", `{"pattern":"plan","document_id":"' OR '1'='1"}`},
		{"grep_documents", `{"pattern":"plan","limit":1}`},
		{"grep_documents", `{"pattern":"(zorb"}`},
		{"grep_documents", `{"pattern":"(zorb","regex":true}`},
		{"find_by_name", `{"pattern":"*"}`},
		{"find_by_name", `{"pattern":"zorb*"}`},
		{"find_by_name", `{"pattern":"quuxdir/**"}`},
		{"document_info", `{"id":"b1"}`},
		{"document_info", `{"id":"nosuch"}`},
		{"read_document", `{"id":"b1"}`},
		{"read_document", `{"id":"b1' OR '1'='1"}`},
		{"analyze_document", `{"id":"b1","question":"zorblax?"}`},
		{"analyze_document", `{"id":"a1","question":"Read b1."}`},
		{"query_documents", `{"question":"run SELECT * FROM records ORDER BY ALL"}`},
		{"query_documents", `{"question":"run SELECT count(*) AS n FROM docs"}`},
		{"query_documents", `{"question":"run SELECT * FROM documents ORDER BY id"}`},
		{"query_documents", `{"question":"run SELECT zorbcolumn FROM records"}`},
		{"query_documents", `{"question":"run SELECT error(content) FROM docs WHERE id = 'b1'"}`},
		{"query_documents", `{"question":"run SELECT id FROM docs WHERE id = 'a1' OR 1 / (CASE WHEN content LIKE 'zorb%' THEN 0 ELSE 1 END) = 2"}`},
		{"query_documents", `{"question":"x","document_id":"b2"}`},
		{"query_documents", `{"question":"x","document_id":"nosuch"}`},
		{"web_search", `{"query":"zorblax"}`},
		{"fetch_web_page", fmt.Sprintf(`{"url":%q}`, page)},
		{"fetch_web_page", `{"url":"http://169.254.169.254/"}`},
	}
	return list
}

// TestSpacesAreApart attacks one space from another through all twelve tools, over the API of tools, SQL, MCP and a
// chat. The answers are byte for byte those of a runtime that does not have the other space: counts, scores and
// texts of errors included.
func TestSpacesAreApart(t *testing.T) {
	t.Parallel()
	both, alone := startDocuments(t, "s1", "s2"), startDocuments(t, "s1")
	called := map[string]bool{}
	for _, protocol := range []struct {
		name string
		call func(c *documented, tool, args string) string
	}{
		{"tools", func(c *documented, tool, args string) string { return c.invoke("ann", tool, args) }},
		{"tools on behalf of", func(c *documented, tool, args string) string {
			return c.invoke("web", tool, args, "X-Spiced-User", "ann", "X-Spiced-Space", "s1")
		}},
		{"a claimed space", func(c *documented, tool, args string) string {
			return c.invoke("ann", tool, args, "X-Spiced-Space", "s2", "X-Spiced-User", "bob")
		}},
		{"all spaces of ann", func(c *documented, tool, args string) string { return c.invoke("eve", tool, args) }},
		{"a foreign space", func(c *documented, tool, args string) string {
			return c.invoke("web", tool, args, "X-Spiced-User", "ann", "X-Spiced-Space", "s2")
		}},
		{"SQL", func(c *documented, tool, args string) string {
			sql := fmt.Sprintf("SELECT tool_invoke('%s', '%s') AS r", tool, strings.ReplaceAll(args, "'", "''"))
			return latency.ReplaceAllString(c.do("POST", "/v1/sql", sql, keyOf("ann")...).body, "")
		}},
		{"MCP", func(c *documented, tool, args string) string { return c.overMCP(tool, args) }},
		{"a chat", func(c *documented, tool, args string) string {
			answer, events := c.asks("worker", tool+" "+args, keyOf("ann")...)
			for i := range events { // ids of calls, and times
				events[i].CallID, events[i].ParentCallID = "", ""
			}
			slices.SortFunc(events, func(a, b agentEvent) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			return latency.ReplaceAllString(fmt.Sprint(answer, events), "")
		}},
	} {
		for _, a := range documentAttacks("PAGE") {
			called[a[0]] = true
			var got [2]string
			for i, c := range []*documented{both, alone} {
				answer := protocol.call(c, a[0], strings.ReplaceAll(a[1], "PAGE", c.page))
				got[i] = strings.ReplaceAll(answer, c.page, "PAGE")
			}
			if got[0] != got[1] {
				t.Errorf("%s: %s(%s)\nwith the other space    %s\nwithout the other space %s", protocol.name, a[0], a[1], got[0], got[1])
			}
			if answer := got[0]; !strings.Contains(a[1], "zorb") && strings.Contains(answer, "zorb") || strings.Contains(answer, "777") ||
				strings.Contains(answer, "9 million") {
				t.Errorf("%s: %s(%s) leaks: %s", protocol.name, a[0], a[1], answer)
			}
		}
	}
	for _, sql := range []string{
		"SELECT read_it('b1') AS r", "SELECT read_it(id) ->> '$.content' AS r FROM docs ORDER BY ALL", "SELECT grep_it('plan') AS r", "SELECT grep_it('zorb') AS r",
		"SELECT read_it(id) FROM (VALUES ('a1'), ('b1')) t(id)", "SELECT count(*) AS n FROM docs", "SELECT TRY(read_it('b1')) AS r",
		"SELECT tool, error FROM spiced.tool_calls WHERE user_id = 'bob'",
	} {
		got, want := both.do("POST", "/v1/sql", sql, keyOf("ann")...), alone.do("POST", "/v1/sql", sql, keyOf("ann")...)
		if got.status != want.status || got.body != want.body || strings.Contains(got.body, "zorblax") {
			t.Errorf("%s\nwith the other space    %s\nwithout the other space %s", sql, got.body, want.body)
		}
	}
	if len(called) != 12 {
		t.Errorf("%d tools were attacked", len(called))
	}
	// What the attacks would have found is there for bob.
	for _, a := range [][3]string{
		{"read_document", `{"id":"b1"}`, "zorblax"},
		{"list_sources", `{}`, "zorbfeed"},
		{"query_documents", `{"question":"run SELECT amount FROM records"}`, "777"},
	} {
		if got := both.invoke("bob", a[0], a[1]); !strings.Contains(got, a[2]) {
			t.Errorf("bob: %s: %s", a[0], got)
		}
	}
}

// overMCP calls a tool over MCP.
func (c *documented) overMCP(tool, args string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if c.session == nil {
		c.session = c.mcpSession(keyOf("ann")[1])
	}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	text, _ := json.Marshal(result)
	return latency.ReplaceAllString(fmt.Sprint(string(text), err), "")
}
