package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// TestChoicesWithoutTools has choices that need tools where there are none: providers take
// them only with tools, so they would be lost. Those that ask for nothing are left out.
func TestChoicesWithoutTools(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	const nothing, unknown = "requires a call, but neither the request nor the model has tools", `names \"x\", which is not a tool of the model`
	for _, test := range []struct {
		form    chat.Form
		body    string
		fault   string // "": it is answered
		ignored string
	}{
		{form: chat.FormOpenAI, body: `"tool_choice":"required"`, fault: nothing},
		{form: chat.FormOpenAI, body: `"tool_choice":{"type":"function","function":{"name":"x"}}`, fault: unknown},
		{
			form: chat.FormOpenAI, body: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"x"}}]}}`,
			fault: unknown,
		},
		{form: chat.FormOpenAI, body: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`, fault: "allows no tool"},
		{form: chat.FormOpenAI, body: `"parallel_tool_calls":false`, ignored: "parallel_tool_calls"},
		{form: chat.FormOpenAI, body: `"parallel_tool_calls":true,"tool_choice":"auto"`},
		{form: chat.FormOpenAI, body: `"tool_choice":"none"`},
		{form: chat.FormAnthropic, body: `"tool_choice":{"type":"any"}`, fault: nothing},
		{form: chat.FormAnthropic, body: `"tool_choice":{"type":"tool","name":"x"}`, fault: unknown},
		{form: chat.FormAnthropic, body: `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, ignored: "tool_choice[tool].disable_parallel_tool_use"},
		{form: chat.FormAnthropic, body: `"tool_choice":{"type":"none"}`},
		{form: chat.FormAnthropic, body: `"tool_choice":{"type":"auto","name":"x"}`, fault: `is of the type \"tool\", not \"auto\"`},
		{form: chat.FormResponses, body: `"tool_choice":"required"`, fault: nothing},
		{form: chat.FormResponses, body: `"tool_choice":{"type":"function","name":"x"}`, fault: unknown},
		{form: chat.FormResponses, body: `"tool_choice":{"type":"web_search"}`, fault: "tool_choice"}, // of another form for the others
		{form: chat.FormResponses, body: `"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"x"}]}`, fault: unknown},
		{form: chat.FormResponses, body: `"parallel_tool_calls":false,"tools":[]`, ignored: "parallel_tool_calls"},
	} {
		for to, model := range modelOf {
			before := len(c.model.Requests())
			status, ignored, answer := c.askedFor(t, test.form, requestOf(test.form, model, test.body))
			asked := len(c.model.Requests()) > before
			if test.fault != "" && (status != http.StatusBadRequest || asked || !strings.Contains(answer, test.fault)) {
				t.Errorf("%s → %s: %s: provider asked %t, %d %s", test.form, to, test.body, asked, status, answer)
			}
			if test.fault == "" && (status != http.StatusOK || ignored != test.ignored) {
				t.Errorf("%s → %s: %s: ignored %q, %d %s", test.form, to, test.body, ignored, status, answer)
			}
		}
	}
}

// TestChoicesOfTools has choices that tools make meaningful, whoever has them.
func TestChoicesOfTools(t *testing.T) {
	t.Parallel()
	c := startChat(t, registryPod)
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	for _, test := range []struct {
		form       chat.Form
		body, sent string
	}{
		{chat.FormOpenAI, `"tool_choice":"required","parallel_tool_calls":false`, `"tool_choice":"required"`},
		{chat.FormAnthropic, `"tool_choice":{"type":"any"}`, `"tool_choice":{"type":"any"}`},
		{chat.FormAnthropic, `"tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}`, `"name":"web_search"`},
		{chat.FormResponses, `"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, `"tool_choice":{"type":"web_search"}`},
	} {
		status, ignored, answer := c.askedFor(t, test.form, requestOf(test.form, modelOf[test.form], test.body))
		if status != http.StatusOK || ignored != "" || !strings.Contains(string(c.last().Body), test.sent) {
			t.Errorf("%s: %s: ignored %q, %d %s; the provider got %s", test.form, test.body, ignored, status, answer, c.last().Body)
		}
	}
}

// TestBetasOfTheHeader has features of Anthropic in the header and in the body.
func TestBetasOfTheHeader(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	for to, model := range modelOf {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+chatRoutes[chat.FormAnthropic],
			strings.NewReader(requestOf(chat.FormAnthropic, model, `"anthropic_beta":["b1"]`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Anthropic-Beta", "b2, b3")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		ignored, sent := resp.Header.Get("X-Spiced-Ignored"), c.last().Header.Get("Anthropic-Beta")
		if own := to == chat.FormAnthropic; own != (sent == "b1,b2,b3") || own != (ignored == "") || !own && ignored != "anthropic_beta" {
			t.Errorf("%s: sent %q, ignored %q", to, sent, ignored)
		}
	}
}

// requestOf is a question with more fields.
func requestOf(form chat.Form, model, more string) string {
	ask := `"messages":[{"role":"user","content":"hi"}]`
	switch form {
	case chat.FormResponses:
		ask = `"input":"hi"`
	case chat.FormAnthropic:
		ask += `,"max_tokens":9`
	}
	return `{"model":"` + model + `",` + ask + `,` + more + `}`
}
