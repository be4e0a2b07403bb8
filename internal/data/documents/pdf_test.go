package documents_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/test/doctest"
)

func TestPDF(t *testing.T) {
	info := doctest.PDF(doctest.Page("Gate 4", "Gate 5"), doctest.Page("Page 2"))
	n := info.Add("<</Title(Ground handling)/Author(Ada)/CreationDate(D:20260301080000+01'00')>>")
	info.Trailer = fmt.Sprintf("/Info %d 0 R", n)
	d := read(t, "a.pdf", info.Bytes())
	if d.Content != "Gate 4\nGate 5\fPage 2" || d.Metadata.Pages != 2 || d.Metadata.Title != "Ground handling" || d.Metadata.Author != "Ada" ||
		d.Metadata.Created != "2026-03-01T08:00:00+01:00" {
		t.Errorf("%+v", d)
	}
	if d := documents.Read("a.pdf", info.Bytes(), documents.Options{Pages: 1}); d.Content != "Gate 4\nGate 5" || d.Metadata.Pages != 2 || !d.Metadata.Truncated {
		t.Errorf("one page: %+v", d)
	}
}

// Shapes that others reported as failing in their extractors.
func TestReportedPDFs(t *testing.T) {
	plain := doctest.PDF(doctest.Page("Gate 4")).Bytes()
	noEnd := plain[:bytes.Index(plain, []byte("xref"))]
	noXref := append(bytes.Clone(noEnd), "trailer\n<</Root 1 0 R>>\n"...)
	wrongXref := bytes.ReplaceAll(plain, []byte("00000 n"), []byte("00001 n"))
	recursive := doctest.PDF("/X1 Do " + doctest.Page("Gate 4"))
	recursive.Objects[4] = doctest.Stream("/X1 Do "+doctest.Page("Gate 4"),
		"/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</X1 5 0 R>>/Font<</F1 3 0 R>>>>")
	loop := doctest.PDF(doctest.Page("Gate 4"))
	loop.Objects[1] = "<</Type/Pages/Kids[2 0 R 4 0 R]/Count 2>>"
	ligatures := doctest.PDF("BT /F1 12 Tf 72 720 Td (o\\256ce) Tj ET")
	ligatures.Objects[2] = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Type/Encoding/Differences[174/ffi]>>>>"
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no cross-references":    {noXref, "Gate 4"},
		"no trailer":             {noEnd, "Gate 4"},
		"wrong cross-references": {wrongXref, "Gate 4"},
		"bytes after the end":    {append(bytes.Clone(plain), bytes.Repeat([]byte{0}, 3000)...), "Gate 4"},
		"bytes before":           {append([]byte("junk\n"), plain...), "Gate 4"},
		"empty password":         {doctest.Encrypted(t, doctest.Page("Gate 4"), ""), "Gate 4"},
		"form in itself":         {recursive.Bytes(), "Gate 4"},
		"pages in themselves":    {loop.Bytes(), "Gate 4"},
		"rotated":                {doctest.PDF("BT /F1 12 Tf 0 1 -1 0 300 300 Tm (Gate 4) Tj ET").Bytes(), "Gate 4"},
		"kerned":                 {doctest.PDF("BT /F1 12 Tf 72 720 Td [(Ga) 20 (te) -300 (4)] TJ ET").Bytes(), "Gate 4"},
		"ligatures":              {ligatures.Bytes(), "office"},
	} {
		if d := documents.Read("a.pdf", c.data, documents.Options{}); !strings.Contains(d.Content, c.want) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	columns := doctest.PDF("BT /F1 10 Tf 72 720 Td 12 TL (left one) Tj T* (left two) Tj ET BT /F1 10 Tf 330 720 Td 12 TL (right one) Tj T* (right two) Tj ET")
	if d := read(t, "a.pdf", columns.Bytes()); strings.Index(d.Content, "left two") > strings.Index(d.Content, "right one") {
		t.Errorf("columns: %q", d.Content)
	}
}

func TestUnreadablePDFs(t *testing.T) {
	plain := doctest.PDF(doctest.Page("Gate 4")).Bytes()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"password":  {doctest.Encrypted(t, doctest.Page("Gate 4"), "secret"), "the PDF is encrypted: save it without a password"},
		"half":      {plain[:40], "the PDF is damaged"},
		"no pages":  {[]byte("%PDF-1.7\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>"), "the PDF is damaged"},
		"only text": {[]byte("%PDF-1.4\nhello"), "the PDF is damaged"},
	} {
		if d := documents.Read("a.pdf", c.data, documents.Options{}); !strings.Contains(d.Metadata.Error, c.want) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for name, data := range map[string][]byte{"no content": doctest.PDF("").Bytes(), "an image": doctest.PDF("q 100 0 0 100 0 0 cm Q").Bytes()} {
		if d := read(t, "a.pdf", data); d.Content != "" || len(d.Metadata.Notes) != 1 || !strings.Contains(d.Metadata.Notes[0], "may be images") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
