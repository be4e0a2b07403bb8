package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

func TestInvoke(t *testing.T) {
	r, _ := start(t, greet(t))
	for args, want := range map[string]string{
		`{"name":"Ada"}`:                   `"hello Ada x1"`,
		`{"name":"Ada","times":3}`:         `"hello Ada x3"`,
		`"{\"name\":\"Ada\"}"`:             `"hello Ada x1"`,
		`{"Name":"Ada","times":"2"}`:       `"hello Ada x2"`,
		`{"arguments":{"name":"Ada"}}`:     `"hello Ada x1"`,
		"{\"name\":\"Ada\",\"times\":2.0}": `"hello Ada x2"`,
	} {
		result := invoke(t, r, "greet", args)
		if !result.OK || string(result.Result) != want {
			t.Errorf("%s: %s %v", args, result.Result, result.Error)
		}
		if repaired := args[0] == '"' || strings.ContainsAny(args, "N") || strings.Contains(args, `"2"`); repaired && len(result.Notices) == 0 {
			t.Errorf("%s: no notice of the repair", args)
		}
	}
	if result := invoke(t, r, "GREET", `{"name":"Ada"}`); !result.OK || result.Tool.Name != "greet" {
		t.Errorf("a name in another case: %v", result.Error)
	}
}

func TestFailures(t *testing.T) {
	slow := tool(t, tools.Definition{Name: "slow", Limits: &tools.Limits{Timeout: time.Second}}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
		<-ctx.Done()
		return tools.Output{}, ctx.Err()
	})
	broken := tool(t, tools.Definition{Name: "broken"}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.Output{}, errors.New("division by zero")
	})
	panics := tool(t, tools.Definition{Name: "panics"}, func(context.Context, tools.Input) (tools.Output, error) { panic("secret") })
	large := tool(t, tools.Definition{Name: "large", Limits: &tools.Limits{MaxBytes: 100}}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.JSON(strings.Repeat("x", 99))
	})
	liar := tool(t, tools.Definition{
		Name: "liar", Source: "mcp:x",
		Returns: json.RawMessage(`{"type":"object","required":["n"]}`),
	}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.JSON(map[string]int{"m": 1})
	})
	busy := tool(t, tools.Definition{Name: "busy"}, func(context.Context, tools.Input) (tools.Output, error) {
		return tools.Output{}, tools.NewError(errcode.Busy, "come back", "")
	})
	tests := []struct {
		name, args string
		code       errcode.Code
		message    string
		retryable  bool
	}{
		{"gret", `{}`, errcode.ToolNotFound, `there is no tool "gret"; did you mean "greet"?`, false},
		{"functions.greet", `{}`, errcode.ToolNotFound, `there is no tool "functions.greet"; did you mean "greet"?`, false},
		{"default_api:greet", `{}`, errcode.ToolNotFound, `there is no tool "default_api:greet"; did you mean "greet"?`, false},
		{"mcp__spiced__gret", `{}`, errcode.ToolNotFound, `there is no tool "mcp__spiced__gret"; did you mean "greet"?`, false},
		{"functions.nosuchtool", `{}`, errcode.ToolNotFound, `there is no tool "functions.nosuchtool"; search for one with tool_search`, false},
		{"secret_function", `{}`, errcode.ToolNotFound, `there is no tool "secret_function"; it is declared, but not a tool: it has as_tool: false`, false},
		{strings.Repeat("x", 1000), `{}`, errcode.ToolNotFound, "…", false},
		{"greet", `{"times":1}`, errcode.InvalidArguments, "name", false},
		{"greet", `{"name":"Ada","times":0}`, errcode.InvalidArguments, "times", false},
		{"greet", `{"name":"Ada","tymes":2}`, errcode.InvalidArguments, "times", false},
		{"greet", `[1]`, errcode.InvalidArguments, "object", false},
		{"greet", `{"name":`, errcode.InvalidArguments, "JSON", false},
		{"slow", ``, errcode.Timeout, "slow took longer than 1s, its time limit", true},
		{"broken", ``, errcode.Execution, "division by zero", false},
		{"panics", ``, errcode.Internal, "failed inside", false},
		{"large", ``, errcode.Limit, "the result has 101 bytes; the limit is 100", false},
		{"liar", ``, errcode.InvalidResult, "does not declare", false},
		{"busy", ``, errcode.Busy, "come back", true},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			r := registry.New(registry.Options{})
			publish(t, r, registry.Contents{
				Tools:  []tools.Tool{greet(t), slow, broken, panics, large, liar, busy},
				Hidden: []registry.Hidden{{Name: "secret_function", Stage: "as_tool", Reason: "it has as_tool: false"}},
			})
			result := invoke(t, r, test.name, test.args)
			if result.OK || result.Error.Code != test.code || !strings.Contains(result.Error.Error(), test.message) || result.Error.Retryable != test.retryable {
				t.Errorf("%s %s: got %+v", test.name, test.args, result.Error)
			}
			if strings.Contains(result.Error.Error(), "secret\"") {
				t.Errorf("the panic's value is shown: %v", result.Error)
			}
			if test.code == errcode.InvalidArguments && test.args[0] == '{' && test.args != `{"name":` && string(result.Error.Example) == "" {
				t.Errorf("%s: no example", test.args)
			}
		})
	}
}

func TestCallersWhoLeaveOrLimitTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New(registry.Options{})
		publish(t, r, registry.Contents{Tools: []tools.Tool{
			tool(t, tools.Definition{Name: "wait"}, func(ctx context.Context, _ tools.Input) (tools.Output, error) {
				<-ctx.Done()
				return tools.Output{}, ctx.Err()
			}),
		}})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if e := r.Invoke(short, registry.Call{Name: "wait"}).Error; e.Code != errcode.Timeout || strings.Contains(e.Message, "its time limit") {
			t.Errorf("deadline of the caller: %+v", e)
		}
		left, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if e := r.Invoke(left, registry.Call{Name: "wait"}).Error; e.Code != errcode.Cancelled {
			t.Errorf("caller who left: %+v", e)
		}
	})
}

func TestConcurrencyLimit(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	one := tool(t, tools.Definition{Name: "one", Limits: &tools.Limits{Concurrency: 1}}, func(context.Context, tools.Input) (tools.Output, error) {
		entered <- struct{}{}
		<-leave
		return tools.JSON(1)
	})
	r, _ := start(t, one)
	done := make(chan tools.Result)
	go func() { done <- r.Invoke(context.Background(), registry.Call{Name: "one"}) }()
	<-entered
	if result := invoke(t, r, "one", ""); result.OK || result.Error.Code != errcode.Busy || !result.Error.Retryable {
		t.Errorf("the second call: %+v", result)
	}
	publish(t, r, registry.Contents{Tools: []tools.Tool{greet(t), one}})
	if result := invoke(t, r, "one", ""); result.OK {
		t.Error("a reload forgot the call that runs")
	}
	close(leave)
	if result := <-done; !result.OK {
		t.Errorf("the first call: %v", result.Error)
	}
}

// TestRefusedCallsDoNotCount refuses calls after they were counted for their session.
func TestRefusedCallsDoNotCount(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	one := tool(t, tools.Definition{Name: "one", Limits: &tools.Limits{Concurrency: 1, MaxCallsPerSession: 2}},
		func(context.Context, tools.Input) (tools.Output, error) {
			entered <- struct{}{}
			<-leave
			return tools.JSON(1)
		})
	r, _ := start(t, deferrable{one})
	c := registry.Call{Name: "one", Scope: tools.Scope{Caller: caller.Caller{SessionID: "s"}}}
	done := make(chan tools.Result)
	go func() { done <- r.Invoke(context.Background(), c) }()
	<-entered
	for range 3 {
		if result := r.Invoke(t.Context(), c); result.OK || result.Error.Code != errcode.Busy {
			t.Errorf("a call next to another one: %+v", result)
		}
	}
	close(leave)
	<-done
	for range 3 {
		d, ok := r.Defer(c)
		if !ok || d.SQL != "SELECT 1" {
			t.Fatalf("the second call: %+v, %t", d, ok)
		}
		d.Refused()
	}
	if _, ok := r.Defer(c); !ok {
		t.Error("calls that were refused count")
	}
	if _, ok := r.Defer(c); ok {
		t.Error("a third call was accepted; the limit is 2")
	}
}

// deferrable is a tool whose calls also run as statements.
type deferrable struct{ tools.Tool }

func (deferrable) Deferred(tools.Input) (string, []any, error) { return "SELECT 1", nil, nil }

func TestMaxCallsPerSession(t *testing.T) {
	two := tool(t, tools.Definition{
		Name: "two", Limits: &tools.Limits{MaxCallsPerSession: 2}, Cacheable: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`),
	}, func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON(1) })
	r, _ := start(t, two)
	call := func(tool, args string, who caller.Caller) *tools.Error {
		return r.Invoke(t.Context(), registry.Call{Name: tool, Arguments: json.RawMessage(args), Scope: tools.Scope{Caller: who}}).Error
	}
	one := caller.Caller{SessionID: "s1"}
	steps := []struct {
		tool, args string
		who        caller.Caller
		want       errcode.Code
	}{
		{"two", `{"x":"no"}`, one, errcode.InvalidArguments}, // does not count
		{"two", `{"x":1}`, one, ""},
		{"two", `{"x":1}`, one, ""}, // a cached result counts
		{"two", `{"x":1}`, one, errcode.Limit},
		{"tool_invoke", `{"tool_id":"two","arguments":{"x":1}}`, one, errcode.Limit},
		{"two", `{"x":1}`, caller.Caller{SessionID: "s2"}, ""},
		{"two", `{"x":1}`, caller.Caller{SessionID: "s1", Principal: "ann"}, ""},
		{"tool_invoke", `{"tool_id":"two","arguments":{"x":1}}`, caller.Caller{RequestID: "r1"}, ""},
		{"two", `{"x":1}`, caller.Caller{RequestID: "r1"}, ""},
		{"two", `{"x":1}`, caller.Caller{RequestID: "r1"}, errcode.Limit},
		{"two", `{"x":1}`, caller.Caller{}, ""},
		{"two", `{"x":1}`, caller.Caller{}, ""},
		{"two", `{"x":1}`, caller.Caller{}, ""}, // neither session nor request
	}
	for i, s := range steps {
		err := call(s.tool, s.args, s.who)
		var got errcode.Code
		if err != nil {
			got = err.Code
		}
		if got != s.want {
			t.Errorf("step %d: %v, want %q", i, err, s.want)
		}
		if got == errcode.Limit && (err.Retryable || !strings.Contains(err.Message, "this session has called two 2 times, which is the tool's limit")) {
			t.Errorf("step %d: %+v", i, err)
		}
	}
	publish(t, r, registry.Contents{Tools: []tools.Tool{greet(t), two}})
	if err := call("two", `{"x":1}`, one); err == nil {
		t.Error("a reload forgot the calls of the session")
	}
}

func TestResultsAreRemembered(t *testing.T) {
	calls := 0
	count := func(implementation string) tools.Tool {
		return tool(t, tools.Definition{
			Name: "pure", Cacheable: true, Implementation: implementation,
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`),
		},
			func(context.Context, tools.Input) (tools.Output, error) { calls++; return tools.JSON(calls) })
	}
	r, recorder := start(t, count("a"))
	for i, want := range []string{"miss 1", "hit 1", "hit 1"} {
		args := []string{`{"x":1}`, `{"x":1}`, `{"x":"1"}`}[i]
		result := invoke(t, r, "pure", args)
		if got := result.Metrics.Cache + " " + string(result.Result); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	publish(t, r, registry.Contents{Tools: []tools.Tool{count("b")}})
	if result := invoke(t, r, "pure", `{"x":1}`); string(result.Result) != "2" {
		t.Errorf("after a change: %s", result.Result)
	}
	if t1 := recorder.Totals("pure"); t1.Calls != 4 || t1.Cached != 2 {
		t.Errorf("recorded %+v", t1.Counts)
	}
	r.CacheLimit(0)
	if s := r.CacheStats(); s.Entries != 0 || s.Bytes != 0 || s.Hits != 2 {
		t.Errorf("a cache that is off: %+v", s)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	r, _ := start(t, tool(t, tools.Definition{Name: "pure", Cacheable: true, Parameters: json.RawMessage(`{"type":"object","properties":{"x":{}}}`)},
		func(context.Context, tools.Input) (tools.Output, error) { return tools.JSON(strings.Repeat("x", 500)) }))
	const limit = 100_000
	r.CacheLimit(limit)
	for i := range 1000 {
		invoke(t, r, "pure", fmt.Sprintf(`{"x":%d}`, i))
	}
	if s := r.CacheStats(); s.Bytes > limit || s.Entries < 50 {
		t.Errorf("%+v", s)
	}
	if result := invoke(t, r, "pure", `{"x":999}`); result.Metrics.Cache != "hit" {
		t.Error("the newest is forgotten")
	}
	if result := invoke(t, r, "pure", `{"x":0}`); result.Metrics.Cache != "miss" {
		t.Error("the oldest is remembered")
	}
}

type planned struct{ tools.Tool }

func (planned) Plan(context.Context, tools.Input) (json.RawMessage, error) {
	return json.RawMessage(`{"sql":"SELECT 1"}`), nil
}

func TestDryRunDoesNothing(t *testing.T) {
	called := false
	r, recorder := start(t, planned{tool(t,
		tools.Definition{Name: "act", Parameters: json.RawMessage(greetSchema)}, func(context.Context, tools.Input) (tools.Output, error) {
			called = true
			return tools.JSON(1)
		})})
	result := r.Invoke(t.Context(), registry.Call{Name: "act", Arguments: json.RawMessage(`{"name":"Ada"}`), DryRun: true})
	want := `{"dry_run":true,"tool":"act","arguments":{"name":"Ada","times":1},"limits":{"timeout":"30s","max_rows":1000,"max_bytes":4194304,"concurrency":256},"plan":{"sql":"SELECT 1"}}`
	if !result.OK || string(result.Result) != want {
		t.Errorf("got %s %v", result.Result, result.Error)
	}
	if result := r.Invoke(t.Context(), registry.Call{Name: "act", DryRun: true}); result.OK || result.Error.Code != errcode.InvalidArguments {
		t.Errorf("a dry run with wrong arguments: %+v", result)
	}
	if called || recorder.Totals("act").Calls != 0 {
		t.Error("a dry run ran, or was counted")
	}
}

// here is a tool of one space only.
type here struct{ tools.Tool }

func (here) Unavailable(s tools.Scope) string {
	if s.SpaceID == "" {
		return "it needs a space"
	}
	return ""
}

func TestAvailability(t *testing.T) {
	r, _ := start(t, greet(t), here{tool(t, tools.Definition{Name: "list_folder", Description: "Lists a folder."}, nil)})
	space := tools.Scope{Caller: caller.Caller{SpaceID: "s1"}}
	if n := len(r.Current().Visible(tools.Scope{})); n != 1 {
		t.Errorf("%d tools are visible without a space", n)
	}
	if n := len(r.Current().Visible(space)); n != 2 {
		t.Errorf("%d tools are visible in a space", n)
	}
	if e := invoke(t, r, "list_folder", "").Error; e == nil || e.Code != errcode.ToolUnavailable || !strings.Contains(e.Message, "it needs a space") {
		t.Errorf("called without a space: %v", e)
	}
	if result := r.Invoke(t.Context(), registry.Call{Name: "list_folder", Scope: space}); !result.OK {
		t.Errorf("called in a space: %v", result.Error)
	}
	for id, want := range map[string]int{"": 0, "s1": 1} {
		found, err := r.Search(t.Context(), registry.SearchRequest{Query: "folder", Scope: tools.Scope{Caller: caller.Caller{SpaceID: id}}})
		if err != nil || len(found.Tools) != want {
			t.Errorf("a search in space %q finds %d, %v", id, len(found.Tools), err)
		}
	}
	s, err := r.Status("list_folder", tools.Scope{}, true)
	if err != nil || s.Callable || s.HiddenBy != registry.StageAvailable || s.Stages[len(s.Stages)-1].Reason != "it needs a space" {
		t.Errorf("status %+v, %v", s, err)
	}
}

func TestEvents(t *testing.T) {
	r, _ := start(t, greet(t))
	var got []string
	r.Invoke(t.Context(), registry.Call{Name: "greet", Arguments: json.RawMessage(`{"name":"Ada"}`), Events: func(e registry.Event) {
		text := fmt.Sprintf("%s %s", e.Type, e.Tool)
		if e.Result != nil {
			text += " " + string(e.Result.Result)
		}
		got = append(got, text)
	}})
	if want := `tool_call greet|tool_result greet "hello Ada x1"`; strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}

func TestResultOfTheInvocationAPI(t *testing.T) {
	r, _ := start(t, greet(t))
	result := r.Invoke(t.Context(), registry.Call{
		Name: "greet", Arguments: json.RawMessage(`{"name":"Ada"}`),
		Scope: tools.Scope{Caller: caller.Caller{Trace: caller.Trace{FlowID: "f", StepID: "2"}}},
	})
	result.Metrics.LatencyMS = 1.5
	text, err := json.Marshal(result)
	want := `{"schema_version":"0.1.0","ok":true,"result":"hello Ada x1","metrics":{"latency_ms":1.5},"trace":{"flow_id":"f","step_id":"2"}}`
	if err != nil || string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestForeignCallsAreCounted(t *testing.T) {
	r, recorder := start(t, greet(t), tool(t, tools.Definition{Name: "shared"}, nil))
	for _, agent := range []string{"hawken", "lagan", "lagan", ""} {
		for _, name := range []string{"greet", "shared"} {
			r.Invoke(t.Context(), registry.Call{Name: name, Arguments: json.RawMessage(`{"name":"x"}`), Scope: tools.Scope{Caller: caller.Caller{Agent: agent}}})
		}
	}
	if n := recorder.Totals("greet").Foreign; n != 2 {
		t.Errorf("%d foreign calls of greet", n)
	}
	if n := recorder.Totals("shared").Foreign; n != 0 {
		t.Errorf("%d foreign calls of what belongs to everybody", n)
	}
}

// Sixteen callers while 200 catalogs are published see no error, and every call
// is counted once.
func TestCallsDuringPublications(t *testing.T) {
	version := func(n int) tools.Tool {
		return tool(t, tools.Definition{
			Name: "f", Implementation: fmt.Sprint(n),
			Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`),
		},
			func(context.Context, tools.Input) (tools.Output, error) {
				if n%7 == 3 {
					return tools.Output{}, fmt.Errorf("version %d: %w", n, tools.ErrChanged)
				}
				return tools.JSON(n)
			})
	}
	r, recorder := start(t, version(0))
	stop := make(chan struct{})
	var callers sync.WaitGroup
	var mu sync.Mutex
	total := int64(0)
	for range 16 {
		callers.Go(func() {
			n := int64(0)
			for {
				select {
				case <-stop:
					mu.Lock()
					total += n
					mu.Unlock()
					return
				default:
				}
				result := r.Invoke(context.Background(), registry.Call{Name: "f", Arguments: json.RawMessage(`{"x":1}`)})
				n++
				if !result.OK && !strings.Contains(result.Error.Message, "just been replaced") {
					t.Errorf("%v", result.Error)
					return
				}
			}
		})
	}
	for n := range 200 {
		publish(t, r, registry.Contents{Generation: uint64(n + 2), Tools: []tools.Tool{version(n)}})
	}
	close(stop)
	callers.Wait()
	if got := recorder.Totals("f").Calls; got != total {
		t.Errorf("%d calls were made and %d counted", total, got)
	}
}

func TestConflictsNameBothPlaces(t *testing.T) {
	r := registry.New(registry.Options{})
	c := publish(t, r, registry.Contents{Tools: []tools.Tool{
		tool(t, tools.Definition{Name: "sql", Source: tools.SourceBuiltin, Declared: "built in"}, nil),
		tool(t, tools.Definition{Name: "SQL", Declared: "spicepod.yaml:7"}, nil),
	}})
	if len(c.Conflicts) != 1 || c.Len() != 1 {
		t.Fatalf("%v, %d tools", c.Conflicts, c.Len())
	}
	for _, want := range []string{`"SQL"`, "built in", "spicepod.yaml:7"} {
		if !strings.Contains(c.Conflicts[0].Error(), want) {
			t.Errorf("%q does not say %s", c.Conflicts[0].Error(), want)
		}
	}
}

func TestForeignSchemaThatDoesNotCompile(t *testing.T) {
	r := registry.New(registry.Options{})
	c := publish(t, r, registry.Contents{Tools: []tools.Tool{
		tool(t, tools.Definition{Name: "server__odd", Source: "mcp:server", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"enum":"a"}}}`)}, nil),
	}})
	if len(c.ForeignFaults()) != 1 {
		t.Fatal(c.ForeignFaults())
	}
	if result := invoke(t, r, "server/odd", `{"x":["anything"]}`); !result.OK {
		t.Errorf("it cannot be called: %v", result.Error)
	}
	if result := invoke(t, r, "server__odd", `[]`); result.OK {
		t.Error("it takes what is no object")
	}
	if s, err := r.Status("server__odd", tools.Scope{}, true); err != nil || s.Warning == "" || !s.Callable {
		t.Errorf("%+v %v", s, err)
	}
}

func TestListsLeaveSorted(t *testing.T) {
	r := registry.New(registry.Options{})
	var list []tools.Tool
	for _, name := range []string{"b", "Z", "a", "_x", "b-1", "b_1"} {
		list = append(list, tool(t, tools.Definition{Name: name}, nil))
	}
	c := publish(t, r, registry.Contents{Tools: list})
	var names []string
	for _, d := range c.All() {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "Z _x a b b-1 b_1" {
		t.Error(got)
	}
}

// TestAutomaticCallsAreNoUsage: what no caller asked for says nothing about the tool.
func TestAutomaticCallsAreNoUsage(t *testing.T) {
	r, recorder := start(t, greet(t))
	for _, automatic := range []bool{true, false} {
		got := r.Invoke(t.Context(), registry.Call{Name: "greet", Arguments: json.RawMessage(`{"name":"ann"}`), Automatic: automatic})
		if !got.OK {
			t.Fatal(got.Error)
		}
	}
	if calls := recorder.Totals("greet").Calls; calls != 1 {
		t.Errorf("%d calls are recorded, want 1", calls)
	}
}
