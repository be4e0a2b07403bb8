package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// TestDelegationIsInTheCatalog has the tools that delegate listed, and called by their agents
// alone.
func TestDelegationIsInTheCatalog(t *testing.T) {
	t.Parallel()
	c := startAgents(t)
	rows := func() string {
		return c.do("POST", "/v1/sql", "SELECT name, owner, source, total_invocations AS n FROM spiced.tools WHERE name LIKE 'delegate%' ORDER BY name",
			"Cache-Control", "no-cache").body
	}
	const want = `[{"name":"delegate","owner":"ishvana","source":"builtin","n":0},{"name":"delegate_parallel","owner":"ishvana","source":"builtin","n":0}]`
	if got := strings.TrimSpace(rows()); got != want {
		t.Errorf("spiced.tools: %s", got)
	}
	for path, wants := range map[string]string{
		"/v1/tools/delegate":                          `"owner":"ishvana"`,
		"/v1/tools/delegate_parallel":                 `"maxItems":64`,
		"/v1/tools/delegate?explain=true":             `"reason":"only the agents that have it call it: ishvana"`,
		"/v1/tools?view=stats":                        `"name":"delegate_parallel"`,
		"/v1/tools?view=stats&owner=ishvana":          `"name":"delegate"`,
		"/v1/tools?view=stats&owner=ishvana&source=x": `[]`,
	} {
		if r := c.do("GET", path, ""); r.status != http.StatusOK || !strings.Contains(r.body, wants) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	for _, path := range []string{"/v1/tools", "/v1/tools?view=full"} {
		if r := c.do("GET", path, ""); strings.Contains(r.body, "delegate") {
			t.Errorf("%s has what callers cannot call: %s", path, r.body)
		}
	}
	if r := c.do("POST", "/v1/tools/delegate:invoke", `{"args":{"agent":"hawken","task":"x"}}`); r.status != http.StatusForbidden ||
		!strings.Contains(r.body, "only the agents that have it call it: ishvana") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := c.do("POST", "/v1/sql", `SELECT tool_invoke('delegate', '{"agent":"hawken","task":"x"}')`); !strings.Contains(r.body,
		"only the agents that have it call it: ishvana") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := c.do("POST", "/v1/search/tools", `{"query":"delegate"}`); strings.Contains(r.body, `"delegate`) && r.status == http.StatusOK &&
		strings.Contains(r.body, `"tool_id":"delegate`) {
		t.Errorf("search: %s", r.body)
	}

	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate", `{"agent":"hawken","task":"Who is Mara?"}`)),
		"Hawken":  once(),
	}))
	if answer, _ := c.asks("ishvana", "Tell me of Mara."); !strings.Contains(answer, `"ok":true`) {
		t.Errorf("the delegation failed: %s", answer)
	}
	if got := rows(); !strings.Contains(got, `{"name":"delegate","owner":"ishvana","source":"builtin","n":3}`) { // with the two that were refused
		t.Errorf("spiced.tools after a call: %s", got)
	}
	const costs = "SELECT m.tool_count = len(m.advertised) AS tools, u.definition_tokens % m.definition_tokens = 0 AND u.definition_tokens > 0 AS tokens " +
		"FROM spiced.models m JOIN spiced.model_usage u ON u.model = m.name WHERE m.name = 'ishvana'"
	if got := c.do("POST", "/v1/sql", costs, "Cache-Control", "no-cache").body; strings.TrimSpace(got) != `[{"tools":true,"tokens":true}]` {
		t.Errorf("what the agent is sent is not what is listed: %s, %s", got, c.do("GET", "/v1/agents", "").body)
	}
	if got := c.do("POST", "/v1/sql", "SELECT owner, foreign_call FROM spiced.tool_calls WHERE tool = 'delegate' AND ok", "Cache-Control",
		"no-cache").body; strings.TrimSpace(got) != `[{"owner":"ishvana","foreign_call":false}]` {
		t.Errorf("spiced.tool_calls: %s", got)
	}
}

// TestSeveralDelegatingAgents share the names of the tools, which none of them owns then;
// callers who see none of the agents do not see the tools.
func TestSeveralDelegatingAgents(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "limits: { timeout: 30s } }\n", `available: "ctx.space_id == 'vault'" }
  - { name: maro, model: assistant, description: Also plans., agents: [lagan], available: "ctx.space_id == 'vault'" }
`)
	if r := c.do("GET", "/v1/tools/delegate", "", inVault...); r.status != http.StatusOK || !strings.Contains(r.body, `"owner":"runtime"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, path := range []string{"/v1/tools/delegate", "/v1/tools?view=stats"} {
		if r := c.do("GET", path, ""); strings.Contains(r.body, `"delegate"`) || strings.Contains(r.body, "ishvana") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := c.do("POST", "/v1/tools/delegate:invoke", `{"args":{}}`); r.status != http.StatusNotFound || strings.Contains(r.body, "ishvana") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestNamesOfDelegationAreTaken has a function with the name of a tool that delegates.
func TestNamesOfDelegationAreTaken(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "name: secret_plan", "name: delegate")
	if r := c.do("GET", "/v1/status", ""); !strings.Contains(r.body, `is there already, declared at spicepod.yaml:8; the one at spicepod.yaml:15 is left out`) {
		t.Errorf("status: %s", r.body)
	}
}

// TestForeignCalls have an agent call the tool that another one owns.
func TestForeignCalls(t *testing.T) {
	t.Parallel()
	owned := []string{"description: Counts words.,", "description: Counts words., owner: lagan,"}
	for _, x := range []struct {
		name    string
		changes []string
		want    string
		foreign string
	}{
		{"by default", nil, "3", `[{"tool":"word_count","owner":"lagan","caller":"hawken","calls":2}]`},
		{
			"permitted",
			[]string{"tools: [lore_search],", "tools: [lore_search], foreign_calls: true,"},
			"3",
			`[{"tool":"word_count","owner":"lagan","caller":"hawken","calls":2}]`,
		},
		{"refused", []string{"tools: [lore_search],", "tools: [lore_search], foreign_calls: false,"}, `there is no tool \"word_count\"`, "[]"},
		{"not available", []string{"owner: lagan,", `owner: lagan, available: "ctx.agent == 'lagan'",`}, `there is no tool \"word_count\"`, "[]"},
	} {
		c := startAgents(t, append(append([]string{}, x.changes...), owned...)...)
		if x.name == "not available" {
			c = startAgents(t, owned[0], owned[1]+` available: "ctx.agent == 'lagan'",`)
		}
		for _, call := range []chattest.Step{
			chattest.Call("h1", "word_count", `{"text":"a b c"}`),
			chattest.Call("h1", "tool_invoke", `{"tool_id":"word_count","arguments":{"text":"a b c"}}`),
		} {
			c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{"Hawken": once(call)}))
			if answer, _ := c.asks("hawken", "Count."); !strings.Contains(answer, strings.ReplaceAll(x.want, `\"`, `"`)) && !strings.Contains(answer, x.want) {
				t.Errorf("%s: %s", x.name, answer)
			}
		}
		if r := c.model.Requests(); strings.Contains(strings.Join(r[0].Tools, " "), "word_count") {
			t.Errorf("%s: offered %s", x.name, r[0].Tools)
		}
		const query = "SELECT tool, owner, caller, calls FROM spiced.cross_agent_calls"
		if got := strings.TrimSpace(c.do("POST", "/v1/sql", query, "Cache-Control", "no-cache").body); got != x.foreign {
			t.Errorf("%s: foreign calls %s", x.name, got)
		}
	}
}

// TestLongDescriptionsOfAgents do not fit the tools of the agent that delegates to them.
func TestLongDescriptionsOfAgents(t *testing.T) {
	t.Parallel()
	c := startAgents(t, "Lore of the saga.", strings.Repeat("lore ", 8000), "description: Counts.,", "description: "+strings.Repeat("count ", 7000)+",")
	if r := c.do("GET", "/v1/agents", ""); !strings.Contains(r.body, "the limit is 65536") {
		t.Errorf("agents: %s", r.body)
	}
}
