package ollama_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/ollama"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// chatRequest is api.ChatRequest of Ollama, whose server ignores what it does not know; this one
// refuses it.
type chatRequest struct {
	Model    string
	Messages []struct {
		Role      string
		Content   string
		Thinking  string
		Images    [][]byte // base64
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string
				Arguments map[string]any
			}
		} `json:"tool_calls"`
		ToolName string `json:"tool_name"`
	}
	Tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        map[string]any
		}
	}
	Format    json.RawMessage
	Options   map[string]any
	Think     any
	KeepAlive any `json:"keep_alive"`
	Stream    *bool

	Truncate, Shift *bool
}

// server is an Ollama server that answers with lines. Its requests are checked.
type server struct {
	*httptest.Server
	status int
	lines  []string
	last   string // the body of the last request
}

func serve(t *testing.T, status int, lines ...string) *server {
	s := &server{status: status, lines: lines}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		s.last = string(raw)
		d := json.NewDecoder(strings.NewReader(s.last))
		d.DisallowUnknownFields()
		var asked chatRequest
		switch err := d.Decode(&asked); {
		case r.Method != http.MethodPost || r.URL.Path != "/api/chat":
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		case err != nil || asked.Stream == nil || !*asked.Stream:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":%q}`, fmt.Sprint("invalid request: ", err))
			return
		}
		for _, m := range asked.Messages {
			if m.Role != "system" && m.Role != "user" && m.Role != "assistant" && m.Role != "tool" {
				t.Errorf("role %q", m.Role)
			}
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(s.status)
		for _, line := range s.lines {
			fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) model(o ollama.ProviderOptions) chat.Provider {
	o.Endpoint = upstream.New(upstream.Options{Model: "m", BaseURL: s.URL, Lines: true, Retries: 0})
	o.Model = "qwen3:8b"
	return ollama.NewProvider(o)
}

const (
	text = `{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":%q},"done":false}`
	done = `{"model":"qwen3:8b","message":{"role":"assistant","content":""},"done":true,"done_reason":%q,"prompt_eval_count":26,"eval_count":29}`
)

func ask(t *testing.T, p chat.Provider, r *chat.Request) (*chat.Response, error) {
	t.Helper()
	return chat.Collect(p.Chat(t.Context(), r))
}

func hello() *chat.Request {
	return &chat.Request{Form: chat.FormOpenAI, Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")}}
}

func TestAnswer(t *testing.T) {
	s := serve(t, 200, `{"message":{"role":"assistant","content":"","thinking":"Let me see."},"done":false}`,
		fmt.Sprintf(text, "Hel"), fmt.Sprintf(text, "lo"), fmt.Sprintf(done, "stop"))
	answer, err := ask(t, s.model(ollama.ProviderOptions{}), hello())
	if err != nil {
		t.Fatal(err)
	}
	if answer.Message().Text() != "Hello" || answer.Reason != chat.ReasonStop ||
		answer.Usage.Input != 26 || answer.Usage.Output != 29 {
		t.Errorf("%+v", answer)
	}
	if answer.Parts[0].Kind != chat.PartThinking || answer.Parts[0].Text != "Let me see." {
		t.Errorf("%+v", answer.Parts)
	}
	const body = `{"model":"qwen3:8b","messages":[{"role":"user","content":"hi"}],"stream":true,"truncate":false,"shift":false}`
	if s.last != body {
		t.Errorf("sent %s, want %s", s.last, body)
	}
	s.lines = []string{fmt.Sprintf(text, "and so"), fmt.Sprintf(done, "length")}
	if answer, err = ask(t, s.model(ollama.ProviderOptions{}), hello()); err != nil || answer.Reason != chat.ReasonLength {
		t.Errorf("%+v, %v", answer, err)
	}
}

// Calls come whole, several in a line or in several lines, with and without ids, and the
// answer ends with stop.
func TestCalls(t *testing.T) {
	s := serve(t, 200,
		`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{"x":1}}},`+
			`{"id":"c9","function":{"name":"g","arguments":{}}}]},"done":false}`,
		`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":2}}}]},"done":false}`,
		fmt.Sprintf(done, "stop"))
	answer, err := ask(t, s.model(ollama.ProviderOptions{}), hello())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range answer.Message().Calls() {
		got = append(got, c.ID+" "+c.Name+c.Arguments)
	}
	if want := `call_1_0 f{"x":1}, c9 g{}, call_1_2 f{"x":2}`; strings.Join(got, ", ") != want || answer.Reason != chat.ReasonCalls {
		t.Errorf("%s, %s", got, answer.Reason)
	}
}

func TestRequest(t *testing.T) {
	s := serve(t, 200, fmt.Sprintf(done, "stop"))
	temperature, raw := 0.5, func(text string) json.RawMessage { return json.RawMessage(text) }
	r := &chat.Request{
		Form: chat.FormOpenAI,
		Messages: []chat.Message{
			chat.Text(chat.RoleSystem, "Be brief."),
			{Role: chat.RoleUser, Parts: []chat.Part{{Kind: chat.PartText, Text: "what is it?"}, {
				Kind: chat.PartImage, Image: &chat.Image{MediaType: "image/png", Data: "aGk="},
			}}},
			{Role: chat.RoleAssistant, Parts: []chat.Part{
				{Kind: chat.PartThinking, Text: "Hm."},
				{Kind: chat.PartCall, Call: &chat.Call{ID: "c1", Name: "f", Arguments: `{"x":1}`}},
				{Kind: chat.PartCall, Call: &chat.Call{ID: "c2", Name: "g", Arguments: "not JSON"}},
			}},
			{Role: chat.RoleTool, Parts: []chat.Part{
				{Kind: chat.PartResult, Result: &chat.CallResult{ID: "c1", Parts: []chat.Part{{Kind: chat.PartText, Text: "one"}}}},
				{Kind: chat.PartResult, Result: &chat.CallResult{ID: "c2", Parts: []chat.Part{{Kind: chat.PartText, Text: "two"}}}},
			}},
		},
		Tools:  []chat.Tool{{Name: "f", Description: "Does.", Parameters: raw(`{"type":"object"}`)}, {Name: "g"}, {Name: "h"}},
		Choice: chat.Choice{Mode: chat.ChoiceAuto, Allowed: []string{"f", "g"}},
		Settings: chat.Settings{
			MaxTokens: 50, Temperature: &temperature, Effort: "none",
			Format: raw(`{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}`),
		},
		Extra: map[string]json.RawMessage{"seed": raw("7"), "logprobs": raw("false"), "n": raw("1"), "max_tokens": raw("50"), "user": raw(`"ann"`)},
	}
	model := s.model(ollama.ProviderOptions{
		Options:   map[string]json.RawMessage{"num_ctx": raw("16384"), "temperature": raw("0")},
		KeepAlive: raw(`"30m"`), Think: raw("true"),
	})
	if _, err := ask(t, model, r); err != nil {
		t.Fatal(err)
	}
	const want = `{"model":"qwen3:8b","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"what is it?","images":["aGk="]},` +
		`{"role":"assistant","content":"","thinking":"Hm.","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":{}}}]},` +
		`{"role":"tool","content":"one","tool_name":"f"},{"role":"tool","content":"two","tool_name":"g"}],` +
		`"tools":[{"type":"function","function":{"name":"f","description":"Does.","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}],` +
		`"format":{"type":"object"},"options":{"num_ctx":16384,"num_predict":50,"seed":7,"temperature":0.5},"think":false,"keep_alive":"30m","stream":true,"truncate":false,"shift":false}`
	if s.last != want {
		t.Errorf("sent\n%s\nwant\n%s", s.last, want)
	}
	r.Choice = chat.Choice{Mode: chat.ChoiceNone}
	if _, err := ask(t, model, r); err != nil || strings.Contains(s.last, `"tools"`) {
		t.Errorf("with tool_choice none: %v, %s", err, s.last)
	}
}

// What Ollama does not have is refused by name, before anything is sent.
func TestRefused(t *testing.T) {
	s := serve(t, 200, fmt.Sprintf(done, "stop"))
	no := false
	for _, c := range []struct {
		change func(*chat.Request)
		want   string
	}{
		{func(r *chat.Request) { r.Choice.Mode = chat.ChoiceRequired }, "tool_choice: Ollama cannot be made to call a tool: tool_choice takes auto and none"},
		{
			func(r *chat.Request) { r.Settings.ParallelCalls = &no },
			"parallel_tool_calls: Ollama cannot limit an answer to one call; leave parallel_tool_calls out",
		},
		{
			func(r *chat.Request) { r.Extra = map[string]json.RawMessage{"logprobs": json.RawMessage("true")} },
			"logprobs: Ollama has no field logprobs; leave it out",
		},
		{func(r *chat.Request) { r.Extra = map[string]json.RawMessage{"n": json.RawMessage("2")} }, "n: Ollama has no field n; leave it out"},
		{
			func(r *chat.Request) { r.Tools = []chat.Tool{{Raw: json.RawMessage(`{"type":"web_search"}`)}} },
			"tools[0]: Ollama has no tools of its own; send functions",
		},
		{func(r *chat.Request) {
			r.Form, r.Extra = chat.FormResponses, map[string]json.RawMessage{"top_logprobs": json.RawMessage("3")}
		}, "top_logprobs: Ollama has no field top_logprobs; leave it out"},
		{func(r *chat.Request) {
			r.Form, r.Extra = chat.FormResponses, map[string]json.RawMessage{"text": json.RawMessage(`{"verbosity":"low"}`)}
		}, "text.verbosity: Ollama has no field text.verbosity; leave it out"},
		{func(r *chat.Request) {
			r.Messages[0].Parts[0] = chat.Part{Kind: chat.PartImage, Image: &chat.Image{URL: "https://example.com/a.png"}}
		}, "messages[0]: an image is sent by URL, which Ollama does not fetch: send the data as a data: URL"},
		{
			func(r *chat.Request) { r.Messages[0].Parts[0] = chat.Part{Kind: chat.PartFile, File: &chat.File{}} },
			"messages[0]: a file is sent, which Ollama does not take: send its text",
		},
	} {
		r := hello()
		c.change(r)
		_, err := ask(t, s.model(ollama.ProviderOptions{}), r)
		failed := chat.AsError(err)
		if got := failed.Param + ": " + failed.Message; got != c.want || s.last != "" {
			t.Errorf("got %s (sent %q), want %s", got, s.last, c.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status int
		lines  []string
		code   errcode.Code
		want   string
	}{
		{404, []string{`{"error":"model \"qwen3:8b\" not found, try pulling it first"}`}, errcode.ProviderRefused, "not found, try pulling it first"},
		{400, []string{`{"error":"registry.ollama.ai/library/x does not support tools"}`}, errcode.InvalidRequest, "does not support tools"},
		{
			400,
			[]string{`{"error":"request (8889 tokens) exceeds the available context size (4096 tokens), try increasing it"}`},
			errcode.InvalidRequest, "exceeds the available context size (4096 tokens)",
		},
		{500, []string{`{"error":"model requires more system memory (9 GiB) than is available"}`}, errcode.ProviderError, "requires more system memory"},
		{
			200,
			[]string{fmt.Sprintf(text, "a"), `{"error":"an error was encountered while running the model: CUDA error"}`},
			errcode.ProviderError, "in the middle of the answer: an error was encountered",
		},
		{200, []string{fmt.Sprintf(text, "a")}, errcode.StreamBroken, "the provider's answer ended unexpectedly"},
		{200, []string{`{"message":`}, errcode.StreamBroken, "the provider's answer is not JSON"},
		{200, []string{"<html>"}, errcode.StreamBroken, "HTML page"},
		{200, nil, errcode.StreamBroken, "ended unexpectedly"},
	} {
		s := serve(t, c.status, c.lines...)
		_, err := ask(t, s.model(ollama.ProviderOptions{}), hello())
		failed := chat.AsError(err)
		if failed.Code != c.code || !strings.Contains(failed.Message, c.want) {
			t.Errorf("%s: got %s %s", c.lines, failed.Code, failed.Message)
		}
	}
}

// A line may be longer than the buffer of the stream, and the last one may have no end.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("long ", 200_000)
	s := serve(t, 200, fmt.Sprintf(text, long), "", fmt.Sprintf(done, "stop"))
	answer, err := ask(t, s.model(ollama.ProviderOptions{}), hello())
	if err != nil || answer.Message().Text() != long {
		t.Errorf("%v", err)
	}
}
