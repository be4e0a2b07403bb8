package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

var question = &chat.Request{Messages: []chat.Message{chat.Text(chat.RoleUser, "hi")}}

// An answer without end ends with an error that names the limit and the model. The
// provider sends little more than the limit.
func TestAnswersWithoutEnd(t *testing.T) {
	apis := map[string]func(e *upstream.Endpoint) chat.Provider{
		"openai": func(e *upstream.Endpoint) chat.Provider {
			return openai.NewProvider(openai.ProviderOptions{Model: "x", Endpoint: e})
		},
		"anthropic": func(e *upstream.Endpoint) chat.Provider {
			return anthropic.NewProvider(anthropic.ProviderOptions{Model: "x", Endpoint: e})
		},
		"responses": func(e *upstream.Endpoint) chat.Provider {
			return responses.NewProvider(responses.ProviderOptions{Model: "x", Endpoint: e})
		},
	}
	call := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,%s"function":{%s"arguments":%q}}]}}]}`
	much := strings.Repeat("x", 16<<10)
	for name, c := range map[string]struct {
		api, first, more, says string // %d in more: the number of the event
		bytes                  int
	}{
		"arguments": {
			"openai", fmt.Sprintf(call, `"id":"c",`, `"name":"f",`, `{"a":"`), fmt.Sprintf(call, "", "", much),
			"the arguments of a tool call exceed 1 MiB", 16 << 20,
		},
		"arguments in pieces": {
			"openai", fmt.Sprintf(call, `"id":"c",`, `"name":"f",`, `{"a":"`), fmt.Sprintf(call, "", "", strings.Repeat("x", 256)),
			"the arguments of a tool call exceed 1 MiB", 32 << 20,
		},
		"arguments without a name": {
			"openai", fmt.Sprintf(call, `"id":"c",`, "", `{"a":"`), fmt.Sprintf(call, "", "", much),
			"the arguments of a tool call exceed 1 MiB", 16 << 20,
		},
		"calls": {
			"openai",
			"{}", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%[1]d","function":{"name":"f","arguments":"{}"}}]}}]}`,
			"more than 1024 tool calls", 16 << 20,
		},
		"text": {"openai", "{}", `{"choices":[{"index":0,"delta":{"content":"` + much + `"}}]}`, "its text exceeds 16 MiB", 32 << 20},
		"Anthropic's arguments": {
			"anthropic", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + much + `"}}`,
			"the arguments of a tool call exceed 1 MiB", 16 << 20,
		},
		"a hosted tool's arguments": {
			"anthropic",
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"c","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + much + `"}}`,
			"the arguments of a tool call exceed 1 MiB", 16 << 20,
		},
		"Anthropic's calls": {
			"anthropic", `{"type":"ping"}`,
			`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%[1]d","name":"f","input":{}}}`, "more than 1024 tool calls", 16 << 20,
		},
		"Anthropic's thinking": {
			"anthropic", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"` + much + `"}}`, "its text exceeds 16 MiB", 32 << 20,
		},
		"a signature": {
			"anthropic", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + much + `"}}`, "its text exceeds 16 MiB", 32 << 20,
		},
		"the arguments of responses": {
			"responses",
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"` + much + `"}`, "the arguments of a tool call exceed 1 MiB", 16 << 20,
		},
		"the calls of responses": {
			"responses", `{"type":"x"}`,
			`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"i%[1]d","call_id":"c%[1]d","name":"f","arguments":""}}`,
			"more than 1024 tool calls", 16 << 20,
		},
		"the items of responses": {
			"responses", `{"type":"x"}`,
			`{"type":"response.output_item.added","output_index":%d,"item":{"type":"reasoning","id":"i%[1]d"}}`, "more than 10000 items", 8 << 20,
		},
		"the text of responses": {
			"responses", `{"type":"x"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"` + much + `"}`,
			"its text exceeds 16 MiB", 32 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan int, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sent <- endless(w, c.first, c.more) }))
			t.Cleanup(server.Close)
			p := apis[c.api](upstream.New(upstream.Options{Model: "assistant", BaseURL: server.URL, HTTP: server.Client()}))
			_, err := chat.Collect(p.Chat(t.Context(), question))
			failed := chat.AsError(err)
			if err == nil || failed.Code != errcode.StreamBroken || !strings.Contains(failed.Message, c.says) || !strings.Contains(failed.Message, `"assistant"`) {
				t.Errorf("%v", err)
			}
			if n := <-sent; n > c.bytes {
				t.Errorf("the provider sent %d bytes, want at most %d", n, c.bytes)
			}
		})
	}
}

// endless writes an event and then others until the client leaves. It returns how many
// bytes it wrote.
func endless(w io.Writer, first, more string) int {
	n, err := fmt.Fprintf(w, "data: %s\n\n", first)
	for i := 0; err == nil; i++ {
		event := more
		if strings.Contains(more, "%") {
			event = fmt.Sprintf(more, i)
		}
		var m int
		m, err = io.WriteString(w, "data: "+event+"\n\n")
		n += m
	}
	return n
}

// words decodes each event as text; "-" has none.
type words struct{}

func (words) Event(e upstream.Event) ([]chat.Delta, bool, error) {
	if string(e.Data) == "-" {
		return []chat.Delta{{Kind: chat.DeltaUsage}}, false, nil
	}
	return []chat.Delta{{Kind: chat.DeltaText, Text: string(e.Data)}}, string(e.Data) == "end", nil
}

func (words) End() ([]chat.Delta, error) { return nil, nil }

// Comments, pings and events without content extend the idle timeout, but not for ever.
func TestPingsExtendTheIdleTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		ping   string
		pings  int // a minute apart
		fails  string
		within time.Duration
	}{
		"silence":               {"", 100, "nothing for 2m0s", 2 * time.Minute},
		"a few comments":        {": keep-alive\n\n", 4, "", 10 * time.Minute},
		"comments without end":  {": keep-alive\n\n", 100, "only comments, pings and empty events for 6m0s", 6 * time.Minute},
		"a comment's bytes":     {":", 100, "only comments, pings and empty events for 6m0s", 6 * time.Minute},
		"empty events":          {"\n\n", 100, "only comments, pings and empty events for 6m0s", 6 * time.Minute},
		"events without text":   {"data: -\n\n", 100, "only comments, pings and empty events for 6m0s", 6 * time.Minute},
		"content every minute":  {"data: x\n\n", 100, "", 101 * time.Minute},
		"a name without a data": {"event: ping\n\n", 100, "only comments, pings and empty events for 6m0s", 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := upstream.New(upstream.Options{
					Model: "m", BaseURL: "http://provider/v1", Timeout: time.Minute, IdleTimeout: 2 * time.Minute,
					HTTP: &http.Client{Transport: inBubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						io.WriteString(w, "data: begin\n\n")
						w.(http.Flusher).Flush()
						for range c.pings {
							select {
							case <-time.After(time.Minute):
							case <-r.Context().Done():
								return
							}
							io.WriteString(w, c.ping)
							w.(http.Flusher).Flush()
						}
						io.WriteString(w, "\n\ndata: end\n\n")
					}))},
				})
				began := time.Now()
				answer, err := chat.Collect(e.Chat(t.Context(), "/x", nil, nil, words{}))
				took := time.Since(began)
				if c.fails == "" {
					if err != nil || !strings.HasSuffix(answer.Message().Text(), "end") {
						t.Errorf("%v after %s", err, took)
					}
				} else if failed := chat.AsError(err); err == nil || failed.Code != errcode.ProviderTimeout || !strings.Contains(failed.Message, c.fails) {
					t.Errorf("%v after %s", err, took)
				}
				if took > c.within {
					t.Errorf("it took %s, want at most %s", took, c.within)
				}
			})
		})
	}
}

// TestAnswersWithoutMemory ends a large answer whose memory other requests hold, as one event and
// as one document.
func TestAnswersWithoutMemory(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, body := range map[string]string{"an event": "data: " + large + "\n\n", "a document": `{"a":"` + large + `"}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				budget := memory.NewBudget(1 << 20)
				for _, other := range []string{"bob", "eve"} {
					ctx, end := budget.Begin(t.Context(), other)
					defer end()
					if err := memory.Take(ctx, 1<<20); err != nil {
						t.Fatal(err)
					}
				}
				ctx, end := budget.Begin(t.Context(), "ann")
				defer end()
				e := upstream.New(upstream.Options{Model: "m", BaseURL: "http://provider/v1", HTTP: &http.Client{Transport: inBubble(t,
					http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))}})
				began := time.Now()
				if _, err := all(ctx, e); err == nil || err.Code != errcode.RateLimited || !strings.Contains(err.Message, "the answer is large") {
					t.Errorf("%v", err)
				}
				if waited := time.Since(began); waited != 10*time.Second {
					t.Errorf("it waited %s", waited)
				}
			})
		})
	}
}
