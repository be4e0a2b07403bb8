package responses

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// fault returns the error of an error event, in either form.
func (e *wireEvent) fault() *wireError {
	if e.Error != nil {
		return e.Error
	}
	return &wireError{Code: e.Code, Message: e.Message}
}

// failed returns the error of an answer that failed at the provider.
func (d *decoder) failed(e *wireError) *chat.Error {
	if e == nil {
		e = &wireError{}
	}
	kind := e.kind()
	message := e.Message
	if message == "" {
		message = "no message"
	}
	message = truncate.Ellipsis(message, maxMessage)
	if kind != "" {
		message = fmt.Sprintf("%s (%s)", message, kind)
	}
	return d.fail(codeOf(kind), "the provider failed in the middle of the answer: %s", message)
}

// kind returns the code of the error, else its type.
func (e *wireError) kind() string {
	if text, ok := e.Code.(string); ok && text != "" {
		return text
	}
	return e.Type
}

// codeOf maps a code of OpenAI, which names an error of the request, a limit, or a
// server error.
func codeOf(kind string) errcode.Code {
	switch {
	case kind == "rate_limit_exceeded" || kind == "insufficient_quota" || strings.HasPrefix(kind, "rate_limit"):
		return errcode.RateLimited
	case kind == "context_length_exceeded" || kind == "bio_policy" || kind == "data_residency_mismatch" ||
		strings.HasPrefix(kind, "invalid_") || strings.Contains(kind, "image") || strings.HasSuffix(kind, "policy_violation"):
		return errcode.InvalidRequest
	}
	return errcode.ProviderError
}
