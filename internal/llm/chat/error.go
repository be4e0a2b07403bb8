package chat

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code says what kind of an [Error] it is, in every form.
type Code string

// The codes.
const (
	CodeInvalid     Code = "invalid_request"   // the client's request is wrong
	CodeNotFound    Code = "model_not_found"   //
	CodeTooLarge    Code = "request_too_large" //
	CodeBusy        Code = "rate_limited"      // by the provider, or by a limit of ours: RetryAfter
	CodeUpstream    Code = "provider_error"    // the provider failed
	CodeRefused     Code = "provider_refused"  // it refused our key, or does not have the model
	CodeTimeout     Code = "provider_timeout"  // it took too long
	CodeBroken      Code = "stream_broken"     // its answer broke off, or made no sense
	CodeUnavailable Code = "model_not_loaded"  // the model is declared and was not loaded
	CodeCancelled   Code = "cancelled"         // the client left
	CodeInternal    Code = "internal"          // a fault of ours
)

// Error is a chat that failed, fit for the client.
type Error struct {
	Code       Code
	Message    string
	Param      string        // the field of the request that is wrong, in the client's form
	RetryAfter time.Duration // when to try again; 0: nobody knows
	Retried    bool          // we tried several times already
	Cause      error         // for the log
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// statuses is the one table of what each code is in HTTP.
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

// Status is the HTTP status of the error.
func (e *Error) Status() int {
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Invalid is an error of the client's request.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an [*Error]; what is none is a fault of ours, whose
// text stays in the log.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error; the log has more", Cause: err}
}
