package models

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/ollama"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// ollamaServer is the provider `ollama:<model>`: an Ollama server by its own API,
// https://docs.ollama.com/api/chat.
var ollamaServer = provider{
	name: "ollama", example: "ollama:qwen3:8b", endpoint: "http://127.0.0.1:11434",
	routes: []string{"/api/chat", "/api", "/v1"},
	key:    "ollama_api_key", keyless: true, lines: true,
	params: []spicepod.Param{
		{Name: "ollama_api_key", Secret: true, Doc: "Key of Ollama's cloud, or of a proxy, sent as a bearer token."},
		{Name: "ollama_keep_alive", Doc: "How long the model stays loaded after a request, such as 30m; -1: forever."},
		{Name: "ollama_think", Doc: "Whether a model that can think does: true, false, low, medium or high."},
	},
	prefix: "ollama_", formats: true,
	dialect: dialect.OpenAI,
	overrides: []override{
		{name: "num_ctx", kind: spicepod.ParamInt},
		{name: "num_predict", kind: spicepod.ParamInt},
		{name: "temperature", kind: spicepod.ParamNumber},
		{name: "top_p", kind: spicepod.ParamNumber},
		{name: "top_k", kind: spicepod.ParamInt},
		{name: "min_p", kind: spicepod.ParamNumber},
		{name: "repeat_penalty", kind: spicepod.ParamNumber},
		{name: "seed", kind: spicepod.ParamInt},
		{name: "stop", kind: spicepod.ParamTexts},
	},
	open: openOllama,
}

func openOllama(e *entry, s *settings) chat.Provider {
	header := http.Header{}
	if key := e.Header("ollama_api_key"); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return ollama.NewProvider(ollama.ProviderOptions{
		Endpoint: e.upstream(s, header), Model: e.id, Options: s.defaults,
		KeepAlive: e.scalar("ollama_keep_alive"), Think: e.scalar("ollama_think"),
	})
}

// scalar returns a param as JSON: a number or a boolean where it is one, else a text.
func (e *entry) scalar(key string) json.RawMessage {
	text := e.Text(key)
	number := json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "-0123456789")
	if text == "" || text == "true" || text == "false" || number {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text) // of text
	return raw
}
