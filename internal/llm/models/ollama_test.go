package models_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/models"
)

// ollamaServer is an Ollama server whose model calls f01 and then says its result.
func ollamaServer(t *testing.T, bodies *[]string, header *http.Header) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		*bodies, *header = append(*bodies, string(raw)), r.Header
		if r.URL.Path != "/api/chat" {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(string(raw), `"tool_name":"f01"`) {
			fmt.Fprintln(w, `{"message":{"role":"assistant","content":"It is done."},"done":false}`)
		} else {
			fmt.Fprintln(w, `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f01","arguments":{"x":1}}}]},"done":false}`)
		}
		fmt.Fprintln(w, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":3}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestOllama(t *testing.T) {
	var bodies []string
	var header http.Header
	server := ollamaServer(t, &bodies, &header)
	set, problems, _ := open(t, fmt.Sprintf("models: [{name: m, from: 'ollama:qwen3:8b', params: {endpoint: '%s', tools: f01, "+
		"ollama_num_ctx: 16384, ollama_seed: 3, ollama_keep_alive: -1, ollama_think: false, ollama_api_key: %s, ollama_stop: [END]}}]\n",
		server.URL, key), functions(t, 3))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	answer := must(t, set, "m", said("add one"))
	if text(answer) != "It is done." || answer.Usage.Input != 18 {
		t.Errorf("%q, %+v", text(answer), answer.Usage)
	}
	if len(bodies) != 2 || header.Get("Authorization") != "Bearer "+key {
		t.Fatalf("%d requests, with %v", len(bodies), header)
	}
	for _, want := range []string{
		`"model":"qwen3:8b"`, `"options":{"num_ctx":16384,"seed":3,"stop":["END"]}`, `"think":false`, `"keep_alive":-1`,
		`"tool_calls":[{"function":{"name":"f01","arguments":{"x":1}}}]`, `{"role":"tool","content":"\"done\"","tool_name":"f01"}`,
	} {
		if !strings.Contains(bodies[1], want) {
			t.Errorf("%s lacks %s", bodies[1], want)
		}
	}
}

func TestOllamaParams(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{"", ""}, // neither a key nor an endpoint is needed
		{"ollama_keep_alive: 30m, ollama_think: low", ""},
		{"endpoint: 'http://127.0.0.1:11434/v1'", "error: params.endpoint is the base URL; leave /v1 out"},
		{"endpoint: 'http://127.0.0.1:11434/api'", "error: params.endpoint is the base URL; leave /api out"},
		{"openai_api_key: k", "error: unknown param"},
		{"ollama_num_ctx: many", `error: params.ollama_num_ctx takes a whole number, not "many"`},
	} {
		set, problems, _ := open(t, "models: [{name: m, from: 'ollama:qwen3', params: {"+c.params+"}}]\n", nil)
		if got := texts(problems); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s:\ngot  %s\nwant %s", c.params, got, c.want)
		}
		if status := set.Infos()[0].Status; (status == models.StatusReady) != (c.want == "") {
			t.Errorf("%s: %s", c.params, status)
		}
	}
}
