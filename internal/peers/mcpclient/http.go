package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

// shared is the transport of all servers without a custom one.
var shared = sync.OnceValue(func() http.RoundTripper {
	return httpx.Transport(func(t *http.Transport) { t.MaxIdleConnsPerHost, t.MaxResponseHeaderBytes = 64, 256<<10 })
})

// web sends the requests of one session: with the target's headers, to no other
// host, and only while the session lives.
type web struct {
	base   http.RoundTripper
	target *target
	life   context.Context
	head   time.Duration
	failed atomic.Pointer[webError] // the last failure
	sse    atomic.Bool              // the session uses HTTP+SSE
	open   atomic.Bool              // the handshake is over
	lost   func(error)              // the server no longer knows the session

	exchange *exchange
}

var _ http.RoundTripper = (*web)(nil)

// client returns an HTTP client that follows redirects only to the target's
// host.
func (w *web) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: checkRedirect}
}

// webError is a failed request: an unsuccessful response, or no response.
type webError struct {
	status int
	text   string
}

func (e *webError) Error() string { return e.text }

// Is reports that the error is of one message, in the words of the SDK, which otherwise ends the
// session.
func (e *webError) Is(target error) bool {
	rejected, ok := target.(*jsonrpc.Error)
	return ok && rejected.Code == codeRejected
}

// ends reports whether the error is of the session, not of one request.
func (e *webError) ends() bool {
	switch e.status {
	case 0, http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	if err := httpx.CheckRedirect(r, via); err != nil {
		return &webError{text: err.Error()}
	}
	return nil
}

// RoundTrip sends one request.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if to := w.target.url; r.URL.Host != to.Host || r.URL.Scheme != to.Scheme {
		return nil, w.fail(&webError{text: fmt.Sprintf("the server names another host, %q, which gets no messages",
			r.URL.Host)})
	}
	resumed, spent := resumes(r)
	if spent {
		return w.failure(r, resumed, errCut), nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(w.lifeOf(r), cancel)
	release := func() { stop(); cancel() }
	waiting := time.AfterFunc(w.patience(r), cancel)
	sent, id, err := w.send(r, ctx)
	if err != nil {
		release()
		return nil, err
	}
	for name, values := range w.target.header {
		sent.Header[name] = values
	}
	res, err := w.base.RoundTrip(sent)
	late := !waiting.Stop()
	if err != nil {
		release()
		if late && r.Method == http.MethodGet && r.Context().Err() == nil {
			return noStream(r), nil
		}
		if (w.life.Err() != nil || r.Context().Err() != nil) && errors.Is(err, context.Canceled) {
			return nil, err // the session or the call ended, for a reason of its own
		}
		return nil, w.fail(unreachable(err))
	}
	res.Body = &body{ReadCloser: res.Body, release: release}
	return w.receive(r, res, cmp.Or(id, resumed))
}

// send returns the request with the message for the server, and the id of the message, "" if it
// is no request.
func (w *web) send(r *http.Request, ctx context.Context) (sent *http.Request, id string, err error) {
	sent = r.Clone(ctx)
	if r.Body == nil || r.Method != http.MethodPost {
		return sent, "", nil
	}
	message, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, "", err
	}
	message, id = w.exchange.send(r.Context(), message)
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	return sent, id, nil
}

// lifeOf returns the context that bounds a request; the request that ends the
// session outlives it.
func (w *web) lifeOf(r *http.Request) context.Context {
	if r.Method == http.MethodDelete {
		return context.Background()
	}
	return w.life
}

// patience is the timeout of the response header; a POST waits as long as its
// call.
func (w *web) patience(r *http.Request) time.Duration {
	if r.Method == http.MethodPost {
		return 24 * time.Hour
	}
	return w.head
}

// noStream is the response of a server without a notification stream. It
// replaces a missing response.
func noStream(r *http.Request) *http.Response {
	return made(r, http.StatusMethodNotAllowed, "", http.NoBody)
}

// unreachable removes the URL from an error.
func unreachable(err error) *webError {
	err = httpx.Cause(err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &webError{text: "the server closed the connection without an answer"}
	}
	return &webError{text: "the server cannot be reached: " + err.Error()}
}

func (w *web) fail(e *webError) error {
	w.failed.Store(e)
	return e
}

// refusal is the error of an unsuccessful response, which it records. A refused notification
// stream is not a failure: many servers have no such stream.
func (w *web) refusal(r *http.Request, res *http.Response) *webError {
	if res.StatusCode < 400 || r.Method != http.MethodPost && !w.sse.Load() {
		return nil
	}
	said := fmt.Sprintf("(%d %s)", res.StatusCode, http.StatusText(res.StatusCode))
	text := "the server failed " + said
	switch {
	case res.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "":
		text = "the server no longer knows the session " + said
	case res.StatusCode == http.StatusForbidden && w.target.peer:
		text = fmt.Sprintf("it refused the request %s; check params.%s, and runtime.mcp.allowed_hosts of the other runtime, "+
			"which must name %s", said, paramKey, w.target.url.Hostname())
	case res.StatusCode == http.StatusUnauthorized && w.target.header.Get("X-Api-Key") == "" &&
		w.target.header.Get("Authorization") == "":
		text = fmt.Sprintf("the server needs a key %s; set params.%s", said, w.target.keyParam())
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		text = fmt.Sprintf("the server refused the key %s; check params.%s", said, w.target.keyParam())
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusMethodNotAllowed:
		text = fmt.Sprintf("there is no %s at that URL %s", w.target.kind(), said)
	case res.StatusCode == http.StatusBadRequest:
		text = "the server finds the request wrong " + said
	}
	e := &webError{res.StatusCode, text}
	w.failed.Store(e)
	return e
}

// legacy reports whether the last response is the one that a server of revision
// 2024-11-05 gives to streamable HTTP (2025-11-25, basic/transports, backwards
// compatibility).
func (w *web) legacy() bool {
	e := w.failed.Load()
	if e == nil {
		return false
	}
	switch e.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}
