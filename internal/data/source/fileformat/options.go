package fileformat

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// commonOptions are those of every file format.
var commonOptions = map[string]spicepod.ParamType{
	"filename": spicepod.ParamFlag, "union_by_name": spicepod.ParamBool,
	"hive_partitioning": spicepod.ParamBool, "hive_types": spicepod.ParamTextMap, "hive_types_autocast": spicepod.ParamBool,
}

var commonAliases = map[string]string{
	"hive_partitioning_enabled": "hive_partitioning",
	"file_compression_type":     "compression",
	"schema_infer_max_records":  "sample_size",
}

// withCommon adds what every format has.
func withCommon(options map[string]spicepod.ParamType) map[string]spicepod.ParamType {
	all := maps.Clone(commonOptions)
	maps.Copy(all, options)
	return all
}

func literalList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = engine.Literal(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// settings turns params into settings of the format, sorted by name, and leaves
// out those of the connector. Every fault is about one key.
func (f *format) settings(params spicepod.Params, connector []spicepod.Param) ([]setting, error) {
	own := spicepod.ParamNames(connector)
	var out []setting
	from := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(own, key) {
			continue
		}
		name, err := f.optionName(key, own)
		if err != nil {
			return nil, err
		}
		if other := from[name]; other != "" {
			return nil, fault.OfKey("params."+key, "keep one of them", "params.%s and params.%s both set %s", other, key, name)
		}
		from[name] = key
		value, err := params.Value(key, f.options[name])
		if err != nil {
			return nil, err
		}
		if m, ok := value.(map[string]string); ok && len(m) == 0 {
			return nil, fault.New("params."+key, "", "params.%s names no column", key)
		}
		out = append(out, setting{name, spiceValue(name, literal(value))})
	}
	for _, x := range f.fixed {
		if from[x.name] == "" && !(x.name == "delim" && from["sep"] != "") {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// optionName returns DuckDB's name of the option that a key of params means.
func (f *format) optionName(key string, own []string) (string, error) {
	names := []string{key}
	for _, p := range f.prefixes {
		if rest, ok := strings.CutPrefix(key, p); ok {
			names = append(names, rest)
		}
	}
	for _, n := range names {
		if alias := f.alias(n); alias != "" {
			n = alias
		}
		if _, ok := f.options[n]; ok {
			return n, nil
		}
	}
	for _, other := range formats {
		for _, p := range other.prefixes {
			if strings.HasPrefix(key, p) && !slices.Contains(f.prefixes, p) {
				return "", fault.OfKey("params."+key, "remove it, or set params.file_format", "params.%s is an option of %s files; this is read as %s", key, other.name, f.name)
			}
		}
	}
	return "", fault.OfKey("params."+key, nearest.Hint(key, f.known(own), ""), "params.%s is not an option of %s files", key, f.name)
}

func (f *format) alias(name string) string {
	if a := f.aliases[name]; a != "" {
		return a
	}
	return commonAliases[name]
}

// known lists the names of params for suggestions, Spice's first.
func (f *format) known(own []string) []string {
	names := slices.Clone(own)
	for _, m := range []map[string]string{f.aliases, commonAliases} {
		for _, n := range slices.Sorted(maps.Keys(m)) {
			names = append(names, n)
			if len(f.prefixes) > 0 {
				names = append(names, f.prefixes[0]+n)
			}
		}
	}
	return append(names, slices.Sorted(maps.Keys(f.options))...)
}

// literal renders a value of params as SQL. DuckDB reads the types in a mapping.
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

// spiceValue turns Spice's words for a value into DuckDB's.
func spiceValue(name, value string) string {
	words := map[string]map[string]string{
		"compression": {"uncompressed": "none", "": "none"},
		"format":      {"jsonl": "newline_delimited", "ndjson": "newline_delimited", "json": "auto"},
	}
	if words[name] == nil {
		return value
	}
	lower := strings.ToLower(strings.Trim(value, "'"))
	if duck, ok := words[name][lower]; ok {
		lower = duck
	}
	return engine.Literal(strings.ReplaceAll(lower, "''", "'"))
}
