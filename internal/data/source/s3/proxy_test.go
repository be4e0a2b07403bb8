package s3

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/data/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTheProxyPassesOnlyReadsOfDatasets asks for what no dataset reads: the store sees
// no request.
func TestTheProxyPassesOnlyReadsOfDatasets(t *testing.T) {
	seen := make(chan string, 100)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization") + r.Header.Get("Cookie")
		io.WriteString(w, "object")
	}))
	defer real.Close()
	endpoint, err := url.Parse(real.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStore("id", endpoint, "us-east-1", nil, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.transport.CloseIdleConnections()
	p, err := newProxy(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	held, err := p.serve("lake", "trips/", s)
	if err != nil {
		t.Fatal(err)
	}
	good := "AWS4-HMAC-SHA256 Credential=" + p.key + "/20260101/us-east-1/s3/aws4_request"
	for _, c := range []struct {
		method, path, authorization string
		status                      int
		passed                      string
	}{
		{"GET", "/lake/trips/a%20b.csv?versionId=1", good, 200, "GET /lake/trips/a%20b.csv "},
		{"HEAD", "/lake/trips/a.csv", good, 200, "HEAD /lake/trips/a.csv "},
		{"GET", "/lake/?list-type=2&prefix=trips%2Fx&acl=&x=1", good, 200, "GET /lake/?list-type=2&prefix=trips%2Fx "},
		{"GET", "/lake/trips/a.csv", "", 403, ""},
		{"GET", "/lake/trips/a.csv", "AWS4-HMAC-SHA256 Credential=/x", 403, ""},
		{"GET", "/lake/trips/a.csv", strings.Replace(good, p.key, p.key+"x", 1), 403, ""},
		{"PUT", "/lake/trips/a.csv", good, 405, ""},
		{"DELETE", "/lake/trips/a.csv", good, 405, ""},
		{"POST", "/lake/trips/?delete", good, 405, ""},
		{"GET", "/lake/other/a.csv", good, 403, ""},
		{"GET", "/lake/trips", good, 403, ""},
		{"GET", "/other/trips/a.csv", good, 403, ""},
		{"GET", "/lake/trips/../other/a.csv", good, 403, ""},
		{"GET", "/lake/trips/%2e%2e/other/a.csv", good, 403, ""},
		{"GET", "/lake/trips/..%2Fother/a.csv", good, 403, ""},
		{"GET", "/lake/?list-type=2&prefix=", good, 403, ""},
		{"GET", "/lake/?list-type=2&prefix=trips%2F..%2Fother", good, 403, ""},
		{"GET", "/lake/?prefix=trips%2F", good, 403, ""},
		{"GET", "/lake/?acl", good, 403, ""},
		{"GET", "/", good, 403, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+p.host, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, query, _ := strings.Cut(c.path, "?")
		r.URL.Opaque, r.URL.RawQuery = "//"+p.host+path, query
		r.Header.Set("Authorization", c.authorization)
		r.Header.Set("Cookie", "secret=1")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		passed := ""
		select {
		case passed = <-seen:
		default:
		}
		if answer.StatusCode != c.status || passed != c.passed {
			t.Errorf("%s %s: got status %d, and the store saw %q; want %d, %q\n%s", c.method, c.path, answer.StatusCode, passed, c.status, c.passed, text)
		}
	}
	resource.Release(held)
	if p.find("lake", "trips/a.csv") != nil {
		t.Error("a released prefix is served")
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestAResponseThatBreaksOffIsAnError ends a response early: DuckDB must not take a part
// for the whole.
func TestAResponseThatBreaksOffIsAnError(t *testing.T) {
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, strings.Repeat("x", 10))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer real.Close()
	endpoint, _ := url.Parse(real.URL)
	s, err := newStore("id", endpoint, "us-east-1", nil, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.transport.CloseIdleConnections()
	p, err := newProxy(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if _, err := p.serve("lake", "", s); err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.host+"/lake/a", nil)
	r.Header.Set("Authorization", "Credential="+p.key+"/")
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("the client got a whole response")
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestFaultsOfStores has the errors of S3 that moto does not make.
func TestFaultsOfStores(t *testing.T) {
	keys := credentials.NewStaticV4("key", "hunter2", "")
	for _, c := range []struct {
		status        int
		code          string
		keys          *credentials.Credentials
		message, hint string
	}{
		{403, "AccessDenied", nil, "does not permit to read this without a key", "s3_auth: iam_role"},
		{403, "AccessDenied", keys, "does not permit the key to read this", "s3:ListBucket"},
		{403, "RequestTimeTooSkewed", keys, "a message of the store", "set the clock"},
		{403, "ExpiredToken", keys, "a message of the store", "params.s3_key"},
		{301, "PermanentRedirect", keys, "a message of the store", "params.s3_region"},
		{400, "AuthorizationHeaderMalformed", keys, "a message of the store", "params.s3_region"},
		{418, "Teapot", keys, "a message of the store", ""},
	} {
		real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			refuse(w, c.status, c.code, "a message of the store")
		}))
		endpoint, _ := url.Parse(real.URL)
		s, err := newStore("id", endpoint, "us-east-1", c.keys, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.list(t.Context(), "lake", "trips/", 10)
		if err == nil {
			t.Fatalf("%s: there is no error", c.code)
		}
		if f := s.fault(err); !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) || strings.Contains(f.Error(), "hunter2") {
			t.Errorf("%s: got %s; want %s; %s", c.code, f.Error(), c.message, c.hint)
		}
		s.transport.CloseIdleConnections()
		real.Close()
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		glob, key string
		want      bool
	}{
		{"a/*.csv", "a/b.csv", true},
		{"a/*.csv", "a/b/c.csv", false},
		{"a/*.csv", "a/b.json", false},
		{"**/*.csv", "b.csv", true},
		{"**/*.csv", "a/b/c.csv", true},
		{"a/**/*.csv", "a/c.csv", true},
		{"a/**/x=*/*.csv", "a/b/x=1/c.csv", true},
		{"a/**/x=*/*.csv", "a/b/y=1/c.csv", false},
		{"a/**", "a/b/c", true},
		{"a/?[bc]", "a/xb", true},
		{"a/?[bc]", "a/xd", false},
		{"a/[", "a/[", false},
	} {
		if got := matches(c.glob, c.key); got != c.want {
			t.Errorf("%s matches %s: %v", c.glob, c.key, got)
		}
	}
}
