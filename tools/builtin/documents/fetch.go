package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/publicnet"
	"github.com/spiced-sql/spiced/internal/kit/readable"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of fetch_web_page.
const (
	MaxPage   = 2 << 20 // bytes of a page
	MaxTags   = 50_000  // of its HTML
	PageTime  = 20 * time.Second
	userAgent = "spiced (fetch_web_page)"
)

// fetcher fetches pages.
type fetcher struct{ client *http.Client }

func newFetcher(hosts []string) *fetcher { return &fetcher{publicnet.Client(hosts)} }

// webPage is the answer of fetch_web_page.
type webPage struct {
	URL        string `json:"url"` // after redirects
	Title      string `json:"title,omitempty"`
	Author     string `json:"author,omitempty"`
	Published  string `json:"published,omitempty"`
	Content    string `json:"content"`
	Offset     int64  `json:"offset"`
	Length     int64  `json:"length"`
	Characters int64  `json:"characters"` // of the whole page
	More       bool   `json:"more"`
	Next       *int64 `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`
}

// fetchPage answers fetch_web_page.
func (t *toolset) fetchPage(ctx context.Context, _ *definition, in tools.Input) (any, error) {
	text, _ := in.Arguments["url"].(string)
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, tools.NewError(errcode.InvalidArguments, quoted(text)+" is not a URL", "write https://host/path")
	}
	if err := publicnet.Check(u); err != nil {
		return nil, tools.NewError(errcode.InvalidArguments, err.Error(), "write https://host/path")
	}
	u.Fragment = ""
	p, err := t.fetch.page(ctx, u)
	if err != nil {
		return nil, err
	}
	content := []rune(p.Content)
	part := readResult{Characters: int64(len(content))}
	offset, length := number(in, "offset", 0), number(in, "length", 20_000)
	start := min(offset, int64(len(content)))
	part.Content = string(content[start:min(start+length, int64(len(content)))])
	part.page(in)
	p.Content, p.Offset, p.Length, p.Characters, p.More, p.Next = part.Content, part.Offset, part.Length, part.Characters,
		part.More, part.Next
	return p, nil
}

// page fetches a page and reads it.
func (f *fetcher) page(ctx context.Context, u *url.URL) (*webPage, error) {
	ctx, cancel := context.WithTimeout(ctx, PageTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, tools.NewError(errcode.InvalidArguments,
			quoted(u.String())+" cannot be requested", "write https://host/path")
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "text/html, text/markdown, text/plain;q=0.9, application/json;q=0.8, */*;q=0.1")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, failedFetch(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, tools.NewError(errcode.Execution, fmt.Sprintf("the page answers with status %d %s", response.StatusCode,
			http.StatusText(response.StatusCode)), "")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxPage+1))
	if err != nil {
		return nil, failedFetch(ctx, err)
	}
	p := &webPage{URL: response.Request.URL.String()}
	if len(body) > MaxPage {
		body = body[:MaxPage]
		p.Note = fmt.Sprintf("the page has more than %d bytes; the rest is left out", MaxPage)
	}
	return p, p.read(body, response)
}

// failedFetch is the error of a page that cannot be fetched. It names no address: what a name of a
// private network means is not for models.
func failedFetch(ctx context.Context, err error) error {
	switch {
	case publicnet.Refused(err) != nil:
		return tools.NewError(errcode.Refused, publicnet.Refused(err).Error(), "")
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return tools.NewError(errcode.Timeout, fmt.Sprintf("the page did not answer within %s", PageTime), "")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var failed *tools.Error = tools.NewError(errcode.Execution, "the page cannot be fetched", "check the address")
	failed.Cause = httpx.Cause(err)
	return failed
}

// read reads what is readable of a page.
func (p *webPage) read(body []byte, response *http.Response) error {
	contentType := response.Header.Get("Content-Type")
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(strings.Split(contentType, ";")[0]))
	}
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		page, err := readable.Parse(body, readable.Options{
			ContentType: contentType, URL: response.Request.URL, MaxBytes: MaxPage, MaxTags: MaxTags,
		})
		if err != nil {
			return tools.NewError(errcode.Execution, "the page cannot be read: "+err.Error(), "")
		}
		p.Title, p.Author, p.Content = page.Title, page.Author, page.Markdown
		if !page.Published.IsZero() {
			p.Published = page.Published.Format(time.DateOnly)
		}
		if strings.TrimSpace(p.Content) == "" && p.Note == "" {
			p.Note = "the page has no readable text; it may be made by scripts, which are not run"
		}
	case strings.HasPrefix(media, "text/"), slices.Contains(textTypes, media), strings.HasSuffix(media, "+json"),
		strings.HasSuffix(media, "+xml"):
		p.Content = strings.ToValidUTF8(string(body), "\uFFFD")
		if !utf8.Valid(body) && p.Note == "" {
			p.Note = "the text is not UTF-8; characters that could not be read are replaced"
		}
	default:
		return tools.NewError(errcode.Execution, "the page is "+quoted(media)+", which has no readable text",
			"HTML, plain text, Markdown, JSON and XML are read")
	}
	return nil
}

// textTypes are types of texts that do not begin with text/.
var textTypes = []string{"application/json", "application/xml", "application/javascript", "application/yaml"}
