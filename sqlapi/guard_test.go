package sqlapi

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/audit"
)

// The MCP server's Host header counts over any connection, also over one that
// is not the loopback's.
func TestHostsOfMCP(t *testing.T) {
	for _, c := range []struct {
		host, allowed string
		want          int
	}{
		{"localhost:8090", "", 200},
		{"LOCALHOST", "", 200},
		{"127.0.0.1:8090", "", 200},
		{"[::1]:8090", "", 200},
		{"evil.example", "", 403},
		{"localhost.evil.example", "", 403},
		{"192.168.1.7:8090", "", 403},
		{"", "", 403},
		{"tools.corp:8090", "tools.corp", 200},
		{"Tools.Corp.", "tools.corp:8090", 200},
		{"evil.example", "tools.corp", 403},
		{"evil.example", "*", 200},
	} {
		t.Run(fmt.Sprintf("%q with %q", c.host, c.allowed), func(t *testing.T) {
			f := serve(t, func(o *Options) {
				o.AllowedHosts = strings.Fields(c.allowed)
				o.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") })
			})
			r, w := httptest.NewRequest("POST", PathMCP, nil), httptest.NewRecorder()
			r.Host = c.host
			f.Config.Handler.ServeHTTP(w, r)
			if w.Code != c.want || w.Code == 403 && !strings.Contains(w.Body.String(), "runtime.mcp.allowed_hosts") {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
			if c.host != "" && c.allowed != "" { // over the loopback, it is the same
				f.want(f.send("POST", PathMCP, "", "Host", c.host), c.want, "")
			}
		})
	}
}

// What the API lets pages of other sites do, it lets them do with MCP.
func TestMCPForPagesOfOtherSites(t *testing.T) {
	f := serve(t, func(o *Options) {
		o.AllowedOrigins = []string{"https://app.example.com"}
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") })
	})
	f.want(f.send("POST", PathMCP, "", "Origin", "https://app.example.com"), 200, "served")
	for _, origin := range []string{"https://evil.example", "http://localhost:3000", "null", "://"} {
		f.want(f.send("POST", PathMCP, "", "Origin", origin), 403, "runtime.cors")
	}
}

func TestGuardOfOtherHandlers(t *testing.T) {
	var audits bytes.Buffer
	g := &Guard{Audit: audit.New(slog.New(slog.NewJSONHandler(&audits, nil)))}
	s := httptest.NewServer(g.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "numbers") })))
	t.Cleanup(s.Close)
	f := &fixture{Server: s, t: t}
	f.want(f.send("GET", "/metrics", ""), 200, "numbers")
	f.want(f.send("GET", "/metrics", "", "Host", "evil.example"), 403, "not served here")
	f.want(f.send("GET", "/metrics", "", "Origin", "https://evil.example"), 403, "other sites")
	g.Keys = keyring(t, someKeys)
	r := f.send("GET", "/metrics", "")
	f.want(r, 401, "a key is needed")
	f.want(f.send("GET", "/metrics", "", "X-API-Key", "not-the-key-at-all"), 401, "not known")
	f.want(f.send("GET", "/metrics", "", "X-API-Key", readKey), 200, "numbers")
	if r.header.Get("WWW-Authenticate") == "" {
		t.Errorf("headers %v", r.header)
	}
	for want, n := range map[string]int{
		`"kind":"login","door":"http","outcome":"unauthorized"`:         2,
		`"kind":"request","door":"http","outcome":"host_not_allowed"`:   1,
		`"kind":"request","door":"http","outcome":"origin_not_allowed"`: 1,
		`"kind"`: 4,
	} {
		if got := strings.Count(audits.String(), want); got != n {
			t.Errorf("%d times %s, want %d:\n%s", got, want, n, &audits)
		}
	}
}

// At its limit, a principal can still see what runs, and end it.
func TestLimitsLeaveAWayOut(t *testing.T) {
	f := serve(t, func(o *Options) { o.Keys = keyring(t, someKeys) })
	slow := []string{"X-API-Key", slowKey}
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", slow...), 200, "")
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", slow...), 429, "")
	f.want(f.send("GET", "/v1/sql/active", "", slow...), 200, `"total_count":0`)
	f.want(f.send("POST", "/v1/sql/x/cancel", "", slow...), 404, "query_not_found")
	f.want(f.send("POST", "/v1/queries/x/cancel", "", slow...), 404, "query_not_found")
	f.want(f.send("POST", "/v1/requests/x:cancel", "", slow...), 404, "")
	f.want(f.send("GET", PathMCP, "", slow...), 404, "not_served")
}
