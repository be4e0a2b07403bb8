package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// admit refuses what a web page of another site sends. A page may have its own
// name lead to this machine (DNS rebinding), so the name that a request is for
// counts, and the page's, which browsers put in Origin. See the security
// warning of the transport's specification.
func (s *Server) admit(r *http.Request) error {
	if !s.hostAllowed(r.Host) {
		return fmt.Errorf("the host %q is not served here; use localhost, or add its name to runtime.mcp.allowed_hosts", shorten(r.Host))
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !s.hostAllowed(u.Host) {
		return fmt.Errorf("requests from pages of %q are not served; add its host to runtime.mcp.allowed_hosts", shorten(origin))
	}
	return nil
}

// hostAllowed reports whether a host, with or without a port, is the loopback
// or a name that is allowed.
func (s *Server) hostAllowed(hostport string) bool {
	host := hostname(hostport)
	for _, allowed := range s.opts.AllowedHosts {
		if allowed == "*" || hostname(allowed) == host && host != "" {
			return true
		}
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func hostname(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
