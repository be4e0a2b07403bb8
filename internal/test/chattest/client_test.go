package chattest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// heard is what an official client decoded.
type heard struct {
	Text, Thinking, Reason string
	Calls                  []call
	Usage                  chat.Usage
}

type call struct{ ID, Name, Arguments string }

// clients send requests with the official clients.
var clients = map[chat.Form]struct {
	whole, stream func(context.Context, *chattest.Server) (heard, error)
}{
	chat.FormOpenAI:    {openAIWhole, openAIStream},
	chat.FormResponses: {responsesWhole, responsesStream},
	chat.FormAnthropic: {anthropicWhole, anthropicStream},
}

func openAI(s *chattest.Server) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(s.URL+"/v1"), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0))
}

var openAIParams = openai.ChatCompletionNewParams{
	Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
}

func openAIWhole(ctx context.Context, s *chattest.Server) (heard, error) {
	c, client := (*openai.ChatCompletion)(nil), openAI(s)
	c, err := client.Chat.Completions.New(ctx, openAIParams)
	if err != nil {
		return heard{}, err
	}
	return openAIHeard(c), nil
}

func openAIStream(ctx context.Context, s *chattest.Server) (heard, error) {
	client := openAI(s)
	stream := client.Chat.Completions.NewStreaming(ctx, openAIParams)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			return heard{}, errors.New("a chunk does not fit")
		}
		all.Usage = stream.Current().Usage // which the accumulator adds up in part
	}
	if stream.Err() != nil {
		return heard{}, stream.Err()
	}
	return openAIHeard(&all.ChatCompletion), nil
}

func openAIHeard(c *openai.ChatCompletion) heard {
	choice := c.Choices[0]
	u := c.Usage
	h := heard{Text: choice.Message.Content, Reason: choice.FinishReason, Usage: chat.Usage{
		Input: u.PromptTokens, Output: u.CompletionTokens, CacheRead: u.PromptTokensDetails.CachedTokens, CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
	}}
	for _, c := range choice.Message.ToolCalls {
		h.Calls = append(h.Calls, call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return h
}

var responsesParams = responses.ResponseNewParams{
	Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
}

func responsesWhole(ctx context.Context, s *chattest.Server) (heard, error) {
	client := openAI(s)
	r, err := client.Responses.New(ctx, responsesParams)
	if err != nil {
		return heard{}, err
	}
	return responsesHeard(r), nil
}

// responsesStream checks that the pieces add up to the whole.
func responsesStream(ctx context.Context, s *chattest.Server) (heard, error) {
	client := openAI(s)
	stream := client.Responses.NewStreaming(ctx, responsesParams)
	defer stream.Close()
	var text, thinking string
	var last *responses.Response
	for sequence := int64(0); stream.Next(); sequence++ {
		e := stream.Current()
		if e.SequenceNumber != sequence {
			return heard{}, errors.New("events are not in sequence")
		}
		switch e := e.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			thinking += e.Delta
		case responses.ResponseCompletedEvent:
			last = &e.Response
		case responses.ResponseIncompleteEvent:
			last = &e.Response
		case responses.ResponseErrorEvent:
			return heard{}, errors.New(e.Message)
		}
	}
	if stream.Err() != nil {
		return heard{}, stream.Err()
	}
	if last == nil {
		return heard{}, errors.New("the stream has no end")
	}
	h := responsesHeard(last)
	if h.Text != text || h.Thinking != thinking {
		return h, errors.New("the pieces are not the whole")
	}
	return h, nil
}

func responsesHeard(r *responses.Response) heard {
	u := r.Usage
	h := heard{Text: r.OutputText(), Reason: string(r.Status) + r.IncompleteDetails.Reason, Usage: chat.Usage{
		Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.InputTokensDetails.CachedTokens, CacheWrite: u.InputTokensDetails.CacheWriteTokens,
	}}
	for _, item := range r.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			h.Thinking += item.Summary[0].Text
		case responses.ResponseFunctionToolCall:
			h.Calls = append(h.Calls, call{item.CallID, item.Name, item.Arguments})
		}
	}
	return h
}

func anthropicClient(s *chattest.Server) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(s.URL), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0))
}

var anthropicParams = anthropic.MessageNewParams{
	Model: "m", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
}

func anthropicWhole(ctx context.Context, s *chattest.Server) (heard, error) {
	client := anthropicClient(s)
	m, err := client.Messages.New(ctx, anthropicParams)
	if err != nil {
		return heard{}, err
	}
	return anthropicHeard(m), nil
}

func anthropicStream(ctx context.Context, s *chattest.Server) (heard, error) {
	client := anthropicClient(s)
	stream := client.Messages.NewStreaming(ctx, anthropicParams)
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return heard{}, err
		}
	}
	if stream.Err() != nil {
		return heard{}, stream.Err()
	}
	if m.StopReason == "" {
		return heard{}, errors.New("the stream has no end")
	}
	return anthropicHeard(&m), nil
}

func anthropicHeard(m *anthropic.Message) heard {
	u := m.Usage
	h := heard{Reason: string(m.StopReason), Usage: chat.Usage{
		Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens,
		CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
	}}
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case anthropic.TextBlock:
			h.Text += b.Text
		case anthropic.ThinkingBlock:
			h.Thinking += b.Thinking
		case anthropic.ToolUseBlock:
			h.Calls = append(h.Calls, call{b.ID, b.Name, string(b.Input)})
		}
	}
	return h
}

// TestClientsUnderstand reads every API with the provider's own client, written at
// once, one event at a time, and in bytes.
func TestClientsUnderstand(t *testing.T) {
	reasons := map[chat.Form]string{chat.FormOpenAI: "tool_calls", chat.FormResponses: "completed", chat.FormAnthropic: "tool_use"}
	for form, client := range clients {
		want := heard{
			Text: "I look it <up>.", Thinking: "Let me see. ", Reason: reasons[form],
			Calls: []call{{"call_1", "sql", `{"query": "SELECT 1"}`}, {"call_2", "now", ""}},
			Usage: chat.Usage{Input: 90, Output: 7, CacheRead: 64, CacheWrite: 16},
		}
		if form == chat.FormOpenAI {
			want.Thinking = "" // which OpenAI's client does not know
		}
		if form == chat.FormAnthropic {
			want.Calls[1].Arguments = "{}"
		}
		for _, size := range []int{0, 1, 7} {
			answer := talk
			answer.ChunkBytes = size
			s := start(t, chattest.Always(answer))
			for how, ask := range map[string]func(context.Context, *chattest.Server) (heard, error){"whole": client.whole, "stream": client.stream} {
				got, err := ask(t.Context(), s)
				if form == chat.FormAnthropic && how == "whole" {
					got.Calls[0].Arguments = want.Calls[0].Arguments // the client re-encodes it
				}
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s, %s, chunks of %d: %v %s", form, how, size, err, diff)
				}
			}
		}
	}
}

func TestReasons(t *testing.T) {
	want := map[chat.Form]map[chat.Reason]string{
		chat.FormOpenAI: {
			chat.ReasonStop: "stop", chat.ReasonCalls: "tool_calls", chat.ReasonLength: "length", chat.ReasonFilter: "content_filter",
			chat.ReasonPause: "stop",
		},
		chat.FormResponses: {
			chat.ReasonStop: "completed", chat.ReasonCalls: "completed", chat.ReasonLength: "incompletemax_output_tokens",
			chat.ReasonFilter: "incompletecontent_filter", chat.ReasonPause: "completed",
		},
		chat.FormAnthropic: {
			chat.ReasonStop: "end_turn", chat.ReasonCalls: "tool_use", chat.ReasonLength: "max_tokens", chat.ReasonFilter: "refusal",
			chat.ReasonPause: "pause_turn",
		},
	}
	for form, reasons := range want {
		for reason, name := range reasons {
			s := start(t, chattest.Always(chattest.Say(chattest.Finish(reason), chattest.Text("so"))))
			for _, ask := range []func(context.Context, *chattest.Server) (heard, error){clients[form].whole, clients[form].stream} {
				if got, err := ask(t.Context(), s); err != nil || got.Reason != name || got.Text != "so" {
					t.Errorf("%s %s: %+v, %v", form, reason, got, err)
				}
			}
		}
	}
}

// TestWovenCalls interleaves the arguments of two calls.
func TestWovenCalls(t *testing.T) {
	s := start(t, chattest.Always(chattest.Say(
		chattest.Begin("a", "first"), chattest.Begin("b", "second"),
		chattest.Arguments("a", `{"x":`), chattest.Arguments("b", `{"y"`), chattest.Arguments("a", "1}"),
		chattest.End("a"), chattest.Arguments("b", ":2}"), chattest.Arguments("nosuch", "lost"),
	)))
	for form, client := range clients {
		got, err := client.stream(t.Context(), s)
		want := []call{{"a", "first", `{"x":1}`}, {"b", "second", `{"y":2}`}}
		if diff := cmp.Diff(want, got.Calls); err != nil || diff != "" {
			t.Errorf("%s: %v %s", form, err, diff)
		}
	}
}

// failure is an error as a client reports it: its status, and the provider's name for
// its kind.
func failure(t *testing.T, err error) (status int, kind string, retryAfter string) {
	t.Helper()
	var o *openai.Error
	var a *anthropic.Error
	switch {
	case errors.As(err, &o):
		return o.StatusCode, o.Type + " " + o.Code, o.Response.Header.Get("Retry-After")
	case errors.As(err, &a):
		return a.StatusCode, string(a.Type()), a.Response.Header.Get("Retry-After")
	}
	t.Errorf("no error of the client: %v", err)
	return 0, "", ""
}

func TestFaults(t *testing.T) {
	cases := []struct {
		answer                        chattest.Answer
		openAIStatus, anthropicStatus int
		openAIKind, anthropicKind     string
		retryAfter                    string
	}{
		{chattest.RateLimited(3 * time.Second), 429, 429, "requests rate_limit_exceeded", "rate_limit_error", "3"},
		{chattest.RateLimited(0), 429, 429, "requests rate_limit_exceeded", "rate_limit_error", ""},
		{chattest.Unauthorized(), 401, 401, "invalid_request_error invalid_api_key", "authentication_error", ""},
		{chattest.ServerError(), 500, 500, "server_error ", "api_error", ""},
		{chattest.Overloaded(), 503, 529, "server_error ", "overloaded_error", ""},
	}
	for _, c := range cases {
		s := start(t, chattest.Always(c.answer))
		for form, client := range clients {
			wantStatus, wantKind := c.openAIStatus, c.openAIKind
			if form == chat.FormAnthropic {
				wantStatus, wantKind = c.anthropicStatus, c.anthropicKind
			}
			for _, ask := range []func(context.Context, *chattest.Server) (heard, error){client.whole, client.stream} {
				_, err := ask(t.Context(), s)
				if status, kind, after := failure(t, err); status != wantStatus || kind != wantKind || after != c.retryAfter {
					t.Errorf("%s: %d %q %q, want %d %q %q", form, status, kind, after, wantStatus, wantKind, c.retryAfter)
				}
			}
		}
	}
}

// TestFailedStreams ends a stream with an error of the provider's API.
func TestFailedStreams(t *testing.T) {
	s := start(t, chattest.Always(chattest.Say(chattest.Text("half of"), chattest.Fail("Overloaded"), chattest.Text("the rest"))))
	for form, client := range clients {
		if got, err := client.stream(t.Context(), s); err == nil {
			t.Errorf("%s: %+v", form, got)
		}
		if got, err := client.whole(t.Context(), s); err != nil || got.Text != "half ofthe rest" {
			t.Errorf("%s: %+v, %v", form, got, err)
		}
	}
}
