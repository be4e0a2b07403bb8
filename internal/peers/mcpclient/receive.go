package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/memory"
)

// Errors of one request.
var (
	errLost       = errors.New("the server no longer knows the session") // nothing ran
	errNotResumed = errors.New("the server ended its answer and does not resume it")
)

// receive returns the response that the SDK gets; id is that of the request in the POST, or "".
//
// The SDK ends the session, and with it the calls of all callers, when the response to one request
// has an unusual status, type or body. Once the handshake is over, such a response is turned into
// a JSON-RPC error, which fails that request only. Whether the session is still good is decided
// here: see [session.report].
func (w *web) receive(r *http.Request, res *http.Response, id string) (*http.Response, error) {
	if id != "" {
		res.Body = memory.Reader(r.Context(), res.Body)
	}
	refusal := w.refusal(r, res)
	mediaType := res.Header.Get("Content-Type")
	switch {
	case res.StatusCode >= 400 && w.open.Load() && w.sse.Load():
		return w.refusedOld(res, id, refusal)
	case res.StatusCode >= 400 && w.open.Load():
		return w.refused(r, res, id, refusal), nil
	case res.StatusCode >= 300:
		res.Body = &bounded{io.LimitReader(res.Body, maxRefusal), res.Body}
	case eventStream(mediaType):
		stream := newEvents(w.exchange, id, w.sse.Load(), res.Body)
		if event := r.Header.Get("Last-Event-Id"); event != "" { // the SDK forgets it if no event follows
			fmt.Fprintf(&stream.out, "id: %s\n\n", event)
		}
		res.Body = stream
	case id == "" || w.sse.Load(): // the server takes a message, and repeats nothing
		res.Body = &bounded{io.LimitReader(res.Body, maxRefusal), res.Body}
	case isType(mediaType, "application/json"):
		res.Body = &answer{ReadCloser: res.Body, exchange: w.exchange, id: id}
	default:
		res.Body.Close()
		return w.failure(r, id,
			&webError{res.StatusCode, fmt.Sprintf("the server answers with the unsupported content type %q", mediaType)}), nil
	}
	return res, nil
}

// bounded is the beginning of a body.
type bounded struct {
	io.Reader
	io.Closer
}

// refused returns the response to a request that the server refused.
func (w *web) refused(r *http.Request, res *http.Response, id string, refusal *webError) *http.Response {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // what arrives of it
	lost := isLost(r, res, text)
	if lost {
		w.lost(errLost)
	}
	switch {
	case r.Method == http.MethodDelete:
	case r.Method == http.MethodPost && id == "" && lost: // a notification, which no longer matters
		res.Body.Close()
		return made(r, http.StatusAccepted, "", http.NoBody)
	case r.Method == http.MethodGet && id == "" && lost: // the session ends when its calls have
		res.Body.Close()
		return made(r, http.StatusOK, "text/event-stream", &silent{until: w.life.Done()})
	case id != "" && lost:
		res.Body.Close()
		return w.failure(r, id, errLost)
	case id != "" && errorIn(text) != nil:
		res.Body.Close()
		return message(r, w.exchange.whole(id, text))
	case id != "" && refusal != nil:
		res.Body.Close()
		return w.failure(r, id, refusal)
	case id != "":
		res.Body.Close()
		return w.failure(r, id, errNotResumed)
	}
	res.Body = &bounded{bytes.NewReader(text), res.Body}
	return res
}

// refusedOld is refused for HTTP+SSE, where answers come in the stream of the session: the error
// fails the message, and no other, since the SDK takes it for [codeRejected].
func (w *web) refusedOld(res *http.Response, id string, refusal *webError) (*http.Response, error) {
	res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		w.lost(errLost)
		w.exchange.fail(id, errLost)
	}
	return nil, refusal
}

// isLost reports whether a response means that the server no longer knows the session of the
// request: the status 404, or, from servers that do not follow the specification, 400 with an
// error that is of no request.
func isLost(r *http.Request, res *http.Response, text []byte) bool {
	if r.Header.Get("Mcp-Session-Id") == "" {
		return false
	}
	m := errorIn(text)
	switch res.StatusCode {
	case http.StatusBadRequest:
		return m != nil && (!m.has("id") || m.text("id") == "server-error")
	case http.StatusNotFound: // so is an unknown method, since 2026-07-28
		var e jsonrpc.Error
		return json.Unmarshal(m["error"], &e) != nil || e.Code != jsonrpc.CodeMethodNotFound
	}
	return false
}

// errorIn returns the message with an error that a text is, or nil.
func errorIn(text []byte) fields {
	var m fields
	if json.Unmarshal(text, &m) != nil || !m.has("error") {
		return nil
	}
	return m
}

func (w *web) failure(r *http.Request, id string, err error) *http.Response {
	return message(r, w.exchange.fail(id, err))
}

func message(r *http.Request, text []byte) *http.Response {
	if r.Method == http.MethodGet {
		text = fmt.Appendf(nil, "data: %s\n\n", text)
		return made(r, http.StatusOK, "text/event-stream", io.NopCloser(bytes.NewReader(text)))
	}
	return made(r, http.StatusOK, "application/json", io.NopCloser(bytes.NewReader(text)))
}

// made is a response that no server sent.
func made(r *http.Request, status int, mediaType string, body io.ReadCloser) *http.Response {
	header := http.Header{}
	if mediaType != "" {
		header.Set("Content-Type", mediaType)
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: body, Request: r,
	}
}

// silent is a stream without events.
type silent struct{ until <-chan struct{} }

func (s *silent) Read([]byte) (int, error) {
	<-s.until
	return 0, io.EOF
}

func (s *silent) Close() error { return nil }

// maxResumes is how often a stream is resumed after the same event. The SDK ends the session after
// one more attempt.
const maxResumes = 4

// resumption counts how often the stream of a request was resumed after an event.
type resumption struct {
	event string
	times int
}

// resumes returns the id of the request whose stream a GET resumes, or "", and whether it was
// resumed too often.
func resumes(r *http.Request) (id string, spent bool) {
	event := r.Header.Get("Last-Event-Id")
	p, _ := r.Context().Value(pendingKey{}).(*pending)
	if r.Method != http.MethodGet || event == "" || p == nil {
		return "", false
	}
	if p.resume.event != event {
		p.resume = resumption{event: event}
	}
	p.resume.times++
	return p.id, p.resume.times > maxResumes
}
