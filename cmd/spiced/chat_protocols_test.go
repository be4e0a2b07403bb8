package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// metaTools are what a model gets in place of many tools.
var metaTools = []string{"list_datasets", "tool_invoke", "tool_search"}

// TestChatThroughSearch answers a question through tool_search and
// tool_invoke, at every protocol, whatever form the provider speaks.
func TestChatThroughSearch(t *testing.T) {
	t.Parallel()
	c := startChat(t, registryPod)
	c.model.Script(searching)
	for form, model := range modelOf {
		everyProtocol(t, c, func(t *testing.T, ask asker, protocol chat.Form, _ bool) {
			got, err := ask(question{model: model, text: distance})
			wantAnswer(t, got, err, 3)
			if sent := c.last(); sent.Form != form || !slices.Equal(slices.Sorted(slices.Values(sent.Tools)), metaTools) {
				t.Errorf("the provider was sent %q in %s, want %q in %s", sent.Tools, sent.Form, metaTools, form)
			}
		})
		m := c.listed()[model]
		if m.Status != "Ready" || m.Tools.Mode != "registry" || m.Tools.Count != 37 || m.Tools.EmbeddingModel != "local" || m.Tools.Reason == "" {
			t.Errorf("listed as %+v", m)
		}
	}
}

// TestChatDirect has 20 tools, and sends them all.
func TestChatDirect(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Script(calling)
	everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
		got, err := ask(question{text: distance})
		wantAnswer(t, got, err, 2)
		if sent := c.last(); len(sent.Tools) != 20 || !slices.IsSorted(sent.Tools) || sent.Has("tool_search") {
			t.Errorf("the provider was sent %d tools: %q", len(sent.Tools), sent.Tools)
		}
	})
	if m := c.listed()["helper"]; m.Tools.Mode != "direct" || m.Tools.Count != 20 || len(m.Tools.Advertised) != 20 {
		t.Errorf("listed as %+v", m)
	}
}

// TestChatThreshold has one tool more.
func TestChatThreshold(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{functions: 15, tools: "auto", embeddings: hashEmbeddings})
	c.model.Script(searching)
	got, err := askOpenAI(c.program, question{model: "helper", text: distance, stream: true})
	wantAnswer(t, got, err, 3)
	if m := c.listed()["helper"]; m.Tools.Mode != "registry" || m.Tools.Count != 27 || !slices.Equal(m.Tools.Advertised, metaTools) {
		t.Errorf("listed as %+v", m)
	}
}

// TestChatWithoutEmbeddings has many tools and nothing to search them with.
func TestChatWithoutEmbeddings(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{functions: 25, tools: "auto"})
	c.model.Script(calling)
	everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
		got, err := ask(question{text: distance})
		wantAnswer(t, got, err, 2)
		if sent := c.last(); len(sent.Tools) != 31 {
			t.Errorf("the provider was sent %d tools: %q", len(sent.Tools), sent.Tools)
		}
	})
	const warning = "Falling back to direct tool definitions."
	if n := strings.Count(c.log.String(), warning); n < len(modelOf) {
		t.Errorf("the log has %q %d times:\n%s", warning, n, c.log)
	}
	if m := c.listed()["helper"]; m.Tools.Mode != "direct" || !strings.Contains(m.Tools.Reason, "embedding") {
		t.Errorf("listed as %+v", m)
	}
}

// TestChatRefusesSearchWithoutEmbeddings refuses the models that must search,
// with the line that helps, and serves the rest.
func TestChatRefusesSearchWithoutEmbeddings(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{functions: 25, tools: "search_registry", more: `
  - name: plain
    from: openai:gpt-test
    params: { endpoint: "MODEL_URL/v1", openai_api_key: none }
`})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("Hello."))))
	everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
		_, err := ask(question{text: distance})
		e := wantError(t, err, 503)
		if !strings.Contains(e.raw, "No embedding model configured") {
			t.Errorf("got %s", e.raw)
		}
		if got, err := ask(question{model: "plain", text: "Hello?"}); err != nil || got.text != "Hello." {
			t.Errorf("the model without tools: %+v, %v", got, err)
		}
	})
	if m := c.listed()["helper"]; m.Status != "Error" || !strings.Contains(m.Error, "No embedding model configured") {
		t.Errorf("listed as %+v", m)
	}
	c.want(c.do("GET", "/v1/status", ""), 200, "builtin:semantic")
	c.want(c.do("POST", "/v1/tools/haversine_km", coordinates), 200, "4129.")
}

// TestChatReturnsTheClientsCalls calls a tool of the runtime and one of the
// client in one answer. The client sees its own, and goes on with its result.
func TestChatReturnsTheClientsCalls(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Script(beside)
	everyProtocol(t, c, func(t *testing.T, ask asker, protocol chat.Form, _ bool) {
		got, err := ask(question{text: distance, tools: []string{"get_location"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.calls) != 1 || got.calls[0].ID != "where_1" || got.calls[0].Name != "get_location" || got.calls[0].Arguments != "{}" {
			t.Fatalf("the client got the calls %+v", got.calls)
		}
		if want := map[chat.Form]string{
			chat.FormOpenAI: "tool_calls", chat.FormResponses: "completed",
			chat.FormAnthropic: "tool_use",
		}[protocol]; got.reason != want {
			t.Errorf("the answer ended with %q, want %q", got.reason, want)
		}
		if sent := c.last(); !sent.Has("get_location") || len(sent.Tools) != 21 || !slices.IsSorted(sent.Tools) {
			t.Errorf("the provider was sent %q", sent.Tools)
		}
		got, err = got.reply("the ferry")
		wantAnswer(t, got, err, 1)
		if !strings.Contains(got.text, "From the ferry:") {
			t.Errorf("it said %q", got.text)
		}
	})
}

// TestChatToolChoice passes the client's choice on.
func TestChatToolChoice(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("Hello."))))
	named := map[chat.Form]string{
		chat.FormOpenAI:    `"tool_choice":{"type":"function","function":{"name":"get_location"}}`,
		chat.FormResponses: `"tool_choice":{"type":"function","name":"get_location"}`,
		chat.FormAnthropic: `"tool_choice":{"type":"tool","name":"get_location"}`,
	}
	everyProtocol(t, c, func(t *testing.T, ask asker, protocol chat.Form, _ bool) {
		for choice, want := range map[string]string{
			"get_location": named[protocol],
			"required":     map[bool]string{false: `"tool_choice":"required"`, true: `"tool_choice":{"type":"any"}`}[protocol == chat.FormAnthropic],
		} {
			if _, err := ask(question{text: "hello", tools: []string{"get_location"}, choice: choice}); err != nil {
				t.Fatal(err)
			}
			if !holds(t, c.last().Body, want) {
				t.Errorf("the provider was sent %s\nwant %s", c.last().Body, want)
			}
		}
		if _, err := ask(question{text: "hello", tools: []string{"get_location"}, choice: "none"}); err != nil {
			t.Fatal(err)
		}
		if sent := c.last(); sent.Has("haversine_km") || !sent.Has("get_location") {
			t.Errorf("with a choice of none the provider was sent %q", sent.Tools)
		}
	})
}

// holds reports whether a JSON object has the member, in whatever order its
// keys are written.
func holds(t *testing.T, body []byte, member string) bool {
	t.Helper()
	var all, want map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte("{"+member+"}"), &want); err != nil {
		t.Fatal(err)
	}
	for key := range want {
		a, _ := json.Marshal(all[key])
		b, _ := json.Marshal(want[key])
		return string(a) == string(b)
	}
	return false
}

// TestChatUsageInStreams comes when it is asked for.
func TestChatUsageInStreams(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Script(calling)
	for _, silent := range []bool{false, true} {
		got, err := askOpenAI(c.program, question{model: "helper", text: distance, stream: true, silent: silent})
		if err != nil || got.counted == silent {
			t.Errorf("silent %t: %+v, %v", silent, got, err)
		}
	}
}

// TestChatPassesImages on, byte for byte.
func TestChatPassesImages(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("A dot."))))
	for _, model := range modelOf {
		everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
			if _, err := ask(question{model: model, text: "What is it?", image: dot}); err != nil {
				t.Fatal(err)
			}
			if body := string(c.last().Body); !strings.Contains(body, dot) || !strings.Contains(body, "image/png") {
				t.Errorf("the provider was sent %s", body)
			}
		})
	}
}

// TestChatEvents tells of calls to who asks for it, in a way that the official
// clients pass over: the other tests ask for it too.
func TestChatEvents(t *testing.T) {
	t.Parallel()
	c := startChat(t, registryPod)
	c.model.Script(searching)
	bodies := map[string]string{
		"/v1/chat/completions": `{"model":"helper","stream":true,"messages":[{"role":"user","content":"How far?"}]}`,
		"/v1/responses":        `{"model":"helper","stream":true,"input":"How far?"}`,
		"/v1/messages":         `{"model":"helper","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"How far?"}]}`,
	}
	events := []string{"tool_call", "tool_result", "latency_ms", "tool_search", "tool_invoke"}
	for path, body := range bodies {
		c.want(c.do("POST", path, body, "X-Spiced-Events", "include"), 200, events...)
		if got := c.do("POST", path, body).body; strings.Contains(got, "tool_result") || strings.Contains(got, "latency_ms") {
			t.Errorf("%s: events without a request for them: %s", path, got)
		}
		whole := strings.Replace(body, `"stream":true,`, "", 1)
		c.want(c.do("POST", path, whole, "X-Spiced-Events", "include"), 200, append(events, "spiced_events")...)
	}
}

// TestChatModels lists them for both clients.
func TestChatModels(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	ctx, cancel := within()
	defer cancel()
	o, a := openAIClient(c.program), anthropicClient(c.program)
	list, err := o.Models.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID+" "+m.OwnedBy)
	}
	if got, want := strings.Join(names, ", "), "helper openai:gpt-test, responder openai:gpt-test, claude anthropic:claude-test"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if m, err := o.Models.Get(ctx, "helper"); err != nil || m.ID != "helper" {
		t.Errorf("%+v, %v", m, err)
	}
	page, err := a.Models.List(ctx, anthropicAll)
	if err != nil || len(page.Data) != 3 || page.Data[2].ID != "claude" {
		t.Errorf("%+v, %v", page, err)
	}
	if m, err := a.Models.Get(ctx, "claude", anthropicOne); err != nil || m.ID != "claude" {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = o.Models.Get(ctx, "helpr")
	if e := wantError(t, err, 404); !strings.Contains(e.raw, "helper") {
		t.Errorf("got %s", e.raw)
	}
}

// TestChatOllama talks to a real model, if there is one.
func TestChatOllama(t *testing.T) {
	host := os.Getenv("OLLAMA_HOST")
	if host == "" {
		t.Skip("no Ollama: set OLLAMA_HOST to its address, and OLLAMA_MODEL to a model with tools")
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	model := os.Getenv("OLLAMA_MODEL")
	if model == "" {
		model = "qwen3:0.6b"
	}
	pod := strings.ReplaceAll(directPod.text(t, host), "openai:gpt-test", "openai:"+model)
	p := start(t, folder(t, "spicepod.yaml", strings.ReplaceAll(pod, "20s", "5m")))
	client := openAIClient(p)
	answer, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model:    "helper",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Convert 100 degrees Celsius to Fahrenheit. Use the tool.")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := answer.Choices[0].Message.Content; !strings.Contains(text, "212") {
		t.Errorf("it said %q", text)
	}
}
