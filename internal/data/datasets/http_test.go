package datasets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/refresh"
)

// site is a server whose responses a test changes.
type site struct {
	*httptest.Server
	requests atomic.Int64
	handle   atomic.Pointer[http.HandlerFunc]
}

func newSite(t *testing.T, f http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.set(f)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		(*s.handle.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s
}

func (s *site) set(f http.HandlerFunc) { s.handle.Store(&f) }

// serve responds with a text and its ETag.
func serve(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf("%q", fmt.Sprint(len(text), text[:min(len(text), 8)]))
		tag = strings.ReplaceAll(tag, "\\n", "-")
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", tag)
		w.Write([]byte(text))
	}
}

func remote(url string, more ...string) string {
	return "datasets: [{name: t, from: '" + url + "'" + strings.Join(append([]string{""}, more...), ", ") + "}]\n"
}

func cacheFiles(t *testing.T, w *world) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.state, "http", "*-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestHTTP(t *testing.T) {
	w := newWorld(t)
	s := newSite(t, serve("a\n1\n"))
	yaml := remote(s.URL + "/x.csv?token=abc")
	w.ok(yaml)
	w.want("SELECT * FROM t", "1")
	before := w.served[0]
	w.ok(yaml) // 304
	if w.served[0] != before || s.requests.Load() != 2 {
		t.Errorf("%d requests; the dataset is the same: %v", s.requests.Load(), w.served[0] == before)
	}
	s.set(serve("a\n1\n2\n"))
	w.ok(yaml)
	w.want("SELECT * FROM t", "1, 2")
	w.drain()
	if n := cacheFiles(t, w); n != 1 {
		t.Errorf("%d files in the cache", n)
	}
	w.stop()
	w.start()
	w.ok(yaml)
	if s.requests.Load() != 4 {
		t.Errorf("%d requests", s.requests.Load())
	}
	w.want("SELECT * FROM t", "1, 2")
}

func TestHTTPFormats(t *testing.T) {
	w := newWorld(t)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Write([]byte(`[{"a":5}]`))
		case "/plain":
			w.Write([]byte("a\n6\n"))
		case "/z.csv.gz":
			w.Write([]byte(gz(t, "a\n7\n")))
		}
	})
	for path, c := range map[string][2]string{"/json": {"", "5"}, "/plain": {"params: {file_format: csv}", "6"}, "/z.csv.gz": {"", "7"}} {
		more := []string{}
		if c[0] != "" {
			more = append(more, c[0])
		}
		w.ok(remote(s.URL+path, more...))
		w.want("SELECT * FROM t", c[1])
	}
	if problems := w.reload(remote(s.URL + "/plain")); len(problems) != 1 || !strings.Contains(problems.Error(), "set params.file_format") {
		t.Error(problems)
	}
}

func TestHTTPFailures(t *testing.T) {
	release := make(chan struct{})
	cases := []struct {
		name     string
		handle   http.HandlerFunc
		more     string
		want     string
		requests int64
	}{
		{"404", http.NotFound, "", "the server answered 404 Not Found", 1},
		{"403", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "", "403 Forbidden", 1},
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "", "500 Internal Server Error", 3},
		{"500 with more retries", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "params: {max_retries: 4}", "500", 5},
		{"slow", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}, "params: {client_timeout: 500ms, max_retries: 0}", "the server took longer than 500ms (params.client_timeout)", 1},
		{"slow body", func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("a\n"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "params: {client_timeout: 500ms, max_retries: 0}", "took longer", 1},
		{"too big", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2000)) }, "", "the file is larger than 1000B", 1},
		{"too big, unsaid", func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				w.Write(make([]byte, 500))
				w.(http.Flusher).Flush()
			}
		}, "", "the file is larger than 1000B", 1},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("a\n"))
		}, "", "unexpected EOF", 3},
		{"redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, "params: {max_retries: 0}", "more than 5 redirects", 6},
	}
	defer close(release)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.stop()
			w.start(func(o *Options) { o.Limits.Download = 1000 })
			s := newSite(t, c.handle)
			more := []string{}
			if c.more != "" {
				more = append(more, c.more)
			}
			problems := w.reload(remote(s.URL+"/x.csv", more...))
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) {
				t.Fatalf("got %v, want %s", problems, c.want)
			}
			if n := s.requests.Load(); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if n := cacheFiles(t, w); n != 0 {
				t.Errorf("%d files in the cache", n)
			}
			if c.name == "500" && fmt.Sprint(w.clock.pauses) != "[500ms 1s]" {
				t.Errorf("paused %v", w.clock.pauses)
			}
		})
	}
}

// TestHTTPUnreadable: an error about a downloaded file names its URL, not the file.
func TestHTTPUnreadable(t *testing.T) {
	w := newWorld(t)
	s := newSite(t, serve(`{"a": 1}{"a": ]}`))
	problems := w.reload(remote(s.URL + "/x.json"))
	if want := `Malformed JSON in file "` + s.URL + `/x.json"`; len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
		t.Errorf("got %v, want %s", problems, want)
	}
}

// The cached file is read while the server fails, but not if it reports that there
// is no such file. A refresh fails.
func TestHTTPStale(t *testing.T) {
	w := newWorld(t)
	s := newSite(t, serve("a\n1\n"))
	w.ok(remote(s.URL + "/x.csv"))
	s.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	w.stop()
	w.start()
	problems := w.reload(remote(s.URL + "/x.csv"))
	if len(problems) != 1 || problems.HasErrors() || !strings.Contains(problems[0].Message, "503") {
		t.Fatal(problems)
	}
	w.want("SELECT * FROM t", "1")
	if w.status("t").Error == "" || len(w.m.failed) != 1 || w.m.failed["t"].Error == "" {
		t.Error("the dataset is not tried again, or does not say that it is stale")
	}
	w.ok(strings.Replace(remote(s.URL+"/x.csv", "acceleration: {}"), "name: t", "name: u", 1))
	if err := w.refresh("u", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	w.want("SELECT * FROM u", "1")
	s.set(http.NotFound)
	if problems := w.reload(remote(s.URL + "/x.csv")); !problems.HasErrors() {
		t.Error("a file that is gone is still served")
	}
}

func TestHTTPCredentialsStayWithTheirHost(t *testing.T) {
	t.Setenv("KEY", "s3cr3t")
	w := newWorld(t)
	seen := make(chan http.Header, 10)
	other := newSite(t, func(w http.ResponseWriter, r *http.Request) { seen <- r.Header; w.Write([]byte("a\n1\n")) })
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		if r.URL.Path == "/here.csv" {
			http.Redirect(w, r, "/there.csv", http.StatusFound)
			return
		}
		http.Redirect(w, r, other.URL+"/other.csv", http.StatusFound)
	})
	w.ok(remote(s.URL+"/here.csv?sig=${env:KEY}", "params: {http_username: me, http_password: '${env:KEY}', http_headers: {X-Api-Key: '${env:KEY}'}}"))
	for i, want := range []bool{true, true, false} {
		h := <-seen
		if (h.Get("Authorization") != "") != want || (h.Get("X-Api-Key") == "s3cr3t") != want || strings.Contains(h.Get("Referer"), "s3cr3t") {
			t.Errorf("request %d: %v", i, h)
		}
	}
	entries, err := os.ReadDir(filepath.Join(w.state, "http"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, _ := os.ReadFile(filepath.Join(w.state, "http", e.Name()))
		if strings.Contains(e.Name()+string(raw), "s3cr3t") {
			t.Errorf("%s holds the secret", e.Name())
		}
	}
	if strings.Contains(strings.Join(w.served[0].DDL(), " ")+w.log.String()+fmt.Sprint(w.m.Status()), "s3cr3t") {
		t.Error("the secret is shown")
	}
}

func TestCacheIsTrimmed(t *testing.T) {
	w := newWorld(t)
	s := newSite(t, serve(strings.Repeat("a\n", 500)))
	w.stop()
	w.start(func(o *Options) { o.Limits.Cache = 2500 })
	for i := range 5 {
		w.ok(remote(fmt.Sprintf("%s/%d.csv", s.URL, i)))
		w.drain()
	}
	if n := cacheFiles(t, w); n > 3 {
		t.Errorf("%d files in the cache", n)
	}
}

func TestStatusHasTheProgressOfARefresh(t *testing.T) {
	w := newWorld(t)
	s := newSite(t, serve("a\n1\n"))
	w.ok(remote(s.URL+"/x.csv", "acceleration: {enabled: true}"))
	if st := w.status("t"); st.State != Ready || st.Loading != nil {
		t.Errorf("%s, %+v", st.State, st.Loading)
	}
	sent, goOn := make(chan struct{}), make(chan struct{})
	s.set(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "8")
		rw.Write([]byte("a\n1\n"))
		rw.(http.Flusher).Flush()
		close(sent)
		<-goOn
		rw.Write([]byte("2\n3\n"))
	})
	ended := make(chan error, 1)
	go func() { ended <- w.refresh("t", refresh.Override{}) }()
	<-sent
	for {
		st := w.status("t")
		if p := st.Loading; st.State == Refreshing && p != nil && p.Bytes == 4 {
			if p.Total != 8 || p.Percent != 50 {
				t.Errorf("%+v", p)
			}
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended early: %v", err)
		default:
			runtime.Gosched()
		}
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if st := w.status("t"); st.State != Ready || st.Loading != nil || st.Rows != 3 {
		t.Errorf("%s, %+v, %d rows", st.State, st.Loading, st.Rows)
	}
}

func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.stop()
	var got []load.Progress
	w.start(func(o *Options) {
		o.Progress = func(p load.Progress) { got = append(got, p) }
	})
	s := newSite(t, func(rw http.ResponseWriter, _ *http.Request) {
		w.clock.advance(time.Minute)
		rw.Write([]byte("a\n1\n"))
	})
	w.ok(remote(s.URL + "/x.csv"))
	w.clock.hold = true
	p := w.m.progress.Start("t", "fetch", 10)
	w.clock.advance(2 * time.Second)
	p.Write(make([]byte, 5))
	p.Write(make([]byte, 1))
	p.End()
	last := got[len(got)-2:]
	if last[0].Bytes != 5 || last[0].Total != 10 || last[0].Elapsed != 2*time.Second || !last[1].Done {
		t.Errorf("%+v", last)
	}
}
