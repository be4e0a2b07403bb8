package sqlapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	statusClientLeft     = 499 // nginx's code: the client has left, or cancelled the statement
	retryAfterSeconds    = "1"
	headerRetryAfter     = "Retry-After"
	internalErrorMessage = "internal error; the log has more under this X-Request-Id"
)

// requestError is an error of the API's own, or what is sent of another.
type requestError struct {
	Message  string            `json:"message" doc:"What is wrong."`
	Code     errcode.Code      `json:"code" doc:"What kind of error it is; see the table of codes."`
	Line     int               `json:"line,omitempty" doc:"Where in the statement, from 1."`
	Column   int               `json:"column,omitempty" doc:"Where in the line, in characters from 1."`
	Hint     string            `json:"hint,omitempty" doc:"What would be right."`
	Problems spicepod.Problems `json:"problems,omitempty"`
	SQL      string            `json:"sql,omitempty" doc:"The statement, when a model has written it."`
	Loading  *engine.Loading   `json:"loading,omitempty" doc:"The load that the statement waits for."`
	Approval string            `json:"approval_id,omitempty" doc:"Of approval_required: see /v1/approvals/{id}."`
	allow    string            // of a method that is not allowed
	status   int               // other than the code's; 0: the code's
	header   http.Header       // sent with it; nil: Retry-After, if it is retryable
	body     any               // sent in place of the error; nil: the error
	cause    error             // for the log; nil: the error
}

func (e *requestError) Error() string {
	s := e.Message
	if e.Line > 0 {
		s += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func newError(code errcode.Code, hint, format string, args ...any) *requestError {
	return &requestError{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// sentStatus is the status that the error is sent with.
func (e *requestError) sentStatus() int {
	if e.status != 0 {
		return e.status
	}
	return statusOf(e.Code)
}

// retryable reports whether the same request may succeed in a moment.
func (e *requestError) retryable() bool {
	status := e.sentStatus()
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// sentBody is what the error of a request is sent as by its route.
func (e *requestError) sentBody(r *http.Request, rt route) any {
	switch {
	case e.body != nil:
		return e.body
	case rt.errorBody != nil:
		return rt.errorBody(r, e)
	}
	return e
}

// asRequestError returns the error that a client gets.
func asRequestError(err error) *requestError {
	var own *requestError
	var sql *engine.Error
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, activity.ErrCancelled):
		return newError(errcode.Cancelled, "", "%s", activity.ErrCancelled.Message)
	case errors.As(err, &sql) && sql.Code == errcode.Cancelled:
		return newError(errcode.ShuttingDown, "", "%s", sql.Message) // the client has left
	case errors.As(err, &sql):
		return &requestError{
			Message: sql.Message, Code: sql.Code, Line: sql.Line, Column: sql.Column, Hint: sql.Hint,
			Loading: sql.Loading,
		}
	case errors.As(err, &size):
		return newError(errcode.RequestTooLarge, "", "the body is larger than %d bytes", size.Limit)
	}
	return newError(errcode.Internal, "", internalErrorMessage)
}

// writeError sends an error: as JSON, in the form that the route has for it,
// or as text alone.
func writeError(w http.ResponseWriter, r *http.Request, e *requestError, rt route, plain bool) {
	h := w.Header()
	h.Del("Content-Length")
	status := e.sentStatus()
	switch {
	case e.header != nil:
		maps.Copy(h, e.header)
	case e.retryable():
		h.Set(headerRetryAfter, retryAfterSeconds)
	}
	if e.allow != "" {
		h.Set("Allow", e.allow)
	}
	if plain {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprintln(w, e.Error())
		return
	}
	body, err := json.Marshal(e.sentBody(r, rt))
	if err != nil {
		body = []byte(`{"message":"internal error","code":"internal"}`)
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n')) //nolint:errcheck // the client has left
}
