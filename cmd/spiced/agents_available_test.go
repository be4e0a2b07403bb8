package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// hideHawken makes hawken one that only callers in the space vault see.
var hideHawken = []string{"description: Lore of the saga.,", "description: Lore of the saga., available: ctx.space_id == 'vault',"}

// inVault are the headers of a caller who sees hawken.
var inVault = []string{"X-Spiced-Space", "vault"}

// TestHiddenAgentIsUnknown asks for an agent that is hidden, and for one that is not there.
func TestHiddenAgentIsUnknown(t *testing.T) {
	t.Parallel()
	c := startAgents(t, hideHawken...)
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("I am here."))))
	ask := func(name string, header ...string) (answers []string) {
		chat := fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"x"}]}`, name)
		for _, q := range [][3]string{
			{"POST", "/v1/chat/completions", chat},
			{"POST", "/v1/messages", chat},
			{"POST", "/v1/responses", fmt.Sprintf(`{"model":%q,"input":"x"}`, name)},
			{"POST", "/v1/nsql", fmt.Sprintf(`{"query":"x","model":%q}`, name)},
			{"POST", "/v1/sql", fmt.Sprintf(`SELECT tool_invoke('%s', '{"task":"x"}') AS r`, name)},
			{"POST", "/v1/sql", fmt.Sprintf(`SELECT tool_invoke('sql', {query: 'SELECT tool_invoke(''%s'')'}) AS r`, name)},
			{"GET", "/v1/models/" + name, ""},
			{"GET", "/v1/tools/" + name, ""},
			{"POST", "/v1/tools/" + name + ":invoke", `{"args":{"task":"x"}}`},
		} {
			r := c.do(q[0], q[1], q[2], append([]string{"Content-Type", "application/json"}, header...)...)
			body := latency.ReplaceAllString(r.body, "")
			answers = append(answers, q[1]+fmt.Sprint(r.status)+strings.ReplaceAll(body, name, "NAME"))
		}
		return answers
	}
	unknown, hidden, seen := ask("zzwken"), ask("hawken"), ask("hawken", inVault...)
	for i, answer := range hidden {
		if want := strings.ReplaceAll(unknown[i], "zzwken", "hawken"); answer != want {
			t.Errorf("the hidden agent:\n%s\nan unknown one:\n%s", answer, want)
		}
		if strings.Contains(seen[i], "404") {
			t.Errorf("the agent, to a caller who sees it: %s", seen[i])
		}
	}
	if near := c.do("POST", "/v1/chat/completions", `{"model":"hawkem","messages":[{"role":"user","content":"x"}]}`); near.status != http.StatusNotFound ||
		strings.Contains(near.body, "hawken") {
		t.Errorf("a near name: %s", near.body)
	}
}

// TestHiddenAgentIsInNoList reads all lists of agents.
func TestHiddenAgentIsInNoList(t *testing.T) {
	t.Parallel()
	c := startAgents(t, hideHawken...)
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("I am here."))))
	c.do("POST", "/v1/chat/completions", `{"model":"hawken","messages":[{"role":"user","content":"x"}]}`, inVault...)
	c.do("POST", "/v1/tools/word_count:invoke", `{"args":{"text":"x"}}`, append([]string{"X-Spiced-Agent", "hawken"}, inVault...)...)
	for _, q := range [][2]string{
		{"/v1/models", ""},
		{"/v1/models?format=csv&status=true", ""},
		{"/v1/agents", ""},
		{"/v1/tools", ""},
		{"/v1/tools:search?q=lore+of+the+saga", ""},
		{"/v1/sql", "SELECT * FROM spiced.agents"},
		{"/v1/sql", "SELECT * FROM spiced.models"},
		{"/v1/sql", "SELECT * FROM spiced.model_usage"},
		{"/v1/sql", "SELECT caller FROM spiced.tool_calls"},
		{"/v1/sql", "SELECT * FROM spiced.tool_usage"},
	} {
		method := "GET"
		if q[1] != "" {
			method = "POST"
		}
		if body := c.do(method, q[0], q[1]).body; strings.Contains(body, "hawken") || strings.Contains(body, `"message"`) {
			t.Errorf("%v shows it: %s", q, body)
		}
		if body := c.do(method, q[0], q[1], inVault...).body; !strings.Contains(body, "hawken") {
			t.Errorf("%v does not show it to a caller who sees it: %s", q, body)
		}
	}
	if body := c.do("POST", "/v1/sql", "SELECT agents FROM spiced.agents WHERE name = 'ishvana'").body; body != `[{"agents":["lagan"]}]` {
		t.Errorf("agents of the other: %s", body)
	}
}

// TestHiddenAgentGetsNoTasks has an agent delegate to one that its caller does not see.
func TestHiddenAgentGetsNoTasks(t *testing.T) {
	t.Parallel()
	all := append([]string{"description: Counts.,", "description: Counts., available: ctx.space_id == 'vault',"}, hideHawken...)
	for name, f := range map[string]struct{ changes, headers []string }{
		"one is hidden":  {hideHawken, nil},
		"all are hidden": {all, nil},
		"both are seen":  {all, inVault},
		"by a toolset": {[]string{
			"agents:\n",
			"toolsets: [{ name: lore, description: Lore., tools: [hawken, lagan], available: ctx.space_id == 'vault' }]\nagents:\n",
		}, nil},
		"as for an agent": {[]string{hideHawken[0], "description: Lore of the saga., available: ctx.agent == 'ishvana',"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startAgents(t, f.changes...)
			c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
				"Ishvana": once(chattest.Call("c1", "delegate", `{"agent":"hawken","task":"x"}`)),
				"Hawken":  chattest.Always(chattest.Say(chattest.Text("the lore"))),
			}))
			r := c.do("POST", "/v1/chat/completions", `{"model":"ishvana","messages":[{"role":"user","content":"x"}]}`, f.headers...)
			first := string(c.model.Requests()[0].Body)
			switch name {
			case "one is hidden":
				if strings.Contains(first, "hawken") || !strings.Contains(first, "lagan") || strings.Contains(r.body, "the lore") ||
					!strings.Contains(r.body, "arguments.agent") && !strings.Contains(r.body, "agent") {
					t.Errorf("it was sent %s\nand answered %s", first, r.body)
				}
			case "all are hidden", "by a toolset":
				if strings.Contains(first, "delegate") || !strings.Contains(r.body, `there is no tool`) {
					t.Errorf("it was sent %s\nand answered %s", first, r.body)
				}
			default:
				if !strings.Contains(first, "hawken") || !strings.Contains(r.body, "the lore") {
					t.Errorf("it was sent %s\nand answered %s", first, r.body)
				}
			}
		})
	}
}
