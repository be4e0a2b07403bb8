package sqltree

import (
	"math"
	"strings"
)

// What constants give is computed when DuckDB plans a statement. This file bounds it from
// the constants that are in the text: nested calls, and numbers with operators between them.

// patterns are DuckDB's functions and operators whose second argument is a pattern.
var patterns = map[string]bool{
	"~~": true, "!~~": true, "~~*": true, "!~~*": true, "~~~": true, "like_escape": true, "not_like_escape": true,
	"ilike_escape":     true,
	"not_ilike_escape": true, "glob": true, "regexp_matches": true, "regexp_full_match": true, "regexp_extract": true,
	"regexp_extract_all": true,
	"regexp_replace":     true, "regexp_split_to_array": true, "regexp_split_to_table": true, "string_split_regex": true,
	"str_split_regex": true,
	"similar_to":      true,
}

// distances are DuckDB's functions whose time is the product of the sizes of two texts.
var distances = map[string]bool{
	"levenshtein": true, "editdist3": true, "damerau_levenshtein": true, "jaro_similarity": true,
	"jaro_winkler_similarity": true,
}

// call bounds the constants of a call.
func (b *bounds) call(n node) {
	name, args := Fold(n.str("function_name")), n.nodes("children")
	switch {
	case name == "range" || name == "generate_series":
		if count := elements(args); count > mostElements {
			b.exceed(n, "use it in FROM, where its rows are not held at once",
				"%s gives a list of %.0f elements; at most %d can be made in the runtime's process", name, count, mostElements)
		}
	case name == "list_resize" || name == "array_resize":
		if count, ok := numberAt(args, 1); ok && count > mostElements {
			b.exceed(n, "make a shorter list",
				"%s gives a list of %.0f elements; at most %d can be made in the runtime's process", name, count, mostElements)
		}
	case patterns[name] && len(args) > 1:
		b.within(n, args[1], mostPattern, "match in several steps, or the text without a pattern", "the pattern of "+name)
	case distances[name]:
		for _, a := range args {
			b.within(n, a, mostCompared, "compare parts of the texts", "a text for "+name)
		}
	}
	if size := builtBy(name, args); size > mostBuilt {
		b.exceed(n, "make it shorter",
			"%s gives a value of at least %.0f bytes; at most %d can be made in the runtime's process", name, size, mostBuilt)
	}
}

// cast bounds the digits of a BIGNUM.
func (b *bounds) cast(n node) {
	if n.child("cast_type").str("id") == "BIGNUM" {
		b.within(n, n.child("child"), mostDigits, "compute with fewer digits", "the text of a BIGNUM")
	}
}

// within checks the size of a constant text.
func (b *bounds) within(n, text node, most float64, hint, what string) {
	if size := built(text); size > most {
		b.exceed(n, hint, "%s has %.0f bytes; at most %.0f can be planned in the runtime's process", what, size, most)
	}
}

// built returns how many bytes a text has at least that constants give.
func built(n node) float64 {
	switch n.str("class") {
	case "CONSTANT":
		text, _ := n.child("value")["value"].(string)
		return float64(len(text))
	case "CAST":
		return built(n.child("child"))
	case "FUNCTION":
		return builtBy(Fold(n.str("function_name")), n.nodes("children"))
	}
	return 0
}

// builtBy is built for a call.
func builtBy(name string, args []node) (size float64) {
	switch name {
	case "repeat":
		if count, ok := numberAt(args, 1); ok {
			return max(built(args[0]), 1) * count
		}
	case "lpad", "rpad", "bitstring":
		size, _ = numberAt(args, 1)
	case "||", "concat":
		for _, a := range args {
			size += built(a)
		}
	case "upper", "lower", "ucase", "lcase", "reverse", "trim", "ltrim", "rtrim":
		if len(args) == 1 {
			size = built(args[0])
		}
	}
	return size
}

// elements returns how many elements range has; 0 if that is not known.
func elements(args []node) float64 {
	var list []float64
	for i := range args {
		x, ok := numberAt(args, i)
		if !ok {
			return 0
		}
		list = append(list, x)
	}
	switch len(list) {
	case 1:
		return list[0]
	case 2:
		return list[1] - list[0]
	case 3:
		if list[2] != 0 {
			return (list[1] - list[0]) / list[2]
		}
	}
	return 0
}

func numberAt(args []node, i int) (float64, bool) {
	if i >= len(args) {
		return 0, false
	}
	return numeric(args[i])
}

// numeric returns the value of a constant number, which may be computed.
func numeric(n node) (float64, bool) {
	switch n.str("class") {
	case "CONSTANT":
		value := n.child("value")
		x, ok := value["value"].(float64)
		if scale, decimal := value.child("type").child("type_info")["scale"].(float64); decimal {
			x /= math.Pow(10, scale)
		}
		return x, ok
	case "CAST":
		return numeric(n.child("child"))
	case "FUNCTION":
		args := n.nodes("children")
		x, ok := numberAt(args, 0)
		if !ok {
			return 0, false
		}
		if name := Fold(n.str("function_name")); len(args) == 1 {
			return map[string]float64{"-": -1, "+": 1}[name] * x, strings.Contains("-+", name)
		} else if y, known := numberAt(args, 1); known {
			return computed(name, x, y)
		}
	}
	return 0, false
}

func computed(operator string, x, y float64) (float64, bool) {
	switch operator {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	case "/", "//":
		return x / y, y != 0
	case "**", "^", "pow", "power":
		return math.Pow(x, y), true
	}
	return 0, false
}
