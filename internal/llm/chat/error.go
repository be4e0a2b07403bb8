package chat

import (
	"errors"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// Error is the error of a failed chat, safe to show to the client.
type Error struct {
	Code       errcode.Code
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

// Invalid returns an error of the client's request.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Code: errcode.InvalidRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an [*Error]. Any other error is internal: its text appears in
// the log only.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: errcode.Internal, Message: "internal error; the log has more", Cause: err}
}
