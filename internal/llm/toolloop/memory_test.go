package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/tools"
)

// conversation is a client that stores what it sees.
type conversation struct {
	t       *testing.T
	model   *model
	loop    *toolloop.Loop
	scope   tools.Scope
	request *chat.Request
}

func converse(t *testing.T, memory *toolloop.Memory, scripts ...script) *conversation {
	m := &model{scripts: scripts}
	return &conversation{
		t: t, model: m, loop: &toolloop.Loop{Provider: m, Invoker: echo, Memory: memory},
		scope: tools.Scope{Caller: caller.Caller{UserID: "ada"}}, request: ask("go", "theirs"),
	}
}

// turn sends a request and appends the answer to the client's history.
func (c *conversation) turn() chat.Message {
	c.t.Helper()
	var collector chat.Collector
	for e, err := range c.loop.Run(context.Background(), c.request, offered("ours"), c.scope) {
		if err != nil {
			c.t.Fatal(err)
		}
		if e.Tool == nil {
			collector.Add(e.Delta)
		}
	}
	answer := collector.Response().Message()
	c.request = c.request.Clone()
	c.request.Messages = append(c.request.Messages, answer)
	return answer
}

// results answers the calls in the way of the client's API: each in a message with role
// tool, or all in one user message.
func (c *conversation) results(role chat.Role, calls []*chat.Call) {
	c.request = c.request.Clone()
	var parts []chat.Part
	for _, call := range calls {
		parts = append(parts, chat.Part{
			Kind:   chat.PartResult,
			Result: &chat.CallResult{ID: call.ID, Parts: []chat.Part{{Kind: chat.PartText, Text: "their result"}}},
		})
	}
	if role == chat.RoleUser {
		parts = append(parts, chat.Part{Kind: chat.PartText, Text: "and go on"})
		c.request.Messages = append(c.request.Messages, chat.Message{Role: role, Parts: parts, Raw: json.RawMessage(`{}`)})
		return
	}
	for _, p := range parts {
		c.request.Messages = append(c.request.Messages, chat.Message{Role: role, Parts: []chat.Part{p}, Raw: json.RawMessage(`{}`)})
	}
}

// sent returns the last request to the provider.
func (c *conversation) sent() string {
	r := c.model.requests[len(c.model.requests)-1]
	wellFormed(c.t, r.Messages)
	return transcript(r.Messages)
}

// mixed are the answers of a turn with a hidden round, and calls of both kinds in its
// second answer.
func mixed() []script {
	return []script{
		append(script{text("first ")}, asks(`ours {"n":1}`)...),
		append(script{text("then ")}, asks(`theirs {"q": 1}`, `ours {"n":2}`, `theirs {"q": 2}`)...),
		says("done"),
	}
}

func TestTheHiddenPartOfATurnComesBack(t *testing.T) {
	tests := map[chat.Role]string{
		chat.RoleTool: `
user: go
assistant: first  id_ours_0=ours({"n":1})
tool: id_ours_0→{"echo":{"n":1}}
assistant: then  id_theirs_0=theirs({"q": 1}) id_ours_1=ours({"n":2}) id_theirs_2=theirs({"q": 2})
tool: id_ours_1→{"echo":{"n":2}}
tool: id_theirs_0→their result
tool: id_theirs_2→their result`,
		chat.RoleUser: `
user: go
assistant: first  id_ours_0=ours({"n":1})
tool: id_ours_0→{"echo":{"n":1}}
assistant: then  id_theirs_0=theirs({"q": 1}) id_ours_1=ours({"n":2}) id_theirs_2=theirs({"q": 2})
user: id_ours_1→{"echo":{"n":2}} id_theirs_0→their result id_theirs_2→their result and go on`,
	}
	for role, want := range tests {
		c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), mixed()...)
		answer := c.turn()
		c.results(role, answer.Calls())
		client := transcript(c.request.Messages)
		c.turn()
		equal(t, string(role), c.sent(), want)
		if now := transcript(c.request.Messages[:len(c.request.Messages)-1]); now != client {
			t.Errorf("the client's messages have changed:\n%s", now)
		}
		last := c.model.requests[len(c.model.requests)-1].Messages
		if raw := last[len(last)-1].Raw; (raw == nil) != (role == chat.RoleUser) {
			t.Errorf("%s: raw %s", role, raw)
		}
		c.request.Messages = append(c.request.Messages, chat.Text(chat.RoleUser, "more"))
		c.turn()
		if got := c.sent(); !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("a later turn has forgotten:\n%s", got)
		}
	}
}

func TestSeveralTurnsComeBack(t *testing.T) {
	c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), asks(`ours {"n":1}`, "theirs {}"), asks(`ours {"n":2}`, "theirs {}"), says("done"))
	for range 2 {
		c.results(chat.RoleTool, c.turn().Calls())
	}
	c.turn()
	equal(t, "request", c.sent(), `
user: go
assistant: id_ours_0=ours({"n":1}) id_theirs_1=theirs({})
tool: id_ours_0→{"echo":{"n":1}}
tool: id_theirs_1→their result
assistant: id_ours_0_1=ours({"n":2}) id_theirs_1_1=theirs({})
tool: id_ours_0_1→{"echo":{"n":2}}
tool: id_theirs_1_1→their result`)
}

func TestClientsThatRewriteTheirHistory(t *testing.T) {
	whole := `
user: go
assistant: first  id_ours_0=ours({"n":1})
tool: id_ours_0→{"echo":{"n":1}}
assistant: then  id_theirs_0=theirs({"q": 1}) id_ours_1=ours({"n":2}) id_theirs_2=theirs({"q": 2})`
	tests := map[string]struct {
		change func(c *conversation, answer *chat.Message) []chat.Message
		want   string
	}{
		"an answer in several messages": {func(_ *conversation, a *chat.Message) []chat.Message {
			var split []chat.Message
			for _, p := range a.Parts {
				split = append(split, chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{p}})
			}
			return split
		}, whole},
		"arguments in another spelling": {func(_ *conversation, a *chat.Message) []chat.Message {
			a.Calls()[0].Arguments = ` {"q":1}`
			return []chat.Message{*a}
		}, whole},
		"a call left out": {func(_ *conversation, a *chat.Message) []chat.Message {
			a.Parts = a.Parts[:len(a.Parts)-1]
			return []chat.Message{*a}
		}, strings.ReplaceAll(whole, ` id_theirs_2=theirs({"q": 2})`, "")},
		"other arguments": {func(_ *conversation, a *chat.Message) []chat.Message {
			a.Calls()[0].Arguments = `{"q":3}`
			return []chat.Message{*a}
		}, "user: go\nassistant: first  then  id_theirs_0="},
		"a call more": {func(_ *conversation, a *chat.Message) []chat.Message {
			a.Parts = append(a.Parts, chat.Part{Kind: chat.PartCall, Call: &chat.Call{ID: "x", Name: "theirs", Arguments: "{}"}})
			return []chat.Message{*a}
		}, "user: go\nassistant: first  then  id_theirs_0="},
		"another question before it": {func(c *conversation, a *chat.Message) []chat.Message {
			c.request.Messages[0] = chat.Text(chat.RoleUser, "stop")
			return []chat.Message{*a}
		}, "user: stop\nassistant: first  then  id_theirs_0="},
		"nothing before it": {func(c *conversation, a *chat.Message) []chat.Message {
			c.request.Messages = c.request.Messages[1:]
			return []chat.Message{*a}
		}, "assistant: first  then  id_theirs_0="},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), mixed()...)
			answer := c.turn()
			c.request.Messages = slices.Clone(c.request.Messages[:len(c.request.Messages)-1])
			changed := test.change(c, &answer)
			var calls []*chat.Call
			for _, m := range changed {
				calls = append(calls, m.Calls()...)
			}
			c.request.Messages = append(c.request.Messages, changed...)
			c.results(chat.RoleTool, calls)
			c.turn()
			if got := c.sent(); !strings.HasPrefix(got, strings.TrimSpace(test.want)) {
				t.Errorf("sent\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestWhoFindsATurn(t *testing.T) {
	others := map[string]func(*conversation){
		"another user":  func(c *conversation) { c.scope.UserID = "eve" },
		"another space": func(c *conversation) { c.scope.SpaceID = "x" },
		"another model": func(c *conversation) { c.scope.Model = "x" },
		"no memory":     func(c *conversation) { c.loop.Memory = nil },
	}
	for name, change := range others {
		t.Run(name, func(t *testing.T) {
			c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), mixed()...)
			c.results(chat.RoleTool, c.turn().Calls())
			change(c)
			c.turn()
			if got := c.sent(); strings.Contains(got, "ours") {
				t.Errorf("it was found:\n%s", got)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	tests := map[string]struct {
		limits toolloop.MemoryLimits
		kept   []bool // of four turns; the first was used in between
	}{
		"by default":      {toolloop.MemoryLimits{}, []bool{true, true, true, true}},
		"by number":       {toolloop.MemoryLimits{Entries: 3}, []bool{true, false, true, true}},
		"by bytes":        {toolloop.MemoryLimits{Bytes: 7000}, []bool{true, false, true, true}},
		"by age":          {toolloop.MemoryLimits{Age: 25 * time.Second}, []bool{true, false, true, true}},
		"none is allowed": {toolloop.MemoryLimits{Bytes: 1}, []bool{false, false, false, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := toolloop.NewMemory(test.limits)
				var turns []*conversation
				for i := range 4 {
					c := converse(t, memory, script{
						begins(0, fmt.Sprint("o", i), "ours"), ends(0), begins(1, fmt.Sprint("t", i), "theirs"), arguments(1, "{}"), ends(1),
						finish(chat.ReasonCalls),
					}, says("done"))
					c.results(chat.RoleTool, c.turn().Calls())
					turns = append(turns, c)
					time.Sleep(10 * time.Second) // of the bubble's clock
					if i == 1 {
						turns[0].turn()
						turns[0].request.Messages = turns[0].request.Messages[:3]
					}
				}
				for i, c := range turns {
					c.turn()
					if got := strings.Contains(c.sent(), "ours"); got != test.kept[i] {
						t.Errorf("turn %d: kept %v", i, got)
					}
				}
			})
		})
	}
}

func TestAClientsCallThatIsTooLongIsNotStored(t *testing.T) {
	c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), asks("ours {}", `theirs {"x":"0123456789"}`), says("done"))
	c.loop.Limits.ArgumentBytes = 10
	answer := c.turn()
	equal(t, "the client sees", answer.Calls()[0].Arguments, `{"x":"0123456789"}`)
	c.results(chat.RoleTool, answer.Calls())
	c.turn()
	equal(t, "request", c.sent(), "user: go\nassistant: id_theirs_1=theirs({\"x\":\"0123456789\"})\ntool: id_theirs_1→their result")
}

func TestCallsAgainstTheChoiceOfNoneAreAnError(t *testing.T) {
	c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), append(mixed()[:2], asks("ours {}"), asks("ours {}"))...)
	c.results(chat.RoleTool, c.turn().Calls())
	c.request.Choice.Mode = chat.ChoiceNone
	var failed *chat.Error
	for _, err := range c.loop.Run(t.Context(), c.request, offered("ours"), c.scope) {
		errors.As(err, &failed)
	}
	if failed == nil || failed.Code != errcode.ProviderError || !strings.Contains(failed.Message, `though tool_choice "none" forbids it`) ||
		len(c.model.requests) != 4 {
		t.Errorf("%d requests, %v", len(c.model.requests), failed)
	}
}

func TestATurnIsSentToTheModelEvenWithoutTools(t *testing.T) {
	c := converse(t, toolloop.NewMemory(toolloop.MemoryLimits{}), mixed()...)
	c.results(chat.RoleTool, c.turn().Calls())
	c.request.Choice.Mode = chat.ChoiceNone
	c.turn()
	r := c.model.requests[2]
	if r.Choice.Mode != chat.ChoiceNone || len(r.Tools) != 2 || !strings.Contains(c.sent(), "ours") {
		t.Errorf("choice %q, %d tools", r.Choice.Mode, len(r.Tools))
	}
}
