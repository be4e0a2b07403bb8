package upstream

import (
	"net/http"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

// shared is the transport of all endpoints without one of their own.
var shared = sync.OnceValue(func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConns = 2 * maxConnections
	t.MaxIdleConnsPerHost = maxConnections
	t.MaxResponseHeaderBytes = maxHeadBytes
	// A server that compresses collects events before it sends them.
	t.DisableCompression = true
	return t
})

// client follows redirects only where messages and key were meant to go.
func client(given *http.Client) *http.Client {
	c := &http.Client{CheckRedirect: httpx.CheckRedirect}
	if given != nil {
		c.Transport = given.Transport
	}
	if c.Transport == nil {
		c.Transport = shared()
	}
	return c
}
