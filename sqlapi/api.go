// Package sqlapi is the HTTP API: SQL and what the runtime is made of.
//
// It decodes a request, calls one method, and encodes what that returns; it
// computes nothing. One table (routes.go) holds every route with its
// parameters, bodies and answers: it registers the handlers, and makes the
// OpenAPI document and docs/http.md, so that they cannot drift.
//
//	api := sqlapi.New(sqlapi.Options{
//		Querier:   db,      // *engine.DB is one
//		Inventory: runtime, // small interfaces, see runtime.go
//		Refresher: runtime,
//		Reloader:  runtime,
//		Metrics:   metrics,
//		Log:       log,
//	})
//	server := sqlapi.NewServer(api, log) // with its timeouts
//	err := server.Serve(listener)
//
// Results stream: the memory a request takes does not grow with its rows. An
// error before the first byte has a proper status; later the connection is
// broken off, so that nobody takes a part of a result for all of it. A client
// that leaves ends its statement.
package sqlapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/telemetry"
)

// Defaults and limits.
const (
	defaultMaxBody      = 32 << 20         // bytes of the body of /v1/sql
	maxSmallBody        = 1 << 20          // bytes of other bodies
	defaultBodyTimeout  = 60 * time.Second // to send a body
	defaultWriteTimeout = 30 * time.Second // for a piece of an answer to leave
	flushEvery          = 100 * time.Millisecond
	pieceSize           = 256 << 10 // bytes that are written under one deadline
	maxRequestID        = 128       // bytes of an X-Request-Id that is taken over

	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// Options configures [New]. Querier and Inventory are required; without a
// Refresher or a Reloader their routes answer that they are not served here.
type Options struct {
	Querier   Querier
	Inventory Inventory
	Refresher Refresher
	Reloader  Reloader
	Metrics   *telemetry.Metrics // nil: of its own
	Log       *slog.Logger       // nil: discarded

	Version      string        // of the runtime, for the OpenAPI document
	MaxBody      int64         // bytes of the body of /v1/sql; 0: 32 MiB
	BodyTimeout  time.Duration // to send a body; 0: 60 s
	WriteTimeout time.Duration // without the client reading; 0: 30 s
	// AllowedHosts are names that requests over loopback may have in their
	// Host header, besides localhost and IP addresses; "*" allows any. It
	// protects a developer's machine from DNS rebinding.
	AllowedHosts []string
}

// API is the handler of all routes.
type API struct {
	opts    Options
	log     *slog.Logger
	metrics *telemetry.Metrics
	mux     *http.ServeMux
	routes  []route
	openAPI []byte
}

// New makes the API.
func New(opts Options) *API {
	a := &API{opts: withDefaults(opts), mux: http.NewServeMux(), routes: routes()}
	a.log, a.metrics = a.opts.Log, a.opts.Metrics
	a.openAPI = mustOpenAPI(a.routes, opts.Version)
	for _, rt := range a.routes {
		a.mux.Handle(rt.method+" "+rt.path, a.wrap(rt))
	}
	a.mux.Handle("/", a.wrap(route{path: "unmatched", handle: (*API).unmatched}))
	return a
}

func withDefaults(o Options) Options {
	if o.Metrics == nil {
		o.Metrics = telemetry.New(o.Version)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = defaultBodyTimeout
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	return o
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// NewServer makes a server for the API with limits on headers and idle
// connections. It sets no limit on a whole request: the API bounds each body,
// each statement and each write on its own.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
