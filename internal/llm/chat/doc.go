// Package chat defines the request, the answer and the errors of a chat, independent of
// the API that the client and the model's provider speak.
//
// An endpoint decodes a client's request into a [Request]; a [Provider] answers it with
// a stream of [Delta]; the endpoint's [Encoder] writes the deltas to the client.
// Internally all answers are streams: [Collect] makes a [Response] of one.
//
//	request, err := openai.ParseRequest(body)
//	for delta, err := range provider.Chat(ctx, request) {
//		...
//	}
//
// What an API has beyond this package is preserved as written (Raw, Extra) and sent to
// providers of that API unchanged.
package chat
