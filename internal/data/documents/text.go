package documents

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/kit/readable"
)

const (
	maxFrontMatter = 64 << 10 // bytes
	maxTags        = 1_000_000
)

func validUTF8(data []byte) bool { return utf8.Valid(data) }

func (r *reader) text() (err error) {
	r.Content, err = decode(r.data)
	return err
}

// markdown keeps the text as it is, without front matter, which is metadata.
func (r *reader) markdown() error {
	text, err := decode(r.data)
	if err != nil {
		return err
	}
	front, body, ok := cutFrontMatter(text)
	if ok {
		if err := r.frontMatter(front); err != nil {
			r.note("the front matter is not YAML that can be read: %s", err)
			body = text
		}
	}
	r.Content = body
	if r.Metadata.Title == "" {
		r.Metadata.Title = heading(body)
	}
	return nil
}

// cutFrontMatter splits a text that begins with a line ---, up to the next such line.
func cutFrontMatter(text string) (front, body string, ok bool) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, false
	}
	for at := 0; at <= min(len(rest), maxFrontMatter); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if end := strings.TrimRight(line, " \t"); end == "---" || end == "..." {
			body := rest[min(at+len(line)+1, len(rest)):]
			return rest[:at], strings.TrimLeft(body, "\n"), true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", text, false
}

func (r *reader) frontMatter(text string) error {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		return err
	}
	if _, err := json.Marshal(fields); err != nil { // such as a key that is no text, or NaN
		return errors.New("it has values that JSON cannot represent")
	}
	r.Metadata.FrontMatter = fields
	of := func(keys ...string) string {
		for _, k := range keys {
			switch v := fields[k].(type) {
			case nil:
			case []any:
				var names []string
				for _, one := range v {
					names = append(names, fmt.Sprint(one))
				}
				return strings.Join(names, ", ")
			case string:
				return v
			default:
				text, _ := json.Marshal(v)
				return strings.Trim(string(text), `"`)
			}
		}
		return ""
	}
	r.Metadata.Title, r.Metadata.Author = of("title"), of("author", "authors")
	r.Metadata.Language = of("lang", "language")
	if date := of("date", "created"); date != "" {
		r.created(date)
	}
	return nil
}

// heading returns the first heading of level 1 outside of code, or "".
func heading(text string) string {
	fence, before := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case strings.HasPrefix(line, "# "):
			return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line[2:]), "#"))
		case before != "" && trimmed != "" && strings.Trim(trimmed, "=") == "":
			return before
		}
		before = trimmed
	}
	return ""
}

func (r *reader) html() error {
	p, err := readable.Parse(r.data, readable.Options{
		MaxBytes: len(r.data) + 1, MaxTags: maxTags, MaxMarkdown: r.options.Content,
	})
	if err != nil {
		return err
	}
	if p.Truncated {
		r.cut()
	}
	r.Content = p.Markdown
	r.Metadata.Title, r.Metadata.Author, r.Metadata.Language = p.Title, p.Author, p.Language
	if !p.Published.IsZero() {
		r.Metadata.Created = p.Published.Format("2006-01-02T15:04:05Z07:00")
	}
	return nil
}

// csv keeps the text as it is, and adds its rows.
func (r *reader) csv() error {
	text, err := decode(r.data)
	if err != nil {
		return err
	}
	r.Content = text
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = -1, true, true
	in.Comma = delimiter(r.Metadata.Format, text)
	t := newTable("")
	for !t.full {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.note("the rows end at an error: %s", err)
			break
		}
		row := make([]any, len(record))
		for i, v := range record {
			if v != "" {
				row[i] = v
			}
		}
		t.add(row)
	}
	t.infer()
	return r.tables([]*table{t})
}

// delimiter is the character that the first line has most often.
func delimiter(format, text string) rune {
	if format == "tsv" {
		return '\t'
	}
	line, _, _ := strings.Cut(text, "\n")
	best, most := ',', strings.Count(line, ",")
	for _, c := range ";\t|" {
		if n := strings.Count(line, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}
