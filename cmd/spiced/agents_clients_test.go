package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// startTeam serves agentsPod with an agent that delegates to two others.
func startTeam(t *testing.T) *chatting {
	t.Helper()
	c := startAgents(t)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
		"Ishvana": once(chattest.Call("c1", "delegate_parallel", bothTasks)),
		"Hawken":  once(chattest.Call("h1", "lore_search", `{"query":"Mara"}`)),
		"Lagan":   once(chattest.Call("l1", "word_count", `{"text":"a b c"}`)),
	}))
	return c
}

// teamSteps are the events of the team's work, sorted: agentsPod shows all of hawken, also
// the pieces of its two answers.
var teamSteps = []string{
	" response_end ", " response_end ", " tool_call delegate_parallel", " tool_result delegate_parallel",
	"hawken agent_chunk ", "hawken agent_chunk ", "hawken agent_end ", "hawken agent_start ", "hawken agent_tool_call lore_search",
	"hawken agent_tool_result lore_search",
	"lagan agent_end ", "lagan agent_start ", "lagan agent_tool_call word_count", "lagan agent_tool_result word_count",
}

// wantTeam checks that an answer has the results of delegate_parallel, in order.
func wantTeam(t *testing.T, which, text string) {
	t.Helper()
	first, second := strings.Index(text, `"agent":"hawken","ok":true`), strings.Index(text, `"agent":"lagan","ok":true`)
	if first < 0 || second < first || !strings.Contains(text, "lore of Mara") || !strings.Contains(text, `"result":"3"`) {
		t.Errorf("%s: the results are not in %s", which, text)
	}
}

// TestAgentsGoClients drive the team with the official clients for Go.
func TestAgentsGoClients(t *testing.T) {
	t.Parallel()
	c := startTeam(t)
	everyProtocol(t, c, func(t *testing.T, ask asker, protocol chat.Form, stream bool) {
		got, err := ask(question{model: "ishvana", text: "Tell me of Mara."})
		if err != nil || len(got.calls) > 0 || !slices.Contains([]string{"stop", "completed", "end_turn"}, got.reason) {
			t.Fatalf("%+v: %v", got, err)
		}
		wantTeam(t, string(protocol), got.text)
	})
}

// TestAgentsJavaScript drive the team with the official clients for JavaScript.
func TestAgentsJavaScript(t *testing.T) {
	t.Parallel()
	script := jsClients(t)
	c := startTeam(t)
	questions := onEveryProtocol(jsQuestion{Model: "ishvana", Text: "Tell me of Mara."})
	for i, a := range c.javascript(script, questions) {
		which := fmt.Sprintf("%s stream=%t", questions[i].Protocol, questions[i].Stream)
		if a.Error != nil || len(a.Calls) > 0 {
			t.Errorf("%s: %+v %+v", which, a, a.Error)
			continue
		}
		wantTeam(t, which, a.Text)
	}
}

// TestAgentsPythonTools drive the team with the official clients for Python, which read the
// events of the agents as well.
func TestAgentsPythonTools(t *testing.T) {
	t.Parallel()
	python := clients.Find(t, "PYTHON", "python/bin/python")
	script, err := filepath.Abs("testdata/clients/agents.py")
	if err != nil {
		t.Fatal(err)
	}
	c := startTeam(t)
	status, out := session(t, nil, python, script, c.url, "ishvana", "Tell me of Mara.")
	var saw []struct {
		Protocol, Text, Reason string
		Stream                 bool
		Tokens                 int
		Events                 []agentEvent
	}
	if err := json.Unmarshal([]byte(out), &saw); err != nil || status != 0 || len(saw) != 6 {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	for _, s := range saw {
		which := fmt.Sprintf("%s stream=%t", s.Protocol, s.Stream)
		if !slices.Contains([]string{"stop", "completed", "end_turn"}, s.Reason) || s.Tokens == 0 {
			t.Errorf("%s: it ended with %q after %d tokens", which, s.Reason, s.Tokens)
		}
		wantTeam(t, which, s.Text)
		var steps []string
		for _, e := range s.Events {
			steps = append(steps, fmt.Sprintf("%s %s %s", e.Agent, e.Type, e.Tool))
			if e.Agent != "" && (e.Depth != 1 || e.ParentCallID == "") {
				t.Errorf("%s: %+v", which, e)
			}
		}
		slices.Sort(steps)
		if !slices.Equal(steps, teamSteps) {
			t.Errorf("%s: events\n%s\nwant\n%s", which, strings.Join(steps, "\n"), strings.Join(teamSteps, "\n"))
		}
	}
}

// TestAgentsMCP call the agent that delegates with the official MCP clients.
func TestAgentsMCP(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T, args ...string) (string, int){
		"python": func(t *testing.T, args ...string) (string, int) {
			return runScript(t, mcpPython(t), append([]string{"testdata/mcp/agent.py"}, args...)...)
		},
		"typescript": func(t *testing.T, args ...string) (string, int) {
			npm := mcpPeers(t)
			return npm.run(t, npm.beside(t, "agent.mjs"), args...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startTeam(t)
			out, status := run(t, c.mcpURL(), "ishvana", "Tell me of Mara.")
			var saw struct {
				Names                      []string
				Description, Text, Refused string
				IsError, RefusedIsError    bool
				Progress                   int
			}
			if err := json.Unmarshal([]byte(out), &saw); err != nil || status != 0 {
				t.Fatalf("status %d, %v:\n%s", status, err, out)
			}
			var answer struct{ Text string }
			if err := json.Unmarshal([]byte(saw.Text), &answer); err != nil {
				t.Errorf("%v: %s", err, saw.Text)
			}
			wantTeam(t, name, answer.Text)
			if saw.IsError || saw.Description != "Plans." || !slices.Contains(saw.Names, "hawken") || slices.Contains(saw.Names, "delegate_parallel") ||
				saw.Progress == 0 {
				t.Errorf("%+v", saw)
			}
			if !saw.RefusedIsError || !strings.Contains(saw.Refused, `"task" is missing`) {
				t.Errorf("without a task: %s", saw.Refused)
			}
			calls := c.do("POST", "/v1/sql", "SELECT caller, surface FROM spiced.tool_calls WHERE tool = 'lore_search'", "Cache-Control", "no-cache").body
			if calls != `[{"caller":"hawken","surface":"chat"}]` {
				t.Errorf("calls: %s", calls)
			}
		})
	}
}
