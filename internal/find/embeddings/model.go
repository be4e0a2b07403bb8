package embeddings

import "context"

// Model embeds texts as vectors. It is safe for concurrent use.
type Model interface {
	// Name is the model's name in the Spicepod.
	Name() string
	// Fingerprint identifies comparable vectors: it is equal for models with
	// the same source, endpoint and dimensions. It contains no secret.
	Fingerprint() string
	// Dimensions is the length of every vector; 0 while it is unknown, which
	// may last until the first call.
	Dimensions() int
	// Embed returns one vector per text, in the order of the texts. The vectors
	// are finite and of equal length, not normalised, and owned by the caller.
	// Without texts it sends no request. An error is a *Error, or wraps the
	// cause of ctx.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Counter is a Model that reports the tokens of a call.
type Counter interface {
	Model
	// EmbedCounted is Embed with the provider's token count, or EstimateUsage
	// if it reports none.
	EmbedCounted(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// Usage is the number of tokens of a call. An embedding has only input tokens,
// so the two are usually equal.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

func (u Usage) plus(other Usage) Usage {
	return Usage{u.PromptTokens + other.PromptTokens, u.TotalTokens + other.TotalTokens}
}

// EmbedCounted embeds texts with any model, with the count of a Counter, or
// else EstimateUsage.
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

// EstimateUsage estimates an unreported count: one token for every four bytes
// of UTF-8, rounded up for each text. Real tokenizers differ.
func EstimateUsage(texts []string) Usage {
	tokens := 0
	for _, text := range texts {
		tokens += (len(text) + bytesPerToken - 1) / bytesPerToken
	}
	return Usage{PromptTokens: tokens, TotalTokens: tokens}
}
