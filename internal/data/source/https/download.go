// Package https is the connector for files at http and https URLs. Files are
// cached and updated by conditional requests (ETag, Last-Modified); the cached
// file is read while the server fails.
//
//	connector, err := https.New(https.Options{DB: db, Dir: dir, …})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package https

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	maxRedirects = 5
	timeout      = 15 * time.Minute // of an attempt, with the body
	attempts     = 3
	firstBackoff = 500 * time.Millisecond // before the second attempt; doubles
)

// Params are those of the connector, beside the options of the file format.
var Params = []spicepod.Param{
	{Name: "http_username", Doc: "User of basic authentication."},
	{Name: "http_password", Secret: true, Doc: "Password of basic authentication."},
	{Name: "http_headers", Type: spicepod.ParamTextMap, Secret: true, Doc: "More headers, by name."},
	{Name: "client_timeout", Type: spicepod.ParamDuration, Doc: "Timeout of a download."},
	{Name: "max_retries", Type: spicepod.ParamInt, Doc: "How often a failed download is retried."},
}

// Options configures [New]. All fields are required.
type Options struct {
	DB                    *engine.DB
	Dir                   string // of the cache; must exist
	MaxDownload, MaxCache int64  // bytes of a file and of the cache
	Clock                 load.Clock
	Progress              *load.Reporter
	Log                   *slog.Logger
}

// Connector downloads files into a cache.
type Connector struct {
	opts  Options
	cache *cache
}

// New opens the cache and removes files without an entry.
func New(o Options) (*Connector, error) {
	c := &Connector{opts: o, cache: newCache(o.Dir, o.MaxCache)}
	return c, disk.Clean(o.Dir, o.Log)
}

type httpSource struct {
	*Connector
	d      source.Declaration
	reader *fileformat.Reader
}

// Compile checks the options of the file format.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	r, err := fileformat.Compile(d, urlPath(d.From.Target), Params)
	return &httpSource{c, d, r}, err
}

// Open updates the cached file.
func (s *httpSource) Open(ctx context.Context) (*source.Opened, error) {
	got, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	fetched := fileformat.One(got.path, got.Size)
	fetched.Shown = s.d.From.Shown
	opened, err := s.reader.Open(ctx, s.opts.DB, fetched)
	if err != nil {
		resource.Release(got.resource)
		return nil, err
	}
	opened.Stale, opened.Resources = got.stale, []*resource.Resource{got.resource}
	return opened, nil
}

// urlPath returns the path of a URL, which may show the format.
func urlPath(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Path
}

// download is a request for a file. Its URL and headers may contain secrets,
// which errors must not.
type download struct {
	url      string
	header   http.Header
	timeout  time.Duration
	attempts int
}

// newDownload reads the params.
func (c *Connector) newDownload(d source.Declaration) (*download, error) {
	p := d.Params
	u, err := url.Parse(d.From.Target)
	if err != nil || u.Host == "" {
		return nil, fault.New("from", "write https://host/path", "%q is not a URL", d.From.Shown)
	}
	out := &download{url: d.From.Target, header: http.Header{}}
	out.header.Set("User-Agent", "spiced")
	limit, err1 := p.Duration("client_timeout", timeout)
	retries, err2 := p.Int("max_retries", attempts-1)
	user, err3 := p.String("http_username")
	password, err4 := p.String("http_password")
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	out.timeout, out.attempts = limit, 1+max(0, min(retries, 10))
	if user != "" || password != "" {
		r := http.Request{Header: out.header}
		r.SetBasicAuth(user, password)
	}
	return out, out.addHeaders(p)
}

// addHeaders reads params.http_headers.
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
			return fault.New("params.http_headers", "", "the value of header %q must be one line", name)
		}
		d.header.Set(name, text)
	}
	return nil
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

// httpError is why an attempt failed.
type httpError struct {
	message string
	again   bool // a retry may succeed
	gone    bool // the server reports that there is no such file
}

func (e *httpError) Error() string { return e.message }

// attempt sends one request, which is conditional if there is a cached file. The
// response is 200 or 304. The caller closes its body and calls done.
func (c *Connector) attempt(ctx context.Context, d *download, have *entry) (resp *http.Response, done func(), err error) {
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
	resp, err = (&http.Client{CheckRedirect: d.checkRedirect}).Do(req)
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

// transferError returns an error of the client without the URL.
func transferError(ctx context.Context, d *download, err error) error {
	if errors.Is(err, errSlow) || errors.Is(context.Cause(ctx), errSlow) {
		return &httpError{message: fmt.Sprintf("the server took longer than %s (params.client_timeout)", d.timeout), again: true}
	}
	return &httpError{message: httpx.Cause(err).Error(), again: ctx.Err() == nil}
}

// save writes the body to a new file and returns its length.
func (c *Connector) save(path string, resp *http.Response, step io.Writer) (n int64, err error) {
	limit := c.opts.MaxDownload
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
	n, err = io.Copy(io.MultiWriter(file, step), io.LimitReader(resp.Body, limit+1))
	if err == nil && n > limit {
		return n, tooBig
	}
	return n, err
}
