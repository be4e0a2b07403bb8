package embeddings

import (
	"context"
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/find/embeddings/wordpiece"
)

// Tool is a tool whose texts are embedded.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema; nil: none
}

// toolEmbedder is a Model that embeds the fields of a tool apart.
type toolEmbedder interface {
	embedTools(ctx context.Context, tools []Tool) ([][]float32, error)
}

// EmbedTools embeds tools as Embed does texts: by their fields if the model can, else as
// one text, the words of the name and the description. Sentence encoders find tools better
// by it than by a text with the JSON Schema, which internal/find/eval/MEASURED.md measures.
func EmbedTools(ctx context.Context, m Model, tools []Tool) ([][]float32, error) {
	if byField, ok := m.(toolEmbedder); ok {
		return byField.embedTools(ctx, tools)
	}
	texts := make([]string, len(tools))
	for i, t := range tools {
		texts[i] = wordpiece.SplitNames(t.Name) + ": " + wordpiece.SplitNames(t.Description)
	}
	return m.Embed(ctx, texts)
}
