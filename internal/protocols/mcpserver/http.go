package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/rpcid"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerRequest  = "X-Spiced-Mcp-Request" // internal; a client's value is replaced
)

// ServeHTTP is the streamable HTTP transport on one path: POST sends messages,
// GET opens the stream of server messages, DELETE ends the session. Requests of
// a revision without sessions are independent POSTs. The query parameter mode
// of the URL that creates a session, or of an independent request, selects the
// listed tools. The caller must check Host and Origin: see the security warning
// of the transport's specification.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	alone, err := standsAlone(w, r)
	if err != nil {
		refuseBody(w, err)
		return
	}
	if alone {
		s.serveAlone(w, r)
		return
	}
	sess, err := s.enter(r)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	defer s.leave(sess)
	if r.Header.Get(headerSession) == "" || !s.fastPath(w, r, sess) {
		s.serve(s.stateful, w, r, sess)
	}
}

// statusOf is the status for a request without a session. A client that gets
// 404 begins a new session, as the specification requires.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoSession):
		return http.StatusNotFound
	case errors.Is(err, errClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// serve passes a request to the SDK, with ids that it does not change: see package rpcid.
func (s *Server) serve(sdk http.Handler, w http.ResponseWriter, r *http.Request, sess *session) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refuseBody(w, err)
			return
		}
		if body, err = rpcid.Protect(body); err != nil {
			refuseMessage(w, err)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	ctx, cancel := context.WithCancel(sess.in(r.Context()))
	defer cancel()
	if r.Method == http.MethodDelete && s.sessions.remove(sess) {
		sess.end() // ends the calls first: the SDK waits for them
	}
	stream := newStream(w)
	if r.Method == http.MethodGet || r.Header.Get(headerMethod) == methodListen {
		alive := stream.keepAlive(ctx, cancel)
		defer alive.Wait()
		defer cancel()
	}
	numbered, done := s.requests.begin(r.WithContext(ctx))
	defer done()
	sdk.ServeHTTP(stream, numbered)
}

// enter returns the session of a request, or creates the requested one.
func (s *Server) enter(r *http.Request) (*session, error) {
	if id := r.Header.Get(headerSession); id != "" {
		sess := s.sessions.enter(id)
		if sess == nil {
			return nil, errNoSession
		}
		if !sess.ownedBy(s.opts.Scope(r)) {
			s.leave(sess)
			return nil, errNoSession // another caller's session is hidden
		}
		return sess, nil
	}
	return s.begin(r)
}

// begin creates the session that a request asks for.
func (s *Server) begin(r *http.Request) (*session, error) {
	mode := spicepod.MCPMode(r.URL.Query().Get("mode"))
	if mode != "" && mode != spicepod.MCPDirect && mode != spicepod.MCPRegistry {
		return nil, fmt.Errorf("mode is %q; it is %q or %q", truncate.Ellipsis(string(mode), maxShown), spicepod.MCPDirect,
			spicepod.MCPRegistry)
	}
	sess := s.sessions.session(s.opts.Scope(r), mode)
	if sess.base = "http://" + r.Host; r.TLS != nil {
		sess.base = "https://" + r.Host
	}
	return sess, s.sessions.begin(sess)
}

func (s *Server) leave(sess *session) {
	if !s.sessions.leave(sess) {
		sess.end()
	}
}

// refuse answers with a JSON-RPC error without a request id.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := jsonrpc.EncodeMessage(&jsonrpc.Response{Error: &jsonrpc.Error{Code: codeRefused, Message: err.Error()}})
	_, _ = w.Write(text)
}

// refuseMessage answers a message whose id cannot be repeated.
func refuseMessage(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(errorLine(jsonrpc.CodeInvalidRequest, []byte("null"), err.Error()))
}

// requests are the HTTP requests in progress, by number. The SDK passes only
// the header of a request to a handler; the number in it identifies the
// context, which ends when the client disconnects.
type requests struct {
	last atomic.Uint64
	all  sync.Map // string → context.Context
}

// begin numbers a request and registers it until done.
func (q *requests) begin(r *http.Request) (numbered *http.Request, done func()) {
	number := strconv.FormatUint(q.last.Add(1), 36)
	numbered = r.WithContext(r.Context())
	numbered.Header = r.Header.Clone()
	numbered.Header.Set(headerRequest, number)
	q.all.Store(number, r.Context())
	return numbered, func() { q.all.Delete(number) }
}

// of returns the context of the request with that header, or nil.
func (q *requests) of(header http.Header) context.Context {
	found, ok := q.all.Load(header.Get(headerRequest))
	if !ok {
		return nil
	}
	return found.(context.Context)
}

// stream is a response that several goroutines may write to, and that fails
// when its client stops reading.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
	mu      sync.Mutex
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{ResponseWriter: w, control: http.NewResponseController(w)}
}

// Write writes whole messages within writeTimeout, with the client's ids.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not supported by recorders
	_, err := s.ResponseWriter.Write(rpcid.Restore(p))
	return len(p), err
}

// FlushError sends what has been written.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.control.Flush()
}

// keepAlive writes a comment at intervals until ctx ends, so that proxies keep
// the connection open; it cancels ctx when the connection fails.
func (s *stream) keepAlive(ctx context.Context, gone context.CancelFunc) *sync.WaitGroup {
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := s.Write([]byte(": alive\n\n")); err != nil || s.FlushError() != nil {
				gone()
				return
			}
		}
	})
	return &running
}
