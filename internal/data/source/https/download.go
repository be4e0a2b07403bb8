package https

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

// download is a request for a file. Its URL and headers may contain secrets,
// which errors must not.
type download struct {
	url         string
	header      http.Header
	timeout     time.Duration
	pageTimeout time.Duration
	retries     fetch.Retries
	interval    time.Duration // between pages
	transport   http.RoundTripper
}

// newDownload reads the params.
func (s *httpSource) newDownload() (*download, error) {
	d, p := s.d, s.d.Params
	u, err := url.Parse(d.From.Target)
	if err != nil || u.Host == "" {
		return nil, fault.New("from", "write https://host/path", "%q is not a URL", d.From.Shown)
	}
	out := &download{url: d.From.Target, header: http.Header{}, transport: s.transport}
	out.header.Set("User-Agent", "spiced")
	limit, err1 := p.Duration("client_timeout", timeout)
	retries, err2 := retries(p)
	user, err3 := p.String("http_username")
	password, err4 := p.String("http_password")
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	second, err5 := interval(p, "requests_per_second_limit", time.Second)
	minute, err6 := interval(p, "requests_per_minute_limit", time.Minute)
	pageLimit, err7 := p.Duration("client_timeout", pageTimeout)
	if err := cmp.Or(err5, err6, err7); err != nil {
		return nil, err
	}
	out.timeout, out.pageTimeout, out.interval = limit, pageLimit, max(second, minute)
	out.retries = retries
	if user != "" || password != "" {
		r := http.Request{Header: out.header}
		r.SetBasicAuth(user, password)
	}
	return out, out.addHeaders(p)
}

// retries reads the params of retries.
func retries(p spicepod.Params) (r fetch.Retries, err error) {
	most, err1 := p.Int("max_retries", attempts-1)
	backoff, err2 := word(p, "retry_backoff_method", string(fetch.Exponential), string(fetch.Fibonacci),
		string(fetch.Linear))
	if err := cmp.Or(err1, err2); err != nil {
		return r, err
	}
	r = fetch.Retries{Attempts: 1 + max(0, min(most, 10)), Backoff: fetch.Backoff(backoff)}
	if p.Has("retry_max_duration") {
		if r.Within, err = within(p, "retry_max_duration", 0, maxInterval); err != nil {
			return r, err
		}
	}
	if p.Has("retry_jitter") {
		jitter, err := p.Value("retry_jitter", spicepod.ParamNumber)
		if err != nil {
			return r, err
		}
		if r.Jitter = jitter.(float64); !(r.Jitter >= 0 && r.Jitter <= 1) {
			return r, fault.New("params.retry_jitter", "write a number from 0 to 1", "%v is not a part of a pause", jitter)
		}
	}
	return r, nil
}

// interval returns the time between requests, from a param that limits their number in a
// period.
func interval(p spicepod.Params, name string, period time.Duration) (time.Duration, error) {
	if !p.Has(name) {
		return 0, nil
	}
	limit, err := p.Value(name, spicepod.ParamNumber)
	if err != nil {
		return 0, err
	}
	between := float64(period) / limit.(float64)
	if between < 0 || between > float64(maxInterval) {
		return 0, fault.New("params."+name, fmt.Sprintf("write a number above 0, at least one in %s", maxInterval),
			"%v is not a number of requests", limit)
	}
	return time.Duration(between), nil
}

// addHeaders reads params.http_headers.
func (d *download) addHeaders(p spicepod.Params) error {
	const name = "http_headers"
	if !p.Has(name) {
		return nil
	}
	if _, ok := p[name].(map[string]any); !ok {
		text, err := p.String(name)
		if err != nil {
			return err
		}
		pairs, err := httpx.SplitHeaders(text)
		if err != nil {
			return fault.New("params."+name, "write Name: value, Name: value", "%s", err)
		}
		for _, pair := range pairs {
			d.header.Set(pair[0], pair[1])
		}
		return nil
	}
	headers, err := p.Value(name, spicepod.ParamTextMap)
	if err != nil {
		return err
	}
	for name, text := range headers.(map[string]string) {
		if strings.ContainsAny(name+text, "\r\n") {
			return fault.New("params.http_headers", "", "the value of header %q must be one line", name)
		}
		d.header.Set(name, text)
	}
	return nil
}

// key returns the key of what is downloaded, in the cache.
func (d *download) key(g paging) string {
	parts := []any{d.url, g}
	for _, name := range slices.Sorted(maps.Keys(d.header)) {
		parts = append(parts, name, d.header[name])
	}
	if a, ok := d.transport.(*authorized); ok {
		parts = append(parts, a.tokens.key, a.header)
	}
	return fetch.Key(parts...)
}

// checkRedirect limits redirects and refuses those from https to http. It removes
// the headers of the download once a redirect has led to another host.
func (d *download) checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case r.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return errors.New("a redirect from https to " + r.URL.Scheme)
	}
	r.Header.Del("Referer") // has the query of the URL
	other := func(r *http.Request) bool { return r.URL.Host != via[0].URL.Host }
	if other(r) || slices.ContainsFunc(via, other) {
		for name := range d.header {
			if name != "User-Agent" {
				r.Header.Del(name)
			}
		}
	}
	return nil
}

// attempt sends one request, which is conditional if there is a cached file. The
// response is 200 or 304. The caller closes its body and calls done.
func (c *Connector) attempt(ctx context.Context, d *download,
	have *fetch.Entry,
) (resp *http.Response, done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, fetch.ErrSlow)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		cancel()
		return nil, nil, fetch.Errorf("", "", "the URL cannot be requested")
	}
	req.Header = d.header.Clone()
	if have != nil && have.ETag != "" {
		req.Header.Set("If-None-Match", have.ETag)
	}
	if have != nil && have.LastModified != "" {
		req.Header.Set("If-Modified-Since", have.LastModified)
	}
	resp, err = (&http.Client{Transport: d.transport, CheckRedirect: d.checkRedirect}).Do(req)
	if err != nil {
		cancel()
		return nil, nil, fetch.Transfer(ctx, d.timeout, err)
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotModified && have != nil {
		return resp, cancel, nil
	}
	resp.Body.Close()
	cancel()
	return nil, nil, fetch.Status(resp)
}

// save writes the body to a new file of the cache.
func (s *httpSource) save(key, extension string, resp *http.Response, step io.Writer) (_ *fetch.Entry, err error) {
	limit := s.MaxDownload
	if resp.ContentLength > limit {
		return nil, fetch.TooLarge("the file", limit)
	}
	file, err := s.Cache.Create(key, extension)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	n, err := io.Copy(io.MultiWriter(file, step), io.LimitReader(resp.Body, limit+1))
	if err == nil && n > limit {
		err = fetch.TooLarge("the file", limit)
	}
	return &fetch.Entry{
		ETag: resp.Header.Get("ETag"), LastModified: resp.Header.Get("Last-Modified"),
		File: filepath.Base(file.Name()), Size: n, Fetched: s.Clock.Now().UTC(),
	}, err
}
