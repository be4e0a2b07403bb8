package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func tool(name string) chat.Tool {
	return chat.Tool{Name: name, Description: "Does " + name, Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}
}

func deferred(name string) chat.Tool {
	t := tool(name)
	t.Deferred = true
	return t
}

func call(id, name, arguments string) chat.Part {
	return chat.Part{Kind: chat.PartCall, Call: &chat.Call{ID: id, Name: name, Arguments: arguments}}
}

func result(id string, parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleTool, Parts: []chat.Part{{Kind: chat.PartResult, Result: &chat.CallResult{ID: id, Parts: parts}}}}
}

func says(s string) chat.Part { return chat.Part{Kind: chat.PartText, Text: s} }

func picture(i chat.Image) chat.Part { return chat.Part{Kind: chat.PartImage, Image: &i} }

func number(f float64) *float64 { return &f }

var no = false

// found is the result of a tool search.
func found(id string, names ...string) chat.Message {
	m := result(id, says("text for other providers"))
	m.Parts[0].Result.Found = names
	return m
}

// failed is the result of a call that failed.
func failed(id, text string) chat.Message {
	m := result(id, says(text))
	m.Parts[0].Result.Error = true
	return m
}

func messages(m ...chat.Message) []chat.Message { return m }

func assistant(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Parts: parts}
}

// inserted is what the runtime inserts at the front of a chat.
func inserted() []chat.Message {
	const id = "initial_list_datasets"
	return messages(assistant(call(id, "list_datasets", "{}")), result(id, says("[]")))
}

func parsed(t *testing.T, body string) *chat.Request {
	t.Helper()
	r, err := anthropic.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var hosted = chat.Tool{Raw: json.RawMessage(`{"type":"web_search"}`)}

// requests are requests of the runtime, by their special feature.
func requests(t *testing.T) map[string]*chat.Request {
	mixed := parsed(t, everything)
	mixed.Messages = append(mixed.Messages[:1:1], append(inserted(), mixed.Messages[1:]...)...)
	mixed.Messages = append(mixed.Messages, assistant(call("toolu_4", "sql", `{"query":"SELECT 2"}`)), result("toolu_4", says("2")),
		parsed(t, with("messages", `[{"role":"user","content":"Thanks."}]`)).Messages[0])
	return map[string]*chat.Request{
		"plain": question("Hello <you> & me"),
		"tools": {
			Messages: messages(chat.Text(chat.RoleSystem, "Be brief."), chat.Text(chat.RoleSystem, "Be kind."), chat.Text(chat.RoleUser, "hi")),
			Tools:    []chat.Tool{tool("add"), tool("sub"), deferred("zeta")},
			Choice:   chat.Choice{Mode: chat.ChoiceRequired}, Settings: chat.Settings{ParallelCalls: &no},
		},
		"failure without content": {
			Messages: messages(chat.Text(chat.RoleUser, "hi"), assistant(call("toolu_1", "add", "{}"), call("toolu_2", "add", "{}")), failed("toolu_1", ""),
				failed("toolu_2", "no")),
			Tools: []chat.Tool{tool("add")},
		},
		"bare tools": {
			Messages: messages(chat.Text(chat.RoleUser, "hi")),
			Tools:    []chat.Tool{{Name: "now"}, {Name: "any", Parameters: json.RawMessage(`{}`), Strict: &no}},
		},
		"deferral": {
			Messages: messages(
				chat.Text(chat.RoleUser, "hi"), assistant(call("toolu_1", "tool_search", `{"query":"sums"}`), call("toolu_2", "tool_search", `{"query":"rain"}`),
					call("toolu_3", "tool_search", `{}`)),
				found("toolu_1", "zeta", "gone"), found("toolu_2", "gone"), failed("toolu_3", "a query is required"),
			),
			Tools: []chat.Tool{tool("tool_search"), deferred("zeta")},
		},
		"OpenAI": {
			Form:  chat.FormOpenAI,
			Extra: map[string]json.RawMessage{"logprobs": json.RawMessage("true")},
			Messages: messages(
				chat.Text(chat.RoleSystem, "Be brief."),
				chat.Message{Role: chat.RoleUser, Form: chat.FormOpenAI, Raw: json.RawMessage(`{"role":"user"}`), Parts: []chat.Part{
					says("What is it?"), picture(chat.Image{URL: "data:image/png;base64,aGk="}), picture(chat.Image{URL: "https://example.com/a.png", Detail: "low"}),
					picture(chat.Image{MediaType: "image/gif", Data: "R0lG"}),
					{Kind: chat.PartFile, File: &chat.File{Name: "a.pdf", MediaType: "application/pdf", Data: "JVBERi0="}},
					{Kind: chat.PartFile, File: &chat.File{Name: "a.md", MediaType: "text/markdown", Data: "SGk="}},
					says(" "),
				}},
				assistant(chat.Part{Kind: chat.PartThinking, Text: "Hm.", Raw: json.RawMessage(`{}`), Form: chat.FormOpenAI}, says(""),
					call("functions.sql:0", "sql", `{"query": "SELECT 1"}`), call("call_2", "made.up", `{"x":`), call("call_3", "now", "")),
				result("functions.sql:0", says("1"), picture(chat.Image{MediaType: "image/png", Data: "aGk="})),
				failed("call_2", "no such tool"), result("call_3"),
				chat.Text(chat.RoleUser, "And?"),
				assistant(chat.Part{Kind: chat.PartRefusal, Text: "I will not."}),
				chat.Text(chat.RoleUser, "Please."), chat.Text(chat.RoleUser, ""),
			),
			Tools:  []chat.Tool{{Name: "sql", Parameters: json.RawMessage(`{"type": "object", "properties": {"b": {}, "a": {}}}`), Raw: json.RawMessage(`{}`)}},
			Choice: chat.Choice{Mode: chat.ChoiceTool, Name: "sql"},
			Settings: chat.Settings{
				MaxTokens: 77, Temperature: number(1.7), TopP: number(0.5), Stop: []string{"END"}, Effort: "minimal", User: "u1",
				Format: json.RawMessage(`{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{}}}}`),
			},
		},
		"no thinking": {Messages: question("hi").Messages, Settings: chat.Settings{Effort: "none", Format: json.RawMessage(`{"type":"json_object"}`)}},
		"inserted": {Messages: append(append(messages(chat.Text(chat.RoleSystem, "Be brief.")), inserted()...), chat.Text(chat.RoleUser, "a"),
			assistant(says("b")), chat.Text(chat.RoleUser, "c"))},
		"greeting": {Messages: messages(assistant(says("How can I help?")), chat.Text(chat.RoleUser, "a"))},
		"late result": {Messages: messages(chat.Text(chat.RoleUser, "a"), assistant(call("c1", "now", "{}")), chat.Text(chat.RoleUser, "b"),
			result("c1", says("12:00")))},
		"everything":   parsed(t, everything),
		"mixed":        mixed,
		"thinking own": {Messages: messages(chat.Text(chat.RoleUser, "a"), thought(t), result("toolu_1", says("1")))},
	}
}

// thought is an answer with thinking and calls, as the tool loop stores it.
func thought(t *testing.T) chat.Message {
	all, err := deltas(t, []byte(streams["document"]))
	if err != nil {
		t.Fatal(err)
	}
	var c chat.Collector
	for _, d := range all {
		c.Add(d)
	}
	return c.Response().Message()
}

func TestRequests(t *testing.T) {
	for name, r := range requests(t) {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "testdata/requests/"+strings.ReplaceAll(name, " ", "_")+".json", indent(t, sent(t, anthropic.ProviderOptions{Cache: true}, r)))
		})
	}
}

func TestNoMarksWithoutCache(t *testing.T) {
	for name, r := range requests(t) {
		body := sent(t, anthropic.ProviderOptions{}, r)
		if got, want := bytes.Count(body, []byte("cache_control")), clientMarks(name); got != want {
			t.Errorf("%s: %d marks, want %d", name, got, want)
		}
	}
}

// clientMarks are the cache marks of the request everything.
func clientMarks(name string) int {
	if name == "everything" || name == "mixed" {
		return 2
	}
	return 0
}

// The client's bytes reach the provider unchanged.
func TestKeepsBytes(t *testing.T) {
	type wire struct {
		System, Thinking json.RawMessage
		Messages, Tools  []json.RawMessage
		Config           json.RawMessage `json:"output_config"`
		TopK             int             `json:"top_k"`
		MaxTokens        int             `json:"max_tokens"`
		Choice           json.RawMessage `json:"tool_choice"`
	}
	var want, got wire
	if err := json.Unmarshal([]byte(everything), &want); err != nil {
		t.Fatal(err)
	}
	body := sent(t, anthropic.ProviderOptions{}, parsed(t, everything))
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A message that was changed is encoded from its parts; each unchanged part retains its
// bytes.
func TestChangedMessages(t *testing.T) {
	const blocks = `{"role":"assistant","content":[` +
		`{"type":"tool_use","id":"t1","name":"sql","input":{"q":1},"cache_control":{"type":"ephemeral"}},` +
		`{"type":"tool_use","id":"t2","name":"sql","input":{"q":2},"cache_control":{"type":"ephemeral"}}]}`
	r := parsed(t, with("messages", `[{"role":"user","content":"a"},{"role":"user","content":""},{"role":"user","content":"<b>"},`+blocks+`]`))
	r.Messages[3].Raw = nil
	r.Messages[3].Parts[1].Call.Arguments = `{"q":3}`
	const want = `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<b>"}]},{"role":"assistant","content":[` +
		`{"type":"tool_use","id":"t1","name":"sql","input":{"q":1},"cache_control":{"type":"ephemeral"}},` +
		`{"type":"tool_use","id":"t2","name":"sql","input":{"q":3}}]}]`
	if body := sent(t, anthropic.ProviderOptions{}, r); !bytes.Contains(body, []byte(want)) {
		t.Errorf("%s", body)
	}
}

func TestForm(t *testing.T) {
	if f := (&provider{}).open(anthropic.ProviderOptions{}).Form(); f != chat.FormAnthropic {
		t.Errorf("%q", f)
	}
}

func TestMarksAreFourAtMost(t *testing.T) {
	const mark = `"cache_control":{"type":"ephemeral"}`
	block := func(mark string) string { return `{"type":"text","text":"x",` + mark + `}` }
	ask := func(blocks ...string) string {
		return `"messages":[{"role":"user","content":[` + strings.Join(blocks, ",") + `]}]`
	}
	cases := []struct {
		name, body   string
		total        int
		tool, system bool // has a mark
	}{
		{"none", ask(block(`"a":1`)), 2, true, true},
		{"two", ask(block(mark), block(mark)), 4, true, true},
		{"three", ask(block(mark), block(mark), block(mark)), 4, true, false},
		{"four", ask(block(mark), block(mark), block(mark), block(mark)), 4, false, false},
		{"in a result", ask(`{"type":"tool_result","tool_use_id":"t","content":[` + block(mark) + `,` + block(mark) + `,` + block(mark) + `]}`), 4, true, false},
		{"top level and two", mark + `,` + ask(block(mark), block(mark)), 4, true, false},
		{"null", ask(block(`"cache_control":null`)), 3, true, true},
		{"in text", ask(`{"type":"text","text":"\"cache_control\":{}"}`), 3, true, true},
		{"with a time to live", ask(block(`"cache_control":{"type":"ephemeral","ttl":"1h"}`)), 1, false, false},
		{"top level with a time to live", `"cache_control":{"type":"ephemeral","ttl":"1h"},` + ask(block(`"a":1`)), 1, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := parsed(t, `{"model":"m","max_tokens":1,"system":"s","tools":[{"name":"a","input_schema":{}},{"name":"z","input_schema":{},"defer_loading":true},`+
				`{"type":"web_search","name":"w","defer_loading":true}],`+c.body+`}`)
			body := sent(t, anthropic.ProviderOptions{Cache: true}, r)
			var got struct{ Tools, System []map[string]any }
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			tool, system := got.Tools[0]["cache_control"] != nil, got.System[0]["cache_control"] != nil
			if n := bytes.Count(body, []byte("cache_control")); n != c.total || tool != c.tool || system != c.system || got.Tools[1]["cache_control"] != nil ||
				got.Tools[2]["cache_control"] != nil {
				t.Errorf("%d marks, tool %v, system %v: %s", n, tool, system, body)
			}
		})
	}
}

// A client's own mark on the last tool replaces ours.
func TestMarkIsThereAlready(t *testing.T) {
	r := parsed(t, with("tools", `[{"name":"a","input_schema":{},"cache_control":{"type":"ephemeral"}}]`))
	if body := sent(t, anthropic.ProviderOptions{Cache: true}, r); bytes.Count(body, []byte("cache_control")) != 1 {
		t.Errorf("%s", body)
	}
}

func TestChoices(t *testing.T) {
	yes := true
	cases := []struct {
		choice   chat.Choice
		parallel *bool
		want     string
	}{
		{chat.Choice{}, nil, ""},
		{chat.Choice{}, &yes, ""},
		{chat.Choice{}, &no, `{"type":"auto","disable_parallel_tool_use":true}`},
		{chat.Choice{Mode: chat.ChoiceAuto}, nil, `{"type":"auto"}`},
		{chat.Choice{Mode: chat.ChoiceNone}, &no, `{"type":"none"}`},
		{chat.Choice{Mode: chat.ChoiceRequired}, nil, `{"type":"any"}`},
		{chat.Choice{Mode: chat.ChoiceTool, Name: "add"}, &no, `{"type":"tool","name":"add","disable_parallel_tool_use":true}`},
	}
	for _, c := range cases {
		r := question("hi")
		r.Tools, r.Choice, r.Settings.ParallelCalls = []chat.Tool{tool("add")}, c.choice, c.parallel
		var got struct {
			Choice json.RawMessage `json:"tool_choice"`
		}
		if err := json.Unmarshal(sent(t, anthropic.ProviderOptions{}, r), &got); err != nil || string(got.Choice) != c.want {
			t.Errorf("%+v: %s %v, want %s", c.choice, got.Choice, err, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	o := anthropic.ProviderOptions{MaxTokens: 500, Defaults: map[string]json.RawMessage{
		"temperature": json.RawMessage("0.2"), "top_k": json.RawMessage("3"), "max_tokens": json.RawMessage("900"),
		anthropic.BetaField: json.RawMessage(`["context-1m-2025-08-07","files-api-2025-04-14"]`),
	}}
	r := parsed(t, with("top_k", "7"))
	r.Settings.MaxTokens = 0
	p := &provider{answer: []byte(hello)}
	if _, err := chat.Collect(p.open(o).Chat(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"claude-test","max_tokens":900,"messages":[{"role":"user","content":"hi"}],"stream":true,"temperature":0.2,"top_k":7}`
	if string(p.body) != want {
		t.Errorf("%s", p.body)
	}
	for name, want := range map[string]string{
		"Anthropic-Version": anthropic.Version, "Anthropic-Beta": "context-1m-2025-08-07,files-api-2025-04-14",
		"X-Api-Key": "sk-secret", "Content-Type": "application/json",
	} {
		if got := p.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if p.path != "/v1/messages" {
		t.Errorf("path %q", p.path)
	}
	sent(t, o, question("the defaults stay as they are"))
	if len(o.Defaults) != 4 {
		t.Errorf("%v", o.Defaults)
	}
}

func TestNoBetaHeader(t *testing.T) {
	p := &provider{answer: []byte(hello)}
	if _, err := chat.Collect(p.open(anthropic.ProviderOptions{}).Chat(t.Context(), question("hi"))); err != nil || p.header["Anthropic-Beta"] != nil {
		t.Errorf("%v %v", p.header, err)
	}
	if !bytes.Contains(p.body, []byte(`"max_tokens":4096`)) {
		t.Errorf("%s", p.body)
	}
}

func TestUnusableRequests(t *testing.T) {
	bad := func(change func(*chat.Request)) *chat.Request {
		r := question("hi")
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		r    *chat.Request
		code errcode.Code
	}{
		"hosted": {bad(func(r *chat.Request) { r.Form, r.Tools = chat.FormResponses, []chat.Tool{hosted} }), errcode.InvalidRequest},
		"beta":   {parsed(t, with(anthropic.BetaField, `"x"`)), errcode.InvalidRequest},
		"schema": {bad(func(r *chat.Request) { r.Tools = []chat.Tool{{Name: "a", Parameters: json.RawMessage(`{"a"`)}} }), errcode.Internal},
		"own": {bad(func(r *chat.Request) {
			r.Messages = append(r.Messages, chat.Message{Role: chat.RoleUser, Raw: json.RawMessage("{"), Form: chat.FormAnthropic})
		}), errcode.Internal},
	} {
		p := &provider{}
		_, err := chat.Collect(p.open(anthropic.ProviderOptions{}).Chat(t.Context(), c.r))
		if failed := chat.AsError(err); failed.Code != c.code || p.body != nil {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}

func TestEqualRequestsHaveEqualBytes(t *testing.T) {
	for name, r := range requests(t) {
		first := sent(t, anthropic.ProviderOptions{Cache: true}, r)
		for range 1000 / len(requests(t)) {
			if again := sent(t, anthropic.ProviderOptions{Cache: true}, requests(t)[name]); !bytes.Equal(first, again) {
				t.Fatalf("%s: %s, then %s", name, first, again)
			}
		}
	}
}

// State of one request does not leak into another.
func TestToolsOfTheLastRequest(t *testing.T) {
	changed := func(change func(*chat.Tool)) []chat.Tool {
		list := []chat.Tool{tool("add"), tool("sub")}
		change(&list[1])
		return list
	}
	large := strings.Repeat("x", 2<<20)
	p := &provider{answer: []byte(hello)}
	model := p.open(anthropic.ProviderOptions{Cache: true})
	for range 2 {
		for _, list := range [][]chat.Tool{
			changed(func(*chat.Tool) {}),
			changed(func(t *chat.Tool) { t.Name = "mul" }),
			changed(func(t *chat.Tool) { t.Description = large }),
			changed(func(t *chat.Tool) { t.Deferred = true }),
			changed(func(t *chat.Tool) { t.Strict = &no }),
			changed(func(t *chat.Tool) { t.Strict = new(bool) }),
			changed(func(t *chat.Tool) { t.Parameters = nil }),
			changed(func(t *chat.Tool) { t.Raw = json.RawMessage(`{"name":"sub"}`) }),
		} {
			for _, form := range []chat.Form{"", chat.FormAnthropic} {
				r := question("hi")
				r.Form, r.Tools = form, list
				if _, err := chat.Collect(model.Chat(t.Context(), r)); err != nil {
					t.Fatal(err)
				}
				if want := sent(t, anthropic.ProviderOptions{Cache: true}, r); !bytes.Equal(p.body, want) {
					t.Errorf("%.300s\nwant %.300s", p.body, want)
				}
			}
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	r := question("hi") // of 100 tools, 500 bytes each
	for i := range 100 {
		t := tool(fmt.Sprintf("tool_%03d", i))
		t.Parameters = json.RawMessage(`{"properties":{"x":{"description":"` + strings.Repeat("word ", 90) + `","type":"integer"}},"type":"object"}`)
		r.Tools = append(r.Tools, t)
	}
	p := &provider{answer: []byte(hello)}
	model := p.open(anthropic.ProviderOptions{Cache: true})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chat.Collect(model.Chat(b.Context(), r)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFailuresWithoutAWord have a text, whoever wrote the result: the API refuses them.
func TestFailuresWithoutAWord(t *testing.T) {
	for _, content := range []string{"", `,"content":""`, `,"content":[]`, `,"content":null`, `,"content":[{"type":"text","text":""}]`} {
		r := parsed(t, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},
			{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true`+content+`,"cache_control":{"type":"ephemeral"}}]}]}`)
		body := string(sent(t, anthropic.ProviderOptions{}, r))
		if !strings.Contains(body, `"content":"`+chat.Unexplained+`"`) || !strings.Contains(body, `"cache_control":{"type":"ephemeral"}`) {
			t.Errorf("%s: %s", content, body)
		}
	}
}
