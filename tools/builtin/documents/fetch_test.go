package documents_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools/builtin/documents"
)

// pages serves pages by path.
func pages(t *testing.T, handlers map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.HandleFunc(path, h)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, text)
	}
}

type fetched struct {
	URL, Title, Content, Note  string
	Offset, Length, Characters int
	More                       bool
	Next                       int `json:"next_offset"`
}

func TestFetchPage(t *testing.T) {
	const article = `<html><head><title>Gates</title></head><body><nav><a href="/">Home</a></nav><article><h1>Gates</h1><p>` +
		"The gate opens at nine, and it closes at six, on every day of the week but Sunday, when it stays shut for the whole day. " +
		`</p><script>alert(1)</script></article></body></html>`
	server := pages(t, map[string]http.HandlerFunc{
		"/article": body("text/html; charset=utf-8", article),
		"/text":    body("text/plain", "a😀é\r\nb"),
		"/json":    body("application/json", `{"a":1}`),
		"/latin":   body("text/plain", "caf\xe9"),
		"/scripts": body("text/html", `<html><body><div id="root"></div><script src="x.js"></script></body></html>`),
		"/empty":   body("text/html", ""),
		"/pdf":     body("application/pdf", "%PDF-1.7"),
		"/sniffed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, article)
		},
		"/gone": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "internal: secret", http.StatusGone) },
		"/moved": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/text", http.StatusMovedPermanently)
		},
		"/metadata": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		},
		"/huge": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for range 100 {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
		},
		"/bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 100 {
				if _, err := io.WriteString(z, strings.Repeat("y", 1<<20)); err != nil {
					return
				}
			}
			z.Close()
		},
		"/nested": body("text/html", strings.Repeat("<div>", 1<<18)+"deep"),
	})
	w := newWorld(t, space)
	w.config.Hosts = []string{server.Listener.Addr().String()}
	get := func(path, further string) fetched {
		return decode[fetched](w, "fetch_web_page", fmt.Sprintf(`{"url":%q%s}`, server.URL+path, further))
	}
	if p := get("/article", ""); p.Title != "Gates" || !strings.Contains(p.Content, "opens at nine") ||
		strings.Contains(p.Content, "alert") || strings.Contains(p.Content, "<p>") {
		t.Errorf("%+v", p)
	}
	if p := get("/sniffed", ""); !strings.Contains(p.Content, "opens at nine") {
		t.Errorf("%+v", p)
	}
	if p := get("/moved#part", ""); p.URL != server.URL+"/text" || p.Content != "a😀é\r\nb" || p.Characters != 6 || p.More {
		t.Errorf("%+v", p)
	}
	if p := get("/text", `,"offset":1,"length":2`); p.Content != "😀é" || p.Offset != 1 || p.Length != 2 || !p.More || p.Next != 3 {
		t.Errorf("%+v", p)
	}
	if p := get("/text", `,"offset":4000000000`); p.Content != "" || p.More {
		t.Errorf("%+v", p)
	}
	if p := get("/json", ""); p.Content != `{"a":1}` {
		t.Errorf("%+v", p)
	}
	if p := get("/latin", ""); p.Content != "caf\uFFFD" || p.Note == "" {
		t.Errorf("%+v", p)
	}
	for _, path := range []string{"/scripts", "/empty"} {
		if p := get(path, ""); p.Content != "" || !strings.Contains(p.Note, "no readable text") {
			t.Errorf("%s: %+v", path, p)
		}
	}
	for _, path := range []string{"/huge", "/bomb"} {
		if p := get(path, ""); p.Characters != documents.MaxPage || !strings.Contains(p.Note, "the rest is left out") || !p.More || !utf8.ValidString(p.Content) {
			t.Errorf("%s: %d %s", path, p.Characters, p.Note)
		}
	}
	for path, want := range map[string]string{
		"/pdf": `the page is "application/pdf", which has no readable text`, "/gone": "the page answers with status 410 Gone", "/nested": "the page cannot be read",
		"/nothing": "status 404",
	} {
		w.refuses("fetch_web_page", fmt.Sprintf(`{"url":%q}`, server.URL+path), errcode.Execution, want)
	}
	for url, want := range map[string]string{
		"example.com": "the scheme", "ftp://example.com/": "the scheme", "file:///etc/passwd": "the scheme", "http://": "no host", "http://[": "is not a URL",
		"http://ann:pw@example.com/": "user name", "data:text/html,x": "the scheme", "http://a b/": "is not a URL",
	} {
		w.refuses("fetch_web_page", fmt.Sprintf(`{"url":%q}`, url), errcode.InvalidArguments, want)
	}
	for _, url := range []string{server.URL + "/metadata", "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://nothing.invalid/"} {
		w.refuses("fetch_web_page", fmt.Sprintf(`{"url":%q}`, url), errcode.Refused, "the host is not found on the public internet")
	}
	w.config.Hosts = nil
	w.refuses("fetch_web_page", fmt.Sprintf(`{"url":%q}`, server.URL+"/text"), errcode.Refused, "only 80 and 443 are")
}

// TestFetchIsCancelled ends a fetch that waits for a page.
func TestFetchIsCancelled(t *testing.T) {
	asked, left := make(chan bool), make(chan bool)
	server := pages(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	}})
	w := newWorld(t, space)
	w.config.Hosts = []string{server.Listener.Addr().String()}
	ctx, cancel := context.WithCancel(t.Context())
	tool, done := w.tool("fetch_web_page"), make(chan error, 1)
	go func() {
		_, err := w.call(ctx, tool, fmt.Sprintf(`{"url":%q}`, server.URL))
		done <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("it was not cancelled")
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
	<-left
}
