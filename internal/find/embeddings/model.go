package embeddings

import "context"

// Model turns texts into vectors. It is safe for concurrent use.
type Model interface {
	// Name is the model's name in the Spicepod.
	Name() string
	// Fingerprint tells vectors apart that cannot be compared: it is equal for
	// models of the same source, endpoint and dimensions. It holds no secret.
	Fingerprint() string
	// Dimensions is the length of every vector; 0 while it is not known, which
	// may last until the first call.
	Dimensions() int
	// Embed returns one vector per text, in the order of the texts. The vectors
	// are finite and of one length, not normalised, and the caller's to keep.
	// No texts give no vectors and ask nobody. An error is a *Error, or wraps
	// the cause of ctx.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Counter is a Model that knows what a call cost.
type Counter interface {
	Model
	// EmbedCounted is Embed with the tokens that the provider counted, or
	// EstimateUsage where it reports none.
	EmbedCounted(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// Usage is how many tokens a call took. An embedding has no other tokens than
// those of its texts, so the two are mostly equal.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

func (u Usage) plus(other Usage) Usage {
	return Usage{u.PromptTokens + other.PromptTokens, u.TotalTokens + other.TotalTokens}
}

// EmbedCounted embeds texts with any model: with its own count where it is a
// Counter, else with EstimateUsage.
func EmbedCounted(ctx context.Context, m Model, texts []string) ([][]float32, Usage, error) {
	if c, ok := m.(Counter); ok {
		return c.EmbedCounted(ctx, texts)
	}
	vectors, err := m.Embed(ctx, texts)
	if err != nil {
		return nil, Usage{}, err
	}
	return vectors, EstimateUsage(texts), nil
}

// bytesPerToken is the usual length of a token in English.
const bytesPerToken = 4

// EstimateUsage stands in for a count that nobody reports: one token for every
// four bytes of UTF-8, rounded up for each text. Real tokenizers differ.
func EstimateUsage(texts []string) Usage {
	tokens := 0
	for _, text := range texts {
		tokens += (len(text) + bytesPerToken - 1) / bytesPerToken
	}
	return Usage{PromptTokens: tokens, TotalTokens: tokens}
}
