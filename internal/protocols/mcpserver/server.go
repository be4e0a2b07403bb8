package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/console"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Options configures [New]. Only Registry is needed.
type Options struct {
	Registry *registry.Registry
	// Scope returns the scope of the session that an HTTP request creates. The
	// session and agent of the client are used where it has none; the request
	// id is per call. nil: an empty scope.
	Scope func(*http.Request) tools.Scope
	// Settings returns the current settings. nil: mode direct.
	Settings func() Settings
	// Loaded is closed when there are tools: until then requests for tools and resources
	// wait. nil: there are.
	Loaded <-chan struct{}
	// Resources are what clients may read. nil: nothing.
	Resources Resources
	Version   string       // of the runtime, for clients
	ID        string       // of the runtime, for other runtimes that take its tools; "": none
	Log       *slog.Logger // nil: discarded
}

// Settings are the settings that a reload may change.
type Settings struct {
	Mode   spicepod.MCPMode // what tools/list shows; "": direct
	Pinned []string         // tools that mode registry lists besides its own
}

// Server serves any number of clients. It is safe for concurrent use.
type Server struct {
	opts      Options
	log       *slog.Logger
	sdk       *mcp.Server
	info      *mcp.Implementation
	stateful  http.Handler // for revisions with sessions
	stateless http.Handler // for revisions without
	sessions  *sessions
	resources resources
	requests  requests
	rendered  atomic.Pointer[rendered]
	running   atomic.Int64      // requests
	listening atomic.Int64      // listeners
	listeners sync.Map          // *listener → nil
	notify    mcp.MethodHandler // sends a notification
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{opts: o, log: o.Log, sessions: newSessions(), resources: resources{o.Resources}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Scope == nil {
		s.opts.Scope = func(*http.Request) tools.Scope { return tools.Scope{} }
	}
	if s.opts.Settings == nil {
		s.opts.Settings = func() Settings { return Settings{} }
	}
	// The SDK gets no logger: it would log session ids, which allow anyone who
	// reads them to take over a session.
	s.info = &mcp.Implementation{Name: "spiced", Title: "spiced", Version: o.Version}
	s.sdk = mcp.NewServer(s.info, &mcp.ServerOptions{
		Capabilities: s.capabilities(), CompletionHandler: s.completer(),
	})
	s.sdk.AddReceivingMiddleware(s.receive)
	s.sdk.AddSendingMiddleware(s.send)
	s.stateful, s.stateless = s.transport(false), s.transport(true)
	return s
}

// transport is the SDK's streamable HTTP.
func (s *Server) transport(stateless bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
		Stateless: stateless, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true, // see ServeHTTP
	})
}

func (s *Server) capabilities() *mcp.ServerCapabilities {
	c := withLog(&mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}})
	if console.Included() {
		c.AddExtension(appsExtension, nil)
	}
	if s.resources.Resources != nil {
		c.Resources = &mcp.ResourceCapabilities{ListChanged: true}
	}
	return c
}

// Close ends all sessions: it cancels their calls, and waits for them and for
// all HTTP requests. Afterwards the server serves nothing. Call it before
// [http.Server.Shutdown], which would wait for clients to close their streams.
func (s *Server) Close() { s.sessions.close() }

// Published notifies the sessions whose list of tools or resources has changed
// with a new generation.
func (s *Server) Published() {
	s.published()
	// The SDK notifies all sessions only when a tool is added; this tool is
	// never listed, since this package answers the lists. See send.
	s.sdk.AddTool(&mcp.Tool{Name: "changed", InputSchema: map[string]any{"type": "object"}}, nil)
	if s.resources.Resources != nil {
		s.sdk.AddResource(&mcp.Resource{Name: "changed", URI: scheme + "://changed"}, nil)
	}
}

// send drops notifications that do not concern a session. Listeners are
// notified by report.
func (s *Server) send(next mcp.MethodHandler) mcp.MethodHandler {
	s.notify = next
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		list, changed := lists[method]
		if changed && (req.GetParams().GetMeta()[mcp.MetaKeySubscriptionID] != nil ||
			!s.changed(req.GetSession(), method, list)) {
			return nil, nil // a notification has no result
		}
		result, err := next(ctx, method, req)
		if p, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams); ok && err == nil {
			acknowledged(ctx, p)
		}
		return result, err
	}
}
