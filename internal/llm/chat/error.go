package chat

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code classifies an [Error], whatever the API.
type Code string

// The codes.
const (
	CodeInvalid     Code = "invalid_request"   // the client's request is wrong
	CodeNotFound    Code = "model_not_found"   //
	CodeTooLarge    Code = "request_too_large" //
	CodeBusy        Code = "rate_limited"      // by the provider, or by one of our limits: RetryAfter
	CodeUpstream    Code = "provider_error"    // the provider failed
	CodeRefused     Code = "provider_refused"  // it rejected the API key, or has no such model
	CodeTimeout     Code = "provider_timeout"  // it took too long
	CodeBroken      Code = "stream_broken"     // its answer ended unexpectedly, or was invalid
	CodeUnavailable Code = "model_not_loaded"  // the model is declared but not loaded
	CodeCancelled   Code = "cancelled"         // the client closed the connection
	CodeInternal    Code = "internal"          // a bug
)

// Error is the error of a failed chat, safe to show to the client.
type Error struct {
	Code       Code
	Message    string
	Param      string        // the invalid field of the request, in the client's API
	RetryAfter time.Duration // when to try again; 0: unknown
	Retried    bool          // the request has been retried already
	Cause      error         // for the log
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// statuses maps each code to its HTTP status.
var statuses = map[Code]int{
	CodeInvalid:     http.StatusBadRequest,
	CodeNotFound:    http.StatusNotFound,
	CodeTooLarge:    http.StatusRequestEntityTooLarge,
	CodeBusy:        http.StatusTooManyRequests,
	CodeUpstream:    http.StatusBadGateway,
	CodeRefused:     http.StatusBadGateway,
	CodeTimeout:     http.StatusGatewayTimeout,
	CodeBroken:      http.StatusBadGateway,
	CodeUnavailable: http.StatusServiceUnavailable,
	CodeCancelled:   499,
	CodeInternal:    http.StatusInternalServerError,
}

// Status returns the HTTP status of the error.
func (e *Error) Status() int {
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Invalid returns an error of the client's request.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an [*Error]. Any other error is internal: its text appears in
// the log only.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error; the log has more", Cause: err}
}
