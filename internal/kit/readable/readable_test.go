package readable_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/readable"
	"github.com/spiced-sql/spiced/internal/test/cputime"
)

// sentence is long enough, and has the commas, that readability wants of a paragraph.
const sentence = "The pilot reports ninety minutes before departure, in uniform, with a valid licence, " +
	"a medical certificate, and the documents of the day, which the operations desk has printed. "

func article(body string) string {
	return `<html lang="en"><head><title>Pilot rules</title><meta name="author" content="Ada Meyer">
<meta property="article:published_time" content="2026-03-01T08:00:00Z"></head><body>
<nav><a href="/">Home</a> <a href="/all">All pages of the site</a></nav>
<article><h1>Reporting</h1><p>` + strings.Repeat(sentence, 3) + `</p>` + body + `<p>` + strings.Repeat(sentence, 3) +
		`</p></article><footer>Copyright notices and links</footer><script>var x = "<p>no text</p>"</script></body></html>`
}

func parse(t *testing.T, page string, o readable.Options) readable.Page {
	t.Helper()
	p, err := readable.Parse([]byte(page), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestArticle(t *testing.T) {
	base, _ := url.Parse("https://example.com/pilot/rules.html")
	page := strings.Replace(article(""), ">Reporting<", "> Pilot <i>rules</i><", 1)
	if p := parse(t, page, readable.Options{}); !strings.HasPrefix(p.Markdown, "# Pilot rules\n\nThe") {
		t.Errorf("a heading that is the title: %.100q", p.Markdown)
	}
	p := parse(t, article(`<h2>Pay</h2><ul><li>hours: <b>80</b></li><li><a href="pay.html">table</a></li></ul>
<table><tr><th>rank</th><th>pay</th></tr><tr><td>captain</td><td>9,000</td></tr></table>
<pre><code>a_b *c*</code></pre>`), readable.Options{URL: base})
	if p.Title != "Pilot rules" || p.Author != "Ada Meyer" || p.Language != "en" || p.Published.Format(time.DateOnly) != "2026-03-01" {
		t.Errorf("fields: %+v", p)
	}
	for _, want := range []string{"## Pay", "- hours: **80**", "[table](https://example.com/pilot/pay.html)", "| captain | 9,000 |", "a_b *c*"} {
		if !strings.Contains(p.Markdown, want) {
			t.Errorf("no %q in:\n%s", want, p.Markdown)
		}
	}
	for _, no := range []string{"Home", "Copyright", "no text", "x-was"} {
		if strings.Contains(p.Markdown, no) {
			t.Errorf("%q in:\n%s", no, p.Markdown)
		}
	}
}

// A page that is no article, or has no body, is returned as a whole.
func TestWhole(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"fragment":     {`<p>Gate 4</p>`, "Gate 4"},
		"text":         {`Gate 4`, "Gate 4"},
		"frameset":     {`<html><head><title>x</title></head></html>`, ""},
		"empty":        {``, ""},
		"links":        {`<ul>` + strings.Repeat(`<li><a href=x>Gate</a></li>`, 3) + `</ul>`, "- [Gate](x)\n- [Gate](x)\n- [Gate](x)"},
		"misnested":    {`<p><b>Gate<p>4</b> open`, "**Gate**\n\n4 open"},
		"open fonts":   {`<td><font color=red>Gate<td><font color=blue>4`, "Gate4"},
		"entity":       {`<p>a &lt;b&gt; &amp; c`, "a &lt;b&gt; & c"},
		"null":         {"<p>a\x00b", "ab"},
		"title in svg": {`<svg><title>no</title></svg><p>Gate`, "Gate"},
	} {
		if p := parse(t, c.page, readable.Options{}); p.Markdown != c.want {
			t.Errorf("%s: %q, want %q", name, p.Markdown, c.want)
		}
	}
	listed := article("")
	if p := parse(t, listed, readable.Options{Whole: true}); !strings.Contains(p.Markdown, "Reporting") || p.Title != "Pilot rules" {
		t.Errorf("whole: %+v", p)
	}
}

// The charset is that of the response, else of the page; UTF-8 is found without either,
// also where its first letter outside of ASCII is late.
func TestCharset(t *testing.T) {
	for name, c := range map[string]struct{ page, contentType string }{
		"response":     {"<p>Z\xfcrich", "text/html; charset=iso-8859-1"},
		"page":         {"<meta charset=windows-1252><p>Z\xfcrich", ""},
		"http-equiv":   {`<meta http-equiv=content-type content="text/html; charset=iso-8859-15">` + "<p>Z\xfcrich", ""},
		"none":         {"<p>Z\xfcrich", "text/html"},
		"late":         {"<!--" + strings.Repeat(" ", 2000) + "--><p>Zürich", ""},
		"utf-8 mark":   {"\xef\xbb\xbf<meta charset=latin1><p>Zürich", "text/html; charset=latin1"},
		"utf-16 mark":  {"\xff\xfe<\x00p\x00>\x00Z\x00\xfc\x00r\x00i\x00c\x00h\x00", ""},
		"unknown name": {"<meta charset=klingon><p>Zürich", "text/html; charset=klingon"},
	} {
		if p := parse(t, c.page, readable.Options{ContentType: c.contentType}); p.Markdown != "Zürich" {
			t.Errorf("%s: %q", name, p.Markdown)
		}
	}
	if p := parse(t, "<meta charset=utf-8><p>Z\xfcrich", readable.Options{}); !utf8.ValidString(p.Markdown) {
		t.Errorf("a wrong charset: %q", p.Markdown)
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		page, want string
		o          readable.Options
	}{
		{"12345", "more than 4 bytes", readable.Options{MaxBytes: 4}},
		{"<p><p><p>", "more than 2 tags", readable.Options{MaxTags: 2}},
		{"<div><div><div><div>", "elements in more than 5 others", readable.Options{MaxDepth: 5}},
		{strings.Repeat("<div>", 90_000), "cannot read the page: open stack of elements exceeds 512 nodes", readable.Options{}},
	} {
		if _, err := readable.Parse([]byte(c.page), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %q", c.page, err, c.want)
		}
	}
	p := parse(t, "<p>Zürich", readable.Options{MaxMarkdown: 2})
	if p.Markdown != "Z" || !p.Truncated {
		t.Errorf("truncated: %+v", p)
	}
}

// Pages that took minutes or gigabytes in one of the libraries.
func TestHostilePages(t *testing.T) {
	fonts, attributes := strings.Builder{}, strings.Builder{}
	for i := range 150 {
		fmt.Fprintf(&fonts, "<font a=%d>", i)
	}
	for i := range 300_000 {
		fmt.Fprintf(&attributes, "a%d=1 ", i)
	}
	many := strings.Repeat
	for name, page := range map[string]string{
		"formatting opened again":   "<p>" + fonts.String() + "</p>" + many("<p>x</p>", 45_000),
		"formatting as raw text":    "<svg><style><p>" + fonts.String() + "</p>" + many("<p>x</p>", 45_000),
		"text in many elements":     many("<div>", 180) + many("hello world, this is text. ", 180_000),
		"elements in many elements": many("<div>", 180) + many("<p>hello world, this is text. ", 99_000),
		"quotes":                    many("<blockquote>", 190) + many("<p>x", 90_000),
		"lists":                     many("<ul><li>", 90) + many("<li>x", 90_000),
		"wide cells":                "<table>" + many("<tr><td colspan=1000000000 rowspan=1000000000>x", 40_000),
		"stars":                     many("*_[", 5<<18),
		"attributes":                "<p " + attributes.String() + ">hello",
	} {
		t.Run(name, func(t *testing.T) {
			defer cputime.Limit(t, 10*time.Second)()
			if p := parse(t, page, readable.Options{}); len(p.Markdown) > readable.MaxMarkdown {
				t.Errorf("%d bytes", len(p.Markdown))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(article("<table><tr><td colspan=3>a<td>b</table><ol start=-3><li>x<blockquote><pre>`")), "text/html")
	f.Add([]byte("<meta charset=utf-16><svg><foreignObject><math><mi><table><select><b><a><p></b>"), "text/html; charset=gbk")
	f.Fuzz(func(t *testing.T, data []byte, contentType string) {
		p, err := readable.Parse(data, readable.Options{ContentType: contentType, MaxMarkdown: 1000})
		if err == nil && (!utf8.ValidString(p.Markdown) || !utf8.ValidString(p.Title) || len(p.Markdown) > 1000) {
			t.Errorf("%+v", p)
		}
	})
}
