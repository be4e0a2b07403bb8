package https

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Params of datasets whose statements choose the requests. Spice has them by these names.
var requestParams = []spicepod.Param{
	{
		Name: "allowed_request_paths",
		Doc: "Paths after the URL that statements may request with `request_path = '/shows/82'`, separated by commas, such " +
			"as `/shows/*, /search/**`: `*` matches a part of a path, `**` any parts, `[0-9]` a character.",
	},
	{
		Name: "request_query_filters",
		Doc:  "`enabled`: statements may choose the query with `request_query = 'q=tea&limit=10'`.",
	},
	{Name: "request_body_filters", Doc: "`enabled`: statements may send a body with `request_body = '{…}'`, as POST."},
	{
		Name: "max_request_query_length", Type: spicepod.ParamInt,
		Doc: "Most characters of a query. Default: 1024; at most 4096.",
	},
	{Name: "max_request_body_bytes", Type: spicepod.ParamInt, Doc: "Most bytes of a body. Default: 16384; at most 65536."},
}

const (
	maxRequestPath = 2048 // characters
	maxAllowed     = 100  // patterns
)

// asking is what statements may request.
type asking struct {
	Paths       []string
	patterns    []*regexp.Regexp
	Query, Body int // most characters and bytes; 0: none
}

// compileAsking reads the params; nil if statements choose no requests.
func compileAsking(p spicepod.Params) (*asking, error) {
	paths, err1 := p.String("allowed_request_paths")
	query, err2 := word(p, "request_query_filters", "disabled", "enabled")
	body, err3 := word(p, "request_body_filters", "disabled", "enabled")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	a := &asking{}
	for pattern := range strings.SplitSeq(paths, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		r, ok := pathPattern(pattern)
		if !ok || len(a.Paths) >= maxAllowed {
			return nil, fault.New("params.allowed_request_paths", "write paths such as /shows/*, separated by commas, at most "+
				fmt.Sprint(maxAllowed), "%q is not a pattern of paths", truncate.Runes(pattern, 100))
		}
		a.Paths, a.patterns = append(a.Paths, pattern), append(a.patterns, r)
	}
	for _, x := range []struct {
		name, enabled, by string
		is                bool
		most, limit       int
		to                *int
	}{
		{"max_request_query_length", "request_query_filters", query, query == "enabled", 1024, 4096, &a.Query},
		{"max_request_body_bytes", "request_body_filters", body, body == "enabled", 16 << 10, 64 << 10, &a.Body},
	} {
		most, err := p.Int(x.name, x.most)
		switch {
		case err != nil:
			return nil, err
		case p.Has(x.name) && !x.is:
			return nil, fault.OfKey("params."+x.name, "set params."+x.enabled+": enabled", "params.%s has no effect with %s: %s",
				x.name, x.enabled, x.by)
		case most < 1 || most > x.limit:
			return nil, fault.New("params."+x.name, fmt.Sprintf("write a number from 1 to %d", x.limit),
				"%d is not a length", most)
		case x.is:
			*x.to = most
		}
	}
	if len(a.Paths) == 0 && a.Query == 0 && a.Body == 0 {
		return nil, nil
	}
	return a, nil
}

// pathPattern returns a pattern of paths as a regular expression.
func pathPattern(pattern string) (*regexp.Regexp, bool) {
	if !strings.HasPrefix(pattern, "/") || len(pattern) > maxRequestPath || climbs(pattern) ||
		strings.ContainsAny(pattern, "?#") || strings.ContainsFunc(pattern, unicode.IsControl) {
		return nil, false
	}
	var b strings.Builder
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "/**/"): // any parts, or none
			b.WriteString("(?:/.*)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 2 || strings.ContainsAny(rest[1:end], `[\/`) {
				return nil, false
			}
			set := rest[1:end]
			if set[0] == '!' {
				set = "^/" + set[1:]
			}
			b.WriteString("[" + set + "]")
			rest = rest[end+1:]
		default:
			end := strings.IndexAny(rest[1:]+"*", "*[/") + 1
			b.WriteString(regexp.QuoteMeta(rest[:end]))
			rest = rest[end:]
		}
	}
	r, err := regexp.Compile("^(?:" + b.String() + ")$")
	return r, err == nil
}

// climbs reports whether a path has a part that leads up or stays, also with encoded
// characters, or one that servers read in several ways.
func climbs(path string) bool {
	decoded, err := url.PathUnescape(path)
	if err != nil || strings.ContainsAny(decoded, `\`) {
		return true
	}
	for part := range strings.SplitSeq(decoded, "/") {
		if part == ".." || part == "." {
			return true
		}
	}
	return false
}

// requestSource is a URL below which statements choose what is requested.
type requestSource struct {
	*httpSource
	asking *asking
}

var _ source.Requester = (*requestSource)(nil)

// compileRequests returns the source of a declaration.
func (s *httpSource) compileRequests(a *asking) (source.Source, error) {
	u, err := url.Parse(s.d.From.Target)
	if err != nil || u.Host == "" {
		return nil, fault.New("from", "write https://host/path", "%q is not a URL", s.d.From.Shown)
	}
	format, err := s.d.Params.String("file_format")
	if err != nil {
		return nil, err
	}
	if format != "" && !strings.EqualFold(format, "json") {
		return nil, fault.New("params.file_format", "leave it out",
			"answers to requests of statements are JSON, not %s", format)
	}
	if _, err := s.newDownload(); err != nil {
		return nil, err
	}
	known := []string{"file_format"}
	for _, p := range knownParams {
		known = append(known, p.Name)
	}
	if err := s.d.Params.CheckKnown("a dataset whose statements choose the requests", known); err != nil {
		return nil, err
	}
	return &requestSource{s, a}, nil
}

// Check returns why a request is refused, or nil.
func (s *requestSource) Check(r source.Request) error {
	refused := func(hint, format string, args ...any) error {
		return fault.New("", hint, format, args...)
	}
	switch shown := truncate.Ellipsis(r.Path, 200); {
	case r.Path != "" && len(s.asking.Paths) == 0:
		return refused("set params.allowed_request_paths of the dataset",
			"request_path %q is not allowed: the dataset allows no paths", shown)
	case r.Path != "" && (len(r.Path) > maxRequestPath || !strings.HasPrefix(r.Path, "/") || climbs(r.Path) ||
		strings.ContainsAny(r.Path, "?#") || strings.ContainsFunc(r.Path, unicode.IsControl)):
		return refused("write a path such as /shows/82, and what follows ? as request_query",
			"request_path %q is not a path", shown)
	case r.Path != "" && !s.asking.allows(r.Path):
		return refused("request one of "+strings.Join(s.asking.Paths, ", ")+
			", or add it to params.allowed_request_paths of the dataset", "request_path %q is not allowed", shown)
	case r.Query != "" && s.asking.Query == 0:
		return refused("set params.request_query_filters: enabled", "request_query is not allowed by the dataset")
	case len([]rune(r.Query)) > s.asking.Query || strings.ContainsFunc(r.Query, unicode.IsControl) ||
		strings.Contains(r.Query, "#"):
		return refused("write name=value&name=value", "request_query is not a query of at most %d characters", s.asking.Query)
	case r.Body != "" && s.asking.Body == 0:
		return refused("set params.request_body_filters: enabled", "request_body is not allowed by the dataset")
	case len(r.Body) > s.asking.Body:
		return refused("send less, or raise params.max_request_body_bytes", "request_body has %d bytes; the limit is %d",
			len(r.Body), s.asking.Body)
	}
	return nil
}

// allows reports whether a path matches a pattern, also when a server decodes it.
func (a *asking) allows(path string) bool {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return false
	}
	match := func(path string) bool {
		for _, r := range a.patterns {
			if r.MatchString(path) {
				return true
			}
		}
		return false
	}
	return match(path) && match(decoded)
}

// requestColumns are the columns of the rows, with their types.
var requestColumns = [][2]string{
	{"request_path", "VARCHAR"},
	{"request_query", "VARCHAR"},
	{"request_body", "VARCHAR"},
	{"content", "VARCHAR"},
	{source.FetchedColumn, "TIMESTAMP WITH TIME ZONE"},
}

// Open returns a query without rows.
func (s *requestSource) Open(ctx context.Context) (*source.Opened, error) {
	nulls := make([]string, len(requestColumns))
	for i, c := range requestColumns {
		nulls[i] = "CAST(NULL AS " + c[1] + ") AS " + c[0]
	}
	opened := &source.Opened{Query: "SELECT * FROM (SELECT " + strings.Join(nulls, ", ") + " LIMIT 0)", Format: "json"}
	var err error
	opened.Columns, err = tables.Describe(ctx, s.DB, opened.Query)
	return opened, err
}

// Fetch requests rows.
func (s *requestSource) Fetch(ctx context.Context, r source.Request) (*source.Opened, source.Fetched, error) {
	f := source.Fetched{Request: r}
	if err := s.Check(r); err != nil {
		return nil, f, err
	}
	entry, err := s.store(ctx, &f)
	if err != nil {
		shown := s.d.From.Shown + r.Path
		if r.Query != "" {
			shown += "?" + r.Query
		}
		return nil, f, fetch.Failed(shown, err)
	}
	got := s.Cache.Once(entry)
	opened, err := s.opened(ctx, got)
	if err != nil || got.Size == 0 {
		resource.Release(got.Resource)
		return opened, f, err
	}
	opened.Resources = []*resource.Resource{got.Resource}
	return opened, f, nil
}

// opened returns a query over the rows in a file.
func (s *requestSource) opened(ctx context.Context, got *fetch.File) (*source.Opened, error) {
	opened, err := s.Open(ctx)
	if err != nil || got.Size == 0 {
		return opened, err
	}
	types := make([]string, len(requestColumns))
	for i, c := range requestColumns {
		types[i] = engine.Literal(c[0]) + ": " + engine.Literal(c[1])
	}
	opened.Query = "SELECT * FROM read_json(" + engine.Literal(fileformat.EscapeGlob(got.Path)) +
		", format = 'newline_delimited', columns = {" + strings.Join(types, ", ") + "})"
	return opened, nil
}

// store writes the rows of a request to a file.
func (s *requestSource) store(ctx context.Context, f *source.Fetched) (*fetch.Entry, error) {
	step := s.Progress.Start(s.d.Name, "fetch", -1)
	defer step.End()
	rows, err := s.Cache.Rows(fetch.Key("request", s.d.Name), s.MaxDownload, step)
	if err != nil {
		return nil, err
	}
	defer rows.Discard()
	if err := s.request(ctx, f, rows); err != nil {
		return nil, err
	}
	f.Rows = rows.Count
	entry, err := rows.Entry(s.Clock.Now())
	if err == nil {
		f.Bytes = entry.Size
	}
	return entry, err
}

func (s *requestSource) request(ctx context.Context, f *source.Fetched, rows *fetch.Rows) error {
	down, err := s.newDownload()
	if err != nil {
		return err
	}
	base, err := url.Parse(down.url)
	if err == nil && f.Path != "" {
		path := strings.TrimSuffix(base.EscapedPath(), "/") + f.Path
		base.RawPath = path
		base.Path, err = url.PathUnescape(path)
	}
	if err != nil {
		return fetch.Errorf("", "", "the URL cannot be requested")
	}
	if query := strings.TrimPrefix(f.Query, "?"); query != "" {
		if base.RawQuery != "" {
			base.RawQuery += "&"
		}
		base.RawQuery += encoded(query)
	}
	f.At = s.Clock.Now()
	client, pages := s.client(down), s.paging.pages(base)
	method, body := http.MethodGet, []byte(nil)
	if f.Body != "" {
		method, body = http.MethodPost, []byte(f.Body)
		if client.Header.Get("Content-Type") == "" {
			client.Header.Set("Content-Type", "application/json")
		}
	}
	var total int64
	for at := pages.first(); at != nil; {
		resp, err := client.Do(ctx, method, at, body)
		if err == nil {
			if total += int64(len(resp.Body)); total > s.MaxDownload {
				return fetch.TooLarge("the data", s.MaxDownload)
			}
			var read page
			if read, err = s.readRows(f, resp, rows); err == nil {
				at, err = pages.after(read, resp.Request.URL)
			}
		}
		if err != nil {
			return pages.failed(err)
		}
	}
	return nil
}

// encoded escapes the characters that a query may not have, and nothing else.
func encoded(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^`+"`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// readRows writes the rows of an answer.
func (s *requestSource) readRows(f *source.Fetched, resp *fetch.Response, rows *fetch.Rows) (page, error) {
	add := func(content string) error {
		row, err := json.Marshal(map[string]any{
			"request_path": f.Path, "request_query": f.Query, "request_body": f.Body, "content": content,
			source.FetchedColumn: f.At.UTC().Format("2006-01-02 15:04:05.999999+00"),
		})
		if err == nil {
			err = rows.Add(row)
		}
		return err
	}
	if !s.enabled() && !json.Valid(resp.Body) {
		return page{rows: 1}, add(strings.ToValidUTF8(string(resp.Body), "\ufffd"))
	}
	if text := strings.TrimSpace(string(resp.Body)); !s.enabled() && !strings.HasPrefix(text, "[") {
		return page{rows: 1}, add(text)
	}
	g := s.paging
	g.NoLinks = g.NoLinks || g.Off
	return g.read(resp.Header, resp.Body, func(row json.RawMessage) error { return add(string(row)) })
}
