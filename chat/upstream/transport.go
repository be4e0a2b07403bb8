package upstream

import (
	"fmt"
	"net/http"
	"sync"
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

// redirectError is a redirect that is not followed.
type redirectError struct{ message string }

func (e *redirectError) Error() string { return e.message }

// client follows redirects only where messages and key were meant to go.
func client(given *http.Client) *http.Client {
	c := &http.Client{CheckRedirect: checkRedirect}
	if given != nil {
		c.Transport = given.Transport
	}
	if c.Transport == nil {
		c.Transport = shared()
	}
	return c
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case r.URL.Host != first.URL.Host:
		return &redirectError{fmt.Sprintf("the provider redirects to another host, %q, which is not followed; check params.endpoint", r.URL.Host)}
	case r.URL.Scheme != first.URL.Scheme:
		return &redirectError{fmt.Sprintf("the provider redirects from %s to %s, which is not followed; check params.endpoint", first.URL.Scheme, r.URL.Scheme)}
	case r.Method != first.Method:
		return &redirectError{"the provider redirects as to a page; check params.endpoint"}
	case len(via) > MaxRedirects:
		return &redirectError{fmt.Sprintf("the provider redirects more than %d times", MaxRedirects)}
	}
	return nil
}
