package embeddings

import (
	"fmt"
	"time"
)

// Limits on what one call may ask for and what a provider may answer.
const (
	// MaxTexts is how many texts one call of Embed takes.
	MaxTexts = 100_000
	// MaxTextBytes is the size of one text.
	MaxTextBytes = 1 << 20
	// MaxDimensions is how long a vector may be.
	MaxDimensions = 16_384
	// MaxBatch is how many texts one request to a provider holds; OpenAI takes
	// no more.
	MaxBatch = 2048
	// MaxBatchBytes is the size of all texts of one request to a provider. A
	// longer text travels alone. OpenAI takes 300,000 tokens per request.
	MaxBatchBytes = 512 << 10
	// MaxConcurrent is how many requests one model has in flight.
	MaxConcurrent = 4
	// MaxRetries is the largest max_retries.
	MaxRetries = 10
	// MaxTimeout is the largest timeout of one request.
	MaxTimeout = 10 * time.Minute
	// MaxRetryAfter is the longest wait that a provider may ask for. A call
	// whose provider asks for more fails at once.
	MaxRetryAfter = time.Minute
	// MaxAnswerBytes is the size of one answer of a provider.
	MaxAnswerBytes = 256 << 20
	// MaxMessage is how much of a provider's message is shown.
	MaxMessage = 400
	// MaxRequestBytes is the size of the body of POST /v1/embeddings.
	MaxRequestBytes = 16 << 20
	// MaxInputs is how many texts POST /v1/embeddings takes.
	MaxInputs = 2048
)

const (
	defaultBatch   = 256
	defaultTimeout = 30 * time.Second
	defaultRetries = 5
	// backoffFirst is the wait before the second attempt. It doubles up to
	// backoffMost.
	backoffFirst = 500 * time.Millisecond
	backoffMost  = 8 * time.Second
	// answerSlack is what an answer may hold beside its numbers, and
	// numberBytes how long one of them may be, with the space around it.
	answerSlack = 64 << 10
	numberBytes = 32
	// maxErrorBody is how much of a refusal is read.
	maxErrorBody = 64 << 10
)

// checkTexts refuses what is beyond the limits.
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
