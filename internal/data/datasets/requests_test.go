package datasets

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// echo answers with the request and the number of requests before it. A path that ends
// with /list has two rows.
func echo(t *testing.T) *site {
	var n atomic.Int64
	return newSite(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		row := fmt.Sprintf(`{"n":%d,"at":%q,"body":%q}`, n.Add(1), r.Method+" "+r.URL.RequestURI(), body)
		if strings.HasSuffix(r.URL.Path, "/list") {
			row = "[" + row + `,{"second":true}]`
		}
		_, _ = io.WriteString(w, row)
	})
}

// asking declares a dataset t whose requests are chosen by statements.
func asking(url, params string, acceleration ...string) string {
	text := "datasets:\n- name: t\n  from: " + url +
		"/v1\n  params: {allowed_request_paths: '/shows/*, /deep/**, /v[1-3]/list', request_query_filters: enabled, " +
		"request_body_filters: enabled" + params + "}\n"
	if len(acceleration) > 0 {
		text += "  acceleration: {refresh_mode: caching, " + strings.Join(acceleration, ", ") + "}\n"
	}
	return text
}

const numbers = "SELECT string_agg(content->>'$.n', ' ' ORDER BY content->>'$.n') FROM t WHERE "

// wantText fails unless err contains a text.
func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

func TestRequests(t *testing.T) {
	w, s := newWorld(t), echo(t)
	w.ok(asking(s.URL, "", "params: {caching_ttl: 10s}"))
	w.want("SELECT count(*) FROM t", "0")
	w.want("SELECT request_path, request_query, request_body, content, _fetched_at = '2026-01-02 03:04:05Z' FROM t WHERE request_path = '/shows/7'",
		`/shows/7|||{"n":1,"at":"GET /v1/shows/7","body":""}|true`)
	for _, c := range []struct{ where, want string }{
		{"request_path = '/shows/7'", "1"},
		{"request_path IN ('/shows/8') AND request_query = '?q=a b&c=%C3%A9'", ""}, // the rows have no ?
		{"request_query = 'q=a b&c=%C3%A9'", "2"},
		{"request_path = '/shows/9' AND request_body = '{}'", "3"},
		{"request_path = '/shows/9' AND request_body = ''", "4"},
		{"request_path = '/shows/9'", "3 4"},
		{"'/deep/a/' || 'b' = request_path", "5"},
		{"request_path = concat('/v', 2, '/list')", "6"},
		{"(request_path = '/shows/7' OR request_path = '/shows/10') AND length(content) > 1", "1 7"},
		{"request_path = '/shows/11' AND request_path = '/shows/12'", "NULL"},
		{"content LIKE '%zzz%'", "NULL"},
		{"request_query = 'base=1'", "8"}, // below `from` itself
	} {
		if c.want == "" {
			c.want = "NULL"
		}
		w.want(numbers+c.where, c.want)
	}
	w.want("SELECT count(*) FROM t WHERE request_path = '/v2/list'", "2")
	w.want(`SELECT content->>'$.at' FROM t WHERE request_query LIKE 'q=%' OR request_body = '{}' ORDER BY ALL`,
		"GET /v1/shows/8?q=a%20b&c=%C3%A9, POST /v1/shows/9")
	rows, err := w.db.Query(t.Context(), engine.Request{
		SQL: "SELECT count(*) FROM t WHERE request_path = '/shows/' || $id", Params: engine.Params{Named: map[string]any{"id": json.Number("20")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for c := range rows.Chunks() {
		if n := engine.Value[int64](c.Column(0), 0); n != 1 {
			t.Errorf("%d rows", n)
		}
	}
	rows.Close()
	if n := s.requests.Load(); n != 9 {
		t.Errorf("%d requests", n)
	}
}

// TestRequestsAtOnce is that statements with one request share it, and that answers that
// come together are all there.
func TestRequestsAtOnce(t *testing.T) {
	w, s := newWorld(t), echo(t)
	w.ok(asking(s.URL, "", "params: {caching_ttl: 10s}"))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			got, err := w.read(fmt.Sprintf("SELECT count(*) FROM t WHERE request_path = '/shows/%d'", i%10))
			if err != nil || got != "1" {
				t.Errorf("%s %v", got, err)
			}
		})
	}
	all.Wait()
	if n := s.requests.Load(); n != 10 {
		t.Errorf("%d requests", n)
	}
	w.want("SELECT count(*) FROM t", "10")
}

func TestRequestsExpire(t *testing.T) {
	w, s := newWorld(t), echo(t)
	w.clock.hold = true
	one, two := numbers+"request_path = '/shows/1'", numbers+"request_path = '/shows/2'"
	declared := asking(s.URL, "", "params: {caching_ttl: 10s, caching_stale_while_revalidate_ttl: 20s}")
	w.ok(declared)
	w.want(one, "1")
	w.clock.advance(9 * time.Second)
	w.want(one, "1")
	w.clock.advance(2 * time.Second)
	w.want(one, "1") // and revalidates
	wait.Until(t, "the rows to be fetched again", func() bool { got, _ := w.read(one); return got == "2" })
	w.m.Refreshes().Wait()
	w.clock.advance(time.Minute)
	w.want(one, "3")
	w.want(two, "4")
	w.clock.advance(time.Minute)
	w.m.Refreshes().Prune([]engine.Relation{{Schema: "public", Name: "t"}})
	w.m.Refreshes().Wait()
	w.want("SELECT count(*) FROM t", "0")
	w.want(two, "5")
	w.ok(declared) // a reload keeps the rows
	w.want(two, "5")
	if n := s.requests.Load(); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// TestRequestsWithoutAcceleration is that answers are read for a second.
func TestRequestsWithoutAcceleration(t *testing.T) {
	w, s := newWorld(t), echo(t)
	w.ok(asking(s.URL, ""))
	w.want(numbers+"request_path = '/shows/1'", "1")
	w.want(numbers+"request_path = '/shows/1'", "1")
	w.clock.advance(2 * time.Second)
	w.want(numbers+"request_path = '/shows/1'", "2")
}

func TestRequestsFail(t *testing.T) {
	w, s := newWorld(t), echo(t)
	good, bad := *s.handle.Load(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	one := numbers + "request_path = '/shows/1'"
	fails := func() {
		t.Helper()
		_, err := w.read(one)
		wantText(t, err, `dataset "t" cannot be read: cannot fetch "`+s.URL+`/v1/shows/1": the server answered 418 I'm a teapot`)
	}
	s.set(bad)
	w.ok(asking(s.URL, "", "params: {caching_ttl: 10s}"))
	fails()
	s.set(good)
	w.want(one, "1")
	s.set(bad)
	w.clock.advance(11 * time.Second)
	fails()
	w.want("SELECT count(*) FROM t", "1") // until they are removed

	w.ok(asking(s.URL, "", "params: {caching_ttl: 10s, caching_stale_if_error: 1m}"))
	s.set(good)
	w.want(one, "2")
	s.set(bad)
	w.clock.advance(30 * time.Second)
	asked := s.requests.Load()
	w.want(one, "2")
	w.want(one, "2") // without another request
	if n := s.requests.Load(); n != asked+1 {
		t.Errorf("%d requests", n-asked)
	}
	w.clock.advance(time.Minute)
	fails()

	w.ok(asking(s.URL, "", "params: {caching_ttl: 10s, caching_stale_if_error: enabled}"))
	s.set(good)
	w.want(one, "3")
	s.set(bad)
	w.clock.advance(48 * time.Hour)
	w.want(one, "3")
}

// TestRequestsAreBounded is that the oldest answers make room for new ones.
func TestRequestsAreBounded(t *testing.T) {
	for name, limit := range map[string]string{"rows": "caching_max_items: 3", "bytes": "caching_max_size: 500"} {
		t.Run(name, func(t *testing.T) {
			w, s := newWorld(t), echo(t)
			w.ok(asking(s.URL, "", "params: {caching_ttl: 1h, "+limit+"}"))
			for i := range 6 {
				w.clock.advance(time.Second)
				w.want(fmt.Sprintf("SELECT count(*) FROM t WHERE request_path = '/shows/%d'", i), "1")
			}
			w.want("SELECT count(*) BETWEEN 2 AND 3, min(request_path) >= '/shows/3' FROM t", "true|true")
			asked := s.requests.Load()
			w.want(numbers+"request_path = '/shows/0'", "7")
			if n := s.requests.Load(); n != asked+1 {
				t.Errorf("%d requests", n-asked)
			}
		})
	}
}

// TestRequestsSurviveARestart is that rows in a file survive a restart, with their age.
func TestRequestsSurviveARestart(t *testing.T) {
	w, s := newWorld(t), echo(t)
	declared := asking(s.URL, "", "mode: file, params: {caching_ttl: 1h}")
	w.ok(declared)
	w.want(numbers+"request_path = '/shows/1'", "1")
	w.clock.advance(time.Minute)
	w.want(numbers+"request_path = '/shows/2'", "2")
	at := w.clock.Now()
	w.restart()
	w.clock.set(at.Add(59*time.Minute + 30*time.Second))
	w.ok(declared)
	w.want(numbers+"request_path = '/shows/2'", "2")
	w.want(numbers+"request_path = '/shows/1'", "3")
	w.restart(func(o *Options) { o.Files = true })
	w.clock.set(at.Add(time.Hour))
	w.ok(asking(s.URL, "", "params: {caching_ttl: 1h}"))
	w.want(numbers+"request_path = '/shows/1'", "4")
	w.want(numbers+"request_path = '/shows/2'", "5")
	w.clock.advance(2 * time.Hour)
	w.want(numbers+"request_path = '/shows/1'", "6")
}

// TestRequestsOfRefreshes is that a refresh requests what refresh_sql asks for, or what is
// not fresh.
func TestRequestsOfRefreshes(t *testing.T) {
	w, s := newWorld(t), echo(t)
	sql := ", refresh_sql: \"SELECT * FROM t WHERE request_path IN ('/shows/1', '/shows/2') OR (request_path = '/v1/list' AND request_query = 'x=1')\""
	w.ok(asking(s.URL, "", "params: {caching_ttl: 1h}"+sql))
	const all = "SELECT count(*), sum((content->>'$.n')::INT) FROM t"
	w.want(all, "4|6")
	w.want(numbers+"request_path = '/shows/3'", "4")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.want(all, "5|22")
	if err := w.refresh("t", refresh.Override{RefreshSQL: "SELECT * FROM t WHERE request_path = '/shows/4'"}); err != nil {
		t.Fatal(err)
	}
	w.want(all, "6|30")

	w.ok(asking(s.URL, "", "params: {caching_ttl: 10s}"))
	w.want(all, "0|NULL")
	w.want(numbers+"request_path = '/shows/1'", "9")
	w.clock.advance(5 * time.Second)
	w.want(numbers+"request_path = '/shows/2'", "10")
	w.clock.advance(6 * time.Second)
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.want(numbers+"request_path = '/shows/1'", "11")
	w.want(numbers+"request_path = '/shows/2'", "10")
	if err := w.refresh("t", refresh.Override{}); err != nil { // all are fresh
		t.Fatal(err)
	}

	full := asking(s.URL, "") +
		"  acceleration: {refresh_sql: \"SELECT content->>'$.n' AS n FROM t WHERE request_path = '/shows/5' OR request_path = '/shows/6'\"}\n"
	w.ok(full)
	w.want("SELECT n FROM t ORDER BY ALL", "12, 13")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.want("SELECT n FROM t ORDER BY ALL", "14, 15")
}

func TestRequestsRefused(t *testing.T) {
	w, s := newWorld(t), echo(t)
	w.ok(asking(s.URL, ", max_request_query_length: 10, max_request_body_bytes: 5", "params: {caching_ttl: 10s}") +
		"- {name: closed, from: '" + s.URL + "', params: {request_query_filters: enabled}}\n- {name: paths, from: '" + s.URL +
		"', params: {allowed_request_paths: /a}}\n")
	long := strings.Repeat("x", 3000)
	for _, c := range []struct{ from, want, hint string }{
		{"t WHERE request_path = '/other'", `dataset "t": request_path "/other" is not allowed`, "request one of /shows/*, /deep/**, /v[1-3]/list"},
		{"t WHERE request_path = '/shows/1/2'", "is not allowed", ""},
		{"t WHERE request_path = '/v4/list'", "is not allowed", ""},
		{"t WHERE request_path = '/shows/..'", "is not a path", "write a path such as /shows/82"},
		{"t WHERE request_path = '/deep/%2e%2E/x'", "is not a path", ""},
		{"t WHERE request_path = '/deep/%5c..'", "is not a path", ""},
		{"t WHERE request_path = '/shows/%zz'", "is not a path", ""},
		{"t WHERE request_path = '/shows/1?a=b'", "is not a path", "what follows ? as request_query"},
		{"t WHERE request_path = 'shows'", "is not a path", ""},
		{"t WHERE request_path = '/shows/1%2f2'", "is not allowed", ""},
		{"t WHERE request_path = '/deep/" + long + "'", "is not a path", ""},
		{"t WHERE request_path = '/shows/1' AND request_query = 'q=123456789'", "request_query is not a query of at most 10 characters", ""},
		{"t WHERE request_path = '/shows/1' AND request_body = '123456'", "request_body has 6 bytes; the limit is 5", "raise params.max_request_body_bytes"},
		{"closed WHERE request_path = '/x'", "the dataset allows no paths", "set params.allowed_request_paths"},
		{"paths WHERE request_path = '/a' AND request_query = 'q=1'", "request_query is not allowed by the dataset", "request_query_filters: enabled"},
		{"paths WHERE request_path = '/a' AND request_body = 'q=1'", "request_body is not allowed by the dataset", "request_body_filters: enabled"},
		{"t WHERE request_path IN ('/shows/1', '/shows/2', '/shows/3', '/shows/4', '/shows/5', '/shows/6', '/shows/7', '/shows/8') AND request_query IN " +
			"('1','2','3','4','5','6','7')", "more than 50 requests", "ask for fewer"},
	} {
		_, err := w.read("SELECT * FROM " + c.from)
		wantText(t, err, c.want)
		if e := engine.AsError(err); err != nil && !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: hint %q", c.from, e.Hint)
		}
	}
	if n := s.requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// declaredAs declares a dataset t.
func declaredAs(url string, more ...string) string {
	return "datasets:\n- {name: t, from: '" + url + "'" + strings.Join(append([]string{""}, more...), ", ") + "}\n"
}

func TestRequestFaults(t *testing.T) {
	w, s := newWorld(t), echo(t)
	for _, c := range []struct{ name, text, message, hint, path string }{
		{
			"pattern", declaredAs(s.URL, "params: {allowed_request_paths: 'a/*'}"), `"a/*" is not a pattern of paths`, "write paths such as /shows/*",
			"params.allowed_request_paths",
		},
		{"climbs", declaredAs(s.URL, "params: {allowed_request_paths: '/a/../b'}"), "is not a pattern of paths", "", "params.allowed_request_paths"},
		{"set", declaredAs(s.URL, "params: {allowed_request_paths: '/a[b'}"), "is not a pattern of paths", "", "params.allowed_request_paths"},
		{
			"word", declaredAs(s.URL, "params: {request_query_filters: yes}"), "is not a value of request_query_filters", "write disabled, enabled",
			"params.request_query_filters",
		},
		{
			"length alone", declaredAs(s.URL, "params: {allowed_request_paths: /a, max_request_query_length: 10}"), "has no effect with request_query_filters: disabled",
			"set params.request_query_filters: enabled", "params.max_request_query_length",
		},
		{"length", asking(s.URL, ", max_request_query_length: 5000"), "5000 is not a length", "write a number from 1 to 4096", "params.max_request_query_length"},
		{"format", asking(s.URL, ", file_format: csv"), "answers to requests of statements are JSON, not csv", "leave it out", "params.file_format"},
		{"unknown", asking(s.URL, ", delim: x"), `unknown param "delim"`, "", "params.delim"},
		{"ttl", asking(s.URL, "", "params: {caching_ttl: soon}"), "caching_ttl takes a duration", "", "acceleration.params.caching_ttl"},
		{"negative", asking(s.URL, "", "params: {caching_ttl: -5s}"), "caching_ttl", "", "acceleration.params.caching_ttl"},
		{
			"error", asking(s.URL, "", "params: {caching_stale_if_error: maybe}"), `"maybe" is not a value of caching_stale_if_error`,
			"write enabled, disabled or a duration", "acceleration.params.caching_stale_if_error",
		},
		{"size", asking(s.URL, "", "params: {caching_max_size: big}"), "caching_max_size takes a size", "", "acceleration.params.caching_max_size"},
		{"items", asking(s.URL, "", "params: {caching_max_items: 0}"), "caching_max_items must be at least 1", "", "acceleration.params.caching_max_items"},
		{"near", asking(s.URL, "", "params: {caching_tll: 5s}"), `unknown param "caching_tll"`, "caching_ttl", "acceleration.params.caching_tll"},
		{
			"other mode", declaredAs(s.URL+"/x.csv", "acceleration: {params: {caching_ttl: 5s}}"), "caching_ttl has no effect with refresh_mode: full",
			"set acceleration.refresh_mode: caching", "acceleration.params.caching_ttl",
		},
		{
			"a file", declaredAs(s.URL+"/x.csv", "acceleration: {refresh_mode: caching}"), "refresh_mode caching needs a dataset whose statements choose the requests",
			"allowed_request_paths", "acceleration.refresh_mode",
		},
		{"full", asking(s.URL, "") + "  acceleration: {}\n", "refresh_mode full does not know what to request", "refresh_mode: caching", "acceleration.refresh_mode"},
		{"on_conflict", asking(s.URL, "", "primary_key: content, on_conflict: {content: drop}"), "has no on_conflict", "leave it out", "acceleration.on_conflict"},
		{
			"expiry", declaredAs(s.URL+"/x.csv", "acceleration: {snapshots_reset_expiry_on_load: enabled}"), "has no effect with refresh_mode: full",
			"refresh_mode: caching", "acceleration.snapshots_reset_expiry_on_load",
		},
		{
			"nothing in refresh_sql", asking(s.URL, "", "refresh_sql: SELECT * FROM t"), "refresh_sql asks for no request", "WHERE request_path",
			"acceleration.refresh_sql",
		},
		{
			"refused in refresh_sql", asking(s.URL, "", "refresh_sql: \"SELECT * FROM t WHERE request_path = '/x'\""), `request_path "/x" is not allowed`,
			"", "acceleration.refresh_sql",
		},
		{
			"larger than all", asking(s.URL, "", "refresh_sql: \"SELECT * FROM t WHERE request_path = '/shows/1'\", params: {caching_max_size: 10}"),
			"more than caching_max_size", "raise it", "caching_max_size",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			wantProblem(t, w.reload(c.text+"- {name: good, from: '"+s.URL+"', params: {allowed_request_paths: /a}}\n"), "dataset t", c.message, c.hint, c.path)
			w.want("SELECT count(*) FROM good WHERE request_path = '/a'", "1")
		})
	}
}
