package objectstore

import (
	"context"
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

var testNames = Names{
	Endpoint: "s3_endpoint", Region: "s3_region", Auth: "s3_auth", Key: "s3_key", Secret: "s3_secret", IAM: true, Permissions: S3Permissions,
}

// newStore returns the store of a server.
func newStore(t *testing.T, server *httptest.Server, keys *credentials.Credentials) *S3 {
	t.Helper()
	endpoint, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := &S3{names: testNames, id: server.URL, endpoint: endpoint, region: "us-east-1", keys: keys}
	if err := s.open(time.Second); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.transport.CloseIdleConnections)
	return s
}

// newProxy returns a proxy that listens.
func newProxy(t *testing.T) *Proxy {
	t.Helper()
	p := New(func(context.Context, string) error { return nil }, slog.New(slog.DiscardHandler))
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestTheProxyPassesOnlyReadsOfDatasets asks for what no dataset reads: the store sees
// no request.
func TestTheProxyPassesOnlyReadsOfDatasets(t *testing.T) {
	seen := make(chan string, 100)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization") + r.Header.Get("Cookie")
		io.WriteString(w, "object")
	}))
	defer real.Close()
	s := newStore(t, real, nil)
	p := newProxy(t)
	held, err := p.Serve("s3", "lake", "trips/", s)
	if err != nil {
		t.Fatal(err)
	}
	good := "AWS4-HMAC-SHA256 Credential=" + p.key + "/20260101/us-east-1/s3/aws4_request"
	for _, c := range []struct {
		method, path, authorization string
		status                      int
		passed                      string
	}{
		{"GET", "/s3/lake/trips/a%20b.csv?versionId=1", good, 200, "GET /lake/trips/a%20b.csv "},
		{"HEAD", "/s3/lake/trips/a.csv", good, 200, "HEAD /lake/trips/a.csv "},
		{"GET", "/s3/lake/?list-type=2&prefix=trips%2Fx&acl=&x=1", good, 200, "GET /lake/?list-type=2&prefix=trips%2Fx "},
		{"GET", "/s3/lake/trips/a.csv", "", 403, ""},
		{"GET", "/s3/lake/trips/a.csv", "AWS4-HMAC-SHA256 Credential=/x", 403, ""},
		{"GET", "/s3/lake/trips/a.csv", strings.Replace(good, p.key, p.key+"x", 1), 403, ""},
		{"PUT", "/s3/lake/trips/a.csv", good, 405, ""},
		{"DELETE", "/s3/lake/trips/a.csv", good, 405, ""},
		{"POST", "/s3/lake/trips/?delete", good, 405, ""},
		{"GET", "/s3/lake/other/a.csv", good, 403, ""},
		{"GET", "/s3/lake/trips", good, 403, ""},
		{"GET", "/s3/other/trips/a.csv", good, 403, ""},
		{"GET", "/s3/lake/trips/../other/a.csv", good, 403, ""},
		{"GET", "/s3/lake/trips/%2e%2e/other/a.csv", good, 403, ""},
		{"GET", "/s3/lake/trips/..%2Fother/a.csv", good, 403, ""},
		{"GET", "/s3/lake/?list-type=2&prefix=", good, 403, ""},
		{"GET", "/s3/lake/?list-type=2&prefix=trips%2F..%2Fother", good, 403, ""},
		{"GET", "/s3/lake/?prefix=trips%2F", good, 403, ""},
		{"GET", "/s3/lake/?acl", good, 403, ""},
		{"GET", "/gs/lake/trips/a.csv", good, 403, ""},
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
	if p.find("s3", "lake", "trips/a.csv") != nil {
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
	s := newStore(t, real, nil)
	p := newProxy(t)
	if _, err := p.Serve("s3", "lake", "", s); err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.host+"/s3/lake/a", nil)
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
		s := newStore(t, real, c.keys)
		_, err := s.List(t.Context(), "lake", "trips/", "", 10)
		if err == nil {
			t.Fatalf("%s: there is no error", c.code)
		}
		if f := s.Fault(err); !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) || strings.Contains(f.Error(), "hunter2") {
			t.Errorf("%s: got %s; want %s; %s", c.code, f.Error(), c.message, c.hint)
		}
		real.Close()
	}
}
