package lint_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func checkAgents(pod *spicepod.Pod, agents []lint.Agent) (got []string) {
	for _, f := range lint.CheckAgents(pod, agents) {
		got = append(got, fmt.Sprintf("%s %s %s: %s: %s", f.Severity, f.Rule, f.Path, f.Component, f.Message))
	}
	return got
}

func TestOwners(t *testing.T) {
	const functions = `
functions:
  - { name: f, from: sql, owner: hawken, body: "1", signature: { returns: int64 } }
  - { name: g, from: sql, owner: runtime, body: "1", signature: { returns: int64 } }
tools:
  - { name: wiki, from: "mcp:https://wiki.example/mcp", owner: lagan }
`
	want := []string{
		`warning owner-without-agent functions[0].owner: function f: its owner "hawken" is not an agent, so that every call by an agent counts as one of another owner's tool`,
		`warning owner-without-agent tools[0].owner: tool wiki: its owner "lagan" is not an agent, so that every call by an agent counts as one of another owner's tool`,
	}
	if diff := cmp.Diff(want, checkAgents(podtest.Load(t, functions), nil)); diff != "" {
		t.Error(diff)
	}
	pod := podtest.Load(t, functions+`
models: [{ name: m, from: "openai:gpt" }]
agents:
  - { name: hawken, model: m, description: Lore. }
  - { name: lagan, model: m, description: Research on the web. }
`)
	agents := []lint.Agent{{Name: "hawken", Description: "Lore."}, {Name: "lagan", Description: "Research on the web.", Tools: []string{"wiki__read"}}}
	want = []string{"warning owner-without-tool functions[0].owner: function f: its owner, agent hawken, does not have it among its tools"}
	if diff := cmp.Diff(want, checkAgents(pod, agents)); diff != "" {
		t.Error(diff)
	}
}

func TestOverlappingAgents(t *testing.T) {
	agents := []lint.Agent{
		{Name: "a", Description: "Finds people and places of the saga.", Tools: []string{"x", "y", "z"}},
		{Name: "b", Description: "Counts the words of a text.", Tools: []string{"x", "y", "v", "w"}},
		{Name: "c", Description: "Finds people and places in the saga.", Tools: []string{"x", "u"}},
		{Name: "d", Description: "Plans, and delegates."},
		{Name: "d2", Description: "Plans trips."},
		{Name: "e", Description: "Researches on the web and in texts.", Tools: []string{"x", "y", "p", "q", "r", "s"}},
	}
	want := []string{
		"warning overlapping-agents agents[1].name: agent b: it has many tools of agent a: x, y",
		"warning overlapping-agents agents[2].name: agent c: its description is nearly that of agent a",
		"warning overlapping-agents agents[5].name: agent e: it has many tools of agent a: x, y",
		"warning overlapping-agents agents[5].name: agent e: it has many tools of agent b: x, y",
	}
	if diff := cmp.Diff(want, checkAgents(&spicepod.Pod{}, agents)); diff != "" {
		t.Error(diff)
	}
}
