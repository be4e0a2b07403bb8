package https

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

// Params of JSON APIs. Spice has them by these names.
var pageParams = []spicepod.Param{
	{Name: "pagination", Doc: "`auto` (default): JSON is read page by page if the server sends a `Link` to the next " +
		"one. `enabled`: the URL is a JSON API, which is read as the params below say. `disabled`: one answer is read."},
	{
		Name: "pagination_data_pointer",
		Doc: "JSON pointer (RFC 6901) to the rows in each page, such as `/data`. An array has one row for each element, " +
			"an object is one row. Default: the whole page.",
	},
	{
		Name: "pagination_next_pointer",
		Doc:  "JSON pointer to the URL of the next page in each page, or to its token if `pagination_token_param` is set.",
	},
	{Name: "pagination_token_param", Doc: "Query parameter that takes the token."},
	{Name: "pagination_link_header", Doc: "`disabled`: the header `Link` (RFC 8288) is ignored."},
	{
		Name: "pagination_query_params",
		Doc: "Query parameters of each page, with `{page}` (from 1), `{offset}` (from 0) and `{limit}`, such as " +
			"`page={page}&size={limit}`. A page with fewer rows than `pagination_page_size` is the last.",
	},
	{Name: "pagination_page_size", Type: spicepod.ParamInt, Doc: "Rows of a page."},
	{Name: "pagination_max_pages", Doc: "How many pages are read, or `nolimit`. Default: 100, and more are an error."},
	{Name: "pagination_data_map_to_array", Doc: "`enabled`: the values of an object are the rows."},
	{Name: "requests_per_second_limit", Type: spicepod.ParamNumber, Doc: "Requests for pages of a host per second."},
	{Name: "requests_per_minute_limit", Type: spicepod.ParamNumber, Doc: "Requests for pages of a host per minute."},
}

const (
	defaultPages = 100
	manyPages    = 1_000_000 // nolimit
	maxPage      = 64 << 20  // bytes
)

// paging is how the pages of a JSON API are read.
type paging struct {
	Auto, Off  bool
	Data, Next pointer
	Token      string // query parameter
	NoLinks    bool
	Query      string // template
	Size       int
	MaxPages   int
	Asked      bool // for MaxPages pages
	Map        bool // objects have rows
}

// compilePaging reads the params.
func compilePaging(p spicepod.Params) (g paging, err error) {
	mode, err1 := word(p, "pagination", "auto", "enabled", "disabled")
	links, err2 := word(p, "pagination_link_header", "enabled", "disabled")
	asMap, err3 := word(p, "pagination_data_map_to_array", "disabled", "enabled")
	data, err4 := pointerParam(p, "pagination_data_pointer")
	next, err5 := pointerParam(p, "pagination_next_pointer")
	token, err6 := p.String("pagination_token_param")
	query, err7 := p.String("pagination_query_params")
	size, err8 := p.Int("pagination_page_size", 0)
	if err := cmp.Or(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		return g, err
	}
	g = paging{
		Auto: mode == "auto", Off: mode == "disabled", Data: data, Next: next, Token: token,
		NoLinks: links == "disabled", Query: query, Size: size, Map: asMap == "enabled",
	}
	if mode != "enabled" {
		for _, x := range pageParams[1:] {
			if p.Has(x.Name) && strings.HasPrefix(x.Name, "pagination_") && (x.Name != "pagination_max_pages" || g.Off) {
				return g, fault.OfKey("params."+x.Name, "set params.pagination: enabled",
					"params.%s has no effect with pagination: %s", x.Name, mode)
			}
		}
	}
	if g.MaxPages, g.Asked, err = maxPages(p); err != nil {
		return g, err
	}
	return g, g.check(p)
}

// check returns the fault of params that do not go together.
func (g *paging) check(p spicepod.Params) error {
	switch {
	case g.Token != "" && g.Next == nil:
		return fault.New("params.pagination_token_param", "set params.pagination_next_pointer to where the token is",
			"a token without a pointer to it")
	case g.Query != "" && g.Next != nil:
		return fault.New("params.pagination_query_params", "set one of them",
			"params.pagination_next_pointer finds the next page, too")
	case g.Query == "" && p.Has("pagination_page_size"):
		return fault.New("params.pagination_page_size",
			"set params.pagination_query_params, for example page={page}&size={limit}",
			"a size of pages without query parameters")
	case g.Query == "":
		return nil
	case g.Size < 1:
		return fault.New("params.pagination_query_params",
			"set params.pagination_page_size: a page with fewer rows is the last one",
			"query parameters without the size of a page")
	case !strings.Contains(g.Query, "{page}") && !strings.Contains(g.Query, "{offset}"):
		return fault.New("params.pagination_query_params", "write {page} or {offset} where its number goes",
			"every page would be the first")
	}
	if _, err := url.ParseQuery(g.query(1)); err != nil {
		return fault.New("params.pagination_query_params", "write name={page}&name={limit}",
			"%q are not query parameters", g.Query)
	}
	return nil
}

// word returns a param that is one of some words; the first is the default.
func word(p spicepod.Params, name string, words ...string) (string, error) {
	text, err := p.String(name)
	if err != nil || text == "" {
		return words[0], err
	}
	for _, w := range words {
		if strings.EqualFold(text, w) {
			return w, nil
		}
	}
	return "", fault.New("params."+name, "write "+strings.Join(words, ", "), "%q is not a value of %s", text, name)
}

func maxPages(p spicepod.Params) (pages int, asked bool, err error) {
	const name = "pagination_max_pages"
	text, err := p.String(name)
	switch {
	case err != nil || text == "":
		return defaultPages, false, err
	case strings.EqualFold(text, "nolimit"):
		return manyPages, false, nil
	}
	if pages, err = strconv.Atoi(text); err != nil || pages < 1 || pages > manyPages {
		return 0, false, fault.New("params."+name, "write a number of pages, or nolimit", "%q is not a number of pages", text)
	}
	return pages, true, nil
}

// query returns the query parameters of a page from 1.
func (g *paging) query(page int) string {
	return strings.NewReplacer("{page}", strconv.Itoa(page), "{offset}", strconv.Itoa((page-1)*g.Size), "{limit}",
		strconv.Itoa(g.Size)).Replace(g.Query)
}

// pointer is a JSON pointer; nil: none.
type pointer []string

func pointerParam(p spicepod.Params, name string) (pointer, error) {
	text, err := p.String(name)
	if err != nil || text == "" {
		return nil, err
	}
	if !strings.HasPrefix(text, "/") {
		return nil, fault.New("params."+name, "write /key or /key/key", "%q is not a JSON pointer", text)
	}
	tokens := strings.Split(text[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens, nil
}

// find returns the value of a valid document that p points to.
func (p pointer) find(doc json.RawMessage) (value json.RawMessage, ok bool) {
	for _, token := range p {
		switch doc = bytes.TrimLeft(doc, " \t\r\n"); {
		case bytes.HasPrefix(doc, []byte("{")):
			var members map[string]json.RawMessage
			if json.Unmarshal(doc, &members) != nil {
				return nil, false
			}
			if doc, ok = members[token]; !ok {
				return nil, false
			}
		case bytes.HasPrefix(doc, []byte("[")):
			var elements []json.RawMessage
			i, err := strconv.Atoi(token)
			if err != nil || json.Unmarshal(doc, &elements) != nil || i < 0 || i >= len(elements) {
				return nil, false
			}
			doc = elements[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// String returns the pointer as it is written.
func (p pointer) String() string {
	var b strings.Builder
	for _, t := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
}

// page is what is known of a page that was read.
type page struct {
	rows int
	next string // URL or token of the next page; "": none
}

// read adds the rows of a page.
func (g *paging) read(header http.Header, body []byte, add func(json.RawMessage) error) (p page, err error) {
	if !json.Valid(body) {
		given := header.Get("Content-Type")
		if strings.Contains(given, "json") {
			return p, fetch.Errorf("", "open the URL to see what the server sends",
				"the body of the answer is not JSON, though its type is %q", given)
		}
		return p, fetch.Errorf("", "", "the answer is not JSON, but %q", cmp.Or(given, "of an unknown type"))
	}
	data, ok := g.Data.find(body)
	if !ok {
		return p, fetch.Errorf("params.pagination_data_pointer", "write the pointer to the rows, for example /data",
			"the answer has nothing at %s", g.Data)
	}
	rows, err := g.rows(data)
	if err != nil {
		return p, err
	}
	for _, row := range rows {
		if err := add(row); err != nil {
			return p, err
		}
	}
	p.rows = len(rows)
	switch {
	case g.Query != "":
	case g.Next != nil:
		p.next, err = g.nextIn(body)
	case !g.NoLinks:
		p.next = httpx.NextLink(header)
	}
	return p, err
}

// rows splits data.
func (g *paging) rows(data json.RawMessage) (rows []json.RawMessage, err error) {
	switch data = bytes.TrimLeft(data, " \t\r\n"); {
	case bytes.HasPrefix(data, []byte("[")):
		err = json.Unmarshal(data, &rows)
	case bytes.HasPrefix(data, []byte("{")) && g.Map:
		d := json.NewDecoder(bytes.NewReader(data))
		_, err = d.Token()
		for err == nil && d.More() {
			var value json.RawMessage
			if _, err = d.Token(); err == nil {
				err = d.Decode(&value)
			}
			rows = append(rows, value)
		}
	case bytes.HasPrefix(data, []byte("{")):
		rows = []json.RawMessage{data}
	case !bytes.HasPrefix(data, []byte("null")):
		return nil, fetch.Errorf("params.pagination_data_pointer", "write the pointer to the rows, for example /data",
			"the answer has neither an array nor an object at %s", cmp.Or(g.Data.String(), "its top"))
	}
	if err != nil {
		return nil, fetch.Errorf("", "", "the answer is not JSON: %s", err)
	}
	return rows, nil
}

// nextIn returns what pagination_next_pointer points to.
func (g *paging) nextIn(body []byte) (string, error) {
	value, _ := g.Next.find(body)
	var decoded any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	_ = d.Decode(&decoded) // nil if there is none
	switch v := decoded.(type) {
	case string:
		return v, nil
	case json.Number:
		if g.Token != "" {
			return v.String(), nil
		}
	case nil:
		return "", nil
	case bool:
		if !v {
			return "", nil
		}
	}
	return "", fetch.Errorf("params.pagination_next_pointer", "write the pointer to a text",
		"the answer has no URL or token at %s", g.Next)
}

// pages goes from page to page.
type pages struct {
	*paging
	base   *url.URL // `from`
	number int      // of the page that is read
	seen   map[uint64]bool
	seed   maphash.Seed
}

func (g *paging) pages(base *url.URL) *pages {
	return &pages{paging: g, base: base, number: 1, seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
}

func (p *pages) first() *url.URL {
	if p.Query == "" {
		return p.base
	}
	return p.numbered()
}

// numbered returns the URL of the page with p.number.
func (p *pages) numbered() *url.URL {
	u := *p.base
	query, _ := url.ParseQuery(p.query(p.number)) // as checked
	return withQuery(u, query)
}

// withQuery replaces query parameters of a URL.
func withQuery(u url.URL, query url.Values) *url.URL {
	all := u.Query()
	for name, values := range query {
		all[name] = values
	}
	u.RawQuery = all.Encode()
	return &u
}

// after returns the URL of the next page, or nil after the last one. It is on the host of
// `from`: another one must not get the headers, nor may a server make the runtime
// request what it cannot reach itself.
func (p *pages) after(read page, at *url.URL) (next *url.URL, err error) {
	more := read.next != ""
	if p.Query != "" {
		more = read.rows >= p.Size
	}
	if !more || p.Asked && p.number >= p.MaxPages {
		return nil, nil
	}
	if p.number >= p.MaxPages {
		return nil, fetch.Errorf("from", "set params.pagination_max_pages: to a number to read that many, or to nolimit",
			"there are more than %d pages", p.MaxPages)
	}
	p.number++
	switch {
	case p.Query != "":
		return p.numbered(), nil
	case p.Token != "":
		next = withQuery(*p.base, url.Values{p.Token: {read.next}})
	default:
		if next, err = at.Parse(read.next); err != nil {
			return nil, fetch.Errorf("from", "", "the URL of the next page is not valid")
		}
		next.User, next.Fragment = p.base.User, "" // no others are sent
		if next.Scheme != p.base.Scheme || !strings.EqualFold(next.Host, p.base.Host) {
			return nil, fetch.Errorf("from", "write the URL in `from` as the server writes that of the next page",
				"the next page is at %q, which is not the host of the first one",
				(&url.URL{Scheme: next.Scheme, Host: next.Host}).String())
		}
	}
	key := maphash.String(p.seed, next.String())
	if p.seen[key] || next.String() == p.first().String() {
		return nil, fetch.Errorf("from", "", "the next page is one that has been read")
	}
	p.seen[key] = true
	return next, nil
}

// failed returns an error with the number of the page. The pages are not all read again.
func (p *pages) failed(err error) error {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Again, named.Gone = false, e.Gone && p.number == 1
	if p.number > 1 {
		named.Message = fmt.Sprintf("page %d: %s", p.number, e.Message)
	}
	return &named
}
