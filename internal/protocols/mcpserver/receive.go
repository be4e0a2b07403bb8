package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/spicepod"
)

// Codes of JSON-RPC errors. The protocol reserves -32000 to -32099 for servers.
const (
	codeRefused  = -32000
	codeNotFound = -32002 // resource not found, before revision 2026-07-28
)

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// receive answers the requests for tools and resources and leaves the others to
// the SDK.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return s.guard(method, func() (mcp.Result, error) { return s.answer(ctx, next, method, req) })
	}
}

// guard runs a handler within the limit of concurrent requests. A panic fails
// the request, not the process.
func (s *Server) guard(method string, handle func() (mcp.Result, error)) (result mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an MCP request panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, &jsonrpc.Error{
				Code:    jsonrpc.CodeInternalError,
				Message: "the request failed inside; the log has more",
			}
		}
	}()
	running, most := &s.running, int64(maxCalls)
	if method == methodListen { // it only waits
		running, most = &s.listening, maxSessions
	}
	defer running.Add(-1)
	if running.Add(1) > most && !strings.HasPrefix(method, "notifications/") { // a notification may end a call
		return nil, &jsonrpc.Error{
			Code:    codeRefused,
			Message: fmt.Sprintf("%d requests run already, which is the limit; try again in a moment", most),
		}
	}
	return handle()
}

// answer answers a request, or passes it to next, the SDK.
func (s *Server) answer(ctx context.Context, next mcp.MethodHandler, method string,
	req mcp.Request,
) (mcp.Result, error) {
	sess := sessionOf(ctx)
	switch req := req.(type) {
	case *mcp.ServerRequest[*mcp.InitializeParams]:
		return s.initialize(ctx, next, method, req)
	case *mcp.ServerRequest[*mcp.DiscoverParams]:
		result, err := next(ctx, method, req)
		return s.instruct(sess, result), err
	case *mcp.SubscriptionsListenRequest:
		return s.listen(ctx, next, sess, req)
	case *mcp.ServerRequest[*mcp.CancelledParams]:
		if id, err := jsonrpc.MakeID(req.Params.RequestID); err == nil {
			sess.cancelled(id)
		}
	case *mcp.ListToolsRequest:
		if err := s.loaded(ctx); err != nil {
			return nil, err
		}
		return s.listTools(sess, req)
	case *mcp.CallToolRequest:
		ctx, cancel := s.bound(ctx, sess, req.Extra)
		defer cancel()
		result, err := s.call(ctx, sess, req)
		return finish(req.ProtocolVersion(), result), err
	}
	if read, ok := req.(*mcp.ReadResourceRequest); ok && strings.HasPrefix(read.Params.URI, "ui://") {
		result, err := readView(read)
		return finish(read.ProtocolVersion(), result), err
	}
	if s.resources.Resources == nil {
		return next(ctx, method, req)
	}
	if strings.HasPrefix(method, "resources/") {
		if err := s.loaded(ctx); err != nil {
			return nil, err
		}
	}
	switch req := req.(type) {
	case *mcp.ListResourcesRequest:
		return s.resources.page(sess, req)
	case *mcp.ListResourceTemplatesRequest:
		return listTemplates(req)
	case *mcp.ReadResourceRequest:
		ctx, cancel := s.bound(ctx, sess, req.Extra)
		defer cancel()
		result, err := s.resources.read(ctx, sess, req)
		return finish(req.ProtocolVersion(), result), err
	}
	return next(ctx, method, req)
}

// loaded waits until there are tools.
func (s *Server) loaded(ctx context.Context) error {
	if s.opts.Loaded == nil {
		return nil
	}
	select {
	case <-s.opts.Loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bound ends ctx also with the session and with the HTTP request: without an
// event store, a client could not fetch the result later.
func (s *Server) bound(ctx context.Context, sess *session,
	extra *mcp.RequestExtra,
) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := []func() bool{context.AfterFunc(sess.ended, cancel)}
	if extra != nil {
		if request := s.requests.of(extra.Header); request != nil {
			stop = append(stop, context.AfterFunc(request, cancel))
		}
	}
	return ctx, func() {
		for _, f := range stop {
			f()
		}
		cancel()
	}
}

// initialize admits a session after the handshake.
func (s *Server) initialize(ctx context.Context, next mcp.MethodHandler, method string,
	req *mcp.ServerRequest[*mcp.InitializeParams],
) (mcp.Result, error) {
	sess := sessionOf(ctx)
	if s.sessions.of(req.Session) == nil { // a stdio session is already admitted
		if err := s.admitSession(sess, req.Session); err != nil {
			return nil, &jsonrpc.Error{Code: codeRefused, Message: err.Error()}
		}
	}
	result, err := next(ctx, method, req)
	return s.instruct(sess, result), err
}

// instruct explains in mode registry how to find tools that are not listed.
func (s *Server) instruct(sess *session, result mcp.Result) mcp.Result {
	if s.mode(sess) != spicepod.MCPRegistry {
		return result
	}
	const text = "The list has few of the tools. Find one with tool_search by what it does, then call " +
		"it with tool_invoke " +
		"by its tool_id."
	switch r := result.(type) {
	case *mcp.InitializeResult:
		r.Instructions = text
	case *mcp.DiscoverResult:
		r.Instructions = text
	}
	return result
}

// admitSession adds a session with the checksums of the initial lists.
func (s *Server) admitSession(sess *session, sdk *mcp.ServerSession) error {
	if err := s.sessions.add(sess, sdk); err != nil {
		return err
	}
	for notification, list := range lists {
		s.sessions.report(sess, notification, list.sum(s, sess))
	}
	return nil
}

// list is a list with change notifications.
type list struct {
	sum    func(*Server, *session) string // its checksum
	wanted func(mcp.NotificationSubscriptions) bool
}

// lists are those lists, by notification.
var lists = map[string]list{
	"notifications/tools/list_changed": {
		(*Server).toolsSum, func(n mcp.NotificationSubscriptions) bool { return n.ToolsListChanged },
	},
	"notifications/resources/list_changed": {
		func(s *Server, sess *session) string {
			return s.resources.sum(sess)
		}, func(n mcp.NotificationSubscriptions) bool { return n.ResourcesListChanged },
	},
}

// changed reports whether a list differs from the one last reported to the
// session, and records the new one.
func (s *Server) changed(of mcp.Session, notification string, l list) bool {
	sdk, ok := of.(*mcp.ServerSession)
	if !ok {
		return true
	}
	sess := s.sessions.of(sdk)
	return sess != nil && s.sessions.report(sess, notification, l.sum(s, sess))
}
