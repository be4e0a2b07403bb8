package sqlapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// admit refuses what only a web page of another site would send: on a
// developer's machine every page in the browser reaches localhost.
func (a *API) admit(r *http.Request) error {
	if overLoopback(r) && !a.hostAllowed(r.Host) {
		return newError(codeHost, "use localhost, or add the name to the allowed hosts", "the host %q is not served here", r.Host)
	}
	if !sameOrigin(r) && !a.originAllowed(r) {
		return newError(codeOrigin, "", "requests from pages of other sites are not served")
	}
	return nil
}

// overLoopback reports whether the connection came in over a loopback address.
func overLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// hostAllowed reports whether a Host header names this machine. An address
// does: rebinding needs a name that an attacker's DNS server answers for. So
// does a missing one: browsers always send it.
func (a *API) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, allowed := range a.opts.AllowedHosts {
		if allowed == "*" || strings.EqualFold(allowed, host) {
			return true
		}
	}
	return false
}

var crossOrigin = http.NewCrossOriginProtection()

// sameOrigin reports whether a request comes from no page or from one of ours.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	}
	return crossOrigin.Check(r) == nil
}
