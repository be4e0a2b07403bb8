package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// subsetModels are models that take the schemas of Gemini's API, by form.
const subsetModels = `  - { name: gem-helper, from: "openai:g", params: { endpoint: "MODEL_URL/v1", openai_api_key: k-0123456789, tools: disabled, tool_schemas: subset } }
  - { name: gem-responder, from: "openai:g", params: { endpoint: "MODEL_URL/v1", openai_api_key: k-0123456789, tools: disabled, tool_schemas: subset, responses_api: enabled } }
`

// clientTool is a request with one tool of the client.
func clientTool(form chat.Form, schema, more string) string {
	const ask = `"messages":[{"role":"user","content":"hi"}]`
	switch form {
	case chat.FormAnthropic:
		return ask + `,"max_tokens":9,"tools":[{"name":"f","description":"Finds.","input_schema":` + schema + more + `}]`
	case chat.FormResponses:
		return `"input":"hi","tools":[{"type":"function","name":"f","description":"Finds.","parameters":` + schema + more + `}]`
	}
	return ask + `,"tools":[{"type":"function","function":{"name":"f","description":"Finds.","parameters":` + schema + more + `}}]`
}

// sentTool is what the provider got last, and its tool: description, schema, strict.
func (c *chatting) sentTool(form chat.Form) (description, schema string, strict any) {
	all := c.model.Requests()
	var got any
	body := all[len(all)-1].Body
	_ = json.Unmarshal(body, &got) // a request that was decoded
	path := map[chat.Form]string{chat.FormOpenAI: "tools.0.function.", chat.FormResponses: "tools.0.", chat.FormAnthropic: "tools.0."}[form]
	key := "parameters"
	if form == chat.FormAnthropic {
		key = "input_schema"
	}
	description, _ = at(got, path+"description").(string)
	i := bytes.Index(body, []byte(`"`+key+`":`))
	return description, string(body[i+len(key)+3:]), at(got, path+"strict")
}

// TestClientToolsAtStrictProviders sends schemas that providers refuse over each form to the
// models of the other forms, which judge as the providers do (decision 0076 has the reports).
func TestClientToolsAtStrictProviders(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled", more: subsetModels})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	forms := []chat.Form{chat.FormOpenAI, chat.FormResponses, chat.FormAnthropic}
	for _, schema := range []string{
		`{"type":"object"}`,
		`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
		`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`,
		`{"type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}},"required":["a"]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":["string","null"],"format":"uri"}},"additionalProperties":false}`,
	} {
		for _, from := range forms {
			for _, to := range forms {
				if from == to {
					continue // the client writes for the form of the provider
				}
				c.model.Judge(chattest.AsVendor)
				if status, answer := c.asked(t, from, `{"model":"`+modelOf[to]+`",`+clientTool(from, schema, "")+`}`); status != http.StatusOK {
					t.Errorf("%s → %s: %s: %d %s", from, to, schema, status, answer)
				}
			}
			for _, to := range []string{"gem-helper", "gem-responder"} {
				c.model.Judge(chattest.AsGemini)
				if status, answer := c.asked(t, from, `{"model":"`+to+`",`+clientTool(from, schema, "")+`}`); status != http.StatusOK {
					t.Errorf("%s → %s: %s: %d %s", from, to, schema, status, answer)
				}
			}
		}
	}
}

// TestClientToolsThatNeedNoChange arrive as the client wrote them, with strict.
func TestClientToolsThatNeedNoChange(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	const schema = `{"type":"object","required":["b","a"],"properties":{"b":{"type":"string","description":"B."},"a":{"type":["integer","null"]}},"additionalProperties":false,"$schema":"https://json-schema.org/draft/2020-12/schema"}`
	for from := range modelOf {
		for to, model := range modelOf {
			status, answer := c.asked(t, from, `{"model":"`+model+`",`+clientTool(from, schema, `,"strict":true`)+`}`)
			if status != http.StatusOK {
				t.Fatalf("%s → %s: %d %s", from, to, status, answer)
			}
			description, got, strict := c.sentTool(to)
			same := strings.HasPrefix(got, schema) || to == chat.FormAnthropic && strings.Contains(got, `"$schema"`) // canonical there
			if description != "Finds." || !same || strict != true {
				t.Errorf("%s → %s: %q %s %v", from, to, description, got, strict)
			}
		}
	}
}

// TestClientToolsThatChange say what is lost: in the description, and of strict in the header.
func TestClientToolsThatChange(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled", more: subsetModels})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	const schema = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`
	for from, field := range map[chat.Form]string{
		chat.FormOpenAI: "tools[function].function.strict", chat.FormResponses: "tools[function].strict", chat.FormAnthropic: "tools[custom].strict",
	} {
		resp, err := http.Post(c.url+chatRoutes[from], "application/json", strings.NewReader(`{"model":"gem-helper",`+clientTool(from, schema, `,"strict":true`)+`}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-Spiced-Ignored"); resp.StatusCode != http.StatusOK || !strings.Contains(got, field) {
			t.Errorf("%s: %d, ignored %q", from, resp.StatusCode, got)
		}
		description, sent, strict := c.sentTool(chat.FormOpenAI)
		if !strings.HasPrefix(description, "Finds.\n\nThe arguments also follow this JSON Schema: ") || strings.Contains(sent, "oneOf") || strict == true {
			t.Errorf("%s: %q %s %v", from, description, sent, strict)
		}
	}
	const named = `{"type":"object","properties":{"filter[id]":{"type":"string"}}}`
	status, answer := c.asked(t, chat.FormOpenAI, fmt.Sprintf(`{"model":%q,%s}`, "claude", clientTool(chat.FormOpenAI, named, "")))
	if status != http.StatusBadRequest || !strings.Contains(answer, `argument \"filter[id]\" of the tool \"f\"`) ||
		!strings.Contains(answer, `"param":"tools[0]"`) {
		t.Errorf("%d %s", status, answer)
	}
}
