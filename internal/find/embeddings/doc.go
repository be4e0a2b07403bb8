// Package embeddings embeds texts as vectors with the models in a Spicepod's
// `embeddings:` section.
//
// It owns the providers (`openai:` for every OpenAI-compatible endpoint,
// `builtin:semantic`, `builtin:hash`, sentence encoders in local folders by package bert, and GGUF
// files in a build with the tag gguf), the rules of
// `tool_embedding_model`, and the wire form of `POST /v1/embeddings`. It caches
// no vectors.
//
//	set, problems := embeddings.NewSet(pod, embeddings.Options{})
//	defer set.Close()
//	model, err := set.Resolve(params.ToolEmbeddingModel) // "" means the only one
//	vectors, err := model.Embed(ctx, []string{"great-circle distance", "tide tables"})
//
// The HTTP route is four calls:
//
//	request, err := embeddings.ParseRequest(body)
//	model, err := set.Model(request.Model)
//	response, err := embeddings.Answer(ctx, model, request)
//	wire := embeddings.AsWireError(err) // status and body for any of these errors
//
// Values of secrets never reach errors, problems or a printed model.
package embeddings
