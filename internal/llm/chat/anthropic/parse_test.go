package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// everything is a request with all features of the API. Its white space and the order
// of the fields are unusual on purpose.
const everything = `{
  "max_tokens": 1024, "model": "assistant", "stream": true, "top_k": 5,
  "system": [{"text":"Be brief.","type":"text","cache_control":{"type":"ephemeral"}}],
  "messages": [
    {"role":"user","content":"Who <am> I?"},
    {"content":[
      {"type":"thinking","thinking":"Look.","signature":"s1"},
      {"type":"redacted_thinking","data":"Emw"},
      {"type":"text", "text":"One moment."},
      {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"me"}},
      {"type":"tool_use","id":"toolu_1","name":"sql","input":{"query": "SELECT  1"},"cache_control":{"type":"ephemeral"}}
    ],"role":"assistant"},
    {"role":"user","content":[
      {"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"tool_reference","tool_name":"sql"}]},
      {"type":"tool_result","tool_use_id":"toolu_2","content":"plain"},
      {"type":"tool_result","tool_use_id":"toolu_3"},
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},
      {"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},
      {"type":"image","source":{"type":"file","file_id":"file_1"}},
      {"type":"document","title":"D","source":{"type":"text","media_type":"text/plain","data":"long"}},
      {"type":"text","text":"Again."}
    ]},
    {"role":"system","content":"Now be kind."}
  ],
  "tools": [
    {"input_schema":{"type":"object","properties":{"query":{"type":"string"}}},"name":"sql","description":"Runs SQL","strict":true},
    {"type":"custom","name":"later","input_schema":{"type":"object"},"defer_loading":true},
    {"type":"web_search_20250305","name":"web_search","max_uses":5}
  ],
  "tool_choice": {"type":"auto","disable_parallel_tool_use":true},
  "temperature": 0.5, "top_p": 0.9, "stop_sequences": ["###"],
  "metadata": {"user_id":"u1"},
  "thinking": {"type":"enabled","budget_tokens":1024},
  "output_config": {"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}
}`

func TestParseRequest(t *testing.T) {
	r, err := anthropic.ParseRequest([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/parsed.json", indent(t, raw))
}

func TestParseRequestKeepsMessages(t *testing.T) {
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(everything), &body); err != nil {
		t.Fatal(err)
	}
	r, err := anthropic.ParseRequest([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range body.Messages {
		if m := r.Messages[i+1]; string(m.Raw) != string(want) || m.Form != chat.FormAnthropic {
			t.Errorf("message %d: %s", i, m.Raw)
		}
	}
}

func TestParseChoice(t *testing.T) {
	no := false
	for raw, want := range map[string]struct {
		choice   chat.Choice
		parallel *bool
	}{
		`null`:            {},
		`{"type":"any"}`:  {chat.Choice{Mode: chat.ChoiceRequired}, nil},
		`{"type":"none"}`: {chat.Choice{Mode: chat.ChoiceNone}, nil},
		`{"type":"tool","name":"sql","disable_parallel_tool_use":true}`: {chat.Choice{Mode: chat.ChoiceTool, Name: "sql"}, &no},
	} {
		r, err := anthropic.ParseRequest([]byte(with("tool_choice", raw)))
		if err != nil || r.Choice.Mode != want.choice.Mode || r.Choice.Name != want.choice.Name || !cmp.Equal(r.Settings.ParallelCalls, want.parallel) {
			t.Errorf("%s: %+v %v", raw, r, err)
		}
	}
}

// with returns a small request with an additional field.
func with(field, raw string) string {
	fields := map[string]json.RawMessage{
		"model": json.RawMessage(`"assistant"`), "max_tokens": json.RawMessage(`10`),
		"messages": json.RawMessage(`[{"role":"user","content":"hi"}]`),
	}
	fields[field] = json.RawMessage(raw)
	if raw == "" {
		delete(fields, field)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return fmt.Sprintf("with %s: %v", field, err)
	}
	return string(body)
}

func user(block string) string {
	return with("messages", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[`+block+`]}]`)
}

func TestBadRequests(t *testing.T) {
	const at = "messages.2.content.0"
	cases := []struct{ body, param, want string }{
		{``, "", "the body is not JSON"},
		{`{"model": }`, "", "at byte 11"},
		{`[]`, "", "must be a JSON object"},
		{`null`, "", "must be a JSON object"},
		{with("model", ""), "model", "is missing"},
		{with("model", "1"), "model", "must be a string"},
		{with("model", `""`), "model", "must not be empty"},
		{with("stream", `"yes"`), "stream", "must be true or false"},
		{with("max_tokens", ""), "max_tokens", "is missing"},
		{with("max_tokens", "1.5"), "max_tokens", "must be an integer"},
		{with("max_tokens", "-1"), "max_tokens", "must not be negative"},
		{with("temperature", `"hot"`), "temperature", "must be a number"},
		{with("top_p", `[]`), "top_p", "must be a number"},
		{with("stop_sequences", `"x"`), "stop_sequences", "must be a list of strings"},
		{with("metadata", `{"user_id":1}`), "metadata.user_id", "must be a string"},
		{with("output_config", `{"effort":1}`), "output_config", "must be an object"},
		{with("output_config", `{"format":{"type":"json_schema","schema":1}}`), "output_config.format.schema", "must be an object"},
		{with("system", `1`), "system", "must be a string or a list of parts"},
		{with("system", `[{"type":"text"}]`), "system.0.text", "is missing"},
		{with("messages", ""), "messages", "is missing"},
		{with("messages", "{}"), "messages", "must be a list"},
		{with("messages", "[]"), "messages", "at least one message"},
		{with("messages", "["+strings.Repeat(`{"role":"user","content":"x"},`, chat.MaxMessages)+`{}]`), "messages", "10001 messages; at most 10000"},
		{with("messages", "[1]"), "messages.0", "must be an object"},
		{with("messages", `[{"content":"x"}]`), "messages.0.role", "is missing"},
		{with("messages", `[{"role":"tool","content":"x"}]`), "messages.0.role", `must be "user" or "assistant", got "tool"`},
		{with("messages", `[{"role":"user"}]`), "messages.0.content", "is missing"},
		{with("messages", `[{"role":"user","content":null}]`), "messages.0.content", "is missing"},
		{user(strings.Repeat(`{"type":"text","text":"x"},`, chat.MaxParts) + `{}`), "messages.2.content", "10001 parts"},
		{user(`"x"`), at, "must be an object"},
		{user(`{}`), at + ".type", "is missing"},
		{user(`{"type":1}`), at + ".type", "must be a string"},
		{user(`{"type":"text"}`), at + ".text", "is missing"},
		{user(`{"type":"thinking","thinking":1}`), at + ".thinking", "must be a string"},
		{user(`{"type":"image"}`), at + ".source", "is missing"},
		{user(`{"type":"image","source":1}`), at + ".source", "must be an object"},
		{user(`{"type":"image","source":{}}`), at + ".source.type", "is missing"},
		{user(`{"type":"image","source":{"type":"base64"}}`), at + ".source.media_type", "is missing"},
		{user(`{"type":"image","source":{"type":"base64","media_type":"image/png"}}`), at + ".source.data", "is missing"},
		{user(`{"type":"image","source":{"type":"url","url":""}}`), at + ".source.url", "must not be empty"},
		{user(`{"type":"tool_use"}`), at + ".type", "in assistant messages only"},
		{user(`{"type":"tool_result"}`), at + ".tool_use_id", "is missing"},
		{user(`{"type":"tool_result","tool_use_id":"t","is_error":1}`), at + ".is_error", "must be true or false"},
		{user(`{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_result"}]}`), at + ".content.0.type", "in user messages only"},
		{with("messages", `[{"role":"assistant","content":[{"type":"tool_use","name":"x"}]}]`), "messages.0.content.0.id", "is missing"},
		{with("messages", `[{"role":"assistant","content":[{"type":"tool_use","id":"x"}]}]`), "messages.0.content.0.name", "is missing"},
		{
			with("messages", `[{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"y","input":"{}"}]}]`), "messages.0.content.0.input",
			"must be an object",
		},
		{with("tools", `{}`), "tools", "must be a list"},
		{with("tools", "["+strings.Repeat(`{"type":"x"},`, chat.MaxTools)+`{}]`), "tools", "4097 tools"},
		{with("tools", `[1]`), "tools.0", "must be an object"},
		{with("tools", `[{"type":1}]`), "tools.0.type", "must be a string"},
		{with("tools", `[{}]`), "tools.0.name", "is missing"},
		{with("tools", `[{"name":"a","description":1}]`), "tools.0.description", "must be a string"},
		{with("tools", `[{"name":"a","strict":1}]`), "tools.0.strict", "true or false"},
		{with("tools", `[{"name":"a","defer_loading":1}]`), "tools.0.defer_loading", "true or false"},
		{with("tools", `[{"name":"a"}]`), "tools.0.input_schema", "is required"},
		{with("tools", `[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}]`), "tools.1.name", `"a" is already the name of tools.0`},
		{with("tool_choice", `"auto"`), "tool_choice", "must be an object"},
		{with("tool_choice", `{}`), "tool_choice.type", "is missing"},
		{with("tool_choice", `{"type":"some"}`), "tool_choice.type", `"auto", "any", "tool" or "none", got "some"`},
		{with("tool_choice", `{"type":"auto","extra":1}`), "tool_choice.extra", "the fields there are type, name"},
		{with("tool_choice", `{"type":"tool"}`), "tool_choice.name", "is missing"},
		{with("tool_choice", `{"type":"any","disable_parallel_tool_use":1}`), "tool_choice.disable_parallel_tool_use", "true or false"},
	}
	for _, c := range cases {
		_, err := anthropic.ParseRequest([]byte(c.body))
		var failed *chat.Error
		if !errors.As(err, &failed) || failed.Code != errcode.InvalidRequest || failed.Param != c.param || !strings.Contains(failed.Message, c.want) ||
			!strings.HasPrefix(failed.Message, c.param) {
			t.Errorf("%.80s: %+v; want %s: %s", c.body, err, c.param, c.want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	_, err := anthropic.ParseRequest(make([]byte, chat.MaxRequestBytes+1))
	if failed := chat.AsError(err); failed.Code != errcode.RequestTooLarge {
		t.Errorf("%+v", failed)
	}
}

// A request without an answer, which fills the provider's cache, remains one.
func TestNoTokens(t *testing.T) {
	r, err := anthropic.ParseRequest([]byte(with("max_tokens", "0")))
	if err != nil {
		t.Fatal(err)
	}
	if body := sent(t, anthropic.ProviderOptions{MaxTokens: 99}, r); !strings.Contains(string(body), `"max_tokens":0,`) {
		t.Errorf("%s", body)
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(with("system", `"x"`)))
	f.Add([]byte(with("max_tokens", "0")))
	f.Add([]byte(user(`{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"x"}]}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := anthropic.ParseRequest(body)
		if err != nil {
			if failed := chat.AsError(err); failed.Code != errcode.InvalidRequest || !json.Valid(anthropic.EncodeError(failed)) {
				t.Fatalf("%+v", err)
			}
			return
		}
		for _, cache := range []bool{false, true} {
			p := &provider{answer: []byte(hello)}
			_, err := chat.Collect(p.open(anthropic.ProviderOptions{Cache: cache}).Chat(t.Context(), r))
			if err != nil {
				if chat.AsError(err).Code != errcode.InvalidRequest {
					t.Fatal(err)
				}
				return
			}
			if !json.Valid(p.body) {
				t.Fatalf("not JSON: %s", p.body)
			}
			if again, err := anthropic.ParseRequest(p.body); err != nil || len(again.Tools) != len(r.Tools) {
				t.Fatalf("%v in %s", err, p.body)
			}
		}
	})
}
