package main

import (
	"context"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// errStream is a stream that a client cannot make sense of.
var errStream = errors.New("the stream has no end")

// within bounds a request.
func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

func openAIClient(p *program) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(p.url+"/v1"), openaioption.WithAPIKey("none"), openaioption.WithMaxRetries(0),
		openaioption.WithHeader("X-Spiced-Events", "include"))
}

func anthropicClient(p *program) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(p.url), anthropicoption.WithAPIKey("none"), anthropicoption.WithMaxRetries(0),
		anthropicoption.WithHeader("X-Spiced-Events", "include"))
}

// What is asked of Anthropic's list of models.
var (
	anthropicAll anthropic.ModelListParams
	anthropicOne anthropic.ModelGetParams
)

// noParameters is the schema of the client's tools.
var noParameters = map[string]any{"type": "object", "properties": map[string]any{}}

// askOpenAI asks at POST /v1/chat/completions.
func askOpenAI(p *program, q question) (said, error) {
	content := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(q.text)}
	if q.image != "" {
		content = append(content, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + q.image}))
	}
	params := openai.ChatCompletionNewParams{Model: q.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)}}
	for _, name := range q.tools {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Parameters: noParameters}))
	}
	switch q.choice {
	case "":
	case "auto", "none", "required":
		params.ToolChoice.OfAuto = openai.String(q.choice)
	default:
		params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: q.choice})
	}
	if q.stream && !q.silent {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	return openAITurn(p, params, q.stream)
}

func openAITurn(p *program, params openai.ChatCompletionNewParams, stream bool) (said, error) {
	ctx, cancel := within()
	defer cancel()
	client := openAIClient(p)
	if !stream {
		c, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return said{}, err
		}
		return openAISaid(p, params, c, stream), nil
	}
	events := client.Chat.Completions.NewStreaming(ctx, params)
	defer events.Close()
	var all openai.ChatCompletionAccumulator
	counted := false
	for events.Next() {
		if !all.AddChunk(events.Current()) {
			return said{}, errors.New("a chunk does not fit")
		}
		counted = counted || events.Current().JSON.Usage.Valid()
		all.Usage = events.Current().Usage // the accumulator adds up a part of it
	}
	if events.Err() != nil {
		return openAIText(&all.ChatCompletion), events.Err()
	}
	if len(all.Choices) == 0 || all.Choices[0].FinishReason == "" {
		return said{}, errStream
	}
	s := openAISaid(p, params, &all.ChatCompletion, stream)
	s.counted = counted
	return s, nil
}

// openAIText is what came of a stream that failed.
func openAIText(c *openai.ChatCompletion) said {
	if len(c.Choices) == 0 {
		return said{}
	}
	return said{text: c.Choices[0].Message.Content}
}

func openAISaid(p *program, params openai.ChatCompletionNewParams, c *openai.ChatCompletion, stream bool) said {
	m, u := c.Choices[0].Message, c.Usage
	s := said{text: m.Content, reason: c.Choices[0].FinishReason, usage: chat.Usage{
		Input: u.PromptTokens, Output: u.CompletionTokens, CacheRead: u.PromptTokensDetails.CachedTokens, CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
	}}
	for _, call := range m.ToolCalls {
		s.calls = append(s.calls, chat.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	s.reply = func(result string) (said, error) {
		again := params
		again.Messages = append(again.Messages, m.ToParam())
		for _, call := range s.calls {
			again.Messages = append(again.Messages, openai.ToolMessage(result, call.ID))
		}
		return openAITurn(p, again, stream)
	}
	return s
}

// askResponses asks at POST /v1/responses.
func askResponses(p *program, q question) (said, error) {
	content := responses.ResponseInputMessageContentListParam{responses.ResponseInputContentParamOfInputText(q.text)}
	if q.image != "" {
		image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
		image.OfInputImage.ImageURL = openai.String("data:image/png;base64," + q.image)
		content = append(content, image)
	}
	params := responses.ResponseNewParams{Model: q.model}
	params.Input.OfInputItemList = responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)}
	for _, name := range q.tools {
		params.Tools = append(params.Tools, responses.ToolParamOfFunction(name, noParameters, false))
	}
	switch q.choice {
	case "":
	case "auto", "none", "required":
		params.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptions(q.choice))
	default:
		params.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: q.choice}
	}
	return responsesTurn(p, params, q.stream)
}

func responsesTurn(p *program, params responses.ResponseNewParams, stream bool) (said, error) {
	ctx, cancel := within()
	defer cancel()
	client := openAIClient(p)
	if !stream {
		r, err := client.Responses.New(ctx, params)
		if err != nil {
			return said{}, err
		}
		return responsesSaid(p, params, r, stream), nil
	}
	events := client.Responses.NewStreaming(ctx, params)
	defer events.Close()
	var text string
	var whole *responses.Response
	for sequence := int64(0); events.Next(); sequence++ {
		switch e := events.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseErrorEvent:
			return said{text: text}, errors.New(e.Message)
		case responses.ResponseFailedEvent:
			return said{text: text}, errors.New(e.Response.Error.Message)
		case responses.ResponseCompletedEvent:
			whole = &e.Response
		case responses.ResponseIncompleteEvent:
			whole = &e.Response
		}
	}
	if events.Err() != nil {
		return said{text: text}, events.Err()
	}
	if whole == nil || whole.OutputText() != text {
		return said{text: text}, errStream
	}
	return responsesSaid(p, params, whole, stream), nil
}

func responsesSaid(p *program, params responses.ResponseNewParams, r *responses.Response, stream bool) said {
	u := r.Usage
	s := said{text: r.OutputText(), reason: string(r.Status), counted: true, usage: chat.Usage{
		Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.InputTokensDetails.CachedTokens, CacheWrite: u.InputTokensDetails.CacheWriteTokens,
	}}
	for _, item := range r.Output {
		if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
			s.calls = append(s.calls, chat.Call{ID: call.CallID, Name: call.Name, Arguments: call.Arguments})
		}
	}
	s.reply = func(result string) (said, error) {
		again := params
		again.PreviousResponseID, again.Input.OfInputItemList = openai.String(r.ID), nil
		for _, call := range s.calls {
			output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
			output.OfFunctionCallOutput.CallID = openai.String(call.ID)
			again.Input.OfInputItemList = append(again.Input.OfInputItemList, output)
		}
		return responsesTurn(p, again, stream)
	}
	return s
}

// askAnthropic asks at POST /v1/messages.
func askAnthropic(p *program, q question) (said, error) {
	content := []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(q.text)}
	if q.image != "" {
		content = append(content, anthropic.NewImageBlockBase64("image/png", q.image))
	}
	params := anthropic.MessageNewParams{Model: q.model, MaxTokens: 1000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(content...)}}
	for _, name := range q.tools {
		params.Tools = append(params.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, name))
	}
	switch q.choice {
	case "":
	case "auto":
		params.ToolChoice.OfAuto = &anthropic.ToolChoiceAutoParam{}
	case "none":
		params.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
	case "required":
		params.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{}
	default:
		params.ToolChoice = anthropic.ToolChoiceParamOfTool(q.choice)
	}
	return anthropicTurn(p, params, q.stream)
}

func anthropicTurn(p *program, params anthropic.MessageNewParams, stream bool) (said, error) {
	ctx, cancel := within()
	defer cancel()
	client := anthropicClient(p)
	if !stream {
		m, err := client.Messages.New(ctx, params)
		if err != nil {
			return said{}, err
		}
		return anthropicSaid(p, params, m, stream), nil
	}
	events := client.Messages.NewStreaming(ctx, params)
	defer events.Close()
	var m anthropic.Message
	for events.Next() {
		if err := m.Accumulate(events.Current()); err != nil {
			return said{}, err
		}
	}
	s := anthropicSaid(p, params, &m, stream)
	if events.Err() == nil && m.StopReason == "" {
		return s, errStream
	}
	return s, events.Err()
}

func anthropicSaid(p *program, params anthropic.MessageNewParams, m *anthropic.Message, stream bool) said {
	u := m.Usage
	s := said{reason: string(m.StopReason), counted: true, usage: chat.Usage{
		Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens,
		CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
	}}
	for _, b := range m.Content {
		switch b.Type { // AsAny forgets what came after the last whole block
		case "text":
			s.text += b.Text
		case "tool_use":
			s.calls = append(s.calls, chat.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	s.reply = func(result string) (said, error) {
		again := params
		var results []anthropic.ContentBlockParamUnion
		for _, call := range s.calls {
			results = append(results, anthropic.NewToolResultBlock(call.ID, result, false))
		}
		again.Messages = append(again.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
		return anthropicTurn(p, again, stream)
	}
	return s
}
