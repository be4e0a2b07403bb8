package sqlapi

import (
	"net/http"
	"slices"
	"strings"
)

// What pages of other sites may send and read, where their sites are allowed
// (the Fetch standard's CORS protocol).
const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsHeaders = "Accept, Authorization, Cache-Control, Content-Type, X-API-Key, X-Request-Id, X-Spiced-User, X-Spiced-Space, X-Spiced-Session, X-Spiced-Agent, X-Spiced-Events, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID"
	corsExposed = "X-Request-Id, X-Spiced-Generation, Results-Cache-Status, Results-Cache-Scope, X-Cache, Retry-After, Mcp-Session-Id"
	corsMaxAge  = "600" // seconds
)

// originAllowed reports whether the page that sends the request is of an
// allowed site.
func (a *API) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && slices.ContainsFunc(a.opts.AllowedOrigins, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, origin)
	})
}

// preflight lets pages of allowed sites through, and answers what their
// browsers ask first. It reports whether that was all. Keys are never sent by
// a browser of itself, so any origin may be named back.
func (a *API) preflight(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(a.opts.AllowedOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !a.originAllowed(r) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// protect sets what browsers are told of every answer: it is no page, and no
// other page may hold it.
func (a *API) protect(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if a.opts.TLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
