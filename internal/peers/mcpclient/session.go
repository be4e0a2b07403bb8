package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// revision is the protocol revision that is requested. The SDK has a later one,
// whose first message older servers do not answer.
const revision = "2025-11-25"

// session is one connection to a server, from its handshake to its end.
type session struct {
	target *target
	log    *slog.Logger
	limits limits
	cs     *mcp.ClientSession
	life   context.Context // the session's, not a request's; calls end with it
	end    context.CancelCauseFunc
	stale  chan struct{} // holds a token when the list of tools changed
	broken chan error    // holds the error of a call after which a new session is needed
	calls  sync.WaitGroup
	tokens atomic.Int64 // progress tokens

	probing atomic.Bool // see probe

	exchange exchange
	listing  *listing // the tools at the start of the session
	process  *process // nil over HTTP; then web is set
	web      *web
}

// Reasons for the end of a session.
var (
	errClosed  = errors.New("the runtime ends the session")
	errSlow    = errors.New("the server is too slow")
	errRemoved = errors.New("the server is no longer declared")
)

// client returns an SDK client that grants a server nothing.
func (s *session) client(version string) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "spiced", Version: version}, &mcp.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler), // it would also log the errors that it returns
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case s.stale <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(ctx context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.log.DebugContext(ctx, "an MCP server reports progress", "progress", r.Params.Progress, "total", r.Params.Total,
				"message", s.show(r.Params.Message, maxLine))
		},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	c.AddReceivingMiddleware(refuse)
	return c
}

// refuse rejects requests for which no capability was offered. Without it, the
// SDK would answer that there are no roots, which is different.
func refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch method {
		case "roots/list", "sampling/createMessage", "elicitation/create":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not offer " + method}
		}
		return next(ctx, method, r)
	}
}

// show sanitizes and bounds a server's text for logs and messages.
func (s *session) show(text string, most int) string {
	return truncate.Line(s.target.redact(text), most)
}

// connect performs the handshake.
func (s *session) connect(version string, transport http.RoundTripper) error {
	var err error
	if s.target.url == nil {
		err = s.connectProcess(version)
	} else {
		err = s.connectWeb(version, transport)
	}
	if cause := context.Cause(s.life); err != nil && cause != nil {
		return cause
	}
	return err
}

func (s *session) connectProcess(version string) error {
	said := &lines{log: s.log, redact: s.target.redact}
	var err error
	if s.process, err = start(s.target, said); err != nil {
		return err
	}
	pipe := newStdio(s.process, &s.exchange, s.limits.write)
	// The SDK waits for a response; closing stdout ends that wait.
	stop := context.AfterFunc(s.life, func() { _ = pipe.Close() })
	defer stop()
	return s.handshake(version, pipe)
}

// connectWeb tries streamable HTTP, and HTTP+SSE if the response is that of an
// older server.
func (s *session) connectWeb(version string, base http.RoundTripper) error {
	s.web = &web{base: base, target: s.target, life: s.life, head: s.limits.head, lost: s.report, exchange: &s.exchange}
	err := s.handshake(version, &mcp.StreamableClientTransport{
		Endpoint: s.target.url.String(), HTTPClient: s.web.client(), MaxEventSize: -1, // see events
	})
	if err == nil || !s.web.legacy() {
		return err
	}
	first := s.web.failed.Load()
	s.web.sse.Store(true)
	err = s.handshake(version, &mcp.SSEClientTransport{
		Endpoint: s.target.url.String(), HTTPClient: s.web.client(), MaxEventSize: -1,
	})
	if err != nil {
		s.web.failed.Store(first)
	}
	return err
}

func (s *session) handshake(version string, t mcp.Transport) error {
	cs, err := s.client(version).Connect(s.life, t, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return err
	}
	s.cs = cs
	if s.web != nil {
		s.web.failed.Store(nil)
		s.web.open.Store(true)
	}
	return nil
}

// drain waits for the calls to end.
func (s *session) drain(ctx context.Context) {
	idle := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-time.After(s.limits.drain):
	}
	s.end(errRemoved)
	<-idle
}

// close ends the session and its transport, and waits for its calls.
func (s *session) close(cause error) {
	s.end(cause)
	s.calls.Wait()
	if s.cs != nil {
		_ = s.cs.Close()
	}
	if s.process != nil {
		s.process.stop(s.limits.grace)
	}
}

// explain returns the reason why a session did not begin or has ended.
func (s *session) explain(err error) error {
	text := ""
	switch {
	case errors.Is(err, errSlow):
		text = fmt.Sprintf("it did not answer within %s", s.limits.connect)
	case errors.Is(err, errTooLong):
		text = errTooLong.Error()
	case s.web != nil && s.web.failed.Load() != nil:
		text = s.web.failed.Load().Error()
	case !gone(err):
		text = err.Error()
	case s.process != nil && s.process.exits(s.limits.grace):
		s.process.readersEnd(s.limits.grace)
		text = "the command has ended (" + s.process.fate + ")"
	default:
		text = "the server ended the session"
	}
	text = s.show(text, maxReason)
	if s.process != nil {
		text += s.process.said.said()
	}
	return &reason{text, err}
}

// gone reports whether err only says that the connection ended.
func gone(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, mcp.ErrConnectionClosed)
}

// reason is why a server is unavailable.
type reason struct {
	text  string
	cause error
}

func (r *reason) Error() string { return r.text }

func (r *reason) Unwrap() error { return r.cause }
