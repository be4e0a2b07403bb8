package embeddings_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestOllamaEmbeds(t *testing.T) {
	p := newProvider(t, func(_ int, r request, w http.ResponseWriter) { answer(w, r) })
	for _, c := range []struct{ params, authorization string }{{"", ""}, {", ollama_api_key: k1", "Bearer k1"}} {
		pod := podtest.Load(t, "embeddings: [{name: e, from: 'ollama:nomic-embed-text:v1.5', params: {endpoint: '"+p.URL+"/'"+c.params+"}}]\n")
		m, problem := embeddings.Open(pod, 0, p.options())
		if problem != nil {
			t.Fatal(problem)
		}
		if _, err := m.Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		sent := p.sent()
		r := sent[len(sent)-1]
		if r.path != "POST /v1/embeddings" || r.header.Get("Authorization") != c.authorization ||
			r.body != `{"model":"nomic-embed-text:v1.5","input":["a"],"encoding_format":"float"}` {
			t.Errorf("%s %s with %v", r.path, r.body, r.header)
		}
	}
}

func TestOllamaParams(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{"", ""}, // neither a key nor an endpoint is needed
		{"openai_api_key: k", "unknown param"},
		{"endpoint: 'http://127.0.0.1:11434/v1'", "params.endpoint is the base URL; leave /v1 out"},
		{"endpoint: 'http://127.0.0.1:11434/api/embed'", "params.endpoint is the base URL; leave /api/embed out"},
	} {
		pod := podtest.Load(t, "embeddings: [{name: e, from: 'ollama:nomic-embed-text', params: {"+c.params+"}}]\n")
		_, problem := embeddings.Open(pod, 0, embeddings.Options{})
		got := ""
		if problem != nil {
			got = problem.Message
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.params, got, c.want)
		}
	}
}
