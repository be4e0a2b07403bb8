package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerRequest  = "X-Spiced-Mcp-Request" // ours alone; a client's is replaced
)

// ServeHTTP is the streamable HTTP transport on one path: POST brings
// messages, GET opens the stream of what the server has to say, DELETE ends
// the session. Requests of the revision without sessions are POSTs that stand
// alone. The query parameter mode of the URL that makes a session, or of the
// request, says which tools it lists. Host and Origin are for who mounts the handler to check:
// see the security warning of the transport's specification.
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
	if r.Header.Get(headerSession) == "" || !s.quick(w, r, sess) {
		s.serve(s.stateful, w, r, sess)
	}
}

// statusOf is the status of a request without a session. A client that gets
// 404 begins a new one, as the specification has it.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoSession):
		return http.StatusNotFound
	case errors.Is(err, errClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// serve has the SDK answer a request.
func (s *Server) serve(sdk http.Handler, w http.ResponseWriter, r *http.Request, sess *session) {
	ctx, cancel := context.WithCancel(sess.in(r.Context()))
	defer cancel()
	if r.Method == http.MethodDelete && s.sessions.remove(sess) {
		sess.end() // its calls first: the SDK waits for them
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

// enter finds the session of a request, or makes the one that it asks for.
func (s *Server) enter(r *http.Request) (*session, error) {
	if id := r.Header.Get(headerSession); id != "" {
		sess := s.sessions.enter(id)
		if sess == nil {
			return nil, errNoSession
		}
		if !sess.ownedBy(s.opts.Scope(r)) {
			s.leave(sess)
			return nil, errNoSession // somebody else's is none
		}
		return sess, nil
	}
	return s.begin(r)
}

// begin makes the session that a request asks for.
func (s *Server) begin(r *http.Request) (*session, error) {
	mode := spicepod.MCPMode(r.URL.Query().Get("mode"))
	if mode != "" && mode != spicepod.MCPDirect && mode != spicepod.MCPRegistry {
		return nil, fmt.Errorf("mode is %q; it is %q or %q", truncate.Ellipsis(string(mode), maxShown), spicepod.MCPDirect, spicepod.MCPRegistry)
	}
	sess := s.sessions.session(s.opts.Scope(r), mode)
	return sess, s.sessions.begin(sess)
}

func (s *Server) leave(sess *session) {
	if !s.sessions.leave(sess) {
		sess.end()
	}
}

// refuse answers with a JSON-RPC error that belongs to no request.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := jsonrpc.EncodeMessage(&jsonrpc.Response{Error: &jsonrpc.Error{Code: codeRefused, Message: err.Error()}})
	_, _ = w.Write(text)
}

// requests are the HTTP requests in progress, by number. A handler gets only
// the header of its request from the SDK; the number in it leads to the
// context, which ends when the client leaves.
type requests struct {
	last atomic.Uint64
	all  sync.Map // string → context.Context
}

// begin numbers a request, until done.
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

// stream is a response that may be written to from several goroutines, and
// that fails when its client has stopped to read.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
	mu      sync.Mutex
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{ResponseWriter: w, control: http.NewResponseController(w)}
}

// Write writes within writeTimeout.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder has none
	return s.ResponseWriter.Write(p)
}

// FlushError sends what is written.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.control.Flush()
}

// keepAlive writes a comment now and then until ctx ends, so that nobody on
// the way takes the connection for dead; it ends ctx when it is.
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
