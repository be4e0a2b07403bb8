package fileformat

import (
	"path"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// format is a kind of file.
type format struct {
	name       string
	reader     string   // DuckDB's table function
	prefixes   []string // of params, such as csv_
	extensions []string
	mediaTypes []string
	fixed      []setting                     // unless the params say otherwise
	options    map[string]spicepod.ParamType // by DuckDB's name
	aliases    map[string]string             // other names to DuckDB's
}

// formats that are served; the first of several with an extension wins.
var formats = []*format{csvFormat, tsvFormat, jsonFormat, ndjsonFormat, parquetFormat}

// formatNames maps values of file_format.
var formatNames = map[string]*format{
	"csv": csvFormat, "tsv": tsvFormat, "json": jsonFormat,
	"ndjson": ndjsonFormat, "jsonl": ndjsonFormat, "ldjson": ndjsonFormat, "parquet": parquetFormat,
}

const servedFormats = "csv, tsv, json, ndjson, jsonl, parquet"

// compressions that DuckDB reads, by extension.
var compressions = []string{".gz", ".zst"}

// formatByName returns the format that params.file_format names.
func formatByName(name string) (*format, error) {
	if f := formatNames[strings.ToLower(name)]; f != nil {
		return f, nil
	}
	hint := "served: " + servedFormats
	if near := nearest.Hint(name, strings.Split(servedFormats, ", "), ""); near != "" {
		hint = near + " " + hint
	}
	return nil, fault.New("params.file_format", hint, "file format %q is not served", name)
}

// splitExtension returns the extension of a name without its compression, and
// the compression's own.
func splitExtension(name string) (extension, compression string) {
	name = strings.ToLower(name)
	for _, c := range compressions {
		if strings.HasSuffix(name, c) {
			name, compression = strings.TrimSuffix(name, c), c
			break
		}
	}
	return path.Ext(name), compression
}

// formatOf returns the format of a file by its name, or nil.
func formatOf(name string) *format {
	extension, compression := splitExtension(name)
	for _, f := range formats {
		if slices.Contains(f.extensions, extension) && (compression == "" || f != parquetFormat) {
			return f
		}
	}
	return nil
}

// formatOfMediaType returns the format of a Content-Type, or nil.
func formatOfMediaType(contentType string) *format {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	for _, f := range formats {
		if slices.Contains(f.mediaTypes, mediaType) {
			return f
		}
	}
	return nil
}

// scan is a call of a table function that reads files.
type scan struct {
	format   *format
	files    []string // paths or globs, as DuckDB reads them
	settings []setting
}

// setting is an option and its value as SQL.
type setting struct{ name, value string }

func (s scan) has(name string) bool {
	return slices.ContainsFunc(s.settings, func(x setting) bool { return x.name == name })
}

// with returns the scan with one more setting.
func (s scan) with(name, value string) scan {
	s.settings = append(slices.Clip(s.settings), setting{name, value})
	return s
}

// SQL is the call, for FROM.
func (s scan) SQL() string {
	files := literalList(s.files)
	if len(s.files) == 1 {
		files = engine.Literal(s.files[0])
	}
	var b strings.Builder
	b.WriteString(s.format.reader + "(" + files)
	for _, x := range s.settings {
		b.WriteString(", " + x.name + " = " + x.value)
	}
	b.WriteString(")")
	return b.String()
}
