package chattest

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// Status returns an HTTP status for the error of a chat, so that tests can serve
// a protocol without the HTTP API.
func Status(code errcode.Code) int {
	switch code {
	case errcode.InvalidRequest:
		return http.StatusBadRequest
	case errcode.ModelNotFound:
		return http.StatusNotFound
	case errcode.RequestTooLarge:
		return http.StatusRequestEntityTooLarge
	case errcode.RateLimited:
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}
