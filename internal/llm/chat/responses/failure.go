package responses

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// fault is the error of an error event, in either of its shapes.
func (e *wireEvent) fault() *wireError {
	if e.Error != nil {
		return e.Error
	}
	return &wireError{Code: e.Code, Message: e.Message}
}

// failed is the error of an answer that failed at the provider.
func (d *decoder) failed(e *wireError) *chat.Error {
	if e == nil {
		e = &wireError{}
	}
	kind := e.kind()
	message := e.Message
	if message == "" {
		message = "no reason given"
	}
	message = truncate.Ellipsis(message, maxMessage)
	if kind != "" {
		message = fmt.Sprintf("%s (%s)", message, kind)
	}
	return d.fail(codeOf(kind), "the provider failed within its answer: "+message)
}

// kind is the code of the error, or else its type.
func (e *wireError) kind() string {
	if text, ok := e.Code.(string); ok && text != "" {
		return text
	}
	return e.Type
}

// codeOf says what a failure within an answer is. OpenAI's codes name what is
// wrong with the request, a limit, or its own fault.
func codeOf(kind string) chat.Code {
	switch {
	case kind == "rate_limit_exceeded" || kind == "insufficient_quota" || strings.HasPrefix(kind, "rate_limit"):
		return chat.CodeBusy
	case kind == "context_length_exceeded" || kind == "bio_policy" || kind == "data_residency_mismatch" ||
		strings.HasPrefix(kind, "invalid_") || strings.Contains(kind, "image") || strings.HasSuffix(kind, "policy_violation"):
		return chat.CodeInvalid
	}
	return chat.CodeUpstream
}
