package datasets

import "github.com/spiced-sql/spiced/spicepod"

// JSON files: an array of objects or objects one after the other (.json), or
// one object on each line (.ndjson, .jsonl).

var jsonOptions = withCommon(map[string]spicepod.ParamType{
	"format": spicepod.ParamText, "records": spicepod.ParamText, "columns": spicepod.ParamTextMap, "maximum_depth": spicepod.ParamInt,
	"maximum_object_size": spicepod.ParamInt, "ignore_errors": spicepod.ParamBool, "dateformat": spicepod.ParamText, "timestampformat": spicepod.ParamText,
	"sample_size": spicepod.ParamInt, "compression": spicepod.ParamText, "convert_strings_to_integers": spicepod.ParamBool,
	"field_appearance_threshold": spicepod.ParamNumber, "map_inference_threshold": spicepod.ParamInt, "maximum_sample_files": spicepod.ParamInt,
	"auto_detect": spicepod.ParamBool,
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
