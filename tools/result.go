package tools

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// Result is the outcome of a call, the same for every protocol.
type Result struct {
	OK bool `json:"ok"`
	// null is a value
	Result  json.RawMessage `json:"result,omitempty" doc:"The result of the tool, if the call succeeded."`
	Error   *Error          `json:"error,omitempty"`
	Content []Content       `json:"-"` // see [Output.Content]
	Rows    *Rows           `json:"-"` // extent of a result of rows, shown next to it
	Notices []string        `json:"notices,omitempty" doc:"What was repaired or left out."`
	Metrics Metrics         `json:"metrics"`
	Trace   *caller.Trace   `json:"trace,omitempty"`

	// Tool is the definition of the called tool; nil if the name is unknown.
	Tool *Definition `json:"-"`
}

// MarshalJSON encodes the result for clients of the invocation API.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.JSONForm()) }

// JSONForm returns the value that [Result.MarshalJSON] encodes.
func (r Result) JSONForm() any {
	type plain Result
	return struct {
		SchemaVersion string `json:"schema_version"`
		plain
		*Rows
	}{SchemaVersion, plain(r), r.Rows}
}

// Metrics are the costs of a call.
type Metrics struct {
	LatencyMS float64 `json:"latency_ms"`
	// Cache is "hit" for a cached result, "miss" for one that is cacheable but
	// was not cached, else "".
	Cache string `json:"cache,omitempty" enum:"hit,miss"`
	// Usage is what an agent used whose result does not have it.
	Usage *Usage `json:"usage,omitempty" doc:"Of an agent with returns: what it used."`
}

// Usage is what a task of an agent used, with everything that it delegated.
type Usage struct {
	Rounds int64 `json:"rounds" doc:"Requests to the provider, of the agent itself."`
	Calls  int64 `json:"calls" doc:"Calls of tools."`
	Tokens int64 `json:"tokens"`
}

// Error is a failed call, in terms for the model or person that called.
type Error struct {
	Code       errcode.Code    `json:"code" doc:"See the table of codes."`
	Message    string          `json:"message" doc:"What is wrong."`
	Retryable  bool            `json:"retryable" doc:"The same call may succeed later."`
	Hint       string          `json:"hint,omitempty" doc:"What would be right."`
	Faults     []Fault         `json:"faults,omitempty"` // of the arguments or the result
	DidYouMean []string        `json:"did_you_mean,omitempty" doc:"Names that exist, nearest first."`
	Example    json.RawMessage `json:"example,omitempty" doc:"The fewest valid arguments."`

	*NeedsApproval

	// Cause is for the log.
	Cause error `json:"-"`
}

// NeedsApproval is what [errcode.ApprovalRequired] has besides.
type NeedsApproval struct {
	ApprovalID string    `json:"approval_id,omitempty" doc:"Of approval_required: see /v1/approvals/{id}."`
	ExpiresAt  time.Time `json:"expires_at,omitzero" doc:"Of approval_required: until when the call can be approved and repeated."`
	WouldRun   *WouldRun `json:"would_run,omitempty" doc:"Of approval_required: the call."`
}

// WouldRun is a call that did not run.
type WouldRun struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments" type:"object" doc:"Repaired, and with defaults."`
	Plan      json.RawMessage `json:"plan,omitempty" type:"object" doc:"What the tool would do, if it has a plan."`
}

// Fault is one fault of a value.
type Fault struct {
	Path    string `json:"path" doc:"JSON Pointer into the arguments or the result; empty for all of it."` // RFC 6901
	Keyword string `json:"keyword" doc:"Of JSON Schema."`
	Message string `json:"message"`
}

// NewError returns an error of a code, which determines whether it is
// retryable.
func NewError(code errcode.Code, message, hint string) *Error {
	return &Error{Code: code, Message: message, Hint: hint, Retryable: code.Retryable()}
}

// Error returns the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Suggest sets DidYouMean to the known name that an unknown one probably means.
func (e *Error) Suggest(name string, known []string) *Error {
	if near := nearest.Name(name, known); near != "" {
		e.DidYouMean = []string{near}
	}
	return e
}

// Explain returns the error with everything that helps to fix the call.
func (e *Error) Explain() string {
	text := e.Error()
	var names []string // those missing from the hint
	for _, name := range e.DidYouMean {
		if quoted := strconv.Quote(name); !strings.Contains(e.Hint, quoted) {
			names = append(names, quoted)
		}
	}
	if len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	if len(e.Example) > 0 {
		text += "; for example " + string(e.Example)
	}
	return text
}

// Of returns the error with the tool's name before the message.
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

// AsError returns err as an [*Error]; any other error becomes [errcode.Execution].
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: errcode.Execution, Message: strings.TrimSpace(err.Error()), Cause: err}
}

// ErrChanged is what a [Tool] returns if the runtime changed before the call
// had any effect: the name now means another tool.
var ErrChanged = errors.New("the tool has just been replaced")
