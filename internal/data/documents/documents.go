// Package documents reads the text of documents: Markdown, plain text, HTML, PDF, Word
// (docx), Excel (xlsx), CSV and TSV.
//
//	d := documents.Read("report.pdf", data, documents.Options{})
//	fmt.Println(d.Metadata.Title, d.Content)
//
// Documents come from strangers. A document that cannot be read is a [Document] with an
// error; what is left out is in its notes. Memory and time are bounded by where [Read] runs,
// which is a worker process: see [Main].
package documents

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Version is that of what Read returns: rows of another one are not used again.
const Version = 1

// Defaults of Options.
const (
	MaxFile    = 50 << 20 // bytes of a file
	MaxContent = 4 << 20  // bytes of the text
	MaxPages   = 2000     // of a PDF
)

// Limits of the package.
const (
	maxData   = 4 << 20   // bytes of the rows of tables, as JSON
	maxPacked = 256 << 20 // bytes of what is in a ZIP archive
	maxParts  = 10_000    // files in a ZIP archive
	maxNotes  = 20
	maxField  = 1000 // bytes of a title, an author or a note
)

// Options say how a document is read. Zero values are the defaults.
type Options struct {
	Format  string `json:"format,omitempty"`  // of a file whose name does not show it
	Content int    `json:"content,omitempty"` // bytes of the text; the rest is left out
	Pages   int    `json:"pages,omitempty"`   // of a PDF that are read
}

// Document is what was read of a file.
type Document struct {
	Content  string          `json:"content"`
	Data     json.RawMessage `json:"data,omitempty"` // the rows of tables
	Metadata Metadata        `json:"metadata"`
}

// Metadata describes a document.
type Metadata struct {
	Format      string         `json:"format,omitempty"`
	Title       string         `json:"title,omitempty"`
	Author      string         `json:"author,omitempty"`
	Created     string         `json:"created,omitempty"` // RFC 3339, or as it is written in the file
	Language    string         `json:"language,omitempty"`
	Pages       int            `json:"pages,omitempty"`
	Sheets      []string       `json:"sheets,omitempty"`
	FrontMatter map[string]any `json:"front_matter,omitempty"`
	Size        int64          `json:"size"`
	SHA256      string         `json:"sha256,omitempty"`
	Truncated   bool           `json:"truncated,omitempty"`
	Notes       []string       `json:"notes,omitempty"` // what was left out, and why
	Error       string         `json:"error,omitempty"` // why there is no text
}

// Format is a format of documents.
type Format struct {
	Name       string
	Extensions []string
	read       func(*reader) error
}

// Formats are those that are read, by their names in params.file_format.
var Formats = []Format{
	{"md", []string{".md", ".markdown"}, (*reader).markdown},
	{"txt", []string{".txt", ".text"}, (*reader).text},
	{"html", []string{".html", ".htm", ".xhtml"}, (*reader).html},
	{"pdf", []string{".pdf"}, (*reader).pdf},
	{"docx", []string{".docx", ".docm"}, (*reader).docx},
	{"xlsx", []string{".xlsx", ".xlsm"}, (*reader).xlsx},
	{"csv", []string{".csv"}, (*reader).csv},
	{"tsv", []string{".tsv", ".tab"}, (*reader).csv},
}

// reader reads a document.
type reader struct {
	Document
	name    string
	data    []byte
	options Options
	ended   bool // a note tells that the text is cut
}

// Read reads a document. Its name shows the format where the content does not.
func Read(name string, data []byte, options Options) (d Document) {
	r := &reader{name: name, data: data, options: options}
	if r.options.Content <= 0 {
		r.options.Content = MaxContent
	}
	if r.options.Pages <= 0 {
		r.options.Pages = MaxPages
	}
	err := r.read()
	if err != nil {
		r.Content, r.Data = "", nil
		r.Metadata.Error = truncate.Line(err.Error(), maxField)
	}
	r.Metadata.Size = int64(len(data))
	for _, field := range []*string{&r.Metadata.Title, &r.Metadata.Author, &r.Metadata.Created} {
		*field = truncate.Line(*field, maxField)
	}
	return r.Document
}

func (r *reader) read() (err error) {
	defer func() {
		if v := recover(); v != nil { // a defect of a library, for which the next document must not pay
			err = fmt.Errorf("the file cannot be read: %v", v)
		}
	}()
	f, err := detect(r.name, r.options.Format, r.data)
	if err != nil {
		return err
	}
	r.Metadata.Format = f.Name
	if err := f.read(r); err != nil {
		return err
	}
	if text := truncate.Bytes(r.Content, r.options.Content); len(text) < len(r.Content) {
		r.cut()
		r.Content = text
	}
	r.Content = strings.Map(printable, strings.ToValidUTF8(r.Content, "\uFFFD"))
	return nil
}

// printable leaves out control characters: they are no text, and six bytes each in JSON.
func printable(c rune) rune {
	if unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\f' {
		return -1
	}
	return c
}

// note records what was left out.
func (r *reader) note(format string, args ...any) {
	if len(r.Metadata.Notes) < maxNotes {
		r.Metadata.Notes = append(r.Metadata.Notes, truncate.Line(fmt.Sprintf(format, args...), maxField))
	}
}

// cut records that the text is longer than its limit.
func (r *reader) cut() {
	r.Metadata.Truncated = true
	if !r.ended {
		r.ended = true
		r.note("the text is longer than %d bytes, its limit, and ends there", r.options.Content)
	}
}

// created sets the time at which the document was made, if the text is one.
func (r *reader) created(text string) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			r.Metadata.Created = t.Format(time.RFC3339)
			return
		}
	}
	r.Metadata.Created = text
}

// formatOf returns the format that an extension shows, or nil.
func formatOf(name string) *Format {
	extension := strings.ToLower(path.Ext(name))
	for i := range Formats {
		for _, e := range Formats[i].Extensions {
			if e == extension {
				return &Formats[i]
			}
		}
	}
	return nil
}

// named returns the format of a name, or nil.
func named(name string) *Format {
	for i := range Formats {
		if Formats[i].Name == name {
			return &Formats[i]
		}
	}
	return nil
}
