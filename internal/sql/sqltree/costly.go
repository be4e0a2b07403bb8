package sqltree

import (
	"maps"
	"slices"
	"strings"
)

// Costly is a part of a statement whose time or memory is not bounded by the sizes of the
// values that it gets: no statement of a caller may make the runtime's process compute it.
type Costly struct {
	What    string // a function or a type, or "" for a query
	Offset  int    // byte offset, -1 if unknown
	Pattern string // the parameter that is its pattern: it is not costly if [ShortPattern] holds; or ""
}

// ShortPattern reports whether matching this pattern is bounded.
func ShortPattern(text string) bool { return len(text) <= mostMatched && !strings.Contains(text, "{") }

// IsPattern reports whether the second argument of DuckDB's function or operator is a pattern.
func IsPattern(name string) bool { return patterns[name] }

// patternParam returns [Costly.Pattern] of a call.
func patternParam(n node, what string) string {
	args := n.nodes("children")
	if what == "regexp_replace" || !patterns[what] || len(args) < 2 || args[1].str("class") != "PARAMETER" {
		return ""
	}
	return args[1].str("identifier")
}

// bounded are DuckDB's functions and operators that take time and memory in proportion to
// their arguments, and whose results are not longer than these in sum. A function that is not
// known is costly.
var bounded = wordSet(`
	+ - * / // % ** ^ & | ~ << >> @ ! !__postfix ||  ^@ -> ->> xor add subtract multiply divide mod fmod fdiv pow power
	abs acos acosh asin asinh atan atan2 atanh bit_count bit_length cbrt ceil ceiling cos cosh cot degrees even exp factorial floor gamma gcd
	greatest greatest_common_divisor isfinite isinf isnan lcm least least_common_multiple lgamma ln log log10 log2 nextafter pi radians random
	round round_even roundbankers sign signbit sin sinh sqrt tan tanh trunc
	lower upper lcase ucase length len strlen char_length character_length octet_length left right substr substring reverse
	trim ltrim rtrim starts_with ends_with prefix suffix contains instr strpos position ascii chr ord unicode md5 sha1 sha256 hash hex unhex to_hex
	from_hex base64 to_base64 from_base64 encode decode url_encode url_decode strip_accents nfc_normalize concat split_part string_split
	split str_split string_to_array format_bytes regexp_escape
	age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part date_sub date_trunc datediff datepart
	datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time
	get_current_timestamp hour isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns microsecond
	millennium millisecond minute month monthname nanosecond now quarter second strftime strptime try_strptime time_bucket today to_centuries
	to_days to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks
	to_years transaction_timestamp week weekday weekofyear year yearweek timezone_hour timezone_minute
	nullif error constant_or_null typeof pg_typeof get_type uuid gen_random_uuid uuidv4 uuidv7 enum_code version
	current_user user session_user current_role current_database current_schema current_catalog ctx has_table_privilege has_schema_privilege
	list_value list_pack array_value struct_pack row map map_from_entries map_keys map_values map_extract map_extract_value element_at cardinality
	map_contains struct_extract struct_extract_at struct_insert struct_update union_value union_tag union_extract
	array_length list_max list_min list_sum list_avg list_count list_first list_last list_append list_prepend list_concat list_cat list_contains list_has list_position list_indexof list_extract list_element list_slice
	list_distinct list_unique list_reverse list_sort list_reverse_sort array_sort array_reverse_sort array_append array_prepend array_concat array_cat array_contains array_has array_position array_indexof
	array_extract array_slice array_distinct array_unique array_reverse array_push_back array_push_front array_pop_back array_pop_front
	to_json json json_quote json_object json_array json_extract json_extract_string json_extract_path json_extract_path_text json_type json_valid
	json_array_length json_keys json_exists json_value row_to_json array_to_json
	any_value arbitrary arg_max arg_min argmax argmin avg bool_and bool_or bit_and bit_or bit_xor count count_if count_star countif first
	last max max_by mean min min_by sum stddev stddev_pop stddev_samp var_pop var_samp variance median mode quantile quantile_cont quantile_disc
	array_agg list string_agg listagg group_concat row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value`)

// boundedMacros are those that the runtime itself adds to DuckDB's functions: see package prelude.
var boundedMacros = wordSet(`named_struct make_array array_element array_empty array_max array_min array_sum btrim date_bin date_format find_in_set
	from_unixtime initcap iszero list_empty nanvl nvl nvl2 string_to_list to_char to_date to_timestamp_micros to_timestamp_millis to_timestamp_nanos
	to_timestamp_seconds to_unixtime`)

// sized are those of DuckDB's functions whose results are as long as a number says, by the
// position of the number.
var sized = map[string]int{
	"lpad": 1, "rpad": 1, "repeat": 1, "range": 0, "generate_series": 0, "list_resize": 1,
	"array_resize": 1, "bitstring": 1,
}

// Limits of constants for which a function is bounded.
const (
	mostSized   = 4096 // of sized
	mostMatched = 256  // bytes of a pattern
)

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// Sized reports whether the result of DuckDB's function of that name is as long as an argument
// says.
func Sized(name string) bool { _, ok := sized[Fold(name)]; return ok }

// BoundedCalls returns DuckDB's functions whose calls are all bounded, sorted.
func BoundedCalls() []string { return slices.Sorted(maps.Keys(bounded)) }

// mostCostly is how many costly parts of a statement are listed with their places.
const mostCostly = 1000

// costlyParts returns the costly parts of a query, in no order: also tables and queries in it.
func costlyParts(v any, found []Costly) []Costly {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = costlyParts(e, found)
		}
	case map[string]any:
		n := node(v)
		switch what, ok := costly(n); {
		case !ok:
		case len(found) < mostCostly:
			found = append(found, Costly{what, n.offset(), patternParam(n, what)})
		case len(found) == mostCostly:
			found = append(found, Costly{What: what, Offset: -1})
		}
		if n.str("type") == "TABLE_FUNCTION" { // its rows are a stream
			return costlyParts(n.child("function")["children"], found)
		}
		for _, e := range v {
			found = costlyParts(e, found)
		}
	}
	return found
}

// costly reports whether a node is costly without what is inside of it.
func costly(n node) (what string, ok bool) {
	switch n.str("class") {
	case "FUNCTION":
		name := Fold(n.str("function_name"))
		return name, !boundedCall(name, n.nodes("children"))
	case "CAST":
		for _, id := range []string{"VARIANT", "BIGNUM"} {
			if hasType(n["cast_type"], id) {
				return id, true
			}
		}
		return "", false
	case "SUBQUERY", "WINDOW":
		return "", true
	}
	switch n.str("type") {
	case "BASE_TABLE", "TABLE_FUNCTION", "PIVOT", "SHOW_REF", "CTE_NODE":
		return "", true
	case "RECURSIVE_CTE_NODE":
		return "WITH RECURSIVE", true
	}
	return "", false
}

// lookUp reports whether a query node selects columns of one table by comparisons of its columns
// with constants and parameters. Nothing in it computes, sorts or collects: a row costs no more
// than reading it.
func lookUp(n node) bool {
	from, where := n.child("from_table"), n.child("where_clause")
	if where == nil || !from.isTable() || from["at_clause"] != nil {
		return false
	}
	plain := node(maps.Clone(n))
	delete(plain, "where_clause")
	delete(plain, "modifiers")
	if !shapeOf(plain).Plain {
		return false
	}
	for _, m := range n.nodes("modifiers") {
		if m.str("type") != "LIMIT_MODIFIER" || !compares(m["limit"]) || !compares(m["offset"]) {
			return false
		}
	}
	return compares(n["select_list"]) && compares(n["where_clause"])
}

// compares reports whether expressions have columns, constants and parameters, and comparisons
// of them, only.
func compares(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !compares(e) })
	case map[string]any:
		switch n := node(v); n.str("class") {
		case "COLUMN_REF", "CONSTANT", "PARAMETER":
			return true
		case "STAR":
			return !n.flag("columns") && n.lacks("expr", "replace_list")
		case "COMPARISON", "CONJUNCTION", "BETWEEN":
		case "OPERATOR":
			if !slices.Contains([]string{
				"COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL",
				"OPERATOR_IS_NOT_NULL",
			}, node(v).str("type")) {
				return false
			}
		default:
			return false
		}
		for _, e := range v {
			if !compares(e) {
				return false
			}
		}
	}
	return true
}

// hasType reports whether a type has that one in it.
func hasType(v any, id string) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasType(e, id) })
	case map[string]any:
		if node(v).str("id") == id || Fold(node(v).str("name")) == Fold(id) {
			return true
		}
		for _, e := range v {
			if hasType(e, id) {
				return true
			}
		}
	}
	return false
}

// boundedCall reports whether a call is bounded: by its name, or by constants.
func boundedCall(name string, args []node) bool {
	at, isSized := sized[name]
	switch {
	case bounded[name] || boundedMacros[name]:
		return true
	case isSized:
		if name == "range" || name == "generate_series" {
			return len(args) > 0 && elements(args) > 0 && elements(args) <= mostSized
		}
		count, ok := numberAt(args, at)
		return ok && count <= mostSized
	case strings.HasSuffix(name, "aggr"), strings.HasSuffix(name, "aggregate"): // of a list
		return len(args) == 2 && constantText(args[1], mostMatched)
	case name == "timezone":
		return len(args) == 2 && constantText(args[0], mostMatched)
	case name == "replace":
		return len(args) == 3 && constantText(args[1], mostMatched) && constantText(args[2], len(textOf(args[1])))
	case name == "regexp_replace":
		return len(args) > 2 && boundedPattern(args[1]) && constantText(args[2], 1)
	case patterns[name]:
		return len(args) > 1 && boundedPattern(args[1])
	}
	return false
}

// boundedPattern reports whether a pattern is a short constant without counted repetitions.
func boundedPattern(n node) bool {
	return constantText(n, mostMatched) && ShortPattern(textOf(n))
}

// constantText reports whether a node is a constant text of at most that many bytes.
func constantText(n node, most int) bool {
	return n.str("class") == "CONSTANT" && len(textOf(n)) <= most
}

func textOf(n node) string {
	text, _ := n.child("value")["value"].(string)
	return text
}
