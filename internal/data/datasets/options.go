package datasets

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// option is the kind of value a param takes.
type option uint8

const (
	optBool    option = iota
	optInt            // a whole number
	optNumber         // any number
	optText           // text
	optTexts          // text, or a list of them
	optTypes          // a mapping of column to type, or a list of types
	optColumns        // a mapping of column to type
	optAny            // true, false or text
)

var optionWords = [...]string{
	"true or false", "a whole number", "a number", "text", "text or a list of texts",
	"a mapping of columns to types, or a list of types", "a mapping of columns to types", "true, false or text",
}

// commonOptions are those of every file format.
var commonOptions = map[string]option{
	"filename": optAny, "union_by_name": optBool,
	"hive_partitioning": optBool, "hive_types": optColumns, "hive_types_autocast": optBool,
}

var commonAliases = map[string]string{
	"hive_partitioning_enabled": "hive_partitioning",
	"file_compression_type":     "compression",
	"schema_infer_max_records":  "sample_size",
}

// withCommon adds what every format has.
func withCommon(options map[string]option) map[string]option {
	all := maps.Clone(commonOptions)
	maps.Copy(all, options)
	return all
}

// literal and literalList render text as SQL.
func literal(s string) string { return engine.Literal(s) }

func literalList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = literal(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// settings turns params into settings of the format, sorted by name. Keys in
// own are the connector's. Every fault is about one key.
func (f *format) settings(params spicepod.Params, own []string) ([]setting, error) {
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
			return nil, keyFault(key, "keep one of them", "params.%s and params.%s both set %s", other, key, name)
		}
		from[name] = key
		value, err := optionValue(f.options[name], params[key])
		if err != nil {
			return nil, newFault("params."+key, "", "params.%s takes %s%s", key, optionWords[f.options[name]], err)
		}
		out = append(out, setting{name, spiceValue(name, value)})
	}
	for _, x := range f.fixed {
		if from[x.name] == "" && !(x.name == "delim" && from["sep"] != "") {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func keyFault(key, hint, format string, args ...any) *fault {
	f := newFault("params."+key, hint, format, args...)
	f.key = true
	return f
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
				return "", keyFault(key, "remove it, or set params.file_format", "params.%s is an option of %s files; this is read as %s", key, other.name, f.name)
			}
		}
	}
	hint := ""
	if near := nearest.Name(key, f.known(own)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return "", keyFault(key, hint, "params.%s is not an option of %s files", key, f.name)
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

// optionValue renders a value of params as SQL. The error ends "takes …".
func optionValue(kind option, value any) (string, error) {
	switch kind {
	case optTexts:
		if list, ok := value.([]any); ok {
			return textList(list)
		}
		kind = optText
	case optTypes, optColumns:
		if list, ok := value.([]any); ok && kind == optTypes {
			return textList(list)
		}
		return typeMap(value)
	}
	text, ok := scalarText(value)
	if !ok {
		return "", fmt.Errorf(", not %s", kindOf(value))
	}
	lower := strings.ToLower(text)
	switch {
	case (kind == optBool || kind == optAny) && (lower == "true" || lower == "false"):
		return lower, nil
	case kind == optInt:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10), nil
		}
	case kind == optNumber:
		if n, err := strconv.ParseFloat(text, 64); err == nil && n-n == 0 {
			return strconv.FormatFloat(n, 'f', -1, 64), nil
		}
	case kind == optText || kind == optAny:
		return literal(text), nil
	}
	return "", fmt.Errorf(", not %s", shownValue(value))
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
	return literal(strings.ReplaceAll(lower, "''", "'"))
}

// scalarText is the revealed text of a scalar.
func scalarText(value any) (string, bool) {
	switch v := value.(type) {
	case spicepod.Text:
		return v.Reveal(), true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// shownValue is a value as written.
func shownValue(value any) string {
	if text, ok := value.(spicepod.Text); ok {
		return strconv.Quote(text.Raw)
	}
	return fmt.Sprint(value)
}

func kindOf(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

func textList(list []any) (string, error) {
	texts := make([]string, len(list))
	for i, e := range list {
		text, ok := scalarText(e)
		if !ok {
			return "", fmt.Errorf(", not %s in the list", kindOf(e))
		}
		texts[i] = text
	}
	return literalList(texts), nil
}

// typeMap renders a mapping of names to types as a struct of texts; DuckDB
// reads the types.
func typeMap(value any) (string, error) {
	m, ok := value.(map[string]any)
	if !ok || len(m) == 0 {
		return "", fmt.Errorf(", not %s", kindOf(value))
	}
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text, ok := scalarText(m[name])
		if !ok {
			return "", fmt.Errorf(", not %s for %q", kindOf(m[name]), name)
		}
		parts = append(parts, literal(name)+": "+literal(text))
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}
