package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// agentsPod has an agent that delegates, and two specialists.
const agentsPod = podHead + `functions:
  - { name: lore_search, from: sql, description: Finds lore., signature: { args: [{ name: query, type: string }], returns: string }, body: "'lore of ' || query" }
  - { name: word_count, from: sql, description: Counts words., signature: { args: [{ name: text, type: string }], returns: int64 }, body: "len(string_split(text, ' '))" }
  - { name: secret_plan, from: sql, description: Tells the plan., signature: { returns: string }, body: "'the plan'" }
models:
  - { name: assistant, from: "openai:gpt-test", params: { endpoint: "MODEL_URL/v1", openai_api_key: sk-live-0123456789, max_retries: 0, system_prompt: Be brief. } }
  - { name: claude, from: "anthropic:claude-test", params: { endpoint: MODEL_URL, anthropic_api_key: sk-live-0123456789, max_retries: 0 } }
agents:
  - { name: hawken, model: assistant, description: Lore of the saga., instructions: You are Hawken., tools: [lore_search], events: all }
  - { name: lagan, model: claude, description: Counts., instructions: You are Lagan., tools: ["word_*"], limits: { timeout: 20s, tokens: 1000, calls: 1, rounds: 3 } }
  - { name: ishvana, model: assistant, description: Plans., instructions: You are Ishvana., agents: [hawken, lagan], tools: [word_count], limits: { timeout: 30s } }
`

// startAgents serves agentsPod with changes: old and new texts in turn.
func startAgents(t *testing.T, changes ...string) *chatting {
	t.Helper()
	model := startModel(t)
	text := strings.NewReplacer(append(changes, "MODEL_URL", model.URL)...).Replace(agentsPod)
	return &chatting{start(t, folder(t, "spicepod.yaml", text)), model}
}

// plays answers as the agents: by the name in their instructions.
func plays(agents map[string]func(chattest.Request) chattest.Answer) func(chattest.Request) chattest.Answer {
	return func(r chattest.Request) chattest.Answer {
		for name, answer := range agents {
			if strings.Contains(r.System, "You are "+name+".") {
				return answer(r)
			}
		}
		return chattest.ServerError()
	}
}

// once calls tools in the first answer, and says the results of the calls in the second one.
// The ids of calls are a letter and a digit: others are the runtime's own.
func once(calls ...chattest.Step) func(chattest.Request) chattest.Answer {
	return func(r chattest.Request) chattest.Answer {
		var said []string
		for id, result := range r.Results {
			if len(id) == 2 {
				said = append(said, result)
			}
		}
		if len(said) == 0 {
			return chattest.Say(append([]chattest.Step{chattest.Text("One moment.")}, append(calls, chattest.Usage(90, 10, 0, 0))...)...)
		}
		slices.Sort(said)
		return chattest.Say(chattest.Text(strings.Join(said, "; ")), chattest.Usage(190, 10, 0, 0))
	}
}

// agentEvent is an event of an agent as clients see it.
type agentEvent struct {
	Type, Agent, Tool, Text  string
	CallID                   string `json:"call_id"`
	ParentCallID             string `json:"parent_call_id"`
	Depth                    int
	OK                       bool
	Result, Arguments, Error any
}

// asks asks an agent, and returns its answer and the events.
func (c *chatting) asks(agent, text string, headers ...string) (answer string, events []agentEvent) {
	c.t.Helper()
	body, _ := json.Marshal(map[string]any{"model": agent, "messages": []any{map[string]string{"role": "user", "content": text}}})
	r := c.do("POST", "/v1/chat/completions", string(body), append(headers, "Content-Type", "application/json", "X-Spiced-Events", "include")...)
	var reply struct {
		Choices []struct{ Message struct{ Content string } }
		Events  []agentEvent `json:"spiced_events"`
	}
	if err := json.Unmarshal([]byte(r.body), &reply); err != nil || r.status != http.StatusOK || len(reply.Choices) != 1 {
		return r.body, nil
	}
	return reply.Choices[0].Message.Content, reply.Events
}

const bothTasks = `{"tasks":[{"agent":"hawken","task":"Who is Mara?","context":{"saga":"first"}},{"agent":"lagan","task":"How many?"}]}`

// TestDelegation delegates to two agents of two providers at once, and sees all steps.
func TestDelegation(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate_parallel", bothTasks)),
		"Hawken":  once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		"Lagan":   once(chattest.Call("l1", "word_count", `{"text":"a b c"}`)),
	}))
	answer, events := c.asks("ishvana", "Tell me of Mara.")
	var got struct {
		Results []struct {
			Agent, Result string
			OK            bool
			Metrics       struct{ Rounds, Calls, Tokens int }
		}
	}
	if err := json.Unmarshal([]byte(answer[max(0, strings.Index(answer, "{")):]), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if len(got.Results) != 2 || got.Results[0].Agent != "hawken" || !strings.Contains(got.Results[0].Result, "lore of Mara") ||
		strings.Contains(got.Results[0].Result, "moment") ||
		got.Results[1].Agent != "lagan" || got.Results[1].Result != "3" || !got.Results[0].OK || !got.Results[1].OK {
		t.Errorf("results: %s", answer)
	}
	if m := got.Results[0].Metrics; m.Rounds != 2 || m.Calls != 1 || m.Tokens != 300 {
		t.Errorf("metrics: %+v", m)
	}
	var shown []string
	for _, e := range events {
		shown = append(shown, fmt.Sprintf("%s %s%s", e.Agent, e.Type, e.Tool))
	}
	slices.Sort(shown)
	want := []string{
		" response_end", " response_end", " tool_calldelegate_parallel", " tool_resultdelegate_parallel",
		"hawken agent_chunk", "hawken agent_chunk", "hawken agent_end", "hawken agent_start", "hawken agent_tool_calllore_search",
		"hawken agent_tool_resultlore_search",
		"lagan agent_end", "lagan agent_start", "lagan agent_tool_callword_count", "lagan agent_tool_resultword_count",
	}
	if !slices.Equal(shown, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(shown, "\n"), strings.Join(want, "\n"))
	}
	for _, r := range c.model.Requests() {
		switch {
		case strings.Contains(r.System, "Hawken"):
			if !slices.Equal(r.Tools, []string{"lore_search"}) || !strings.HasPrefix(r.System, "Be brief.") ||
				r.User != "Who is Mara?\n\nContext:\n{\"saga\":\"first\"}" {
				t.Errorf("hawken got %+v", r)
			}
		case strings.Contains(r.System, "Lagan"):
			if !slices.Equal(r.Tools, []string{"word_count"}) {
				t.Errorf("lagan got %s", r.Tools)
			}
		case !slices.Equal(r.Tools, []string{"delegate", "delegate_parallel", "word_count"}):
			t.Errorf("ishvana got %s", r.Tools)
		}
	}
	if usage := c.do("POST", "/v1/sql",
		"SELECT count(*) AS n FROM spiced.tool_calls WHERE tool IN ('lore_search', 'word_count', 'delegate_parallel') AND caller IN ('hawken', 'lagan', 'ishvana')",
		"Cache-Control", "no-cache").body; !strings.Contains(usage, `3`) {
		t.Errorf("calls: %s", usage)
	}
}

// TestAgentsKeepToTheirTools have a model that calls what its agent does not have.
func TestAgentsKeepToTheirTools(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	for name, call := range map[string]chattest.Step{
		"by name":       chattest.Call("h1", "secret_plan", `{}`),
		"by invoke":     chattest.Call("h1", "tool_invoke", `{"tool_id":"secret_plan","arguments":{}}`),
		"other agent":   chattest.Call("h1", "lagan", `{"task":"x"}`),
		"delegation":    chattest.Call("h1", "delegate", `{"agent":"lagan","task":"x"}`),
		"by its search": chattest.Call("h1", "tool_search", `{"query":"plan"}`),
	} {
		c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{"Hawken": once(call)}))
		answer, _ := c.asks("hawken", "Tell me the plan.")
		if strings.Contains(answer, "the plan") || strings.Contains(answer, "secret_plan (") ||
			name != "by its search" && !strings.Contains(answer, "there is no tool") {
			t.Errorf("%s: %s", name, answer)
		}
		if name == "by its search" && (strings.Contains(answer, "secret_plan") || strings.Contains(answer, "word_count")) {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

// TestFaultsOfSpecialists have one that fails, whose fault must not lose the other's answer.
func TestFaultsOfSpecialists(t *testing.T) {
	t.Parallel()
	hang := chattest.Answer{Hang: true}
	for name, f := range map[string]struct {
		lagan  func(chattest.Request) chattest.Answer
		change []string
		want   string
	}{
		"its provider fails":    {chattest.Always(chattest.ServerError()), nil, `"code":"provider_error"`},
		"its answer breaks off": {chattest.Always(chattest.Answer{Steps: []chattest.Step{chattest.Text("half")}, Cut: 300}), nil, `"code":"stream_broken"`},
		"it hangs": {
			chattest.Always(hang),
			[]string{"timeout: 20s", "timeout: 1s"},
			`"code":"timeout","message":"agent lagan took longer than 1s, its time limit (limits.timeout)"`,
		},
		"too many tokens": {
			once(chattest.Call("l1", "word_count", `{"text":"a"}`)),
			[]string{"tokens: 1000", "tokens: 100"},
			`"code":"limit_exceeded","message":"agent lagan has used 100 tokens; its limit is 100 (limits.tokens)"`,
		},
		"too many calls": {
			once(chattest.Call("l1", "word_count", `{"text":"a"}`), chattest.Call("l2", "word_count", `{"text":"b"}`)), nil,
			`agent lagan has reached its limit of tool calls, 1 (limits.calls)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startAgents(t, f.change...)
			c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
				"Ishvana": once(chattest.Call("c1", "delegate_parallel", bothTasks)),
				"Hawken":  chattest.Always(chattest.Say(chattest.Text("Mara is a queen."), chattest.Usage(10, 5, 0, 0))),
				"Lagan":   f.lagan,
			}))
			if answer, _ := c.asks("ishvana", "Tell me of Mara."); !strings.Contains(answer, "Mara is a queen.") || !strings.Contains(answer, f.want) {
				t.Errorf("got %s\nwant %s", answer, f.want)
			}
		})
	}
}

// TestAgentsWorkAtOnce has four tasks; none can end before all have begun.
func TestAgentsWorkAtOnce(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	begun, all := make(chan struct{}, 4), make(chan struct{})
	go func() {
		for range 4 {
			<-begun
		}
		close(all)
	}()
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate_parallel",
			`{"tasks":[{"agent":"hawken","task":"1"},{"agent":"lagan","task":"2"},{"agent":"hawken","task":"3"},{"agent":"lagan","task":"4"}]}`)),
		"Hawken": func(r chattest.Request) chattest.Answer {
			begun <- struct{}{}
			<-all
			return chattest.Say(chattest.Text("h" + r.User))
		},
		"Lagan": func(r chattest.Request) chattest.Answer {
			begun <- struct{}{}
			<-all
			return chattest.Say(chattest.Text("l" + r.User))
		},
	}))
	answer, _ := c.asks("ishvana", "All of them.")
	last := -1
	for _, part := range []string{`"h1"`, `"l2"`, `"h3"`, `"l4"`} {
		at := strings.Index(answer, part)
		if at <= last {
			t.Errorf("%s is not there, or not in order: %s", part, answer)
		}
		last = at
	}
}

// TestAgentAsTool calls an agent over HTTP, through tool_invoke in SQL, and by a model.
func TestAgentAsTool(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{"Hawken": once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`))}))
	for what, body := range map[string]string{
		"invoke": c.do("POST", "/v1/tools/hawken:invoke", `{"args":{"task":"Who is Mara?"}}`).body,
		"sql":    c.do("POST", "/v1/sql", `SELECT tool_invoke('hawken', '{"task":"Who is Mara?"}') AS r`).body,
	} {
		if !strings.Contains(body, "lore of Mara") {
			t.Errorf("%s: %s", what, body)
		}
	}
	if body := c.do("GET", "/v1/agents", "").body; !strings.Contains(body, `"name":"ishvana"`) || !strings.Contains(body, `"agents":["hawken","lagan"]`) {
		t.Errorf("agents: %s", body)
	}
	if body := c.do("POST", "/v1/sql", "SELECT name, tokens, agents FROM spiced.agents ORDER BY name").body; body !=
		`[{"name":"hawken","tokens":null,"agents":[]},{"name":"ishvana","tokens":null,"agents":["hawken","lagan"]},{"name":"lagan","tokens":1000,"agents":[]}]` {
		t.Errorf("spiced.agents: %s", body)
	}
	if body := c.do("GET", "/v1/tools/hawken", "").body; !strings.Contains(body, `"source":"agent"`) {
		t.Errorf("tool: %s", body)
	}
}

// TestCancelledOrchestration cancels the chat: the specialists' requests end, too.
func TestCancelledOrchestration(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate_parallel", bothTasks)),
		"Hawken":  chattest.Always(chattest.Answer{Hang: true}),
		"Lagan":   chattest.Always(chattest.Answer{Hang: true}),
	}))
	done := make(chan reply, 1)
	go func() {
		done <- c.do("POST", "/v1/chat/completions", `{"model":"ishvana","messages":[{"role":"user","content":"x"}]}`, "Content-Type", "application/json",
			"X-Request-Id", "the-chat")
	}()
	c.eventually("to ask both agents", func() bool { return len(c.model.Requests()) == 3 })
	if r := c.do("POST", "/v1/requests/the-chat:cancel", ""); r.status != http.StatusOK {
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

// TestIshvana runs the Spicepod of docs/agents.md: three specialists, each of which calls one
// of its tools.
func TestIshvana(t *testing.T) {
	t.Parallel()
	const pod = "../../testdata/spicepods/ishvana/"
	model := startModel(t)
	text := strings.Replace(read(t, pod+"spicepod.yaml"), `openai_api_key: "${env:OPENAI_API_KEY}"`,
		`endpoint: "`+model.URL+`/v1", openai_api_key: sk-live-0123456789`, 1)
	c := &chatting{start(t, folder(t, "spicepod.yaml", text, "lore.csv", read(t, pod+"lore.csv"))), model}
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate_parallel",
			`{"tasks":[{"agent":"lorekeeper","task":"What is Thorn?"},{"agent":"lagan","task":"Count."},{"agent":"hawken","task":"Find the queen."}]}`)),
		"Lorekeeper": once(chattest.Call("k1", "canon_lookup", `{"wanted":"thorn"}`)),
		"Lagan":      once(chattest.Call("l1", "word_count", `{"text":"a b"}`)),
		"Hawken":     once(chattest.Call("h1", "lore_search", `{"word":"queen"}`)),
	}))
	answer, _ := c.asks("ishvana", "Tell me of the saga.")
	for _, part := range []string{"Fortress in the hills", `"result":"2"`, "Queen of the north"} {
		if !strings.Contains(answer, part) {
			t.Errorf("%s is not in %s", part, answer)
		}
	}
}

// TestAgentThroughSQL has an agent that calls another one in a statement: it is limited to
// its tools there, and what the other one spends is spent by it.
func TestAgentThroughSQL(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "agents:\n",
		"agents:\n  - { name: clerk, model: assistant, description: Asks in SQL., instructions: You are Clerk., tools: [sql, hawken] }\n")
	script := func(statement string) {
		c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
			"Clerk":  once(chattest.Call("k1", "sql", fmt.Sprintf(`{"query":%q}`, statement))),
			"Hawken": once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
			"Lagan":  once(chattest.Call("l1", "word_count", `{"text":"a b"}`)),
		}))
	}
	ask := func() string { return c.do("POST", "/v1/tools/clerk:invoke", `{"args":{"task":"Ask."}}`).body }
	script(`SELECT tool_invoke('hawken', '{"task":"Who is Mara?"}') AS r`)
	if body := ask(); !strings.Contains(body, "lore of Mara") || !strings.Contains(body, `"calls":2,"tokens":600`) {
		t.Errorf("an agent that it may call: %s", body)
	}
	script(`SELECT tool_invoke('lagan', '{"task":"Count."}') AS r`)
	if body := ask(); !strings.Contains(body, `there is no tool`) {
		t.Errorf("another agent: %s", body)
	}
}

// TestDelegationByUse shows the model that delegates when each agent is the right one, within the
// budget of tools.
func TestDelegationByUse(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "description: Lore of the saga.", `description: Lore of the saga., when_to_use: "A question is about Mara.\n\nOr about Orm.", not_for: Sums; lagan counts.`,
		"description: Counts.", `description: Counts., when_to_use: "`+strings.Repeat("Somebody counts all the words of a long text. ", 20)+`", not_for: Lore.`)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": chattest.Always(chattest.Say(chattest.Text("Done."))),
	}))
	if answer, _ := c.asks("ishvana", "Tell me of Mara."); answer != "Done." {
		t.Fatal(answer)
	}
	const want = `The agents are:\n- hawken: Lore of the saga.\n  Use when: A question is about Mara. Or about Orm.\n  Not for: Sums; lagan counts.` +
		`\n- lagan: Counts.\n  Not for: Lore."`
	if body := string(c.model.Requests()[0].Body); strings.Count(body, want) != 2 {
		t.Errorf("delegate or delegate_parallel lacks %s: %s", want, body)
	}
}
