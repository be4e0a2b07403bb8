package sqlapi

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
)

// headerAnthropicID is where Anthropic's clients look for the request's id.
const headerAnthropicID = "Request-Id"

var (
	completionsDoor = &door{parse: completionsTurn, encodeError: openai.EncodeError}
	messagesDoor    = &door{parse: messagesTurn, encodeError: anthropic.EncodeError, idHeader: headerAnthropicID}
	responsesDoor   = &door{parse: responsesTurn, encodeError: responses.EncodeError}
)

func completionsTurn(_ *API, _ *http.Request, body []byte, _ caller.Caller) (*turn, error) {
	request, err := openai.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	o := openai.EncoderOptions{ID: answerID("chatcmpl-"), Model: request.Model, Created: time.Now(), IncludeUsage: request.IncludeUsage}
	return &turn{
		request: request,
		encoder: func(w io.Writer) chat.Encoder { return openai.NewEncoder(w, o) },
		encode:  func(r *chat.Response) ([]byte, error) { return openai.EncodeResponse(o, r) },
	}, nil
}

func messagesTurn(_ *API, r *http.Request, body []byte, _ caller.Caller) (*turn, error) {
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

// addBetas passes on which features the client asks for before their time.
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
	request.Extra[anthropic.BetaField], _ = json.Marshal(names) // of texts
}

// responsesTurn continues the answer that the request names, and keeps its own
// for requests to come.
func responsesTurn(a *API, _ *http.Request, body []byte, who caller.Caller) (*turn, error) {
	request, err := responses.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	if err := a.answers.Resume(who.Owner(), request); err != nil {
		return nil, err
	}
	o := responses.EncoderOptions{ID: answerID("resp_"), Model: request.Model, Created: time.Now(), Request: request}
	t := &turn{
		request: request.Request,
		encoder: func(w io.Writer) chat.Encoder { return responses.NewEncoder(w, o) },
		encode:  func(r *chat.Response) ([]byte, error) { return responses.EncodeResponse(o, r) },
	}
	if request.Store {
		t.keep = func(r *chat.Response) { a.answers.Save(who.Owner(), o, r) }
	}
	return t, nil
}

// answerID is the id of an answer: random, as nobody may guess another's.
func answerID(prefix string) string { return prefix + rand.Text() }
