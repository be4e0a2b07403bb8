package main

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// report is the shape of a public bug report about a gateway: a request, and what the
// provider must get, as path=JSON.
type report struct {
	source   string
	from, to chat.Form
	body     string
	want     string
}

const thinking = `{"type":"thinking","thinking":"hm","signature":"s"}`

var reports = []report{
	{
		"BerriAI/litellm#26916, musistudio/claude-code-router#1686: thinking blocks become no text", chat.FormAnthropic, chat.FormResponses,
		`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + thinking + `,{"type":"text","text":"yes"}]},{"role":"user","content":"and?"}]`,
		"input.1.content=\"yes\"\ninput.2.role=\"user\"\ninput.3=",
	},
	{
		"continuedev/continue#11994: the text comes before the calls", chat.FormAnthropic, chat.FormResponses,
		`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"text","text":"both"},{"type":"tool_result","tool_use_id":"t1","content":"1"},{"type":"tool_result","tool_use_id":"t2","content":[]}]}]`,
		"input.1.content=\"I look\"\ninput.2.call_id=\"t1\"\ninput.3.call_id=\"t2\"\ninput.4.output=\"1\"\ninput.5.output=\"\"\ninput.6.content.0.text=\"both\"",
	},
	{
		"parallel results follow their calls at once", chat.FormAnthropic, chat.FormOpenAI,
		`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"text","text":"both"},{"type":"tool_result","tool_use_id":"t1","content":"1"},{"type":"tool_result","tool_use_id":"t2","is_error":true}]}]`,
		"messages.1.tool_calls.1.id=\"t2\"\nmessages.2.tool_call_id=\"t1\"\nmessages.3.content=\"The tool failed and does not say " +
			"why.\"\nmessages.4.content=\"both\"",
	},
	{
		"NousResearch/hermes-agent#100750: an empty message between reasoning and a call", chat.FormResponses, chat.FormAnthropic,
		`"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"},{"role":"assistant","content":""},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"1"}]`,
		"messages.1.content.0.type=\"tool_use\"\nmessages.1.content.1=\nmessages.2.content.0.type=\"tool_result\"",
	},
	{
		"NVIDIA-NeMo/Switchyard#99: reasoning items become no empty messages", chat.FormResponses, chat.FormOpenAI,
		`"input":[{"role":"user","content":"hi"},{"role":"assistant","content":"I look"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"1"},` +
			`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e"},{"role":"user","content":"and?"}]`,
		"messages.1.content=\"I look\"\nmessages.1.tool_calls.0.id=\"c1\"\nmessages.2.role=\"tool\"\nmessages.3.content=\"and?\"\nmessages.4=",
	},
	{
		"a chat with DeepSeek over Messages: reasoning goes back between calls", chat.FormAnthropic, chat.FormOpenAI,
		`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1"}]}]`,
		"messages.1.reasoning_content=\"hm\"\nmessages.1.tool_calls.0.id=\"t1\"",
	},
}

// TestReports sends the shapes of public bug reports about other gateways.
func TestReports(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	for _, r := range reports {
		got := c.sends(t, r.from, r.to, r.body)
		for line := range strings.SplitSeq(r.want, "\n") {
			path, value, _ := strings.Cut(line, "=")
			var expected any
			if value != "" {
				if err := json.Unmarshal([]byte(value), &expected); err != nil {
					t.Fatal(err)
				}
			}
			if there := at(got, path); !reflect.DeepEqual(there, expected) {
				t.Errorf("%s: %s is %v, want %s", r.source, path, there, value)
			}
		}
	}
}

// TestLongIDs has ids that OpenAI's APIs refuse, which take 64 characters: of calls
// (AnswerDotAI/fastllm#45) and of users (looplj/axonhub#1669).
func TestLongIDs(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	longID := strings.Repeat("x", 86)
	body := `"metadata":{"user_id":"` + longID + `"},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"` +
		longID + `","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + longID + `","content":"1"}]}]`
	for to, paths := range map[chat.Form][]string{
		chat.FormOpenAI:    {"user", "messages.1.tool_calls.0.id", "messages.2.tool_call_id"},
		chat.FormResponses: {"user", "input.1.call_id", "input.2.call_id"},
	} {
		got := c.sends(t, chat.FormAnthropic, to, body)
		for _, path := range paths {
			if id, _ := at(got, path).(string); len(id) != 64 || id != at(got, paths[0]) {
				t.Errorf("%s: %s is %q", to, path, id)
			}
		}
	}
}

// sends returns what the provider gets for a request.
func (c *chatting) sends(t *testing.T, from, to chat.Form, body string) map[string]any {
	t.Helper()
	if from == chat.FormAnthropic {
		body += `,"max_tokens":9`
	}
	before := len(c.model.Requests())
	status, answer := c.asked(t, from, `{"model":"`+modelOf[to]+`",`+body+`}`)
	all := c.model.Requests()
	if status != http.StatusOK || len(all) == before {
		t.Fatalf("%s → %s: status %d: %s", from, to, status, answer)
	}
	var got map[string]any
	if err := json.Unmarshal(all[len(all)-1].Body, &got); err != nil {
		t.Fatal(err)
	}
	return got
}
