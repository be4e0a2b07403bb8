package models_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// preselecting is a model m, and an agent clerk of it, with tools that are searched.
type preselecting struct {
	t      *testing.T
	server *chattest.Server
	stage  *stage
	set    *models.Set
	params string
	from   string
}

func newPreselecting(t *testing.T, from, params string) *preselecting {
	p := &preselecting{t: t, server: serve(t), from: from, params: params}
	p.stage = newStage(t, podtest.Load(t, p.sections()), nil)
	p.stage.options.Pins, p.stage.options.SessionPin = models.NewPins(), time.Hour
	p.load(errands(t)...)
	return p
}

func (p *preselecting) sections() string {
	return oneModel + at(p.server, p.from, p.params) + `
agents: [{name: clerk, model: m, description: Does errands., instructions: Be brief., tools: ["send_*", "weather*", "f*"], limits: {}}]
toolsets: [{name: vault, description: Of a vault., tools: [weather_warnings], available: "ctx.space_id != 'open'"}]
`
}

// errands are 25 functions, and tools that requests of the tests match.
func errands(t testing.TB) []tools.Tool {
	list := append(builtins(t), functions(t, 25)...)
	for name, description := range map[string]string{
		"weather_forecast": "Returns the weather forecast of a city for the next days.",
		"weather_warnings": "Returns the warnings of storms and severe weather of a city.",
		"send_mail":        "Sends an electronic mail to an address.",
		"convert_currency": "Converts an amount of money from a currency to another one.",
	} {
		list = append(list, tool(t, tools.Definition{
			Name: name, Description: description, Source: tools.SourceFunction,
			Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}, nil))
	}
	return append(list, tool(t, tools.Definition{Name: "clerk", Description: "Does errands.", Source: tools.SourceAgent}, nil))
}

func (p *preselecting) load(list ...tools.Tool) {
	p.t.Helper()
	pod := podtest.Load(p.t, p.sections())
	policy, problems := availability.Compile(pod, nil)
	if len(problems) > 0 {
		p.t.Fatal(problems)
	}
	contents := registry.Contents{
		Tools: list, Embeddings: p.stage.options.Embeddings, Search: search.Default(),
		Availability: registry.Availability{Policy: policy},
	}
	var err error
	if p.stage.options.Catalog, err = registry.NewCatalog(p.stage.registry.Current(), contents); err != nil {
		p.t.Fatal(err)
	}
	p.stage.registry.Publish(p.stage.options.Catalog)
	if p.set, problems = models.NewSet(pod, p.set, p.stage.options); problems.HasErrors() {
		p.t.Fatal(problems)
	}
}

// send asks a model in a conversation, whose messages alternate, and returns the names and
// the bytes of the tools that the provider got.
func (p *preselecting) send(name, session string, who caller.Caller, conversation ...string) (names []string, bytes string) {
	p.t.Helper()
	r := &chat.Request{Model: name, Form: chat.FormOpenAI, Session: session}
	for i, text := range conversation {
		r.Messages = append(r.Messages, chat.Text([]chat.Role{chat.RoleUser, chat.RoleAssistant}[i%2], text))
	}
	if _, err := ask(p.t, p.set, name, r, tools.Scope{Caller: who}); err != nil {
		p.t.Fatal(err)
	}
	all := p.server.Requests()
	last := all[len(all)-1]
	return last.Tools, toolBytes(p.t, last.Body)
}

const oneModel = "embeddings: [{name: local, from: 'builtin:hash'}]\n"

const forecast = "what is the weather forecast for Paris?"

// with are the tools of the registry and those that were preselected, sorted.
func with(names ...string) string {
	all := append([]string{"list_datasets", "tool_invoke", "tool_search"}, names...)
	slices.Sort(all)
	return fmt.Sprint(all)
}

func TestPreselectedToolsAreSent(t *testing.T) {
	for _, from := range []string{"openai:gpt", "anthropic:claude"} {
		p := newPreselecting(t, from, "tools: auto, preselect: 1")
		names, _ := p.send("m", "", caller.Caller{}, forecast)
		if got := fmt.Sprint(names); got != with("weather_forecast") {
			t.Errorf("%s: the provider got %s", from, got)
		}
	}
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 1, responses_api: enabled")
	if names, _ := p.send("m", "", caller.Caller{}, forecast); fmt.Sprint(names) != with("weather_forecast") {
		t.Errorf("Responses: the provider got %s", names)
	}
}

// The model calls a preselected tool by its name, in the first round.
func TestPreselectedToolIsCalled(t *testing.T) {
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 3")
	p.server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("c1", "weather_forecast", `{"city":"Paris"}`)), chattest.Say(chattest.Text("Sunny."))))
	p.send("m", "", caller.Caller{}, forecast)
	all := p.server.Requests()
	if len(all) != 2 || all[1].Results["c1"] != `"done"` {
		t.Errorf("%d requests, with the result %q", len(all), all[len(all)-1].Results["c1"])
	}
	p.server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("c1", "weather_forecast", `{"town":1}`)), chattest.Say(chattest.Text("Sunny."))))
	p.send("m", "", caller.Caller{}, forecast)
	all = p.server.Requests()
	if got := all[len(all)-1].Results["c1"]; !strings.Contains(got, "city") {
		t.Errorf("arguments are not checked: %s", got)
	}
}

// Every request of a conversation carries the same bytes: the last message does not change
// them, whether the client names a session or not.
func TestConversationKeepsPreselectedTools(t *testing.T) {
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 2")
	for _, session := range []string{"", "session a"} {
		_, first := p.send("m", session, caller.Caller{}, forecast)
		if !strings.Contains(first, "weather_forecast") {
			t.Fatal(first)
		}
		_, later := p.send("m", session, caller.Caller{}, forecast, "Sunny.", "send that by mail to ann")
		if later != first {
			t.Errorf("session %q: the second request has\n%s\nwant\n%s", session, later, first)
		}
	}
	// A session goes on with less than its beginning, as in a conversation that was compacted.
	_, first := p.send("m", "session a", caller.Caller{}, forecast)
	if _, later := p.send("m", "session a", caller.Caller{}, "convert 5 euros to another currency"); later != first {
		t.Errorf("the session has\n%s\nwant\n%s", later, first)
	}
	if names, _ := p.send("m", "", caller.Caller{}, "convert 5 euros to another currency"); !slices.Contains(names, "convert_currency") {
		t.Errorf("another conversation got %s", names)
	}
}

// Without a good match no tool is preselected; the first message with one decides.
func TestFirstMatchingMessageDecides(t *testing.T) {
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 1")
	greeting := []string{"good morning", "Good morning!"}
	if names, _ := p.send("m", "", caller.Caller{}, greeting[:1]...); fmt.Sprint(names) != with() {
		t.Errorf("a greeting got %s", names)
	}
	told := append(greeting, forecast)
	names, first := p.send("m", "", caller.Caller{}, told...)
	if fmt.Sprint(names) != with("weather_forecast") {
		t.Errorf("the second message got %s", names)
	}
	if _, later := p.send("m", "", caller.Caller{}, append(told, "Sunny.", "convert 5 euros to another currency")...); later != first {
		t.Errorf("the third message changed the tools:\n%s\nwant\n%s", later, first)
	}
	// Only so many messages are searched for.
	var long []string
	for i := range 8 {
		long = append(long, "good morning"+strings.Repeat("!", i), "Good morning!")
	}
	if names, _ := p.send("m", "", caller.Caller{}, append(long, forecast)...); fmt.Sprint(names) != with() {
		t.Errorf("the ninth message got %s", names)
	}
}

// A conversation without a session keeps its tools over a reload that does not touch the
// model's set, and gets others after one that does.
func TestReloadOfPreselectedTools(t *testing.T) {
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 1")
	_, first := p.send("m", "", caller.Caller{}, forecast)
	p.load(errands(t)...)
	if _, got := p.send("m", "", caller.Caller{}, forecast); got != first {
		t.Errorf("after an equal load:\n%s\nwant\n%s", got, first)
	}
	p.send("m", "session s", caller.Caller{}, forecast)
	less := slices.DeleteFunc(errands(t), func(x tools.Tool) bool { return x.Definition().Name == "weather_forecast" })
	p.load(less...)
	if names, _ := p.send("m", "", caller.Caller{}, forecast); slices.Contains(names, "weather_forecast") {
		t.Errorf("a tool that was removed is sent: %s", names)
	}
	p.server.Script(chattest.InTurn(
		chattest.Say(chattest.Call("c1", "weather_forecast", `{"city":"Paris"}`)), chattest.Say(chattest.Text("Sunny."))))
	p.send("m", "session s", caller.Caller{}, forecast)
	all := p.server.Requests()
	if got := all[len(all)-1].Results["c1"]; !strings.Contains(got, "was removed") {
		t.Errorf("the session reads %s", got)
	}
}

// A caller gets no tool that it may not see, also in a conversation that begins like one of a
// caller who may, or that was pinned when it was available.
func TestPreselectionShowsNoHiddenTool(t *testing.T) {
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 3")
	const warnings = "are there warnings of storms in Paris?"
	if names, _ := p.send("m", "", caller.Caller{UserID: "ann"}, warnings); !slices.Contains(names, "weather_warnings") {
		t.Errorf("ann got %s", names)
	}
	for _, session := range []string{"", "session x"} {
		names, _ := p.send("m", session, caller.Caller{UserID: "ann", SpaceID: "open"}, warnings)
		if slices.Contains(names, "weather_warnings") {
			t.Errorf("session %q in the open space got %s", session, names)
		}
	}
}

// An agent of the model gets its own tools preselected, and no others.
func TestAgentsPreselect(t *testing.T) {
	p := newPreselecting(t, "openai:gpt", "tools: auto, preselect: 2")
	names, _ := p.send("clerk", "", caller.Caller{}, "convert 5 euros to another currency and send it by mail")
	if slices.Contains(names, "convert_currency") || !slices.Contains(names, "send_mail") {
		t.Errorf("the agent got %s", names)
	}
}

func TestPreselectParam(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{"tools: auto, preselect: 21", "error: params.preselect takes 0 to 20"},
		{"tools: auto, preselect: many", `error: params.preselect takes a whole number, not "many"`},
		{"tools: 'f01', preselect: 2", "warning: it has no effect with tools: f01, whose tools are not searched"},
		{"tools: planner, preselect: 2", "warning: it has no effect with tools: planner, whose tools are not searched"},
		{
			"tools: search_registry, tool_search: native, preselect: 2",
			"warning: it has no effect with tool_search: native, whose provider loads the tools that it finds",
		},
	} {
		_, problems, _ := open(t, oneModel+model(c.params), append(builtins(t), functions(t, 25)...))
		if got := texts(problems); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.params, got, c.want)
		}
	}
	set, problems, _ := open(t, oneModel+model("tools: auto, preselect: 4"), append(builtins(t), functions(t, 25)...))
	plain, _, _ := open(t, oneModel+model("tools: auto"), append(builtins(t), functions(t, 25)...))
	got, without := set.Infos()[0], plain.Infos()[0]
	if len(problems) > 0 || got.Preselect != 4 || without.Preselect != 0 || got.DefinitionTokens < without.DefinitionTokens+4*20 {
		t.Errorf("%v: %d preselected, %d tokens, %d without", problems, got.Preselect, got.DefinitionTokens, without.DefinitionTokens)
	}
}

// TestDirectTokens: what a mode saves is the difference to what mode direct costs for the same tools.
func TestDirectTokens(t *testing.T) {
	list := append(builtins(t), functions(t, 25)...)
	of := func(params string) models.Info {
		set, problems, _ := open(t, oneModel+model(params), list)
		if len(problems) > 0 {
			t.Fatal(params, problems)
		}
		return set.Infos()[0]
	}
	direct := of("tools: auto, auto_threshold: 4096")
	if direct.Mode != models.ModeDirect || direct.DefinitionTokens == 0 || direct.DirectTokens != direct.DefinitionTokens {
		t.Fatalf("direct: %+v", direct.ToolPlan)
	}
	// Searches find built-in tools, too, that tools: auto does not send.
	for params, more := range map[string]bool{"tools: search_registry": true, "tools: planner": false, "tools: auto, preselect: 4": true} {
		got := of(params)
		if got.Mode == models.ModeDirect || got.DefinitionTokens >= got.DirectTokens || (got.Count > direct.Count) != more ||
			(got.DirectTokens > direct.DirectTokens) != more || got.DirectTokens < direct.DirectTokens {
			t.Errorf("%s: %+v; direct: %+v", params, got.ToolPlan, direct.ToolPlan)
		}
	}
	if none := of("tools: none"); none.DirectTokens != 0 {
		t.Errorf("none: %+v", none.ToolPlan)
	}
}
