package registry

import (
	"encoding/hex"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
)

// maxShownNumbers limits the numbers of the vectors that a statement reads: 10,000 tools with
// 1,536 dimensions. The vectors after that are NULL.
const maxShownNumbers = 16 << 20

// named are the embedding models of a catalog that can list them.
type named interface{ Names() []string }

// embeddingRows are the stored vectors of the tools that the caller sees: of the default model
// of tool_search, and of each other one that has vectors. [embeddings.Hashing] models store
// none: their vectors are part of the index.
func embeddingRows(r reader) []row {
	c := r.view.catalog
	var rows []row
	numbers := 0
	for _, m := range c.embeddingModels() {
		list, some := r.indexes.vectors.stored(m, r.view)
		standard, err := c.Embeddings.Resolve(c.EmbeddingModel)
		if !some && (err != nil || standard.Name() != m.Name()) {
			continue
		}
		for i, def := range r.view.Definitions() {
			sum := hex.EncodeToString([]byte(c.get(def.Name).docSum))
			x := row{"tool": def.Name, "model": m.Name(), "checksum": sum, "computed": false}
			if vector := list[i]; vector != nil {
				x["computed"], x["dimensions"] = true, len(vector)
				if numbers += len(vector); numbers <= maxShownNumbers {
					x["vector"] = vector
				}
			}
			rows = append(rows, x)
		}
	}
	return rows
}

// embeddingModels are the models that store vectors, by name.
func (c *Catalog) embeddingModels() []embeddings.Model {
	list, ok := c.Embeddings.(named)
	if !ok {
		return nil
	}
	var models []embeddings.Model
	for _, name := range list.Names() {
		m, err := c.Embeddings.Resolve(name)
		if _, hashes := m.(embeddings.Hashing); err == nil && !hashes {
			models = append(models, m)
		}
	}
	return models
}

// stored returns the known vectors of the tools of a view, in their order; nil of a tool
// without one, and of all while vectors are being computed. some reports whether there are any.
func (v *vectors) stored(m embeddings.Model, view *View) (list [][]float32, some bool) {
	list = make([][]float32, len(view.definitions))
	known := v.model(m)
	if !known.mu.TryLock() { // a provider may take long
		return list, true
	}
	defer known.mu.Unlock()
	for i, def := range view.definitions {
		list[i] = known.byText[view.catalog.get(def.Name).docSum]
		some = some || list[i] != nil
	}
	return list, some
}
