// Package upstream sends requests to the providers of models and reads the
// server-sent events that they answer.
//
// It owns what all providers share: connections, retries before the first
// byte, time-outs, limits, and errors that name the model and hold no secret.
// It knows nothing about what bodies and events say.
//
//	endpoint := upstream.New(upstream.Options{
//		Model:   "assistant",
//		BaseURL: "https://api.openai.com/v1",
//		Header:  http.Header{"Authorization": {"Bearer " + key}},
//		Secrets: []string{key},
//		Retries: -1,
//	})
//	for event, err := range endpoint.Stream(ctx, "/chat/completions", body, nil) {
//		...
//	}
//
// Requests go through the official OpenAI client, which brings retries with
// backoff and Retry-After; nothing is read from the environment.
package upstream
