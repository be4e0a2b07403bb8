package sqlapi

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
)

// protocol is a form of chat requests and answers.
type protocol struct {
	parse       func(c *chatHandler, r *http.Request, body []byte, who caller.Caller) (*turn, error)
	encodeError func(*chat.Error) []byte
	idHeader    string // where its clients look for the request's id; "": in X-Request-Id
}

// turn is a chat that is asked for, and how its answer is written.
type turn struct {
	request *chat.Request
	encoder func(io.Writer) chat.Encoder
	encode  func(*chat.Response) ([]byte, error)
	keep    func(*chat.Response) // stores the answer; nil: not stored
	events  bool                 // the client wants the calls of tools, too
}

// serve returns the handler of a protocol's route.
func (c *chatHandler) serve(p *protocol) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.idHeader != "" {
			w.Header().Set(p.idHeader, w.Header().Get(headerRequestID))
		}
		return p.failed(w, c.chat(p, w, r))
	}
}

// failed is an error of a chat, or an internal fault, in the protocol's form;
// errorBody does it for other errors.
func (p *protocol) failed(w http.ResponseWriter, err error) error {
	var failed *chat.Error
	if !errors.As(err, &failed) {
		if err == nil || asRequestError(err).Code != errcode.Internal {
			return err
		}
		failed = chat.AsError(err)
	}
	e := chatError(w, failed)
	e.body = json.RawMessage(p.encodeError(failed))
	return e
}

// errorBody is an error of the API's own in the protocol's form.
func (p *protocol) errorBody(_ *http.Request, e *requestError) any {
	code := errcode.InvalidRequest
	switch status := e.sentStatus(); {
	case status == http.StatusUnauthorized:
		code = codeUnauthorized
	case status == http.StatusForbidden:
		code = codeDenied
	case status == http.StatusTooManyRequests:
		code = errcode.RateLimited
	case status == http.StatusNotFound:
		code = errcode.ModelNotFound
	case status == http.StatusRequestEntityTooLarge:
		code = errcode.RequestTooLarge
	case status == http.StatusServiceUnavailable:
		code = errcode.ModelNotLoaded
	case status >= http.StatusInternalServerError:
		code = errcode.Internal
	}
	return json.RawMessage(p.encodeError(&chat.Error{Code: code, Message: e.Error()}))
}

// headerShouldRetry stops the official clients of OpenAI and Anthropic, which
// otherwise go by the status, from retrying in vain.
const headerShouldRetry = "X-Should-Retry"

// chatError is a failed chat as it is sent. Its cause is noted for the log.
func chatError(w http.ResponseWriter, failed *chat.Error) *requestError {
	noteCause(w, failed)
	e := &requestError{
		Code: failed.Code, Message: failed.Message, header: http.Header{}, cause: failed.Cause,
	}
	if failed.RetryAfter > 0 {
		seconds := math.Ceil(failed.RetryAfter.Seconds())
		e.header.Set(headerRetryAfter, strconv.FormatFloat(seconds, 'f', 0, 64))
	}
	if failed.Retried || !failed.Code.Retryable() {
		e.header.Set(headerShouldRetry, "false")
	}
	return e
}

// noteCause adds the cause, which is not sent, to the request's line in the log.
func noteCause(w http.ResponseWriter, failed *chat.Error) {
	if failed.Cause != nil {
		note(w, slog.String("cause", failed.Cause.Error()))
	}
}

// headerAnthropicID is where Anthropic's clients look for the request's id.
const headerAnthropicID = "Request-Id"

var (
	completionsProtocol = &protocol{parse: completionsTurn, encodeError: openai.EncodeError}
	messagesProtocol    = &protocol{parse: messagesTurn, encodeError: anthropic.EncodeError, idHeader: headerAnthropicID}
	responsesProtocol   = &protocol{parse: responsesTurn, encodeError: responses.EncodeError}
)

func completionsTurn(_ *chatHandler, _ *http.Request, body []byte, _ caller.Caller) (*turn, error) {
	request, err := openai.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	o := openai.EncoderOptions{
		ID: answerID("chatcmpl-"), Model: request.Model, Created: time.Now(),
		IncludeUsage: request.IncludeUsage,
	}
	return &turn{
		request: request,
		encoder: func(w io.Writer) chat.Encoder { return openai.NewEncoder(w, o) },
		encode:  func(r *chat.Response) ([]byte, error) { return openai.EncodeResponse(o, r) },
	}, nil
}

func messagesTurn(_ *chatHandler, r *http.Request, body []byte, _ caller.Caller) (*turn, error) {
	request, err := anthropic.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	addBetas(request, r.Header.Values("Anthropic-Beta"))
	o := anthropic.EncoderOptions{ID: answerID("msg_"), Model: request.Model}
	return &turn{
		request: request,
		encoder: func(w io.Writer) chat.Encoder { return anthropic.NewEncoder(w, o) },
		encode:  func(r *chat.Response) ([]byte, error) { return anthropic.EncodeResponse(o, r) },
	}, nil
}

// addBetas passes on which beta features the client asks for, in the header and in the body.
func addBetas(request *chat.Request, headers []string) {
	var names []string
	for name := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if names == nil {
		return
	}
	if request.Extra == nil {
		request.Extra = map[string]json.RawMessage{}
	}
	var inBody []string
	_ = json.Unmarshal(request.Extra[anthropic.BetaField], &inBody) // a provider of the form reports what is wrong
	request.Extra[anthropic.BetaField], _ = json.Marshal(append(inBody, names...))
	request.Uses = append(request.Uses, translation.Note(anthropic.BetaField, anthropic.BetaField))
}

// responsesTurn continues the answer that the request names, and keeps its own
// for requests to come.
func responsesTurn(c *chatHandler, _ *http.Request, body []byte, who caller.Caller) (*turn, error) {
	request, err := responses.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	if err := c.answers.Resume(who.Owner(), request); err != nil {
		return nil, err
	}
	o := responses.EncoderOptions{ID: answerID("resp_"), Model: request.Model, Created: time.Now(), Request: request}
	t := &turn{
		request: request.Request,
		encoder: func(w io.Writer) chat.Encoder { return responses.NewEncoder(w, o) },
		encode:  func(r *chat.Response) ([]byte, error) { return responses.EncodeResponse(o, r) },
	}
	if request.Store || request.PreviousID != "" {
		t.request.Session = "chain " + request.Root(o.ID)
	}
	if request.Store {
		t.keep = func(r *chat.Response) { c.answers.Save(who.Owner(), o, r) }
	}
	return t, nil
}

// answerID is the id of an answer: random, so that it cannot be guessed.
func answerID(prefix string) string { return prefix + rand.Text() }
