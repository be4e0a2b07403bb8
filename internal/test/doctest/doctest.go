// Package doctest makes documents for tests, by hand, so that each test shows the shape that it
// is about: Word documents and workbooks of parts, PDFs of objects, and hostile ones.
//
//	data := doctest.Word(t, "<w:p><w:r><w:t>Gate 4</w:t></w:r></w:p>")
//	data = doctest.PDF(doctest.Page("Gate 4")).Bytes()
package doctest

import (
	"archive/zip"
	"bytes"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Archive makes a ZIP archive of parts.
func Archive(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Namespaces and types of relations.
const (
	WordSpaces = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
		`xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"`
	OfficeType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
)

// Word makes a Word document with a body, and more parts, by name.
func Word(t testing.TB, body string, more ...string) []byte {
	t.Helper()
	parts := map[string]string{
		"word/document.xml": "<w:document " + WordSpaces + "><w:body>" + body + "</w:body></w:document>",
	}
	for i := 0; i+1 < len(more); i += 2 {
		parts[more[i]] = more[i+1]
	}
	return Archive(t, parts)
}

// Book makes a workbook of one sheet with rows, and more parts, by name.
func Book(t testing.TB, rows string, more ...string) []byte {
	t.Helper()
	const space = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	parts := map[string]string{
		"xl/workbook.xml": "<workbook " + space + `><sheets><sheet name="Fleet" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="` + OfficeType +
			`worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml": "<worksheet " + space + "><sheetData>" + rows + "</sheetData></worksheet>",
	}
	for i := 0; i+1 < len(more); i += 2 {
		parts[more[i]] = more[i+1]
	}
	return Archive(t, parts)
}

// Page is the content of a page of a PDF with lines of text.
func Page(lines ...string) string {
	var b strings.Builder
	b.WriteString("BT /F1 12 Tf 72 720 Td 14 TL")
	for _, l := range lines {
		b.WriteString(" (" + l + ") Tj T*")
	}
	return b.String() + " ET"
}

// font is a font that every reader has.
const font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

// Portable is a PDF that is made by hand: objects by their numbers.
type Portable struct {
	Objects []string
	Trailer string
}

// PDF makes a PDF of pages with a content each. Object 3 is the font F1.
func PDF(pages ...string) *Portable {
	p := &Portable{Objects: []string{"<</Type/Catalog/Pages 2 0 R>>", "", font}}
	var kids []string
	for _, content := range pages {
		n := len(p.Objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		p.Objects = append(p.Objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>/XObject<</X1 %d 0 R>>>>/Contents %d 0 R>>",
				n+1, n+1), Stream(content, ""))
	}
	p.Objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", strings.Join(kids, " "), len(pages))
	return p
}

// Stream is a stream object with more entries in its dictionary.
func Stream(content, more string) string {
	return fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(content), more, content)
}

// Add adds an object, and returns its number.
func (p *Portable) Add(object string) int {
	p.Objects = append(p.Objects, object)
	return len(p.Objects)
}

// Bytes returns the file with its table of cross-references.
func (p *Portable) Bytes() []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(p.Objects))
	for i, o := range p.Objects {
		offsets[i] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(p.Objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&out, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(p.Objects)+1, p.Trailer, at)
	return out.Bytes()
}

// Encrypted makes a PDF of a page that is encrypted with a password: the standard security
// handler, revision 2 (ISO 32000-1, 7.6.3).
func Encrypted(t testing.TB, content, password string) []byte {
	t.Helper()
	const permissions, id = -4, "0123456789abcdef"
	padding := "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"
	padded := (password + padding)[:32]
	crypt := func(key []byte, text string) string {
		c, err := rc4.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, len(text))
		c.XORKeyStream(out, []byte(text))
		return string(out)
	}
	ownerKey := md5.Sum([]byte(padded))
	owner := crypt(ownerKey[:5], padded)
	flags := make([]byte, 4)
	permission := int32(permissions)
	binary.LittleEndian.PutUint32(flags, uint32(permission))
	sum := md5.Sum([]byte(padded + owner + string(flags) + id))
	key := sum[:5]
	p := PDF(content)
	objectKey := md5.Sum(append(slices.Clone(key), 5, 0, 0, 0, 0)) // the content is object 5
	p.Objects[4] = Stream(crypt(objectKey[:10], content), "")
	n := p.Add(fmt.Sprintf("<</Filter/Standard/V 1/R 2/O<%x>/U<%x>/P %d>>", owner, crypt(key, padding), permissions))
	p.Trailer = fmt.Sprintf("/Encrypt %d 0 R/ID[<%x><%x>]", n, id, id)
	return p.Bytes()
}
