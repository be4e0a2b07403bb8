// Package openai implements OpenAI's Chat Completions API, POST /v1/chat/completions,
// for clients and for providers, many of which are compatible with it.
//
// It owns the wire format only. The server side is pure functions:
//
//	request, err := openai.ParseRequest(body)
//	encoder := openai.NewEncoder(w, openai.EncoderOptions{ID: "chatcmpl-1", Model: request.Model})
//	for delta, err := range provider.Chat(ctx, request) {
//		encoder.Write(delta)
//	}
//	encoder.Close()
//
// The provider posts a request and reads the stream:
//
//	provider := openai.NewProvider(openai.ProviderOptions{Endpoint: endpoint, Model: "gpt-5-mini"})
//
// The API: https://platform.openai.com/docs/api-reference/chat.
package openai
