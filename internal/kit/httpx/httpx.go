// Package httpx has helpers for outbound HTTP to model providers and MCP
// servers: which redirects are followed, which failures are permanent, how long
// a server asks to wait, what its error says and which parts of that may be
// shown.
//
//	client := httpx.Client(shared)
//	res, err := client.Do(req)
//	if err != nil {
//		return fmt.Errorf("the server cannot be reached: %w", httpx.Cause(err)) // without the URL
//	}
//	wait := httpx.RetryAfter(res.Header)
package httpx

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxRedirects is how many redirects one request follows.
const MaxRedirects = 3

// Client returns a client with the transport of another, which may be nil,
// without its cookies and with [CheckRedirect].
func Client(of *http.Client) *http.Client {
	c := &http.Client{CheckRedirect: CheckRedirect}
	if of != nil {
		c.Transport = of.Transport
	}
	return c
}

// Transport returns Go's default transport with changes, or as it is if a program has
// replaced it.
func Transport(change func(*http.Transport)) http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	change(t)
	return t
}

// Cause returns the cause of an error of [http.Client], without the URL, which
// may hold a secret.
func Cause(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// Permanent reports whether a request failed for a reason that a retry does not
// change: a redirect or a certificate.
func Permanent(err error) bool {
	var redirect *RedirectError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &redirect) || errors.As(err, &certificate)
}

// RedirectError is a redirect that is not followed.
type RedirectError struct{ message string }

// Error returns where the redirect leads.
func (e *RedirectError) Error() string { return e.message }

// CheckRedirect is for [http.Client]: it follows redirects only to the same
// host and scheme, so that texts and keys reach no one else. Its errors are a
// [*RedirectError].
func CheckRedirect(r *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case r.URL.Host != first.URL.Host:
		return &RedirectError{fmt.Sprintf("the server redirects to another host, %q, which is not followed; "+
			"check the address", r.URL.Host)}
	case r.URL.Scheme != first.URL.Scheme:
		return &RedirectError{fmt.Sprintf("the server redirects from %s to %s, which is not followed; check the address",
			first.URL.Scheme, r.URL.Scheme)}
	case r.Method != first.Method:
		return &RedirectError{"the server redirects as to a page; check the address"}
	case len(via) > MaxRedirects:
		return &RedirectError{fmt.Sprintf("the server redirects more than %d times", MaxRedirects)}
	}
	return nil
}

// RetryAfter returns how long a server asks to wait: retry-after-ms as OpenAI
// sends it, or Retry-After in seconds or as a date (RFC 9110, 10.2.3); 0 without
// either.
func RetryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// seconds keeps large numbers in range.
func seconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	return time.Duration(min(s, day) * float64(time.Second))
}

// Message returns the message in the body of an error response. Providers write
// {"error": {"message": …}}, {"error": "…"}, {"message": "…"}, {"detail": "…"}
// or one of them in a list. The code is that of the error, or its type. A page
// of HTML has no message.
func Message(body []byte) (message, code string) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var form struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &form) != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return "", ""
		}
		return text, ""
	}
	var inner struct {
		Message    string
		Code, Type any
	}
	if json.Unmarshal(form.Error, &inner) == nil && inner.Message != "" {
		code, _ = inner.Code.(string)
		if kind, ok := inner.Type.(string); ok {
			code = cmp.Or(code, kind)
		}
		return inner.Message, code
	}
	for _, raw := range []json.RawMessage{form.Error, form.Message, form.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text, ""
		}
	}
	return "", ""
}
