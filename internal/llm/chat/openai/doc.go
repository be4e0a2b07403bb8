// Package openai speaks OpenAI's Chat Completions, POST /v1/chat/completions,
// to clients and to providers; a great many servers speak it too.
//
// It owns the wire form alone. The door is pure functions:
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
// The form is at https://platform.openai.com/docs/api-reference/chat.
package openai
