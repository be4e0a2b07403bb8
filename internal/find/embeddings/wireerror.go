package embeddings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// WireError is an error as OpenAI's API reports it: a status and the body
// {"error": {"message", "type", "param", "code"}}.
type WireError struct {
	Status  int
	Message string
	Type    string // invalid_request_error, rate_limit_error or server_error
	Param   string // the invalid field of the request, or ""
	Code    string // such as model_not_found, or ""
}

var _ json.Marshaler = (*WireError)(nil)

// Error returns the message.
func (e *WireError) Error() string { return e.Message }

// MarshalJSON writes the body; an empty Param or Code is null.
func (e *WireError) MarshalJSON() ([]byte, error) { return json.Marshal(e.JSONForm()) }

// JSONForm returns the value that [WireError.MarshalJSON] encodes.
func (e *WireError) JSONForm() any {
	return struct {
		Error WireErrorBody `json:"error"`
	}{WireErrorBody{e.Message, e.Type, orNull(e.Param), orNull(e.Code)}}
}

// WireErrorBody is the inner object of an encoded [WireError].
type WireErrorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type" enum:"invalid_request_error,rate_limit_error,server_error"`
	Param   *string `json:"param" required:"true" nullable:"true" doc:"The field of the request that is wrong."`
	Code    *string `json:"code" required:"true" nullable:"true"`
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Types of WireError.
const (
	typeInvalid   = "invalid_request_error"
	typeRateLimit = "rate_limit_error"
	typeServer    = "server_error"
)

// StatusClientClosed is the status of a request whose client has disconnected.
// It has no standard number; this is nginx's.
const StatusClientClosed = 499

func invalid(param, format string, args ...any) *WireError {
	return &WireError{
		Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...), Type: typeInvalid,
		Param: param,
	}
}

// AsWireError converts an error of this package for a client of POST
// /v1/embeddings; nil for nil. If a provider rejects the texts, the client is
// at fault; if it rejects the runtime's key, the client is not.
func AsWireError(err error) *WireError {
	var wire *WireError
	var failed *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wire):
		return wire
	case errors.Is(err, ErrUnknownModel):
		return &WireError{
			Status: http.StatusNotFound, Message: err.Error(), Type: typeInvalid, Param: "model",
			Code: "model_not_found",
		}
	case errors.Is(err, ErrNotLoaded):
		return &WireError{
			Status: http.StatusServiceUnavailable, Message: err.Error(), Type: typeServer, Param: "model",
			Code: "model_not_loaded",
		}
	case errors.Is(err, context.Canceled):
		return &WireError{Status: StatusClientClosed, Message: err.Error(), Type: typeServer, Code: "cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return &WireError{Status: http.StatusGatewayTimeout, Message: err.Error(), Type: typeServer, Code: "timeout"}
	case errors.As(err, &failed):
		return failed.wire()
	}
	return &WireError{Status: http.StatusInternalServerError, Message: err.Error(), Type: typeServer}
}

func (e *Error) wire() *WireError {
	out := &WireError{Status: http.StatusBadGateway, Message: e.Error(), Type: typeServer, Code: "provider_error"}
	switch {
	case e.Status == http.StatusTooManyRequests:
		out.Status, out.Type, out.Code = e.Status, typeRateLimit, "rate_limit_exceeded"
	case e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusUnprocessableEntity || e.Attempts == 0:
		out.Status, out.Type, out.Param, out.Code = http.StatusBadRequest, typeInvalid, "input", ""
	}
	return out
}
