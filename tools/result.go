package tools

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
)

// Result is the outcome of a call, whatever door it came through.
type Result struct {
	OK      bool            `json:"ok"`
	Result  json.RawMessage `json:"result,omitempty"` // of a call that is OK; null is a value
	Error   *Error          `json:"error,omitempty"`  // of one that is not
	Rows    *Rows           `json:"-"`                // extent of a result of rows, shown beside it
	Notices []string        `json:"notices,omitempty"`
	Metrics Metrics         `json:"metrics"`
	Trace   *caller.Trace   `json:"trace,omitempty"`

	// Tool is the definition of what was called, nil when there is none.
	Tool *Definition `json:"-"`
}

// MarshalJSON renders the result as clients of the invocation API see it.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal(struct {
		SchemaVersion string `json:"schema_version"`
		plain
		*Rows
	}{SchemaVersion, plain(r), r.Rows})
}

// Metrics is what a call cost.
type Metrics struct {
	LatencyMS float64 `json:"latency_ms"`
	// Cache is "hit" when the result was remembered, "miss" when it was not
	// but could have been, else "".
	Cache string `json:"cache,omitempty"`
}

// Code says what went wrong in a call.
type Code string

// The codes of failed calls.
const (
	CodeInvalidArguments Code = "invalid_arguments" // they do not fit the tool's schema
	CodeNotFound         Code = "tool_not_found"
	CodeUnavailable      Code = "tool_unavailable"  // not in this scope
	CodeExecution        Code = "execution_error"   // the tool ran and failed
	CodeRefused          Code = "refused"           // it may not do what was asked
	CodeTimeout          Code = "timeout"           // over its time limit
	CodeCancelled        Code = "cancelled"         // the caller left
	CodeBusy             Code = "too_many_requests" // over a limit of calls at once
	CodeLimit            Code = "limit_exceeded"    // over a limit of size
	CodeInvalidResult    Code = "invalid_result"    // it does not fit the tool's returns
	CodeInternal         Code = "internal"          // a fault of ours
)

// Retryable reports whether the same call may succeed later.
func (c Code) Retryable() bool {
	return c == CodeTimeout || c == CodeBusy || c == CodeUnavailable
}

// Error is a failed call, fit for the model or person who called.
type Error struct {
	Code       Code            `json:"code"`
	Message    string          `json:"message"`
	Retryable  bool            `json:"retryable"`
	Hint       string          `json:"hint,omitempty"`         // what would be right
	Faults     []Fault         `json:"faults,omitempty"`       // of the arguments or the result
	DidYouMean []string        `json:"did_you_mean,omitempty"` // names that exist, nearest first
	Example    json.RawMessage `json:"example,omitempty"`      // the least arguments that are valid

	// Cause is for the log.
	Cause error `json:"-"`
}

// Fault is one thing wrong with a value.
type Fault struct {
	Path    string `json:"path"`    // JSON Pointer (RFC 6901) into the value; "" is the whole
	Keyword string `json:"keyword"` // of JSON Schema
	Message string `json:"message"`
}

// NewError makes an error of a code; whether it is retryable follows from it.
func NewError(code Code, message, hint string) *Error {
	return &Error{Code: code, Message: message, Hint: hint, Retryable: code.Retryable()}
}

// Error is the message with what would be right.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Of returns the error with the name of the tool in front of its message.
func (e *Error) Of(tool string) *Error {
	named := *e
	named.Message = tool + ": " + e.Message
	return &named
}

// FaultsText lists faults in one line.
func FaultsText(faults []Fault) string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.Message
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError returns err as an [*Error]; what is none becomes [CodeExecution].
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeExecution, Message: strings.TrimSpace(err.Error()), Cause: err}
}

// ErrChanged is what a [Tool] returns when the runtime changed under a call
// before it did anything: the name means another tool now.
var ErrChanged = errors.New("the tool has just been replaced")
