package sqlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeRuntime answers as set up.
type fakeRuntime struct {
	ready     bool
	refreshed RefreshOptions
	reload    Reload
	reloadErr error
	panics    bool
}

func (f *fakeRuntime) Ready() bool { return f.ready }

func (f *fakeRuntime) Generation() uint64 { return 3 }

func (f *fakeRuntime) Components() []Component {
	return []Component{{Name: "http", Endpoint: "127.0.0.1:8090", Status: StatusReady}}
}

func (f *fakeRuntime) Problems() spicepod.Problems {
	at := spicepod.Position{File: "spicepod.yaml", Line: 3, Column: 5}
	return spicepod.Problems{
		{Position: at, Component: "function f", Path: "functions[0].body", Message: "no such column x", Hint: "did you mean y?", Source: "  body: x"},
		{Position: at, Severity: spicepod.Warning, Component: "dataset d", Message: "slow"},
		{Position: at, Message: "unknown key"},
	}
}

func (f *fakeRuntime) Datasets() []Dataset {
	rows, at := int64(7), time.Unix(1000, 0).UTC()
	return []Dataset{
		{From: "file:trips.parquet", Name: "trips", AccelerationEnabled: true, Status: StatusReady, Rows: &rows, LastRefresh: &at},
		{From: "duckdb:t", Name: "plain", Status: StatusError, Error: "no such table"},
	}
}

func (f *fakeRuntime) SearchIndexes() []SearchIndex { return nil }

func (f *fakeRuntime) Functions(caller.Caller) []Function {
	if f.panics {
		panic("an internal fault")
	}
	x := Field{"x", Type{"int64", "BIGINT"}}
	return []Function{
		{
			Name: "twice", Kind: "scalar", Volatility: "immutable", From: "sql", Description: "Twice x, \"really\"", AsTool: true,
			RegisteredAs: []string{"sql", "tool"}, Signature: "twice(x int64) → int64", Arguments: []Field{x}, Returns: &x.Type, Checksum: "00",
		},
		{
			Name: "pair", Kind: "table", Volatility: "volatile", From: "sql", RegisteredAs: []string{"sql"},
			Signature: "pair(x int64)", Arguments: []Field{x}, Columns: []Field{x}, Tables: []Table{{"t", []Field{x}}}, Checksum: "01",
		},
	}
}

func (f *fakeRuntime) Spicepods() []Spicepod { return []Spicepod{{Name: "pod", Version: "v1"}} }

func (f *fakeRuntime) Refresh(_ context.Context, name string, o RefreshOptions) error {
	f.refreshed = o
	switch {
	case name == "plain":
		return refresh.ErrNotAccelerated
	case name != "trips":
		return refresh.ErrUnknown
	case o.Mode == "sideways":
		return errors.Join(refresh.ErrOverride, errors.New("mode sideways"))
	}
	return nil
}

func (f *fakeRuntime) Reload(context.Context) (Reload, error) { return f.reload, f.reloadErr }

// fixture is a server over a real database.
type fixture struct {
	*httptest.Server
	t       testing.TB
	db      *engine.DB
	runtime *fakeRuntime
	metrics *telemetry.Metrics
	log     *logBuffer
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func serve(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	return serveWith(t, func(db query.Engine) query.Engine { return db }, change)
}

// serveWith is serve with another engine around the database.
func serveWith(t testing.TB, around func(query.Engine) query.Engine, change func(*Options)) *fixture {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	f := &fixture{t: t, db: db, runtime: &fakeRuntime{ready: true}, metrics: telemetry.New("test"), log: &logBuffer{}}
	f.runtime.reload = Reload{Accepted: true, Generation: 2, Changed: []string{"function twice"}}
	opts := Options{
		Runtime: Runtime{Inventory: f.runtime, Refresher: f.runtime, Reloader: f.runtime}, Metrics: f.metrics, Version: "test",
		Log: slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&opts)
	}
	queries := query.Options{DB: around(db), Metrics: f.metrics, Audit: opts.Audit}
	if opts.Tools != nil {
		queries.Usage = opts.Tools
	}
	opts.Queries = query.New(queries)
	store, err := results.New(results.Options{
		DB: db, Dir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	opts.Results, opts.Jobs = store, query.NewJobs(query.JobsOptions{Service: opts.Queries, Results: store})
	t.Cleanup(func() { opts.Jobs.Close(); store.Close() })
	api := New(opts)
	f.Server = httptest.NewUnstartedServer(api)
	f.Config = NewServer(api, opts.Log)
	f.Start()
	t.Cleanup(func() { f.Close(); api.Close() })
	t.Cleanup(f.Client().CloseIdleConnections)
	return f
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// send sends a request; header are pairs.
func (f *fixture) send(method, path, body string, header ...string) reply {
	f.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, f.URL+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	res, err := f.Client().Transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(all), err}
}

func (f *fixture) want(r reply, status int, body string) {
	f.t.Helper()
	if r.err != nil || r.status != status || !strings.Contains(r.body, body) {
		f.t.Errorf("got %d %.300q (%v), want %d with %q", r.status, r.body, r.err, status, body)
	}
}

func (f *fixture) scrape() string {
	w := httptest.NewRecorder()
	f.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestSmallRoutes(t *testing.T) {
	f := serve(t, nil)
	f.want(f.send("GET", "/health", ""), 200, "ok\n")
	f.want(f.send("HEAD", "/health", ""), 200, "")
	f.want(f.send("GET", "/v1/ready", ""), 200, "ready")
	f.runtime.ready = false
	f.want(f.send("GET", "/v1/ready", ""), 503, "not ready")
	f.want(f.send("GET", "/v1/functions", ""), 200, `[{"name":"twice","kind":"scalar","volatility":"immutable","from":"sql","description":`)
	f.want(f.send("GET", "/v1/functions?as_tool=false", ""), 200, `[{"name":"pair"`)
	f.want(f.send("GET", "/v1/functions?as_tool=perhaps", ""), 400, "as_tool")
	f.want(f.send("GET", "/v1/functions?format=csv", ""), 200, "twice,scalar,immutable,sql,\"Twice x, \"\"really\"\"\"")
	f.want(f.send("GET", "/v1/datasets", ""), 200, `"name":"trips","replication_enabled":false,"acceleration_enabled":true,"rows":7`)
	f.want(f.send("GET", "/v1/datasets?status=true", ""), 200, `"status":"Error"`)
	f.want(f.send("GET", "/v1/datasets?source=duckdb", ""), 200, `[{"from":"duckdb:t"`)
	f.want(f.send("GET", "/v1/datasets?format=xml", ""), 400, "use json or csv")
	f.want(f.send("GET", "/v1/spicepods?format=csv", ""), 200, "pod,v1,0,0,0,0,0")
}

func TestStatusHasTheProblems(t *testing.T) {
	f := serve(t, nil)
	var lines []Component
	r := f.send("GET", "/v1/status", "")
	if err := json.Unmarshal([]byte(strings.ReplaceAll(strings.ReplaceAll(r.body, `"severity":"error"`, `"severity":0`), `"severity":"warning"`, `"severity":1`)),
		&lines); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, l.Name+" "+l.Endpoint+" "+l.Status)
	}
	want := "http 127.0.0.1:8090 Ready|function f N/A Error|dataset d N/A Ready|spicepod N/A Error"
	if strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
	f.want(r, 200, `"hint":"did you mean y?"`)
	f.want(f.send("GET", "/v1/status?format=csv", ""), 200, "name,endpoint,status,message\nhttp,127.0.0.1:8090,Ready,\n")
}

func TestRefresh(t *testing.T) {
	f := serve(t, nil)
	const path = "/v1/datasets/%/acceleration/refresh"
	at := func(name string) string { return strings.Replace(path, "%", name, 1) }
	f.want(f.send("POST", at("trips"), ""), 201, `{"message":"Dataset refresh triggered for trips."}`)
	f.want(f.send("POST", at("nope"), ""), 404, `{"message":"Dataset nope not found","code":"dataset_not_found","hint":"GET /v1/datasets lists them"}`)
	f.want(f.send("POST", at("plain"), ""), 400,
		`{"message":"Dataset plain does not have acceleration enabled","code":"not_accelerated","hint":"each statement reads its source; to copy it, declare acceleration: {enabled: true}"}`)
	f.want(f.send("POST", at("trips"), `{"refresh_sql":"SELECT 1","refresh_mode":"full","refresh_jitter_max":"1s"}`), 201, "")
	if want := (RefreshOptions{"SELECT 1", "full", "1s"}); f.runtime.refreshed != want {
		t.Errorf("got %v", f.runtime.refreshed)
	}
	f.want(f.send("POST", at("trips"), `{"refresh_mod":"full"}`), 400, `did you mean \"refresh_mode\"?`)
	f.want(f.send("POST", at("trips"), `{"refresh_mode":"sideways"}`), 400, `mode sideways`)
	f.want(f.send("POST", at("trips"), `{"refresh_mode":1}`), 400, `Invalid JSON`)
	none := serve(t, func(o *Options) { o.Refresher, o.Reloader = nil, nil })
	none.want(none.send("POST", at("trips"), ""), 404, "not_served")
	none.want(none.send("POST", "/v1/reload", ""), 404, "not_served")
}

func TestReload(t *testing.T) {
	f := serve(t, nil)
	f.want(f.send("POST", "/v1/reload", ""), 200, `{"accepted":true,"generation":2,"changed":["function twice"],"problems":[]}`)
	f.runtime.reload = Reload{Generation: 2, Problems: f.runtime.Problems()}
	f.want(f.send("POST", "/v1/reload", ""), 422, `"code":"reload_refused"`)
	f.want(f.send("POST", "/v1/reload", ""), 422, `"problems":[{"file":"spicepod.yaml","line":3`)
	f.runtime.reloadErr = errors.New("secret path /etc")
	r := f.send("POST", "/v1/reload", "")
	f.want(r, 500, internalErrorMessage)
	if strings.Contains(r.body, "/etc") || !strings.Contains(f.log.String(), "secret path /etc") {
		t.Error("internal errors belong into the log, not to the client")
	}
}

func TestUnmatched(t *testing.T) {
	f := serve(t, nil)
	f.want(f.send("GET", "/v1/function", ""), 404, "did you mean GET /v1/functions?")
	f.want(f.send("GET", "/nothing/like/it", ""), 404, `"code":"route_not_found"`)
	r := f.send("DELETE", "/v1/sql", "")
	f.want(r, 405, "use POST")
	if got := r.header.Get("Allow"); got != "POST" {
		t.Errorf("Allow: %q", got)
	}
	if got := f.send("POST", "/v1/datasets", "").header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow: %q", got)
	}
	f.want(f.send("GET", "/v1/datasets/trips/acceleration/refresh", ""), 405, "POST")
}

func TestPanicsAreRecoveredAndCounted(t *testing.T) {
	f := serve(t, nil)
	f.runtime.panics = true
	f.want(f.send("GET", "/v1/functions", ""), 500, internalErrorMessage)
	if !strings.Contains(f.scrape(), "http_panics_total 1") || !strings.Contains(f.log.String(), "an internal fault") {
		t.Error("the panic was not counted and logged")
	}
	f.want(f.send("GET", "/health", ""), 200, "ok")
}

func TestRequestID(t *testing.T) {
	f := serve(t, nil)
	if got := f.send("GET", "/health", "", "X-Request-Id", "abc-123").header.Get("X-Request-Id"); got != "abc-123" {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"", "a b", `x"y`, strings.Repeat("x", 129), "é"} {
		if got := f.send("GET", "/health", "", "X-Request-Id", bad).header.Get("X-Request-Id"); len(got) != 32 {
			t.Errorf("%q: got %q", bad, got)
		}
	}
}

func TestProtection(t *testing.T) {
	f := serve(t, func(o *Options) { o.AllowedHosts = []string{"db.internal"} })
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:80", "app.localhost", "db.internal:9", "10.1.2.3"} {
		f.want(f.send("GET", "/health", "", "Host", host), 200, "ok")
	}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.nip.io:80"} {
		f.want(f.send("GET", "/health", "", "Host", host), 403, `"code":"host_not_allowed"`)
	}
	f.want(f.send("POST", "/v1/sql", "SELECT 1", "Origin", f.URL), 200, "")
	for _, origin := range []string{"http://evil.example", "null", "http://localhost:1", "::"} {
		f.want(f.send("POST", "/v1/sql", "SELECT 1", "Origin", origin), 403, "other sites")
	}
	f.want(f.send("POST", "/v1/sql", "SELECT 1", "Sec-Fetch-Site", "cross-site"), 403, "other sites")
	f.want(f.send("POST", "/v1/sql", "SELECT 1", "Sec-Fetch-Site", "same-origin"), 200, "")
	for _, path := range []string{"/v1/functions", "/health", "/metrics", "/"} {
		for _, site := range []string{"cross-site", "same-site", "other"} {
			f.want(f.send("GET", path, "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"), 403, "other sites")
			f.want(f.send("GET", path, "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), 403, "other sites")
			f.want(f.send("GET", path, "", "Sec-Fetch-Site", site), 403, "other sites")
		}
	}
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	f.want(f.send("GET", "/v1/functions", "", link...), 200, "")
	f.want(f.send("GET", "/", "", link...), 404, "route_not_found")
	f.want(f.send("POST", "/v1/sql", "SELECT 1", link...), 403, "other sites")                             // a form
	f.want(f.send("GET", "/v1/functions", "", append(link, "Origin", "https://evil.example")...), 403, "") // of a redirect, say
	f.want(f.send("GET", "/v1/functions", "", "Sec-Fetch-Site", "none"), 200, "")
	f.want(f.send("GET", "/v1/functions", "", "Sec-Fetch-Site", "same-origin"), 200, "")
	r := f.send("GET", "/v1/functions", "")
	if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("headers: %v", r.header)
	}
}
