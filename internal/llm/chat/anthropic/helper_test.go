package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// provider is a provider whose API answers every request with the same bytes.
type provider struct {
	answer []byte
	status int
	header http.Header // of the last request
	path   string
	body   []byte
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.header, p.path = r.Header, r.URL.Path
	p.body, _ = io.ReadAll(r.Body)
	return &http.Response{
		StatusCode: max(p.status, http.StatusOK), Request: r, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(p.answer)),
	}, nil
}

// open returns a provider with the options; it sets endpoint and model.
func (p *provider) open(o anthropic.ProviderOptions) chat.Provider {
	o.Endpoint = upstream.New(upstream.Options{
		Model: "assistant", BaseURL: "http://api.test", Header: http.Header{"X-Api-Key": {"sk-secret"}},
		Secrets: []string{"sk-secret"}, HTTP: &http.Client{Transport: p},
	})
	o.Model = "claude-test"
	return anthropic.NewProvider(o)
}

// sent returns the body that the provider gets for a request.
func sent(t testing.TB, o anthropic.ProviderOptions, r *chat.Request) []byte {
	t.Helper()
	p := &provider{answer: []byte(hello)}
	if _, err := chat.Collect(p.open(o).Chat(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	return p.body
}

// deltas returns the deltas of an answer.
func deltas(t testing.TB, answer []byte) ([]chat.Delta, error) {
	t.Helper()
	var all []chat.Delta
	p := &provider{answer: answer}
	for d, err := range p.open(anthropic.ProviderOptions{}).Chat(t.Context(), question("hi")) {
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	return all, nil
}

func question(text string) *chat.Request {
	return &chat.Request{Messages: []chat.Message{chat.Text(chat.RoleUser, text)}}
}

// indent indents JSON and preserves the order of fields.
func indent(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// sse returns a stream of events, each one line of JSON with its type.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var typed struct{ Type string }
		_ = json.Unmarshal([]byte(e), &typed)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", typed.Type, e)
	}
	return b.String()
}

var (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}}`
	ping  = `{"type":"ping"}`
	end   = `{"type":"message_stop"}`
	hello = sse(start, textStart(0), textPiece(0, "Hello"), stop(0), change("end_turn", 15), end)
)

func textStart(i int) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i)
}

func textPiece(i int, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`, i, text)
}

func callStart(i int, id, name, input string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":%s}}`, i, id, name, input)
}

func callPiece(i int, piece string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, i, piece)
}

func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func change(reason string, tokens int) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, reason, tokens)
}
