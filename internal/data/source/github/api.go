package github

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

const (
	smallestPage = 5
	maxPages     = 100_000
	maxFiles     = 10_000
	maxContent   = 8 << 20 // bytes of a file
)

// answer is an answer of GraphQL.
type answer struct {
	Data struct {
		Repository map[string]any
	}
	Errors []struct{ Type, Message string }
}

// decode reads an answer. Numbers stay as they are.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fetch.Errorf("", "", "GitHub's answer is not what its API sends: %s",
			truncate.Line(err.Error(), fault.MaxMessage))
	}
	return nil
}

// check returns the error of an answer, in the words of GitHub.
func (r *repo) check(resp *fetch.Response) *fetch.Error {
	if resp.StatusCode == http.StatusOK {
		return r.checkGraphQL(resp)
	}
	e := fetch.Status(resp.Response)
	message, _ := httpx.Message(resp.Body)
	if message != "" {
		e.Message = fmt.Sprintf("GitHub answered %d: %s", resp.StatusCode, truncate.Line(message, fault.MaxMessage))
	}
	if e.After == 0 && strings.Contains(message, "secondary rate limit") {
		e.After = time.Minute // as GitHub asks for where it says no time
	}
	switch code := resp.StatusCode; {
	case (code == http.StatusForbidden || code == http.StatusTooManyRequests) &&
		(resp.Header.Get("X-Ratelimit-Remaining") == "0" || e.After > 0):
		r.limited(e, resp.Header)
	case code == http.StatusUnauthorized:
		e.Path, e.Hint = "params.github_token", "set it to a token that is neither expired nor revoked"
	case code == http.StatusForbidden:
		e.Path, e.Hint = "params.github_token", r.access()
	case code == http.StatusNotFound:
		e.Hint = "correct the repository or the branch, or " + r.access()
	}
	return e
}

// access is what a token needs.
func (r *repo) access() string {
	return fmt.Sprintf("give the token read access to the %s of %s/%s", cmp.Or(r.list.about, "contents"), r.owner, r.name)
}

// limited sets how long to wait for the rate limit.
func (r *repo) limited(e *fetch.Error, h http.Header) {
	e.Again, e.Message = true, "GitHub's rate limit is used up"
	if at, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil &&
		h.Get("X-Ratelimit-Remaining") == "0" {
		reset := time.Unix(at, 0).UTC()
		e.Message += " until " + reset.Format(time.RFC3339)
		e.After = max(e.After, reset.Sub(r.Clock.Now())+time.Second)
	}
	e.Hint = "refresh less often, or use a token of its own"
}

// checkGraphQL returns the error of an answer of GraphQL, which has the status 200.
func (r *repo) checkGraphQL(resp *fetch.Response) *fetch.Error {
	if resp.Request.Method != http.MethodPost {
		return nil
	}
	var a answer
	if err := decode(resp.Body, &a); err != nil {
		var e *fetch.Error
		errors.As(err, &e)
		return e
	}
	if len(a.Errors) == 0 {
		return nil
	}
	first := a.Errors[0]
	e := fetch.Errorf("", "", "GitHub: %s", truncate.Line(first.Message, fault.MaxMessage))
	switch first.Type {
	case "RATE_LIMITED", "RATE_LIMIT":
		e.After = httpx.RetryAfter(resp.Header)
		r.limited(e, resp.Header)
	case "NOT_FOUND":
		e.Gone, e.Hint = true, "correct the repository, or "+r.access()
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		e.Path, e.Hint = "params.github_token", r.access()
	case "": // such as a timeout
		e.Again, e.Status = true, http.StatusBadGateway
	}
	return e
}

// gatherList asks for the pages of a list.
func (r *repo) gatherList(ctx context.Context, rows *fetch.Rows) error {
	u := r.graphQL()
	client, fixed := r.client("application/json"), r.fixed()
	size, after, seen := r.list.size, any(nil), map[string]bool{}
	for range maxPages {
		body, err := json.Marshal(map[string]any{
			"query":     r.list.query(),
			"variables": map[string]any{"owner": r.owner, "name": r.name, "first": size, "after": after},
		})
		if err != nil {
			return err
		}
		resp, err := client.Do(ctx, http.MethodPost, u, body)
		var e *fetch.Error
		if errors.As(err, &e) && (e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout) &&
			size > smallestPage {
			size = max(size/2, smallestPage) // GitHub limits the time of a query
			continue
		}
		if err != nil {
			return err
		}
		next, err := r.page(resp.Body, rows, fixed)
		if err != nil || next == "" {
			return err
		}
		if seen[next] {
			return fetch.Errorf("", "", "GitHub sent a page that has been read")
		}
		seen[next], after = true, next
	}
	return fetch.Errorf("", "", "there are more than %d pages", maxPages)
}

// page writes the rows of a page, and returns the cursor of the next one, or "".
func (r *repo) page(body []byte, rows *fetch.Rows, fixed map[string]any) (next string, err error) {
	var a answer
	if err := decode(body, &a); err != nil {
		return "", err
	}
	if a.Data.Repository == nil {
		return "", fetch.Errorf("", "", "GitHub's answer has no repository")
	}
	connection := at(a.Data.Repository, r.list.path)
	if connection == nil && r.table == "commits" {
		return "", nil // the repository is empty
	}
	nodes, ok := at(connection, []string{r.list.nodes}).([]any)
	if !ok {
		return "", fetch.Errorf("", "", "GitHub's answer has no list of %s", r.table)
	}
	if ref, ok := at(a.Data.Repository, []string{"branch", "name"}).(string); ok {
		fixed["ref"] = ref
	}
	for _, node := range nodes {
		if err := add(rows, row(r.list.columns, node, fixed)); err != nil {
			return "", err
		}
	}
	more, _ := at(connection, []string{"pageInfo", "hasNextPage"}).(bool)
	next, _ = at(connection, []string{"pageInfo", "endCursor"}).(string)
	if !more {
		return "", nil
	}
	if next == "" {
		return "", fetch.Errorf("", "", "GitHub's answer has no cursor of the next page")
	}
	return next, nil
}

func add(rows *fetch.Rows, row map[string]any) error {
	encoded, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return rows.Add(encoded)
}

// fixed are the values that all rows have. GitHub does not distinguish the case of names.
func (r *repo) fixed() map[string]any {
	return map[string]any{"owner": strings.ToLower(r.owner), "repo": strings.ToLower(r.name)}
}

// graphQL returns the URL of GraphQL: that of an Enterprise Server is next to /api/v3.
func (r *repo) graphQL() *url.URL {
	u := *r.api
	u.Path = strings.TrimSuffix(u.Path, "/v3") + "/graphql"
	return &u
}

// tree is a folder with all that is below it.
type tree struct {
	Tree []struct {
		Path, Mode, Type, SHA, URL string
		Size                       int64
	}
	Truncated bool
}

var objectName = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// gatherFiles asks for the tree of the files, and for the content of each that is wanted.
func (r *repo) gatherFiles(ctx context.Context, rows *fetch.Rows) error {
	git := r.api.JoinPath("repos", r.owner, r.name, "git")
	u, err := url.Parse(git.String() + "/trees/" + url.PathEscape(r.ref) + "?recursive=1")
	if err != nil {
		return err
	}
	resp, err := r.client("application/vnd.github+json").Do(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	var t tree
	if err := decode(resp.Body, &t); err != nil {
		return err
	}
	if t.Truncated {
		return fetch.Errorf("", "", "the repository has more files than GitHub's API lists")
	}
	client := r.client("application/vnd.github.raw+json")
	for _, f := range t.Tree {
		if f.Type != "blob" || !r.wanted(f.Path) {
			continue
		}
		if rows.Count >= maxFiles {
			return fetch.Errorf("params.include", "set params.include to patterns of those that are needed, such as **/*.md",
				"more than %d files match", maxFiles)
		}
		if !objectName.MatchString(f.SHA) {
			return fetch.Errorf("", "", "GitHub sent %q as the name of a file's content", truncate.Line(f.SHA, 80))
		}
		file := r.fixed()
		maps.Copy(file, map[string]any{
			"name": path.Base(f.Path), "path": f.Path, "ref": r.ref, "size": f.Size, "sha": f.SHA, "mode": f.Mode, "url": f.URL,
			"download_url": r.download(f.Path),
		})
		if f.Size <= maxContent {
			resp, err := client.Do(ctx, http.MethodGet, git.JoinPath("blobs", f.SHA), nil)
			if err != nil {
				return err
			}
			file["content"] = content(resp.Body)
		}
		if err := add(rows, file); err != nil {
			return err
		}
	}
	return nil
}

// content returns the bytes as a text, or nil if they are not one, or too many as JSON.
func content(b []byte) any {
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return nil
	}
	if encoded, err := json.Marshal(string(b)); err != nil || len(encoded) > 2*maxContent-1<<16 {
		return nil
	}
	return string(b)
}

// wanted reports whether params.include matches a path.
func (r *repo) wanted(path string) bool {
	for _, pattern := range r.include {
		if pattern.MatchString(path) {
			return true
		}
	}
	return len(r.include) == 0
}

// download returns the URL at which GitHub's site has a file.
func (r *repo) download(path string) string {
	u := &url.URL{Scheme: r.api.Scheme, Host: r.api.Host}
	if r.api.String() == endpoint {
		u = &url.URL{Scheme: "https", Host: "raw.githubusercontent.com"}
		return u.JoinPath(r.owner, r.name, r.ref).String() + (&url.URL{Path: "/" + path}).EscapedPath()
	}
	return u.JoinPath(r.owner, r.name, "raw", r.ref).String() + (&url.URL{Path: "/" + path}).EscapedPath()
}
