package sqlapi

import (
	"errors"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// Guard says who may send requests. Its zero value refuses web pages alone.
type Guard struct {
	// Keys are the present keys; nil: no key is needed.
	Keys  func() *auth.Keyring
	Audit *audit.Log // nil: refused requests are not audited
	// AllowedHosts are names that requests over loopback may have in their
	// Host header, besides localhost and IP addresses, and those of MCP over
	// any connection; "*" allows any. It protects a developer's machine from
	// DNS rebinding.
	AllowedHosts []string
	// AllowedOrigins are the sites whose pages may send requests; "*" is every
	// site. None: no page of another site.
	AllowedOrigins []string
	Memory         *memory.Budget // of large requests and their answers; nil: no limit
}

// Protect guards a handler that is not part of the API.
func (g *Guard) Protect(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = newResponseWriter(w, defaultWriteTimeout)
		leave, err := func() {}, g.admit(r)
		if err == nil {
			_, leave, err = g.principal(w, r)
		}
		if err != nil {
			g.record(w, r, "", err)
			e := asRequestError(err)
			http.Error(w, e.Error(), e.sentStatus())
			return
		}
		defer leave()
		h.ServeHTTP(w, r)
	})
}

// admit refuses what only a web page of another site would send: on a
// developer's machine every page in the browser reaches localhost.
func (g *Guard) admit(r *http.Request) error {
	host := hostname(r.Host)
	_, err := netip.ParseAddr(host)
	// Rebinding needs a name that an attacker's DNS server answers for, and
	// browsers always send one.
	safe := err == nil || host == "" || strings.HasSuffix(host, ".localhost")
	if overLoopback(r) && !safe && !g.hostAllowed(host) {
		return hostError(r)
	}
	if !sameOrigin(r) && !g.originAllowed(r) {
		return newError(codeOrigin, "runtime.cors can allow them", "requests from pages of other sites are not served")
	}
	return nil
}

func hostError(r *http.Request) error {
	return newError(codeHost, "use localhost, or add the name to runtime.mcp.allowed_hosts",
		"the host %q is not served here", truncate.Ellipsis(r.Host, maxShown))
}

// hostAllowed reports whether a host is the loopback or a name that is allowed.
func (g *Guard) hostAllowed(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" ||
		err == nil && addr.IsLoopback() || slices.ContainsFunc(g.AllowedHosts, func(allowed string) bool {
		return allowed == "*" || host != "" && hostname(allowed) == host
	})
}

// hostname is a host without its port, in one spelling.
func hostname(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// overLoopback reports whether the connection came in over a loopback address.
func overLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// originAllowed reports whether the page that sends the request is of an
// allowed site.
func (g *Guard) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && slices.ContainsFunc(g.AllowedOrigins, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, origin)
	})
}

// sameOrigin reports whether a request comes from no page, from a page of this server, or from a user
// who follows a link. Without an Origin, which browsers do not send when a page embeds an
// image, a script or a frame, Sec-Fetch-Site tells where the page is from.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return followsLink(r)
}

// followsLink reports whether a browser shows the answer as a page of its own, which the page
// with the link cannot read.
func followsLink(r *http.Request) bool {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	return read && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// principal returns who sends the request. Until leave is called, the connection is
// theirs.
func (g *Guard) principal(w http.ResponseWriter, r *http.Request) (p *auth.Principal, leave func(), err error) {
	if p, err = g.authenticate(w, r); err != nil {
		return nil, nil, err
	}
	if leave, err = listen.FromContext(r.Context()).Admit(p.Name); err != nil {
		return nil, nil, overLimit(err)
	}
	return p, leave, nil
}

// authenticate returns who sends the request. The error for a wrong key waits if
// its address has sent wrong keys before.
func (g *Guard) authenticate(w http.ResponseWriter, r *http.Request) (*auth.Principal, error) {
	keys := &auth.Keyring{}
	if g.Keys != nil {
		keys = g.Keys()
	}
	if !keys.Enabled() {
		return keys.Anonymous(), nil
	}
	why := "a key is needed"
	if key, ok := auth.FromHeader(r.Header); ok {
		if p, ok := keys.Lookup(key); ok {
			return p, nil
		}
		why = "the key is not known"
		listen.FromContext(r.Context()).Pause(r.Context(), keys.Failed(r.RemoteAddr))
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="spiced"`)
	return nil, newError(codeUnauthorized, "send it as X-API-Key or as Authorization: Bearer", "%s", why)
}

// approvers says who decides about calls.
func (g *Guard) approvers() approval.Keys {
	if g.Keys == nil {
		return &auth.Keyring{}
	}
	return g.Keys()
}

// refusals are the errors of requests that are not let through.
var refusals = map[errcode.Code]audit.Kind{
	codeUnauthorized:    audit.Login,
	codeHost:            audit.Request,
	codeOrigin:          audit.Request,
	codeDenied:          audit.Request,
	errcode.RateLimited: audit.Request,
}

// record audits a request that was refused; it ignores other errors. The
// principal is "" until it is known.
func (g *Guard) record(w http.ResponseWriter, r *http.Request, principal string, err error) {
	code := asRequestError(err).Code
	kind, refused := refusals[code]
	if !refused {
		return
	}
	g.Audit.Record(r.Context(), audit.Entry{
		Kind: kind, Protocol: string(query.HTTP), Principal: principal, RequestID: w.Header().Get(headerRequestID),
		Remote: r.RemoteAddr, Outcome: string(code),
	})
}

// authorised calls h for a request that comes from an allowed site and whose key
// permits the route, within the limits of its principal.
func (g *Guard) authorised(rt route, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) (err error) {
		who := ""
		defer func() {
			if err != nil {
				g.record(w, r, who, err)
			}
		}()
		if err := g.admit(r); err != nil {
			return err
		}
		if rt.is.has(public) {
			return h(w, r)
		}
		p, leave, err := g.principal(w, r)
		if err != nil {
			return err
		}
		defer leave()
		who = p.Name
		if rt.is.has(writes) && !p.Write {
			return newError(codeDenied, "use a key that ends in :rw", "the key may only read")
		}
		if !rt.is.has(free) && (rt.waits == nil || !rt.waits(r)) {
			end, err := p.Begin()
			if err != nil {
				return overLimit(err)
			}
			defer end()
		}
		if x, ok := w.(*responseWriter); ok {
			x.principal = p
		}
		ctx, end := g.Memory.Begin(r.Context(), p.Name)
		defer end()
		r = r.WithContext(ctx)
		if err := takeBody(r); err != nil {
			return err
		}
		return h(w, r)
	}
}

// takeBody takes the memory for the body of a request, before it is read if its size is known.
func takeBody(r *http.Request) (err error) {
	if r.ContentLength < 0 {
		r.Body = memory.Reader(r.Context(), r.Body)
		return nil
	}
	if r.Body, err = memory.Body(r.Context(), r.Body, r.ContentLength); err != nil {
		return readError(err)
	}
	return nil
}

// principalOf returns the principal of the request that w answers, or one
// without rights.
func principalOf(w http.ResponseWriter) *auth.Principal {
	if x, ok := w.(*responseWriter); ok && x.principal != nil {
		return x.principal
	}
	return &auth.Principal{}
}

// overLimit is the refusal of one request too many.
func overLimit(err error) error {
	var limit *auth.LimitError
	if full, ok := errors.AsType[*listen.FullError](err); ok {
		limit = &auth.LimitError{Message: full.Message, RetryAfter: 1}
	} else if !errors.As(err, &limit) {
		return err
	}
	e := newError(errcode.RateLimited, "", "%s", limit.Message)
	e.header = http.Header{headerRetryAfter: {strconv.FormatFloat(math.Max(1, math.Ceil(limit.RetryAfter)), 'f', 0, 64)}}
	return e
}
