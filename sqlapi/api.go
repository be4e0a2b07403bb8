// Package sqlapi is the HTTP API: SQL, tools, chats, and what the runtime is
// made of.
//
// It decodes a request, calls one method, and encodes what that returns; it
// computes nothing. One table (routes.go) holds every route with its
// parameters, bodies and answers: it registers the handlers, and makes the
// OpenAPI document and docs/http.md, so that they cannot drift.
//
//	api := sqlapi.New(sqlapi.Options{
//		Queries: queries, // *query.Service
//		Runtime: sqlapi.Runtime{Inventory: runtime, Refresher: runtime, Reloader: runtime},
//		Tools:   registry,
//		Metrics: metrics,
//		Log:     log,
//	})
//	server := sqlapi.NewServer(api, log) // with its timeouts
//	err := server.Serve(sqlapi.Listener(listener))
//
// Results stream: the memory a request takes does not grow with its rows. An
// error before the first byte has a proper status; later the connection is
// closed, so that no client takes part of a result for all of it. A client
// that disconnects cancels its statement.
package sqlapi

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/feed"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Defaults and limits.
const (
	defaultMaxBody      = 32 << 20         // bytes of the body of /v1/sql
	maxSmallBody        = 1 << 20          // bytes of other bodies
	defaultBodyTimeout  = 60 * time.Second // to send a body
	defaultWriteTimeout = 30 * time.Second // for a piece of an answer to leave
	defaultKeepAlive    = 30 * time.Second // of silence in a stream of events
	defaultMaxChats     = 4096             // that run at once
	defaultMaxStreams   = 256              // of events, at once
	maxStreamsPerCaller = 32               // of these, of one key or, without keys, one address
	flushEvery          = 100 * time.Millisecond
	pieceSize           = 256 << 10                   // bytes that are written under one deadline
	maxRequestID        = 128                         // bytes of an X-Request-Id that is used
	maxEnvelope         = tools.MaxArguments + 64<<10 // bytes of the body of :invoke
	maxShown            = 100                         // bytes of a name or text in a message
	maxEventPart        = 4 << 10                     // bytes of arguments or a result in an event of a chat
	maxEvents           = 1024                        // of calls in an answer that is no stream

	headerTimeout  = 10 * time.Second
	unreadTimeout  = 20 * time.Second // for the header and a body that no handler reads; less than for a write
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	maxConnections          = 10_000 // of callers who are known
	maxConnectionsPerCaller = 5_000
	maxPendingConnections   = 2_000 // without a request of a caller who is known
)

// Options configures [New]. Queries and Inventory are required; without the
// other parts their routes answer that they are not served here.
type Options struct {
	Queries *query.Service
	Runtime
	Tools *registry.Registry
	// MCP is the server behind /v1/mcp. [caller.From] its requests'
	// contexts is on whose behalf they are made.
	MCP http.Handler
	// Embeddings returns the embedding models that are served; nil: none.
	Embeddings func() *embeddings.Set
	Chats      Chats
	Search     RowSearch
	// Events is what the stream of events follows; nil: it is not served. The API is its sampler.
	Events  *feed.Feed
	Jobs    *query.Jobs    // nil, with Results: queries are not submitted here
	Results *results.Store // stored results
	// Cache returns the settings of the cache of results of /v1/sql; nil: off.
	Cache func() spicepod.ResultCache
	Guard

	Metrics *telemetry.Metrics // nil: of its own
	Log     *slog.Logger       // nil: discarded

	Version string // of the runtime, for the OpenAPI document
	TLS     bool   // the API is served over TLS
	Limits
}

// Runtime is what the API shows and changes of the runtime.
type Runtime struct {
	Inventory Inventory
	Refresher Refresher
	Reloader  Reloader
	Sandboxes Sandboxes // nil: they are not served
	Tester    Tester    // nil: tests are not run
	Files     Files     // nil: they are not shown
}

// Limits are the limits on requests.
type Limits struct {
	MaxBody      int64         // bytes of the body of /v1/sql; 0: 32 MiB
	BodyTimeout  time.Duration // to send a body; 0: 60 s
	WriteTimeout time.Duration // without the client reading; 0: 30 s
	KeepAlive    time.Duration // of silence before a stream of events has a comment; 0: 30 s
	MaxChats     int           // that run at once; 0: 4096
	MaxStreams   int           // of events, at once; 0: 256
}

// API is the handler of all routes. Its handlers are grouped by what they
// serve, each group with its own few dependencies (routes.go).
type API struct {
	guard        *Guard
	log          *slog.Logger
	metrics      *telemetry.Metrics
	mux          *http.ServeMux
	routes       []route
	cache        *resultCache
	writeTimeout time.Duration
	tls          bool
}

// New makes the API.
func New(opts Options) *API {
	opts = withDefaults(opts)
	a := &API{
		guard: &opts.Guard, log: opts.Log, metrics: opts.Metrics, mux: http.NewServeMux(), cache: newResultCache(),
		writeTimeout: opts.WriteTimeout, tls: opts.TLS,
	}
	a.routes = routes(newHandlers(&opts, a.cache))
	alike := map[string][]route{}
	for _, rt := range a.routes {
		alike[rt.pattern()] = append(alike[rt.pattern()], rt)
	}
	unmatched := a.wrap(route{path: "unmatched", handle: a.unmatched})
	for pattern, list := range alike {
		a.mux.Handle(pattern, a.choose(list, unmatched))
		// Without a pattern of its own, ServeMux would redirect the path to
		// the one with a slash.
		if parent, ok := strings.CutSuffix(pattern, "/{name...}"); ok && alike[parent] == nil {
			a.mux.Handle(parent, unmatched)
		}
	}
	a.mux.Handle("/", unmatched)
	return a
}

// newHandlers makes the groups of handlers.
func newHandlers(o *Options, cache *resultCache) handlers {
	work, bodies := o.Queries.Activity(), bodyReader{o.BodyTimeout}
	sql := &sqlHandler{queries: o.Queries, cache: cache, settings: o.Cache, bodies: bodies, maxBody: o.MaxBody, log: o.Log}
	chats := &chatHandler{
		chats: o.Chats, tools: o.Tools, activity: work, bodies: bodies, log: o.Log, keepAlive: o.KeepAlive,
		slots: make(chan struct{}, o.MaxChats), answers: responses.NewStore(responses.StoreOptions{}),
	}
	sandboxes := &sandboxesHandler{o.Sandboxes}
	calls := &toolsHandler{o.Tools, sandboxes, o.Jobs, bodies, o.KeepAlive, o.Log}
	return handlers{
		approvals: &approvalsHandler{calls, o.Guard.approvers},
		sql:       sql, chats: chats, nsql: &nsqlHandler{sql, chats},
		rowSearch:  &rowSearchHandler{o.Search, work, bodies},
		activity:   &activityHandler{work},
		queries:    &queriesHandler{sql, o.Jobs, o.Results},
		tools:      calls,
		sandboxes:  sandboxes,
		embeddings: &embeddingsHandler{o.Embeddings, bodies},
		runtime:    &runtimeHandler{o.Runtime, bodies},
		mcp:        &mcpHandler{o.MCP, &o.Guard, o.Tools, bodies},
		openAPI:    serveOpenAPI(o.Version),
		events:     newEventsHandler(o),
		whoami:     &whoamiHandler{o.Runtime.Inventory, &o.Guard, o.Version},
		metrics: func(w http.ResponseWriter, r *http.Request) error {
			o.Metrics.Handler().ServeHTTP(w, r)
			return nil
		},
	}
}

// choose serves routes of one pattern: the first whose verb ends the path. A verb that only
// routes of other methods have is not part of a name.
func (a *API) choose(alike []route, otherwise http.Handler) http.Handler {
	var others []string
	for _, rt := range a.routes {
		if rt.verb != "" && rt.method != alike[0].method && rt.pathPattern() == alike[0].pathPattern() {
			others = append(others, rt.verb)
		}
	}
	if len(alike) == 1 && alike[0].verb == "" && len(others) == 0 {
		return a.wrap(alike[0])
	}
	handlers := make([]http.Handler, len(alike))
	for i, rt := range alike {
		handlers[i] = a.wrap(rt)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, rt := range alike {
			if strings.HasSuffix(r.URL.Path, rt.verb) && (rt.verb != "" || !hasSuffixOf(r.URL.Path, others)) {
				handlers[i].ServeHTTP(w, r)
				return
			}
		}
		otherwise.ServeHTTP(w, r)
	})
}

func hasSuffixOf(path string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
}

func withDefaults(o Options) Options {
	if o.Metrics == nil {
		o.Metrics = telemetry.New(o.Version)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Cache == nil {
		o.Cache = func() spicepod.ResultCache { return spicepod.ResultCache{} }
	}
	if o.Memory == nil {
		o.Memory = memory.NewBudget(0)
	}
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, defaultBodyTimeout)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, defaultWriteTimeout)
	o.KeepAlive = cmp.Or(o.KeepAlive, defaultKeepAlive)
	o.MaxStreams = cmp.Or(o.MaxStreams, defaultMaxStreams)
	o.MaxChats = cmp.Or(o.MaxChats, defaultMaxChats)
	return o
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.guard.preflight(newResponseWriter(w, a.writeTimeout), r) {
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Close ends what the API does in addition to its requests.
func (a *API) Close() { a.cache.close() }

// Listener returns a listener with the bounds of connections of an HTTP server. A
// connection is pending until a request on it is let through, and idle between
// requests; see package listen.
func Listener(l net.Listener) net.Listener {
	return listen.New(listen.Limits{
		Connections: maxConnections, PerCaller: maxConnectionsPerCaller, Pending: maxPendingConnections,
	}).Listener(l)
}

// NewServer makes a server for the API with limits on headers and idle
// connections. It sets no limit on a whole request: the API bounds each body
// that it reads, each statement and each write on its own. Of other bodies
// net/http awaits the end before it sends the answer: these have a limit here,
// which net/http lifts once they have arrived. [Listener] bounds the connections.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       unreadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: defaultWriteTimeout},
		ConnContext:       listen.Context,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
