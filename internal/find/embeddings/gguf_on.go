//go:build gguf

package embeddings

import "github.com/kelindar/search"

// ggufBuilt is true: this build includes the library for GGUF models.
const ggufBuilt = true

func loadGGUF(path string, gpuLayers int) (vectorizer, error) {
	return search.NewVectorizer(path, gpuLayers)
}
