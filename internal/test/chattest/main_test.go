package chattest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the secret that clients send.
const key = "sk-live-0123456789"

// start starts a server with a script until the test ends.
func start(t testing.TB, script func(chattest.Request) chattest.Answer) *chattest.Server {
	t.Helper()
	s, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		s.Close()
	})
	if script != nil {
		s.Script(script)
	}
	return s
}

// paths are where each form is served.
var paths = map[chat.Form]string{
	chat.FormOpenAI: "/v1/chat/completions", chat.FormResponses: "/v1/responses", chat.FormAnthropic: "/v1/messages",
}

// post sends a body and returns the response and the part of the body that was
// received.
func post(t testing.TB, url, body string) (resp *http.Response, text string, broken error) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, string(raw), err
}

// talk is a script with one of each step.
var talk = chattest.Say(
	chattest.Thinking("Let me ", "see. "), chattest.Text("I look ", "it <up>."),
	chattest.Call("call_1", "sql", `{"query":`, ` "SELECT 1"}`), chattest.Call("call_2", "now"),
	chattest.Usage(90, 7, 64, 16),
)

// TestGolden shows what each form looks like.
func TestGolden(t *testing.T) {
	for form, path := range paths {
		s := start(t, chattest.Always(talk))
		_, text, err := post(t, s.URL+path, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"include":["reasoning.encrypted_content"]}`)
		if err != nil {
			t.Error(err)
		}
		golden.Equal(t, "testdata/"+string(form)+".sse", text)
		_, text, err = post(t, s.URL+path, `{"model":"m"}`)
		if err != nil {
			t.Error(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(text), "", "  "); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		golden.Equal(t, "testdata/"+string(form)+".json", indented.String()+"\n")
	}
}
