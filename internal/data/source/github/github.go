// Package github is the connector for tables of repositories at GitHub: issues, pull
// requests, commits, stargazers and files. A load asks GitHub's API for all rows, and
// gathers them in a file of the cache.
//
//	connector := github.Kind.Open(source.Host{DB: db, Cache: cache, …})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
//
// The APIs: https://docs.github.com/en/graphql and https://docs.github.com/en/rest.
package github

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

const (
	endpoint = "https://api.github.com"
	timeout  = time.Minute // of an attempt
	attempts = 4
	maxBody  = 64 << 20 // bytes of an answer
)

// knownParams are those of the connector.
var knownParams = []spicepod.Param{
	{Name: "github_token", Secret: true, Doc: "A personal access token that may read the repository."},
	{
		Name: "github_endpoint",
		Doc: "URL of the API of GitHub Enterprise Server, such as `https://github.example.com/api/v3`. Default: `" +
			endpoint + "`.",
	},
	{
		Name: "github_query_mode",
		Doc:  "`auto` or `search`, which are the same here: all rows are listed; GitHub's search would have the first 1,000.",
	},
	{
		Name: "github_include_comments",
		Doc: "Of pull requests: `review` adds the column `review_comments`, `discussion` the column `discussion`, `all` " +
			"both. Default: `none`.",
	},
	{
		Name: "github_max_comments_fetched", Type: spicepod.ParamInt,
		Doc: "Comments of a discussion or of a thread of a review, at most 75. Default: 25.",
	},
	{Name: "include", Doc: "Of files: patterns of their paths, separated by `;`, such as `**/*.md; docs/*`. `*` matches " +
		"slashes, too."},
	{Name: "client_timeout", Type: spicepod.ParamDuration, Doc: "Timeout of a request. Default: 1m."},
	{Name: "max_retries", Type: spicepod.ParamInt, Doc: "How often a failed request is retried. Default: 3."},
}

// Connector reads tables of GitHub.
type Connector struct{ source.Host }

// repo is a table of a repository.
type repo struct {
	*Connector
	d           source.Declaration
	owner, name string
	table       string // issues, pulls, commits, stargazers, files
	ref         string // of files and commits; "" for commits: the default branch
	list        list   // unless the table is files
	include     []*regexp.Regexp
	api         *url.URL
	token       string
	timeout     time.Duration
	attempts    int
}

const fromHint = "write github:github.com/owner/repository/issues, pulls, commits, stargazers or files/branch"

var names = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// Compile checks the path and the params.
func (c *Connector) Compile(d source.Declaration) (source.Source, error) {
	r := &repo{Connector: c, d: d}
	if err := d.Params.CheckKnown("a dataset from github", spicepod.ParamNames(knownParams)); err != nil {
		return nil, err
	}
	if err := r.parse(d.From); err != nil {
		return nil, err
	}
	return r, cmp.Or(r.params(d.Params), r.tableParams(d.Params))
}

// parse reads github.com/owner/repo/table.
func (r *repo) parse(from source.From) error {
	wrong := func(format string, args ...any) error { return fault.New("from", fromHint, format, args...) }
	parts := strings.SplitN(strings.Trim(from.Target, "/"), "/", 5)
	if len(parts) < 4 || parts[0] != "github.com" {
		return wrong("%q is not a table of a repository", from.Shown)
	}
	r.owner, r.name, r.table = parts[1], parts[2], strings.ToLower(parts[3])
	if !names.MatchString(r.owner) || !names.MatchString(r.name) || strings.Trim(r.name, ".") == "" {
		return wrong("%q is not the name of a repository", r.owner+"/"+r.name)
	}
	if len(parts) == 5 {
		r.ref = parts[4]
	}
	var ok bool
	switch r.list, ok = lists[r.table]; {
	case r.table == "files" && r.ref == "":
		return wrong("the branch, tag or commit of the files is missing")
	case !ok && r.table != "files":
		return wrong("table %q is not served", parts[3])
	case r.ref != "" && r.table != "files":
		return wrong("%q is not a table of a repository", parts[3]+"/"+r.ref)
	}
	return nil
}

func (r *repo) params(p spicepod.Params) error {
	token, err1 := p.String("github_token")
	api, err2 := p.String("github_endpoint")
	limit, err3 := p.Duration("client_timeout", timeout)
	retries, err4 := p.Int("max_retries", attempts-1)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return err
	}
	if token == "" {
		return fault.New("params", "set params.github_token: ${secrets:GITHUB_TOKEN}",
			"the token for GitHub's API is missing")
	}
	var err error
	if r.api, err = url.Parse(strings.TrimRight(cmp.Or(api, endpoint), "/")); err != nil || r.api.Host == "" ||
		r.api.User != nil || r.api.RawQuery != "" || r.api.Scheme != "https" && r.api.Scheme != "http" {
		return fault.New("params.github_endpoint", "write https://host/api/v3", "%q is not the URL of an API of GitHub", api)
	}
	r.token, r.timeout, r.attempts = token, limit, 1+max(0, min(retries, 10))
	return nil
}

// tableParams reads the params of one table, which others must not have.
func (r *repo) tableParams(p spicepod.Params) error {
	for _, of := range [][2]string{
		{"include", "files"},
		{"github_include_comments", "pulls"},
		{"github_max_comments_fetched", "pulls"},
	} {
		if p.Has(of[0]) && r.table != of[1] {
			return fault.OfKey("params."+of[0], "remove it", "params.%s is one of %s, not of %s", of[0], of[1], r.table)
		}
	}
	mode, err1 := p.String("github_query_mode")
	which, err2 := p.String("github_include_comments")
	most, err3 := p.Int("github_max_comments_fetched", 25)
	include, err4 := p.String("include")
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "auto", "search"}, mode) {
		return fault.New("params.github_query_mode", "write auto or search", "%q is not a mode", mode)
	}
	if !slices.Contains([]string{"", "none", "review", "discussion", "all"}, which) {
		return fault.New("params.github_include_comments", "write none, review, discussion or all",
			"%q are not comments of pull requests", which)
	}
	if most < 1 || most > 75 {
		return fault.New("params.github_max_comments_fetched", "write a number from 1 to 75",
			"%d is not a number of comments", most)
	}
	if r.table == "pulls" {
		r.list = r.list.withComments(which, most)
	}
	var err error
	r.include, err = globs(include)
	return err
}

// globs returns the patterns of params.include.
func globs(text string) (patterns []*regexp.Regexp, err error) {
	replace := strings.NewReplacer(`**/`, `(.*/)?`, `**`, `.*`, `*`, `.*`, `\?`, `.`)
	for _, glob := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ',' }) {
		quoted := regexp.QuoteMeta(strings.TrimSpace(glob))
		pattern, err := regexp.Compile("^" + replace.Replace(strings.ReplaceAll(quoted, `\*`, `*`)) + "$")
		if err != nil {
			return nil, fault.New("params.include", "write **/*.md; docs/*", "%q is not a pattern", glob)
		}
		patterns = append(patterns, pattern)
	}
	return patterns, nil
}

// Open gathers the rows.
func (r *repo) Open(ctx context.Context) (*source.Opened, error) {
	gather, columns := r.gatherList, r.list.columns
	if r.table == "files" {
		gather, columns = r.gatherFiles, fileColumns
	}
	key := fetch.Key("github", r.api, r.token, r.d.From.Target, r.list.query(), r.include)
	file, err := r.Cache.Update(ctx, key, r.d.From.Shown, func(*fetch.Entry) (*fetch.Entry, error) {
		step := r.Progress.Start(r.d.Name, "fetch", -1)
		defer step.End()
		rows, err := r.Cache.Rows(key, r.MaxDownload, step)
		if err != nil {
			return nil, err
		}
		defer rows.Discard()
		if err := gather(ctx, rows); err != nil {
			return nil, err
		}
		return rows.Entry(r.Clock.Now())
	})
	if err != nil {
		return nil, err
	}
	opened, err := r.read(ctx, file, columns)
	if err != nil {
		resource.Release(file.Resource)
		return nil, err
	}
	opened.Stale, opened.Resources = file.Stale, []*resource.Resource{file.Resource}
	return opened, nil
}

// read returns a query of the rows.
func (r *repo) read(ctx context.Context, file *fetch.File, columns []column) (*source.Opened, error) {
	types := make([]string, len(columns))
	for i, c := range columns {
		types[i] = c.name + ": " + engine.Literal(c.kind)
	}
	query := "SELECT * FROM read_json(" + engine.Literal(fileformat.EscapeGlob(file.Path)) +
		", format = 'newline_delimited', columns = {" + strings.Join(types, ", ") + "})"
	described, err := tables.Describe(ctx, r.DB, query)
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	return &source.Opened{Query: query, Columns: described, Format: "json", Bytes: file.Size}, nil
}

// client returns what requests GitHub, which sends media of a type.
func (r *repo) client(accept string) *fetch.Client {
	return &fetch.Client{
		Header: http.Header{
			"Authorization": {"Bearer " + r.token}, "Accept": {accept}, "User-Agent": {"spiced"},
			"X-Github-Api-Version": {"2022-11-28"},
		},
		Timeout: r.timeout, Retries: fetch.Retries{Attempts: r.attempts}, MaxBody: min(maxBody, r.MaxDownload),
		Clock: r.Clock,
		Pace:  &fetch.Pace{}, Check: r.check,
	}
}
