package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// capture is a client that records the body of a request.
func capture(body *[]byte) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		*body = b
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(stream("finish:stop")))}, err
	})}
}

var options = openai.EncoderOptions{ID: "chatcmpl-1", Model: "assistant", Created: time.Unix(1_700_000_000, 0), IncludeUsage: true}

// conversation is an answer of two rounds with calls; the client sees those of the
// second.
var conversation = []chat.Delta{
	{Kind: chat.DeltaStart},
	{Kind: chat.DeltaThinking, Text: "hm"},
	{Kind: chat.DeltaText, Text: "Let me <see>.", Raw: json.RawMessage(`{"logprobs":{"content":[{"token":"Let"}]}}`), Form: chat.FormOpenAI},
	{Kind: chat.DeltaFinish, Reason: chat.ReasonCalls},
	{Kind: chat.DeltaRound},
	{Kind: chat.DeltaStart},
	{Kind: chat.DeltaText, Text: "It is 4."},
	{Kind: chat.DeltaCall, Index: 1, Call: &chat.Call{ID: "call_1", Name: "f"}},
	{Kind: chat.DeltaArguments, Index: 0, Text: "of a call that the client does not see"},
	{Kind: chat.DeltaArguments, Index: 1, Text: `{"a":`},
	{Kind: chat.DeltaArguments, Index: 1, Text: `1}`},
	{Kind: chat.DeltaCallEnd, Index: 1},
	{Kind: chat.DeltaCall, Index: 3, Call: &chat.Call{ID: "call_2", Name: "g"}},
	{Kind: chat.DeltaArguments, Index: 3, Text: `{}`},
	{Kind: chat.DeltaCallEnd, Index: 3},
	{Kind: chat.DeltaRefusal, Text: "no"},
	{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 90, Output: 7, CacheRead: 64, CacheWrite: 3, Reasoning: 5}},
	{Kind: chat.DeltaFinish, Reason: chat.ReasonCalls},
}

func encode(t testing.TB, w io.Writer, o openai.EncoderOptions, deltas []chat.Delta) chat.Encoder {
	t.Helper()
	e := openai.NewEncoder(w, o)
	for _, d := range deltas {
		if err := e.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestEncoder(t *testing.T) {
	var b bytes.Buffer
	e := encode(t, &b, options, conversation[:5])
	if err := e.Event("tool_call", json.RawMessage(`{"name":"f","ms":3}`)); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"", "{}", " { } ", "null", "[1]"} {
		if err := e.Event("odd", json.RawMessage(data)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range conversation[5:] {
		e.Write(d)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	golden.Equal(t, "testdata/stream.txt", b.Bytes())
	for event := range strings.SplitSeq(strings.TrimSpace(b.String()), "\n\n") {
		if data := strings.TrimPrefix(event, "data: "); data != done && !json.Valid([]byte(data)) {
			t.Errorf("not JSON: %s", data)
		}
	}
}

func TestEncoderWithoutUsage(t *testing.T) {
	var b bytes.Buffer
	o := options
	o.IncludeUsage = false
	encode(t, &b, o, nil).Close()
	want := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"assistant","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"assistant","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}

data: [DONE]

`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestReasons(t *testing.T) {
	for reason, want := range map[chat.Reason]string{
		chat.ReasonStop: "stop", chat.ReasonLength: "length", chat.ReasonFilter: "content_filter", chat.ReasonPause: "stop", "": "stop",
		chat.ReasonCalls: "stop", // the calls are hidden from the client
	} {
		var b bytes.Buffer
		encode(t, &b, options, []chat.Delta{{Kind: chat.DeltaFinish, Reason: reason}}).Close()
		if !strings.Contains(b.String(), `"finish_reason":"`+want+`"`) {
			t.Errorf("%s: %s", reason, b.String())
		}
	}
}

func TestResponse(t *testing.T) {
	var c chat.Collector
	for _, d := range conversation {
		c.Add(d)
	}
	body, err := openai.EncodeResponse(options, c.Response())
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/response.json", body)
}

func TestErrors(t *testing.T) {
	for want, e := range map[string]*chat.Error{
		`{"error":{"message":"bad <x>","type":"invalid_request_error","param":"n","code":null}}`:              chat.Invalid("n", "bad <x>"),
		`{"error":{"message":"who","type":"invalid_request_error","param":"model","code":"model_not_found"}}`: {Code: errcode.ModelNotFound, Message: "who"},
		`{"error":{"message":"slow","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`:    {Code: errcode.RateLimited, Message: "slow"},
		`{"error":{"message":"big","type":"invalid_request_error","param":null,"code":"request_too_large"}}`:  {Code: errcode.RequestTooLarge, Message: "big"},
		`{"error":{"message":"oops","type":"server_error","param":null,"code":"provider_error"}}`:             {Code: errcode.ProviderError, Message: "oops"},
		`{"error":{"message":"later","type":"server_error","param":"model","code":"model_not_loaded"}}`: {
			Code: errcode.ModelNotLoaded, Message: "later",
			Param: "model",
		},
	} {
		if got := string(openai.EncodeError(e)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// endpoint serves the deltas as the daemon does.
func endpoint(t *testing.T, deltas []chat.Delta, failed *chat.Error) sdk.Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request, err := openai.ParseRequest(body)
		if err != nil {
			t.Error(err)
			return
		}
		if !request.Stream {
			w.Header().Set("Content-Type", "application/json")
			var c chat.Collector
			for _, d := range deltas {
				c.Add(d)
			}
			whole, _ := openai.EncodeResponse(options, c.Response())
			w.Write(whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		e := encode(t, w, options, deltas)
		e.Event("tool_call", json.RawMessage(`{"name":"f"}`))
		if failed != nil {
			e.Fail(failed)
		}
		e.Close()
	}))
	t.Cleanup(server.Close)
	return sdk.Client{
		Options: []option.RequestOption{},
		Chat:    sdk.NewChatService(option.WithBaseURL(server.URL), option.WithAPIKey("k"), option.WithMaxRetries(0)),
	}
}

var ask = sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("hello")}}

// The official client reads what the encoder writes.
func TestOfficialClient(t *testing.T) {
	c := endpoint(t, conversation, nil)
	s := c.Chat.Completions.NewStreaming(t.Context(), ask)
	var streamed sdk.ChatCompletionAccumulator
	for s.Next() {
		if !streamed.AddChunk(s.Current()) {
			t.Errorf("a chunk that does not fit: %s", s.Current().RawJSON())
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	whole, err := c.Chat.Completions.New(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]sdk.ChatCompletion{"streamed": streamed.ChatCompletion, "whole": *whole} {
		m := got.Choices[0].Message
		if m.Content != "Let me <see>.\n\nIt is 4." || m.Refusal != "no" || got.Choices[0].FinishReason != "tool_calls" {
			t.Errorf("%s: %+v", name, m)
		}
		if len(m.ToolCalls) != 2 || m.ToolCalls[0].Function.Arguments != `{"a":1}` || m.ToolCalls[1].ID != "call_2" {
			t.Errorf("%s: %+v", name, m.ToolCalls)
		}
		if got.Usage.TotalTokens != 97 || got.Usage.PromptTokensDetails.CachedTokens != 64 || got.Usage.CompletionTokensDetails.ReasoningTokens != 5 {
			t.Errorf("%s: %+v", name, got.Usage)
		}
		if len(got.Choices[0].Logprobs.Content) != 1 {
			t.Errorf("%s: log probabilities %+v", name, got.Choices[0].Logprobs)
		}
	}
}

func TestOfficialClientSeesAFailure(t *testing.T) {
	c := endpoint(t, conversation[:3], &chat.Error{Code: errcode.StreamBroken, Message: "it broke off"})
	s := c.Chat.Completions.NewStreaming(t.Context(), ask)
	for s.Next() {
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "it broke off") {
		t.Errorf("%v", s.Err())
	}
}

// The provider reads what the encoder writes.
func TestRoundTrip(t *testing.T) {
	want := slices.Clone(conversation[4:]) // its last answer
	var b bytes.Buffer
	encode(t, &b, options, want).Close()
	words, err := deltas(saying(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	const text = `start text:It is 4. call0:call_1:f args0:{"a": args0:1} end0 call1:call_2:g refuse:no args1:{} end1 usage:90/7/64/3/5 finish:calls`
	if got := strings.Join(words, " "); got != text {
		t.Errorf("got %s\nwant %s", got, text)
	}
}

// The answer of a provider is a valid message of the next request.
func TestAnswerGoesIntoTheNextRequest(t *testing.T) {
	r, err := chat.Collect(saying(rich).Chat(t.Context(), hello))
	if err != nil {
		t.Fatal(err)
	}
	next := &chat.Request{Model: "m", Messages: append(slices.Clone(hello.Messages), r.Message())}
	again := parse(t, string(sent(t, next))).Messages[1]
	if again.Text() != r.Message().Text() || len(again.Calls()) != 2 || again.Calls()[0].Arguments != r.Message().Calls()[0].Arguments {
		t.Errorf("%+v", again)
	}
}

func BenchmarkChunk(b *testing.B) {
	chunk := stream(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	body := strings.Repeat(chunk, 1000) + stream("finish:stop", done)
	p := saying(body)
	b.ReportAllocs()
	for b.Loop() {
		e := openai.NewEncoder(io.Discard, options)
		for d, err := range p.Chat(b.Context(), hello) {
			if err != nil {
				b.Fatal(err)
			}
			e.Write(d)
		}
		e.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/chunk")
}

func BenchmarkBody(b *testing.B) {
	r := foreign()
	r.Tools = nil
	for range 100 {
		r.Tools = append(r.Tools,
			chat.Tool{
				Name: "a_tool_of_some_name", Description: strings.Repeat("what it does ", 12),
				Parameters: json.RawMessage(`{"properties":{"text":{"description":"` + strings.Repeat("a parameter ", 20) +
					`","type":"string"}},"required":["text"],"type":"object"}`),
			})
	}
	var body []byte
	p := streaming("http://127.0.0.1", func() io.Reader { return strings.NewReader(stream("finish:stop")) }, func(sent []byte) { body = sent })
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range p.Chat(b.Context(), r) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(body)), "bytes/request")
}
