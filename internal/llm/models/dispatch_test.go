package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// pay is a tool whose calls signal that they have begun.
func pay(t testing.TB, dispatch tools.Dispatch, began func()) tools.Tool {
	return tool(t, tools.Definition{Name: "pay", Description: "Pays.", Source: tools.SourceFunction, Dispatch: dispatch},
		func(context.Context, tools.Input) (tools.Output, error) {
			began()
			return tools.JSON("paid")
		})
}

// An early call begins while its answer is still streaming: this one does not end
// before.
func TestInvokedToolsStartEarly(t *testing.T) {
	server, began := serve(t), make(chan struct{})
	server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("c", "tool_invoke", `{"tool_id":"pay"}`), chattest.Text("…"), chattest.Until(began)),
		chattest.Say(chattest.Text("done")),
	))
	set, _, _ := open(t, worlds[1].sections+at(server, "openai:gpt", "tools: search_registry"), []tools.Tool{pay(t, "", sync.OnceFunc(func() { close(began) }))})
	must(t, set, "m", hello())
	if got := server.Requests()[1].Results["c"]; got != `{"tool_id":"pay","result":"paid"}` {
		t.Errorf("result: %s", got)
	}
}

// A tool that waits for the end of the answer also waits when called through
// tool_invoke, and when a model calls it by name without having been shown it.
func TestFoundToolsKeepTheirDispatch(t *testing.T) {
	for _, call := range []chattest.Step{chattest.Call("c", "tool_invoke", `{"tool_id":"pay"}`), chattest.Call("c", "pay", `{}`)} {
		testWaits(t, call)
	}
}

func testWaits(t *testing.T, call chattest.Step) {
	t.Helper()
	server := serve(t)
	server.Script(chattest.InTurn(
		chattest.Say(call, chattest.Text("One ", "moment.")),
		chattest.Say(chattest.Text(" Paid.")),
	))
	set, _, _ := open(t, worlds[1].sections+at(server, "openai:gpt", "tools: search_registry"), []tools.Tool{pay(t, tools.DispatchAfterResponse, func() {})})
	m, err := set.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for e, err := range m.Chat(t.Context(), hello(), tools.Scope{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Tool != nil && e.Tool.Type == registry.EventToolCall && text != "One moment.":
			t.Errorf("the call began after %q", text)
		case e.Tool == nil && e.Kind == chat.DeltaText:
			text += e.Text
		}
	}
	if text != "One moment. Paid." {
		t.Errorf("answer: %q", text)
	}
}

func TestLeavingEndsTheCall(t *testing.T) {
	server := serve(t)
	server.Script(chattest.InTurn(chattest.Say(chattest.Call("c", "wait", `{}`))))
	ended := make(chan error, 1)
	wait := tool(t, tools.Definition{
		Name: "wait", Description: "Waits.",
		Source: tools.SourceFunction,
	}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return tools.Output{}, ctx.Err()
	})
	set, _, _ := open(t, at(server, "openai:gpt", "tools: wait"), []tools.Tool{wait})
	m, err := set.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	for e := range m.Chat(t.Context(), hello(), tools.Scope{}) {
		if e.Tool != nil {
			break
		}
	}
	if err := <-ended; err == nil {
		t.Error("the call went on")
	}
}

// Whatever a tool does, the model gets one result for each call, in order.
func TestToolsThatMisbehave(t *testing.T) {
	panics := tool(t, tools.Definition{Name: "panics", Description: "Panics.", Source: tools.SourceFunction},
		func(context.Context, tools.Input) (tools.Output, error) { panic("secret of the stack") })
	huge := tool(t, tools.Definition{Name: "huge", Description: "Gives 50 MB.", Source: tools.SourceFunction},
		func(context.Context, tools.Input) (tools.Output, error) {
			return tools.JSON(strings.Repeat("x", 50<<20))
		})
	count := tool(t, tools.Definition{Name: "count", Description: "Counts.", Source: tools.SourceFunction, Parameters: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, in tools.Input) (tools.Output, error) { return tools.Output{Value: in.Raw}, nil })
	var steps []chattest.Step
	for i := range 100 {
		steps = append(steps, chattest.Call(fmt.Sprint("c", i), "count", fmt.Sprintf(`{"n":%d}`, i)))
	}
	server := serve(t)
	server.Script(chattest.InTurn(
		chattest.Say(append(steps, chattest.Call("p", "panics", `{}`), chattest.Call("h", "huge", `{}`), chattest.Usage(10, 2, 0, 0))...),
		chattest.Say(chattest.Text("done"), chattest.Usage(20, 3, 0, 0)),
	))
	set, _, _ := open(t, at(server, "openai:gpt", "tools: 'panics, huge, count'"), []tools.Tool{panics, huge, count})
	answer := must(t, set, "m", hello())
	if answer.Message().Text() != "done" || answer.Usage.Input != 30 || answer.Usage.Output != 5 {
		t.Errorf("answer %q, usage %+v", answer.Message().Text(), answer.Usage)
	}
	got := server.Requests()[1].Results
	for i := range 100 {
		if want := fmt.Sprintf(`{"n":%d}`, i); got[fmt.Sprint("c", i)] != want {
			t.Errorf("call %d has the result %s", i, got[fmt.Sprint("c", i)])
		}
	}
	if p := got["p"]; !strings.HasPrefix(p, "Failed to call the tool panics.") || strings.Contains(p, "secret") {
		t.Errorf("the panic: %s", p)
	}
	if h := got["h"]; len(h) > 8<<10 || !strings.Contains(h, `"bytes":52428802`) && !strings.Contains(h, "limit") {
		t.Errorf("the large result: %.200s", h)
	}
}

// Thinking before a call is sent back with the result: DeepSeek's models reject a
// request without it.
func TestThinkingGoesBack(t *testing.T) {
	server := serve(t)
	server.Script(chattest.InTurn(
		chattest.Say(chattest.Thinking("Let me ", "pay."), chattest.Call("c", "pay", `{}`)),
		chattest.Say(chattest.Text("done")),
	))
	set, _, _ := open(t, at(server, "openai:gpt", "tools: pay"), []tools.Tool{pay(t, "", func() {})})
	must(t, set, "m", hello())
	if body := string(server.Requests()[1].Body); !strings.Contains(body, `{"role":"assistant","content":null,"reasoning_content":"Let me pay.","tool_calls":[`) {
		t.Errorf("the second request: %s", body)
	}
}
