package datasets

// JSON files: an array of objects or objects one after the other (.json), or
// one object on each line (.ndjson, .jsonl).

var jsonOptions = withCommon(map[string]option{
	"format": optText, "records": optText, "columns": optColumns, "maximum_depth": optInt,
	"maximum_object_size": optInt, "ignore_errors": optBool, "dateformat": optText, "timestampformat": optText,
	"sample_size": optInt, "compression": optText, "convert_strings_to_integers": optBool,
	"field_appearance_threshold": optNumber, "map_inference_threshold": optInt, "maximum_sample_files": optInt,
	"auto_detect": optBool,
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
