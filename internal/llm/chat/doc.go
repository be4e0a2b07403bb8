// Package chat is the form that every chat takes inside the runtime, whatever
// form its client and its model's provider speak.
//
// A door decodes a client's request into a [Request]; a [Provider] answers it
// as a stream of [Delta]; the door's [Encoder] writes the deltas in the
// client's form. Streaming is the only way inside: [Collect] makes one
// [Response] of a stream.
//
//	request, err := openai.ParseRequest(body)
//	for delta, err := range provider.Chat(ctx, request) {
//		...
//	}
//
// What a form has and this package does not know is kept as it was written
// (Raw, Extra) and sent to providers of that form unchanged.
package chat
