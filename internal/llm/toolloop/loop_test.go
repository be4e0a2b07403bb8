package toolloop_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

func TestRounds(t *testing.T) {
	signed := chat.Part{Kind: chat.PartThinking, Text: "hm", Raw: json.RawMessage(`{"signature":"s"}`), Form: chat.FormAnthropic}
	m := &model{scripts: []script{
		{
			chat.Delta{Kind: chat.DeltaStart},
			usage(100, 1),
			chat.Delta{Kind: chat.DeltaThinking, Text: "hm"},
			chat.Delta{Kind: chat.DeltaPart, Part: &signed},
			text("let me "), text("look"),
			begins(0, "a", "one"), arguments(0, `{"x"`), arguments(0, `:1}`), ends(0),
			begins(1, "b", "two"), ends(1), usage(100, 20), finish(chat.ReasonCalls),
		},
		{chat.Delta{Kind: chat.DeltaStart}, text("it is 1"), usage(150, 5), finish(chat.ReasonStop)},
	}}
	list := offered("two", "one")
	o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("what is it?"), list, nil)
	equal(t, "deltas", o.deltas(), `
start
text hm
part thinking
text let me 
text look
round
text it is 1
usage 250 25
finish stop`)
	equal(t, "second request", transcript(m.requests[1].Messages), `
user: what is it?
assistant: hm let me look a=one({"x":1}) b=two({})
tool: a→{"echo":{"x":1}} b→{"echo":}`)
	if p := m.requests[1].Messages[1].Parts[0]; string(p.Raw) != string(signed.Raw) {
		t.Errorf("the thinking lost its signature: %+v", p)
	}
	if names := m.requests[0].Tools; names[0].Name != "one" || names[1].Name != "two" {
		t.Errorf("tools %v", names)
	}
	if len(m.requests[0].Messages) != 1 {
		t.Error("the first request was changed")
	}
	want := toolloop.Report{Rounds: 2, Calls: 2, Usage: chat.Usage{Input: 250, Output: 25}, FirstToken: o.report.FirstToken, Reason: chat.ReasonStop}
	if o.report != want || o.report.FirstToken == 0 || o.failed != nil {
		t.Errorf("report %+v, %v", o.report, o.failed)
	}
}

func TestPassesThroughWithoutRuntimeTools(t *testing.T) {
	m := &model{scripts: []script{asks("one {}")}}
	r := ask("hello", "one")
	o := run(t, &toolloop.Loop{Provider: m}, r, nil, nil)
	equal(t, "deltas", o.String(), "start\ncall 0 id_one_0 one\narguments 0 {}\nend 0\nfinish calls")
	if m.requests[0] != r {
		t.Error("the request was changed")
	}
	if want := toolloop.DefinitionTokens(r.Tools[0]); o.report.DefinitionTokens != int64(want) || want < 10 {
		t.Errorf("the client's definition costs %d tokens, want %d", o.report.DefinitionTokens, want)
	}
	if o.report.Rounds != 1 || o.report.Reason != chat.ReasonCalls || o.failed != nil {
		t.Errorf("report %+v, %v", o.report, o.failed)
	}
}

func TestChoiceOfNoneBypassesRuntimeTools(t *testing.T) {
	m := &model{scripts: []script{says("hello")}}
	r := ask("hello")
	r.Choice.Mode = chat.ChoiceNone
	run(t, &toolloop.Loop{Provider: m}, r, offered("one"), nil)
	if got := m.requests[0]; len(got.Tools) != 0 || got.Choice.Mode != "" {
		t.Errorf("request %+v", got)
	}
	if r.Choice.Mode != chat.ChoiceNone {
		t.Error("the client's request was changed")
	}
}

func TestForcedChoiceHoldsForOneRound(t *testing.T) {
	for _, mode := range []chat.ChoiceMode{chat.ChoiceRequired, chat.ChoiceTool} {
		m := &model{scripts: []script{asks("one {}"), says("done")}}
		r := ask("go")
		r.Choice = chat.Choice{Mode: mode, Name: "one"}
		run(t, &toolloop.Loop{Provider: m, Invoker: echo}, r, offered("one"), nil)
		if first, second := m.requests[0].Choice, m.requests[1].Choice; first.Mode != mode || second.Mode != chat.ChoiceAuto || second.Name != "" {
			t.Errorf("%s: %+v, then %+v", mode, first, second)
		}
	}
}

func TestClientTools(t *testing.T) {
	m := &model{scripts: []script{{
		chat.Delta{Kind: chat.DeltaStart},
		begins(0, "a", "ours"), arguments(0, "{}"), ends(0),
		begins(1, "b", "theirs"), arguments(1, `{"q":1}`), ends(1),
		begins(2, "c", "both"), arguments(2, "{}"), ends(2),
		finish(chat.ReasonStop),
	}}}
	r := ask("go", "theirs", "both")
	r.Tools = append(r.Tools, chat.Tool{Raw: json.RawMessage(`{"type":"web_search"}`)}, chat.Tool{Raw: json.RawMessage(`{"type":"code"}`)})
	o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, r, offered("ours", "both"), nil)
	equal(t, "deltas", o.deltas(), `
start
call 0 b theirs
arguments 0 {"q":1}
end 0
call 1 c both
arguments 1 {}
end 1
finish calls`)
	var names []string
	for _, tool := range m.requests[0].Tools {
		names = append(names, tool.Name+string(tool.Raw)+tool.Description)
	}
	equal(t, "tools", strings.Join(names, "\n"), `
{"type":"web_search"}
{"type":"code"}
both
oursDoes ours.
theirs`)
	if o.report.Calls != 1 || len(m.requests) != 1 {
		t.Errorf("%d calls, %d requests", o.report.Calls, len(m.requests))
	}
}

func TestRoundLimit(t *testing.T) {
	tests := map[string]struct {
		rounds   int
		last     script
		requests int
		reason   chat.Reason
	}{
		"the model answers":              {3, says("well"), 4, chat.ReasonStop},
		"it answers when calls fail":     {2, says("well"), 4, chat.ReasonStop},
		"it calls nevertheless":          {2, asks("one {}"), 4, ""},
		"it calls, with text":            {2, append(script{text("let me")}, asks("one {}")...), 4, ""},
		"it calls a tool of the client":  {3, asks("one {}", "theirs {}"), 4, chat.ReasonCalls},
		"no rounds":                      {-1, asks("one {}"), 2, ""},
		"the default":                    {0, asks("one {}"), toolloop.DefaultRounds + 2, ""},
		"the last answer is cut":         {1, script{text("w"), finish(chat.ReasonLength)}, 2, chat.ReasonLength},
		"the provider pauses to the end": {2, script{text("w"), finish(chat.ReasonPause)}, 3, chat.ReasonPause},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &model{}
			for range test.requests - 1 {
				m.scripts = append(m.scripts, asks("one {}"))
			}
			m.scripts = append(m.scripts, test.last)
			var log bytes.Buffer
			l := &toolloop.Loop{Provider: m, Invoker: echo, Limits: toolloop.Limits{Rounds: test.rounds}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			o := run(t, l, ask("go", "theirs"), offered("one"), nil)
			limit := max(0, cmp.Or(test.rounds, toolloop.DefaultRounds))
			if len(m.requests) != test.requests || o.report.Rounds != test.requests || o.report.Reason != test.reason || o.report.Calls != limit {
				t.Errorf("%d requests, %+v", len(m.requests), o.report)
			}
			var failed *chat.Error
			if errors.As(o.err, &failed) != (test.reason == "") || failed != nil &&
				(failed.Code != errcode.Limit || !strings.Contains(failed.Message, fmt.Sprintf("still calls tools after %d answers", limit))) {
				t.Errorf("error %v", o.err)
			}
			for i, r := range m.requests {
				if none := r.Choice.Mode == chat.ChoiceNone; none != (i >= limit) {
					t.Errorf("request %d has the choice %q", i, r.Choice.Mode)
				}
				wellFormed(t, r.Messages)
			}
			if strings.Count(log.String(), "limit of tool rounds") != 1 {
				t.Errorf("log %q", log.String())
			}
		})
	}
}

func TestPauseAsksAgain(t *testing.T) {
	m := &model{scripts: []script{
		{text("searching"), finish(chat.ReasonPause)},
		{begins(0, "a", "one"), arguments(0, "{}"), ends(0), begins(1, "b", "one"), arguments(1, `{"x`), finish(chat.ReasonPause)},
		says("found"),
	}}
	o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one"), nil)
	equal(t, "deltas", o.deltas(), "text searching\nround\nround\nstart\ntext found\nusage 10 1\nfinish stop")
	equal(t, "last request", transcript(m.requests[2].Messages), `
user: go
assistant: searching
assistant: a=one({}) b=one({})
tool: a→{"echo":{}} b→Failed to call the tool one. An error occurred: the call was not made: the answer was cut short (pause)`)
}

func TestReasonsThatEndAChat(t *testing.T) {
	for _, reason := range []chat.Reason{chat.ReasonLength, chat.ReasonFilter} {
		m := &model{scripts: []script{{
			begins(0, "a", "one"), arguments(0, "{}"), ends(0),
			begins(1, "b", "late"), arguments(1, "{}"), ends(1),
			begins(2, "c", "one"), arguments(2, `{"x`), usage(7, 7), finish(reason),
		}}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one", "late"), nil)
		equal(t, string(reason), o.deltas(), "usage 7 7\nfinish "+string(reason))
		if o.report.Calls != 1 || len(m.requests) != 1 || o.failed != nil {
			t.Errorf("%s: %+v, %d requests, %v", reason, o.report, len(m.requests), o.failed)
		}
	}
}

func TestCallsThatAreNotMade(t *testing.T) {
	limits := toolloop.Limits{Calls: 2, ArgumentBytes: 20}
	tests := map[string]struct{ call, history, result string }{
		"a list": {
			`one [1]`, `{}`,
			`the arguments are a list; an object is needed; arguments are one JSON object, such as {"name": "value"}; for example {}`,
		},
		"half an object": {`one {"x":`, `{}`, `the arguments are not JSON: unexpected EOF; arguments are one JSON object, such as {"name": "value"}; for example {}`},
		"too long":       {`one {"x":"0123456789012"}`, `{}`, `the arguments exceed 20 bytes; pass less`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &model{scripts: []script{asks(test.call), says("sorry")}}
			o := run(t, &toolloop.Loop{Provider: m, Invoker: echo, Limits: limits}, ask("go"), offered("one"), nil)
			equal(t, "request", transcript(m.requests[1].Messages[1:]), `
assistant: id_one_0=one(`+test.history+`)
tool: id_one_0→Failed to call the tool one. An error occurred: `+test.result)
			if o.report.Calls != 0 || !m.requests[1].Messages[2].Parts[0].Result.Error {
				t.Errorf("report %+v", o.report)
			}
		})
	}
	m := &model{scripts: []script{asks("one {}", "one {}", "one {}"), says("sorry")}}
	o := run(t, &toolloop.Loop{Provider: m, Invoker: echo, Limits: limits}, ask("go"), offered("one"), nil)
	third := m.requests[1].Messages[2].Parts[2].Result.Text()
	if o.report.Calls != 2 || !strings.HasSuffix(third, "an answer may call at most 2 tools; call the others in the next answer") {
		t.Errorf("%d calls; %s", o.report.Calls, third)
	}
}

func TestArgumentsThatAreMended(t *testing.T) {
	for args, history := range map[string]string{
		``:                         `{}`,
		`null`:                     `{}`,
		` {"x": 1} `:               ` {"x": 1} `,
		`"{\"x\":1}"`:              `{"x":1}`,
		"```json\n{\"x\": 1}\n```": `{"x":1}`,
	} {
		var got string
		m := &model{scripts: []script{asks("one " + args), says("done")}}
		d := invoker(func(_ context.Context, c registry.Call) tools.Result {
			got = string(c.Arguments)
			return tools.Result{OK: true}
		})
		run(t, &toolloop.Loop{Provider: m, Invoker: d}, ask("go"), offered("one"), nil)
		if in := m.requests[1].Messages[1].Parts[0].Call.Arguments; got != args || in != history {
			t.Errorf("%q: called with %q, in the history %q", args, got, in)
		}
	}
}

func TestIDsAreMadeUnique(t *testing.T) {
	twice := script{begins(0, "0", "one"), ends(0), begins(1, "0", "one"), ends(1), begins(2, "", "one"), ends(2), finish(chat.ReasonCalls)}
	m := &model{scripts: []script{twice, twice, says("done")}}
	run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one"), nil)
	seen := map[string]bool{}
	for _, message := range m.requests[2].Messages {
		for _, c := range message.Calls() {
			if seen[c.ID] || c.ID == "" {
				t.Errorf("the id %q is there twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
	wellFormed(t, m.requests[2].Messages)
}

func TestPanics(t *testing.T) {
	secret := "sk-secret"
	begun := invoker(func(context.Context, registry.Call) tools.Result { panic(secret) })
	render := func(*chat.Call, tools.Result) *chat.CallResult { panic(secret) }
	t.Run("invoker", func(t *testing.T) {
		m := &model{scripts: []script{asks("one {}"), says("sorry")}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: begun}, ask("go"), offered("one"), nil)
		equal(t, "events", o.String(), "start\ntool_call one\ntool_result one\nround\ntext sorry\nusage 10 1\nfinish stop")
		if got := transcript(m.requests[1].Messages); !strings.Contains(got, "internal error in the call") || strings.Contains(got, secret) {
			t.Error(got)
		}
	})
	t.Run("render", func(t *testing.T) {
		m := &model{scripts: []script{asks("one {}"), says("well")}}
		run(t, &toolloop.Loop{Provider: m, Invoker: echo, Render: render}, ask("go"), offered("one"), nil)
		if got := m.requests[1].Messages[2].Parts[0].Result.Text(); got != `{"echo":{}}` {
			t.Error(got)
		}
	})
	t.Run("provider", func(t *testing.T) {
		m := &model{scripts: []script{{text("a"), func() { panic(secret) }}}}
		o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one"), nil)
		if chat.AsError(o.err).Code != errcode.Internal || strings.Contains(o.err.Error(), secret) || !errors.Is(o.failed, o.err) {
			t.Errorf("%v, %v", o.err, o.failed)
		}
	})
}

func TestRenderOfTheCaller(t *testing.T) {
	m := &model{scripts: []script{asks("one {}"), says("done")}}
	render := func(c *chat.Call, r tools.Result) *chat.CallResult {
		result := toolloop.Render(c, r, 1000)
		result.ID, result.Found = "", []string{"two"}
		return result
	}
	run(t, &toolloop.Loop{Provider: m, Invoker: echo, Render: render}, ask("go"), offered("one"), nil)
	if got := m.requests[1].Messages[2].Parts[0].Result; got.ID != "id_one_0" || len(got.Found) != 1 || got.Text() != `{"echo":{}}` {
		t.Errorf("%+v", got)
	}
}

func TestUnknownToolsAreInvoked(t *testing.T) {
	r := registry.New(registry.Options{})
	greet, err := tools.New(tools.Definition{Name: "greet", Description: "Says hello.", Source: tools.SourceFunction, Declared: "x:1"},
		func(_ context.Context, in tools.Input) (tools.Output, error) { return tools.JSON(in.Scope.Protocol) })
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := registry.NewCatalog(r.Current(), registry.Contents{Tools: []tools.Tool{greet}})
	if err != nil {
		t.Fatal(err)
	}
	r.Publish(catalog)
	for search, hint := range map[string]string{registry.ToolSearch: "search for one with tool_search", "other": "call one of the tools that you were given"} {
		m := &model{scripts: []script{asks("nosuchtool {}"), says("done")}}
		run(t, &toolloop.Loop{Provider: m, Invoker: r}, ask("go"), offered(search), nil)
		equal(t, "hint", transcript(m.requests[1].Messages[2:]),
			`tool: id_nosuchtool_0→Failed to call the tool nosuchtool. An error occurred: there is no tool "nosuchtool"; `+hint)
	}
	m := &model{scripts: []script{asks("greet {}", "gret {}"), says("done")}}
	run(t, &toolloop.Loop{Provider: m, Invoker: r}, ask("go"), offered(registry.ToolSearch), nil)
	equal(t, "results", transcript(m.requests[1].Messages[2:]),
		`tool: id_greet_0→"chat" id_gret_1→Failed to call the tool gret. An error occurred: there is no tool "gret"; did you mean "greet"?`)
}

// A tool that was there when the chat began, and is not any more.
func TestToolsVanish(t *testing.T) {
	r := registry.New(registry.Options{})
	m := &model{scripts: []script{asks("greet {}"), says("done")}}
	run(t, &toolloop.Loop{Provider: m, Invoker: r}, ask("go"), offered("greet"), nil)
	equal(t, "results", transcript(m.requests[1].Messages[2:]),
		`tool: id_greet_0→Failed to call the tool greet. An error occurred: the tool "greet" is no longer available; continue without it`)
	m = &model{scripts: []script{asks(`tool_invoke {"tool_id":"greet"}`), says("done")}}
	run(t, &toolloop.Loop{Provider: m, Invoker: r}, ask("go"), offered(registry.ToolInvoke), nil)
	if got := transcript(m.requests[1].Messages[2:]); !strings.Contains(got, `there is no tool "greet"`) {
		t.Errorf("through tool_invoke: %s", got)
	}
}

func TestEqualChatsSendEqualRequests(t *testing.T) {
	names := []string{"delta", "alpha", "Zulu", "charlie", "bravo"}
	var first []byte
	for i := range 1000 {
		m := &model{scripts: []script{asks("alpha {}", `bravo {"b":1,"a":2}`, "charlie {}"), says("done")}}
		list := offered(names...)
		list[0], list[i%5] = list[i%5], list[0]
		run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go", "theirs", "mine"), list, nil)
		sent, err := json.Marshal(m.requests)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = sent
		}
		if !bytes.Equal(first, sent) {
			t.Fatalf("run %d sent\n%s\nnot\n%s", i, sent, first)
		}
	}
}

func TestTooManyCallsEndTheAnswer(t *testing.T) {
	var s script
	for i := range 5000 {
		s = append(s, begins(i, fmt.Sprint(i), "one"))
	}
	m := &model{scripts: []script{append(s, finish(chat.ReasonCalls))}}
	o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one"), nil)
	if chat.AsError(o.err).Code != errcode.StreamBroken {
		t.Error(o.err)
	}
}

func TestProviderFaults(t *testing.T) {
	// No correct provider sends these; none may stop the chat or be called.
	odd := script{
		chat.Delta{Kind: chat.DeltaCall, Index: 0},
		arguments(7, "{}"), ends(7), ends(0),
		chat.Delta{Kind: chat.DeltaPart},
		chat.Delta{Kind: chat.DeltaRound},
		chat.Delta{Kind: 99},
		begins(1, "a", "one"), arguments(1, "{}"), ends(1), arguments(1, "}"), ends(1),
		begins(2, "b", "one"), finish(chat.ReasonStop), text("after the end"),
	}
	m := &model{scripts: []script{odd, says("done")}}
	o := run(t, &toolloop.Loop{Provider: m, Invoker: echo}, ask("go"), offered("one"), nil)
	equal(t, "deltas", o.deltas(), "round\nstart\ntext done\nusage 10 1\nfinish stop")
	equal(t, "request", transcript(m.requests[1].Messages[1:]), `
assistant: a=one({}) b=one({})
tool: a→{"echo":{}} b→Failed to call the tool one. An error occurred: the arguments are incomplete; repeat the call with all arguments`)
}
