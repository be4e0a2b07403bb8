// Package embeddings turns texts into vectors with the models that a
// Spicepod's `embeddings:` section declares.
//
// It owns the providers (`openai:` for every OpenAI-compatible endpoint,
// `builtin:hash`, and GGUF files in a build with the tag gguf), the rules of
// `tool_embedding_model`, and the wire form of `POST /v1/embeddings`. It keeps
// no vectors: whoever asks twice pays twice.
//
//	set, problems := embeddings.NewSet(pod, embeddings.Options{})
//	defer set.Close()
//	model, err := set.Resolve(params.ToolEmbeddingModel) // "" takes the only one
//	vectors, err := model.Embed(ctx, []string{"great-circle distance", "tide tables"})
//
// The HTTP route is four calls:
//
//	request, err := embeddings.ParseRequest(body)
//	model, err := set.Model(request.Model)
//	response, err := embeddings.Answer(ctx, model, request)
//	wire := embeddings.AsWireError(err) // status and body for any of these errors
//
// Values of secrets never reach errors, problems or what a model prints.
package embeddings
