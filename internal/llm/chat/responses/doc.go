// Package responses speaks OpenAI's Responses API, on both sides: it is a door
// for clients of POST /v1/responses, and a [chat.Provider] that asks a server
// of that form. The shapes are those of OpenAI's API reference, as the
// official Go module openai-go v3.96.0 declares them.
//
// A door is made of pure functions:
//
//	request, err := responses.ParseRequest(body)
//	err = store.Resume(owner, request) // brings what previous_response_id names
//	encoder := responses.NewEncoder(w, responses.EncoderOptions{ID: id, Model: name, Request: request})
//	for delta, err := range provider.Chat(ctx, request.Request) {
//		...
//	}
//	store.Keep(owner, options, response) // for the next previous_response_id
//
// An answer is a list of items here: messages, calls, reasoning, and what the
// provider's own tools did. In the neutral form an assistant's message is a
// run of such items, and the Raw of a message is the JSON array of its items.
package responses

import "time"

// Limits of a [Store] whose options leave them out.
const (
	DefaultEntries = 1_000
	DefaultBytes   = 64 << 20
	DefaultTTL     = 24 * time.Hour
)

// maxMessage bounds what of a provider's message is passed on, in bytes.
const maxMessage = 1 << 10
