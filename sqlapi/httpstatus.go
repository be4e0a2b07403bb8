package sqlapi

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// The codes that only the HTTP API has. The others are of package errcode.
const (
	codeSlowBody       errcode.Code = "request_timeout"
	codeMediaType      errcode.Code = "unsupported_media_type"
	codeNoRoute        errcode.Code = "route_not_found"
	codeMethod         errcode.Code = "method_not_allowed"
	codeHost           errcode.Code = "host_not_allowed"
	codeOrigin         errcode.Code = "origin_not_allowed"
	codeUnauthorized   errcode.Code = audit.Unauthorized
	codeDenied         errcode.Code = audit.Denied
	codeNoQuery        errcode.Code = "query_not_found"
	codeNoResult       errcode.Code = "result_not_found"
	codeUnknownDataset errcode.Code = "dataset_not_found"
	codeNoFile         errcode.Code = "file_not_found"
	codeNoSandbox      errcode.Code = "sandbox_not_found"
	codeNoFunction     errcode.Code = "function_not_found"
	codeNotBuilt       errcode.Code = "sandbox_not_built"
	codeNotAccelerated errcode.Code = "not_accelerated"
	codeReloadRefused  errcode.Code = "reload_refused"
	codeNotServed      errcode.Code = "not_served"
	codeSchemaVersion  errcode.Code = "unsupported_schema_version"
	codeNoRequest      errcode.Code = "request_not_found"
	codeNoApproval     errcode.Code = "approval_not_found"
	codeDecided        errcode.Code = "approval_decided"
	codeNotSent        errcode.Code = "not_sent" // in logs and metrics only
)

// errorCode is the HTTP status of a code, with its text in the documentation.
type errorCode struct {
	code   errcode.Code
	status int
	text   string
}

// errorCodes has the HTTP status of every code. Errors of SQL, unknown tables
// among them, are 400: the address was right.
var errorCodes = []errorCode{
	{errcode.Parse, http.StatusBadRequest, "The statement is not SQL."},
	{
		errcode.Refused, http.StatusBadRequest,
		"The caller may not run statements of this kind, or the tool may not do what was asked.",
	},
	{errcode.NotFound, http.StatusBadRequest, "The statement names an unknown table, column or function."},
	{errcode.Argument, http.StatusBadRequest, "Types, number of arguments or parameters are wrong."},
	{errcode.Execution, http.StatusBadRequest, "The statement or the tool failed on the data: an overflow, a bad cast."},
	{errcode.InvalidRequest, http.StatusBadRequest, "The request itself is wrong: its body, a parameter, a header."},
	{errcode.InvalidArguments, http.StatusBadRequest, "The arguments do not fit the tool's parameters."},
	{codeSchemaVersion, http.StatusBadRequest, "The schema_version of the body is not supported."},
	{codeNotAccelerated, http.StatusBadRequest, "Only accelerated datasets can be refreshed."},
	{codeUnauthorized, http.StatusUnauthorized, "The key is missing or unknown: see Keys."},
	{codeDenied, http.StatusForbidden, "The key does not permit it: see Keys."},
	{codeHost, http.StatusForbidden, "The Host header has a name that is not allowed: see Protection."},
	{codeOrigin, http.StatusForbidden, "The request comes from a web page of another site: see Protection."},
	{
		errcode.ApprovalRequired, http.StatusForbidden,
		"A person has to approve the call, which did not run: see approval_id.",
	},
	{errcode.ApprovalDenied, http.StatusForbidden, "A person has denied the call."},
	{errcode.ToolUnavailable, http.StatusForbidden, "The tool is not available to the caller."},
	{codeNoRoute, http.StatusNotFound, "There is no such route."},
	{codeUnknownDataset, http.StatusNotFound, "There is no dataset of that name."},
	{codeNoFunction, http.StatusNotFound, "No function of that name is served that the caller may see."},
	{codeNoFile, http.StatusNotFound, "The Spicepod has no such file, or it cannot be read now."},
	{codeNoSandbox, http.StatusNotFound, "There is no sandbox of that name."},
	{errcode.ToolNotFound, http.StatusNotFound, "There is no tool of that name."},
	{errcode.ModelNotFound, http.StatusNotFound, "There is no model of that name."},
	{codeNoRequest, http.StatusNotFound, "The user has no running request with that id."},
	{codeNoQuery, http.StatusNotFound, "The caller has no query with that id."},
	{codeNoResult, http.StatusNotFound, "The caller has no stored result of that name."},
	{codeNoApproval, http.StatusNotFound, "The caller may see no approval with that id."},
	{codeNotServed, http.StatusNotFound, "This process does not serve the route."},
	{codeMethod, http.StatusMethodNotAllowed, "The route has other methods: see Allow."},
	{codeDecided, http.StatusConflict, "The approval was decided, used, or has expired."},
	{codeSlowBody, http.StatusRequestTimeout, "The body took too long to arrive."},
	{
		errcode.Limit, http.StatusRequestEntityTooLarge,
		"The statement, the arguments, a result or its memory exceeds a limit.",
	},
	{errcode.RequestTooLarge, http.StatusRequestEntityTooLarge, "The body exceeds its limit."},
	{codeMediaType, http.StatusUnsupportedMediaType, "The body has an unsupported encoding."},
	{codeNotBuilt, http.StatusUnprocessableEntity, "The packages of the sandbox cannot be installed."},
	{
		codeReloadRefused, http.StatusUnprocessableEntity,
		"The Spicepod has faults; the previous generation is still served.",
	},
	{
		errcode.Busy, http.StatusTooManyRequests,
		"Too many statements are waiting, or too many calls of the tool are running: see Retry-After.",
	},
	{
		errcode.RateLimited, http.StatusTooManyRequests,
		"A limit of the key is reached, the model's provider has too many requests, or too many chats are running: " +
			"see Retry-After.",
	},
	{
		errcode.Cancelled, statusClientLeft,
		"The client disconnected, and nothing is sent; or another request cancelled the statement or the chat.",
	},
	{errcode.Internal, http.StatusInternalServerError, "An internal error of the runtime."},
	{errcode.InvalidResult, http.StatusBadGateway, "The result of the tool does not match its declared schema."},
	{errcode.ProviderError, http.StatusBadGateway, "The model's provider failed."},
	{errcode.ProviderRefused, http.StatusBadGateway, "The model's provider refused the key, or does not have the model."},
	{errcode.StreamBroken, http.StatusBadGateway, "The provider's answer was cut off or invalid."},
	{
		errcode.Loading, http.StatusServiceUnavailable,
		"The statement or the tool reads data that is being loaded: see loading, and Retry-After.",
	},
	{errcode.ModelNotLoaded, http.StatusServiceUnavailable, "The model is declared but was not loaded."},
	{errcode.ShuttingDown, http.StatusServiceUnavailable, "The runtime is shutting down."},
	{errcode.Timeout, http.StatusGatewayTimeout, "The statement or the tool exceeded its time limit."},
	{errcode.ProviderTimeout, http.StatusGatewayTimeout, "The model's provider took too long."},
}

// statusOf returns the status of a code; an unknown code is internal.
func statusOf(code errcode.Code) int {
	for _, row := range errorCodes {
		if row.code == code {
			return row.status
		}
	}
	return http.StatusInternalServerError
}
