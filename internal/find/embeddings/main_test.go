package embeddings_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the secret that no message may show.
const key = "sk-live-0123456789"

// pauses writes down how long a model waits, and does not wait.
type pauses struct {
	mu   sync.Mutex
	list []time.Duration
}

func (p *pauses) pause(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, d)
	return ctx.Err()
}

// provider is a server on 127.0.0.1 whose answers a test gives.
type provider struct {
	*httptest.Server
	pauses

	mu       sync.Mutex
	requests []request
	handle   func(n int, r request, w http.ResponseWriter)
}

// request is what a provider was sent.
type request struct {
	header http.Header
	path   string
	body   string

	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions"`
}

// newProvider serves handle; n counts the requests from 1.
func newProvider(t testing.TB, handle func(n int, r request, w http.ResponseWriter)) *provider {
	t.Helper()
	p := &provider{handle: handle}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := request{header: r.Header, path: r.Method + " " + r.URL.Path, body: string(body)}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("request %q: %v", body, err)
		}
		p.mu.Lock()
		p.requests = append(p.requests, got)
		n := len(p.requests)
		p.mu.Unlock()
		p.handle(n, got, w)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) sent() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]request(nil), p.requests...)
}

// open makes the model of a provider; params is what stands in YAML's braces
// behind the endpoint and the key.
func (p *provider) open(t testing.TB, params string) embeddings.Model {
	t.Helper()
	if params != "" {
		params = ", " + params
	}
	t.Setenv("TEST_KEY", key)
	pod := podtest.Load(t, "embeddings: [{name: e, from: 'openai:m', params: {endpoint: '"+p.URL+"/v1', openai_api_key: '${env:TEST_KEY}'"+params+"}}]\n")
	m, problem := embeddings.Open(pod, 0, p.options())
	if problem != nil {
		t.Fatal(problem)
	}
	return m
}

func (p *provider) options() embeddings.Options {
	return embeddings.WithPause(embeddings.Options{HTTP: p.Client()}, p.pause)
}

// answer writes vectors: each text's length and its number in the batch.
func answer(w http.ResponseWriter, r request) {
	type item struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var data []item
	for i := len(r.Input) - 1; i >= 0; i-- { // in reverse: only the index counts
		data = append(data, item{i, []float32{float32(len(r.Input[i])), float32(i)}})
	}
	json.NewEncoder(w).Encode(map[string]any{"data": data, "usage": map[string]int{"prompt_tokens": 7, "total_tokens": 7}})
}

func text(status int, body string) func(int, request, http.ResponseWriter) {
	return func(_ int, _ request, w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// failure wants a *Error without the key.
func failure(t *testing.T, err error) *embeddings.Error {
	t.Helper()
	var e *embeddings.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *Error", err, err)
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the error shows the key: %v", err)
	}
	return e
}
