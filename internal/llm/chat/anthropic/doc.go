// Package anthropic implements Anthropic's Messages API, version 2023-06-01, for
// clients and for providers.
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
// A client's request reaches a model of this API byte for byte: every message and every
// block retains its original JSON.
//
// Source: https://platform.claude.com/docs/en/api/messages and
// https://platform.claude.com/docs/en/build-with-claude/streaming, and the types of
// github.com/anthropics/anthropic-sdk-go.
package anthropic
