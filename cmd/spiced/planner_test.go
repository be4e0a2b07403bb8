package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// TestPlanner has an agent and a model that see the names of their tools, fetch the schemas
// of those that they need, and call them.
func TestPlanner(t *testing.T) {
	t.Parallel()
	c := startAgents(t,
		"tools: [lore_search], events: all", "tools: [planner, lore_search, word_count]",
		"system_prompt: Be brief. }", `system_prompt: Be brief., tools: "planner, lore_search, word_count" }`,
		"agents:\n", "toolsets:\n  - { name: counting, description: Counts., tools: [word_count], available: ctx.space_id == null }\nagents:\n")
	planning := func(r chattest.Request) chattest.Answer {
		found, described := r.Results["d1"]
		result, called := r.Results["i1"]
		switch {
		case called:
			return chattest.Say(chattest.Text(result + " after " + found))
		case described:
			return chattest.Say(chattest.Call("i1", "tool_invoke", `{"tool_id":"lore_search","arguments":{"query":"Mara"}}`))
		}
		return chattest.Say(chattest.Call("d1", "tool_describe", `{"tool_ids":["lore_search","word_count","secret_plan","lore_serch"]}`))
	}
	c.model.Script(planning)
	for _, name := range []string{"hawken", "assistant"} {
		before := len(c.model.Requests())
		answer, _ := c.asks(name, "Who is Mara?")
		for _, part := range []string{"lore of Mara", `"required":["query"]`, `there is no tool \"secret_plan\"`, `did you mean \"lore_search\"`} {
			if !strings.Contains(answer, part) {
				t.Errorf("%s: %s is not in %s", name, part, answer)
			}
		}
		first := c.model.Requests()[before]
		if !slices.Equal(first.Tools, []string{"tool_describe", "tool_invoke"}) {
			t.Errorf("%s got the tools %s", name, first.Tools)
		}
		if !strings.HasPrefix(first.System, "Be brief.") || !strings.HasSuffix(first.System, "\n- lore_search: Finds lore.\n- word_count: Counts words.") {
			t.Errorf("%s got the prompt %q", name, first.System)
		}
	}
	before := len(c.model.Requests())
	r := c.do("POST", "/v1/chat/completions", `{"model":"hawken","messages":[{"role":"user","content":"Who is Mara?"}]}`, "Content-Type", "application/json",
		"X-Spiced-Space", "vault")
	if first := c.model.Requests()[before]; strings.Contains(first.System, "word_count") {
		t.Errorf("a hidden tool is in the prompt %q", first.System)
	}
	c.want(r, 200, `there is no tool \\\"word_count\\\"`)
	if r := c.do("POST", "/v1/chat/completions",
		`{"model":"hawken","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"tool_describe"}}]}`, "Content-Type",
		"application/json"); r.status != 400 || !strings.Contains(r.body, "tool_describe") {
		t.Errorf("a client's tool_describe: %d %s", r.status, r.body)
	}
	c.want(c.do("POST", "/v1/tools/tool_describe:invoke", `{"args":{"tool_ids":["word_count"]}}`), 200, `"tool_id":"word_count"`, `"parameters":{`)
	c.want(c.do("GET", "/v1/tools/tool_describe", ""), 200, `"tool_ids"`)
	c.want(c.do("POST", "/v1/tools/tool_describe:invoke", `{"args":{"tool_ids":[]}}`), 400, "tool_ids has 0 names; it takes 1 to 20")
}
