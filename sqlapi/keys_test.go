package sqlapi

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// keyring reads the keys of runtime.auth.api-key.
func keyring(t testing.TB, apiKey string) func() *auth.Keyring {
	t.Helper()
	keys, problems := auth.NewKeyring(podtest.Load(t, "runtime:\n  auth:\n    api-key: "+apiKey+"\n"), nil)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return func() *auth.Keyring { return keys }
}

const (
	readKey  = "read-0123456789abcdef"
	writeKey = "write-0123456789abcdef"
	appKey   = "app-0123456789abcdef0"
	slowKey  = "slow-0123456789abcdef"
)

const someKeys = "{keys: [" + readKey + ", '" + writeKey + ":rw'], principals: [{name: app, key: " + appKey + ", on_behalf_of: true}," +
	"{name: slow, key: " + slowKey + ", limits: {requests_per_second: 0.001, burst: 1}}]}"

func TestKeys(t *testing.T) {
	var audits bytes.Buffer
	f := serve(t, func(o *Options) {
		o.Keys = keyring(t, someKeys)
		o.Audit = audit.New(slog.New(slog.NewJSONHandler(&audits, nil)))
	})
	for _, path := range []string{"/health", "/v1/ready"} {
		f.want(f.send("GET", path, ""), 200, "")
	}
	for _, rt := range routes(handlers{}) {
		if rt.is.has(public) {
			continue
		}
		if r := f.send(rt.method, strings.NewReplacer("{name}", "x", "{id}", "x").Replace(rt.path), "{}"); r.status != 401 || r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s without a key: %d %s", rt.method, rt.path, r.status, r.body)
		}
	}
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", "not-the-key-at-all"), 401, "not known")
	for _, path := range []string{"/v1/models", "/v1/models/m"} {
		f.want(f.send("GET", path, ""), 401, `{"error":{"message":"a key is needed`)
		f.want(f.send("GET", path, ""), 401, `"code":"invalid_api_key"`)
		f.want(f.send("GET", path, "", "Anthropic-Version", "2023-06-01"), 401, `{"type":"error","error":{"type":"authentication_error"`)
	}
	f.want(f.send("POST", "/v1/embeddings", "{}"), 401, `"code":"invalid_api_key"`)
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", readKey), 200, `[{"a":1}]`)
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "Authorization", "Bearer "+readKey), 200, `[{"a":1}]`)
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "Authorization", "Bearer "+readKey, "X-API-Key", writeKey), 401, "")
	f.want(f.send("POST", "/v1/reload", "", "X-API-Key", readKey), 403, ":rw")
	f.want(f.send("POST", "/v1/reload", "", "X-API-Key", writeKey), 200, "")
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", readKey, "X-Spiced-User", "bob"), 403, "on_behalf_of")
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", appKey, "X-Spiced-User", "bob"), 200, "")
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", slowKey), 200, "")
	r := f.send("POST", "/v1/sql", "SELECT 1 AS a", "X-API-Key", slowKey)
	f.want(r, 429, "")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for _, key := range []string{readKey, writeKey, appKey, slowKey, "not-the-key-at-all"} {
		if strings.Contains(f.log.String(), key) || strings.Contains(audits.String(), key) {
			t.Errorf("a log has the key %s", key)
		}
	}
	if !strings.Contains(audits.String(), `"kind":"login","door":"http","outcome":"unauthorized"`) {
		t.Error("refused keys are not audited")
	}
}

func TestABodyNamesNobodyElse(t *testing.T) {
	f := serveTools(t, func(o *Options) { o.Keys = keyring(t, someKeys) })
	const call = `{"args":{},"context":{"user_id":"bob"}}`
	f.want(f.send("POST", "/v1/tools/list_udfs:invoke", call, "X-API-Key", readKey), 403, "on_behalf_of")
	search := `{"query":"functions","context":{"user_id":"bob"}}`
	f.want(f.send("POST", "/v1/tools:search", search, "X-API-Key", readKey), 403, "on_behalf_of")
	f.want(f.send("POST", "/v1/tools:search", search, "X-API-Key", appKey), 200, `"tools"`)
	if r := f.send("POST", "/v1/tools/list_udfs:invoke", call, "X-API-Key", appKey); r.status == 403 {
		t.Errorf("who may act for others: %s", r.body)
	}
}

func TestPagesOfOtherSites(t *testing.T) {
	f := serve(t, func(o *Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	r := f.send("OPTIONS", "/v1/sql", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers",
		"x-api-key,x-stainless-os")
	if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		r.header.Get("Access-Control-Allow-Headers") != "x-api-key,x-stainless-os" {
		t.Errorf("the preflight: %d %v", r.status, r.header)
	}
	r = f.send("POST", "/v1/sql", "SELECT 1 AS a", "Origin", "https://app.example.com")
	f.want(r, 200, `[{"a":1}]`)
	if r.header.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Origin") {
		t.Errorf("the answer: %v", r.header)
	}
	r = f.send("OPTIONS", "/v1/sql", "", "Origin", "https://evil.example.com", "Access-Control-Request-Method", "POST")
	if r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("another site is let through")
	}
	f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a", "Origin", "https://evil.example.com"), 403, "other sites")
	closedOne := serve(t, nil)
	if r := closedOne.send("OPTIONS", "/v1/sql", "", "Origin", "https://app.example.com", "Access-Control-Request-Method",
		"POST"); r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS is not off by default")
	}
}

func TestHeadersForBrowsers(t *testing.T) {
	want := map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Strict-Transport-Security": "",
	}
	for _, encrypted := range []bool{false, true} {
		f := serve(t, func(o *Options) { o.TLS = encrypted })
		if encrypted {
			want["Strict-Transport-Security"] = "max-age=31536000"
		}
		r := f.send("GET", "/v1/status", "")
		for header, value := range want {
			if got := r.header.Get(header); got != value {
				t.Errorf("TLS %v: %s is %q, want %q", encrypted, header, got, value)
			}
		}
	}
}

func TestActiveQueriesAreTheOwners(t *testing.T) {
	f := serve(t, func(o *Options) { o.Keys = keyring(t, someKeys) })
	done := make(chan reply, 1)
	const long = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5 AND 'secret' <> 'x'"
	go func() { done <- f.send("POST", "/v1/sql", long, "X-API-Key", readKey) }()
	wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running > 0 })
	mine := f.send("GET", "/v1/sql/active", "", "X-API-Key", readKey)
	if strings.Contains(mine.body, "secret") || !strings.Contains(mine.body, `"total_count":1`) {
		t.Fatalf("my statements: %s", mine.body)
	}
	f.want(mine, 200, `"kind":"statement","protocol":"http","sql_preview":`)
	id := between(mine.body, `"query_id":"`, `"`)
	f.want(f.send("GET", "/v1/sql/active", "", "X-API-Key", writeKey), 200, `"total_count":0`)
	f.want(f.send("POST", "/v1/sql/"+id+"/cancel", "", "X-API-Key", writeKey), 404, "")
	f.want(f.send("POST", "/v1/sql/"+id+"/cancel", "", "X-API-Key", readKey), 200, `"status":"cancelled"`)
	ended := <-done
	f.want(ended, 499, "cancelled by its owner")
	if ended.header.Get("Retry-After") != "" {
		t.Error("a statement that was cancelled asks to be tried again")
	}
	f.want(f.send("POST", "/v1/sql/"+id+"/cancel", "", "X-API-Key", readKey), 404, "")
}

// between is the text of s after one mark and before another.
func between(s, after, before string) string {
	_, s, _ = strings.Cut(s, after)
	s, _, _ = strings.Cut(s, before)
	return s
}

// TestMCPStreamsAreFree: a stream of changed lists only waits, so the limits of
// a key don't count it.
func TestMCPStreamsAreFree(t *testing.T) {
	f := serve(t, func(o *Options) {
		o.Keys = keyring(t, someKeys)
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") })
	})
	post := func(revision, method string) reply {
		return f.send("POST", PathMCP, "", "X-API-Key", slowKey, "Mcp-Protocol-Version", revision, "Mcp-Method", method)
	}
	for range 3 {
		f.want(post("2026-07-28", "subscriptions/listen"), 200, "served")
	}
	f.want(post("2026-07-28", "tools/list"), 200, "served")
	f.want(post("2026-07-28", "tools/list"), 429, "")
	f.want(post("2025-11-25", "subscriptions/listen"), 429, "") // the older ones have no such header
	f.want(post("2026-07-28", "subscriptions/listen"), 200, "served")
}

// TestLinesOfProblems: the line of a file that a problem is in is for those who may read the files.
func TestLinesOfProblems(t *testing.T) {
	f := serve(t, func(o *Options) { o.Keys = keyring(t, someKeys) })
	f.want(f.send("GET", "/v1/status", "", "X-API-Key", writeKey), 200, `"source":`)
	r := f.send("GET", "/v1/status", "", "X-API-Key", readKey)
	f.want(r, 200, `"problems":`)
	if strings.Contains(r.body, `"source":`) {
		t.Errorf("a key that may not write sees the line: %s", r.body)
	}
}
