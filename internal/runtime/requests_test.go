package runtime

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// TestRequestsOfStatements is that what statements ask an API for is found in views,
// functions and tools.
func TestRequestsOfStatements(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		_, _ = io.WriteString(w, fmt.Sprintf(`{"at": %q}`, r.URL.RequestURI()))
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	r := start(t, files{"spicepod.yaml": `datasets:
  - name: shows
    from: ` + s.URL + `
    params: { allowed_request_paths: "/shows/*, /search", request_query_filters: enabled }
    acceleration: { refresh_mode: caching, params: { caching_ttl: 1h } }
views:
  - { name: first, sql: "SELECT content->>'$.at' AS uri FROM shows WHERE request_path = '/shows/1'" }
  - { name: plain, sql: "SELECT request_path, content->>'$.at' AS uri FROM shows" }
functions:
  - { name: show_at, from: sql, volatility: stable, signature: { args: [{ name: id, type: int64 }], returns: utf8 }, body: "(SELECT content->>'$.at' FROM shows WHERE request_path = '/shows/' || id)" }
  - { name: twice, from: sql, signature: { args: [{ name: n, type: int64 }], returns: utf8 }, body: "show_at(n) || show_at(n)" }
  - { name: the_second, from: sql, signature: { returns: utf8 }, body: show_at(2) }
  - { name: search_api, from: sql, kind: table, as_tool: true, signature: { args: [{ name: q, type: utf8 }], returns: [{ name: uri, type: utf8 }] },
      body: "SELECT content->>'$.at' AS uri FROM shows WHERE request_path = '/search' AND request_query = 'q=' || (SELECT q FROM args)" }
`})
	r.problems(r.LastReport())
	for _, c := range []struct{ sql, want string }{
		{"SELECT uri FROM first", "/shows/1"},
		{"SELECT uri FROM plain WHERE request_path = '/shows/3'", "/shows/3"},
		{"SELECT p.uri FROM plain p JOIN first f ON true WHERE p.request_path IN ('/shows/4')", "/shows/4"},
		{"SELECT show_at(5)", "/shows/5"},
		{"SELECT twice(6)", "/shows/6/shows/6"},
		{"SELECT the_second()", "/shows/2"},
		{"SELECT uri FROM search_api('tea')", "/search?q=tea"},
		{"WITH a AS (FROM search_api(q := 'milk')) SELECT uri FROM a", "/search?q=milk"},
		{"SELECT (SELECT uri FROM plain WHERE request_path = '/shows/7')", "/shows/7"},
		{"SELECT show_at(99 + 1)", "NULL"}, // no constant
	} {
		r.want(c.sql, c.want)
	}
	if got, _ := r.ofCall("show_at", `{"id": 8}`, ""); got != `"/shows/8"` {
		t.Errorf("got %s", got)
	}
	if got, _ := r.ofCall("search_api", `{"q": "jam"}`, ""); got != `[{"uri":"/search?q=jam"}]` {
		t.Errorf("got %s", got)
	}
	if got := n.Load(); got != 11 {
		t.Errorf("%d requests", got)
	}
	d, err := r.DB().Describe(t.Context(), engine.Request{SQL: "SELECT content FROM shows WHERE request_path = '/shows/50'"})
	if err != nil || len(d.Columns) != 1 || n.Load() != 11 {
		t.Errorf("a description asks for rows: %v", err)
	}
}
