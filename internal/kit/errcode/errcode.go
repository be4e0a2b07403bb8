// Package errcode owns the codes of errors. SQL, tools, models and the HTTP API
// share them, and clients see them. Each protocol has one table from codes to its
// own statuses: sqlapi/httpstatus.go, package sqlstate, flightsql/errors.go.
//
//	err := &engine.Error{Code: errcode.NotFound, Message: "there is no table t", Offset: -1}
//	if err.Code.Retryable() { … }
package errcode

// Code is the kind of an error.
type Code string

// The codes of statements. Those from Refused on apply to tools as well.
const (
	Parse     Code = "parse_error"       // not SQL
	NotFound  Code = "not_found"         // unknown table, column or function
	Argument  Code = "invalid_argument"  // wrong types, arity or parameters
	Refused   Code = "refused"           // not permitted to this caller
	Execution Code = "execution_error"   // failed on the data: overflow, bad cast, division
	Timeout   Code = "timeout"           // over its time limit
	Cancelled Code = "cancelled"         // cancelled, or the caller left
	Limit     Code = "limit_exceeded"    // over a limit of rows, bytes, memory or text
	Busy      Code = "too_many_requests" // too many run or wait already
	Loading   Code = "loading"           // it names what is declared and is being loaded
	Internal  Code = "internal"          // a bug in the runtime
)

// The codes of tools.
const (
	InvalidArguments Code = "invalid_arguments" // they do not match the tool's schema
	ToolNotFound     Code = "tool_not_found"
	ToolUnavailable  Code = "tool_unavailable" // not in this scope
	InvalidResult    Code = "invalid_result"   // it does not match the tool's returns

	ApprovalRequired Code = "approval_required" // a person has to approve the call, which did not run
	ApprovalDenied   Code = "approval_denied"   // a person has denied the call
)

// The codes of requests and models.
const (
	InvalidRequest  Code = "invalid_request" // the request itself is wrong
	RequestTooLarge Code = "request_too_large"
	RateLimited     Code = "rate_limited" // by the model's provider, or by the key's limits
	ShuttingDown    Code = "shutting_down"
	ModelNotFound   Code = "model_not_found"
	ModelNotLoaded  Code = "model_not_loaded" // declared, but loading failed
	ProviderError   Code = "provider_error"   // the provider failed
	ProviderRefused Code = "provider_refused" // it refused the key, or does not have the model
	ProviderTimeout Code = "provider_timeout" // it took too long
	StreamBroken    Code = "stream_broken"    // its answer ended early, or was invalid
)

// Known reports whether the code is one of these. Others send codes, too.
func (c Code) Known() bool {
	switch c {
	case Parse, NotFound, Argument, Refused, Execution, Timeout, Cancelled, Limit, Busy, Loading, Internal,
		InvalidArguments, ToolNotFound, ToolUnavailable, InvalidResult, ApprovalRequired, ApprovalDenied,
		InvalidRequest, RequestTooLarge, RateLimited, ShuttingDown, ModelNotFound, ModelNotLoaded,
		ProviderError, ProviderRefused, ProviderTimeout, StreamBroken:
		return true
	}
	return false
}

// Retryable reports whether the same call may succeed later.
func (c Code) Retryable() bool {
	switch c {
	case Timeout, Busy, Loading, ToolUnavailable, RateLimited, ShuttingDown, ProviderError, ProviderTimeout, StreamBroken:
		return true
	}
	return false
}
