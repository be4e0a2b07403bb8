//go:build !gguf

package embeddings

import "errors"

// ggufBuilt is false: importing the library ends the process where its native part
// is missing, so only a build with the tag gguf includes it.
const ggufBuilt = false

func loadGGUF(string, int) (vectorizer, error) { return nil, errors.New("built without the tag gguf") }
