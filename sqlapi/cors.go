package sqlapi

import (
	"net/http"
	"strings"
)

// What pages of other sites may send and read, where their sites are allowed
// (the Fetch standard's CORS protocol).
const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsMaxAge  = "600" // seconds

	headerCORSAsked = "Access-Control-Request-Headers"
)

var corsExposed = strings.Join([]string{
	headerRequestID, headerQueryID, headerGeneration, headerTruncated, headerIgnored, headerCacheStatus, headerCacheScope,
	headerXCache,
	headerRetryAfter, headerShouldRetry, headerLocation, headerPreferenceApplied, headerAnthropicID, headerMCPSession,
	headerMasked,
}, ", ")

// preflight lets pages of allowed sites through, and answers what their
// browsers ask first. It reports whether that was all. Keys are never sent by
// a browser of itself, so any origin may be named back, and any header let
// through: clients of models send many of their own.
func (g *Guard) preflight(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(g.AllowedOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !g.originAllowed(r) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	if asked := r.Header.Get(headerCORSAsked); asked != "" {
		h.Add("Vary", headerCORSAsked)
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// protect sets the security headers of every answer: it is not a page, and no
// page may embed it.
func protect(h http.Header, encrypted bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if encrypted {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
