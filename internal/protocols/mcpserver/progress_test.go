package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Steps of agents that work at once are notifications whose progress grows, all of them
// before the result.
func TestStepsOfAgents(t *testing.T) {
	const agents, steps = 4, 50
	r := registry.New(registry.Options{})
	publish(t, r, tool(t, tools.Definition{Name: "plan"}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
		observer := registry.ObserverOf(ctx)
		var group sync.WaitGroup
		for i := range agents {
			group.Go(func() {
				step := registry.AgentStep{Agent: fmt.Sprint("a", i), Depth: 1}
				for k := range steps {
					observer.Emit(registry.Event{Type: registry.EventAgentToolCall, CallID: fmt.Sprint(k), Tool: "look", Arguments: []byte(`{"x":1}`), AgentStep: &step})
				}
				long := registry.AgentStep{Agent: step.Agent, Depth: 1, Text: strings.Repeat("long ", 10_000)}
				observer.Emit(registry.Event{Type: registry.EventAgentStart, AgentStep: &long})
				observer.Emit(registry.Event{Type: registry.EventAgentEnd, Result: &tools.Result{Error: tools.NewError("timeout", "too long", "")}, AgentStep: &step})
			})
		}
		group.Wait()
		return tools.JSON("done")
	}))
	s := mcpserver.New(mcpserver.Options{Registry: r})
	defer s.Close()
	var mu sync.Mutex
	last, calls, ended := -1.0, map[string]int{}, make(chan struct{}, agents)
	session, served := pipes(t, s, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		if n.Params.Progress <= last || len(n.Params.Message) > 250 {
			t.Errorf("%v after %v: %s", n.Params.Progress, last, n.Params.Message)
		}
		last = n.Params.Progress
		step, _ := n.Params.Meta[mcpserver.EventKey].(map[string]any)
		switch step["type"] {
		case "agent_tool_call":
			calls[n.Params.Message]++
		case "agent_start":
			if text := step["text"].(string); len(text) > 4<<10 {
				t.Errorf("a text of %d bytes", len(text))
			}
		case "agent_end":
			if !strings.HasSuffix(n.Params.Message, "has ended: failed: too long") || step["ok"] != false {
				t.Errorf("%s: %v", n.Params.Message, step)
			}
			ended <- struct{}{}
		}
	}})
	params := &mcp.CallToolParams{Name: "plan"}
	params.SetProgressToken("p")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "all steps have arrived", func() bool { return len(ended) == agents })
	mu.Lock()
	for i := range agents {
		if n := calls[fmt.Sprintf("a%d calls look", i)]; n != steps {
			t.Errorf("%d of %d calls of agent %d: %v", n, steps, i, calls)
		}
	}
	mu.Unlock()
	session.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
