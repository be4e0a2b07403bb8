package chattest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// fault is an error of a provider, which each API encodes in its own way.
type fault struct {
	kind    faultKind
	message string
	header  http.Header
}

type faultKind int

const (
	faultKey faultKind = iota
	faultRate
	faultServer
	faultOverload
	faultRequest
)

// faults are the errors by kind. OpenAI's two APIs have the same errors.
var faults = [...]struct {
	openAIStatus    int
	openAIType      string
	openAICode      any // null for some
	anthropicStatus int
	anthropicType   string
}{
	faultKey:      {401, "invalid_request_error", "invalid_api_key", 401, "authentication_error"},
	faultRate:     {429, "requests", "rate_limit_exceeded", 429, "rate_limit_error"},
	faultServer:   {500, "server_error", nil, 500, "api_error"},
	faultOverload: {503, "server_error", nil, 529, "overloaded_error"},
	faultRequest:  {400, "invalid_request_error", "invalid_function_parameters", 400, "invalid_request_error"},
}

func (f fault) status(form chat.Form) int {
	if form == chat.FormAnthropic {
		return faults[f.kind].anthropicStatus
	}
	return faults[f.kind].openAIStatus
}

// RateLimited rejects a request for its rate; retryAfter is sent in whole seconds,
// unless 0.
func RateLimited(retryAfter time.Duration) Answer {
	f := &fault{kind: faultRate, message: "This request would exceed the rate limit of the organization.", header: http.Header{}}
	if retryAfter > 0 {
		f.header.Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	return Answer{fault: f}
}

// Unauthorized rejects a request for its key. As at OpenAI, the message has part of the
// key, which code that passes on messages must handle.
func Unauthorized() Answer {
	return Answer{fault: &fault{kind: faultKey, message: "Incorrect API key provided: sk-li****6789."}}
}

// ServerError is an error of the provider, status 500.
func ServerError() Answer {
	return Answer{fault: &fault{kind: faultServer, message: "The server had an error while processing your request."}}
}

// Overloaded is an overloaded provider: status 503, or 529 for Anthropic.
func Overloaded() Answer {
	return Answer{fault: &fault{kind: faultOverload, message: "Overloaded"}}
}
