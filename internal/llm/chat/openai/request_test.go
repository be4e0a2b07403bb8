package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
)

func parse(t testing.TB, body string) *chat.Request {
	t.Helper()
	r, err := openai.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const everything = `{
	"model": "m", "stream": true, "stream_options": {"include_usage": true},
	"messages": [
		{"role": "system", "content": "be brief"},
		{"role": "developer", "content": [{"type": "text", "text": "very"}]},
		{"role": "user", "name": "ann", "content": [
			{"type": "text", "text": "look"},
			{"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
			{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
			{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
		{"role": "assistant", "content": "hm", "reasoning_content": "think", "tool_calls": [
			{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
			{"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "42"},
		{"role": "assistant", "content": [{"type": "text", "text": "so"}, {"type": "refusal", "refusal": "no"}]}
	],
	"tools": [
		{"type": "function", "function": {"name": "f", "description": "does", "parameters": {"type": "object"}, "strict": true}},
		{"type": "function", "function": {"name": "g"}},
		{"type": "web_search"}
	],
	"tool_choice": {"type": "function", "function": {"name": "f"}},
	"max_completion_tokens": 100, "temperature": 0.5, "top_p": 1, "stop": ["a", "b"],
	"response_format": {"type": "json_object"}, "reasoning_effort": "low", "parallel_tool_calls": false,
	"user": "u", "n": 1, "seed": 7, "logprobs": true, "metadata": {"k": "v"}, "logit_bias": null
}`

func TestEveryField(t *testing.T) {
	r := parse(t, everything)
	var messages strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&messages, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.PartImage:
				fmt.Fprintf(&messages, " image(%s%s%s%s)", p.Image.URL, p.Image.MediaType, p.Image.Data, p.Image.Detail)
			case chat.PartCall:
				fmt.Fprintf(&messages, " call(%s %s %s)", p.Call.ID, p.Call.Name, p.Call.Arguments)
			case chat.PartResult:
				fmt.Fprintf(&messages, " result(%s %s)", p.Result.ID, p.Result.Text())
			case chat.PartOther:
				fmt.Fprintf(&messages, " other(%.24s)", p.Raw)
			default:
				fmt.Fprintf(&messages, " %s(%s)", p.Kind, p.Text)
			}
		}
		messages.WriteByte('\n')
	}
	want := `system: text(be brief)
system: text(very)
user: text(look) image(https://example.com/a.pnglow) image(image/pngAAAA) other({"type": "input_audio", )
assistant: thinking(think) text(hm) call(c1 f {"a": 1}) other({"id": "c2", "type": "cu)
tool: result(c1 42)
assistant: text(so) refusal(no)
`
	if messages.String() != want {
		t.Errorf("got\n%swant\n%s", messages.String(), want)
	}
	if got := string(r.Messages[0].Raw); got != `{"role": "system", "content": "be brief"}` || r.Messages[0].Form != chat.FormOpenAI {
		t.Errorf("Raw %s", got)
	}
	s := r.Settings
	if s.MaxTokens != 100 || *s.Temperature != .5 || *s.TopP != 1 || fmt.Sprint(s.Stop) != "[a b]" || *s.ParallelCalls ||
		s.Effort != "low" || string(s.Format) != `{"type": "json_object"}` || s.User != "u" {
		t.Errorf("%+v", s)
	}
	if !r.Stream || !r.IncludeUsage || r.Choice.Mode != chat.ChoiceTool || r.Choice.Name != "f" || r.Form != chat.FormOpenAI {
		t.Errorf("%+v", r)
	}
	if len(r.Tools) != 3 || !*r.Tools[0].Strict || r.Tools[0].Hosted() || string(r.Tools[1].Parameters) == "" || !r.Tools[2].Hosted() {
		t.Errorf("%+v", r.Tools)
	}
	extra, _ := json.Marshal(r.Extra)
	if string(extra) != `{"logit_bias":null,"logprobs":true,"max_completion_tokens":100,"metadata":{"k":"v"},"seed":7,"user":"u"}` {
		t.Errorf("Extra %s", extra)
	}
}

// bad are invalid requests and the position of the error.
var bad = []struct{ body, param, says string }{
	{``, "", "not JSON"},
	{`{"model":"m",}`, "", "byte 14"},
	{`[]`, "", "JSON object"},
	{`null`, "", "JSON object"},
	{"{\"model\":\"\xff\"}", "", "UTF-8"},
	{`{"messages":[{"role":"user","content":"a"}]}`, "model", "missing"},
	{`{"model":7}`, "model", "a string, got 7"},
	{`{"model":"m"}`, "messages", "missing"},
	{`{"model":"m","messages":{}}`, "messages", "a list"},
	{`{"model":"m","messages":[]}`, "messages", "at least one"},
	{`{"model":"m","messages":["a"]}`, "messages[0]", "an object"},
	{`{"model":"m","messages":[null]}`, "messages[0]", "an object"},
	{`{"model":"m","messages":[{"content":"a"}]}`, "messages[0].role", "missing"},
	{`{"model":"m","messages":[{"role":"robot","content":"a"}]}`, "messages[0].role", `must be system, developer, user, assistant or tool, got "robot"`},
	{`{"model":"m","messages":[{"role":"function","name":"f","content":"a"}]}`, "messages[0]", "tool_call_id"},
	{`{"model":"m","messages":[{"role":"user"}]}`, "messages[0].content", "missing"},
	{`{"model":"m","messages":[{"role":"user","content":7}]}`, "messages[0].content", "got 7"},
	{`{"model":"m","messages":[{"role":"user","content":[{"text":"a"}]}]}`, "messages[0].content[0].type", "missing"},
	{`{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}`, "messages[0].content[0].text", "missing"},
	{`{"model":"m","messages":[{"role":"user","content":["a"]}]}`, "messages[0].content[0]", "an object"},
	{`{"model":"m","messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"http://a"}}]}]}`, "messages[0].content[0].type", "image_url"},
	{`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":"http://a"}]}]}`, "messages[0].content[0].image_url", "url"},
	{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`,
		"messages[0].content[0].image_url.url", "https:",
	},
	{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,a"}}]}]}`,
		"messages[0].content[0].image_url.url", "base64",
	},
	{`{"model":"m","messages":[{"role":"assistant"}]}`, "messages[0].content", "tool_calls"},
	{`{"model":"m","messages":[{"role":"assistant","function_call":{"name":"f"}}]}`, "messages[0].function_call", "tool_calls"},
	{`{"model":"m","messages":[{"role":"assistant","tool_calls":{}}]}`, "messages[0].tool_calls", "a list"},
	{`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c"}]}]}`, "messages[0].tool_calls[0].type", "missing"},
	{`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f"}}]}]}`, "messages[0].tool_calls[0].id", "missing"},
	{`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"type":"function","id":"c"}]}]}`, "messages[0].tool_calls[0].function.name", "missing"},
	{
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"type":"function","id":"c","function":{"name":"f","arguments":{}}}]}]}`,
		"messages[0].tool_calls[0].function.arguments", "a string",
	},
	{`{"model":"m","messages":[{"role":"tool","content":"a"}]}`, "messages[0].tool_call_id", "missing"},
	{minimal(`"tools":{}`), "tools", "a list"},
	{minimal(`"tools":[{"type":"function"}]`), "tools[0].function.name", "1 to 128"},
	{minimal(`"tools":[{"type":"function","function":{"name":7}}]`), "tools[0].function.name", "a string"},
	{minimal(`"tools":[{"type":"function","function":{"name":"f","parameters":"{}"}}]`), "tools[0].function.parameters", "JSON Schema"},
	{minimal(`"tool_choice":"maybe"`), "tool_choice", `"maybe"`},
	{minimal(`"tool_choice":{"type":"function","function":{"name":"f","extra":1}}`), "tool_choice.function.extra", "the fields there are name"},
	{minimal(`"tool_choice":{"type":"function","function":{"name":"f"},"extra":1}`), "tool_choice.extra", "the fields there are type, function"},
	{minimal(`"stream_options":{"extra":1}`), "stream_options.extra", "the fields there are include_usage"},
	{minimal(`"tool_choice":{"type":"function"}`), "tool_choice.function.name", "missing"},
	{minimal(`"functions":[{"name":"f"}]`), "functions", "use tools"},
	{minimal(`"function_call":"auto"`), "function_call", "use tool_choice"},
	{minimal(`"max_tokens":1.5`), "max_tokens", "an integer"},
	{minimal(`"max_tokens":0`), "max_tokens", "at least 1"},
	{minimal(`"temperature":"hot"`), "temperature", "a number"},
	{minimal(`"stop":7`), "stop", "list of strings"},
	{minimal(`"response_format":{}`), "response_format.type", "missing"},
	{minimal(`"stream":"yes"`), "stream", "true or false"},
	{minimal(`"stream_options":{"include_usage":1}`), "stream_options.include_usage", "true or false"},
	{minimal(`"n":2`), "n", "only 1"},
	{minimal(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"none"}}`), "tool_choice.allowed_tools.mode", "auto or required"},
	{
		minimal(`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"mcp"}]}}`), "tool_choice.allowed_tools.tools[0].type",
		"function",
	},
}

func minimal(more string) string {
	return `{"model":"m","messages":[{"role":"user","content":"a"}],` + more + `}`
}

func TestBadRequests(t *testing.T) {
	for _, c := range bad {
		_, err := openai.ParseRequest([]byte(c.body))
		var failed *chat.Error
		if !errors.As(err, &failed) || failed.Code != errcode.InvalidRequest || failed.Param != c.param || !strings.Contains(failed.Message, c.says) {
			t.Errorf("%s: %+v, want %s: %s", c.body, failed, c.param, c.says)
		}
	}
}

func TestLimits(t *testing.T) {
	many := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	for name, body := range map[string]string{
		"messages": `{"model":"m","messages":[` + many(`{"role":"user","content":"a"}`, chat.MaxMessages+1) + `]}`,
		"tools":    minimal(`"tools":[` + many(`{"type":"x"}`, chat.MaxTools+1) + `]`),
		"stop":     minimal(`"stop":[` + many(`"a"`, openai.MaxStop+1) + `]`),
	} {
		if _, err := openai.ParseRequest([]byte(body)); err == nil || chat.AsError(err).Param != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := openai.ParseRequest(make([]byte, chat.MaxRequestBytes+1))
	if err == nil || chat.AsError(err).Code != errcode.RequestTooLarge {
		t.Errorf("%v", err)
	}
}

// An accepted request can be sent, and decodes to the same request.
func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(everything))
	for _, c := range bad {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := openai.ParseRequest(body)
		if err != nil {
			var failed *chat.Error
			if !errors.As(err, &failed) || failed.Message == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		again := parse(t, string(sent(t, r)))
		if len(again.Messages) != len(r.Messages) || len(again.Tools) != len(r.Tools) {
			t.Fatalf("%d messages, %d tools; again %d, %d", len(r.Messages), len(r.Tools), len(again.Messages), len(again.Tools))
		}
		for i := range r.Messages {
			if string(again.Messages[i].Raw) != string(r.Messages[i].Raw) {
				t.Fatalf("message %d: %s", i, again.Messages[i].Raw)
			}
		}
	})
}
