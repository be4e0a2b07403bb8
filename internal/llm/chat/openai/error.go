package openai

import (
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// wireError is {"error": {…}}; an empty param or code is null.
type wireError struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// kinds are the type and code of errors for which OpenAI has other names; all
// others are a server_error with our code.
var kinds = map[errcode.Code]struct{ kind, code string }{
	errcode.InvalidRequest:  {"invalid_request_error", ""},
	errcode.ModelNotFound:   {"invalid_request_error", "model_not_found"},
	errcode.RequestTooLarge: {"invalid_request_error", "request_too_large"},
	errcode.RateLimited:     {"rate_limit_error", "rate_limit_exceeded"},
}

// EncodeError returns the body of an error response: {"error": {"message", "type",
// "param", "code"}}.
func EncodeError(e *chat.Error) []byte {
	kind, ok := kinds[e.Code]
	if !ok {
		kind.kind, kind.code = "server_error", string(e.Code)
	}
	param := e.Param
	if e.Code == errcode.ModelNotFound && param == "" {
		param = "model"
	}
	// Strings cannot fail to encode.
	body, _ := tools.Encode(wireError{errorBody{e.Message, kind.kind, orNull(param), orNull(kind.code)}})
	return body
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
