package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxWasmPages is how much memory pdfium may have, in units of 64 KiB.
const maxWasmPages = 8192 // 512 MiB

// compiled is the folder with the machine code of pdfium; "": it is compiled in each process,
// which takes about three seconds of processor time and 300 MB, instead of 0.2 seconds and 50 MB.
// A worker only reads the folder: code that a document could change would run for the next one.
var compiled string

// pdfiumPool has pdfium. It has no files, no network and no fonts of the system.
var pdfiumPool = sync.OnceValues(func() (pdfium.Pool, error) {
	if compiled != "" {
		if pool, err := openPDFium(compiled); err == nil {
			return pool, nil
		}
	}
	return openPDFium("")
})

func openPDFium(folder string) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxWasmPages).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	if folder != "" {
		cache, err := wazero.NewCompilationCacheWithDir(folder)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	return webassembly.Init(webassembly.Config{
		MinIdle: 0, MaxIdle: 1, MaxTotal: 1, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: config,
	})
}

// Compile writes the machine code of pdfium for workers to a folder, unless it is there.
func Compile(folder string) error {
	pool, err := openPDFium(folder)
	if err != nil {
		return fmt.Errorf("compile the PDF reader: %w", err)
	}
	return pool.Close()
}

// pdf reads the text of the pages, with a form feed between two of them, as pdftotext does:
// the form feeds before a text tell its page.
func (r *reader) pdf() error {
	pool, err := pdfiumPool()
	if err != nil {
		return fmt.Errorf("the PDF reader does not start: %w", err)
	}
	// Each document has an instance, so that it does not see the memory of another one.
	instance, err := pool.GetInstanceWithContext(context.Background())
	if err != nil {
		return fmt.Errorf("the PDF reader does not start: %w", err)
	}
	defer instance.Close() //nolint:errcheck // its memory is given back
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &r.data})
	if repaired, ok := withTrailer(r.data); ok && errors.Is(err, pdfiumerrors.ErrFormat) {
		opened, err = instance.OpenDocument(&requests.OpenDocument{File: &repaired})
	}
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword):
		return errors.New("the PDF is encrypted: save it without a password")
	case errors.Is(err, pdfiumerrors.ErrSecurity):
		return errors.New("the PDF has an encryption that is not supported: save it without")
	case err != nil:
		return fmt.Errorf("the PDF is damaged: %s", pdfReason(err))
	}
	p := &pdfReader{instance, opened.Document}
	r.pdfProperties(p)
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: p.document})
	if err != nil {
		return fmt.Errorf("the PDF is damaged: %s", pdfReason(err))
	}
	if r.Metadata.Pages = count.PageCount; r.Metadata.Pages <= 0 {
		return errors.New("the PDF is damaged: it has no pages")
	}
	return r.pages(p)
}

// catalog matches the object that a trailer refers to.
var catalog = regexp.MustCompile(`(\d{1,10})\s+(\d{1,5})\s+obj\s*<<[^>]{0,200}/Type\s*/Catalog\b`)

// withTrailer returns a PDF with a trailer, whose end is missing: pdfium finds the objects of such
// a file, but not the one to start with.
func withTrailer(data []byte) ([]byte, bool) {
	all := catalog.FindAllSubmatch(data, -1)
	if len(all) == 0 || bytes.Contains(data, []byte("trailer")) {
		return nil, false
	}
	last := all[len(all)-1]
	return fmt.Appendf(bytes.Clone(data), "\ntrailer\n<</Root %s %s R>>\n%%%%EOF\n", last[1], last[2]), true
}

// pdfReason returns the reason of an error of pdfium without its number.
func pdfReason(err error) string {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, ": "); ok && len(text) > 1 && text[1] == ':' {
		return rest
	}
	return text
}

type pdfReader struct {
	pdfium.Pdfium
	document references.FPDF_DOCUMENT
}

// pages reads the text of the pages. Pages that cannot be read cost their text only, unless
// there is no other.
func (r *reader) pages(p *pdfReader) error {
	var out strings.Builder
	var failed error
	good := 0
	n := min(r.Metadata.Pages, r.options.Pages)
	if n < r.Metadata.Pages {
		r.Metadata.Truncated = true
		r.note("the first %d of %d pages are read", n, r.Metadata.Pages)
	}
	for i := range n {
		if i > 0 {
			out.WriteByte('\f')
		}
		text, err := p.page(i)
		if err != nil {
			failed = fmt.Errorf("page %d cannot be read: %s", i+1, pdfReason(err))
			r.note("%s", failed)
			continue
		}
		good++
		out.WriteString(text)
		if out.Len() > r.options.Content {
			break
		}
	}
	if r.Content = out.String(); good == 0 && failed != nil {
		return failed
	}
	if strings.Trim(r.Content, "\f\n ") == "" {
		r.Content = ""
		r.note("the PDF has no text: its pages may be images")
	}
	if garbled(r.Content) {
		r.note("the fonts of the PDF do not tell which characters they show, so the text may be unreadable")
	}
	return nil
}

// garbled reports whether a third of the characters are not those that readers see: unknown ones,
// or ones of private use, as fonts without a table to Unicode have them.
func garbled(text string) bool {
	odd, all := 0, 0
	for _, c := range text {
		if !unicode.IsSpace(c) {
			all++
			if c == unicode.ReplacementChar || unicode.Is(unicode.Co, c) || unicode.IsControl(c) {
				odd++
			}
		}
	}
	return 3*odd > all
}

func (p *pdfReader) page(i int) (string, error) {
	page, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: p.document, Index: i})
	if err != nil {
		return "", err
	}
	defer p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page.Page}) //nolint:errcheck // the document goes as well
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.Page}})
	if err != nil {
		return "", err
	}
	defer p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) //nolint:errcheck // likewise
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || count.Count <= 0 {
		return "", err
	}
	got, err := p.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: count.Count})
	if err != nil {
		return "", err
	}
	return pageText(got.Text), nil
}

// hyphenated matches where pdfium has joined a word that was split at the end of a line, which
// it marks with U+FFFE or U+0002.
var hyphenated = regexp.MustCompile("[\uFFFE\u0002](\r?\n)?")

// ligatures are characters that fonts have for several letters, by which no one searches.
var ligatures = strings.NewReplacer("\uFB00", "ff", "\uFB01", "fi", "\uFB02", "fl", "\uFB03", "ffi", "\uFB04", "ffl",
	"\uFB05", "st", "\uFB06", "st", "\u00AD\n", "", "\u00AD", "", "\u00A0", " ", "\f", "\n", "\x00", "")

func pageText(text string) string {
	text = hyphenated.ReplaceAllString(text, "")
	return strings.TrimSpace(ligatures.Replace(newlines.Replace(text)))
}

// pdfProperties reads the title, the author and the time. A PDF without them has none.
func (r *reader) pdfProperties(p *pdfReader) {
	tags, err := p.GetMetaData(&requests.GetMetaData{
		Document: p.document, Tags: &[]string{"Title", "Author", "CreationDate"},
	})
	if err != nil {
		return
	}
	for _, t := range tags.Tags {
		switch value := strings.TrimSpace(strings.Trim(t.Value, "\x00")); t.Tag {
		case "Title":
			r.Metadata.Title = value
		case "Author":
			r.Metadata.Author = value
		case "CreationDate":
			if value != "" {
				r.created(pdfDate(value))
			}
		}
	}
}

// pdfDate returns a date such as D:20260301080000+01'00' as RFC 3339, or as it is.
func pdfDate(text string) string {
	digits := strings.NewReplacer("D:", "", "'", "", "Z", "+0000").Replace(text)
	for _, layout := range []string{"20060102150405-0700", "20060102150405-07", "20060102150405", "20060102"} {
		if t, err := time.Parse(layout, strings.TrimSuffix(digits, "+00000000")); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return text
}
