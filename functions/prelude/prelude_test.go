package prelude

import (
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// cases are results as DataFusion's documentation gives them, or as follow
// from it: each macro has one.
var cases = []struct{ sql, want string }{
	{"acos(1.0000000001::DOUBLE)", "0.0"},
	{"acos(-1.0000000009::DOUBLE) = pi()", "true"},
	{"acos(0.5::DOUBLE) = system.main.acos(0.5)", "true"},
	{"acos(1)", "0.0"},
	{"acos(1.0000001::DOUBLE)", "!undefined outside"},
	{"acos(2)", "!undefined outside"},
	{"acos(NULL)", "NULL"},
	{"acos('nan'::DOUBLE)", "nan"},
	{"asin(1.0000000001::DOUBLE) = pi() / 2", "true"},
	{"asin(-2)", "!undefined outside"},
	{"array_any_value([NULL, 1, 2, 3])", "1"},
	{"array_element([1, 2, 3, 4], 3)", "3"},
	{"array_empty([1])", "false"},
	{"array_empty([])", "true"},
	{"array_join([1, 2, 3], ',')", "1,2,3"},
	{"list_to_string([[1, 2], [3]], ',')", "[1, 2],[3]"},
	{"array_max([3, 1, 4, 2])", "4"},
	{"array_min([3, 1, 4, 2])", "1"},
	{"array_positions([1, 2, 2, 3, 1, 4], 2)", "[2, 3]"},
	{"array_remove_all([1, 2, 2, 3, 2, 1, 4], 2)", "[1, 3, 1, 4]"},
	{"array_repeat(1, 3)", "[1, 1, 1]"},
	{"array_repeat([1, 2], 2)", "[[1, 2], [1, 2]]"},
	{"array_replace_all([1, 2, 2, 3, 2, 1, 4], 2, 5)", "[1, 5, 5, 3, 5, 1, 4]"},
	{"array_sum([1, 2, 3])", "6"},
	{"btrim('  datafusion  ')", "datafusion"},
	{"btrim('__datafusion____', '_')", "datafusion"},
	{"date_bin(INTERVAL '1 day', TIMESTAMP '2023-01-01 18:18:18')", "2023-01-01 00:00:00"},
	{"date_bin(INTERVAL '1 day', TIMESTAMP '2022-01-01 20:00:00', TIMESTAMP '2023-01-01 03:00:00')", "2022-01-01 03:00:00"},
	{"date_bin(INTERVAL '7 days', TIMESTAMP '1970-01-09')", "1970-01-08 00:00:00"},
	{"date_format(DATE '2023-09-04', '%Y/%m/%d')", "2023/09/04"},
	{"to_char(DATE '2023-03-01', '%d-%m-%Y')", "01-03-2023"},
	{"find_in_set('b', 'a,b,c,d')", "2"},
	{"find_in_set('e', 'a,b')", "0"},
	{"find_in_set(NULL, 'a')", "NULL"},
	{"from_unixtime(1599572549)", "2020-09-08 13:42:29"},
	{"initcap('apache datafusion')", "Apache Datafusion"},
	{"initcap('hELLO-wORLD été')", "Hello-World Été"},
	{"initcap('')", ""},
	{"initcap(NULL)", "NULL"},
	{"iszero(0)", "true"},
	{"iszero(0.1)", "false"},
	{"list_empty([1])", "false"},
	{"nanvl('nan'::DOUBLE, 2)", "2.0"},
	{"nanvl(1.5::DOUBLE, 2)", "1.5"},
	{"nvl(NULL, 'a')", "a"},
	{"nvl('b', 'a')", "b"},
	{"nvl2(NULL, 'a', 'b')", "b"},
	{"nvl2('x', 'a', 'b')", "a"},
	{"regexp_count('abcAbAbc', '(?i)abc')", "2"},
	{"regexp_like('Köln', '[a-zA-Z]ö[a-zA-Z]{2}')", "true"},
	{"string_to_list('abc##def', '##')", "[abc, def]"},
	{"substr_index('www.apache.org', '.', 1)", "www"},
	{"substr_index('www.apache.org', '.', -1)", "org"},
	{"substring_index('www.apache.org', '.', 2)", "www.apache"},
	{"substring_index('www.apache.org', '.', -2)", "apache.org"},
	{"substring_index('a.b', '.', 5)", "a.b"},
	{"substring_index('a.b', '.', -5)", "a.b"},
	{"substring_index('a.b', '.', 0)", ""},
	{"to_date('2017-05-31')", "2017-05-31"},
	{"to_timestamp_micros(1674863999000000)", "2023-01-27 23:59:59"},
	{"to_timestamp_millis(1674863999123)", "2023-01-27 23:59:59.123"},
	{"to_timestamp_nanos(1674863999000000001)", "2023-01-27 23:59:59.000000001"},
	{"to_timestamp_seconds(-1)", "1969-12-31 23:59:59"},
	{"to_unixtime(TIMESTAMP '2020-09-08 12:00:00')", "1599566400"},
	{"to_unixtime(TIMESTAMP '1969-12-31 23:59:59.5')", "-1"},
}

func TestMacros(t *testing.T) {
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	for _, m := range Macros {
		if err := stage.Exec(m.SQL()); err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		if !slices.ContainsFunc(cases, func(c struct{ sql, want string }) bool { return strings.HasPrefix(c.sql, m.Name+"(") }) {
			t.Errorf("%s has no test", m.Name)
		}
	}
	for _, c := range cases {
		got := ""
		err := stage.Query("SELECT CAST("+c.sql+" AS VARCHAR)", func(chunk *engine.Chunk) error {
			if got = "NULL"; chunk.Column(0).Valid(0) {
				got = string(chunk.Column(0).Bytes(0))
			}
			return nil
		})
		if want, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %s, %v", c.sql, got, err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.sql, got, err, c.want)
		}
	}
}

// TestNoMacroHidesABuiltIn: only the two that clamp may.
func TestNoMacroHidesABuiltIn(t *testing.T) {
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, m := range Macros {
		if db.Builtins().Has(m.Name) && m.Name != "acos" && m.Name != "asin" {
			t.Errorf("%s is DuckDB's own", m.Name)
		}
		if i > 0 && m.Name <= Macros[i-1].Name {
			t.Errorf("%s is not in order", m.Name)
		}
	}
}
