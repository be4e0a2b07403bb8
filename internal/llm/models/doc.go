// Package models owns the language models of a Spicepod's `models:` section: opening
// them, choosing the runtime's tools for each, and chatting with them.
//
// A model gets its tools in one of the modes of `params.tools`: every definition
// (direct), tool_search and tool_invoke instead (registry), or every definition,
// deferred until a search finds it (native). The mode is chosen once, when the model is
// loaded, and Info has the reason.
//
//	set, problems := models.NewSet(pod, previous, models.Options{Registry: r, Catalog: catalog, Embeddings: embeddings})
//	model, err := set.Model(request.Model)
//	for event, err := range model.Chat(ctx, request, scope) {
//		...
//	}
//
// Values of secrets never reach errors, problems, logs or a printed model.
package models
