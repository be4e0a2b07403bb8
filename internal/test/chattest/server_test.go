package chattest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// TestRequestsAreRead sends the same conversation to every API.
func TestRequestsAreRead(t *testing.T) {
	bodies := map[chat.Form]string{
		chat.FormOpenAI: `{"model":"m","stream":true,"messages":[
			{"role":"system","content":"be brief"},{"role":"developer","content":[{"type":"text","text":"very"}]},
			{"role":"user","content":"first"},{"role":"user","content":[{"type":"text","text":"and "},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"last"}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sql","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"[1]"},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"two"}]}],
			"tools":[{"type":"function","function":{"name":"sql"}},{"type":"function","function":{"name":"now"}}]}`,
		chat.FormResponses: `{"model":"m","stream":true,"instructions":"be brief","input":[
			{"role":"developer","content":"very"},{"role":"user","content":"first"},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"and "},{"type":"input_image","image_url":"x"},{"type":"input_text","text":"last"}]},
			{"type":"function_call","call_id":"c1","name":"sql","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"[1]"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"}]}],
			"tools":[{"type":"namespace","name":"db","tools":[{"type":"function","name":"sql"}]},{"type":"function","name":"now"}]}`,
		chat.FormAnthropic: `{"model":"m","stream":true,"max_tokens":9,"system":[{"type":"text","text":"be brief\nvery"}],"messages":[
			{"role":"user","content":"first"},{"role":"user","content":[{"type":"text","text":"and "},{"type":"text","text":"last"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"sql","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"[1]"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"}]}]}],
			"tools":[{"name":"sql","input_schema":{}},{"name":"now","input_schema":{}}]}`,
	}
	for form, body := range bodies {
		s := start(t, chattest.Always(chattest.Say()))
		post(t, s.URL+paths[form]+"?beta=true", body)
		got := s.Requests()[0]
		want := chattest.Request{
			N: 1, Form: form, Path: paths[form] + "?beta=true", Body: []byte(body), Model: "m", Stream: true,
			System: "be brief\nvery", User: "and last", Tools: []string{"sql", "now"}, Results: map[string]string{"c1": "[1]", "c2": "two"},
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(chattest.Request{}), cmpopts.IgnoreFields(chattest.Request{}, "Header")); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
		if got.Header.Get("Content-Type") != "application/json" || !got.Has("now") || got.Has("nosuch") {
			t.Errorf("%s: %+v", form, got)
		}
	}
}

// TestSenselessRequestsAreRecorded byte by byte.
func TestSenselessRequestsAreRecorded(t *testing.T) {
	s := start(t, chattest.Always(chattest.Say()))
	bodies := []string{"", "{", `{"messages":7}`, `{"messages":[{"role":"user","content":{"a":1}}]}`, `{"input":"hello"}`, `{"input":{}}`}
	for _, body := range bodies {
		if resp, _, err := post(t, s.URL+"/openai/deployments/x/chat/completions", body); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v", body, err)
		}
	}
	for i, r := range s.Requests() {
		if string(r.Body) != bodies[i] || r.N != i+1 {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if got := s.Requests()[4].User; got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestScripts(t *testing.T) {
	s := start(t, nil)
	ask := func() string {
		_, text, err := post(t, s.URL+"/v1/chat/completions", `{"model":"m"}`)
		if err != nil {
			t.Error(err)
		}
		return text
	}
	if got := ask(); !strings.Contains(got, "request 1, but the script has 0 answers") {
		t.Error(got)
	}
	s.Script(chattest.InTurn(chattest.Say(chattest.Text("one")), chattest.Answer{Status: 418, Body: []byte("<html>"), Header: http.Header{"X-A": {"b"}}}))
	if got := ask(); !strings.Contains(got, `"one"`) {
		t.Error(got)
	}
	resp, text, _ := post(t, s.URL+"/v1/responses", `{"model":"m","stream":true}`)
	if resp.StatusCode != 418 || text != "<html>" || resp.Header.Get("X-A") != "b" {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if got := ask(); !strings.Contains(got, "request 3, but the script has 2 answers") {
		t.Error(got)
	}
	for _, url := range []string{"/v1/embeddings", "/"} {
		if resp, text, _ := post(t, s.URL+url, "{}"); resp.StatusCode != 404 || !strings.Contains(text, "/v1/chat/completions") {
			t.Errorf("%s: %d %s", url, resp.StatusCode, text)
		}
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// TestCuts cuts answers at many positions: the client gets exactly the bytes before the
// cut, and an error.
func TestCuts(t *testing.T) {
	const body = `{"model":"m","stream":true}`
	cut := func(path string, at int) (string, error) {
		steps := []chattest.Step{chattest.Text("ab"), chattest.Call("c", "f", "{}")}
		s := start(t, chattest.Always(chattest.Answer{Steps: steps, Cut: at, ChunkBytes: 64}))
		_, text, err := post(t, s.URL+path, body)
		return text, err
	}
	for form, path := range paths {
		all, err := cut(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		for at := 1; at <= len(all); at += 1 + len(all)/60 {
			if text, err := cut(path, at); !errors.Is(err, io.ErrUnexpectedEOF) || text != all[:at] {
				t.Fatalf("%s cut at %d: %v, got %d bytes", form, at, err, len(text))
			}
		}
		if _, err := cut(path, -1); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", form, err)
		}
		if text, err := cut(path, len(all)+1); err != nil || text != all {
			t.Errorf("%s: a cut behind the end: %v", form, err)
		}
	}
}

// TestHang hangs before the status, and in the middle of a stream, until the client
// leaves.
func TestHang(t *testing.T) {
	for form, client := range clients {
		for _, steps := range [][]chattest.Step{nil, {chattest.Text("half")}} {
			s := start(t, chattest.Always(chattest.Answer{Steps: steps, Hang: true}))
			for _, ask := range []func(context.Context, *chattest.Server) (heard, error){client.whole, client.stream} {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				if _, err := ask(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", form, err)
				}
				cancel()
			}
		}
	}
}

// TestUntil streams what comes before a step that waits.
func TestUntil(t *testing.T) {
	for _, path := range paths {
		more := make(chan struct{})
		s := start(t, chattest.Always(chattest.Say(chattest.Text("one"), chattest.Until(more), chattest.Wait(time.Nanosecond), chattest.Text("two"))))
		resp, err := http.Post(s.URL+path, "application/json", strings.NewReader(`{"model":"m","stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for buf := make([]byte, 1); !strings.Contains(got.String(), "one"); {
			if _, err := resp.Body.Read(buf); err != nil {
				t.Fatal(err)
			}
			got.Write(buf)
		}
		close(more)
		rest, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(rest), "two") {
			t.Errorf("%s, %v", rest, err)
		}
		resp.Body.Close()
	}
}

// TestClose ends answers that hang, and may come twice.
func TestClose(t *testing.T) {
	s := start(t, nil)
	reached := make(chan struct{})
	s.Script(func(chattest.Request) chattest.Answer {
		close(reached)
		return chattest.Answer{Hang: true}
	})
	failed := make(chan error)
	go func() {
		_, _, err := post(t, s.URL+"/v1/messages", "{}")
		failed <- err
	}()
	<-reached
	s.Close()
	if err := <-failed; err == nil {
		t.Error("an answer of a closed server")
	}
	s.Close()
}

// TestRaw writes text into streams unchanged.
func TestRaw(t *testing.T) {
	s := start(t, chattest.Always(chattest.Say(chattest.Raw(": still here\n\n"), chattest.Text("so"))))
	for form, client := range clients {
		for _, ask := range []func(context.Context, *chattest.Server) (heard, error){client.whole, client.stream} {
			if got, err := ask(t.Context(), s); err != nil || got.Text != "so" {
				t.Errorf("%s: %+v, %v", form, got, err)
			}
		}
		if _, text, _ := post(t, s.URL+paths[form], `{"stream":true}`); !strings.Contains(text, ": still here\n\n") {
			t.Errorf("%s: %s", form, text)
		}
	}
}

// TestBrokenArguments are sent unchanged.
func TestBrokenArguments(t *testing.T) {
	s := start(t, chattest.Always(chattest.Say(chattest.Call("c", "f", `{"x": `))))
	for form, path := range paths {
		for _, body := range []string{`{"stream":true}`, `{}`} {
			if _, text, err := post(t, s.URL+path, body); err != nil || !strings.Contains(text, `{\"x\": `) {
				t.Errorf("%s %s: %s, %v", form, body, text, err)
			}
		}
	}
}

// FuzzRequest sends any body to every API: the server answers and continues.
func FuzzRequest(f *testing.F) {
	f.Add(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"stream":true,"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`)
	f.Add(`{"system":"s","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[]}]}],"tools":[{}]}`)
	s := start(f, chattest.Always(talk))
	f.Fuzz(func(t *testing.T, body string) {
		for form, path := range paths {
			if resp, text, err := post(t, s.URL+path, body); err != nil || resp.StatusCode != 200 || text == "" {
				t.Errorf("%s: %v", form, err)
			}
		}
	})
}
