package embeddings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
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

// providerMessage finds the message in the body of a refusal. Providers write
// {"error": {"message": …}}, {"error": "…"}, {"message": "…"} or
// {"detail": "…"}; the code is there for OpenAI's own form. A page of HTML
// says nothing.
func providerMessage(body []byte) (message, code string) {
	var form struct {
		Error, Message, Detail json.RawMessage
	}
	if json.Unmarshal(body, &form) != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return "", ""
		}
		return text, ""
	}
	var inner struct {
		Message string
		Code    any
	}
	if json.Unmarshal(form.Error, &inner) == nil && inner.Message != "" {
		code, _ = inner.Code.(string)
		return inner.Message, code
	}
	for _, raw := range []json.RawMessage{form.Error, form.Message, form.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text, ""
		}
	}
	return "", ""
}

// oneLine makes a foreign text safe to show: one line, no control characters,
// at most MaxMessage bytes.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= MaxMessage {
		return text
	}
	end := MaxMessage
	for text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}
