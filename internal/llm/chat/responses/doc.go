// Package responses implements OpenAI's Responses API for both sides: clients of POST
// /v1/responses, and a [chat.Provider] that sends requests to such a server. Types
// follow OpenAI's API reference as of the Go module openai-go v3.96.0.
//
// The server side is pure functions:
//
//	request, err := responses.ParseRequest(body)
//	err = store.Resume(owner, request) // loads what previous_response_id names
//	encoder := responses.NewEncoder(w, responses.EncoderOptions{ID: id, Model: name, Request: request})
//	for delta, err := range provider.Chat(ctx, request.Request) {
//		...
//	}
//	store.Save(owner, options, response) // for the next previous_response_id
//
// In this API an answer is a list of items: messages, calls, reasoning, and the output
// of hosted tools. A [chat.Message] of the assistant is a run of such items, and its
// Raw is the JSON array of them.
package responses

import "time"

// Default limits of a [Store].
const (
	DefaultEntries = 1_000
	DefaultBytes   = 64 << 20
	DefaultTTL     = 24 * time.Hour
)

// maxMessage limits the bytes of a provider's message that are passed on.
const maxMessage = 1 << 10
