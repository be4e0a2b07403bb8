package responses_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func ptr[T any](v T) *T { return &v }

func TestTextIsTheUsersMessage(t *testing.T) {
	r := mustParse(t, `{"model":"assistant","input":"hello","instructions":"Be brief.","previous_response_id":"resp_1","store":false,"stream":true}`)
	want := []chat.Message{chat.Text(chat.RoleSystem, "Be brief."), chat.Text(chat.RoleUser, "hello")}
	if diff := cmp.Diff(want, r.Messages); diff != "" {
		t.Error(diff)
	}
	if r.Model != "assistant" || r.PreviousID != "resp_1" || r.Store || !r.Stream || r.Form != chat.FormResponses {
		t.Errorf("%+v", r)
	}
	if !mustParse(t, `{"model":"m","input":"x"}`).Store {
		t.Error("answers are stored unless the client says otherwise")
	}
}

func TestItemsBecomeMessages(t *testing.T) {
	const (
		developer = `{"role":"developer","content":"Use tools."}`
		user      = `{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"low"},{"type":"input_image","image_url":"https://example.com/a.png"},{"type":"input_file","file_id":"file_1"},{"type":"input_image","file_id":"file_2"}]}`
		reasoning = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"first"},{"type":"summary_text","text":"second"}],"encrypted_content":"x"}`
		answer    = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look","annotations":[]},{"type":"refusal","refusal":"no"}]}`
		search    = `{"type":"web_search_call","id":"ws_1","status":"completed"}`
		call      = `{"type":"function_call","call_id":"c1","name":"distance","namespace":"functions","arguments":"{\"x\":1}"}`
		result    = `{"type":"function_call_output","call_id":"c1","output":"12"}`
		pictures  = `{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://example.com/b.png"}]}`
		custom    = `{"type":"custom_tool_call_output","call_id":"c3","output":"ok"}`
	)
	r := mustParse(t, `{"model":"m","input":[`+strings.Join([]string{developer, user, reasoning, answer, search, call, result, pictures, custom}, ",")+`]}`)
	other := func(text string) chat.Part {
		return chat.Part{Kind: chat.PartOther, Raw: raw(text), Form: chat.FormResponses}
	}
	message := func(role chat.Role, raws []string, parts ...chat.Part) chat.Message {
		return chat.Message{Role: role, Parts: parts, Raw: raw("[" + strings.Join(raws, ",") + "]"), Form: chat.FormResponses}
	}
	want := []chat.Message{
		message(chat.RoleSystem, []string{developer}, chat.Part{Kind: chat.PartText, Text: "Use tools."}),
		message(
			chat.RoleUser, []string{user},
			chat.Part{Kind: chat.PartText, Text: "look"},
			chat.Part{Kind: chat.PartImage, Image: &chat.Image{MediaType: "image/png", Data: "AAAA", Detail: "low"}},
			chat.Part{Kind: chat.PartImage, Image: &chat.Image{URL: "https://example.com/a.png"}},
			chat.Part{
				Kind: chat.PartFile, File: &chat.File{ID: "file_1", Form: chat.FormResponses, Path: "input[1].content[3]"},
				Raw: json.RawMessage(`{"type":"input_file","file_id":"file_1"}`), Form: chat.FormResponses,
			},
			other(`{"type":"input_image","file_id":"file_2"}`),
		),
		message(
			chat.RoleAssistant, []string{reasoning, answer, search, call},
			chat.Part{Kind: chat.PartThinking, Text: "first\n\nsecond", Raw: raw(reasoning), Form: chat.FormResponses},
			chat.Part{Kind: chat.PartText, Text: "I look"},
			chat.Part{Kind: chat.PartRefusal, Text: "no"},
			other(search),
			chat.Part{Kind: chat.PartCall, Call: &chat.Call{ID: "c1", Name: "distance", Namespace: "functions", Arguments: `{"x":1}`}},
		),
		message(chat.RoleTool, []string{result},
			chat.Part{Kind: chat.PartResult, Result: &chat.CallResult{ID: "c1", Parts: []chat.Part{{Kind: chat.PartText, Text: "12"}}}}),
		message(chat.RoleTool, []string{pictures}, chat.Part{Kind: chat.PartResult, Result: &chat.CallResult{ID: "c2", Parts: []chat.Part{
			{Kind: chat.PartText, Text: "see"}, {Kind: chat.PartImage, Image: &chat.Image{URL: "https://example.com/b.png"}},
		}}}),
		message(chat.RoleTool, []string{custom}, other(custom)),
	}
	if diff := cmp.Diff(want, r.Messages); diff != "" {
		t.Error(diff)
	}
}

func TestToolsAndChoice(t *testing.T) {
	const (
		plain  = `{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true}`
		inner  = `{"type":"function","name":"g","defer_loading":true}`
		space  = `{"type":"namespace","name":"crm","description":"customers","tools":[` + inner + `,{"type":"custom","name":"free"}]}`
		hosted = `{"type":"web_search"}`

		allowed = `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`
		foreign = `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"web_search"}]}`
	)
	r := mustParse(t, `{"model":"m","input":"x","tools":[`+plain+`,`+space+`,`+hosted+`],"tool_choice":{"type":"function","name":"f"}}`)
	want := []chat.Tool{
		{Name: "f", Description: "d", Parameters: raw(`{"type":"object"}`), Strict: ptr(true), Raw: raw(plain)},
		{Raw: raw(space)},
		{Name: "g", Namespace: "crm", Deferred: true, Raw: raw(inner)},
		{Raw: raw(hosted)},
	}
	if diff := cmp.Diff(want, r.Tools); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]chat.Choice{
		`"auto"`:                         {Mode: chat.ChoiceAuto},
		`"none"`:                         {Mode: chat.ChoiceNone},
		`"required"`:                     {Mode: chat.ChoiceRequired},
		`null`:                           {},
		`{"type":"function","name":"f"}`: {Mode: chat.ChoiceTool, Name: "f"},
		`{"type":"web_search"}`:          {Raw: raw(`{"type":"web_search"}`)},
		allowed:                          {Mode: chat.ChoiceAuto, Allowed: []string{"f"}, Raw: raw(allowed)},
		foreign:                          {Mode: chat.ChoiceAuto, Raw: raw(foreign)},
	} {
		got := mustParse(t, `{"model":"m","input":"x","tool_choice":`+text+`}`).Choice
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestSettingsAndExtra(t *testing.T) {
	r := mustParse(t, `{"model":"m","input":"x","max_output_tokens":64,"temperature":0,"top_p":0.5,"parallel_tool_calls":false,
		"reasoning":{"effort":"low","summary":"auto"},"safety_identifier":"u1","metadata":{"k":"v"},"max_tool_calls":3,
		"text":{"verbosity":"low","format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true}}}`)
	want := chat.Settings{
		MaxTokens: 64, Temperature: ptr(0.0), TopP: ptr(0.5), ParallelCalls: ptr(false), Effort: "low", User: "u1",
		Format: raw(`{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}}`),
	}
	if diff := cmp.Diff(want, r.Settings); diff != "" {
		t.Error(diff)
	}
	extra := map[string]json.RawMessage{
		"reasoning": raw(`{"summary":"auto"}`), "text": raw(`{"verbosity":"low"}`), "safety_identifier": raw(`"u1"`),
		"metadata": raw(`{"k":"v"}`), "max_tool_calls": raw(`3`),
	}
	if diff := cmp.Diff(extra, r.Extra); diff != "" {
		t.Error(diff)
	}
	if got := mustParse(t, `{"model":"m","input":"x","text":{"format":{"type":"json_object"}}}`); string(got.Settings.Format) != `{"type":"json_object"}` ||
		len(got.Extra) != 0 {
		t.Errorf("%s, %v", got.Settings.Format, got.Extra)
	}
}

func TestFaultsNameTheField(t *testing.T) {
	for _, c := range []struct{ body, param, message string }{
		{`[]`, "", "the body must be a JSON object"},
		{`{`, "", "the body is not JSON"},
		{`{"input":"x"}`, "model", "model is missing"},
		{`{"model":"m"}`, "input", "input is missing"},
		{`{"model":"m","input":3}`, "input", "input must be a list"},
		{`{"model":"m","input":[]}`, "input", "input is empty: at least one item is required"},
		{`{"model":"m","input":["x"]}`, "input[0]", "input[0] must be an object"},
		{`{"model":"m","input":[{}]}`, "input[0].type", "input[0].type is missing"},
		{`{"model":"m","input":[{"role":"user"}]}`, "input[0].content", "input[0].content is missing"},
		{`{"model":"m","input":[{"role":"robot","content":"x"}]}`, "input[0].role", `input[0].role is "robot"`},
		{`{"model":"m","input":[{"role":"user","content":[{"text":"x"}]}]}`, "input[0].content[0].type", "type is missing"},
		{`{"model":"m","input":[{"role":"user","content":[{"type":"input_text"}]}]}`, "input[0].content[0].text", "text is missing"},
		{
			`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"file:///etc/passwd"}]}]}`, "input[0].content[0].image_url",
			"http or https URL",
		},
		{`{"model":"m","input":[{"type":"function_call","name":"f"}]}`, "input[0].call_id", "call_id is missing"},
		{`{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}`, "input[0].output", "output is missing"},
		{`{"model":"m","input":[{"type":"reasoning","summary":"s"}]}`, "input[0].summary", "must be an array"},
		{`{"model":"m","input":"x","background":true}`, "background", "read the answer from the stream"},
		{`{"model":"m","input":"x","conversation":"conv_1"}`, "conversation", "previous_response_id"},
		{`{"model":"m","input":"x","stream":"yes"}`, "stream", "stream must be true or false"},
		{`{"model":"m","input":"x","max_output_tokens":0}`, "max_output_tokens", "at least 1"},
		{`{"model":"m","input":"x","reasoning":{"effort":1}}`, "reasoning.effort", "must be a string"},
		{`{"model":"m","input":"x","text":{"format":{"type":"json_schema","schema":{}}}}`, "text.format.name", "name is missing"},
		{`{"model":"m","input":"x","tools":[{"name":"f"}]}`, "tools[0].type", "type is missing"},
		{`{"model":"m","input":"x","tools":[{"type":"function"}]}`, "tools[0].name", "name is missing"},
		{`{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":[]}]}`, "tools[0].parameters", "must be an object"},
		{`{"model":"m","input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}]}`, "tools[0].tools[0].name", "name is missing"},
		{`{"model":"m","input":"x","tool_choice":"always"}`, "tool_choice", `"auto", "none", "required"`},
		{`{"model":"m","input":"x","tool_choice":{"type":"function"}}`, "tool_choice.name", "name is missing"},
	} {
		_, err := responses.ParseRequest([]byte(c.body))
		var fault *chat.Error
		if !errors.As(err, &fault) || fault.Code != errcode.InvalidRequest || fault.Param != c.param || !strings.Contains(fault.Message, c.message) {
			t.Errorf("%s: %#v", c.body, err)
		}
	}
}

func TestTooMuch(t *testing.T) {
	items := strings.Repeat(`{"role":"user","content":"x"},`, chat.MaxMessages+1)
	_, err := responses.ParseRequest([]byte(`{"model":"m","input":[` + strings.TrimSuffix(items, ",") + `]}`))
	if err == nil || !strings.Contains(err.Error(), "input has 10001 items; at most 10000") {
		t.Error(err)
	}
	_, err = responses.ParseRequest(make([]byte, chat.MaxRequestBytes+1))
	if fault := chat.AsError(err); fault.Code != errcode.RequestTooLarge {
		t.Error(err)
	}
}
