// Package https is the connector for files and JSON APIs at http and https URLs. Files are
// cached and updated by conditional requests (ETag, Last-Modified); the pages of an API
// are gathered in a file of the cache. The cached file is read while the server fails.
//
//	connector := https.Kind.Open(source.Host{DB: db, Cache: cache, …})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package https

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	maxRedirects = 5
	timeout      = 15 * time.Minute // of an attempt, with the body
	pageTimeout  = 30 * time.Second // of an attempt for a page
	attempts     = 3
	maxInterval  = time.Hour // between requests

	// pagesAge is how long the pages of a dataset without an acceleration are not requested
	// again: each reload, and each statement on it that fails, opens its source.
	pagesAge = time.Minute
)

// knownParams are those of the connector, in addition to the options of the file format.
var knownParams = append([]spicepod.Param{
	{Name: "http_username", Doc: "User of basic authentication."},
	{Name: "http_password", Secret: true, Doc: "Password of basic authentication."},
	{
		Name: "http_headers", Type: spicepod.ParamTextMap, Secret: true,
		Doc: "More headers, by name; or a text, `Name: value, Name: value`.",
	},
	{
		Name: "client_timeout", Type: spicepod.ParamDuration,
		Doc: "Timeout of a download (default 15m), or of a page (default 30s).",
	},
	{Name: "max_retries", Type: spicepod.ParamInt, Doc: "How often a failed download or page is retried. Default: 2."},
	{
		Name: "retry_backoff_method",
		Doc:  "How the pauses between them grow, from 0.5 seconds: `exponential` (default), `fibonacci` or `linear`.",
	},
	{
		Name: "retry_max_duration", Type: spicepod.ParamDuration,
		Doc: "How long after the first attempt the last one may begin. Default: no limit.",
	},
	{
		Name: "retry_jitter", Type: spicepod.ParamNumber,
		Doc: "By which part pauses are longer or shorter, at random, from 0 (default) to 1.",
	},
}, slices.Concat(transportParams, oauthParams, pageParams, requestParams)...)

// Connector downloads files into a cache.
type Connector struct {
	source.Host
	pace   fetch.Pace
	tokens tokenSources
}

type httpSource struct {
	*Connector
	d         source.Declaration
	reader    *fileformat.Reader
	paging    paging
	transport http.RoundTripper
}

// Compile checks the params of pages and the options of the file format.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	s := &httpSource{Connector: c, d: d}
	var err error
	if s.paging, err = compilePaging(d.Params); err != nil {
		return nil, err
	}
	if s.transport, err = c.newTransport(d); err != nil {
		return nil, err
	}
	asking, err := compileAsking(d.Params)
	switch {
	case err != nil:
		return nil, err
	case asking != nil:
		return s.compileRequests(asking)
	case s.enabled():
		s.reader, err = s.rowsReader()
	default:
		s.reader, err = fileformat.Compile(d, urlPath(d.From.Target), knownParams)
	}
	return s, err
}

// enabled reports whether the URL is one of a JSON API.
func (s *httpSource) enabled() bool { return !s.paging.Auto && !s.paging.Off }

// rowsReader returns a reader of the rows of pages.
func (s *httpSource) rowsReader() (*fileformat.Reader, error) {
	d := s.d
	if format, err := d.Params.String("file_format"); err != nil {
		return nil, err
	} else if format != "" && !strings.EqualFold(format, "json") {
		return nil, fault.New("params.file_format", "leave it out, or set params.pagination: disabled to read a file",
			"pages are JSON, not %s", format)
	}
	d.Params = maps.Clone(d.Params)
	delete(d.Params, "file_format")
	return fileformat.Compile(d, "rows"+fetch.RowsExtension, knownParams)
}

// Open updates the cached file.
func (s *httpSource) Open(ctx context.Context) (*source.Opened, error) {
	got, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := s.open(ctx, got)
	if err != nil {
		resource.Release(got.Resource)
		return nil, err
	}
	opened.Stale, opened.Resources = got.Stale, append(opened.Resources, got.Resource)
	return opened, nil
}

func (s *httpSource) open(ctx context.Context, got *fetch.File) (*source.Opened, error) {
	file := fileformat.One(got.Path, got.Size)
	file.Shown, file.Name = s.d.From.Shown, documentName(s.d.From.Target)
	if !got.Paged {
		return s.reader.Open(ctx, s.Host, file)
	}
	if got.Size == 0 {
		return nil, fault.New("from",
			"set params.pagination_data_pointer if the rows are elsewhere in the answer; otherwise reload the Spicepod when "+
				"the API has rows", "the API has no rows, which show its columns").Retryable()
	}
	reader, err := s.rowsReader()
	if err != nil {
		return nil, err
	}
	return reader.Open(ctx, s.Host, file)
}

// urlPath returns the path of a URL, which may show the format.
func urlPath(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Path
}

// documentName is the name of a document at a URL: the end of its path, else the host.
func documentName(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	if name := path.Base(u.Path); name != "/" && name != "." {
		return name
	}
	return u.Host
}

// fetch updates the cached file of a dataset. If that fails, it returns the
// earlier copy, if there is one, with the reason.
func (s *httpSource) fetch(ctx context.Context) (*fetch.File, error) {
	down, err := s.newDownload()
	if err != nil {
		return nil, err
	}
	key := down.key(s.paging)
	return s.Cache.Update(ctx, key, s.d.From.Shown, func(have *fetch.Entry) (got *fetch.Entry, err error) {
		if have != nil && have.Paged && !s.d.Copied && s.Clock.Now().Sub(have.Fetched) < pagesAge {
			return have, nil
		}
		if s.enabled() {
			return s.gather(ctx, down, key, nil)
		}
		err = fetch.Retry(ctx, s.Clock, down.retries, func() error {
			got, err = s.retrieve(ctx, down, key, have)
			return err
		})
		return got, err
	})
}

// retrieve downloads the file, unless it has not changed.
func (s *httpSource) retrieve(ctx context.Context, down *download, key string,
	have *fetch.Entry,
) (*fetch.Entry, error) {
	resp, done, err := s.attempt(ctx, down, have)
	if err != nil {
		return nil, err
	}
	defer done()
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
		return have, nil
	}
	extension := s.reader.Extension(urlPath(s.d.From.Target), resp.Header.Get("Content-Type"))
	if s.paging.Auto && extension == ".json" && httpx.NextLink(resp.Header) != "" {
		return s.gather(ctx, down, key, resp)
	}
	step := s.Progress.Start(s.d.Name, "fetch", resp.ContentLength)
	defer step.End()
	got, err := s.save(key, extension, resp, step)
	var e *fetch.Error
	var p *os.PathError
	if err != nil && !errors.As(err, &e) && !errors.As(err, &p) {
		err = fetch.Transfer(ctx, down.timeout, err)
	}
	return got, err
}

// gather reads the pages of an API into a file of rows. first is the response of the first
// page, if it has been sent.
func (s *httpSource) gather(ctx context.Context, down *download, key string,
	first *http.Response,
) (*fetch.Entry, error) {
	base, err := url.Parse(down.url)
	if err != nil {
		return nil, err
	}
	step := s.Progress.Start(s.d.Name, "fetch", -1)
	defer step.End()
	rows, err := s.Cache.Rows(key, s.MaxDownload, step)
	if err != nil {
		return nil, err
	}
	defer rows.Discard()
	client, pages := s.client(down), s.paging.pages(base)
	var total int64
	for at := pages.first(); at != nil; first = nil {
		resp, err := s.page(ctx, client, at, first)
		if err == nil {
			if total += int64(len(resp.Body)); total > s.MaxDownload {
				return nil, fetch.TooLarge("the data", s.MaxDownload)
			}
			var read page
			if read, err = s.paging.read(resp.Header, resp.Body, rows.Add); err == nil {
				at, err = pages.after(read, resp.Request.URL)
			}
		}
		if err != nil {
			return nil, pages.failed(err)
		}
	}
	entry, err := rows.Entry(s.Clock.Now())
	if err == nil {
		entry.Paged = true
	}
	return entry, err
}

// page requests a page, unless its response is there.
func (s *httpSource) page(ctx context.Context, client *fetch.Client, at *url.URL,
	there *http.Response,
) (*fetch.Response, error) {
	if there != nil {
		return client.Read(ctx, there)
	}
	return client.Do(ctx, http.MethodGet, at, nil)
}

// client returns what requests pages.
func (c *Connector) client(d *download) *fetch.Client {
	header := d.header.Clone()
	if header.Get("Accept") == "" {
		header.Set("Accept", "application/json")
	}
	return &fetch.Client{
		Header: header, Transport: d.transport, Timeout: d.pageTimeout, Retries: d.retries,
		MaxBody:  min(maxPage, c.MaxDownload),
		Interval: d.interval, Pace: &c.pace, Clock: c.Clock,
	}
}
