package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// askPod has functions that call the agents of agentsPod.
const askPod = `tools:
  - { name: ask, from: "tool:hawken", as_sql: true, signature: { args: [{ name: task, type: utf8 }], returns: utf8 }, limits: { max_calls: 3 } }
  - { name: ask_once, from: "tool:hawken", as_sql: true, risk: read, signature: { args: [{ name: task, type: utf8 }], returns: utf8 } }
  - { name: ask_with, from: "tool:hawken", as_sql: true }
  - { name: ask_rows, from: "tool:hawken", as_sql: true, signature: { args: [{ name: task, type: utf8 }], returns: [{ name: title, type: utf8 }, { name: year, type: int64 }] } }
  - { name: ask_number, from: "tool:lagan", as_sql: true, signature: { args: [{ name: task, type: utf8 }], returns: int64 } }
  - { name: ask_other, from: "tool:ishvana", as_sql: true, signature: { args: [{ name: task, type: utf8 }], returns: utf8 } }
views:
  - { name: lore, sql: "SELECT ask('Who is Mara?') AS text" }
functions:
  - { name: asked, from: sql, description: Asks., signature: { args: [{ name: task, type: utf8 }], returns: utf8 }, body: upper(ask(task)) }
  - { name: again, from: sql, description: Asks ishvana., signature: { args: [{ name: task, type: utf8 }], returns: utf8 }, body: ask_other(task) }
`

// startAsking serves agentsPod with askPod, and further changes.
func startAsking(t *testing.T, changes ...string) *chatting {
	t.Helper()
	return startAgents(t, append([]string{"functions:\n", askPod}, changes...)...)
}

// TestAgentsInSQL calls agents in statements, bodies and views.
func TestAgentsInSQL(t *testing.T) {
	t.Parallel()
	c := startAsking(t)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Hawken": func(r chattest.Request) chattest.Answer {
			switch {
			case strings.Contains(r.User, "table"):
				return chattest.Say(chattest.Text(`[{"title":"Mara","year":1},{"title":"Nils","year":null}]`))
			case strings.Contains(r.User, "fails"):
				return chattest.ServerError()
			case strings.Contains(r.User, "repeat"):
				data, _ := json.Marshal(r.User)
				return chattest.Say(chattest.Text(string(data)))
			}
			return once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`))(r)
		},
		"Lagan": says("3"),
	}))
	for _, s := range [][2]string{
		{"SELECT ask('Who is Mara?') AS a", `[{"a":"\"lore of Mara\""}]`},
		{"SELECT asked('Who is Mara?') AS a", `[{"a":"\"LORE OF MARA\""}]`},
		{"FROM lore", `[{"text":"\"lore of Mara\""}]`},
		{"SELECT ask_with('Who is Mara?') ->> 'text' AS a, ask_with('Who is Mara?') -> 'usage' ->> 'calls' AS n", `[{"a":"\"lore of Mara\"","n":"1"}]`},
		{`SELECT ask_with('repeat', context := '{"saga":"first"}') ->> 'text' LIKE '%saga%first%' AS b`, `[{"b":true}]`},
		{"FROM ask_rows('a table')", `[{"title":"Mara","year":1},{"title":"Nils","year":null}]`},
		{"SELECT ask_number('How many?') + 1 AS n", `[{"n":4}]`},
		{"SELECT count(*) AS n, max(surface) AS s FROM spiced.tool_calls WHERE tool = 'hawken'", `[{"n":7,"s":"sql"}]`},
		{"SELECT count(ask_once('task ' || i % 2)) AS n FROM range(6) r(i)", `[{"n":6}]`},
		{"SELECT count(ask('task')) AS n FROM range(3) r(i)", `[{"n":3}]`}, // an agent may do more than read
		{"SELECT count(*) AS n FROM spiced.tool_calls WHERE tool = 'hawken' AND ok", `[{"n":12}]`},
	} {
		if got := c.sql(s[0]); got != s[1] {
			t.Errorf("%s: got %s, want %s", s[0], got, s[1])
		}
	}
	c.want(c.do("POST", "/v1/sql", "SELECT ask('It fails.')"), 502,
		`function 'ask' failed for (task := "It fails."): tool-backed function 'ask' call failed: model "assistant": the provider failed`)
	c.want(c.do("POST", "/v1/sql", "FROM ask_rows('Who is Mara?')"), 400, "the result has no rows")
	c.want(c.do("POST", "/v1/sql", "SELECT ask('task ' || i) FROM range(5) r(i)"), 413, "the statement needs at least 5 calls of function 'ask'; its limit is 3")
}

// TestAgentsInSQLThatCallThemselves has an agent with a function whose body asks it again. It
// may call itself only if its tools list it, and only down to limits.depth.
func TestAgentsInSQLThatCallThemselves(t *testing.T) {
	t.Parallel()
	for tools, want := range map[string]struct {
		says     string
		requests int
	}{
		"again":          {`there is no tool \"ishvana\"`, 2},
		"again, ishvana": {"agent ishvana delegates no deeper than 2 (limits.depth)", 6},
	} {
		t.Run(tools, func(t *testing.T) {
			t.Parallel()
			c := startAsking(t, "tools: [word_count], limits: { timeout: 30s } }", "tools: ["+tools+"], limits: { timeout: 30s } }")
			c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
				"Ishvana": once(chattest.Call("i1", "again", `{"task":"Once more."}`)),
			}))
			c.want(c.do("POST", "/v1/sql", "SELECT ask_other('Begin.') AS a"), 200, want.says)
			if n := len(c.model.Requests()); n != want.requests {
				t.Errorf("%d requests to the provider, want %d", n, want.requests)
			}
		})
	}
}

// TestHiddenAgentsInSQL: a function does not make an agent available.
func TestHiddenAgentsInSQL(t *testing.T) {
	t.Parallel()
	c := startAsking(t, "name: hawken, model", "name: hawken, available: ctx.user_id == 'ada', model")
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{"Hawken": says("It is Mara.")}))
	c.want(c.do("POST", "/v1/sql", "SELECT ask('x') AS a", "X-Spiced-User", "ada"), 200, `[{"a":"It is Mara."}]`)
	c.want(c.do("POST", "/v1/sql", "SELECT ask('x') AS a"), 400, `function 'ask' failed for (task := "x")`, `there is no tool "hawken"`)
	if n := len(c.model.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestCancelledAgentInSQL ends the request to the provider.
func TestCancelledAgentInSQL(t *testing.T) {
	t.Parallel()
	c := startAsking(t)
	ended := make(chan struct{})
	defer close(ended)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Hawken": chattest.Always(chattest.Say(chattest.Text("It is"), chattest.Until(ended))),
	}))
	answered := make(chan reply, 1)
	go func() { answered <- c.do("POST", "/v1/sql", "SELECT ask('x') AS a") }()
	c.eventually("to ask the agent", func() bool { return len(c.model.Requests()) == 1 })
	var active struct {
		Queries []struct {
			Kind, Name string
			ID         string `json:"query_id"`
		}
	}
	body := c.do("GET", "/v1/sql/active", "").body
	if err := json.Unmarshal([]byte(body), &active); err != nil || len(active.Queries) == 0 || active.Queries[0].Kind != "statement" {
		t.Fatalf("%v: %s", err, body)
	}
	c.want(c.do("POST", "/v1/sql/"+active.Queries[0].ID+"/cancel", ""), 200)
	c.want(<-answered, 499, `cancelled`)
	c.eventually("to run nothing", func() bool { return strings.Contains(c.do("GET", "/v1/sql/active", "").body, `"total_count":0`) })
}
