package upstream

import (
	"net/http"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

// shared is the transport of all endpoints that are not given one.
var shared = sync.OnceValue(func() http.RoundTripper {
	return httpx.Transport(func(t *http.Transport) {
		t.MaxIdleConns = 2 * maxConnections
		t.MaxIdleConnsPerHost = maxConnections
		t.MaxResponseHeaderBytes = maxHeadBytes
		// A server that compresses buffers events before it sends them.
		t.DisableCompression = true
	})
})

// client returns the client of an endpoint.
func client(given *http.Client) *http.Client {
	c := httpx.Client(given)
	if c.Transport == nil {
		c.Transport = shared()
	}
	return c
}
