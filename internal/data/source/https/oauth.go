package https

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/spicepod"
)

// Params of OAuth 2.0. Spice has them by these names.
var oauthParams = []spicepod.Param{
	{
		Name: "auth_token_url",
		Doc: "URL of the token endpoint of OAuth 2.0, with `https://`, or `http://` on this machine. Requests " +
			"have an access " +
			"token from there.",
	},
	{Name: "auth_grant_type", Doc: "`refresh_token` (default) or `client_credentials`."},
	{
		Name: "http_auth_refresh_token", Secret: true,
		Doc: "The refresh token. A new one that the endpoint sends replaces it until the runtime ends.",
	},
	{Name: "http_auth_client_id", Secret: true, Doc: "ID of the client."},
	{Name: "http_auth_client_secret", Secret: true, Doc: "Secret of the client."},
	{Name: "auth_scopes", Doc: "Scopes to ask for, separated by spaces. Default: those that the endpoint gives."},
	{Name: "auth_client_auth", Doc: "How the endpoint gets the client's ID and secret: `basic` (default) or `body`."},
	{
		Name: "auth_header_name",
		Doc: "Header of the access token. Default: `Authorization`, with `Bearer` before the token; others have " +
			"the token alone.",
	},
}

const (
	maxTokens    = 1000 // token sources that are kept
	tokenTimeout = 30 * time.Second
	tokenMargin  = time.Minute // a token is renewed so long before it expires, or after 3/4 of its life
)

// tokens is a source of access tokens. Datasets with equal params share one.
type tokens struct {
	endpoint string
	host     string // of the endpoint, for errors
	key      string // a hash of what the params say
	form     url.Values
	client   *url.Userinfo // for basic authentication; nil: none
	clock    load.Clock
	timeout  time.Duration

	turn    chan struct{} // who holds it, of one, may use what follows
	current string        // access token; "": none
	renew   time.Time     // zero: when a server refuses it
	expires time.Time
}

// tokenSources keeps tokens, and refresh tokens that have replaced those of params,
// across reloads. Its zero value is ready for use.
type tokenSources struct {
	mu     sync.Mutex
	cached *lru.Cache[string, *tokens]
}

func (s *tokenSources) of(t *tokens) *tokens {
	t.key = fetch.Key(t.endpoint, t.form.Encode(), t.client, t.timeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cached == nil {
		s.cached = lru.New[string, *tokens](maxTokens, maxTokens, nil)
	}
	if there, ok := s.cached.Get(t.key); ok {
		return there
	}
	s.cached.Put(t.key, t, 1)
	return t
}

// authorize reads the params of OAuth. It returns the transport itself without them.
func (c *Connector) authorize(d source.Declaration, base http.RoundTripper) (http.RoundTripper, error) {
	values := map[string]string{}
	for _, p := range oauthParams {
		text, err := d.Params.String(p.Name)
		if err != nil {
			return nil, err
		}
		values[p.Name] = text
		if text != "" && p.Name != "auth_token_url" && values["auth_token_url"] == "" {
			return nil, fault.OfKey("params."+p.Name, "set params.auth_token_url",
				"params.%s has no effect without the URL of the token endpoint", p.Name)
		}
	}
	if values["auth_token_url"] == "" {
		return base, nil
	}
	t, err := c.newTokens(d.Params, values)
	if err != nil {
		return nil, err
	}
	a := &authorized{
		base: base, tokens: c.tokens.of(t),
		header: textproto.CanonicalMIMEHeaderKey(cmp.Or(values["auth_header_name"], "Authorization")),
	}
	if strings.ContainsFunc(a.header, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) {
		return nil, fault.New("params.auth_header_name", "write a name such as X-Access-Token",
			"%q is not the name of a header", a.header)
	}
	if slices.Contains(ownHeaders, a.header) {
		return nil, fault.New("params.auth_header_name", "write a name such as X-Access-Token",
			"HTTP sets the header %s itself", a.header)
	}
	u, err := url.Parse(d.From.Target)
	if err != nil {
		return nil, fault.New("from", "write https://host/path", "%q is not a URL", d.From.Shown)
	}
	a.scheme, a.host = u.Scheme, u.Host
	return a, a.conflict(d.Params)
}

// ownHeaders are those that HTTP sets itself, and that cannot have a token.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Proxy-Connection",
	"Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// newTokens checks the params.
func (c *Connector) newTokens(p spicepod.Params, values map[string]string) (*tokens, error) {
	u, err := url.Parse(values["auth_token_url"])
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return nil, fault.New("params.auth_token_url", "write https://host/path",
			"the text is not the URL of a token endpoint")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" &&
		(ip == nil || !ip.IsLoopback()) {
		return nil, fault.New("params.auth_token_url", "write https://", "http://%s sends secrets in the clear", u.Host)
	}
	grant, err1 := word(p, "auth_grant_type", "refresh_token", "client_credentials")
	style, err2 := word(p, "auth_client_auth", "basic", "body")
	timeout, err3 := p.Duration("client_timeout", tokenTimeout)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	refresh, id, secret := values["http_auth_refresh_token"], values["http_auth_client_id"],
		values["http_auth_client_secret"]
	credentials := grant == "client_credentials"
	switch {
	case !credentials && refresh == "":
		return nil, fault.New("params", "set params.http_auth_refresh_token, or params.auth_grant_type: client_credentials",
			"the refresh token is missing")
	case credentials && refresh != "":
		return nil, fault.OfKey("params.http_auth_refresh_token", "leave it out",
			"there is no refresh token with auth_grant_type: client_credentials")
	case (credentials || secret != "") && id == "":
		return nil, fault.New("params", "set params.http_auth_client_id", "the ID of the client is missing")
	case credentials && secret == "":
		return nil, fault.New("params", "set params.http_auth_client_secret", "the secret of the client is missing")
	}
	t := &tokens{
		endpoint: u.String(), host: u.Host, form: url.Values{"grant_type": {grant}}, clock: c.Clock,
		timeout: min(timeout, tokenTimeout), turn: make(chan struct{}, 1),
	}
	if scopes := strings.Join(strings.Fields(values["auth_scopes"]), " "); scopes != "" {
		t.form.Set("scope", scopes)
	}
	if refresh != "" {
		t.form.Set("refresh_token", refresh)
	}
	switch {
	case secret != "" && style == "basic":
		t.client = url.UserPassword(id, secret)
	case id != "": // a client without a secret is only named
		t.form.Set("client_id", id)
		if secret != "" {
			t.form.Set("client_secret", secret)
		}
	}
	return t, nil
}

// get returns a token that is not the one that a server has refused; "": none.
func (t *tokens) get(ctx context.Context, refused string) (string, error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-t.turn }()
	now := t.clock.Now()
	usable := t.current != "" && t.current != refused
	if usable && (t.renew.IsZero() || now.Before(t.renew)) {
		return t.current, nil
	}
	err := t.fetch(ctx)
	if err != nil && usable && now.Before(t.expires) {
		return t.current, nil
	}
	return t.current, err
}

// fetch asks the endpoint for a token.
func (t *tokens) fetch(ctx context.Context) error {
	limited, cancel := context.WithTimeoutCause(ctx, t.timeout, fetch.ErrSlow)
	defer cancel()
	now := t.clock.Now()
	got, err := httpx.FetchToken(limited, httpx.Client(nil).Do, t.endpoint, t.form, t.client)
	if err != nil {
		return t.failed(ctx, limited, err)
	}
	t.current, t.renew, t.expires = got.Access, time.Time{}, time.Time{}
	if got.Lifetime > 0 {
		t.expires = now.Add(got.Lifetime)
		t.renew = t.expires.Add(-min(tokenMargin, got.Lifetime/4))
	}
	if got.Refresh != "" && t.form.Has("refresh_token") {
		t.form.Set("refresh_token", got.Refresh)
	}
	return nil
}

// failed explains an error, which has no secret.
func (t *tokens) failed(ctx, limited context.Context, err error) *fetch.Error {
	const path = "params.auth_token_url"
	var e *httpx.TokenError
	switch {
	case errors.As(err, &e) && e.Type != "":
		return fetch.Errorf(path, "use an endpoint that issues Bearer tokens",
			"the token endpoint %s answers with %s", t.host, e)
	case errors.As(err, &e) && e.Code != "" && e.Status < 500:
		out := fetch.Errorf("params",
			"correct params.http_auth_client_id, params.http_auth_client_secret, params.auth_scopes "+
				"and params.http_auth_refresh_token", "the token endpoint %s issues no token: %s", t.host, e.Code)
		out.Again = e.Status == http.StatusTooManyRequests
		return out
	case errors.As(err, &e):
		out := fetch.Errorf(path, "", "the token endpoint %s answers %s", t.host, e)
		out.Again, out.After = e.Status >= 500 || e.Status == http.StatusTooManyRequests, e.After
		return out
	case ctx.Err() == nil && errors.Is(context.Cause(limited), fetch.ErrSlow):
		return &fetch.Error{Path: path, Message: "the token endpoint " + t.host + " took longer than " + t.timeout.String() +
			" (params.client_timeout)", Again: true}
	}
	out := fetch.Transfer(ctx, t.timeout, err)
	out.Path, out.Message = path, "cannot reach the token endpoint "+t.host+": "+out.Message
	return out
}

// authorized sends requests for a host with an access token.
type authorized struct {
	base         http.RoundTripper
	tokens       *tokens
	header       string
	scheme, host string // that get the token
}

// conflict returns an error if another param sets the header of the token.
func (a *authorized) conflict(p spicepod.Params) error {
	const hint = "leave it out, or the params of OAuth"
	if a.header == "Authorization" && (p.Has("http_username") || p.Has("http_password")) {
		return fault.OfKey("params.http_username", hint, "basic authentication and OAuth both set the header Authorization")
	}
	var d download
	d.header = http.Header{}
	if err := d.addHeaders(p); err != nil {
		return err
	}
	if d.header.Get(a.header) != "" {
		return fault.OfKey("params.http_headers", hint, "it and OAuth both set the header %s", a.header)
	}
	return nil
}

// RoundTrip implements [http.RoundTripper]. Once a server answers 401 it gets another
// token; hosts that a redirect leads to get none.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != a.scheme || r.URL.Host != a.host {
		return a.base.RoundTrip(r)
	}
	token, err := a.tokens.get(r.Context(), "")
	if err != nil {
		return nil, err
	}
	resp, err := a.send(r, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	drop(resp)
	if token, err = a.tokens.get(r.Context(), token); err != nil {
		return nil, err
	}
	if resp, err = a.send(r, token); err == nil && resp.StatusCode == http.StatusUnauthorized {
		drop(resp)
		return nil, fetch.Errorf("params.auth_scopes", "correct the scopes, or the permissions of the client",
			"the server answered 401 Unauthorized to a new access token")
	}
	return resp, err
}

func (a *authorized) send(r *http.Request, token string) (*http.Response, error) {
	with := r.Clone(r.Context())
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		with.Body = body
	}
	if a.header == "Authorization" {
		token = "Bearer " + token
	}
	with.Header[a.header] = []string{token}
	return a.base.RoundTrip(with)
}

func drop(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
	resp.Body.Close()
}
