package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// seen is an error as a client sees it.
type seen struct {
	status     int
	kind       string // of the error, in the protocol's words
	raw        string
	retryAfter string
}

// wantError checks that a client turned an answer into an error of the client's type
// with that status.
func wantError(t *testing.T, err error, status int) seen {
	t.Helper()
	var o *openai.Error
	var a *anthropic.Error
	var e seen
	switch {
	case errors.As(err, &o):
		e = seen{o.StatusCode, o.Type, o.RawJSON(), o.Response.Header.Get("Retry-After")}
	case errors.As(err, &a):
		e = seen{a.StatusCode, string(a.Type()), a.RawJSON(), a.Response.Header.Get("Retry-After")}
	default:
		t.Fatalf("no error of the client: %v", err)
	}
	if e.status != status || e.kind == "" {
		t.Errorf("status %d of kind %q, want %d: %s", e.status, e.kind, status, e.raw)
	}
	if strings.Contains(e.raw, modelKey) || strings.Contains(e.raw, "6789") {
		t.Errorf("the error shows the key: %s", e.raw)
	}
	return e
}

// TestChatErrors: what fails before the first word has a status in every form.
func TestChatErrors(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	cases := map[string]struct {
		answer     chattest.Answer
		status     int
		retryAfter string
	}{
		"the key":      {chattest.Unauthorized(), 502, ""},
		"the rate":     {chattest.RateLimited(7 * time.Second), 429, "7"},
		"a fault":      {chattest.ServerError(), 502, ""},
		"overloaded":   {chattest.Overloaded(), 502, ""},
		"no JSON":      {chattest.Answer{Body: []byte("<html>Welcome")}, 502, ""},
		"no answer":    {chattest.Answer{Cut: -1}, 502, ""},
		"another form": {chattest.Answer{Body: []byte(`{"detail":"no such page"}`)}, 502, ""},
	}
	for name, k := range cases {
		c.model.Script(chattest.Always(k.answer))
		everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
			_, err := ask(question{text: distance})
			if e := wantError(t, err, k.status); e.retryAfter != k.retryAfter {
				t.Errorf("%s: Retry-After %q, want %q", name, e.retryAfter, k.retryAfter)
			}
		})
	}
	if got := c.metric("spiced_http_panics_total"); got != "0" {
		t.Errorf("%s panics", got)
	}
}

// TestChatHangs: a provider that says nothing any more does not hang the
// client, before its answer or in the midst of it.
func TestChatHangs(t *testing.T) {
	t.Parallel()
	pod := directPod
	pod.patience = "200ms"
	c := startChat(t, pod)
	everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, stream bool) {
		c.model.Script(chattest.Always(chattest.Answer{Hang: true}))
		_, err := ask(question{text: distance})
		wantError(t, err, 504)
		c.model.Script(chattest.Always(chattest.Answer{Steps: []chattest.Step{chattest.Text("It is "), chattest.Text("about ")}, Hang: true}))
		got, err := ask(question{text: distance})
		if err == nil || stream && got.text != "It is about " {
			t.Errorf("half an answer: %+v, %v", got, err)
		}
	})
}

// TestChatUnknownModel names the nearest.
func TestChatUnknownModel(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
		_, err := ask(question{model: "helpr", text: distance})
		if e := wantError(t, err, 404); !strings.Contains(e.raw, "helper") {
			t.Errorf("got %s", e.raw)
		}
	})
	if n := len(c.model.Requests()); n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
}

// TestChatMalformedRequests get a 400 in the form of the protocol.
func TestChatMalformedRequests(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	openAIError, anthropicError := `"error":{`, `"type":"error"`
	for path, k := range map[string]struct {
		shape  string
		bodies []string
	}{
		"/v1/chat/completions": {openAIError, []string{
			``, `{`, `[]`, `{}`, `{"model":"helper"}`, `{"model":"helper","messages":[]}`, `{"model":"helper","messages":"hello"}`,
			`{"model":"helper","messages":[{"role":"stranger","content":"x"}]}`, `{"model":"helper","messages":[{"role":"user","content":7}]}`,
			`{"model":"helper","messages":[{"role":"tool","content":"x"}]}`, `{"messages":[{"role":"user","content":"x"}]}`,
		}},
		"/v1/responses": {openAIError, []string{
			``, `{`, `{}`, `{"model":"responder"}`, `{"model":"responder","input":7}`, `{"model":"responder","input":"x","previous_response_id":"resp_nosuch"}`,
		}},
		"/v1/messages": {anthropicError, []string{
			``, `{`, `{}`, `{"model":"claude","max_tokens":9}`, `{"model":"claude","max_tokens":9,"messages":[]}`,
			`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":7}]}`,
		}},
	} {
		for _, body := range k.bodies {
			r := c.do("POST", path, body, "Content-Type", "application/json")
			if (r.status != 400 && r.status != 404) || !strings.Contains(r.body, k.shape) {
				t.Errorf("%s %s: %d %s", path, body, r.status, r.body)
			}
		}
	}
	if n := len(c.model.Requests()); n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
}

// TestChatHalfStreams: a provider that breaks off in the middle of an answer is
// an error of the stream, after what it had said.
func TestChatHalfStreams(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	half := []chattest.Step{chattest.Text("It is "), chattest.Text("about ")}
	answers := map[string]chattest.Answer{
		"failed": chattest.Say(append(half, chattest.Fail("Overloaded"))...),
		"cut":    chattest.Say(append(half, chattest.Raw("data: {\"cho"), chattest.Raw(strings.Repeat(" ", 4096)), chattest.Raw("\n\n"))...),
	}
	for name, answer := range answers {
		if name == "cut" {
			answer.Cut = 3000
		}
		c.model.Script(chattest.Always(answer))
		everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, stream bool) {
			got, err := ask(question{text: distance})
			if err == nil {
				t.Fatalf("%s: half an answer passes for a whole one: %+v", name, got)
			}
			if stream && got.text != "It is about " {
				t.Errorf("%s: the client got %q before the error", name, got.text)
			}
		})
	}
}

// TestChatBadCalls: whatever calls a model makes, each gets a result that the
// model may read, and the chat goes on.
func TestChatBadCalls(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	for name, call := range map[string]chattest.Step{
		"no such tool": chattest.Call("call_1", "haversine_miles", coordinates),
		"no JSON":      chattest.Call("call_1", "haversine_km", `{"lat1": 37.`),
		"too few":      chattest.Call("call_1", "haversine_km", `{"lat1": 37.7749}`),
		"wrong type":   chattest.Call("call_1", "haversine_km", `{"lat1": "north", "lon1": 0, "lat2": 0, "lon2": 0}`),
	} {
		c.model.Script(func(r chattest.Request) chattest.Answer {
			if result, ok := r.Results["call_1"]; ok {
				return chattest.Say(chattest.Text("I read: " + result))
			}
			return chattest.Say(call)
		})
		everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
			got, err := ask(question{text: distance})
			if err != nil || len(got.text) < len("I read: ")+10 || len(got.calls) > 0 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		})
	}
}

// TestWrongKeys: a request without a key that is known has the words of the API that it is
// for, as the vendor's own server answers.
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	p := start(t, folder(t, "spicepod.yaml",
		strings.Replace(directPod.text(t, model.URL), "runtime: {", "runtime: { auth: { api-key: { keys: [known-key-0123456789] } },", 1)))
	for form, want := range map[chat.Form]struct{ kind, code string }{
		chat.FormOpenAI: {"invalid_request_error", `"code":"invalid_api_key"`}, chat.FormResponses: {"invalid_request_error", `"code":"invalid_api_key"`},
		chat.FormAnthropic: {"authentication_error", `"type":"authentication_error"`},
	} {
		_, err := goClients[form](p, question{model: modelOf[form], text: "hi"})
		if e := wantError(t, err, 401); e.kind != want.kind || !strings.Contains(e.raw, want.code) {
			t.Errorf("%s: %s %s", form, e.kind, e.raw)
		}
	}
}
