package fileformat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// JSON files have an array of objects or a sequence of objects (.json), or one
// object on each line (.ndjson, .jsonl).

var jsonOptions = withCommon(map[string]spicepod.ParamType{
	"format": spicepod.ParamText, "records": spicepod.ParamText, "columns": spicepod.ParamTextMap,
	"maximum_depth":       spicepod.ParamInt,
	"maximum_object_size": spicepod.ParamInt, "ignore_errors": spicepod.ParamBool, "dateformat": spicepod.ParamText,
	"timestampformat": spicepod.ParamText,
	"sample_size":     spicepod.ParamInt, "compression": spicepod.ParamText,
	"convert_strings_to_integers": spicepod.ParamBool,
	"field_appearance_threshold":  spicepod.ParamNumber, "map_inference_threshold": spicepod.ParamInt,
	"maximum_sample_files": spicepod.ParamInt,
	"auto_detect":          spicepod.ParamBool,
})

var jsonAliases = map[string]string{
	"date_format": "dateformat", "timestamp_format": "timestampformat", "max_depth": "maximum_depth",
}

var jsonFormat = &format{
	name: "json", reader: "read_json", prefixes: []string{"json_"}, extensions: []string{".json"},
	mediaTypes: []string{"application/json", "text/json"}, options: jsonOptions, aliases: jsonAliases,
}

var ndjsonFormat = &format{
	name: "ndjson", reader: "read_json", prefixes: []string{"json_"}, extensions: []string{".ndjson", ".jsonl", ".ldjson"},
	mediaTypes: []string{"application/x-ndjson", "application/jsonl", "application/x-jsonlines"},
	fixed:      []setting{{"format", "'newline_delimited'"}}, options: jsonOptions, aliases: jsonAliases,
}

var parquetFormat = &format{
	name: "parquet", reader: "read_parquet", prefixes: []string{"parquet_"}, extensions: []string{".parquet", ".pq"},
	mediaTypes: []string{"application/vnd.apache.parquet", "application/parquet", "application/x-parquet"},
	options: withCommon(map[string]spicepod.ParamType{
		"binary_as_string": spicepod.ParamBool,
		"file_row_number":  spicepod.ParamBool,
	}),
}

// CSV and TSV files have a header, and no line before it is skipped, unless
// params say otherwise: what DuckDB detects may lose rows of unusual files. The
// delimiter is a comma, or what DuckDB detects if the header has no comma.

var csvOptions = withCommon(map[string]spicepod.ParamType{
	"header": spicepod.ParamBool, "delim": spicepod.ParamText, "sep": spicepod.ParamText, "quote": spicepod.ParamText,
	"escape": spicepod.ParamText, "comment": spicepod.ParamText,
	"nullstr": spicepod.ParamTexts, "dateformat": spicepod.ParamText, "timestampformat": spicepod.ParamText,
	"columns": spicepod.ParamTextMap, "types": spicepod.ParamTextsMap, "names": spicepod.ParamTexts,
	"all_varchar": spicepod.ParamBool, "skip": spicepod.ParamInt,
	"ignore_errors": spicepod.ParamBool, "null_padding": spicepod.ParamBool, "strict_mode": spicepod.ParamBool,
	"max_line_size": spicepod.ParamInt,
	"sample_size":   spicepod.ParamInt, "files_to_sniff": spicepod.ParamInt, "encoding": spicepod.ParamText,
	"compression": spicepod.ParamText, "new_line": spicepod.ParamText,
	"decimal_separator": spicepod.ParamText, "thousands": spicepod.ParamText, "normalize_names": spicepod.ParamBool,
	"allow_quoted_nulls": spicepod.ParamBool, "force_not_null": spicepod.ParamTexts, "auto_detect": spicepod.ParamBool,
	"auto_type_candidates": spicepod.ParamTexts, "buffer_size": spicepod.ParamInt, "parallel": spicepod.ParamBool,
})

var csvAliases = map[string]string{
	"has_header": "header", "delimiter": "delim", "null_value": "nullstr", "null": "nullstr",
	"date_format": "dateformat", "timestamp_format": "timestampformat", "dtypes": "types", "column_types": "types",
	"column_names": "names", "maximum_line_size": "max_line_size",
}

var csvFormat = &format{
	name: "csv", reader: "read_csv", prefixes: []string{"csv_"}, extensions: []string{".csv"},
	mediaTypes: []string{"text/csv", "application/csv"},
	fixed:      []setting{{"header", "true"}, {"skip", "0"}},
	options:    csvOptions, aliases: csvAliases,
}

var tsvFormat = &format{
	name: "tsv", reader: "read_csv", prefixes: []string{"tsv_", "csv_"}, extensions: []string{".tsv", ".tab"},
	mediaTypes: []string{"text/tab-separated-values"},
	fixed:      []setting{{"header", "true"}, {"skip", "0"}, {"delim", "'\t'"}},
	options:    csvOptions, aliases: csvAliases,
}

// readsCSV reports whether the scan is one of read_csv.
func (s scan) readsCSV() bool { return s.format.reader == "read_csv" }

// delimiters are those other than the comma that DuckDB detects.
const delimiters = ";|\t"

// detectDelimiter describes files and sets the delimiter of CSV: a comma, unless
// only another one splits the header. If it does and the rows have other numbers of values,
// the file is refused: as one column, each row would be a text with the delimiter in it.
func detectDelimiter(s scan, describe func(scan) ([]engine.Column, error)) (scan, []engine.Column, error) {
	if !s.readsCSV() || s.has("delim") || s.has("sep") || s.has("auto_detect") {
		columns, err := describe(s)
		return s, columns, err
	}
	comma := s.with("delim", "','")
	columns, err := describe(comma)
	if err == nil && (len(columns) != 1 || !strings.ContainsAny(columns[0].Name, delimiters)) {
		return comma, columns, nil
	}
	detected, other := describe(s)
	if err == nil && (other != nil || len(detected) < 2) {
		at := strings.IndexAny(columns[0].Name, delimiters)
		hint := fmt.Sprintf("set params.csv_delimiter: %q, and params.null_padding: true to fill short rows; or "+
			"params.csv_delimiter: \",\" if it has one column", columns[0].Name[at:at+1])
		return s, nil, fault.New("from",
			hint, "read with commas, the file has one column, %q, and no other delimiter fits all rows", columns[0].Name)
	}
	if other != nil || len(detected) < 2 ||
		slices.ContainsFunc(detected, func(c engine.Column) bool { return strings.Contains(c.Name, ",") }) {
		return comma, columns, err
	}
	return s, detected, nil
}

// Note is about the options of formats, for the docs of connectors that read files.
const Note = "And `file_format`, if the name does not show it, with the options of the format."
