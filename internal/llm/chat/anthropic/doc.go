// Package anthropic speaks Anthropic's Messages API, version 2023-06-01: as a
// door, to clients, and as a provider, to models.
//
//	request, err := anthropic.ParseRequest(body)
//	encoder := anthropic.NewEncoder(w, anthropic.EncoderOptions{ID: "msg_1", Model: request.Model})
//	for delta, err := range provider.Chat(ctx, request) {
//		if err != nil {
//			return encoder.Fail(chat.AsError(err))
//		}
//		if err := encoder.Write(delta); err != nil {
//			return err
//		}
//	}
//	return encoder.Close()
//
// What a client writes reaches a model of this form byte for byte: every
// message and every block keeps its text beside what is understood of it.
//
// Source: https://platform.claude.com/docs/en/api/messages and
// https://platform.claude.com/docs/en/build-with-claude/streaming, and the types
// of github.com/anthropics/anthropic-sdk-go.
package anthropic
