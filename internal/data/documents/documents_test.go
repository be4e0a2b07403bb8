package documents_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/test/doctest"
)

// read reads a document that must be readable.
func read(t *testing.T, name string, data []byte) documents.Document {
	t.Helper()
	d := documents.Read(name, data, documents.Options{})
	if d.Metadata.Error != "" {
		t.Fatalf("%s: %s", name, d.Metadata.Error)
	}
	return d
}

func TestMarkdown(t *testing.T) {
	d := read(t, "a.md", []byte("\xef\xbb\xbf---\r\ntitle: Winter\r\nauthors: [Ada, Bo]\r\ndate: 2026-03-01\r\nlang: en\r\n"+
		"tags: [ice, snow]\r\n---\r\n\r\n# De-icing\r\ntext\r\n"))
	if d.Content != "# De-icing\ntext\n" {
		t.Errorf("content %q", d.Content)
	}
	want := documents.Metadata{
		Format: "md", Title: "Winter", Author: "Ada, Bo", Created: "2026-03-01T00:00:00Z", Language: "en", Size: d.Metadata.Size,
		FrontMatter: d.Metadata.FrontMatter,
	}
	if diff := cmp.Diff(want, d.Metadata); diff != "" || len(d.Metadata.FrontMatter) != 5 {
		t.Errorf("metadata: %s %v", diff, d.Metadata.FrontMatter)
	}
	for text, title := range map[string]string{
		"```\n# no\n```\n# Yes #\n":   "Yes",
		"Title\n=====\n":              "Title",
		"## Only a part":              "",
		"---\nno: [end\n":             "",
		"---\na: [\n---\n# Broken":    "Broken",
		"---\n? [a]\n: b\n---\n# Odd": "Odd",
	} {
		if got := read(t, "a.md", []byte(text)); got.Metadata.Title != title {
			t.Errorf("%q: title %q, want %q", text, got.Metadata.Title, title)
		}
	}
	if d := read(t, "a.md", []byte("---\na: [\n---\nrest")); !strings.HasPrefix(d.Content, "---") || len(d.Metadata.Notes) != 1 {
		t.Errorf("broken front matter: %+v", d)
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"Zürich\r\n":                     "Zürich\n",
		"Z\xfcrich":                      "Zürich", // Windows-1252
		"\xff\xfeZ\x00\xfc\x00":          "Zü",
		"a\x1b[31m\u202eb\x07":           "a[31m\u202eb",
		"":                               "",
		"<html><body>kept</body></html>": "<html><body>kept</body></html>",
	} {
		if got := read(t, "a.txt", []byte(text)); got.Content != want {
			t.Errorf("%q: %q, want %q", text, got.Content, want)
		}
	}
}

func TestCSV(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,x\n2.5,\n":                  `[{"a":1,"b":"x"},{"a":2.5,"b":null}]`,
		"id;name\n007;\"a;b\"\n8;\"c\"\"\n": `[{"id":"007","name":"a;b"},{"id":"8","name":"c\"\n"}]`,
		"a,a,\n1,2,3\n":                     `[{"a":1,"a_2":2,"column_3":3}]`,
		"a\n1e5\n+1\n":                      `[{"a":"1e5"},{"a":"+1"}]`,
		"":                                  `[]`,
	} {
		d := read(t, "a.csv", []byte(text))
		if string(d.Data) != want || d.Content != text {
			t.Errorf("%q: %s, want %s", text, d.Data, want)
		}
	}
}

// What a file begins with goes before its name.
func TestFormats(t *testing.T) {
	pdf := doctest.PDF(doctest.Page("Gate 4")).Bytes()
	for _, c := range []struct {
		name   string
		data   []byte
		format string
	}{
		{"a.docx", pdf, "pdf"},
		{"a.pdf", append([]byte("HTTP/1.1 200 OK\r\n\r\n"), pdf...), "pdf"},
		{"a.pdf", doctest.Word(t, "<w:p><w:r><w:t>x</w:t></w:r></w:p>"), "docx"},
		{"a.xlsx", doctest.Word(t, "<w:p/>"), "docx"},
		{"noext", []byte("<!DOCTYPE html><p>x"), "html"},
		{"noext", []byte("text"), "txt"},
		{"how-to.md", []byte("A PDF begins with %PDF- and a number"), "md"},
	} {
		if d := read(t, c.name, c.data); d.Metadata.Format != c.format {
			t.Errorf("%s: %s, want %s", c.name, d.Metadata.Format, c.format)
		}
	}
	for _, c := range []struct{ name, data, want string }{
		{"a.pdf", "", "the file is empty"},
		{"a.pdf", "hello", "the file is not a PDF"},
		{"a.docx", "hello", "the file is not a docx"},
		{"a.docx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted, or has a format of Office before 2007"},
		{"a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "format of Office before 2007: save it as docx"},
		{"a.docx", `{\rtf1 x}`, "RTF is not read"},
		{"a.docx", "PK\x03\x04 and no more", "the ZIP archive is damaged"},
		{"a.docx", string(doctest.Archive(t, map[string]string{"ppt/presentation.xml": ""})), "presentations (pptx) are not read"},
		{"a.xlsx", string(doctest.Archive(t, map[string]string{"mimetype": "", "content.xml": ""})), "OpenDocument and EPUB are not read"},
		{"a.docx", string(doctest.Archive(t, map[string]string{"x.txt": ""})), "neither a docx nor an xlsx"},
		{"a.docx", string(doctest.Archive(t, map[string]string{"word/x.xml": ""})), "the part is missing: word/document.xml"},
		{"a.txt", "a\x00b", "the file is not text"},
	} {
		d := documents.Read(c.name, []byte(c.data), documents.Options{})
		if !strings.Contains(d.Metadata.Error, c.want) || d.Content != "" {
			t.Errorf("%s %.12q: error %q, want %q", c.name, c.data, d.Metadata.Error, c.want)
		}
	}
}

func TestContentLimit(t *testing.T) {
	long := strings.Repeat("Zürich ", 100)
	for name, data := range map[string][]byte{
		"a.txt": []byte(long), "a.md": []byte(long), "a.html": []byte("<p>" + long),
		"a.docx": doctest.Word(t, strings.Repeat("<w:p><w:r><w:t>"+long+"</w:t></w:r></w:p>", 5)),
		"a.xlsx": doctest.Book(t, strings.Repeat(`<row><c t="inlineStr"><is><t>Zürich</t></is></c></row>`, 100)),
		"a.pdf":  doctest.PDF(doctest.Page("Hello"), doctest.Page(strings.Repeat("Zurich ", 50)), doctest.Page("end")).Bytes(),
	} {
		d := documents.Read(name, data, documents.Options{Content: 40})
		if d.Metadata.Error != "" || len(d.Content) > 40 || len(d.Content) < 30 || !d.Metadata.Truncated || len(d.Metadata.Notes) != 1 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
