package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// transport answers without a network, for tests with thousands of answers.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// streaming returns a provider whose answers are what body returns. Requests are passed
// to sent, which may be nil.
func streaming(base string, body func() io.Reader, sent func([]byte)) chat.Provider {
	return openai.NewProvider(openai.ProviderOptions{Model: "gpt-x", Endpoint: upstream.New(upstream.Options{
		Model: "m", BaseURL: base,
		HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			request, err := io.ReadAll(r.Body)
			if err == nil && sent != nil {
				sent(request)
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body())}, err
		})},
	})})
}

func saying(stream string) chat.Provider {
	return streaming("http://127.0.0.1/v1", func() io.Reader { return strings.NewReader(stream) }, nil)
}

var hello = &chat.Request{Model: "m", Messages: []chat.Message{chat.Text(chat.RoleUser, "hello")}}

// deltas reads an answer and formats each delta as a word.
func deltas(p chat.Provider) ([]string, error) {
	var words []string
	for d, err := range p.Chat(context.Background(), hello) {
		if err != nil {
			return words, err
		}
		words = append(words, word(d))
	}
	return words, nil
}

func word(d chat.Delta) string {
	switch d.Kind {
	case chat.DeltaStart:
		return "start"
	case chat.DeltaText:
		return "text:" + d.Text + string(d.Raw)
	case chat.DeltaThinking:
		return "think:" + d.Text
	case chat.DeltaRefusal:
		return "refuse:" + d.Text
	case chat.DeltaCall:
		id := d.Call.ID
		if len(id) > 20 {
			id = "generated"
		}
		return fmt.Sprintf("call%d:%s:%s", d.Index, id, d.Call.Name)
	case chat.DeltaArguments:
		return fmt.Sprintf("args%d:%s", d.Index, d.Text)
	case chat.DeltaCallEnd:
		return fmt.Sprintf("end%d", d.Index)
	case chat.DeltaUsage:
		u := d.Usage
		return fmt.Sprintf("usage:%d/%d/%d/%d/%d", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning)
	case chat.DeltaFinish:
		return "finish:" + string(d.Reason)
	}
	return fmt.Sprintf("%+v", d)
}

// stream returns a stream of chunks; a value that is not an object is written as is.
func stream(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		switch {
		case strings.HasPrefix(c, "finish:"):
			c = fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, c[len("finish:"):])
		case strings.HasPrefix(c, "delta:"):
			c = `{"choices":[{"index":0,"delta":` + c[len("delta:"):] + `,"finish_reason":null}]}`
		case strings.HasPrefix(c, "calls:"):
			c = `{"choices":[{"index":0,"delta":{"tool_calls":[` + c[len("calls:"):] + `]},"finish_reason":null}]}`
		}
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

const done = "[DONE]"

func TestStreams(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"text": {
			stream(`delta:{"role":"assistant","content":"","refusal":null}`, `delta:{"content":"a"}`, `delta:{"content":"b"}`, "finish:stop",
				`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":1}}}`, done),
			"start text:a text:b usage:9/2/4/3/1 finish:stop",
		},
		"thinking": {
			stream(`delta:{"reasoning_content":"a"}`, `delta:{"reasoning":"b"}`, `delta:{"content":"c"}`, "finish:stop", done),
			"start think:a think:b text:c finish:stop",
		},
		"refusal":          {stream(`delta:{"refusal":"no"}`, "finish:stop", done), "start refuse:no finish:stop"},
		"length":           {stream(`delta:{"content":"a"}`, "finish:length", done), "start text:a finish:length"},
		"filter":           {stream("finish:content_filter", done), "start finish:filter"},
		"no DONE":          {stream(`delta:{"content":"a"}`, "finish:stop"), "start text:a finish:stop"},
		"no reason":        {stream(`delta:{"content":"a"}`, done), "start text:a finish:stop"},
		"calls, no reason": {stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}`, done), "start call0:c:f args0:{} end0 finish:calls"},
		"calls, stop": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}`, "finish:stop", done),
			"start call0:c:f args0:{} end0 finish:calls",
		},
		"tool_calls, none": {stream(`delta:{"content":"a"}`, "finish:tool_calls", done), "start text:a finish:stop"},
		"content in parts": {stream(`delta:{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "finish:stop", done), "start text:ab finish:stop"},
		"other choices": {
			stream(`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"a"}}]}`, "finish:stop", done),
			"start text:a finish:stop",
		},
		"filter results": {stream(`{"choices":[],"prompt_filter_results":[]}`, `delta:{"content":"a"}`, "finish:stop", done), "start text:a finish:stop"},
		"log probabilities": {
			stream(`{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]}}]}`, "finish:stop", done),
			`start text:a{"logprobs":{"content":[{"token":"a"}]}} finish:stop`,
		},
		"DeepSeek's cache": {
			stream(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":6}}`, done),
			"start usage:9/2/6/0/0 finish:stop",
		},
		"Moonshot's usage": {
			stream(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"completion_tokens":2,"cached_tokens":5}}]}`, done),
			"start usage:9/2/5/0/0 finish:stop",
		},
		"one call in pieces": {
			stream(`calls:{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}`, `calls:{"index":0,"function":{"arguments":"{\"a\""}}`,
				`calls:{"index":0,"function":{"arguments":":1}"}}`, `calls:{"index":0,"function":{"arguments":" \n"}}`, "finish:tool_calls", done),
			`start call0:c:f args0:{"a" args0::1} end0 finish:calls`,
		},
		"text after the object": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1}</tool>"}}`, `calls:{"index":0,"function":{"arguments":"{\"a\":2}"}}`,
				"finish:tool_calls", done),
			`start call0:c:f args0:{"a":1} end0 finish:calls`,
		},
		"an empty object first": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}`, `calls:{"index":0,"function":{"arguments":"{\"a\":"}}`,
				`calls:{"index":0,"function":{"arguments":"1}"}}`, "finish:tool_calls", done),
			`start call0:c:f args0:{"a": args0:1} end0 finish:calls`,
		},
		"no arguments": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":""}}`, `calls:{"index":1,"id":"d","function":{"name":"g"}}`, "finish:tool_calls", done),
			`start call0:c:f call1:d:g args0:{} end0 args1:{} end1 finish:calls`,
		},
		"the next index ends an empty object": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}`, `calls:{"index":1,"id":"d","function":{"name":"g","arguments":"{\"a\":1}"}}`,
				"finish:tool_calls", done),
			`start call0:c:f args0:{} end0 call1:d:g args1:{"a":1} end1 finish:calls`,
		},
		"woven": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":""}},{"index":1,"id":"d","function":{"name":"g","arguments":"{"}}`,
				`calls:{"index":0,"function":{"arguments":"{\"a\":1}"}}`, `calls:{"index":1,"function":{"arguments":"\"b\":2}"}}`, "finish:tool_calls", done),
			`start call0:c:f call1:d:g args0:{"a":1} end0 args1:{"b":2} end1 finish:calls`,
		},
		"Ollama: whole calls, index always 0": {
			stream(`calls:{"id":"c","index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}`,
				`calls:{"id":"d","index":0,"function":{"name":"f","arguments":"{\"a\":2}"}}`, "finish:stop", done),
			`start call0:c:f args0:{"a":1} end0 call1:d:f args1:{"a":2} end1 finish:calls`,
		},
		"no index, no id": {
			stream(`calls:{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"f","arguments":"{\"a\":2}"}}`, "finish:tool_calls", done),
			`start call0:generated:f args0:{"a":1} end0 call1:generated:f args1:{"a":2} end1 finish:calls`,
		},
		"no index": {
			stream(`calls:{"id":"c","function":{"name":"f","arguments":"{\"a\""}}`, `calls:{"function":{"arguments":":1}"}}`,
				`calls:{"id":"d","function":{"name":"g","arguments":"{\"b\":2}"}}`, "finish:tool_calls", done),
			`start call0:c:f args0:{"a" args0::1} end0 call1:d:g args1:{"b":2} end1 finish:calls`,
		},
		"id and name in every piece": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\""}}`, `calls:{"index":0,"id":"c","function":{"name":"f","arguments":":1}"}}`,
				"finish:tool_calls", done),
			`start call0:c:f args0:{"a" args0::1} end0 finish:calls`,
		},
		"another id in every piece": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\""}}`, `calls:{"index":0,"id":"d","function":{"name":"","arguments":":1}"}}`,
				"finish:tool_calls", done),
			`start call0:c:f args0:{"a" args0::1} end0 finish:calls`,
		},
		"the same id twice": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"c","function":{"name":"f","arguments":"{\"a\":2}"}}`,
				"finish:tool_calls", done),
			`start call0:c:f args0:{"a":1} end0 call1:generated:f args1:{"a":2} end1 finish:calls`,
		},
		"the name late": {
			stream(`calls:{"index":0,"id":"c","function":{}}`, `calls:{"index":0,"function":{"arguments":"{\"a\""}}`, `calls:{"index":0,"function":{"name":"f"}}`,
				`calls:{"index":0,"function":{"arguments":":1}"}}`, "finish:tool_calls", done),
			`start call0:c:f args0:{"a":1} end0 finish:calls`,
		},
		"arguments as an object": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":{"a":1}}}`, "finish:tool_calls", done),
			`start call0:c:f args0:{"a":1} end0 finish:calls`,
		},
		"arguments null": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":null}}`, "finish:tool_calls", done),
			`start call0:c:f args0:{} end0 finish:calls`,
		},
		"arguments cut by max_tokens": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":"}}`, "finish:length", done),
			`start call0:c:f args0:{"a": end0 finish:length`,
		},
		"braces in strings": {
			stream(`calls:{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":\"}\\\"}"}}`, `calls:{"index":0,"function":{"arguments":"\"}"}}`,
				"finish:tool_calls", done),
			`start call0:c:f args0:{"a":"}\"} args0:"} end0 finish:calls`,
		},
		"the old function_call": {
			stream(`delta:{"function_call":{"name":"f","arguments":""}}`, `delta:{"function_call":{"arguments":"{\"a\":1}"}}`, "finish:function_call", done),
			`start call0:generated:f args0:{"a":1} end0 finish:calls`,
		},
		"pieces numbered otherwise (agno-agi/agno#8880)": {
			stream(`calls:{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`calls:{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}}`, `calls:{"index":1,"function":{"arguments":":2}"}}`, "finish:tool_calls", done),
			`start call0:a:f args0:{"x":1} end0 call1:b:g args1:{"y" args1::2} end1 finish:calls`,
		},
		"a filter of Amazon (pydantic/pydantic-ai#7816)": {stream(`delta:{"content":"par"}`, "finish:guardrail_intervened", done), "start text:par finish:filter"},
		"a filter of Google":                             {stream(`delta:{"content":"par"}`, "finish:SAFETY", done), "start text:par finish:filter"},
		"empty calls": {
			stream(`calls:`, `calls:{}`, `delta:{"tool_calls":null,"content":"a"}`, "finish:stop", done),
			"start text:a finish:stop",
		},
		"not a stream": {
			`{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a","tool_calls":[
			{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"d","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
			`start text:a call0:c:f args0:{"a":1} end0 call1:d:f args1:{} end1 usage:9/2/0/0/0 finish:calls`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			words, err := deltas(saying(c.stream))
			if got := strings.Join(words, " "); err != nil || got != c.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func TestBadStreams(t *testing.T) {
	text := `delta:{"content":"a"}`
	for name, c := range map[string]struct {
		stream string
		code   errcode.Code
		says   string
	}{
		"out of resources (DeepSeek)": {stream(text, "finish:insufficient_system_resource", done), errcode.ProviderError, "failed in the middle"},
		"nothing":                     {"", errcode.StreamBroken, "no finish_reason"},
		"the end is missing":          {stream(text), errcode.StreamBroken, "no finish_reason"},
		"garbage":                     {stream(text, "{nonsense"), errcode.StreamBroken, "answer is invalid"},
		"another shape":               {stream(`"hello"`), errcode.StreamBroken, "answer is invalid"},
		"no choices":                  {`{"id":"x"}`, errcode.StreamBroken, "no choices"},
		"half a document":             {`{"choices":[`, errcode.StreamBroken, "answer is invalid"},
		"an error": {
			stream(text, `{"error":{"message":"it burns","type":"server_error","param":null,"code":null}}`), errcode.ProviderError,
			"it burns",
		},
		"an error in text": {stream(text, `{"error":"it burns"}`), errcode.ProviderError, "it burns"},
		"an error event":   {"event: error\ndata: {\"message\":\"it burns\"}\n\n", errcode.ProviderError, "it burns"},
		"busy":             {stream(`{"error":{"message":"slow down","code":429}}`), errcode.RateLimited, "slow down"},
		"rate limit":       {stream(`{"error":{"message":"slow down","type":"rate_limit_error"}}`), errcode.RateLimited, "slow down"},
		"too long a prompt": {
			stream(`{"error":{"message":"shorter","type":"invalid_request_error","code":"context_length_exceeded"}}`),
			errcode.InvalidRequest, "shorter",
		},
		"vLLM's error":     {stream(`{"object":"error","message":"bad","type":"BadRequestError","code":400}`), errcode.InvalidRequest, "bad"},
		"OpenRouter's":     {stream(text, "finish:error"), errcode.ProviderError, "in the middle"},
		"an error in JSON": {`{"error":{"message":"no key","code":"invalid_authentication"}}`, errcode.ProviderRefused, "no key"},
		"a call with no name": {
			stream(`calls:{"index":0,"id":"c","function":{"arguments":"{}"}}`, "finish:tool_calls", done), errcode.StreamBroken, "tool call without a name",
		},
		"too many calls": {
			stream(`calls:` + strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f","arguments":"{\"a\":1}"}},`, upstream.MaxCalls+1), ",")), errcode.StreamBroken,
			"more than 1024 tool calls",
		},
	} {
		t.Run(name, func(t *testing.T) {
			words, err := deltas(saying(c.stream))
			failed := chat.AsError(err)
			if err == nil || failed.Code != c.code || !strings.Contains(failed.Message, c.says) || !strings.Contains(failed.Message, `"m"`) {
				t.Errorf("%v %v", words, err)
			}
			if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "finish") }) {
				t.Errorf("it finished: %v", words)
			}
		})
	}
}

// rich is an answer with all features, in OpenAI's bytes.
var rich = stream(
	`delta:{"role":"assistant","content":"","refusal":null}`,
	`delta:{"reasoning_content":"hm"}`,
	`delta:{"content":"Zürich \u00e9 \\ \" "}`,
	`calls:{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":""}}`,
	`calls:{"index":0,"function":{"arguments":"{\"place\":\"Z}\\\"ü"}}`,
	`calls:{"index":0,"function":{"arguments":"rich\",\"n\":[{}]}"}}`,
	`calls:{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":"{}"}}`,
	"finish:tool_calls",
	`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`,
	done,
)

// A stream cut anywhere gives the whole answer or an error; what came before is a
// prefix of the whole answer, and a call that ended is whole.
func TestCutsGiveTheWholeAnswerOrAnError(t *testing.T) {
	for _, body := range []string{rich, strings.ReplaceAll(rich, "\n", "\r\n")} {
		whole, err := deltas(saying(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
			for cut := range len(body) {
				p := streaming("http://127.0.0.1", func() io.Reader {
					return io.MultiReader(strings.NewReader(body[:cut]), iotest.ErrReader(end))
				}, nil)
				checkCut(t, cut, p, whole)
			}
		}
	}
}

func checkCut(t *testing.T, cut int, p chat.Provider, whole []string) {
	t.Helper()
	words, err := deltas(p)
	without := slices.DeleteFunc(slices.Clone(whole), func(w string) bool { return strings.HasPrefix(w, "usage") })
	switch {
	case err == nil:
		if !slices.Equal(words, whole) && !slices.Equal(words, without) {
			t.Fatalf("cut at %d: %q, no error", cut, words)
		}
	case len(words) > len(whole) || !slices.Equal(words, whole[:len(words)]):
		t.Fatalf("cut at %d: %q is no beginning of %q", cut, words, whole)
	case chat.AsError(err).Code != errcode.StreamBroken:
		t.Fatalf("cut at %d: %v", cut, err)
	}
}

func TestPiecesOfTheStreamDoNotMatter(t *testing.T) {
	whole, _ := deltas(saying(rich))
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"byte": iotest.OneByteReader, "half": iotest.HalfReader,
		"data with error": iotest.DataErrReader,
	} {
		words, err := deltas(streaming("http://127.0.0.1", func() io.Reader { return wrap(strings.NewReader(rich)) }, nil))
		if err != nil || !slices.Equal(words, whole) {
			t.Errorf("%s: %q %v", name, words, err)
		}
	}
}

// Arguments may be split anywhere between chunks: the call is the same.
func TestPiecesOfArgumentsDoNotMatter(t *testing.T) {
	const arguments = `{"a":"}\\\"{","b":[{"c":{}}]}`
	for cut := range len(arguments) + 1 {
		for second := cut; second <= len(arguments); second++ {
			var chunks []string
			for i, piece := range []string{arguments[:cut], arguments[cut:second], arguments[second:]} {
				name := ""
				if i == 0 {
					name = `"name":"f",`
				}
				quoted, _ := json.Marshal(piece)
				chunks = append(chunks, fmt.Sprintf(`calls:{"index":0,"function":{%s"arguments":%s}}`, name, quoted))
			}
			r, err := chat.Collect(saying(stream(append(chunks, "finish:tool_calls", done)...)).Chat(t.Context(), hello))
			if err != nil || len(r.Parts) != 1 || r.Parts[0].Call.Arguments != arguments {
				t.Fatalf("cut at %d and %d: %+v %v", cut, second, r.Parts, err)
			}
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(rich))
	f.Add([]byte(stream(`calls:{"id":"c","function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":{"a":1}}}`, done)))
	f.Add([]byte(stream(`{"error":{"message":"x","code":1}}`)))
	f.Add([]byte(`{"choices":[{"message":{"content":["a"],"tool_calls":[{},{"function":{"name":"x"}}]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		check := newGrammar(t)
		p := streaming("http://127.0.0.1", func() io.Reader { return bytes.NewReader(body) }, nil)
		for d, err := range p.Chat(t.Context(), hello) {
			check.next(d, err)
		}
		if !check.over {
			t.Error("neither a finish nor an error")
		}
	})
}

// grammar checks the order of deltas that chat.Provider requires.
type grammar struct {
	t     *testing.T
	began bool
	over  bool
	open  map[int]string // arguments of calls
	calls int
	ids   map[string]bool
}

func newGrammar(t *testing.T) *grammar {
	return &grammar{t: t, open: map[int]string{}, ids: map[string]bool{}}
}

func (g *grammar) next(d chat.Delta, err error) {
	if g.over {
		g.t.Fatal("something follows the end")
	}
	if err != nil {
		var failed *chat.Error
		if !errors.As(err, &failed) {
			g.t.Fatalf("%T", err)
		}
		g.over = true
		return
	}
	if (d.Kind == chat.DeltaStart) == g.began {
		g.t.Fatalf("start: %+v", d)
	}
	g.began = true
	_, open := g.open[d.Index]
	switch d.Kind {
	case chat.DeltaCall:
		if d.Index != g.calls || d.Call.ID == "" || d.Call.Name == "" || g.ids[d.Call.ID] {
			g.t.Fatalf("call %d: %+v", g.calls, d.Call)
		}
		g.calls++
		g.ids[d.Call.ID] = true
		g.open[d.Index] = ""
	case chat.DeltaArguments, chat.DeltaCallEnd:
		if !open {
			g.t.Fatalf("call %d is not open", d.Index)
		}
		if d.Kind == chat.DeltaCallEnd {
			delete(g.open, d.Index)
		}
	case chat.DeltaFinish:
		if len(g.open) > 0 || (d.Reason == chat.ReasonCalls && g.calls == 0) {
			g.t.Fatalf("finish %+v with open calls %v", d, g.open)
		}
		g.over = true
	}
}

// The provider of package chattest is written from OpenAI's documentation alone.
func TestAgainstAServer(t *testing.T) {
	server, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	provider := func(idle time.Duration) chat.Provider {
		endpoint := upstream.New(upstream.Options{Model: "m", BaseURL: server.URL + "/v1", Retries: 1, Timeout: time.Minute, IdleTimeout: idle})
		return openai.NewProvider(openai.ProviderOptions{Endpoint: endpoint, Model: "gpt-x"})
	}
	good := chattest.Say(chattest.Text("Let me ", "see."), chattest.Begin("c1", "f"), chattest.Begin("c2", "g"),
		chattest.Arguments("c2", `{"b"`, `:2}`), chattest.Arguments("c1", `{"a":`, `1}`), chattest.Usage(90, 7, 64, 3))
	const want = `start text:Let me  text:see. call0:c1:f call1:c2:g args1:{"b" args1::2} end1 args0:{"a": args0:1} end0 usage:90/7/64/3/0 finish:calls`
	hang := chattest.Say(chattest.Text("a"))
	hang.Hang = true
	cut := good
	cut.Cut = 900
	small := good
	small.ChunkBytes = 7
	for name, c := range map[string]struct {
		answers []chattest.Answer
		code    errcode.Code
	}{
		"a stream":        {[]chattest.Answer{good}, ""},
		"in small pieces": {[]chattest.Answer{small}, ""},
		"after a failure": {[]chattest.Answer{chattest.RateLimited(0), good}, ""},
		"a wrong key":     {[]chattest.Answer{chattest.Unauthorized()}, errcode.ProviderRefused},
		"a hang":          {[]chattest.Answer{hang}, errcode.ProviderTimeout},
		"half a stream":   {[]chattest.Answer{cut}, errcode.StreamBroken},
		"an error":        {[]chattest.Answer{chattest.Say(chattest.Text("a"), chattest.Fail("it burns"))}, errcode.ProviderError},
		"comments keep it open": {[]chattest.Answer{chattest.Say(chattest.Raw(": wait\n\n"), good.Steps[0], good.Steps[1], good.Steps[2], good.Steps[3],
			good.Steps[4], good.Steps[5])}, ""},
		"a wait longer than we may": {[]chattest.Answer{chattest.RateLimited(2 * time.Hour)}, errcode.RateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			server.Script(chattest.InTurn(c.answers...))
			idle := time.Minute
			if c.code == errcode.ProviderTimeout {
				idle = 100 * time.Millisecond
			}
			words, err := deltas(provider(idle))
			if c.code != "" {
				if err == nil || chat.AsError(err).Code != c.code {
					t.Errorf("%q %v", words, err)
				}
				return
			}
			if got := strings.Join(words, " "); err != nil || got != want {
				t.Errorf("%v\n got %s\nwant %s", err, got, want)
			}
		})
	}
}
