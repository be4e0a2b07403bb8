package openai_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// sent returns the body that a provider posts for a request.
func sent(t testing.TB, r *chat.Request) []byte {
	t.Helper()
	return sentTo(t, "http://127.0.0.1/v1", r)
}

func sentTo(t testing.TB, base string, r *chat.Request) []byte {
	t.Helper()
	var body []byte
	p := streaming(base, func() io.Reader { return strings.NewReader(stream("finish:stop")) }, func(b []byte) { body = b })
	for _, err := range p.Chat(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	return body
}

func TestOwnFormIsSentAsItCame(t *testing.T) {
	golden.Equal(t, "testdata/own.json", sent(t, parse(t, everything)))
}

// foreign is a request as package anthropic decodes it.
func foreign() *chat.Request {
	half, no := 0.5, false
	image := chat.Part{Kind: chat.PartImage, Image: &chat.Image{MediaType: "image/png", Data: "AAAA"}}
	text := func(s string) chat.Part { return chat.Part{Kind: chat.PartText, Text: s} }
	result := func(id string, parts ...chat.Part) chat.Part {
		return chat.Part{Kind: chat.PartResult, Result: &chat.CallResult{ID: id, Parts: parts}}
	}
	call := func(id, arguments string) chat.Part {
		return chat.Part{Kind: chat.PartCall, Call: &chat.Call{ID: id, Name: "f", Arguments: arguments}}
	}
	return &chat.Request{
		Model: "m", Form: chat.FormAnthropic, Extra: map[string]json.RawMessage{"top_k": json.RawMessage("5")},
		Messages: []chat.Message{
			{Role: chat.RoleSystem, Parts: []chat.Part{text("be <brief>")}},
			{Role: chat.RoleUser, Parts: []chat.Part{text("look"), image}, Raw: json.RawMessage(`{"foreign":1}`), Form: chat.FormAnthropic},
			{Role: chat.RoleAssistant, Parts: []chat.Part{
				{Kind: chat.PartThinking, Text: "hm", Raw: json.RawMessage(`{"type":"thinking"}`), Form: chat.FormAnthropic},
				text("I see"), call("c1", `{"a":1}`), call("c2", ""),
			}},
			{Role: chat.RoleUser, Parts: []chat.Part{result("c1", text("one"), image), result("c2", image), text("and now?")}},
			{Role: chat.RoleAssistant, Parts: []chat.Part{call("c3", `{}`), call("c4", `{}`)}},
			{Role: chat.RoleTool, Parts: []chat.Part{result("c3", image)}},
			{Role: chat.RoleTool, Parts: []chat.Part{result("c4", text("four"))}},
			{Role: chat.RoleAssistant, Parts: []chat.Part{text("done")}},
			chat.Text(chat.RoleUser, "thanks"),
		},
		Tools:  []chat.Tool{{Name: "f", Description: "does", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "g", Strict: &no}},
		Choice: chat.Choice{Mode: chat.ChoiceRequired},
		Settings: chat.Settings{
			MaxTokens: 10, Temperature: &half, Stop: []string{"x"}, ParallelCalls: &no,
			Format: json.RawMessage(`{"type":"json_object"}`),
		},
	}
}

func TestOtherFormsAreTranslated(t *testing.T) {
	golden.Equal(t, "testdata/foreign.json", sent(t, foreign()))
}

func TestSameRequestSameBytes(t *testing.T) {
	want := string(sent(t, foreign()))
	own := string(sent(t, parse(t, everything)))
	for range 500 {
		if string(sent(t, foreign())) != want || string(sent(t, parse(t, everything))) != own {
			t.Fatal("other bytes")
		}
	}
}

// The bytes of the tools depend only on the tools, and a chat that continues has its
// previous bytes as a prefix.
func TestAChatThatGoesOnKeepsItsBytes(t *testing.T) {
	r := foreign()
	before := string(sent(t, r))
	r.Messages = append(r.Messages, chat.Text(chat.RoleAssistant, "bye"))
	after := string(sent(t, r))
	if end := strings.TrimSuffix(before, "]}"); !strings.HasPrefix(after, end) {
		t.Errorf("%s\nis not the beginning of\n%s", end, after)
	}
}

func TestWhatCannotBeSent(t *testing.T) {
	other := chat.Part{Kind: chat.PartOther, Raw: json.RawMessage(`{"type":"document"}`), Form: chat.FormAnthropic}
	for name, c := range map[string]struct {
		change func(*chat.Request)
		param  string
		says   string
	}{
		"a tool of the provider's": {func(r *chat.Request) { r.Tools[1] = chat.Tool{Raw: json.RawMessage(`{"type":"web_search_1"}`)} }, "tools[1]", `"web_search_1"`},
		"a choice":                 {func(r *chat.Request) { r.Choice.Raw = json.RawMessage(`{"type":"odd"}`) }, "tool_choice", "odd"},
		"a part":                   {func(r *chat.Request) { r.Messages[1].Parts[0] = other }, "messages[1]", "document"},
		"a part of a result":       {func(r *chat.Request) { r.Messages[3].Parts[0].Result.Parts[0] = other }, "messages[3]", "document"},
		"a part of an answer":      {func(r *chat.Request) { r.Messages[2].Parts[0] = other }, "messages[2]", "document"},
		"a picture for the system": {func(r *chat.Request) { r.Messages[0].Parts[0].Kind = chat.PartImage }, "messages[0]", "image"},
	} {
		t.Run(name, func(t *testing.T) {
			r := foreign()
			c.change(r)
			var last error
			for _, err := range saying("").Chat(t.Context(), r) {
				last = err
			}
			failed := chat.AsError(last)
			if failed.Code != errcode.InvalidRequest || failed.Param != c.param || !strings.Contains(failed.Message, c.says) {
				t.Errorf("%+v", failed)
			}
		})
	}
}

func TestMaxTokens(t *testing.T) {
	const ours, compatible, azure = "https://api.openai.com/v1", "http://127.0.0.1:11434/v1", "https://x.openai.azure.com/openai?api-version=1"
	for _, c := range []struct{ base, body, want string }{
		{ours, minimal(`"max_tokens":5`), `"max_tokens":5`},
		{compatible, minimal(`"max_completion_tokens":5`), `"max_completion_tokens":5`},
		{compatible, minimal(`"max_completion_tokens":5,"max_tokens":6`), `"max_completion_tokens":5`},
		{ours, "", `"max_completion_tokens":10`},
		{azure, "", `"max_completion_tokens":10`},
		{compatible, "", `"max_tokens":10`},
	} {
		r := foreign()
		if c.body != "" {
			r = parse(t, c.body)
		}
		body := string(sentTo(t, c.base, r))
		if !strings.Contains(body, c.want) || strings.Count(body, "_tokens\"") != 1 {
			t.Errorf("%s %s: %s", c.base, c.body, body)
		}
	}
}

func TestDefaults(t *testing.T) {
	body := func(request string) string {
		var body []byte
		e := upstream.New(upstream.Options{Model: "m", BaseURL: "http://127.0.0.1", HTTP: capture(&body)})
		p := openai.NewProvider(openai.ProviderOptions{Endpoint: e, Model: "gpt-x", Defaults: map[string]json.RawMessage{
			"temperature": json.RawMessage("0.2"), "seed": json.RawMessage("7"), "max_tokens": json.RawMessage("99"),
			"model": json.RawMessage(`"other"`), "stream": json.RawMessage("false"), "parallel_tool_calls": json.RawMessage("true"),
		}})
		for _, err := range p.Chat(t.Context(), parse(t, request)) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return string(body)
	}
	const head, tail = `{"model":"gpt-x","stream":true,"stream_options":{"include_usage":true},`, `,"messages":[{"role":"user","content":"a"}]}`
	if got, want := body(minimal(`"user":"u"`)), head+`"max_tokens":99,"seed":7,"temperature":0.2,"user":"u"`+tail; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := body(minimal(`"temperature":1,"seed":8,"max_completion_tokens":3`)),
		head+`"max_completion_tokens":3,"seed":8,"temperature":1`+tail; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
