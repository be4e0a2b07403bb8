// Package prelude has the macros that let a body written for DataFusion, the engine of
// Spice.ai, run on DuckDB where the two differ only in spelling. They live in their own
// schema on the search path, before DuckDB's functions, so plain SQL sees them too.
//
//	for _, m := range prelude.Macros {
//		err := tx.Exec(m.SQL())
//	}
//	prelude.Has("initcap") // true
//
// A macro is included only if its result is the one that DataFusion documents for every
// argument. Functions with a variable number of arguments (named_struct, make_array)
// are rewritten in the text of a body instead: see [Rewrites].
//
// Differences that no macro can cover: / between integers divides exactly (write //), ^
// is a power (write xor), and an integer overflow is an error instead of wrapping.
package prelude

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Macro is a function of the prelude.
type Macro struct {
	Name        string
	Overloads   []Overload
	Description string
}

// Overload is one signature of a macro.
type Overload struct {
	Params string // in parentheses: "s, n BIGINT"
	Body   string
}

// SQL is the statement that creates the macro.
func (m Macro) SQL() string {
	parts := make([]string, len(m.Overloads))
	for i, o := range m.Overloads {
		parts[i] = "(" + o.Params + ") AS " + o.Body
	}
	return "CREATE OR REPLACE MACRO " + engine.Qualified(engine.Prelude, m.Name) + strings.Join(parts, ", ")
}

// Rewrites are the functions that are replaced in the text of a body:
// named_struct('a', 1) → struct_pack("a" := 1), make_array(1) → list_value(1).
var Rewrites = map[string]string{"named_struct": "struct_pack", "make_array": "list_value"}

// Has reports whether the prelude has a macro of that name.
func Has(name string) bool { return byName[sqltree.Fold(name)] }

var byName = func() map[string]bool {
	m := make(map[string]bool, len(Macros))
	for _, macro := range Macros {
		m[macro.Name] = true
	}
	return m
}()

// one makes a macro with a single overload.
func one(name, params, body, description string) Macro {
	return Macro{name, []Overload{{params, body}}, description}
}

// clamped is f(x), where an x outside [-1, 1] by up to 1e-9 due to rounding is replaced
// with the bound; any other is an error. Of seven variants this is the cheapest: 3 %
// over f itself in a haversine of 10M rows, where clamping by division takes 25 %, and
// with fewer copies of x for DuckDB to bind.
func clamped(f string) string {
	return "CASE WHEN abs(x) <= 1 THEN system.main." + f + "(x) ELSE system.main." + f + "(round(x * 0.5, 9) * 2) END"
}

// Plain returns statements that let a body see DuckDB's own functions instead of the
// clamping macros: in a transaction these are dropped, on a stage hidden by temporary
// ones. The types are the same, and a body binds in half the time, which pays off when
// hundreds of functions are created. [Restore] restores the dropped ones.
func Plain(temporary bool) []string {
	list := make([]string, 0, 2)
	for _, name := range []string{"acos", "asin"} {
		if temporary {
			list = append(list, "CREATE OR REPLACE TEMP MACRO "+name+"(x) AS system.main."+name+"(x)")
		} else {
			list = append(list, "DROP MACRO IF EXISTS "+engine.Qualified(engine.Prelude, name))
		}
	}
	return list
}

// Restore returns the statements that undo Plain(false).
func Restore() []string {
	var list []string
	for _, m := range Macros {
		if m.Name == "acos" || m.Name == "asin" {
			list = append(list, m.SQL())
		}
	}
	return list
}

// Macros are the macros of the prelude, sorted by name. A macro's arguments are text,
// so the parameters of lambdas have names that no caller's column has by accident.
var Macros = []Macro{
	one("acos", "x", clamped("acos"), "Arc cosine; an argument up to 1e-9 outside [-1, 1] counts as the bound."),
	one("array_any_value", "l", "list_filter(l, lambda __spiced_e: __spiced_e IS NOT NULL)[1]",
		"First element that is not NULL."),
	one("array_element", "l, i", "l[i]", "Element i of a list, from 1."),
	one("array_empty", "l", "len(l) = 0", "Whether a list has no elements."),
	one("array_join", "l, delimiter", "array_to_string(l, delimiter)", "The elements as one text."),
	one("array_max", "l", "list_max(l)", "Largest element."),
	one("array_min", "l", "list_min(l)", "Smallest element."),
	one("array_positions", "l, element", "list_filter(range(1, len(l) + 1), lambda __spiced_i: l[__spiced_i] = element)",
		"Every position of an element."),
	one("array_remove_all", "l, element", "list_filter(l, lambda __spiced_e: __spiced_e IS DISTINCT FROM element)",
		"The list without an element."),
	one("array_repeat", "element, count", "repeat([element], count)", "A list of count times the element."),
	one("array_replace_all", "l, old, new",
		"list_transform(l, lambda __spiced_e: CASE WHEN __spiced_e IS NOT DISTINCT FROM old THEN new ELSE __spiced_e END)",
		"The list with an element replaced."),
	one("array_sum", "l", "list_sum(l)", "Sum of the elements."),
	one("asin", "x", clamped("asin"), "Arc sine; an argument up to 1e-9 outside [-1, 1] counts as the bound."),
	{
		"btrim",
		[]Overload{{"s", "trim(s)"}, {"s, characters", "trim(s, characters)"}},
		"The text without blanks, or the given characters, at both ends.",
	},
	{"date_bin", []Overload{
		{"width, ts", "time_bucket(width, ts, TIMESTAMP '1970-01-01')"},
		{"width, ts, origin", "time_bucket(width, ts, origin)"},
	}, "The start of the interval that a timestamp falls into."},
	one("date_format", "ts, format", "strftime(ts, format)", "A date or timestamp as text."),
	one("find_in_set", "s, list",
		"CASE WHEN s IS NOT NULL AND list IS NOT NULL THEN coalesce(list_position(string_split(list, ','), s), 0) END",
		"Position of a text in a comma-separated list, 0 when absent."),
	one("from_unixtime", "seconds BIGINT", "make_timestamp(seconds * 1000000)",
		"The timestamp of a number of seconds since 1970."),
	one("initcap", "s", `array_to_string(list_transform(regexp_extract_all(s, '[\p{L}\p{N}]+|[^\p{L}\p{N}]+'), lambda __spiced_w: upper(__spiced_w[1]) || lower(__spiced_w[2:])), '')`, "The text with each word's first letter in upper case, the others in lower case."),
	one("iszero", "x", "x = 0", "Whether a number is 0."),
	one("list_empty", "l", "len(l) = 0", "Whether a list has no elements."),
	one("list_to_string", "l, delimiter", "array_to_string(l, delimiter)", "The elements as one text."),
	one("nanvl", "x, y", "CASE WHEN isnan(x) THEN y ELSE x END", "x, or y when x is not a number."),
	one("nvl", "x, y", "coalesce(x, y)", "x, or y when x is NULL."),
	one("nvl2", "x, y, z", "CASE WHEN x IS NOT NULL THEN y ELSE z END", "y when x is not NULL, else z."),
	one("regexp_count", "s, pattern", "len(regexp_extract_all(s, pattern))", "How often a pattern occurs."),
	one("regexp_like", "s, pattern", "regexp_matches(s, pattern)", "Whether a text has a match of a pattern."),
	one("string_to_list", "s, delimiter", "string_split(s, delimiter)", "The parts of a text."),
	one("substr_index", "s, delimiter, count", substringIndex,
		"The text before, or with a negative count after, the count-th delimiter."),
	one("substring_index", "s, delimiter, count", substringIndex,
		"The text before, or with a negative count after, the count-th delimiter."),
	one("to_char", "ts, format", "strftime(ts, format)", "A date or timestamp as text."),
	one("to_date", "s", "CAST(s AS DATE)", "A text as a date."),
	one("to_timestamp_micros", "n BIGINT", "make_timestamp(n)", "The timestamp of a number of microseconds since 1970."),
	one("to_timestamp_millis", "n BIGINT", "CAST(make_timestamp(n * 1000) AS TIMESTAMP_MS)",
		"The timestamp of a number of milliseconds since 1970."),
	one("to_timestamp_nanos", "n BIGINT", "make_timestamp_ns(n)", "The timestamp of a number of nanoseconds since 1970."),
	one("to_timestamp_seconds", "n BIGINT", "CAST(make_timestamp(n * 1000000) AS TIMESTAMP_S)",
		"The timestamp of a number of seconds since 1970."),
	one("to_unixtime", "ts", "CAST(floor(epoch(ts)) AS BIGINT)", "Whole seconds since 1970."),
}

const substringIndex = `CASE WHEN count >= 0 THEN array_to_string(string_split(s, delimiter)[1:count], delimiter)
	ELSE array_to_string(string_split(s, delimiter)[greatest(1, len(string_split(s, delimiter)) + count + 1):], delimiter) END`
