package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

func mustParse(t *testing.T, body string) *responses.Request {
	t.Helper()
	r, err := responses.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options(r *responses.Request) responses.EncoderOptions {
	return responses.EncoderOptions{ID: "resp_0a1b2c", Model: "assistant", Created: time.Unix(1_700_000_000, 0), Request: r}
}

// stream encodes deltas and closes the encoder.
func stream(t *testing.T, o responses.EncoderOptions, deltas ...chat.Delta) string {
	t.Helper()
	var b bytes.Buffer
	e := responses.NewEncoder(&b, o)
	for _, d := range deltas {
		if err := e.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sequence yields deltas.
func sequence(deltas []chat.Delta) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// sse returns the stream of events, each given as JSON with its type.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var named struct{ Type string }
		_ = json.Unmarshal([]byte(e), &named)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", named.Type, e)
	}
	return b.String()
}

// fake is a provider that answers every request with the same bytes and records the
// last request.
type fake struct {
	*httptest.Server
	status      int
	contentType string
	answer      string
	body        []byte
	path        string
}

func newFake(t *testing.T, answer string) *fake {
	f := &fake{status: http.StatusOK, contentType: "text/event-stream", answer: answer}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.body, _ = io.ReadAll(r.Body)
		f.path = r.URL.Path
		w.Header().Set("Content-Type", f.contentType)
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.answer)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) provider(o responses.ProviderOptions) chat.Provider {
	o.Endpoint = upstream.New(upstream.Options{Model: "assistant", BaseURL: f.URL + "/v1", HTTP: f.Client()})
	if o.Model == "" {
		o.Model = "gpt-5"
	}
	return responses.NewProvider(o)
}

// sent returns the body that the provider sends for a request, indented.
func sent(t *testing.T, o responses.ProviderOptions, r *chat.Request) []byte {
	t.Helper()
	f := newFake(t, sse(`{"type":"response.completed","response":{"status":"completed","output":[]}}`))
	if _, err := chat.Collect(f.provider(o).Chat(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	if f.path != "/v1/responses" {
		t.Errorf("path %s", f.path)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, f.body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

// received collects the deltas of an answer.
func received(t *testing.T, answer string) (*chat.Response, []chat.Delta, error) {
	t.Helper()
	return deltasOf(t, newFake(t, answer))
}

func deltasOf(t *testing.T, f *fake) (*chat.Response, []chat.Delta, error) {
	t.Helper()
	var c chat.Collector
	var all []chat.Delta
	for d, err := range f.provider(responses.ProviderOptions{}).Chat(t.Context(), &chat.Request{Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")}}) {
		if err != nil {
			return c.Response(), all, err
		}
		all = append(all, d)
		c.Add(d)
	}
	return c.Response(), all, nil
}
