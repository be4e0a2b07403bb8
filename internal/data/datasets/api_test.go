package datasets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/refresh"
)

// apiRows are rows whose types DuckDB finds: numbers, texts, dates, NULL and nested ones.
func apiRows(n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id": %d, "name": "naïve \"%d\"", "at": "2026-01-01T00:00:%02dZ", "price": %d.25, "tags": ["a", "b%d"],
			"shop": {"city": "Köln", "open": %v}, "big": 1844674407370955%04d, "note": null}`, i, i, i%60, i, i, i%2 == 0, i)
	}
	return rows
}

// api is a stand-in for a JSON API. It sends rows in pages of 100, in the ways that APIs do.
type api struct {
	*site
	rows []string

	mu    sync.Mutex
	asked []string // requests, in their order
}

func newAPI(t *testing.T, rows []string) *api {
	t.Helper()
	a := &api{rows: rows}
	a.site = newSite(t, a.answer)
	return a
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.URL.String())
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	number := func(name string, fallback int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
			return n
		}
		return fallback
	}
	size := number("size", 100)
	from := (number("page", 1) - 1) * size
	if strings.HasPrefix(r.URL.Path, "/offset") {
		from = number("offset", 0)
	}
	if strings.HasPrefix(r.URL.Path, "/token") {
		from = len(strings.TrimPrefix(r.URL.Query().Get("cursor"), "s+/"))
	}
	from = min(from, len(a.rows))
	end := min(from+size, len(a.rows))
	list := "[" + strings.Join(a.rows[from:end], ",\n ") + "]"
	next := fmt.Sprintf("page=%d&size=%d", from/size+2, size)
	more := end < len(a.rows)
	switch r.URL.Path {
	case "/link":
		if more {
			w.Header().Add("Link", fmt.Sprintf(`<%s/link?page=1>; rel="first", <%s/link?%s>; rel="next"`, a.URL, a.URL, next))
		}
		fmt.Fprint(w, list)
	case "/body":
		fmt.Fprintf(w, `{"meta": {"links": [{"next": %s}]}, "a/b": {"items": %s}}`, nullUnless(more, "?"+next), list)
	case "/token":
		fmt.Fprintf(w, `{"next": %s, "items": %s}`, nullUnless(more, "s+/"+strings.Repeat("x", end)), list)
	case "/map":
		var members []string
		for i, row := range a.rows[from:end] {
			members = append(members, fmt.Sprintf(`"k%d": %s`, from+i, row))
		}
		fmt.Fprint(w, "{"+strings.Join(members, ",")+"}")
	default:
		fmt.Fprint(w, list)
	}
}

func nullUnless(ok bool, text string) string {
	if !ok {
		return "null"
	}
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// requested returns the requests since the last call.
func (a *api) requested() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

var apiForms = []struct {
	path, params string
	requests     int
}{
	{"/link", "", 3},
	{"/link", "pagination: enabled", 3},
	{"/body", "pagination: enabled, pagination_next_pointer: /meta/links/0/next, pagination_data_pointer: /a~1b/items", 3},
	{"/token?size=50", "pagination: enabled, pagination_next_pointer: /next, pagination_token_param: cursor, pagination_data_pointer: /items", 5},
	{"/numbers", "pagination: enabled, pagination_query_params: 'page={page}&size={limit}', pagination_page_size: 60, file_format: json", 5},
	{"/offset?page=7&x=1", "pagination: enabled, pagination_query_params: 'offset={offset}&size={limit}', pagination_page_size: 125", 3},
	{"/map", "pagination: enabled, pagination_query_params: 'page={page}', pagination_page_size: 100, pagination_data_map_to_array: enabled", 3},
	{"/whole?size=1000", "pagination: enabled", 1},
	{"/whole?size=1000", "pagination: disabled", 1},
}

// TestAPIs reads each form of pages, and compares the rows and types with those of DuckDB
// for a file of all rows.
func TestAPIs(t *testing.T) {
	rows := apiRows(250)
	for _, f := range apiForms {
		t.Run(f.path+" "+f.params, func(t *testing.T) {
			w, a := newWorld(t), newAPI(t, rows)
			w.file("all.json", "["+strings.Join(rows, ",")+"]")
			for _, more := range []string{"", ", acceleration: {}"} {
				w.ok("datasets:\n- {name: t, from: '" + a.URL + f.path + "', params: {" + f.params + "}" + more + "}\n- {name: wanted, from: 'file:all.json'}\n")
				w.want("SELECT count(*) FROM (FROM t INTERSECT ALL FROM wanted)", "250")
				w.want("SELECT count(*) FROM t", "250")
				w.want("SELECT DISTINCT typeof(t) = (SELECT typeof(w) FROM wanted w LIMIT 1) FROM t", "true")
			}
			asked := a.requested()
			if len(asked) != 2*f.requests {
				t.Errorf("%d requests, want twice %d: %q", len(asked), f.requests, asked)
			}
			if f.path == "/offset?page=7&x=1" && !slices.Contains(asked, "/offset?offset=125&page=7&size=125&x=1") {
				t.Errorf("other query parameters are lost: %q", asked)
			}
		})
	}
}

// A page that fails is requested again alone, after as long as the server asks.
func TestAPIRetries(t *testing.T) {
	w, a := newWorld(t), newAPI(t, apiRows(250))
	fail := map[string]http.HandlerFunc{
		"2": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) },
		"3": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Write([]byte("["))
		},
	}
	a.set(func(w http.ResponseWriter, r *http.Request) {
		if f := fail[r.URL.Query().Get("page")]; f != nil {
			delete(fail, r.URL.Query().Get("page"))
			f(w, r)
			return
		}
		a.answer(w, r)
	})
	yaml := remote(a.URL+"/link", "params: {pagination: enabled, requests_per_second_limit: 4}", "acceleration: {}")
	w.ok(yaml)
	w.want("SELECT count(DISTINCT id) FROM t", "250")
	// The time stands still but for pauses, so that each request but the first waits.
	if got := fmt.Sprint(w.clock.pauses); !strings.HasPrefix(got, "[250ms 7s 500ms 250ms") && !strings.HasPrefix(got, "[250ms 7s 250ms 500ms") ||
		a.site.requests.Load() != 5 {
		t.Errorf("%d requests, paused %s", a.site.requests.Load(), got)
	}
	// The server is away, and comes back.
	a.set(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(503)
	})
	if err := w.refresh("t", refresh.Override{}); err == nil ||
		!strings.Contains(err.Error(), "503 Service Unavailable, and asks to wait 1h0m0s, which is longer than 5m0s") {
		t.Error(err)
	}
	w.want("SELECT count(*) FROM t", "250")
	a.rows = append(a.rows, `{"id": 1000}`)
	a.set(a.answer)
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT count(*) FROM t", "251")
	// It is away when the runtime starts: the rows of the last load are served.
	a.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	w.stop()
	w.start()
	problems := w.reload(yaml)
	if len(problems) != 1 || problems.HasErrors() || !strings.Contains(problems[0].Message, "500") {
		t.Fatal(problems)
	}
	w.want("SELECT count(*) FROM t", "251")
}

// Without an acceleration the pages are read by a reload, at most once a minute.
func TestAPIWithoutAcceleration(t *testing.T) {
	w, a := newWorld(t), newAPI(t, apiRows(250))
	for _, params := range []string{"", "params: {pagination: enabled}"} {
		yaml := strings.ReplaceAll(remote(a.URL+"/link", params), ", }", "}")
		requests := 0
		for _, c := range []struct {
			after    time.Duration
			requests int
		}{{0, 3}, {0, 0}, {59 * time.Second, 0}, {time.Second, 3}, {time.Second, 0}} {
			w.clock.advance(c.after)
			w.ok(yaml)
			requests += c.requests
			if n := int(a.site.requests.Load()); n != requests {
				t.Errorf("%s: %d requests after %s, want %d", params, n, c.after, requests)
			}
			w.want("SELECT count(*) FROM t", "250")
		}
		a.site.requests.Store(0)
	}
}

func TestAPIMaxPages(t *testing.T) {
	w, a := newWorld(t), newAPI(t, apiRows(250))
	w.ok(remote(a.URL+"/link", "params: {pagination_max_pages: 2}", "acceleration: {}"))
	w.want("SELECT count(*) FROM t", "200")
	w.ok(remote(a.URL+"/link?size=1", "params: {pagination_max_pages: nolimit, pagination: enabled}", "acceleration: {}"))
	w.want("SELECT count(*) FROM t", "250")
}

// TestAPIFaults has what a user can write wrong and what servers may send.
func TestAPIFaults(t *testing.T) {
	t.Setenv("API_KEY", "s3cr3t-key")
	other := newSite(t, func(http.ResponseWriter, *http.Request) { t.Error("a request reached another host") })
	send := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(text))
		}
	}
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	for _, c := range []struct {
		name, params string
		handle       http.HandlerFunc
		want         string // message; hint
	}{
		{"mode", "pagination: sometimes", nil, `"sometimes" is not a value of pagination; write auto, enabled, disabled`},
		{"no effect", "pagination_next_pointer: /n", nil, "params.pagination_next_pointer has no effect with pagination: auto; set params.pagination: enabled"},
		{
			"off", "pagination: disabled, pagination_max_pages: 3", nil,
			"params.pagination_max_pages has no effect with pagination: disabled; set params.pagination: enabled",
		},
		{"pointer", "pagination: enabled, pagination_data_pointer: data", nil, `"data" is not a JSON pointer; write /key or /key/key`},
		{"token", "pagination: enabled, pagination_token_param: c", nil, "a token without a pointer to it; set params.pagination_next_pointer to where the token is"},
		{
			"both", "pagination: enabled, pagination_next_pointer: /n, pagination_query_params: 'p={page}'",
			nil, "params.pagination_next_pointer finds the next page, too; set one of them",
		},
		{
			"size", "pagination: enabled, pagination_page_size: 5", nil,
			"a size of pages without query parameters; set params.pagination_query_params, for example page={page}&size={limit}",
		},
		{
			"no size", "pagination: enabled, pagination_query_params: 'p={page}'",
			nil, "query parameters without the size of a page; set params.pagination_page_size: a page with fewer rows is the last one",
		},
		{
			"no page", "pagination: enabled, pagination_query_params: 'p={limit}', pagination_page_size: 5",
			nil, "every page would be the first; write {page} or {offset} where its number goes",
		},
		{
			"not a query", "pagination: enabled, pagination_query_params: '%zz={page}', pagination_page_size: 5", nil,
			`"%zz={page}" are not query parameters; write name={page}&name={limit}`,
		},
		{"max", "pagination: enabled, pagination_max_pages: many", nil, `"many" is not a number of pages; write a number of pages, or nolimit`},
		{"format", "pagination: enabled, file_format: csv", nil, "pages are JSON, not csv; leave it out, or set params.pagination: disabled to read a file"},
		{
			"unknown", "pagination: enabled, pagination_datapointer: /x", nil,
			`params.pagination_datapointer is not an option of ndjson files; did you mean "pagination_data_pointer"?`,
		},
		{"rate", "pagination: enabled, requests_per_minute_limit: 0", nil, "0 is not a number of requests; write a number above 0, at least one in 1h0m0s"},
		{"headers", "pagination: enabled, http_headers: 'no colon'", nil, "the first header has no name and colon; write Name: value, Name: value"},

		{"401", "pagination: enabled", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "the server answered 401 Unauthorized"},
		{"html", "pagination: enabled", func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("<html>sign in</html>"))
		}, `the answer is not JSON, but "text/html; charset=utf-8"`},
		{"html as JSON", "pagination: enabled", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte("<html>sign in</html>"))
		}, `the body of the answer is not JSON, though its type is "application/json"; open the URL`},
		{
			"no rows at", "pagination: enabled, pagination_data_pointer: /data/rows", send(`{"data": {}}`),
			"the answer has nothing at /data/rows; write the pointer to the rows, for example /data",
		},
		{"scalar", "pagination: enabled, pagination_data_pointer: /data", send(`{"data": 7}`), "the answer has neither an array nor an object at /data"},
		{
			"next is an object", "pagination: enabled, pagination_next_pointer: /next", send(`{"next": {}}`),
			"the answer has no URL or token at /next; write the pointer to a text",
		},
		{"empty", "pagination: enabled", send(`[]`), "the API has no rows, which show its columns; set params.pagination_data_pointer if"},
		{
			"other host", "pagination: enabled, pagination_next_pointer: /next", send(`{"next": "` + other.URL + `/x?page=2"}`),
			`the next page is at "` + other.URL + `", which is not the host of the first one`,
		},
		{
			"other scheme", "pagination: enabled, pagination_next_pointer: /next", send(`{"next": "file:///etc/passwd"}`),
			`the next page is at "file:", which is not the host`,
		},
		{"link to other host", "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "<"+other.URL+`>; rel="next"`)
			send("[{}]")(w, r)
		}, "which is not the host of the first one"},
		{"redirect", "pagination: enabled", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusFound)
		}, "the server redirects to another host"},
		{"the same", "pagination: enabled, pagination_next_pointer: /next", send(`{"next": "?page=2"}`), "page 3: the next page is one that has been read"},
		{"endless", "pagination: enabled", func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("n"))
			w.Header().Set("Link", fmt.Sprintf("<?n=%d>; rel=next", n+1))
			send("[]")(w, r)
		}, "there are more than 100 pages; set params.pagination_max_pages: to a number to read that many, or to nolimit"},
		{"endless rows", "pagination: enabled, pagination_max_pages: nolimit", func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("n"))
			w.Header().Set("Link", fmt.Sprintf("<?n=%d>; rel=next", n+1))
			send(`[{"a":1}]`)(w, r)
		}, "the data is larger than 4KiB"},
		{"huge", "pagination: enabled", func(w http.ResponseWriter, _ *http.Request) {
			for range 5 {
				w.Write(make([]byte, 1000))
				w.(http.Flusher).Flush()
			}
		}, "the answer is larger than 4KiB"},
		{"deep", "pagination: enabled", send("[" + deep + "]"), "row 1 is nested deeper than 64 levels"},
		{"not UTF-8", "pagination: enabled", send("[{\"a\": \"\xff\"}]"), "Malformed JSON"},
		{"page 3", "pagination: enabled", func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			if page == 3 {
				w.WriteHeader(404)
				return
			}
			w.Header().Set("Link", fmt.Sprintf("<?page=%d>; rel=next", max(page, 1)+1))
			send("[{}]")(w, r)
		}, "page 3: the server answered 404 Not Found"},
		{"slow", "pagination: enabled, client_timeout: 30ms, max_retries: 0", func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, "the server took longer than 30ms (params.client_timeout)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.stop()
			w.start(func(o *Options) { o.Limits.Download = 4 << 10 })
			s := newSite(t, send(`[{"a": 1}]`))
			if c.handle != nil {
				s.set(c.handle)
			}
			w.file("good.csv", "a\n1\n")
			params := c.params
			if !strings.Contains(params, "http_headers") {
				params = strings.TrimPrefix(params+", http_headers: 'X-Key: ${env:API_KEY}, X-Y: z'", ", ")
			}
			problems := w.reload("datasets:\n- {name: t, from: '" + s.URL + "/x?key=${env:API_KEY}', params: {" + params +
				"}, acceleration: {}}\n- {name: good, from: 'file:good.csv'}\n")
			if len(problems) != 1 {
				t.Fatal(problems)
			}
			if got := problems[0].Message + "; " + problems[0].Hint; !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if strings.Contains(fmt.Sprint(problems, w.m.Status())+w.log.String(), "s3cr3t") {
				t.Errorf("the key is shown: %s", problems)
			}
			w.want("SELECT * FROM good", "1")
			if n := cacheFiles(t, w); n != 0 && c.name != "not UTF-8" && c.name != "empty" {
				t.Errorf("%d files in the cache", n)
			}
		})
	}
}

// Declared types are those of the columns.
func TestAPIColumns(t *testing.T) {
	w, a := newWorld(t), newAPI(t, apiRows(3))
	w.ok(remote(a.URL+"/link", "params: {pagination: enabled}", "columns: [{name: id, type: varchar, description: its number}]",
		"acceleration: {primary_key: id}"))
	w.want("SELECT DISTINCT typeof(id) || typeof(shop) || typeof(\"at\") FROM t", "VARCHARSTRUCT(city VARCHAR, open BOOLEAN)TIMESTAMP")
}

// An API that is slow is not waited for when the runtime ends.
func TestAPIIsCancelled(t *testing.T) {
	w := newWorld(t)
	began := make(chan struct{}, 10)
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
	})
	done := make(chan struct{})
	go func() {
		<-began
		w.m.Close()
		close(done)
	}()
	if problems := w.reload(remote(s.URL+"/x", "params: {pagination: enabled, client_timeout: 10m}", "acceleration: {}")); len(problems) != 1 {
		t.Error(problems)
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the load is not cancelled")
	}
}
