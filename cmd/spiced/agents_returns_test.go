package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// returning makes both specialists answer with objects.
var returning = []string{
	"tools: [lore_search], events: all }",
	"tools: [lore_search], events: all, returns: { type: object, required: [title], properties: { title: { type: string }, year: { type: integer } }, " +
		"additionalProperties: false } }",
	"limits: { timeout: 20s,", "returns: { type: object, required: [n], properties: { n: { type: integer } } }, limits: { timeout: 20s,",
}

// says answers with these texts in turn, then with the last one.
func says(texts ...string) func(chattest.Request) chattest.Answer {
	n := make(chan int, 1)
	n <- 0
	return func(chattest.Request) chattest.Answer {
		i := <-n
		n <- min(i+1, len(texts)-1)
		return chattest.Say(chattest.Text(texts[i]), chattest.Usage(10, 5, 0, 0))
	}
}

// TestAgentsAnswerWithObjects has specialists that fit their returns at once, when asked
// again, and never.
func TestAgentsAnswerWithObjects(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		hawken, lagan  []string
		want           string
		hawken2        string // in the second request to hawken
		requests       int    // to the specialists
		tokens, rounds string // of hawken
	}{
		"at once": {
			[]string{`{"title":"Mara","year":1}`},
			[]string{"```json\n{\"n\": 3}\n```"},
			`{"results":[{"agent":"hawken","ok":true,"result":{"title":"Mara","year":1}|{"agent":"lagan","ok":true,"result":{"n":3}`, "", 2, `"tokens":15`, `"rounds":1`,
		},
		"asked again": {
			[]string{"Mara is a queen.", `{"title":"Mara"}`},
			[]string{`{"n":"three"}`, `{"n":3}`},
			`"result":{"title":"Mara"}|"result":{"n":3}`, "the answer is not a JSON object", 4, `"tokens":30`, `"rounds":2`,
		},
		"never": {
			[]string{`{"title":"Mara"}`},
			[]string{`{"m":3}`},
			`"result":{"title":"Mara"}|"code":"invalid_result","message":"agent lagan did not answer with an object that fits its returns, also when asked again: `,
			"", 3, `"tokens":15`, `"rounds":1`,
		},
		"what is too much": {
			[]string{`{"title":"Mara","years":[1]}`, `{"title":"Mara","year":1}`},
			[]string{`{"n":3,"more":true}`},
			`"result":{"title":"Mara","year":1}|"result":{"more":true,"n":3}`, "years", 3, `"tokens":30`, `"rounds":2`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startAgents(t, returning...)
			c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{
				"Ishvana": once(chattest.Call("c1", "delegate_parallel", bothTasks)), "Hawken": says(f.hawken...), "Lagan": says(f.lagan...),
			}))
			answer, _ := c.asks("ishvana", "Tell me of Mara.")
			for _, want := range append(strings.Split(f.want, "|"), f.tokens, f.rounds) {
				if !strings.Contains(answer, want) {
					t.Errorf("%s is not in %s", want, answer)
				}
			}
			requests, second := 0, ""
			for _, r := range c.model.Requests() {
				body := string(r.Body)
				openai := strings.Contains(r.System, "Hawken")
				if !openai && !strings.Contains(r.System, "Lagan") {
					continue
				}
				requests++
				if strings.Contains(body, `"response_format":{"json_schema"`) != openai || !strings.Contains(body, "JSON Schema") {
					t.Errorf("the request is %s", body)
				}
				if openai {
					second = r.User
				}
			}
			if requests != f.requests || !strings.Contains(second, f.hawken2) {
				t.Errorf("%d requests, the last: %s", requests, second)
			}
		})
	}
}

// TestReturnsAreDeclared reads the schema over HTTP and MCP.
func TestReturnsAreDeclared(t *testing.T) {
	t.Parallel()
	c := startAgents(t, returning...)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{"Hawken": says(`{"title":"Mara"}`)}))
	if body := c.do("GET", "/v1/tools/hawken", "").body; !strings.Contains(body,
		`"returns":{"additionalProperties":false,"properties":{"title":{"type":"string"},"year":{"type":"integer"}},"required":["title"],"type":"object"}`) {
		t.Errorf("definition: %s", body)
	}
	if body := c.do("POST", "/v1/tools/hawken:invoke", `{"args":{"task":"x"}}`).body; !strings.Contains(body, `"ok":true,"result":{"title":"Mara"}`) ||
		!strings.Contains(body, `"usage":{"rounds":1,"calls":0,"tokens":15}`) {
		t.Errorf("result: %s", body)
	}
	if body := c.do("POST", "/v1/sql", `SELECT tool_invoke('hawken', '{"task":"x"}')->>'title' AS title`).body; body != `[{"title":"Mara"}]` {
		t.Errorf("in SQL: %s", body)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: c.url + "/v1/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		schema, _ := json.Marshal(tool.OutputSchema)
		if tool.Name == "hawken" && !strings.Contains(string(schema), `"required":["title"]`) {
			t.Errorf("output schema: %s", schema)
		}
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hawken", Arguments: map[string]any{"task": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if structured, _ := json.Marshal(result.StructuredContent); string(structured) != `{"title":"Mara"}` {
		t.Errorf("structured content: %s", structured)
	}
}

// TestNoSecondAnswerBeyondTokens: the budget holds for the correction as well.
func TestNoSecondAnswerBeyondTokens(t *testing.T) {
	t.Parallel()
	c := startAgents(t, append([]string{"tokens: 1000", "tokens: 15"}, returning...)...)
	c.model.Script(plays(map[string]func(chattest.Request) chattest.Answer{"Lagan": says("three")}))
	if body := c.do("POST", "/v1/tools/lagan:invoke", `{"args":{"task":"x"}}`).body; !strings.Contains(body, "agent lagan has used 15 tokens") ||
		len(c.model.Requests()) != 1 {
		t.Errorf("%d requests: %s", len(c.model.Requests()), body)
	}
}

// TestWrongReturns validates Spicepods whose returns are no schemas of objects.
func TestWrongReturns(t *testing.T) {
	t.Parallel()
	for returns, want := range map[string]string{
		"{ type: string }": `the schema is not that of an object`,
		"{ type: object, properties: { a: { type: nothing } } }": "agents[0].returns",
	} {
		text := strings.NewReplacer("MODEL_URL", "http://127.0.0.1:1", "events: all }", "events: all, returns: "+returns+" }").Replace(agentsPod)
		var out bytes.Buffer
		if status := run(t.Context(), []string{"validate", folder(t, "spicepod.yaml", text)}, streams{strings.NewReader(""), &out, &out}); status == 0 ||
			!strings.Contains(out.String(), want) && !strings.Contains(out.String(), "returns") {
			t.Errorf("%s: status %d: %s", returns, status, out.String())
		}
	}
}
