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

// noObjects are arguments that models write, and the input of Anthropic's Messages for them.
var noObjects = map[string]any{
	`"MARK"`:     map[string]any{"INVALID_JSON": `"MARK"`},
	`["MARK"]`:   map[string]any{"INVALID_JSON": `["MARK"]`},
	`{"a": "MAR`: map[string]any{"INVALID_JSON": `{"a": "MAR`},
	`{"a":1}x`:   map[string]any{"INVALID_JSON": `{"a":1}x`},
	``:           map[string]any{},
	` `:          map[string]any{},
	`null`:       map[string]any{},
	` {"a":1}`:   map[string]any{"a": 1.0},
}

// TestArgumentsThatAreNoObject has earlier calls with broken arguments: Anthropic's Messages
// takes objects only, the other forms take any text.
func TestArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	for arguments, input := range noObjects {
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		bodies := map[chat.Form]string{
			chat.FormOpenAI: `"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":` + string(text) + `}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"no"}]`,
			chat.FormResponses: `"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"f","arguments":` + string(text) +
				`},{"type":"function_call_output","call_id":"c1","output":"no"}]`,
		}
		for from, body := range bodies {
			for to, path := range map[chat.Form]string{
				chat.FormAnthropic: "messages.1.content.0.input", chat.FormOpenAI: "messages.1.tool_calls.0.function.arguments", chat.FormResponses: "input.1.arguments",
			} {
				want := input
				switch {
				case to == chat.FormAnthropic:
				case strings.TrimSpace(arguments) == "":
					continue // {} means the same
				default:
					want = arguments
				}
				if got := at(c.sends(t, from, to, body), path); !reflect.DeepEqual(got, want) {
					t.Errorf("%s → %s: %q arrives as %v", from, to, arguments, got)
				}
			}
		}
	}
}

// TestArgumentsOfAnswersThatAreNoObject has a model of another form that writes broken
// arguments for a tool of a client of Anthropic's.
func TestArgumentsOfAnswersThatAreNoObject(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Call("c1", "f", `["MARK"]`))))
	status, answer := c.asked(t, chat.FormAnthropic, requestOf(chat.FormAnthropic, "helper", `"tools":[{"name":"f","input_schema":{"type":"object"}}]`))
	var got any
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK {
		t.Fatal(status, answer)
	}
	if input := at(got, "content.0.input"); !reflect.DeepEqual(input, map[string]any{"INVALID_JSON": `["MARK"]`}) {
		t.Errorf("the client gets %s", answer)
	}
}
