package fileformat

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// format is a file format.
type format struct {
	name       string
	reader     string   // table function of DuckDB
	prefixes   []string // of params, such as csv_
	extensions []string
	mediaTypes []string
	fixed      []setting                     // defaults
	options    map[string]spicepod.ParamType // by DuckDB's name
	aliases    map[string]string             // other names of options
}

// formats that are served. The first with an extension wins.
var formats = []*format{csvFormat, tsvFormat, jsonFormat, ndjsonFormat, parquetFormat}

// Format describes a file format.
type Format struct {
	Name       string
	Extensions []string
	Options    map[string]spicepod.ParamType // params, by DuckDB's name
	Aliases    map[string][]string           // other names of options
	Prefixes   []string                      // that every name may have
}

// Formats are the formats that are served.
func Formats() []Format {
	var all []Format
	for _, f := range slices.Concat(formats, documentFormats) {
		one := Format{
			Name: f.name, Extensions: f.extensions, Options: f.options, Aliases: map[string][]string{},
			Prefixes: f.prefixes,
		}
		for _, aliases := range []map[string]string{f.aliases, commonAliases} {
			for _, alias := range slices.Sorted(maps.Keys(aliases)) {
				one.Aliases[aliases[alias]] = append(one.Aliases[aliases[alias]], alias)
			}
		}
		all = append(all, one)
	}
	return all
}

// formatNames are the values of params.file_format.
var formatNames = map[string]*format{
	"csv": csvFormat, "tsv": tsvFormat, "json": jsonFormat,
	"ndjson": ndjsonFormat, "jsonl": ndjsonFormat, "ldjson": ndjsonFormat, "parquet": parquetFormat,
}

const (
	servedTables  = "csv, tsv, json, ndjson, jsonl, parquet"
	servedFormats = servedTables + ", or of documents: md, txt, html, pdf, docx, xlsx, document"
)

// compressions are the extensions of compressed files that DuckDB reads.
var compressions = []string{".gz", ".zst"}

// formatByName returns the format of a value of params.file_format.
func formatByName(name string) (*format, error) {
	if f := formatNames[strings.ToLower(name)]; f != nil {
		return f, nil
	}
	hint := strings.TrimSpace(nearest.Hint(name, slices.Collect(maps.Keys(formatNames)), "") + " served: " + servedFormats)
	return nil, fault.New("params.file_format", hint, "file format %q is not served", name)
}

// splitExtension returns the extension of a name without that of its
// compression, and that of its compression.
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

// FormatOf returns the format of tables that the extension of a file's name shows.
func FormatOf(name string) (format string, ok bool) {
	if f := formatOf(name); f != nil && f.reader != readsDocuments {
		return f.name, true
	}
	return "", false
}

// IsDocument reports whether the extension of a file's name shows a format of documents.
func IsDocument(name string) bool {
	f := formatOf(name)
	return f != nil && f.reader == readsDocuments
}

// ServedFormats lists the formats of tables for messages.
func ServedFormats() string { return servedTables }

// formatOf returns the format of a file name, or nil.
func formatOf(name string) *format {
	extension, compression := splitExtension(name)
	for _, f := range formats {
		if slices.Contains(f.extensions, extension) && (compression == "" || f != parquetFormat) {
			return f
		}
	}
	for _, f := range documentFormats {
		if slices.Contains(f.extensions, extension) && compression == "" {
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

// setting is an option with its value as SQL.
type setting struct{ name, value string }

func (s scan) has(name string) bool {
	return slices.ContainsFunc(s.settings, func(x setting) bool { return x.name == name })
}

// value returns the SQL of a setting, or "".
func (s scan) value(name string) string {
	for _, x := range s.settings {
		if x.name == name {
			return x.value
		}
	}
	return ""
}

// with returns the scan with another setting.
func (s scan) with(name, value string) scan {
	s.settings = append(slices.Clip(s.settings), setting{name, value})
	return s
}

// smallBuffer is the size in bytes of the buffers of a reader of small CSV files. It must be
// larger than the longest line that DuckDB reads, of 2,000,000 bytes.
const smallBuffer = 2_100_000

// smallBuffers returns the scan with small buffers if the files are small. DuckDB's buffers of
// CSV have 32 MB, however small a file is: a statement that reads one eight times would not
// run in a worker with 1 GiB.
func (s scan) smallBuffers(found Files) scan {
	if !s.readsCSV() || !found.local() || found.Bytes > mostWhole || s.has("buffer_size") || s.has("max_line_size") {
		return s
	}
	return s.with("buffer_size", strconv.Itoa(smallBuffer))
}

// SQL returns the call.
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

func literalList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = engine.Literal(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// commonOptions are the options of every format.
var commonOptions = map[string]spicepod.ParamType{
	"filename": spicepod.ParamFlag, "union_by_name": spicepod.ParamBool,
	"hive_partitioning": spicepod.ParamBool, "hive_types": spicepod.ParamTextMap,
	"hive_types_autocast": spicepod.ParamBool,
}

var commonAliases = map[string]string{
	"hive_partitioning_enabled": "hive_partitioning",
	"file_compression_type":     "compression",
	"schema_infer_max_records":  "sample_size",
}

// withCommon adds the common options.
func withCommon(options map[string]spicepod.ParamType) map[string]spicepod.ParamType {
	all := maps.Clone(commonOptions)
	maps.Copy(all, options)
	return all
}

// settings returns params as settings of the format, sorted by name, without the
// params of the connector.
func (f *format) settings(params spicepod.Params, connector []spicepod.Param) ([]setting, error) {
	own := spicepod.ParamNames(connector)
	if err := f.unknown(params, own); err != nil {
		return nil, err
	}
	var out []setting
	from := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(own, key) {
			continue
		}
		name, _ := f.optionName(key, own)
		if other := from[name]; other != "" {
			return nil, fault.OfKey("params."+key, "keep one of them", "params.%s and params.%s both set %s", other, key, name)
		}
		from[name] = key
		value, err := params.Value(key, f.options[name])
		if err != nil {
			return nil, err
		}
		if m, ok := value.(map[string]string); ok && len(m) == 0 {
			return nil, fault.New("params."+key, "", "params.%s has no columns", key)
		}
		out = append(out, setting{name, literal(duckdbValue(name, value))})
	}
	for _, x := range f.fixed {
		if from[x.name] == "" && !(x.name == "delim" && from["sep"] != "") {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// unknown returns one fault, at the first param that sets no option, which names the others, too.
func (f *format) unknown(params spicepod.Params, own []string) error {
	var first *fault.Fault
	var others []string
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(own, key) {
			continue
		}
		_, wrong := f.optionName(key, own)
		switch {
		case wrong == nil:
		case first == nil:
			first = wrong
		default:
			others = append(others, "params."+key)
		}
	}
	if first == nil {
		return nil
	}
	if len(others) > 0 {
		first.Message += "; nor are there " + strings.Join(others, ", ")
	}
	return first
}

// optionName returns DuckDB's name of the option that a param sets.
func (f *format) optionName(key string, own []string) (string, *fault.Fault) {
	names := []string{key}
	for _, p := range f.prefixes {
		if rest, ok := strings.CutPrefix(key, p); ok {
			names = append(names, rest)
		}
	}
	for _, n := range names {
		n = cmp.Or(f.aliases[n], commonAliases[n], n)
		if _, ok := f.options[n]; ok {
			return n, nil
		}
	}
	for _, other := range formats {
		for _, p := range other.prefixes {
			if strings.HasPrefix(key, p) && !slices.Contains(f.prefixes, p) {
				return "", fault.OfKey("params."+key, "remove it, or set params.file_format",
					"params.%s is an option of %s files, but the file is read as %s", key, other.name, f.name)
			}
		}
	}
	return "", fault.OfKey("params."+key,
		nearest.Hint(key, f.known(own), "remove it; "+f.name+" files have "+
			strings.Join(slices.Sorted(maps.Keys(f.options)), ", ")), "params.%s is not an option of %s files", key, f.name)
}

// known returns the names of params for suggestions, those of Spice first.
func (f *format) known(own []string) []string {
	names := slices.Clone(own)
	for _, m := range []map[string]string{f.aliases, commonAliases} {
		for _, n := range slices.Sorted(maps.Keys(m)) {
			names = append(names, n, f.prefixes[0]+n)
		}
	}
	return append(names, slices.Sorted(maps.Keys(f.options))...)
}

// literal returns a value of params as SQL.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return engine.Literal(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []string:
		return literalList(v)
	case map[string]string:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, engine.Literal(name)+": "+engine.Literal(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(value)
}

// spiceWords are Spice's values of options with DuckDB's.
var spiceWords = map[string]map[string]string{
	"compression": {"uncompressed": "none", "": "none"},
	"format":      {"jsonl": "newline_delimited", "ndjson": "newline_delimited", "json": "auto"},
}

// duckdbValue returns DuckDB's value of an option for Spice's.
func duckdbValue(option string, value any) any {
	text, ok := value.(string)
	if words := spiceWords[option]; ok && words != nil {
		text = strings.ToLower(text)
		return cmp.Or(words[text], text)
	}
	return value
}
