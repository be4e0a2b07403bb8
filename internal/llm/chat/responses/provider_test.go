package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// requests are requests of a provider, by the name of a golden file.
func requests(t *testing.T) map[string]*chat.Request {
	image := &chat.Image{MediaType: "image/png", Data: "AAAA"}
	return map[string]*chat.Request{
		"neutral": {
			Messages: []chat.Message{
				chat.Text(chat.RoleSystem, "Be brief. <&>"),
				{Role: chat.RoleUser, Parts: []chat.Part{
					{Kind: chat.PartText, Text: "look"},
					{Kind: chat.PartImage, Image: image},
					{Kind: chat.PartImage, Image: &chat.Image{URL: "https://example.com/a.png", Detail: "low"}},
				}},
				{Role: chat.RoleAssistant, Parts: []chat.Part{
					{Kind: chat.PartThinking, Text: "theirs", Form: chat.FormAnthropic, Raw: raw(`{"type":"thinking","signature":"s"}`)},
					{Kind: chat.PartThinking, Text: "ours", Form: chat.FormResponses, Raw: raw(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`)},
					{Kind: chat.PartText, Text: "I look."},
					{Kind: chat.PartCall, Call: &chat.Call{ID: "c1", Name: "distance", Namespace: "functions", Arguments: `{"km":1}`}},
					{Kind: chat.PartCall, Call: &chat.Call{ID: "c2", Name: "tide"}},
				}},
				{
					Role:  chat.RoleTool,
					Parts: []chat.Part{{Kind: chat.PartResult, Result: &chat.CallResult{ID: "c1", Parts: []chat.Part{{Kind: chat.PartText, Text: "12"}}}}},
				},
				{Role: chat.RoleUser, Parts: []chat.Part{
					{
						Kind:   chat.PartResult,
						Result: &chat.CallResult{ID: "c2", Error: true, Parts: []chat.Part{{Kind: chat.PartText, Text: "see"}, {Kind: chat.PartImage, Image: image}}},
					},
					{Kind: chat.PartText, Text: "and now?"},
				}},
			},
			Tools: []chat.Tool{
				{Name: "distance", Description: "great circle", Parameters: raw(`{"properties":{"km":{"type":"number"}},"type":"object"}`)},
				{Name: "tide", Strict: ptr(true), Deferred: true},
			},
			Choice: chat.Choice{Mode: chat.ChoiceTool, Name: "tide"},
			Settings: chat.Settings{
				MaxTokens: 100, Temperature: ptr(0.5), TopP: ptr(1.0), ParallelCalls: ptr(true), Effort: "low", User: "ann",
				Format: raw(`{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}}`),
			},
		},
		"chat_completions": {
			Form: chat.FormOpenAI,
			Messages: []chat.Message{{Role: chat.RoleUser, Form: chat.FormOpenAI, Raw: raw(`{"role":"user"}`), Parts: []chat.Part{
				{Kind: chat.PartText, Text: "read"},
				{Kind: chat.PartFile, File: &chat.File{Name: "a.pdf", MediaType: "application/pdf", Data: "AAAA"}},
			}}},
			Tools: []chat.Tool{{Name: "f", Parameters: raw(`{"type":"object"}`), Raw: raw(`{"type":"function","function":{"name":"f"}}`)}},
			Extra: map[string]json.RawMessage{"prompt_cache_key": raw(`"k"`), "seed": raw(`7`), "verbosity": raw(`"low"`)},
		},
		"passed_through": mustParse(t, `{"model":"m","input":[
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"<a>","annotations":[]}]},
			{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"spiced.e30"},
			{"type":"reasoning","id":"rs_2","summary":[]},
			{"type":"message","id":"msg_spiced_1_0","role":"assistant","status":"completed","content":[{"type":"output_text","text":"b","annotations":[]}]},
			{"type":"function_call","id":"fc_spiced_1_1","call_id":"c","name":"f","arguments":"{}"},
			{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"gAAA"},
			{"type":"custom_tool_call","id":"ct_1","call_id":"c","name":"free","input":"x"},
			{"type":"custom_tool_call_output","call_id":"c","output":"y"},
			{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}],
			"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true,"defer_loading":true},{"type":"namespace","name":"crm","description":"customers","tools":[{"type":"function","name":"g"}]},{"type":"tool_search"}],
			"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]},
			"include":["message.output_text.logprobs"],"reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"a","schema":{}}},
			"safety_identifier":"u","metadata":{"k":"v"},"store":true,"stream":false,"previous_response_id":"resp_1"}`).Request,
	}
}

func TestRequests(t *testing.T) {
	for name, r := range requests(t) {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "testdata/request/"+name+".json", sent(t, responses.ProviderOptions{}, r))
		})
	}
}

func TestNamespaces(t *testing.T) {
	r := &chat.Request{
		Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")},
		Tools: []chat.Tool{
			{Name: "distance", Namespace: "functions", Deferred: true},
			{Name: "list_datasets", Namespace: "builtin"},
			{Name: "loose", Deferred: true},
			{Name: "sql", Namespace: "builtin", Deferred: true},
			{Name: "tide", Description: "of a port", Namespace: "functions", Deferred: true, Parameters: raw(`{"type":"object"}`)},
		},
	}
	golden.Equal(t, "testdata/request/namespaces.json",
		sent(t, responses.ProviderOptions{Namespaces: true, Descriptions: map[string]string{"functions": "The functions of the Spicepod."}}, r))
}

func TestDefaults(t *testing.T) {
	o := responses.ProviderOptions{Defaults: map[string]json.RawMessage{
		"temperature": raw(`0.1`), "max_tokens": raw(`50`), "reasoning_effort": raw(`"high"`), "verbosity": raw(`"low"`),
		"response_format": raw(`{"type":"json_object"}`), "service_tier": raw(`"flex"`),
	}}
	r := &chat.Request{Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")}}
	golden.Equal(t, "testdata/request/defaults.json", sent(t, o, r))
	r.Settings = chat.Settings{Temperature: ptr(0.9), MaxTokens: 7, Effort: "low"}
	golden.Equal(t, "testdata/request/defaults_overruled.json", sent(t, o, r))
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	user := []chat.Message{chat.Text(chat.RoleUser, "hi")}
	for name, c := range map[string]struct {
		r     *chat.Request
		param string
	}{
		"stop sequences":     {&chat.Request{Messages: user, Settings: chat.Settings{Stop: []string{"."}}}, "stop"},
		"another's own tool": {&chat.Request{Form: chat.FormAnthropic, Messages: user, Tools: []chat.Tool{{Raw: raw(`{"type":"web_search_20250305"}`)}}}, "tools"},
		"another's choice": {
			&chat.Request{Form: chat.FormOpenAI, Messages: user, Tools: []chat.Tool{{Name: "f"}}, Choice: chat.Choice{Raw: raw(`{}`)}},
			"tool_choice",
		},
		"another's document": {&chat.Request{Messages: []chat.Message{{
			Role:  chat.RoleUser,
			Parts: []chat.Part{{Kind: chat.PartOther, Form: chat.FormAnthropic, Raw: raw(`{"type":"document"}`)}},
		}}}, "messages[0]"},
		"a document as result": {&chat.Request{Messages: []chat.Message{{
			Role: chat.RoleTool,
			Parts: []chat.Part{{Kind: chat.PartResult, Result: &chat.CallResult{
				ID:    "c",
				Parts: []chat.Part{{Kind: chat.PartOther, Form: chat.FormAnthropic, Raw: raw(`{"type":"document"}`)}},
			}}},
		}}}, "messages[0]"},
	} {
		_, err := chat.Collect(newFake(t, "").provider(responses.ProviderOptions{}).Chat(t.Context(), c.r))
		var fault *chat.Error
		if !errors.As(err, &fault) || fault.Code != errcode.InvalidRequest || fault.Param != c.param {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestModelsThatDoNotReason(t *testing.T) {
	r := &chat.Request{Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")}}
	if got := sent(t, responses.ProviderOptions{Model: "gpt-4.1-mini"}, r); bytes.Contains(got, []byte("include")) {
		t.Errorf("%s", got)
	}
}

func TestEqualRequestsHaveEqualBytes(t *testing.T) {
	f := newFake(t, sse(`{"type":"response.completed","response":{"status":"completed"}}`))
	o := responses.ProviderOptions{Namespaces: true, Defaults: map[string]json.RawMessage{
		"verbosity": raw(`"low"`), "top_p": raw(`1`),
		"response_format": raw(`{"type":"json_object"}`), "b": raw(`1`), "a": raw(`2`),
	}}
	all := requests(t)
	first := map[string][]byte{}
	for i := range 340 {
		p := f.provider(o)
		for name, r := range all {
			if _, err := chat.Collect(p.Chat(t.Context(), r)); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first[name] = f.body
			}
			if !bytes.Equal(first[name], f.body) {
				t.Fatalf("%s differs:\n%s\n%s", name, first[name], f.body)
			}
		}
	}
}

// TestAnswers decodes the streams in testdata/answer and compares the deltas.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/answer/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		t.Run(name, func(t *testing.T) {
			wire, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, deltas, err := received(t, string(wire))
			golden.Equal(t, "testdata/answer/"+name+".txt", []byte(describe(deltas, err)))
		})
	}
}

var kinds = map[chat.DeltaKind]string{
	chat.DeltaStart: "start", chat.DeltaText: "text", chat.DeltaThinking: "thinking", chat.DeltaRefusal: "refusal", chat.DeltaCall: "call",
	chat.DeltaArguments: "arguments", chat.DeltaCallEnd: "call end", chat.DeltaPart: "part", chat.DeltaUsage: "usage", chat.DeltaFinish: "finish",
}

// describe returns one line per delta.
func describe(deltas []chat.Delta, err error) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(kinds[d.Kind])
		var what any
		switch d.Kind {
		case chat.DeltaStart:
			b.WriteByte('\n')
			continue
		case chat.DeltaCall:
			what = d.Call
		case chat.DeltaPart:
			what = map[string]any{"kind": d.Part.Kind, "text": d.Part.Text, "raw": d.Part.Raw, "form": d.Part.Form}
		case chat.DeltaUsage:
			what = d.Usage
		case chat.DeltaFinish:
			what = d.Reason
		case chat.DeltaCallEnd:
			what = d.Index
		case chat.DeltaArguments:
			what = []any{d.Index, d.Text}
		default:
			what = d.Text
			if d.Raw != nil {
				what = []any{d.Text, d.Raw, d.Form}
			}
		}
		text, _ := json.Marshal(what)
		b.WriteString(" " + string(text) + "\n")
	}
	if err != nil {
		fault := chat.AsError(err)
		b.WriteString("error " + string(fault.Code) + ": " + fault.Message + "\n")
	}
	return b.String()
}

func TestAWholeResponseIsAnAnswer(t *testing.T) {
	f := newFake(t, `{"id":"resp_1","object":"response","status":"completed","error":null,"text":{"format":{"type":"text"}},"output":[
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}]},
		{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello","annotations":[]}]},
		{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":4}}`)
	f.contentType = "application/json"
	got, deltas, err := deltasOf(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if got.Reason != chat.ReasonCalls || got.Usage != (chat.Usage{Input: 3, Output: 4}) || got.Message().Text() != "Hello" || len(got.Message().Calls()) != 1 {
		t.Errorf("%s", describe(deltas, err))
	}
}

func TestFailuresInTheStream(t *testing.T) {
	for wire, want := range map[string]errcode.Code{
		sse(`{"type":"error","code":"rate_limit_exceeded","message":"slow"}`):                                             errcode.RateLimited,
		sse(`{"type":"error","error":{"code":null,"type":"invalid_request_error","message":"too long"}}`):                 errcode.InvalidRequest,
		sse(`{"type":"error","error":{"code":503,"message":"down"}}`):                                                     errcode.ProviderError,
		sse(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}`): errcode.ProviderError,
		sse(`{"type":"response.failed","response":{"error":{"code":"image_too_large","message":"oops"}}}`):                errcode.InvalidRequest,
		sse(`{"type":"response.failed","response":{"status":"failed"}}`):                                                  errcode.ProviderError,
		sse(`{"type":"response.completed"}`):                                                                              errcode.StreamBroken,
		sse(`{"type":"response.cancelled","response":{"status":"cancelled"}}`):                                            errcode.ProviderError,
		sse(`{"type":"response.output_text.delta","delta":3}`):                                                            errcode.StreamBroken,
		sse(`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","name":7}}`):             errcode.StreamBroken,
		"data: {\"error\":{\"message\":\"model overloaded\"}}\n\n":                                                        errcode.ProviderError,
		"data: nonsense\n\n": errcode.StreamBroken,
		"data: [DONE]\n\n":   errcode.StreamBroken,
		"":                   errcode.StreamBroken,
		sse(`{"type":"response.created","response":{"status":"in_progress"}}`): errcode.StreamBroken,
	} {
		_, deltas, err := received(t, wire)
		var fault *chat.Error
		if !errors.As(err, &fault) || fault.Code != want || !strings.Contains(fault.Message, `"assistant"`) || len(deltas) > 0 {
			t.Errorf("%s: %v, %v", wire, err, deltas)
		}
	}
}

func TestProvidersStatus(t *testing.T) {
	f := newFake(t, `{"error":{"message":"bad key","code":"invalid_api_key"}}`)
	f.status, f.contentType = http.StatusUnauthorized, "application/json"
	_, _, err := deltasOf(t, f)
	if fault := chat.AsError(err); fault.Code != errcode.ProviderRefused {
		t.Error(err)
	}
}

// TestCutAnywhere cuts a stream at every byte: the answer is whole, or there is an
// error, and an unfinished call is not complete.
func TestCutAnywhere(t *testing.T) {
	file, err := os.ReadFile("testdata/answer/tool_search.sse")
	if err != nil {
		t.Fatal(err)
	}
	wire := string(file)
	whole, _, err := received(t, wire)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t, "")
	last := strings.LastIndex(wire, "event: response.completed")
	for cut := range len(wire) {
		f.answer = wire[:cut]
		got, deltas, err := deltasOf(t, f)
		if err == nil {
			if diff := cmp.Diff(whole, got); diff != "" || cut < last {
				t.Fatalf("cut at %d of %d: no error, and %s", cut, len(wire), diff)
			}
			continue
		}
		if code := chat.AsError(err).Code; code != errcode.StreamBroken {
			t.Fatalf("cut at %d: %s: %v", cut, code, err)
		}
		for _, d := range deltas {
			if d.Kind == chat.DeltaCallEnd && !json.Valid([]byte(got.Message().Calls()[d.Index].Arguments)) {
				t.Fatalf("cut at %d: a call is said to be complete: %s", cut, describe(deltas, err))
			}
		}
	}
}

func TestStoppingEarly(t *testing.T) {
	p := newFake(t, stream(t, options(nil), answers["text"]...)).provider(responses.ProviderOptions{})
	if p.Form() != chat.FormResponses {
		t.Error(p.Form())
	}
	for range p.Chat(t.Context(), &chat.Request{}) {
		break
	}
}
