package sqlapi

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// door is a form that chats are asked for and answered in.
type door struct {
	parse       func(a *API, r *http.Request, body []byte, who caller.Caller) (*turn, error)
	encodeError func(*chat.Error) []byte
	idHeader    string // where its clients look for the request's id; "": in X-Request-Id
}

// turn is a chat that is asked for, and how its answer is written.
type turn struct {
	request *chat.Request
	encoder func(io.Writer) chat.Encoder
	encode  func(*chat.Response) ([]byte, error)
	keep    func(*chat.Response) // remembers the answer; nil: nobody does
	events  bool                 // the client wants the calls of tools, too
}

// serve is the door as a route has it.
func (d *door) serve(a *API, w http.ResponseWriter, r *http.Request) error {
	if d.idHeader != "" {
		w.Header().Set(d.idHeader, w.Header().Get(headerRequestID))
	}
	return d.failed(w, a.chat(d, w, r))
}

// failed is an error of a chat, or a fault of ours, in the door's form;
// errorBody gives it to the others.
func (d *door) failed(w http.ResponseWriter, err error) error {
	var failed *chat.Error
	if !errors.As(err, &failed) {
		if err == nil || asRequestError(err).Code != engine.CodeInternal {
			return err
		}
		failed = chat.AsError(err)
	}
	e := chatError(w, failed)
	e.body = json.RawMessage(d.encodeError(failed))
	return e
}

// errorBody is an error of the API's own in the door's form.
func (d *door) errorBody(e *requestError) any {
	code := chat.CodeInvalid
	switch status := e.sentStatus(); {
	case status == http.StatusNotFound:
		code = chat.CodeNotFound
	case status == http.StatusRequestEntityTooLarge:
		code = chat.CodeTooLarge
	case status == http.StatusServiceUnavailable:
		code = chat.CodeUnavailable
	case status >= http.StatusInternalServerError:
		code = chat.CodeInternal
	}
	return json.RawMessage(d.encodeError(&chat.Error{Code: code, Message: e.Error()}))
}

// headerShouldRetry tells the official clients of OpenAI and Anthropic, which
// otherwise go by the status, that sending the request again is no use.
const headerShouldRetry = "X-Should-Retry"

// chatError is a failed chat as it is sent. Its cause is noted for the log.
func chatError(w http.ResponseWriter, failed *chat.Error) *requestError {
	noteCause(w, failed)
	e := &requestError{
		Code: engine.Code(failed.Code), Message: failed.Message, status: failed.Status(), header: http.Header{}, cause: failed.Cause,
	}
	if failed.RetryAfter > 0 {
		seconds := math.Ceil(failed.RetryAfter.Seconds())
		e.header.Set(headerRetryAfter, strconv.FormatFloat(seconds, 'f', 0, 64))
	}
	if failed.Retried || !mayPass(failed.Code) {
		e.header.Set(headerShouldRetry, "false")
	}
	return e
}

// mayPass reports whether the same chat may succeed in a moment.
func mayPass(c chat.Code) bool {
	switch c {
	case chat.CodeBusy, chat.CodeUpstream, chat.CodeTimeout, chat.CodeBroken:
		return true
	}
	return false
}

// noteCause adds what the client is not told to the request's line in the log.
func noteCause(w http.ResponseWriter, failed *chat.Error) {
	if failed.Cause != nil {
		note(w, slog.String("cause", failed.Cause.Error()))
	}
}
