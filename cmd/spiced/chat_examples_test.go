package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// exampleDocuments are examples of tools of a server: with texts of other scripts, an enum, null
// where the schema has it, and for a schema that providers are sent in another form.
const exampleDocuments = `    documents:
      - tool: plain
        examples: [{ arguments: { place: "Zürich 年", unit: c, day: null }, result: 3 }]
      - tool: either
        examples: [{ arguments: { yaml: "a: 1" }, description: from a text }]
`

var exampleSchemas = map[string]string{
	"plain": `{"type":"object","properties":{"place":{"type":"string","examples":["Bern"]},"unit":{"enum":["c","f"]},` +
		`"day":{"type":["string","null"]}},"required":["place"],"additionalProperties":false}`,
	"either": `{"type":"object","properties":{"yaml":{"type":"string"},"json":{"type":"string"}},` +
		`"oneOf":[{"required":["yaml"]},{"required":["json"]}]}`,
}

// TestPlacesOfExamples: examples are in the field of the API that has one, and in descriptions
// elsewhere; no provider refuses them, and the schemas have no keyword for them that the server
// did not write.
func TestPlacesOfExamples(t *testing.T) {
	t.Parallel()
	const (
		plainLine  = `\nExample: {\"day\":null,\"place\":\"Zürich 年\",\"unit\":\"c\"} → 3`
		eitherLine = `\nExample (from a text): {\"yaml\":\"a: 1\"}`
		plainField = `"input_examples":[{"day":null,"place":"Zürich 年","unit":"c"}]`
	)
	for _, c := range []struct {
		path, from, params string
		how                chattest.Strictness
		has, lacks         []string
	}{
		{"/v1", "openai:m", "", chattest.AsVendor, []string{plainLine, eitherLine}, []string{"input_examples"}},
		{"/v1", "openai:m", "responses_api: enabled", chattest.AsVendor, []string{plainLine, eitherLine}, []string{"input_examples"}},
		{"/v1", "openai:m", "tool_schemas: subset", chattest.AsGemini, []string{plainLine, eitherLine}, []string{"input_examples", `"examples"`}},
		{"", "anthropic:m", "", chattest.AsVendor, []string{plainLine, eitherLine}, []string{"input_examples"}},
		// The example may not fit the schema that is sent in place of the declared one.
		{"", "anthropic:m", "input_examples: enabled", chattest.AsVendor, []string{plainField, eitherLine}, []string{plainLine}},
	} {
		t.Run(c.from+" "+c.params, func(t *testing.T) {
			t.Parallel()
			model := startModel(t)
			model.Judge(c.how)
			model.Script(chattest.Always(chattest.Say(chattest.Text("Done."))))
			params := fmt.Sprintf("endpoint: '%s%s', tools: all", model.URL, c.path)
			if c.params != "" {
				params += ", " + c.params
			}
			p := start(t, folder(t, "spicepod.yaml", podHead+"tools:\n  - name: raw\n    from: 'mcp:"+rawServer(t, exampleSchemas)+"'\n"+
				exampleDocuments+fmt.Sprintf("models:\n  - { name: m, from: '%s', params: { %s } }\n", c.from, params)))
			p.connected("raw")
			got, err := goClients[chat.FormOpenAI](p, question{model: "m", text: "go"})
			if err != nil || got.text != "Done." {
				t.Fatalf("%+v %v", got, err)
			}
			body := string(model.Requests()[0].Body)
			for _, text := range c.has {
				if !strings.Contains(body, text) {
					t.Errorf("the request has no %s", text)
				}
			}
			for _, text := range c.lacks {
				if strings.Contains(body, text) {
					t.Errorf("the request has %s", text)
				}
			}
			if n := strings.Count(body, `"examples"`); n > 1 { // that of the server
				t.Errorf("the request has examples %d times", n)
			}
		})
	}
}

// TestFakesRefuseExamples: what providers refuse of examples is refused where it is sent.
func TestFakesRefuseExamples(t *testing.T) {
	t.Parallel()
	model := startModel(t)
	model.Judge(chattest.AsVendor)
	model.Script(chattest.Always(chattest.Say()))
	schema := exampleSchemas["plain"]
	for path, tool := range map[string]string{
		"/v1/chat/completions": `{"type":"function","function":{"name":"f","strict":true,"parameters":` + schema + `}}`,
		"/v1/responses":        `{"type":"function","name":"f","strict":true,"parameters":` + schema + `}`,
		"/v1/messages":         `{"name":"f","input_schema":` + schema + `,"input_examples":[{"unit":"k"}]}`,
	} {
		resp, err := http.Post(model.URL+path, "application/json", strings.NewReader(`{"model":"m","tools":[`+tool+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		var said any
		_ = json.NewDecoder(resp.Body).Decode(&said)
		resp.Body.Close()
		if text := fmt.Sprint(said); resp.StatusCode != http.StatusBadRequest ||
			!strings.Contains(text, "'examples' is not permitted") && !strings.Contains(text, "input_examples.0") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
}
