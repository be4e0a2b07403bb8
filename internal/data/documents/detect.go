package documents

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// How files begin. A PDF may have other bytes before: the specification asks readers to look
// at the first 1024.
var (
	zipMagic = []byte("PK\x03\x04")
	oleMagic = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	pdfMagic = []byte("%PDF-")
	rtfMagic = []byte(`{\rtf`)
)

const pdfLead = 1024

// detect returns the format of a file: what it begins with goes before its name, which is
// wrong often enough. otherwise is the format of a name without one.
func detect(name, otherwise string, data []byte) (*Format, error) {
	f := formatOf(name)
	if f == nil {
		f = named(otherwise)
	}
	textual := f != nil && (f.Name == "md" || f.Name == "txt" || f.Name == "html")
	switch lead := data[:min(len(data), pdfLead)]; {
	case len(data) == 0 && f != nil && f.Name != "pdf" && f.Name != "docx" && f.Name != "xlsx":
		return f, nil
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	case bytes.HasPrefix(data, pdfMagic), bytes.Contains(lead, pdfMagic) && !textual:
		return named("pdf"), nil
	case bytes.HasPrefix(data, zipMagic):
		return detectZip(data)
	case bytes.HasPrefix(data, oleMagic) && f != nil && (f.Name == "docx" || f.Name == "xlsx"):
		return nil, errors.New("the file is encrypted, or has a format of Office before 2007: " +
			"save it without a password as docx or xlsx")
	case bytes.HasPrefix(data, oleMagic):
		return nil, errors.New("the file has a format of Office before 2007: save it as docx or xlsx")
	case bytes.HasPrefix(data, rtfMagic):
		return nil, errors.New("RTF is not read: save it as docx")
	case f != nil && f.Name == "pdf":
		return nil, errors.New("the file is not a PDF: it does not begin with %PDF-")
	case f != nil && (f.Name == "docx" || f.Name == "xlsx"):
		return nil, fmt.Errorf("the file is not a %s: it is no ZIP archive", f.Name)
	case f != nil:
		return f, nil
	case looksLikeHTML(lead):
		return named("html"), nil
	}
	return named("txt"), nil
}

// LooksLikePDF reports whether a file begins as a PDF does.
func LooksLikePDF(data []byte) bool { return bytes.Contains(data[:min(len(data), pdfLead)], pdfMagic) }

func looksLikeHTML(lead []byte) bool {
	text := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(lead), "\uFEFF")))
	return strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html")
}

// detectZip tells Word from Excel by the main part.
func detectZip(data []byte) (*Format, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("the ZIP archive is damaged: %s", strings.TrimPrefix(err.Error(), "zip: "))
	}
	types := map[string]string{}
	for _, f := range z.File[:min(len(z.File), maxParts)] {
		name := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/"))
		types[strings.SplitN(name, "/", 2)[0]] = path.Base(name)
	}
	_, word := types["word"]
	_, excel := types["xl"]
	_, slides := types["ppt"]
	_, mimetype := types["mimetype"]
	switch {
	case word:
		return named("docx"), nil
	case excel:
		return named("xlsx"), nil
	case slides:
		return nil, errors.New("presentations (pptx) are not read: save it as PDF")
	case mimetype:
		return nil, errors.New("OpenDocument and EPUB are not read: save it as docx, xlsx or PDF")
	}
	return nil, errors.New("the file is a ZIP archive, neither a docx nor an xlsx: unpack it")
}

// decode returns the text of a file: UTF-8, what its byte order mark says, or else
// Windows-1252, as browsers read text that declares nothing.
func decode(data []byte) (string, error) {
	marked := bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
	if !marked && bytes.IndexByte(data, 0) >= 0 {
		return "", errors.New("the file is not text: it has bytes that are zero")
	}
	enc, _, _ := charset.DetermineEncoding(data, "")
	if validUTF8(data) {
		enc = unicode.UTF8
	}
	text, _, err := transform.Bytes(unicode.BOMOverride(enc.NewDecoder()), data)
	if err != nil {
		return "", fmt.Errorf("the text cannot be decoded: %w", err)
	}
	return newlines.Replace(string(text)), nil
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
