package datasets

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/refresh"
)

// issuer is an API with a token endpoint. Tokens count from 1; the API accepts the one that
// was issued last.
type issuer struct {
	*site
	mu       sync.Mutex
	issued   int
	expires  string // expires_in; "": none
	revoked  bool   // the last token is not accepted
	refresh  string // the refresh token that is accepted, which each use replaces; "": client credentials
	header   string
	forms    []string // that the endpoint got
	endpoint http.HandlerFunc
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{header: "Authorization", expires: "3600"}
	i.site = newSite(t, func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		switch {
		case r.URL.Path != "/token":
			i.answer(w, r)
		case i.endpoint != nil:
			i.endpoint(w, r)
		default:
			i.issue(w, r)
		}
	})
	return i
}

func (i *issuer) answer(w http.ResponseWriter, r *http.Request) {
	want := fmt.Sprintf("s3cr3t-token-%d", i.issued)
	if i.header == "Authorization" {
		want = "Bearer " + want
	}
	if i.revoked || r.Header.Get(i.header) != want {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `[{"token": %d}]`, i.issued)
}

func (i *issuer) issue(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	user, secret, _ := r.BasicAuth()
	i.forms = append(i.forms, user+":"+secret+" "+r.PostForm.Encode())
	if token := r.PostForm.Get("refresh_token"); token != i.refresh {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": "invalid_grant", "error_description": %q}`, token)
		return
	}
	i.issued++
	i.revoked = false
	fmt.Fprintf(w, `{"access_token": "s3cr3t-token-%d", "token_type": "Bearer"`, i.issued)
	if i.expires != "" {
		fmt.Fprintf(w, `, "expires_in": %s`, i.expires)
	}
	if i.refresh != "" {
		i.refresh = fmt.Sprintf("s3cr3t-refresh-%d", i.issued)
		fmt.Fprintf(w, `, "refresh_token": %q`, i.refresh)
	}
	fmt.Fprint(w, "}")
}

// change changes the issuer between requests.
func (i *issuer) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

const clientCredentials = "auth_grant_type: client_credentials, http_auth_client_id: me, http_auth_client_secret: '${env:OAUTH_SECRET}'"

func (i *issuer) dataset(params string) string {
	return remote(i.URL+"/rows.json", "params: {auth_token_url: '"+i.URL+"/token', "+params+"}", "acceleration: {}")
}

// TestOAuth: a token is fetched once, again before it expires, and again when the server
// refuses it.
func TestOAuth(t *testing.T) {
	t.Setenv("OAUTH_SECRET", "s3cr3t/1")
	t.Setenv("OAUTH_REFRESH", "s3cr3t-refresh-0")
	for _, c := range []struct {
		name, params, refresh, header, form string
	}{
		{"client credentials", clientCredentials + ", auth_scopes: 'read  write'", "", "", "me:s3cr3t%2F1 grant_type=client_credentials&scope=read+write"},
		{"in the body", clientCredentials + ", auth_client_auth: body", "", "", ": client_id=me&client_secret=s3cr3t%2F1&grant_type=client_credentials"},
		{"own header", clientCredentials + ", auth_header_name: x-access-token", "", "X-Access-Token", "me:s3cr3t%2F1 grant_type=client_credentials"},
		{
			"refresh token", "http_auth_refresh_token: '${env:OAUTH_REFRESH}', http_auth_client_id: me, http_auth_client_secret: '${env:OAUTH_SECRET}'",
			"s3cr3t-refresh-0", "", "me:s3cr3t%2F1 grant_type=refresh_token&refresh_token=s3cr3t-refresh-0",
		},
		{
			"public client", "http_auth_refresh_token: '${env:OAUTH_REFRESH}', http_auth_client_id: me", "s3cr3t-refresh-0",
			"", ": client_id=me&grant_type=refresh_token&refresh_token=s3cr3t-refresh-0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, i := newWorld(t), newIssuer(t)
			if i.refresh = c.refresh; c.header != "" {
				i.header = c.header
			}
			steps := []struct {
				name   string
				before func()
				issued string
			}{
				{"first", func() {}, "1"},
				{"again", func() {}, "1"},
				{"nearly expired", func() { w.clock.advance(time.Hour - 30*time.Second) }, "2"},
				{"revoked", func() { i.change(func() { i.revoked = true }) }, "3"},
				{"no lifetime", func() { i.change(func() { i.expires, i.revoked = "", true }) }, "4"},
				{"a day later", func() { w.clock.advance(24 * time.Hour) }, "4"},
			}
			w.ok(i.dataset(c.params))
			for _, s := range steps {
				s.before()
				if err := w.refresh("t", refresh.Override{}); err != nil {
					t.Fatal(s.name, err)
				}
				if got, err := w.read("SELECT token FROM t"); err != nil || got != s.issued {
					t.Errorf("%s: token %s, want %s", s.name, got, s.issued)
				}
			}
			// A reload keeps the token, and the refresh token that replaced that of the params.
			w.ok(strings.Replace(i.dataset(c.params), "name: t", "name: other", 1))
			w.want("SELECT token FROM other", "4")
			if i.forms[0] != c.form {
				t.Errorf("got %s\nwant %s", i.forms[0], c.form)
			}
			if strings.Contains(fmt.Sprint(w.m.Status())+w.log.String(), "s3cr3t") {
				t.Error("a secret is shown")
			}
		})
	}
}

// TestOAuthFaults has what a user can write wrong, and what endpoints answer.
func TestOAuthFaults(t *testing.T) {
	t.Setenv("OAUTH_SECRET", "s3cr3t/1")
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	for _, c := range []struct {
		name, params string // "": client credentials
		endpoint     http.HandlerFunc
		revoked      bool
		want         string
		requests     int64
	}{
		{"500", "", answer(500, "s3cr3t"), false, "answers HTTP 500, without a token", 3},
		{"429", "", answer(429, ""), false, "answers HTTP 429, without a token", 3},
		{
			"401", "", answer(401, `{"error": "invalid_client", "error_description": "s3cr3t"}`), false,
			"issues no token: invalid_client; correct params.http_auth_client_id", 1,
		},
		{
			"a token that needs a proof", "", answer(200, `{"access_token": "s3cr3t-other", "token_type": "DPoP"}`), false,
			"answers with a token of the type dpop; use an endpoint that issues Bearer tokens", 1,
		},
		{"garbage", "", answer(200, "<html>s3cr3t</html>"), false, "answers HTTP 200, without a token", 1},
		{"redirect", "", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
		}, false, "cannot reach the token endpoint", 1},
		{"slow", clientCredentials + ", client_timeout: 50ms, max_retries: 0", func(_ http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm() // only then the server notices that the client has gone
			<-r.Context().Done()
		}, false, "took longer than 50ms (params.client_timeout)", 1},
		{
			"a token that is not accepted", "", answer(200, `{"access_token": "s3cr3t-other"}`), true,
			"the server answered 401 Unauthorized to a new access token; correct the scopes, or the permissions of the client", 4,
		},
		{"a token that has expired", "", answer(200, `{"access_token": "s3cr3t-other", "expires_in": -1}`), true, "401 Unauthorized to a new access token", 4},

		{
			"no URL", "auth_grant_type: client_credentials", nil, false,
			"params.auth_grant_type has no effect without the URL of the token endpoint; set params.auth_token_url", 0,
		},
		{
			"http", "auth_token_url: 'http://auth.example.com/token', " + clientCredentials, nil, false,
			"http://auth.example.com sends secrets in the clear; write https://", 0,
		},
		{"not a URL", "auth_token_url: 'file:///token', " + clientCredentials, nil, false, "the text is not the URL of a token endpoint", 0},
		{
			"no refresh token", "http_auth_client_id: me", nil, false,
			"the refresh token is missing; set params.http_auth_refresh_token, or params.auth_grant_type: client_credentials", 0,
		},
		{
			"a refresh token", clientCredentials + ", http_auth_refresh_token: '${env:OAUTH_SECRET}'", nil, false,
			"there is no refresh token with auth_grant_type: client_credentials", 0,
		},
		{"no ID", "auth_grant_type: client_credentials", nil, false, "the ID of the client is missing; set params.http_auth_client_id", 0},
		{"no secret", "auth_grant_type: client_credentials, http_auth_client_id: me", nil, false, "the secret of the client is missing", 0},
		{"grant", "auth_grant_type: password", nil, false, `"password" is not a value of auth_grant_type; write refresh_token, client_credentials`, 0},
		{"basic", clientCredentials + ", http_username: me", nil, false, "basic authentication and OAuth both set the header Authorization", 0},
		{"header", clientCredentials + ", http_headers: {authorization: x}", nil, false, "it and OAuth both set the header Authorization", 0},
		{"header name", clientCredentials + ", auth_header_name: 'a b'", nil, false, `"a b" is not the name of a header`, 0},
		{"header of HTTP", clientCredentials + ", auth_header_name: host", nil, false, "HTTP sets the header Host itself; write a name such as X-Access-Token", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, i := newWorld(t), newIssuer(t)
			i.endpoint, i.revoked = c.endpoint, c.revoked
			if c.params == "" {
				c.params = clientCredentials
			}
			yaml := i.dataset(c.params)
			if c.name == "no URL" || strings.HasPrefix(c.params, "auth_token_url") {
				yaml = strings.Replace(yaml, "auth_token_url: '"+i.URL+"/token', ", "", 1)
			}
			problems := w.reload(yaml)
			if len(problems) != 1 {
				t.Fatal(problems)
			}
			if got := problems[0].Message + "; " + problems[0].Hint; !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if strings.Contains(fmt.Sprint(problems, w.m.Status())+w.log.String(), "s3cr3t") {
				t.Errorf("a secret is shown: %s", problems)
			}
			if n := i.requests.Load(); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

// While the endpoint fails, a token that has not expired is used.
func TestOAuthEndpointAway(t *testing.T) {
	t.Setenv("OAUTH_SECRET", "s3cr3t")
	w, i := newWorld(t), newIssuer(t)
	w.ok(i.dataset(clientCredentials))
	i.change(func() { i.endpoint = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) } })
	w.clock.advance(time.Hour - 30*time.Second)
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.clock.advance(time.Minute)
	if err := w.refresh("t", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "HTTP 500, without a token") {
		t.Error(err)
	}
	w.want("SELECT token FROM t", "1")
	i.change(func() { i.endpoint = nil })
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT token FROM t", "2")
}

// Hosts that a redirect leads to get no token.
func TestOAuthTokensStayWithTheirHost(t *testing.T) {
	t.Setenv("OAUTH_SECRET", "s3cr3t")
	w, i := newWorld(t), newIssuer(t)
	other := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if h := fmt.Sprint(r.Header); strings.Contains(h, "s3cr3t") {
			t.Errorf("the other host got %s", h)
		}
		w.Write([]byte("a\n1\n"))
	})
	own := i.handle.Load()
	i.set(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rows.csv" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		(*own)(w, r)
	})
	w.ok(remote(i.URL+"/rows.csv", "params: {auth_token_url: '"+i.URL+"/token', auth_header_name: X-Token, "+clientCredentials+"}"))
	w.want("SELECT a FROM t", "1")
	if other.requests.Load() != 1 {
		t.Error("the redirect was not followed")
	}
}

// TestOAuthRequests: requests of statements share a token, which concurrent ones wait for.
func TestOAuthRequests(t *testing.T) {
	t.Setenv("OAUTH_SECRET", "s3cr3t")
	w, i := newWorld(t), newIssuer(t)
	w.ok(remote(i.URL, "params: {auth_token_url: '"+i.URL+"/token', request_query_filters: enabled, "+clientCredentials+"}",
		"acceleration: {refresh_mode: caching, refresh_sql: \"SELECT * FROM t WHERE request_query IN ('a=1', 'a=2', 'a=3')\"}"))
	w.want("SELECT count(*), max(content->>'$.token') FROM t", "3|1")
	if i.issued != 1 {
		t.Errorf("%d tokens", i.issued)
	}
}

// TestConnections: the params of the pool are those of the connections.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		params string
		want   int64 // connections of 4 loads
	}{
		{"pool_max_idle_per_host: 0", 4},
		{"pool_max_idle_per_host: 1, pool_idle_timeout: 60, connect_timeout: 5", 1},
	} {
		w := newWorld(t)
		var connections atomic.Int64
		s := httptest.NewUnstartedServer(serve("a\n1\n"))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		s.Start()
		w.ok(remote(s.URL+"/x.csv", "params: {"+c.params+"}", "acceleration: {}"))
		for range 3 {
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Error(err)
			}
		}
		if n := connections.Load(); n != c.want {
			t.Errorf("%s: %d connections, want %d", c.params, n, c.want)
		}
		s.Close()
	}
	w := newWorld(t)
	for params, want := range map[string]string{
		"pool_max_idle_per_host: -1":   "-1 is not a number of connections; write a number from 0 to 1000",
		"pool_idle_timeout: 2h":        "2h0m0s is not a value of pool_idle_timeout; write a duration above 0, at most 1h0m0s",
		"connect_timeout: 0":           "0s is not a value of connect_timeout; write a duration above 0, at most 10m0s",
		"retry_jitter: 2":              "2 is not a part of a pause; write a number from 0 to 1",
		"retry_backoff_method: random": `"random" is not a value of retry_backoff_method; write exponential, fibonacci, linear`,
		"retry_max_duration: 0s":       "0s is not a value of retry_max_duration",
		"http_tls_client_key: x":       "a client's certificate needs a key, and a key its certificate; set params.http_tls_client_certificate",
		"http_tls_client_certificate_file: gone.pem, http_tls_client_key_file: gone.pem": `cannot read "gone.pem": no such file or directory`,
		"http_tls_client_certificate: x, http_tls_client_key: y": "the client's certificate and key cannot be used; write " +
			"a certificate and its key, in PEM",
		"http_tls_client_certificate_file: a, http_tls_client_certificate: x, http_tls_client_key: y": "the client's certificate is given as a file and " +
			"as a text; leave it out",
	} {
		problems := w.reload(remote("http://127.0.0.1:1/x.csv", "params: {"+params+"}"))
		if len(problems) != 1 || !strings.Contains(problems[0].Message+"; "+problems[0].Hint, want) {
			t.Errorf("%s: got %v, want %s", params, problems, want)
		}
	}
}

// TestRetries: pauses grow as the params say, until the time for retries is over.
func TestRetries(t *testing.T) {
	for params, want := range map[string]string{
		"max_retries: 4": "[500ms 1s 2s 4s]",
		"max_retries: 4, retry_backoff_method: linear":    "[500ms 1s 1.5s 2s]",
		"max_retries: 4, retry_backoff_method: fibonacci": "[500ms 500ms 1s 1.5s]",
		"max_retries: 4, retry_max_duration: 4s":          "[500ms 1s 2s]",
	} {
		w := newWorld(t)
		s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		w.reload(remote(s.URL+"/x.csv", "params: {"+params+"}"))
		if got := fmt.Sprint(w.clock.pauses); got != want {
			t.Errorf("%s: paused %s, want %s", params, got, want)
		}
	}
	w := newWorld(t)
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	w.reload(remote(s.URL+"/x.csv", "params: {max_retries: 1, retry_jitter: 0.5}"))
	if p := w.clock.pauses; len(p) != 1 || p[0] < 250*time.Millisecond || p[0] > 750*time.Millisecond {
		t.Errorf("paused %s", p)
	}
}
