package sqlapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// The codes of errors that are the API's own; the others are [engine.Code]s
// and [tools.Code]s, which mean the same where they are the same.
const (
	codeInvalidRequest engine.Code = "invalid_request"
	codeTooLarge       engine.Code = "request_too_large"
	codeSlowBody       engine.Code = "request_timeout"
	codeMediaType      engine.Code = "unsupported_media_type"
	codeNoRoute        engine.Code = "route_not_found"
	codeMethod         engine.Code = "method_not_allowed"
	codeHost           engine.Code = "host_not_allowed"
	codeOrigin         engine.Code = "origin_not_allowed"
	codeUnauthorized   engine.Code = audit.Unauthorized
	codeDenied         engine.Code = audit.Denied
	codeTooMany        engine.Code = audit.RateLimited
	codeNoQuery        engine.Code = "query_not_found"
	codeNoResult       engine.Code = "result_not_found"
	codeUnknownDataset engine.Code = "dataset_not_found"
	codeNotAccelerated engine.Code = "not_accelerated"
	codeReloadRefused  engine.Code = "reload_refused"
	codeNotServed      engine.Code = "not_served"
	codeShuttingDown   engine.Code = "shutting_down"
	codeSchemaVersion  engine.Code = "unsupported_schema_version"
	codeNoRequest      engine.Code = "request_not_found"
	codeNotSent        engine.Code = "not_sent" // in logs and metrics only
)

const (
	statusClientLeft     = 499 // in logs and metrics only: the client has left
	retryAfterSeconds    = "1"
	headerRetryAfter     = "Retry-After"
	internalErrorMessage = "internal error; the log has more under this X-Request-Id"
)

// errorCode is a row of the table from errors to statuses.
type errorCode struct {
	code   engine.Code
	status int
	text   string
}

// errorCodes is the one table of what each error is in HTTP. What SQL says
// about itself, unknown tables among it, is 400: the address was right.
var errorCodes = []errorCode{
	{engine.CodeParse, http.StatusBadRequest, "The statement is not SQL."},
	{engine.CodeRefused, http.StatusBadRequest, "The statement is of a kind that the caller may not run, or the tool may not do what was asked."},
	{engine.CodeNotFound, http.StatusBadRequest, "The statement names an unknown table, column or function."},
	{engine.CodeArgument, http.StatusBadRequest, "Types, number of arguments or parameters are wrong."},
	{engine.CodeExecution, http.StatusBadRequest, "The statement or the tool failed on the data: an overflow, a bad cast."},
	{codeInvalidRequest, http.StatusBadRequest, "The request itself is wrong: its body, a parameter, a header."},
	{engine.Code(tools.CodeInvalidArguments), http.StatusBadRequest, "The arguments do not fit the tool's parameters."},
	{codeSchemaVersion, http.StatusBadRequest, "The schema_version of the body is another one than is spoken here."},
	{codeNotAccelerated, http.StatusBadRequest, "Only accelerated datasets can be refreshed."},
	{codeUnauthorized, http.StatusUnauthorized, "The key is missing or not known: see Keys."},
	{codeDenied, http.StatusForbidden, "The key does not permit it: see Keys."},
	{codeHost, http.StatusForbidden, "The Host header names somebody else: see Protection."},
	{codeOrigin, http.StatusForbidden, "The request comes from another site's page: see Protection."},
	{engine.Code(tools.CodeUnavailable), http.StatusForbidden, "The tool is not there for whom the request is made."},
	{codeNoRoute, http.StatusNotFound, "There is no such route."},
	{codeUnknownDataset, http.StatusNotFound, "There is no dataset of that name."},
	{engine.Code(tools.CodeNotFound), http.StatusNotFound, "There is no tool of that name."},
	{engine.Code(chat.CodeNotFound), http.StatusNotFound, "There is no model of that name."},
	{codeNoRequest, http.StatusNotFound, "No request runs under that id for the user."},
	{codeNoQuery, http.StatusNotFound, "No query of yours has that id."},
	{codeNoResult, http.StatusNotFound, "You have no stored result of that name."},
	{codeNotServed, http.StatusNotFound, "This process does not serve the route."},
	{codeMethod, http.StatusMethodNotAllowed, "The route has other methods: see Allow."},
	{codeSlowBody, http.StatusRequestTimeout, "The body took too long to arrive."},
	{engine.CodeLimit, http.StatusRequestEntityTooLarge, "The statement, the arguments, a result or its memory is over a limit."},
	{codeTooLarge, http.StatusRequestEntityTooLarge, "The body is over its limit."},
	{codeMediaType, http.StatusUnsupportedMediaType, "The body is in a form that is not read."},
	{codeReloadRefused, http.StatusUnprocessableEntity, "The Spicepod has faults; the generation before goes on serving."},
	{codeTooMany, http.StatusTooManyRequests, "The key's limits are reached: see Retry-After."},
	{engine.CodeBusy, http.StatusTooManyRequests, "Too many statements wait, or calls of the tool run, already: see Retry-After."},
	{engine.Code(chat.CodeBusy), http.StatusTooManyRequests, "The model's provider has too many requests, or too many chats run already: see Retry-After."},
	{engine.CodeCancelled, statusClientLeft, "The client left, and nothing is sent; or another request cancelled the statement or the chat."},
	{engine.CodeInternal, http.StatusInternalServerError, "A fault of the runtime's own."},
	{engine.Code(tools.CodeInvalidResult), http.StatusBadGateway, "The tool gave what it does not declare."},
	{engine.Code(chat.CodeUpstream), http.StatusBadGateway, "The model's provider failed."},
	{engine.Code(chat.CodeRefused), http.StatusBadGateway, "The model's provider refused the key, or does not have the model."},
	{engine.Code(chat.CodeBroken), http.StatusBadGateway, "The provider's answer broke off, or made no sense."},
	{engine.Code(chat.CodeUnavailable), http.StatusServiceUnavailable, "The model is declared and was not loaded."},
	{codeShuttingDown, http.StatusServiceUnavailable, "The runtime is shutting down."},
	{engine.CodeTimeout, http.StatusGatewayTimeout, "The statement or the tool was over its time limit."},
	{engine.Code(chat.CodeTimeout), http.StatusGatewayTimeout, "The model's provider took too long."},
}

func statusOf(code engine.Code) int {
	for _, row := range errorCodes {
		if row.code == code {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

// requestError is an error of the API's own, or what is sent of another.
type requestError struct {
	Message  string            `json:"message" doc:"What is wrong."`
	Code     engine.Code       `json:"code" doc:"What kind of error it is; see the table of codes."`
	Line     int               `json:"line,omitempty" doc:"Where in the statement, from 1."`
	Column   int               `json:"column,omitempty" doc:"Where in the line, in characters from 1."`
	Hint     string            `json:"hint,omitempty" doc:"What would be right."`
	Problems spicepod.Problems `json:"problems,omitempty"`
	SQL      string            `json:"sql,omitempty" doc:"The statement, when a model has written it."`
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

func newError(code engine.Code, hint, format string, args ...any) *requestError {
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

// sentBody is what the error is sent as by a route.
func (e *requestError) sentBody(rt route) any {
	switch {
	case e.body != nil:
		return e.body
	case rt.errorBody != nil:
		return rt.errorBody(e)
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
		return newError(engine.CodeCancelled, "", "%s", activity.ErrCancelled.Message)
	case errors.As(err, &sql) && sql.Code == engine.CodeCancelled:
		return newError(codeShuttingDown, "", "%s", sql.Message) // the client has left
	case errors.As(err, &sql):
		return &requestError{Message: sql.Message, Code: sql.Code, Line: sql.Line, Column: sql.Column, Hint: sql.Hint}
	case errors.As(err, &size):
		return newError(codeTooLarge, "", "the body is larger than %d bytes", size.Limit)
	}
	return newError(engine.CodeInternal, "", internalErrorMessage)
}

// writeError sends an error: as JSON, in the form that the route has for it,
// or as text alone.
func writeError(w http.ResponseWriter, e *requestError, rt route, plain bool) {
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
	body, err := json.Marshal(e.sentBody(rt))
	if err != nil {
		body = []byte(`{"message":"internal error","code":"internal"}`)
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n')) //nolint:errcheck // the client has left
}
