package embeddings

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is the error of a call that returned no vectors.
type Error struct {
	// Model is its name in the Spicepod.
	Model string
	// Status is the HTTP status of the provider's answer; 0 if there was none.
	Status int
	// Message is in one line, without secrets.
	Message string
	// Retryable means that a later call may succeed. All retries that max_retries
	// allows have failed.
	Retryable bool
	// Attempts is the number of attempts; 0 if nothing was sent.
	Attempts int
	// Err is the cause, for errors.Is, such as context.DeadlineExceeded.
	Err error

	wait time.Duration // requested by the provider, or 0
}

// Error returns the message, preceded by the model's name.
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// cancelled returns the error of a call whose context has ended.
func cancelled(ctx context.Context, name string) error {
	return fmt.Errorf("embedding model %q: %w", name, context.Cause(ctx))
}
