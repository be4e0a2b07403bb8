package httpx_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

func TestRedirects(t *testing.T) {
	request := func(method, address string) *http.Request {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{Method: method, URL: u}
	}
	first := request("POST", "https://a.example/v1")
	for _, c := range []struct {
		method, to string
		hops       int
		want       string
	}{
		{"POST", "https://a.example/v2", 1, ""},
		{"POST", "https://b.example/v1", 1, `another host, "b.example"`},
		{"POST", "http://a.example/v1", 1, "from https to http"},
		{"GET", "https://a.example/login", 1, "as to a page"},
		{"POST", "https://a.example/v2", httpx.MaxRedirects + 1, "more than 3 times"},
	} {
		via := make([]*http.Request, c.hops)
		for i := range via {
			via[i] = first
		}
		err := httpx.CheckRedirect(request(c.method, c.to), via)
		var refused *httpx.RedirectError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.to, err)
		case c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.to, err, c.want)
		}
	}
}

func TestClient(t *testing.T) {
	s := httptest.NewTLSServer(http.RedirectHandler("https://elsewhere.example/", http.StatusTemporaryRedirect))
	defer s.Close()
	for name, c := range map[string]struct {
		client *http.Client
		want   string
	}{
		"redirect":    {s.Client(), `another host, "elsewhere.example"`},
		"certificate": {nil, "certificate"},
	} {
		_, err := httpx.Client(c.client).Get(s.URL + "/?key=secret")
		cause := httpx.Cause(err)
		if cause == nil || !httpx.Permanent(cause) || !strings.Contains(cause.Error(), c.want) || strings.Contains(cause.Error(), "secret") {
			t.Errorf("%s: %v", name, cause)
		}
	}
	if err := errors.New("reset"); httpx.Permanent(err) || httpx.Cause(err) != err {
		t.Error("other errors are not permanent")
	}
}

func TestRetryAfter(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		header, value string
		least, most   time.Duration
	}{
		{"Retry-After", "2", 2 * time.Second, 2 * time.Second},
		{"Retry-After", "0.5", time.Second / 2, time.Second / 2},
		{"Retry-After-Ms", "250", time.Second / 4, time.Second / 4},
		{"Retry-After", "1e300", 24 * time.Hour, 24 * time.Hour},
		{"Retry-After", soon, 59 * time.Minute, time.Hour},
		{"Retry-After", "-1", 0, 0},
		{"Retry-After", "soon", 0, 0},
		{"X", "1", 0, 0},
	} {
		got := httpx.RetryAfter(http.Header{c.header: {c.value}})
		if got < c.least || got > c.most {
			t.Errorf("%s: %s gives %s", c.header, c.value, got)
		}
	}
}

func TestMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"no","code":"bad"}}`:                 "no bad",
		`{"error":{"message":"no","code":1,"type":"rate_limit"}}`: "no rate_limit",
		`[{"error":{"message":"no"}}]`:                            "no ",
		`{"error":"no"}`:                                          "no ",
		`{"message":"no"}`:                                        "no ",
		`{"detail":"no"}`:                                         "no ",
		`no`:                                                      "no ",
		`<html>no</html>`:                                         " ",
		`{"x":1}`:                                                 " ",
		`{"error":`:                                               " ",
		``:                                                        " ",
	} {
		if message, code := httpx.Message([]byte(body)); message+" "+code != want {
			t.Errorf("%s gives %q, %q", body, message, code)
		}
	}
}

func TestRedaction(t *testing.T) {
	secrets := []string{"", "key", "key-long"}
	redact := httpx.Redaction(secrets)
	if got := redact("a key-long and a key"); got != "a *** and a ***" {
		t.Errorf("got %q", got)
	}
	if secrets[0] != "" || secrets[1] != "key" {
		t.Error("the caller's list was changed")
	}
}

// TestRedactionOfWords replaces secrets that could be words only where they are words.
func TestRedactionOfWords(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"postgres", `user "postgres", postgres_scanner, postgres.so`, `user "***", postgres_scanner, ***.so`},
		{"prov", "the provider says prov", "the provider says ***"},
		{"a", "a banana, a", "*** banana, ***"},
		{"key1", "monkey1 key1 key12", "monkey1 *** key12"},
		{"s3cr3tpass", "xs3cr3tpassx", "x***x"},
		{"hunter", `"line\nhunter"`, `"line\n***"`},
		{"hunter", "hunterhunter hunter", "hunterhunter ***"},
		{"p w", "xp w p w", "xp w ***"},
		{"!!", "a!!b", "a***b"},
	} {
		if got := httpx.Redaction([]string{c.secret})(c.text); got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.secret, c.text, got, c.want)
		}
	}
}

func TestRedactf(t *testing.T) {
	redact := httpx.Redaction([]string{"provider", "404"})
	got := httpx.Redactf(redact, "the provider failed with %d: %q, %v, %s", 404, "provider", []string{"provider"}, errors.New("no provider"))
	if want := `the provider failed with 404: "***", [***], no ***`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
