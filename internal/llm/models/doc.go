// Package models owns the language models that a Spicepod's `models:` section
// declares: opening them, which of the runtime's tools each gets and how, and
// chatting with them.
//
// A model gets its tools in one of the modes of `params.tools`: every
// definition (direct), tool_search and tool_invoke in place of them (registry),
// or every definition held back until a search has found it (native). The
// choice is made once, when the model is loaded, and says why.
//
//	set, problems := models.NewSet(pod, previous, models.Options{Registry: r, Catalog: catalog, Embeddings: embeddings})
//	model, err := set.Model(request.Model)
//	for event, err := range model.Chat(ctx, request, scope) {
//		...
//	}
//
// Values of secrets never reach errors, problems, logs or what a model prints.
package models
