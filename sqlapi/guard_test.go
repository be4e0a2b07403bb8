package sqlapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/memory"
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

// TestAnswersToLargeBodies sends bodies that are refused: whoever sends all of one first gets the
// answer, and not a reset connection; so do Go's clients.
func TestAnswersToLargeBodies(t *testing.T) {
	f := serve(t, func(o *Options) { o.Keys, o.MaxBody = keyring(t, someKeys), 1<<20 })
	body := strings.Repeat("x", 24<<20)
	for range 5 {
		c, err := net.Dial("tcp", f.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, "POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s", readKey, len(body),
			body); err != nil {
			t.Fatalf("the body cannot be sent: %v", err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 413 || !strings.Contains(string(text), "the body is larger than 1048576 bytes") {
			t.Errorf("%d %s %v", res.StatusCode, text, err)
		}
		f.want(f.send("POST", "/v1/sql", body, "X-API-Key", readKey), 413, "the body is larger than 1048576 bytes")
	}
	f.want(f.send("POST", "/v1/sql", "SELECT 1", "X-API-Key", "wrong"), 401, "")
}

// TestMemoryOfLargeRequests holds the memory of a caller with one request: its next one waits
// until that has ended, also one that does not say its size, and those of others do not.
func TestMemoryOfLargeRequests(t *testing.T) {
	entered, release := make(chan string, 3), make(chan struct{})
	f := serve(t, func(o *Options) {
		o.Keys = keyring(t, someKeys)
		o.Memory = memory.NewBudget(64 << 20)
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			entered <- fmt.Sprint(r.Header.Get("X-API-Key"), " ", len(body), " ", err)
			if len(body) > memory.Free {
				<-release
			}
		})
	})
	large := strings.Repeat("x", 4<<20) // 32 MiB once it is decoded
	post := func(key, body string, sized bool) *http.Request {
		var from io.Reader = strings.NewReader(body)
		if !sized {
			from = struct{ io.Reader }{from}
		}
		r, err := http.NewRequest("POST", f.URL+PathMCP, from)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", key)
		return r
	}
	done := make(chan int, 4)
	send := func(key, body string, sized bool) {
		res, err := f.Client().Do(post(key, body, sized))
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		res.Body.Close()
		done <- res.StatusCode
	}
	want := func(from chan string, text string) {
		t.Helper()
		if got := <-from; got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
	go send(readKey, large, true)
	want(entered, fmt.Sprint(readKey, " ", len(large), " <nil>"))
	go send(readKey, large, false) // is not read to its end before the first has ended
	send(readKey, "small", true)
	want(entered, readKey+" 5 <nil>")
	send(writeKey, "other", true)
	want(entered, writeKey+" 5 <nil>")
	select {
	case got := <-entered:
		t.Errorf("the second large request was read: %s", got)
	default:
	}
	close(release)
	want(entered, fmt.Sprint(readKey, " ", len(large), " <nil>"))
	for range 4 {
		if status := <-done; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if e := asRequestError(readError(memory.ErrShort)); e.sentStatus() != 429 || e.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", e.sentStatus(), e.header)
	}
}
