package embeddings

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is why a model gave no vectors.
type Error struct {
	// Model is its name in the Spicepod.
	Model string
	// Status is the HTTP status of the provider's answer; 0 when there was none.
	Status int
	// Message is in one line, without secrets.
	Message string
	// Retryable reports that a later call may succeed. It has been tried again
	// as often as max_retries allows.
	Retryable bool
	// Attempts is how often it was tried; 0 when it was not sent at all.
	Attempts int
	// Err is the cause, where a test for it makes sense; for example
	// context.DeadlineExceeded.
	Err error

	wait time.Duration // that the provider asks for; 0 when it does not say
}

// Error is the message behind the model's name.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "embedding model %q: ", e.Model)
	if e.Status != 0 && e.Status != http.StatusOK {
		fmt.Fprintf(&b, "the provider answered %d %s", e.Status, http.StatusText(e.Status))
		if e.Message != "" {
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Message)
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (%d attempts)", e.Attempts)
	}
	return b.String()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// cancelled is the error of a call whose context ended.
func cancelled(ctx context.Context, name string) error {
	return fmt.Errorf("embedding model %q: %w", name, context.Cause(ctx))
}
