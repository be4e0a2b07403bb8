package upstream

import (
	"net/http"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

// shared is the transport of all endpoints that are not given one.
var shared = sync.OnceValue(func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConns = 2 * maxConnections
	t.MaxIdleConnsPerHost = maxConnections
	t.MaxResponseHeaderBytes = maxHeadBytes
	// A server that compresses buffers events before it sends them.
	t.DisableCompression = true
	return t
})

// client returns a client that follows redirects only to the same host.
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
