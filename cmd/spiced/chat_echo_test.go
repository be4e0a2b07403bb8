package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// asked returns the status and the body of an answer.
func (c *chatting) asked(t *testing.T, form chat.Form, body string) (int, string) {
	t.Helper()
	status, _, answer := c.askedFor(t, form, body)
	return status, answer
}

// askedFor is asked, with the fields that the answer's header calls ignored.
func (c *chatting) askedFor(t *testing.T, form chat.Form, body string) (status int, ignored, text string) {
	t.Helper()
	resp, err := http.Post(c.url+chatRoutes[form], "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("X-Spiced-Ignored"), string(answer)
}

// TestEchoIsWhatWasHonoured has fields that Anthropic's Messages does not have or limits:
// the answer does not repeat them as if they were sent.
func TestEchoIsWhatWasHonoured(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	ask := `","input":"hi","temperature":1.5,"prompt_cache_key":"k","reasoning":{"effort":"low","summary":"auto"},"metadata":{"a":"b"}}`
	for form, want := range map[chat.Form]string{
		chat.FormAnthropic: `{"temperature":1,"top_p":null,"prompt_cache_key":null,"service_tier":null,"reasoning":{"effort":"low","summary":null},"metadata":{"a":"b"}}`,
		chat.FormResponses: `{"temperature":1.5,"top_p":null,"prompt_cache_key":"k","service_tier":null,"reasoning":{"effort":"low","summary":"auto"},"metadata":{"a":"b"}}`,
	} {
		status, body := c.asked(t, chat.FormResponses, `{"model":"`+modelOf[form]+ask)
		var answer, expected map[string]any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", form, status, body)
		}
		for name, value := range expected {
			if !covers(answer[name], value) {
				t.Errorf("%s: %s is %v, want %v", form, name, answer[name], value)
			}
		}
	}
}

// TestChainToAnotherForm continues a chat that has a tool of the Responses API with a model
// of another form.
func TestChainToAnotherForm(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	search := `"input":[{"role":"user","content":"hi"},{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},{"role":"user","content":"and?"}]`
	_, body := c.asked(t, chat.FormResponses, `{"model":"`+modelOf[chat.FormResponses]+`",`+search+`}`)
	for range 2 { // the second answer continues the first
		var answer struct{ ID string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.ID == "" {
			t.Fatal(body)
		}
		continued := `","previous_response_id":"` + answer.ID + `","input":"go on"}`
		for _, form := range []chat.Form{chat.FormOpenAI, chat.FormAnthropic} {
			status, refused := c.asked(t, chat.FormResponses, `{"model":"`+modelOf[form]+continued)
			if status != http.StatusBadRequest ||
				!strings.Contains(refused, "previous_response_id continues a chat that has input[web_search_call], which is not supported by the model's provider") {
				t.Errorf("%s: status %d: %s", form, status, refused)
			}
		}
		var status int
		if status, body = c.asked(t, chat.FormResponses, `{"model":"`+modelOf[chat.FormResponses]+continued); status != http.StatusOK {
			t.Errorf("same form: status %d: %s", status, body)
		}
	}
}
