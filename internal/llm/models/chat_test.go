package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// at returns a model of the server.
func at(server *chattest.Server, from, params string) string {
	return fmt.Sprintf("models: [{name: m, from: %q, params: {endpoint: '%s/v1', %s}}]\n", from, server.URL, params)
}

const datasets = "datasets: [{name: sales, from: 'file:sales.csv'}, {name: hr.people, from: 'file:people.csv'}]\n"

// listing is a list_datasets that counts its calls and returns what the caller may
// read.
func listing(t testing.TB, calls *atomic.Int64) tools.Tool {
	return tool(t, tools.Definition{
		Name: "list_datasets", Description: "Lists.",
		Source: tools.SourceBuiltin,
	}, func(_ context.Context, in tools.Input) (tools.Output, error) {
		calls.Add(1)
		return tools.JSON(in.Scope.Datasets)
	})
}

func TestAConversationThroughTheRegistry(t *testing.T) {
	server := serve(t)
	server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("call_1", "tool_search", `{"query":"adds 7 ","keywords":["f07"]}`)),
		chattest.Say(chattest.Call("call_2", "tool_invoke", `{"tool_id":"f07",`, `"arguments":{"x":1}}`)),
		chattest.Say(chattest.Text("It is ", "8."), chattest.Usage(90, 7, 64, 0)),
	))
	list := append(builtins(t), functions(t, 25)...)
	set, _, s := open(t, worlds[1].sections+at(server, "openai:gpt", "tools: auto"), list)
	var calls []models.Call
	s.options.Done = func(c models.Call) { calls = append(calls, c) }
	set, _ = models.NewSet(podtest.Load(t, worlds[1].sections+at(server, "openai:gpt", "tools: auto")), set, s.options)
	answer := must(t, set, "m", hello())
	requests := server.Requests()
	if got := answer.Message().Text(); got != "It is 8." || len(requests) != 3 {
		t.Fatalf("%q after %d requests", got, len(requests))
	}
	if want := []string{"list_datasets", "tool_invoke", "tool_search"}; !slices.Equal(requests[0].Tools, want) {
		t.Errorf("sent %v", requests[0].Tools)
	}
	if !strings.Contains(requests[1].Results["call_1"], `"tool_id":"f07"`) || requests[2].Results["call_2"] != `{"tool_id":"f07","result":"done"}` {
		t.Errorf("%v %v", requests[1].Results, requests[2].Results)
	}
	if len(calls) != 1 || calls[0].Model != "m" || calls[0].From != "openai:gpt" || calls[0].Err != nil || calls[0].Report.Rounds != 3 ||
		calls[0].Report.Calls != 2 || calls[0].Took <= 0 || calls[0].Scope.Protocol != caller.Chat || calls[0].Scope.EmbeddingModel != "local" {
		t.Errorf("%+v", calls)
	}
}

// TestToolSearchFindsEveryTool: what a model can call with tool_invoke, tool_search finds.
func TestToolSearchFindsEveryTool(t *testing.T) {
	server := serve(t)
	server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("c", "tool_search", `{"query":"*","limit":20}`)),
		chattest.Say(chattest.Text("ok")),
	))
	set, _, _ := open(t, worlds[1].sections+at(server, "openai:gpt", "tools: auto, auto_threshold: 0"), append(builtins(t), functions(t, 3)...))
	must(t, set, "m", hello())
	found := server.Requests()[1].Results["c"]
	for _, name := range append(builtin.Names(), "f00", "f01", "f02") {
		if !strings.Contains(found, `"tool_id":"`+name+`"`) {
			t.Errorf("%s is not found in %s", name, found)
		}
	}
}

func TestSystemPromptAndDatasetsStandInFront(t *testing.T) {
	for from, order := range map[string][]string{
		"openai:gpt":       {"Be brief.", "From the client.", `"tool_calls":[{"id":"initial_list_datasets"`, `"tool_call_id":"initial_list_datasets"`, `"hi"`},
		"anthropic:claude": {`"messages":`, `"hi"`, `"id":"initial_list_datasets"`, `"tool_use_id":"initial_list_datasets"`},
	} {
		t.Run(from, func(t *testing.T) {
			server := serve(t)
			var calls atomic.Int64
			set, _, _ := open(t, datasets+at(server, from, "tools: nsql, system_prompt: 'Be brief.'"), []tools.Tool{listing(t, &calls)})
			for range 3 {
				r := hello()
				r.Messages = slices.Insert(r.Messages, 0, chat.Text(chat.RoleSystem, "From the client."))
				must(t, set, "m", r)
				if len(r.Messages) != 2 {
					t.Error("the client's request was changed")
				}
			}
			for _, request := range server.Requests() {
				wantOrder(t, string(request.Body), order)
				if !strings.HasPrefix(request.System, "Be brief.") || !strings.HasSuffix(request.System, "From the client.") {
					t.Errorf("system: %s", request.System)
				}
				if got := request.Results["initial_list_datasets"]; got != "null" {
					t.Errorf("result: %s", got)
				}
			}
			if calls.Load() != 1 {
				t.Errorf("list_datasets was called %d times", calls.Load())
			}
		})
	}
}

// wantOrder checks that text has the parts, in order.
func wantOrder(t testing.TB, text string, parts []string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%s is missing, or not where it belongs, in %s", part, text)
		}
		rest = after
	}
}

func TestDatasetsAreNotShown(t *testing.T) {
	for _, c := range []struct {
		name, sections, from, params string
		change                       func(*chat.Request)
	}{
		{name: "without the tool", sections: datasets, params: "tools: time_now"},
		{name: "without datasets", params: "tools: nsql"},
		{name: "with tool_choice none", sections: datasets, params: "tools: nsql", change: func(r *chat.Request) { r.Choice.Mode = chat.ChoiceNone }},
		{name: "before thinking", sections: datasets, from: "anthropic:claude", params: "tools: nsql, anthropic_thinking: {type: enabled, budget_tokens: 2000}"},
		{name: "before thinking that is asked for", sections: datasets, from: "anthropic:claude", params: "tools: nsql", change: func(r *chat.Request) {
			r.Form, r.Extra = chat.FormAnthropic, map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t)
			if c.from == "" {
				c.from = "openai:gpt"
			}
			set, _, _ := open(t, c.sections+at(server, c.from, c.params), builtins(t))
			r := hello()
			if c.change != nil {
				c.change(r)
			}
			must(t, set, "m", r)
			if body := server.Requests()[0].Body; strings.Contains(string(body), "initial_list_datasets") {
				t.Errorf("%s", body)
			}
		})
	}
}

func TestAFailedListingEndsNoChat(t *testing.T) {
	server := serve(t)
	var down atomic.Bool
	down.Store(true)
	list := []tools.Tool{tool(t,
		tools.Definition{Name: "list_datasets", Description: "d", Source: tools.SourceBuiltin}, func(context.Context, tools.Input) (tools.Output, error) {
			if down.Load() {
				return tools.Output{}, fmt.Errorf("not now")
			}
			return tools.JSON("now")
		})}
	set, _, s := open(t, datasets+at(server, "openai:gpt", "tools: nsql"), list)
	must(t, set, "m", hello())
	down.Store(false)
	must(t, set, "m", hello())
	requests := server.Requests()
	if len(requests[0].Results) != 0 || requests[1].Results["initial_list_datasets"] != `"now"` || !strings.Contains(s.log.String(), "not now") {
		t.Errorf("%v %v %s", requests[0].Results, requests[1].Results, s.log)
	}
}

func TestDatasetsOfAModel(t *testing.T) {
	server := serve(t)
	var calls atomic.Int64
	declared := strings.Replace(at(server, "openai:gpt", "tools: 'list_datasets, f00'"), "name: m,", "name: m, datasets: ['sal*', 'spice.HR.*', other],", 1)
	set, problems, s := open(t, datasets+declared, append(functions(t, 1), listing(t, &calls)))
	if len(problems) != 1 || problems[0].Path != "models[0].datasets[2]" || !strings.Contains(problems[0].Message, `no dataset or view matches "other"`) {
		t.Errorf("%v", problems)
	}
	if got, want := set.Infos()[0].Datasets, []string{"hr.people", "sales"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !strings.Contains(s.log.String(), "limit its built-in tools only") || !strings.Contains(s.log.String(), "other_tools=f00") {
		t.Errorf("log: %s", s.log)
	}
	must(t, set, "m", hello())
	_, err := ask(t, set, "m", hello(), tools.Scope{Datasets: []string{"sales"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t, set, "m", hello(), tools.Scope{Datasets: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	must(t, set, "m", hello())
	var got []string
	for _, r := range server.Requests() {
		got = append(got, r.Results["initial_list_datasets"])
	}
	want := []string{`["hr.people","sales"]`, `["sales"]`, `[]`, `["hr.people","sales"]`}
	if diff := cmp.Diff(want, got); diff != "" || calls.Load() != 3 {
		t.Errorf("%s after %d calls", diff, calls.Load())
	}
}

func TestPatternsOfDatasets(t *testing.T) {
	set, problems, _ := open(t, datasets+strings.Replace(model(""), "name: m,", "name: m, datasets: ['[a'],", 1), nil)
	if len(problems) != 1 || problems[0].Path != "models[0].datasets[0]" || !strings.Contains(problems[0].Message, `"[a" is not a pattern`) ||
		set.Infos()[0].Status != models.StatusError {
		t.Errorf("%v", problems)
	}
	for pattern, want := range map[string][]string{
		"*": {"sales"}, "*.*": {"hr.people", "sales"}, "PUBLIC.Sales": {"sales"}, "hr.p?ople": {"hr.people"}, "people": {}, "hr/people": {},
	} {
		set, _, _ := open(t, datasets+strings.Replace(model(""), "name: m,", fmt.Sprintf("name: m, datasets: [%q],", pattern), 1), nil)
		if got := set.Infos()[0].Datasets; !slices.Equal(got, want) || got == nil {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
	set, _, _ = open(t, datasets+model(""), nil)
	if got := set.Infos()[0].Datasets; got != nil {
		t.Errorf("%v, want nil", got)
	}
}

func TestForcedToolMustBeThere(t *testing.T) {
	server := serve(t)
	set, _, s := open(t, worlds[1].sections+at(server, "openai:gpt", "tools: auto"), append(builtins(t), functions(t, 25)...))
	var done []models.Call
	s.options.Done = func(c models.Call) { done = append(done, c) }
	set, _ = models.NewSet(podtest.Load(t, worlds[1].sections+at(server, "openai:gpt", "tools: auto")), set, s.options)
	for name, want := range map[string]string{"tool_serch": `did you mean "tool_search"?`, "f01": `tool_choice names "f01", which is not a tool of the model`} {
		r := hello()
		r.Choice = chat.Choice{Mode: chat.ChoiceTool, Name: name}
		_, err := ask(t, set, "m", r, tools.Scope{})
		wantError(t, err, errcode.InvalidRequest, want)
	}
	for _, name := range []string{"tool_search", "mine"} {
		r := hello()
		r.Tools = []chat.Tool{{Name: "mine", Parameters: json.RawMessage(`{"type":"object"}`)}}
		r.Choice = chat.Choice{Mode: chat.ChoiceTool, Name: name}
		must(t, set, "m", r)
	}
	if len(server.Requests()) != 2 || len(done) != 4 {
		t.Errorf("%d requests, %d records", len(server.Requests()), len(done))
	}
}

func TestRecursionLimit(t *testing.T) {
	for limit, rounds := range map[string]int{"0": 2, "2": 4} { // two of them without tools
		server := serve(t)
		server.Script(func(r chattest.Request) chattest.Answer {
			return chattest.Say(chattest.Call(fmt.Sprint("c", r.N), "f00", `{"x":1}`))
		})
		set, _, _ := open(t, at(server, "openai:gpt", "tools: f00, tool_recursion_limit: "+limit), functions(t, 1))
		var failed *chat.Error
		_, err := ask(t, set, "m", hello(), tools.Scope{})
		if got := len(server.Requests()); got != rounds || !errors.As(err, &failed) || failed.Code != errcode.Limit {
			t.Errorf("limit %s: %d requests, want %d; %v", limit, got, rounds, err)
		}
	}
}

func TestXMLFormat(t *testing.T) {
	server := serve(t)
	set, _, _ := open(t, at(server, "openai:gpt", "tools: f00, tool_format: xml"), functions(t, 1))
	must(t, set, "m", hello())
	r := server.Requests()[0]
	if len(r.Tools) != 0 || !strings.Contains(r.System, "f00") {
		t.Errorf("tools %v, system %q", r.Tools, r.System)
	}
}

// sometimes is a tool that only one user has.
type sometimes struct{ tools.Tool }

func (sometimes) Unavailable(s tools.Scope) string {
	if s.UserID == "ada" {
		return ""
	}
	return "it is Ada's"
}

func TestConditionalToolsAreSentWhereTheyAreThere(t *testing.T) {
	server := serve(t)
	list := append(functions(t, 2), sometimes{tool(t, tools.Definition{Name: "secret", Description: "d", Source: tools.SourceFunction}, nil)})
	set, _, _ := open(t, at(server, "openai:gpt", "tools: all"), list)
	for user, want := range map[string][]string{"ada": {"f00", "f01", "secret"}, "bob": {"f00", "f01"}} {
		if _, err := ask(t, set, "m", hello(), tools.Scope{Caller: caller.Caller{UserID: user}}); err != nil {
			t.Fatal(err)
		}
		requests := server.Requests()
		if got := requests[len(requests)-1].Tools; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", user, got, want)
		}
	}
	if got := set.Infos()[0].Count; got != 3 {
		t.Errorf("count %d", got)
	}
}

func TestChatsAtOnce(t *testing.T) {
	server := serve(t)
	var calls atomic.Int64
	set, _, _ := open(t, datasets+at(server, "openai:gpt", "tools: nsql"), []tools.Tool{listing(t, &calls)})
	m, err := set.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for _, err := range m.Chat(t.Context(), hello(), tools.Scope{}) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	bodies := map[string]bool{}
	for _, r := range server.Requests() {
		bodies[string(r.Body)] = true
	}
	if len(bodies) != 1 {
		t.Errorf("%d different prompts", len(bodies))
	}
}

// TestClientToolsMayNotReplaceTheSearch: without the search the model could not find its
// tools. A model that has its tools directly does not need the names.
func TestClientToolsMayNotReplaceTheSearch(t *testing.T) {
	server := serve(t)
	server.Script(chattest.Always(chattest.Say(chattest.Text("ok"))))
	sections := worlds[1].sections + at(server, "openai:gpt", "tools: search_registry")
	for _, name := range []string{"tool_search", "tool_invoke"} {
		r := hello()
		r.Tools = []chat.Tool{{Name: "fine"}, {Name: name}}
		set, _, _ := open(t, sections, builtins(t))
		_, err := ask(t, set, "m", r, tools.Scope{})
		wantError(t, err, errcode.InvalidRequest, "tool name '"+name+"' is reserved for the searchable tool registry")
		set, _, _ = open(t, at(server, "openai:gpt", "tools: sql"), builtins(t))
		must(t, set, "m", r)
	}
}
