package embeddings

import (
	"fmt"
	"time"
)

// Limits on calls, and on the answers of a provider.
const (
	// MaxTexts limits the texts of one call of Embed.
	MaxTexts = 100_000
	// MaxTextBytes limits one text.
	MaxTextBytes = 1 << 20
	// MaxDimensions limits the length of a vector.
	MaxDimensions = 16_384
	// MaxBatch limits the texts of one request to a provider, as OpenAI does.
	MaxBatch = 2048
	// MaxBatchBytes limits all texts of one request to a provider. A longer text
	// is sent alone. OpenAI accepts 300,000 tokens per request.
	MaxBatchBytes = 512 << 10
	// MaxConcurrent limits the concurrent requests of one model.
	MaxConcurrent = 4
	// MaxRetries is the largest max_retries.
	MaxRetries = 10
	// MaxTimeout is the largest timeout of one request.
	MaxTimeout = 10 * time.Minute
	// MaxAnswerBytes limits one answer of a provider.
	MaxAnswerBytes = 256 << 20
	// MaxMessage is how much of a provider's message is shown.
	MaxMessage = 400
	// MaxRequestBytes limits the body of POST /v1/embeddings.
	MaxRequestBytes = 16 << 20
	// MaxInputs limits the texts of POST /v1/embeddings.
	MaxInputs = 2048
)

const (
	defaultBatch   = 256
	defaultTimeout = 30 * time.Second
	defaultRetries = 5
	// answerSlack limits an answer without its numbers, and
	// numberBytes one number with the space around it.
	answerSlack = 64 << 10
	numberBytes = 32
)

// checkTexts rejects texts that exceed the limits.
func checkTexts(name string, texts []string) error {
	if len(texts) > MaxTexts {
		return &Error{Model: name, Message: fmt.Sprintf("%d texts in one call; at most %d", len(texts), MaxTexts)}
	}
	for i, text := range texts {
		if len(text) > MaxTextBytes {
			return &Error{Model: name, Message: fmt.Sprintf("text %d has %d bytes; at most %d", i, len(text), MaxTextBytes)}
		}
	}
	return nil
}
