// Package publicnet makes HTTP requests that reach the public internet alone, for URLs that models and
// other strangers choose: no address of this machine, of a private network, or of the metadata service
// of a cloud.
//
//	client := publicnet.Client([]string{"wiki.corp.example:8443"}) // the exceptions
//	response, err := client.Do(request)
//
// What decides is the address that a connection is made to. A check of the URL would not do: a name
// has other addresses a moment later, one address has many spellings, and a redirect leads elsewhere.
package publicnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Limits of a request.
const (
	MaxRedirects = 5
	MaxHeader    = 64 << 10 // of a response, in bytes
	DialTimeout  = 5 * time.Second
)

// Error is a request that is refused.
type Error struct{ message string }

// Error says why.
func (e *Error) Error() string { return e.message }

// notFound is the error of a name without a public address, whether or not it has others: what names a
// private network has is not for strangers.
var notFound = &Error{"the host is not found on the public internet"}

// Refused returns the refusal in err, or nil.
func Refused(err error) *Error {
	var e *Error
	var unknown *net.DNSError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return notFound
	}
	return nil
}

// ports are those of the public web.
var ports = []string{"80", "443"}

// reserved are ranges that are not those of a public host, in addition to those that package netip
// knows: of RFC 6890 and its successors, and those that contain an IPv4 address that a gateway would
// unpack.
var reserved = func() (list []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
		"3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// Public reports whether an address is one of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Client returns a client for the public internet and, of other hosts and ports, those of allow, each
// host:port as URLs name it. It uses no proxy, which would connect for it, keeps no cookies and no
// connections, and does not follow a redirect from https to http.
func Client(allow []string) *http.Client {
	g := guard{}
	for _, host := range allow {
		g.allow = append(g.allow, strings.ToLower(host))
	}
	return &http.Client{
		Transport: g.transport(),
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > MaxRedirects {
				return &Error{fmt.Sprintf("the page redirects more than %d times", MaxRedirects)}
			}
			if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme == "http" {
				return &Error{"the page redirects from https to http"}
			}
			r.Header.Del("Referer") // the address of a page may be a secret
			return Check(r.URL)
		},
	}
}

// Check checks what can be said of a URL before it is looked up.
func Check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &Error{fmt.Sprintf("the scheme %q is not fetched; only http and https are", u.Scheme)}
	case u.Hostname() == "":
		return &Error{"the URL has no host"}
	case u.User != nil:
		return &Error{"the URL has a user name or password, which are not sent"}
	}
	return nil
}

// guard decides which connections are made.
type guard struct{ allow []string }

func (g guard) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.DisableKeepAlives, t.MaxResponseHeaderBytes = nil, true, MaxHeader
	t.ForceAttemptHTTP2, t.TLSHandshakeTimeout = true, DialTimeout
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := &net.Dialer{Timeout: DialTimeout}
		if !slices.Contains(g.allow, strings.ToLower(address)) {
			if _, port, err := net.SplitHostPort(address); err != nil || !slices.Contains(ports, port) {
				return nil, &Error{fmt.Sprintf("port %q is not fetched; only %s are", port, strings.Join(ports, " and "))}
			}
			// It is called for each address of the name, just before the connection.
			d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
				a, err := netip.ParseAddrPort(address)
				if err != nil || !Public(a.Addr()) {
					return notFound
				}
				return nil
			}
		}
		return d.DialContext(ctx, network, address)
	}
	return t
}
