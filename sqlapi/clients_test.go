package sqlapi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// The official clients of OpenAI and Anthropic, unchanged.

func openAIClient(f *fixture, o ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(f.URL + "/v1"), option.WithAPIKey("k"), option.WithHTTPClient(f.Client())}, o...)...)
}

func anthropicClient(f *fixture, o ...anthropicoption.RequestOption) anthropic.Client {
	return anthropic.NewClient(append([]anthropicoption.RequestOption{
		anthropicoption.WithBaseURL(f.URL), anthropicoption.WithAPIKey("k"), anthropicoption.WithHTTPClient(f.Client()),
	}, o...)...)
}

func completionParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "helper",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("moin")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:       "mine",
			Parameters: shared.FunctionParameters{"type": "object"},
		})},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

func wantCompletion(t *testing.T, c openai.ChatCompletion) {
	t.Helper()
	if len(c.Choices) != 1 {
		t.Fatalf("got %+v", c)
	}
	choice := c.Choices[0]
	calls := choice.Message.ToolCalls
	if choice.Message.Content != "moin" || choice.FinishReason != "tool_calls" || len(calls) != 1 || calls[0].Function.Name != "mine" ||
		calls[0].Function.Arguments != `{"x":1}` || c.Usage.PromptTokens != 9 || c.Usage.CompletionTokens != 3 || c.Model != "helper" ||
		!strings.HasPrefix(c.ID, "chatcmpl-") {
		t.Errorf("got %+v", c)
	}
}

func TestOpenAIClient(t *testing.T) {
	f := serveChats(t, echoes(), nil)
	for _, client := range []openai.Client{openAIClient(f), openAIClient(f, option.WithHeader(headerEvents, "include"))} {
		params := completionParams()
		whole, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		wantCompletion(t, *whole)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Errorf("the chunk %s does not fit", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		wantCompletion(t, all.ChatCompletion)
	}
	client := openAIClient(f)
	var names []string
	models := client.Models.ListAutoPaging(t.Context())
	for models.Next() {
		names = append(names, models.Current().ID+" "+models.Current().OwnedBy)
	}
	if got := strings.Join(names, ","); models.Err() != nil || got != "team/helper openai:gpt-5,broken anthropic:claude" {
		t.Errorf("got %s, %v", got, models.Err())
	}
	if m, err := client.Models.Get(t.Context(), "team/helper"); err != nil || m.ID != "team/helper" {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestOpenAIClientSeesErrors(t *testing.T) {
	asked := 0
	chats := echoes()
	inner := chats.chat
	chats.chat = func(ctx context.Context, r *chat.Request, s caller.Caller) (chatEvents, error) {
		asked++
		return inner(ctx, r, s)
	}
	f := serveChats(t, chats, nil)
	client := openAIClient(f)
	for _, c := range []struct {
		model  string
		status int
		code   string
	}{{"model_not_found", 404, "model_not_found"}, {"model_not_loaded", 503, "model_not_loaded"}, {"provider_refused", 502, "provider_refused"}} {
		params := completionParams()
		params.Model, asked = c.model, 0
		_, err := client.Chat.Completions.New(t.Context(), params)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		for _, err := range []error{err, stream.Err()} {
			var failed *openai.Error
			if !errors.As(err, &failed) || failed.StatusCode != c.status || failed.Code != c.code || failed.Message != "it failed" {
				t.Errorf("%s: got %v", c.model, err)
			}
		}
		if asked != 2 {
			t.Errorf("%s: asked %d times", c.model, asked)
		}
	}
	chats.chat = script(&chat.Error{Code: errcode.StreamBroken, Message: "broke off"}, starts, says("moin")).chat
	stream := client.Chat.Completions.NewStreaming(t.Context(), completionParams())
	for stream.Next() {
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("got %v", err)
	}
}

func TestOpenAIResponsesClient(t *testing.T) {
	f := serveChats(t, echoes(), nil)
	for _, client := range []openai.Client{openAIClient(f), openAIClient(f, option.WithHeader(headerEvents, "include"))} {
		params := responses.ResponseNewParams{Model: "helper", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("moin")}}
		whole, err := client.Responses.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		if whole.OutputText() != "moin" || whole.Status != "completed" || whole.Usage.InputTokens != 9 || !strings.HasPrefix(whole.ID, "resp_") {
			t.Errorf("got %s", whole.RawJSON())
		}
		params.PreviousResponseID = openai.String(whole.ID)
		stream := client.Responses.NewStreaming(t.Context(), params)
		text, ended := "", ""
		for stream.Next() {
			switch e := stream.Current().AsAny().(type) {
			case responses.ResponseTextDeltaEvent:
				text += e.Delta
			case responses.ResponseCompletedEvent:
				ended = e.Response.OutputText()
			}
		}
		if stream.Err() != nil || text != "moin" || ended != "moin" {
			t.Errorf("got %q %q, %v", text, ended, stream.Err())
		}
	}
}

func messageParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "helper", MaxTokens: 10,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("moin"))},
		Tools:    []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, "mine")},
	}
}

func wantMessage(t *testing.T, m anthropic.Message) {
	t.Helper()
	if len(m.Content) != 2 {
		t.Fatalf("got %s", m.RawJSON())
	}
	if m.Content[0].Text != "moin" || m.Content[1].Name != "mine" || string(m.Content[1].Input) != `{"x":1}` || m.StopReason != "tool_use" ||
		m.Usage.InputTokens != 5 || m.Usage.CacheReadInputTokens != 4 || m.Usage.OutputTokens != 3 || !strings.HasPrefix(m.ID, "msg_") {
		t.Errorf("got %+v", m)
	}
}

func TestAnthropicClient(t *testing.T) {
	f := serveChats(t, echoes(), nil)
	for _, client := range []anthropic.Client{anthropicClient(f), anthropicClient(f, anthropicoption.WithHeader(headerEvents, "include"))} {
		whole, err := client.Messages.New(t.Context(), messageParams())
		if err != nil {
			t.Fatal(err)
		}
		wantMessage(t, *whole)
		stream := client.Messages.NewStreaming(t.Context(), messageParams())
		var all anthropic.Message
		for stream.Next() {
			if err := all.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, all)
	}
	client := anthropicClient(f)
	var names []string
	models := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{})
	for models.Next() {
		names = append(names, models.Current().ID)
	}
	if got := strings.Join(names, ","); models.Err() != nil || got != "team/helper,broken" {
		t.Errorf("got %s, %v", got, models.Err())
	}
}

func TestAnthropicClientSeesErrors(t *testing.T) {
	chats := echoes()
	f := serveChats(t, chats, nil)
	client := anthropicClient(f)
	for model, status := range map[string]int{"model_not_found": 404, "model_not_loaded": 503} {
		params := messageParams()
		params.Model = anthropic.Model(model)
		_, err := client.Messages.New(t.Context(), params, anthropicoption.WithHeader(headerRequestID, "q1"))
		var failed *anthropic.Error
		if !errors.As(err, &failed) || failed.StatusCode != status || !strings.Contains(failed.RawJSON(), "it failed") || failed.RequestID != "q1" {
			t.Errorf("%s: got %v", model, err)
		}
	}
	chats.chat = script(&chat.Error{Code: errcode.StreamBroken, Message: "broke off"}, starts, says("moin")).chat
	stream := client.Messages.NewStreaming(t.Context(), messageParams())
	for stream.Next() {
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("got %v", err)
	}
}
