package objectstore

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/spicepod"
)

// azureParams are params by name and value, and the access key.
func azureParams(more []string) spicepod.Params {
	params := spicepod.Params{"abfs_access_key": spicepod.Text{Raw: azuretest.Key}}
	for i := 0; i < len(more); i += 2 {
		if params[more[i]] = (spicepod.Text{Raw: more[i+1]}); more[i+1] == "true" {
			params[more[i]] = true
		}
	}
	return params
}

// newAzure returns the store of an account at a URL, and the bucket of the container lake.
func newAzure(t *testing.T, url string, more ...string) (*Azure, string) {
	t.Helper()
	params := azureParams(append([]string{"abfs_endpoint", url, "client_timeout", "20s"}, more...))
	s, bucket, _, err := CompileAzure("abfs://lake@"+azuretest.Account+"/trips/", params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.transport.CloseIdleConnections)
	return s, bucket
}

// TestTheProxyReadsAzure asks the proxy as DuckDB does.
func TestTheProxyReadsAzure(t *testing.T) {
	server := azuretest.Start(t)
	server.Container("lake")
	server.Put("lake", "other/a.csv", "id\n1\n")
	server.Put("lake", "trips/ü +%20.csv", "0123456789")
	server.PutFolder("lake", "trips/b")
	server.Put("lake", "trips/b/c.csv", "id\n1\n")
	s, bucket := newAzure(t, server.URL)
	p := newProxy(t)
	if _, err := p.Serve("s3", bucket, "trips/", s); err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	const object = "/trips/%C3%BC%20+%2520.csv"
	do := func(method, path string, headers ...string) (answer *http.Response, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.host, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, r.URL.RawQuery, _ = strings.Cut("/s3/"+bucket+path, "?")
		r.URL.Opaque = "//" + p.host + path
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+p.key+"/20260101/us-east-1/s3/aws4_request")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err = http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	for _, c := range []struct {
		method, path, bytes string
		status              int
		body, contentRange  string
	}{
		{"GET", object, "", 200, "0123456789", ""},
		{"HEAD", object, "", 200, "", ""},
		{"GET", object, "bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"GET", object, "bytes=8-", 206, "89", "bytes 8-9/10"},
		{"GET", object, "bytes=-2", 200, "0123456789", ""},
		{"GET", object, "bytes=4-2", 200, "0123456789", ""},
		{"GET", object, "bytes=50-60", 416, "InvalidRange", ""},
		{"GET", "/trips/q.csv", "", 404, "BlobNotFound", ""},
		{"HEAD", "/trips/q.csv", "", 404, "", ""},
		{"GET", "/other/a.csv", "", 403, "no dataset reads there", ""},
		{"GET", "/trips/../other/a.csv", "", 403, "no dataset reads there", ""},
		{"GET", "/trips/%2e%2e/other/a.csv", "", 403, "no dataset reads there", ""},
		{"GET", "/trips/..%2Fother/a.csv", "", 403, "no dataset reads there", ""},
		{"PUT", object, "", 405, "objects are only read", ""},
		{"DELETE", object, "", 405, "objects are only read", ""},
		{"GET", "/?list-type=2&prefix=", "", 403, "no dataset reads there", ""},
		{"GET", "/?list-type=2&prefix=trips%2F&delimiter=%2F", "", 501, "are not served", ""},
		{"GET", "/?list-type=2&prefix=trips%2F&max-keys=x", "", 400, "max-keys", ""},
		{"GET", "/?list-type=2&prefix=trips%2F&encoding-type=url", "", 200, "<Key>trips%2F%C3%BC%20%2B%2520.csv</Key>", ""},
		{"GET", "/?list-type=2&prefix=trips%2F", "", 200, "<Key>trips/ü +%20.csv</Key>", ""},
	} {
		answer, body := do(c.method, c.path, "Range", c.bytes)
		if answer.StatusCode != c.status || !strings.Contains(body, c.body) || answer.Header.Get("Content-Range") != c.contentRange {
			t.Errorf("%s %s %s: got status %d, range %q, %s; want %d, %q, %s", c.method, c.path, c.bytes,
				answer.StatusCode, answer.Header.Get("Content-Range"), body, c.status, c.contentRange, c.body)
		}
	}

	// A list has pages, and no folders.
	var keys []string
	for next := ""; ; {
		_, body := do("GET", "/?list-type=2&max-keys=1&prefix=trips%2F&continuation-token="+next)
		for part := range strings.SplitSeq(body, "<Key>") {
			if key, _, ok := strings.Cut(part, "</Key>"); ok {
				keys = append(keys, key)
			}
		}
		_, rest, more := strings.Cut(body, "<NextContinuationToken>")
		if next, _, _ = strings.Cut(rest, "</NextContinuationToken>"); !more {
			break
		}
	}
	if got := fmt.Sprint(keys); got != "[trips/b/c.csv trips/ü +%20.csv]" {
		t.Errorf("the keys are %s", got)
	}

	// An object that is replaced while DuckDB reads it has another tag, in lists, too.
	first, _ := do("GET", object, "Range", "bytes=0-1")
	_, list := do("GET", "/?list-type=2&prefix=trips%2F")
	if tag := first.Header.Get("ETag"); tag == "" || !strings.Contains(list, strings.Trim(tag, `"`)) {
		t.Errorf("the tag %s is not in the list %s", tag, list)
	}
	server.Put("lake", "trips/ü +%20.csv", "9876543210")
	if second, _ := do("GET", object, "Range", "bytes=2-3"); second.Header.Get("ETag") == first.Header.Get("ETag") {
		t.Error("an object that was replaced has the same tag")
	}
	if third, _ := do("GET", object, "If-Match", first.Header.Get("ETag")); third.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("got status %d", third.StatusCode)
	}
}

// TestFaultsOfAzure has the errors of Azure that Azurite does not make.
func TestFaultsOfAzure(t *testing.T) {
	for _, c := range []struct {
		status        int
		code          string
		date          time.Time
		more          []string
		message, hint string
	}{
		{403, "AuthenticationFailed", time.Now(), nil, "does not accept the access key", "correct params.abfs_access_key"},
		{403, "AuthenticationFailed", time.Now().Add(-time.Hour), nil, "a clock that is wrong", "set the clock of this machine"},
		{403, "AuthorizationPermissionMismatch", time.Now(), nil, "does not permit the access key to read this", "the role Storage Blob Data Reader"},
		{
			401, "NoAuthenticationInformation", time.Now(),
			[]string{"abfs_access_key", "", "abfs_skip_signature", "true"},
			"does not permit to read this without a key",
			"set one of params.abfs_access_key",
		},
		{
			409, "PublicAccessNotPermitted", time.Now(),
			[]string{"abfs_access_key", "", "abfs_skip_signature", "true"},
			"does not permit to read this without a key",
			"set one of params.abfs_access_key",
		},
		{302, "", time.Now(), nil, "the storage account lakehouse: HTTP 302", ""},
		{403, "AccountIsDisabled", time.Now(), nil, "the storage account lakehouse: AccountIsDisabled", ""},
		{418, "", time.Now(), nil, "the storage account lakehouse: HTTP 418", ""},
	} {
		real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", c.date.UTC().Format(http.TimeFormat))
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.Header().Set("x-ms-error-code", c.code)
			w.WriteHeader(c.status)
		}))
		s, bucket := newAzure(t, real.URL, c.more...)
		_, err := s.List(t.Context(), bucket, "trips/", "", 10)
		if err == nil {
			t.Fatalf("%s: there is no error", c.code)
		}
		if f := s.Fault(err); !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) || strings.Contains(f.Error(), azuretest.Key) {
			t.Errorf("%s: got %s; want %s; %s", c.code, f.Error(), c.message, c.hint)
		}
		real.Close()
	}
}

// TestEndpointsOfAzure has the URLs that requests go to.
func TestEndpointsOfAzure(t *testing.T) {
	for _, c := range []struct {
		from string
		more []string
		want string
	}{
		{"abfs://lake@ada.dfs.core.windows.net/x", nil, "https://ada.blob.core.windows.net/"},
		{"abfss://lake@ada.dfs.core.chinacloudapi.cn/x", nil, "https://ada.blob.core.chinacloudapi.cn/"},
		{"abfs://lake@ada.blob.core.windows.net/x", nil, "https://ada.blob.core.windows.net/"},
		{"abfs://lake@ada/x", nil, "https://ada.blob.core.windows.net/"},
		{"abfs://lake/x", []string{"abfs_account", "ada"}, "https://ada.blob.core.windows.net/"},
		{"abfs://lake/x", []string{"abfs_use_emulator", "true", "abfs_access_key", ""}, "http://127.0.0.1:10000/devstoreaccount1"},
		{"abfs://lake@ada/x", []string{"abfs_use_emulator", "true", "abfs_endpoint", "http://127.0.0.1:1"}, "http://127.0.0.1:1/ada"},
		{"abfs://lake@ada/x", []string{"abfs_endpoint", "http://blob.example.com", "abfs_allow_http", "true"}, "http://blob.example.com/"},
	} {
		s, _, key, err := CompileAzure(c.from, azureParams(c.more))
		if err != nil || s.endpoint.String() != c.want || key != "x" {
			t.Errorf("%s: got %v, %q, %v; want %s", c.from, s, key, err, c.want)
		}
	}
}
