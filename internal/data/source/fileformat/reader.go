// Package fileformat reads CSV, TSV, JSON, NDJSON and Parquet files: it detects
// the format, turns params into options of DuckDB's readers, and finds the line
// of a file that DuckDB cannot read.
//
//	r, err := fileformat.Compile(declaration, "flights.csv.gz", nil)
//	opened, err := r.Open(ctx, host, fileformat.One(path, size))
package fileformat

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Files are the files of a dataset.
type Files struct {
	Patterns []string // for DuckDB
	Found    []string // for the format
	Bytes    int64
	Shown    string // for messages, instead of the first of Found
	Base     string // how the names of documents begin for DuckDB, which their paths leave out; "": their folder
	Name     string // of the one document, if that of the file is not its own
	Ignored  []string
	Listed   []DocumentFile // the documents, if the connector has listed them; else DuckDB does

	// Prefix is how their names begin for DuckDB, and ShownPrefix what users see instead.
	// "": users see their names.
	Prefix, ShownPrefix string
}

// empty reports whether the files are known to have no bytes.
func (f Files) empty() bool {
	return f.Bytes == 0 && len(f.Found) > 0 && !slices.ContainsFunc(f.Found, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.Size() > 0
	})
}

// One returns a single file.
func One(path string, size int64) Files {
	return Files{Patterns: []string{EscapeGlob(path)}, Found: []string{path}, Bytes: size}
}

// EscapeGlob returns a glob that matches only the path.
func EscapeGlob(path string) string {
	if !strings.ContainsAny(path, "*?[") {
		return path
	}
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// showNames replaces the prefix of the names in the column that has them, if there is one.
func (f Files) showNames(s scan) string {
	column := s.value("filename")
	if f.Prefix == f.ShownPrefix || column == "" || column == "false" {
		return ""
	}
	name := engine.Identifier("filename")
	if text, ok := strings.CutPrefix(column, "'"); ok {
		name = engine.Identifier(strings.ReplaceAll(strings.TrimSuffix(text, "'"), "''", "'"))
	}
	return fmt.Sprintf(" REPLACE (%s || substr(%s, %d) AS %s)", engine.Literal(f.ShownPrefix), name,
		len([]rune(f.Prefix))+1, name)
}

var paramFileFormat = spicepod.Param{Name: "file_format", Doc: "Format of the files, if their names do not show it."}

// Reader reads the files of a dataset.
type Reader struct {
	name     string // of the dataset
	shown    string // its `from`
	params   spicepod.Params
	own      []spicepod.Param // of the connector
	columns  []spicepod.DatasetColumn
	format   *format   // nil: that of the files
	settings []setting // of the format
}

// Compile checks the params if the format is known from params.file_format or
// the name of a file. The connector reads the params in own.
func Compile(d source.Declaration, name string, own []spicepod.Param) (*Reader, error) {
	r := &Reader{
		name: d.Name, shown: d.From.Shown, params: d.Params, own: append(own, paramFileFormat), columns: d.Columns,
		format: formatOf(name),
	}
	var err error
	if d.Params.Has("file_format") {
		name, err := d.Params.String("file_format")
		if err != nil {
			return nil, err
		}
		if r.format, err = formatByName(name); err != nil {
			return nil, err
		}
	}
	if r.format == nil {
		return r, nil
	}
	if r.format.reader == readsDocuments {
		_, err = r.documentLimits(r.format)
		return r, err
	}
	r.settings, err = r.format.settings(d.Params, r.own)
	return r, err
}

// Tables reports whether the files are known to be tables.
func (r *Reader) Tables() bool { return r.format != nil && r.format.reader != readsDocuments }

// Documents reports whether the files, such as the one with a name, are documents.
func (r *Reader) Documents(name string) bool {
	return r.format == nil && IsDocument(name) || r.format != nil && !r.Tables()
}

// Open returns a query over the files.
func (r *Reader) Open(ctx context.Context, h source.Host, found Files) (*source.Opened, error) {
	db, f, settings := h.DB, r.format, r.settings
	if f == nil {
		if f = formatOf(found.Found[0]); f == nil {
			return nil, unknownFormat(cmp.Or(found.Shown, found.Found[0]))
		}
	}
	if f.reader == readsDocuments {
		return r.openDocuments(ctx, h, f, found)
	}
	if r.format == nil {
		var err error
		if settings, err = f.settings(r.params, r.own); err != nil {
			return nil, err
		}
	}
	s := scan{f, found.Patterns, settings}
	if f != parquetFormat && !s.has("names") && !s.has("columns") && found.empty() {
		hint := "write at least the line with the names of the columns to it"
		if !s.readsCSV() {
			hint = "write an object to it, or declare params.columns: without one its columns are not known"
		}
		return nil, fault.New("from", hint, "the file %q is empty", found.shown(found.Found[0])).Retryable()
	}
	if err := found.look(s); err != nil {
		return nil, err
	}
	s = s.smallBuffers(found)
	describe := func(s scan) ([]engine.Column, error) { return tables.Describe(ctx, db, "SELECT * FROM "+s.SQL()) }
	s, columns, err := detectDelimiter(s, describe)
	if err != nil {
		return nil, sourceError(err, s)
	}
	s, columns = whole(found, s, columns, describe)
	if err := cmp.Or(tooDeep(columns), found.wideDecimals(ctx, db, s, columns)); err != nil {
		return nil, err
	}
	query := "SELECT *" + found.showNames(s) + " FROM " + r.typed(s, columns).SQL()
	opened := &source.Opened{
		Query: query, Columns: columns, Format: f.name, Bytes: found.Bytes,
		Remarks: r.remarks(ctx, db, s, columns, found),
	}
	if other := otherColumns(s, columns, found, describe); other != nil {
		opened.Remarks = append(opened.Remarks, other)
	}
	return opened, nil
}

// Unread returns why files of a known format are not read, and what to do, by the name of
// one; "" for others.
func Unread(name string) string {
	switch filepath.Ext(strings.ToLower(name)) {
	case ".xls", ".ods", ".avro", ".orc", ".feather", ".arrow", ".xml":
		return unknownFormat(name).Error()
	}
	return ""
}

// unknownFormat is the fault of a file whose name does not have the extension of a format.
func unknownFormat(name string) *fault.Fault {
	switch extension := strings.ToLower(filepath.Ext(name)); extension {
	case ".xls", ".ods":
		return fault.New("from", "save the sheet as xlsx, CSV or Parquet", "spreadsheets (%s) are not read", extension)
	case ".avro", ".orc", ".feather", ".arrow", ".xml":
		return fault.New("from", "convert it to Parquet, CSV or JSON", "files of the format %s are not read", extension[1:])
	}
	return fault.New("from", "set params.file_format: one of "+servedFormats,
		"the name %q does not show the format of the file", name)
}

// Patterns returns globs for the files of one format in a folder, where names
// are all its files. If wanted, such as ".csv", is not empty, only files with
// that extension match. Without a declared format, documents such as a README next to tables are
// left out.
func (r *Reader) Patterns(dir string, names []string, wanted string) ([]string, error) {
	var extensions []string
	var kinds []*format
	tabular := slices.ContainsFunc(names, func(name string) bool { _, ok := FormatOf(name); return ok })
	for _, name := range names {
		if strings.HasPrefix(filepath.Base(name), ".") || strings.HasPrefix(filepath.Base(name), "_") {
			continue
		}
		f := formatOf(name)
		ext, compression := splitExtension(name)
		switch {
		case wanted != "" && ext+compression != wanted && ext != wanted:
			continue
		case wanted == "" && !r.takes(f, ext, compression, tabular):
			continue
		}
		alike := func(k *format) bool { return k == f || k.reader == readsDocuments && f.reader == k.reader }
		if f != nil && !slices.ContainsFunc(kinds, alike) {
			kinds = append(kinds, f)
		}
		if written := name[len(name)-len(ext+compression):]; !slices.Contains(extensions, written) { // .PDF or .pdf
			extensions = append(extensions, written)
		}
	}
	switch {
	case len(extensions) == 0:
		return nil, fault.New("from", "served: "+servedFormats, "folder %q has no file of a served format", dir).Retryable()
	case len(kinds) > 1 && r.format == nil:
		return nil, fault.New("from", "set params.file_format, or name the files with a glob",
			"folder %q has files of several formats: %s and %s", dir, kinds[0].name, kinds[1].name)
	}
	slices.Sort(extensions)
	patterns := make([]string, len(extensions))
	for i, e := range extensions {
		patterns[i] = filepath.Join(EscapeGlob(dir), "**", "*"+e)
	}
	return patterns, nil
}

// takes reports whether a file of a folder, whose name shows a format or nil, is read.
func (r *Reader) takes(f *format, ext, compression string, tabular bool) bool {
	switch {
	case f == nil:
		return false
	case r.format == nil:
		return f.reader != readsDocuments || !tabular
	case r.format.reader == readsDocuments:
		return compression == "" && slices.Contains(r.format.extensions, ext)
	}
	return f.reader == r.format.reader
}

// Ignored returns the files of a folder that are not read, if it was declared to be one of
// documents of any format.
func (r *Reader) Ignored(base string, names []string) (ignored []string) {
	if r.format == nil || r.format.name != "document" {
		return nil
	}
	for _, name := range names {
		ext, compression := splitExtension(name)
		if !r.takes(formatOf(name), ext, compression, false) && !hidden(base, name) && !strings.HasSuffix(name, "/") {
			ignored = append(ignored, name)
		}
	}
	return ignored
}

// Extension returns an extension for a cached file that shows its format and
// compression.
func (r *Reader) Extension(path, contentType string) string {
	ext, compression := splitExtension(path)
	if formatOf(path) != nil {
		return ext + compression
	}
	if f := cmp.Or(r.format, formatOfMediaType(contentType)); f != nil {
		return f.extensions[0] + compression
	}
	return ".data"
}

// typed sets the declared types in the reader, where a cast of what the reader detects could
// lose leading zeros (CSV) or digits (of a number of JSON beyond 64 bits).
func (r *Reader) typed(s scan, columns []engine.Column) scan {
	if s.format.reader == "read_json" && !s.has("columns") {
		return r.typedJSON(s, columns)
	}
	if !s.readsCSV() || s.has("types") || s.has("columns") || s.has("names") {
		return s
	}
	types := map[string]string{}
	for _, c := range r.columns {
		for _, have := range columns {
			if c.Type != "" && strings.EqualFold(have.Name, c.Name) {
				types[have.Name] = c.Type
			}
		}
	}
	if len(types) == 0 {
		return s
	}
	return s.with("types", literal(types))
}

// typedJSON sets the types of all columns, which read_json needs, if one is declared for a
// column of numbers.
func (r *Reader) typedJSON(s scan, columns []engine.Column) scan {
	differs := false
	types := make([]string, len(columns)) // in the order of the columns
	for i, have := range columns {
		typ := have.Type.String()
		for _, c := range r.columns {
			if c.Type != "" && have.Type.ID == engine.Double && strings.EqualFold(have.Name, c.Name) {
				typ, differs = c.Type, true
			}
		}
		types[i] = engine.Literal(have.Name) + ": " + engine.Literal(typ)
	}
	if !differs {
		return s
	}
	return s.with("columns", "{"+strings.Join(types, ", ")+"}")
}

// sourceError describes why DuckDB cannot read files.
func sourceError(err error, s scan) error {
	if file := fault.UnreadableCSV(err); file != "" && s.readsCSV() {
		if ragged := findRagged(file, s); ragged != nil {
			return ragged
		}
		if mixed := lineEnds(file); mixed != nil {
			return mixed
		}
	}
	return fault.FromDuckDB(err)
}

// diagnoseBytes bounds the search of [findRagged].
const diagnoseBytes = 64 << 20

// findRagged reports the first row of a CSV file whose number of columns differs
// from the header's, or nil.
func findRagged(path string, s scan) *fault.Fault {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return fault.New("from", "compress the file with gzip, or remove .gz from its name",
				"file %q is not a gzip file: %s", path, err)
		}
	}
	r := csv.NewReader(io.LimitReader(in, diagnoseBytes))
	r.LazyQuotes, r.ReuseRecord = true, true
	for _, x := range s.settings {
		if v := strings.Trim(x.value, "'"); (x.name == "delim" || x.name == "sep") && len([]rune(v)) == 1 {
			r.Comma = []rune(v)[0]
		}
	}
	expected := 0
	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := r.FieldPos(0)
			at, text := fmt.Sprintf("file %q, line %d", path, line), strings.Join(row, string(r.Comma))
			if f := fault.NotUTF8(at, "", text); f != nil {
				return f
			}
			hint, found := fault.RaggedHint, len(row)
			if next, _ := r.Read(); found > expected && len(next) == found {
				hint = fmt.Sprintf("set params.csv_skip: %d if the lines before it are not rows; or ", line-1) + hint
			}
			return fault.New("from", hint, "%s: expected %d columns, found %d: %q",
				at, expected, found, truncate.Ellipsis(text, 80)).
				WithPublic(fmt.Sprintf("%s: expected %d columns, found %d", at, expected, found))
		case err != nil:
			return nil
		}
		expected = len(row)
	}
}
