package doctest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
)

func paragraph(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

func deflated(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// manyPages is a PDF of 10,000 pages.
func manyPages() []byte {
	pages := make([]string, 10_000)
	for i := range pages {
		pages[i] = Page(fmt.Sprint("Page ", i+1))
	}
	return PDF(pages...).Bytes()
}

const form = "/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</X1 %d 0 R>>/Font<</F1 3 0 R>>>>"

// laughs is a PDF of forms that show the next one ten times, twelve levels deep.
func laughs() []byte {
	p := PDF("/X1 Do")
	for range 12 {
		p.Add(Stream(strings.Repeat("/X1 Do ", 10)+Page("ha"), fmt.Sprintf(form, len(p.Objects)+2)))
	}
	p.Objects[3] = strings.Replace(p.Objects[3], "/X1 5 0 R", "/X1 6 0 R", 1)
	p.Add(Stream(Page("end"), fmt.Sprintf(form, 1)))
	return p.Bytes()
}

// unpacked is a PDF of 7 KB with 200 MB of text.
func unpacked(t testing.TB) []byte {
	p := PDF("")
	p.Objects[4] = Stream(deflated(t, deflated(t, strings.Repeat(Page("boom ")+"\n", 4<<20))), "/Filter[/FlateDecode/FlateDecode]")
	return p.Bytes()
}

// aliases is front matter with 9^9 values.
func aliases() []byte {
	text := "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
	}
	return []byte(text + "---\nx")
}

// Hostile returns what makes documents that cost much more than their size, by name.
func Hostile(t testing.TB) map[string]func() []byte {
	many := strings.Repeat
	const wide = `<w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr></w:tc></w:tr>`
	return map[string]func() []byte{
		"bomb.docx":   func() []byte { return Word(t, many(" ", 300<<20)) },
		"text.docx":   func() []byte { return Word(t, paragraph(many("x", 200<<20))) },
		"runs.docx":   func() []byte { return Word(t, many(paragraph("x"), 3_000_000)) },
		"nested.docx": func() []byte { return Word(t, many("<w:p>", 100_000)) },
		"tables.docx": func() []byte { return Word(t, many("<w:tbl><w:tr><w:tc>", 300)+many(paragraph("x"), 100_000)) },
		"wide.docx":   func() []byte { return Word(t, many(`<w:tbl>`+many(wide, 1000)+`</w:tbl>`, 30)) },
		"rows.xlsx":   func() []byte { return Book(t, many("<row/>", 1_000_000)) },
		"attrs.xlsx":  func() []byte { return Book(t, "<row "+many("a='1' ", 3_000_000)+"/>") },
		"cells.xlsx":  func() []byte { return Book(t, many("<row>"+many("<c><v>1</v></c>", 600)+"</row>", 10_000)) },
		"far.xlsx": func() []byte {
			return Book(t, many(`<row><c r="ZZZZZZZZZZZZ1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>`, 100_000))
		},
		"pages.pdf":  manyPages,
		"laughs.pdf": laughs,
		"bomb.pdf":   func() []byte { return unpacked(t) },
		"text.pdf": func() []byte {
			return PDF(Page() + "BT /F1 12 Tf 72 720 Td " + many("(x) Tj ", 2_000_000) + "ET").Bytes()
		},
		"aliases.md":  aliases,
		"line.txt":    func() []byte { return []byte(many("x", 49<<20)) },
		"zero.txt":    func() []byte { return make([]byte, 49<<20) },
		"nested.html": func() []byte { return []byte(many("<div>", 100_000)) },
		"tags.html":   func() []byte { return []byte(many("<p>x", 900_000)) },
		"line.csv":    func() []byte { return []byte("\"" + many("x,", 20<<20)) },
		"wide.csv":    func() []byte { return []byte(many("x,", 5<<20)) },
		"quotes.csv":  func() []byte { return []byte(many("\"\"\"\"\n", 5<<20)) },
	}
}
