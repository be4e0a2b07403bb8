// Package upstream sends requests to model providers and reads the server-sent events
// of their answers.
//
// It owns what all providers share: connections, retries before the first byte,
// timeouts, limits, and errors that name the model and contain no secret. It does not
// interpret bodies or events.
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
// Retries wait as those of the official clients do (see [httpx.Retry]). The environment is not
// read.
package upstream
