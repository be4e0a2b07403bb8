package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

// urlPath is the path of a URL, to tell a format by.
func urlPath(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Path
}

// download is a request for a dataset's file. Its URL and headers may hold
// secrets: errors name neither.
type download struct {
	url      string
	header   http.Header
	timeout  time.Duration
	attempts int
}

// newDownload reads the connector's params.
func (m *Manager) newDownload(d *Dataset) (*download, error) {
	p := d.Declared.Params
	u, err := url.Parse(d.source.target)
	if err != nil || u.Host == "" {
		return nil, newFault("from", "write https://host/path", "%q is no URL", d.source.shown)
	}
	out := &download{url: d.source.target, header: http.Header{}}
	out.header.Set("User-Agent", "spiced")
	if out.timeout, err = p.Duration("client_timeout", m.limits.fetchTimeout); err != nil {
		return nil, err
	}
	retries, err := p.Int("max_retries", m.limits.fetchAttempts-1)
	if err != nil {
		return nil, err
	}
	out.attempts = 1 + max(0, min(retries, 10))
	user, err := p.String("http_username")
	if err != nil {
		return nil, err
	}
	password, err := p.String("http_password")
	if err != nil {
		return nil, err
	}
	if user != "" || password != "" {
		r := http.Request{Header: out.header}
		r.SetBasicAuth(user, password)
	}
	return out, out.addHeaders(p)
}

// addHeaders reads http_headers: a mapping of names to values.
func (d *download) addHeaders(p spicepod.Params) error {
	if !p.Has("http_headers") {
		return nil
	}
	headers, err := p.Value("http_headers", spicepod.ParamTextMap)
	if err != nil {
		return err
	}
	for name, text := range headers.(map[string]string) {
		if strings.ContainsAny(name+text, "\r\n") {
			return newFault("params.http_headers", "", "header %q takes a text of one line", name)
		}
		d.header.Set(name, text)
	}
	return nil
}

// client is the runtime's HTTP client with our rules for redirects: few, none
// from https to http, and nothing secret for another host.
func (m *Manager) client(d *download) *http.Client {
	c := *m.opts.HTTP
	c.Jar = nil
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) > MaxRedirects:
			return fmt.Errorf("more than %d redirects", MaxRedirects)
		case r.URL.Scheme != "https" && via[0].URL.Scheme == "https":
			return errors.New("a redirect from https to " + r.URL.Scheme)
		}
		r.Header.Del("Referer") // it would show the query of the URL
		for _, earlier := range slices.Concat(via, []*http.Request{r}) {
			if earlier.URL.Host != via[0].URL.Host {
				for name := range d.header {
					if name != "User-Agent" {
						r.Header.Del(name)
					}
				}
			}
		}
		return nil
	}
	return &c
}

// httpError is why an attempt failed.
type httpError struct {
	message string
	again   bool // another attempt may do better
	gone    bool // the server says that there is no such file
}

func (e *httpError) Error() string { return e.message }

// attempt asks once; body is nil when the file is as it was (304). The caller
// closes it and calls done.
func (m *Manager) attempt(ctx context.Context, d *download, have *cacheEntry) (resp *http.Response, done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, errSlow)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		cancel()
		return nil, nil, &httpError{message: "the URL cannot be requested"}
	}
	req.Header = d.header.Clone()
	if have != nil && have.ETag != "" {
		req.Header.Set("If-None-Match", have.ETag)
	}
	if have != nil && have.LastModified != "" {
		req.Header.Set("If-Modified-Since", have.LastModified)
	}
	resp, err = m.client(d).Do(req)
	if err != nil {
		cancel()
		return nil, nil, transferError(ctx, d, err)
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotModified && have != nil {
		return resp, cancel, nil
	}
	resp.Body.Close()
	cancel()
	code := resp.StatusCode
	return nil, nil, &httpError{
		message: fmt.Sprintf("the server answered %d %s", code, http.StatusText(code)),
		again:   code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout,
		gone:    code == http.StatusNotFound || code == http.StatusGone,
	}
}

var errSlow = errors.New("too slow")

// transferError keeps the URL out of an error of the client's.
func transferError(ctx context.Context, d *download, err error) error {
	if errors.Is(err, errSlow) || errors.Is(context.Cause(ctx), errSlow) {
		return &httpError{message: fmt.Sprintf("the server took longer than %s (params.client_timeout)", d.timeout), again: true}
	}
	return &httpError{message: httpx.Cause(err).Error(), again: ctx.Err() == nil}
}

// save writes the body to a new file and says how long it is.
func (m *Manager) save(path string, resp *http.Response, report func(int64)) (n int64, err error) {
	limit := m.limits.download
	tooBig := &httpError{message: fmt.Sprintf("the file is larger than %s", spicepod.Size(limit))}
	if resp.ContentLength > limit {
		return 0, tooBig
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			os.Remove(path)
		}
	}()
	n, err = io.Copy(file, &meter{r: io.LimitReader(resp.Body, limit+1), report: report})
	if err == nil && n > limit {
		return n, tooBig
	}
	return n, err
}

// meter reports how much was read.
type meter struct {
	r      io.Reader
	n      int64
	report func(int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	m.report(m.n)
	return n, err
}
