// Package readable turns a web page into Markdown: the text of the page without
// menus, advertising and scripts, with its title and author.
//
//	page, err := readable.Parse(data, readable.Options{ContentType: "text/html; charset=iso-8859-1"})
//	fmt.Println(page.Title, page.Markdown)
//
// Pages come from strangers, so what one may cost is bounded: bytes, elements, depth
// and Markdown. A page at these limits takes about two seconds and 300 MB; callers that
// cannot afford them set lower limits.
package readable

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Defaults of Options.
const (
	MaxBytes    = 5 << 20 // bytes of HTML
	MaxTags     = 100_000 // "<" in the HTML, an upper bound of its elements
	MaxDepth    = 200     // elements within elements
	MaxMarkdown = 5 << 20 // bytes of Markdown
)

const maxField = 1000 // bytes of a title or an author

// Options say where a page comes from and what it may cost. Zero values are the defaults.
type Options struct {
	ContentType string   // of the HTTP response; its charset goes before that of the page
	URL         *url.URL // links are relative to it; without it they stay as they are
	Whole       bool     // all of the body, without a choice of what is its text
	MaxBytes    int
	MaxTags     int
	MaxDepth    int
	MaxMarkdown int
}

// Page is what a reader sees of a web page.
type Page struct {
	Title, Author, Language string
	Published               time.Time // zero where the page does not tell
	Markdown                string
	Truncated               bool // the Markdown was longer than Options.MaxMarkdown
}

// Parse returns the text of a page. A page from which no text can be chosen, such as a
// list of links, is returned as a whole.
func Parse(data []byte, o Options) (Page, error) {
	o.fill()
	text, err := decode(data, o)
	if err != nil {
		return Page{}, err
	}
	doc, err := parse(text, o)
	if err != nil {
		return Page{}, err
	}
	p := Page{Title: titleOf(doc)}
	chosen := (*html.Node)(nil)
	if !o.Whole && work(doc, 0) <= maxWork {
		chosen = p.choose(doc, o)
	}
	if chosen == nil {
		if chosen = find(doc, "body"); chosen == nil {
			chosen = doc
		}
	}
	markdown, err := toMarkdown(chosen, o)
	if err != nil {
		return Page{}, fmt.Errorf("cannot write the page as Markdown: %w", err)
	}
	// Readability takes the first heading for the title, which it leaves out.
	if first := heading(doc); first != "" && !strings.Contains(markdown, first) {
		markdown = "# " + first + "\n\n" + markdown
	}
	p.Markdown = truncate.Bytes(markdown, o.MaxMarkdown)
	p.Truncated = len(p.Markdown) < len(markdown)
	return p, nil
}

func (o *Options) fill() {
	for _, f := range []struct {
		value     *int
		otherwise int
	}{{&o.MaxBytes, MaxBytes}, {&o.MaxTags, MaxTags}, {&o.MaxDepth, MaxDepth}, {&o.MaxMarkdown, MaxMarkdown}} {
		if *f.value <= 0 {
			*f.value = f.otherwise
		}
	}
}

// decode returns the page as UTF-8: from the charset of a byte order mark, of the response
// or of the page, in this order, as browsers choose it. Without any of them, a page that is
// valid UTF-8 is UTF-8: charset would look at its first 1024 bytes only.
func decode(data []byte, o Options) ([]byte, error) {
	if len(data) > o.MaxBytes {
		return nil, fmt.Errorf("the page has more than %d bytes", o.MaxBytes)
	}
	enc, _, certain := charset.DetermineEncoding(data, o.ContentType)
	if !certain && utf8.Valid(data) {
		return data, nil
	}
	text, _, err := transform.Bytes(unicode.BOMOverride(enc.NewDecoder()), data)
	if err != nil {
		return nil, fmt.Errorf("cannot decode the page: %w", err)
	}
	return text, nil
}

// formatting matches the tags that the HTML standard opens again in every later paragraph
// until they are closed ("reconstruct the active formatting elements"): 500 of them before
// a million paragraphs would be 500 million elements. As elements of other names they end
// with their paragraph, and the elements are as many as the tags. <a> is not one of them,
// because the next <a> closes it.
var formatting = regexp.MustCompile(`(?i)(</?)(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)([\s/>])`)

const renamed = "x-was-"

func parse(text []byte, o Options) (*html.Node, error) {
	if n := bytes.Count(text, []byte("<")); n > o.MaxTags {
		return nil, fmt.Errorf("the page has more than %d tags", o.MaxTags)
	}
	doc, err := html.Parse(bytes.NewReader(formatting.ReplaceAll(text, []byte("${1}"+renamed+"${2}${3}"))))
	if err != nil {
		return nil, fmt.Errorf("cannot read the page: %s", strings.TrimPrefix(err.Error(), "html: "))
	}
	// Readability and the Markdown converter are recursive.
	if !settle(doc, o.MaxDepth, maxIndent) {
		return nil, fmt.Errorf("the page has elements in more than %d others", o.MaxDepth)
	}
	return doc, nil
}

// Bounds of what the converter repeats: a line in a quote or a list is written once for each
// of those around it, and a cell once for each column it spans.
const (
	maxIndent = 12
	maxSpan   = 50
)

// settle gives elements their own names back, bounds quotes, lists and cells of tables, and
// reports whether no element is too deep.
func settle(n *html.Node, depth, indent int) bool {
	if depth < 0 {
		return false
	}
	if name, ok := strings.CutPrefix(n.Data, renamed); ok && n.Type == html.ElementNode {
		n.Data = name
	}
	switch n.Data {
	case "blockquote", "ul", "ol":
		if indent--; indent < 0 {
			n.Data = "div"
		}
	}
	for i, a := range n.Attr {
		if a.Key == "colspan" || a.Key == "rowspan" {
			if span, err := strconv.Atoi(a.Val); err != nil || span > maxSpan {
				n.Attr[i].Val = "1"
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !settle(c, depth-1, indent) {
			return false
		}
	}
	return true
}

// maxWork bounds the bytes that readability collects: the text of an element again for each
// element around it. Ordinary pages have less than a tenth; others are returned as a whole.
const maxWork = 100 << 20

func work(n *html.Node, depth int) int {
	sum := (len(n.Data) + 64) * depth
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		sum += work(c, depth+1)
	}
	return sum
}

// choose returns the element that has the text of the page, or nil if a choice would lose
// most of what the page says: readability looks for articles.
func (p *Page) choose(doc *html.Node, o Options) *html.Node {
	all := textSize(doc)
	parser := readability.NewParser()
	article, err := parser.ParseDocument(doc, o.URL)
	if err != nil {
		return nil
	}
	p.Author, p.Language = field(article.Byline()), field(article.Language())
	if title := field(article.Title()); title != "" {
		p.Title = title
	}
	if at, err := article.PublishedTime(); err == nil {
		p.Published = at
	}
	if article.Node == nil || textSize(article.Node)*4 < all {
		return nil
	}
	return article.Node
}

func field(s string) string { return strings.TrimSpace(truncate.Line(s, maxField)) }

func titleOf(doc *html.Node) string {
	if n := find(doc, "title"); n != nil && n.FirstChild != nil {
		return field(n.FirstChild.Data)
	}
	return ""
}

// heading returns the text of the first h1, or "".
func heading(doc *html.Node) string {
	var b strings.Builder
	var text func(n *html.Node)
	text = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil && b.Len() < maxField; c = c.NextSibling {
			text(c)
		}
	}
	if h := find(doc, "h1"); h != nil {
		text(h)
	}
	return field(b.String())
}

func find(n *html.Node, name string) *html.Node {
	if n.Type == html.ElementNode && n.Data == name {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, name); found != nil {
			return found
		}
	}
	return nil
}

// textSize counts the bytes of text that are no white space, outside of what readers do
// not see or do not come for.
func textSize(n *html.Node) (size int) {
	switch {
	case n.Type == html.TextNode:
		for _, word := range strings.Fields(n.Data) {
			size += len(word)
		}
	case n.Type == html.ElementNode:
		switch n.Data {
		case "head", "script", "style", "noscript", "template", "nav", "footer", "aside", "form", "svg", "iframe":
			return 0
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		size += textSize(c)
	}
	return size
}

func toMarkdown(n *html.Node, o Options) (markdown string, err error) {
	defer func() {
		if r := recover(); r != nil { // a defect of the library must not end the program
			err = errors.Join(err, fmt.Errorf("the converter failed: %v", r))
		}
	}()
	// Without escapes: the Markdown is read and searched, seldom rendered, and the escapes cost
	// time that grows with the square of a text's length.
	conv := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(),
	))
	for _, name := range []string{"nav", "footer", "form", "svg", "iframe", "template"} {
		conv.Register.TagType(name, converter.TagTypeRemove, converter.PriorityEarly)
	}
	var options []converter.ConvertOptionFunc
	if o.URL != nil {
		options = append(options, converter.WithDomain(o.URL.String()))
	}
	out, err := conv.ConvertNode(n, options...)
	return strings.TrimSpace(strings.ToValidUTF8(string(out), "\uFFFD")), err
}
