package main

import (
	"fmt"
	"strings"
)

// deep is the nesting of hostile texts: with 28 bytes a level, recursion
// over it exceeds the 8 MiB of a thread's stack.
const deep = "300000"

// nested returns an expression for a text of begin, inner and end, each of begin and
// end repeated.
func nested(begin, inner, end string) string {
	return fmt.Sprintf("(repeat('%s', %s) || '%s' || repeat('%s', %[2]s))", begin, deep, inner, end)
}

// values are expressions of hostile values, by type. An expression does not crash
// when it is evaluated alone.
var values = map[string][]string{
	"VARCHAR": append(texts(), trees...),
	"JSON": {
		nested("[", "", "]") + "::JSON", nested(`{"a":`, "1", "}") + "::JSON", "'null'::JSON", "'[]'::JSON", "'{}'::JSON",
		`'"\u0000"'::JSON`, "'1e308'::JSON", "'-0.0'::JSON", `'{"a":1,"a":[2,{"b":null}],"":{}}'::JSON`, "'[1,2,[3,[4]]]'::JSON",
		`'[{"a":1},{"a":"x"},{"b":[1]},null,2,[]]'::JSON`, "'18446744073709551616'::JSON", "NULL::JSON",
		"('[' || repeat('[],', 100000) || '1]')::JSON", "to_json(range(100000))",
	},
	"BOOLEAN":  {"true", "false", "NULL::BOOLEAN"},
	"TINYINT":  {"(-128)::TINYINT", "127::TINYINT", "0::TINYINT", "NULL::TINYINT"},
	"SMALLINT": {"(-32768)::SMALLINT", "32767::SMALLINT", "(-1)::SMALLINT", "NULL::SMALLINT"},
	"INTEGER":  {"(-2147483648)::INTEGER", "2147483647", "0", "1", "-1", "1000", "300000", "NULL::INTEGER"},
	"BIGINT": {
		"(-9223372036854775808)::BIGINT", "9223372036854775807", "0::BIGINT", "1::BIGINT", "-1::BIGINT", "4294967296",
		"4294967295::BIGINT", "10000000::BIGINT", "1000000000::BIGINT", "63::BIGINT", "-9223372036854775807", "NULL::BIGINT",
	},
	"HUGEINT":   {"(-170141183460469231731687303715884105728)::HUGEINT", "170141183460469231731687303715884105727::HUGEINT", "0::HUGEINT", "NULL::HUGEINT"},
	"UTINYINT":  {"0::UTINYINT", "255::UTINYINT", "NULL::UTINYINT"},
	"USMALLINT": {"65535::USMALLINT", "NULL::USMALLINT"},
	"UINTEGER":  {"0::UINTEGER", "4294967295::UINTEGER", "NULL::UINTEGER"},
	"UBIGINT":   {"0::UBIGINT", "18446744073709551615::UBIGINT", "NULL::UBIGINT"},
	"UHUGEINT":  {"340282366920938463463374607431768211455::UHUGEINT", "NULL::UHUGEINT"},
	"BIGNUM":    {"'0'::BIGNUM", "'-1'::BIGNUM", "repeat('9', 20000)::BIGNUM", "('-' || repeat('9', 20000))::BIGNUM", "NULL::BIGNUM"},
	"FLOAT":     {"'nan'::FLOAT", "'inf'::FLOAT", "'-inf'::FLOAT", "3.4e38::FLOAT", "1e-45::FLOAT", "-0.0::FLOAT", "NULL::FLOAT"},
	"DOUBLE": {
		"'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "-0.0::DOUBLE",
		"0.5::DOUBLE", "1::DOUBLE", "-1::DOUBLE", "1e18", "NULL::DOUBLE",
	},
	"DECIMAL": {
		"0.5", "99999999999999999999999999999999999999::DECIMAL(38,0)", "-0.99999999999999999999999999999999999999::DECIMAL(38,38)",
		"9.99::DECIMAL(3,2)", "999999999.99::DECIMAL(18,2)", "NULL::DECIMAL(9,3)", "NULL::DECIMAL(38,38)",
	},
	"DATE": {
		"DATE '1970-01-01'", "'infinity'::DATE", "'-infinity'::DATE", "'5881580-07-10'::DATE", "'5877642-06-25 (BC)'::DATE",
		"DATE '2000-02-29'", "'0001-01-01 (BC)'::DATE", "NULL::DATE",
	},
	"TIME":                {"TIME '00:00:00'", "'24:00:00'::TIME", "TIME '23:59:59.999999'", "NULL::TIME"},
	"TIME_NS":             {"'00:00:00'::TIME_NS", "'23:59:59.999999999'::TIME_NS", "NULL::TIME_NS"},
	"TIME WITH TIME ZONE": {"'00:00:00+15:59:59'::TIMETZ", "'24:00:00-15:59:59'::TIMETZ", "NULL::TIMETZ"},
	"TIMESTAMP": {
		"TIMESTAMP '1970-01-01 00:00:00'", "'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMP", "'294247-01-10 04:00:54.775806'::TIMESTAMP",
		"'290309-12-22 (BC) 00:00:00'::TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56.789'", "NULL::TIMESTAMP",
	},
	"TIMESTAMP_S":  {"'infinity'::TIMESTAMP_S", "'290309-12-22 (BC) 00:00:00'::TIMESTAMP_S", "TIMESTAMP_S '2024-02-29 12:34:56'", "NULL::TIMESTAMP_S"},
	"TIMESTAMP_MS": {"'-infinity'::TIMESTAMP_MS", "'294247-01-10 04:00:54.775'::TIMESTAMP_MS", "NULL::TIMESTAMP_MS"},
	"TIMESTAMP_NS": {
		"'infinity'::TIMESTAMP_NS", "'2262-04-11 23:47:16.854775806'::TIMESTAMP_NS", "'1677-09-22 00:00:00'::TIMESTAMP_NS",
		"NULL::TIMESTAMP_NS",
	},
	"TIMESTAMP WITH TIME ZONE": {
		"TIMESTAMPTZ '1970-01-01 00:00:00+00'", "'infinity'::TIMESTAMPTZ", "'294247-01-10 04:00:54.775806+00'::TIMESTAMPTZ",
		"'290309-12-22 (BC) 00:00:00+00'::TIMESTAMPTZ", "NULL::TIMESTAMPTZ",
	},
	"INTERVAL": {
		"INTERVAL 0 DAY", "INTERVAL 1 MONTH", "INTERVAL 1 MICROSECOND", "INTERVAL (-1) DAY", "to_months(2147483647::INTEGER)", "to_months((-2147483648)::INTEGER)",
		"to_days(2147483647::INTEGER)",
		"to_microseconds(9223372036854775807)", "to_microseconds((-9223372036854775808)::BIGINT)",
		"to_months(-2147483648::INTEGER) + to_microseconds(9223372036854775807)", "NULL::INTERVAL",
	},
	"UUID": {"'00000000-0000-0000-0000-000000000000'::UUID", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "uuidv7()", "NULL::UUID"},
	"BIT":  {"'0'::BIT", "'1'::BIT", "'101010101'::BIT", "repeat('10', 100000)::BIT", "NULL::BIT"},
	"BLOB": {
		"''::BLOB", `'\x00'::BLOB`, `'\xFF\xFE\x80'::BLOB`, "repeat('a', 1000000)::BLOB", "unhex('0107000000FFFFFFFF')", "unhex('0103000000FFFFFFFF')",
		"unhex('01010000000000000000000000')",
		"unhex('01030000000100000001000000FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')", "unhex(repeat('010700000001000000', 100000))", "unhex('01000000')", "unhex('FF')",
		"unhex('0102030405060708090A0B0C0D0E0F10')", "unhex('81FFFFFFFFFFFFFFFFFF')", "NULL::BLOB",
	},
	"ENUM": {"'a'::ENUM('a', 'b')", "NULL::ENUM('a', 'b')", "''::ENUM('')", "'b'::ENUM('a', 'b')"},
	"GEOMETRY": {
		"'POINT (1 2)'::GEOMETRY", "'POINT EMPTY'::GEOMETRY", "'GEOMETRYCOLLECTION (GEOMETRYCOLLECTION EMPTY, POLYGON ((0 0, 1 1, 1 0, 0 0)))'::GEOMETRY",
		"'LINESTRING ZM (1 2 3 4, 1e308 -1e308 5 6)'::GEOMETRY", "NULL::GEOMETRY",
	},
	"LIST": {
		"[]", "[NULL]", "[NULL, 1]", "[[]]", "[[NULL], NULL, []]", "[[[[[[[[1]]]]]]]]", "range(200000)", "[1, 2, 3]", "['a', NULL, 'b']",
		"[0.5, 'nan'::DOUBLE, 'inf'::DOUBLE]", "[1::DOUBLE, 2, 3]", "[true, false, NULL]",
		"[{'a': 1}, NULL, {'a': NULL}]", "[{'k': 'a', 'v': 1}]", "[{'k': NULL, 'v': 1}]", "[row(1, 'a')]", "[MAP {'a': 1}]", "['infinity'::DATE, NULL]",
		"[INTERVAL 1 MONTH]", "['a'::ENUM('a', 'b')]", "[DATE '2000-01-01']",
		"[repeat('x', 1000000), '']", "['\\x00'::BLOB]", "NULL::INTEGER[]", "NULL::VARCHAR[]", "[NULL::INTEGER[]]", "['sum', 'x']", "[1, 5, 2, NULL, 4]::BIGINT[]",
		"[-1]", "[9223372036854775807]", "[0.1, 0.9]", "[2.0]",
		"list_transform(range(3000), lambda x: [x])", "['1'::BIT]", "[[1, 2], [3]]", "[['a', 'b'], NULL]", "[1::UTINYINT]", nested("[", "", "]") + "::JSON::JSON[]",
	},
	"ARRAY": {
		"array_value(1.0::FLOAT, 2.0, 3.0)", "array_value(1.0::DOUBLE, 'nan'::DOUBLE, NULL)", "[NULL, NULL]::INTEGER[2]", "[['a']]::VARCHAR[1][1]",
		"NULL::FLOAT[3]", "array_value('inf'::FLOAT, 0, 0)", "range(10000)::FLOAT[10000]",
	},
	"STRUCT": {
		"{'a': 1}", "{'a': NULL}", "{'a': {'b': {'c': [NULL, 1]}}}", "row(1, 'a')", "row(NULL)", "{'a': 1, 'b': 'x', 'c': []}", "NULL::STRUCT(a INTEGER)",
		"{'k': {'a': range(10000)}}",
	},
	"MAP": {
		"MAP {}", "MAP {'a': 1}", "MAP {'a': NULL, 'b': 2}", "MAP {1: [NULL], 2: []}", "MAP {MAP {1: 2}: MAP {}}", "MAP {{'a': 1}: {'b': NULL}}",
		"NULL::MAP(VARCHAR, INTEGER)",
		"map(range(20000), range(20000))", "MAP {'nan'::DOUBLE: 1, 0: 2}", "map_from_entries([{'k': 1, 'v': 2}])",
	},
	"UNION": {
		"union_value(a := 1)", "'x'::UNION(a INTEGER, b VARCHAR)", "NULL::UNION(a INTEGER, b VARCHAR)", "union_value(n := NULL)",
		"[1]::UNION(a INTEGER[], b VARCHAR)",
	},
	"VARIANT": variants,
	"NULL":    {"NULL"},
}

// texts are hostile values of VARCHAR.
func texts() []string {
	literals := []string{
		"", "a", "abc", " ", "%", "%s%s%n", "%99999999d", "%*d", "{}", "{:99999999}", "{0:*^99999999}", "{0:.99999f}", "{:d}", "{0}{1}{2}", "%Y-%m-%d",
		"%d/%m/%Y %H:%M:%S.%n %z", "%", "%q", "%f%g%n%-j%Z%j%W%U%w%u%c%x%X",
		"(a+)+$", "(a|a)*b", "(x{1000}){1000}", "[[:alpha:]]{1000}", `\p{Greek}+\C`, "((((((((((a))))))))))", "(?i)ſ", "[", "(?P<n>a)(?P<n>b)", `\1\2\9`,
		"^$", "(?s).*",
		"$", "$..*", "$[*]", "$.a[#-1]", "$.*.*", "/0/0", "$.a", "a", "[0]", `$."`, "$[18446744073709551615]",
		"year", "epoch", "timezone", "julian", "decade", "microseconds", "UTC", "America/St_Johns", "Etc/GMT+12", "ASC", "DESC NULLS LAST", "NULLS FIRST", "sum",
		"histogram", "quantile_cont", "string_agg", "list", "arg_max", "approx_top_k", "mode", "g", "i", "cmsi", "de_DE",
		"infinity", "1970-01-01", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775807", "1e400", "0x7fffffffffffffff", "99999999999 years 99999999999 months",
		"1_000", "nan",
		"VARIANT", "INTEGER", "STRUCT(a INTEGER)", `"VARIANT"`, `["VARIANT"]`, `{"a":"VARIANT"}`, `"JSON"`, `{"a":["INTEGER"]}`,
		`{"a":"INTEGER","b":{"c":["VARCHAR"]}}`, `["DECIMAL(38,38)"]`, `"MAP(VARCHAR,INTEGER[])"`, "[]", "{}",
		`[1,"a",null,{"a":[]}]`, `{"a":1}`, `"\ud800"`, `"\u0000"`, `{"a":`, "[1,2", "{a: 1}", "[NULL, a]", "{a=1, b=[x]}", "null", "POINT (1 2)",
		"GEOMETRYCOLLECTION (POINT EMPTY)", "MULTIPOINT ((1 2), EMPTY)",
		"SELECT 1", "SELECT * FROM t WHERE a IN (SELECT 1)", "1 kB", "999999999 PiB", "http://a/%00%ff%zz?x=%e2%82", "/a/b/../c.d.e", `C:\a\b`,
		"00000000-0000-0000-0000-000000000000", "=", "====", "zz", "\\xFF\\x00", "\u200d\U0001f469\u200d\U0001f469", "ẞßﬃİı", "\u202e\ufeff",
	}
	all := []string{
		"NULL::VARCHAR", "chr(0)", "('a' || chr(0) || 'b')", "chr(1114111)", "repeat('x', 1000000)", "repeat('ab', 50000)", "repeat('ba', 50000)",
		"('e' || repeat(chr(769), 200000))", "repeat(chr(128105) || chr(8205), 100000)", "repeat('%s', 50000)", "repeat('{}', 50000)", "repeat('%Y', 50000)",
		nested("(", "", ")"), nested("[", "", "]"), nested(`{"a":`, "1", "}"), nested("{a:", "1", "}"), "('$' || repeat('[0]', 100000))",
		"('$' || repeat('.a', 100000))", "repeat('/0', 100000)", "(repeat('a?', 900) || repeat('a', 900))",
		"(repeat('[', 100000) || '\"INTEGER\"' || repeat(']', 100000))", "('INTEGER' || repeat('[]', 100000))",
		"('SELECT ' || repeat('(', 10000) || '1' || repeat(')', 10000))", "('SELECT ' || repeat('-', 100000) || '1')", "('SELECT 1' || repeat('+1', 50000))",
		"(repeat('GEOMETRYCOLLECTION (', 200000) || 'POINT EMPTY' || repeat(')', 200000))", "repeat('../', 300000)", "repeat('%41', 300000)", "repeat('9', 100000)",
		"('0.' || repeat('0', 100000) || '1')", "repeat('1 day ', 100000)", "repeat('(?:', 900) || repeat(')', 900)",
	}
	// Types of from_json, which the guard refuses as literals.
	literals = append(literals, strings.Repeat("[", 20_000)+`"INTEGER"`+strings.Repeat("]", 20_000))
	for _, text := range literals {
		all = append(all, "'"+strings.ReplaceAll(text, "'", "''")+"'")
	}
	return all
}

// variants are values of VARIANT.
var variants = []string{
	"1::VARIANT", "'x'::VARIANT", "NULL::VARIANT", "[1, NULL]::VARIANT", "{'a': 1, 'b': [NULL, {'c': 'x'}]}::VARIANT", "MAP {'a': 1}::VARIANT",
	"'nan'::DOUBLE::VARIANT", "DATE '2000-01-01'::VARIANT", "0.5::VARIANT", "true::VARIANT",
	"repeat('x', 1000000)::VARIANT", `'\x00'::BLOB::VARIANT`, "[]::VARIANT", "[1::VARIANT, 'x'::VARIANT, NULL, [1]::VARIANT, {'a': 1}::VARIANT]",
	"[{'a': 1}::VARIANT, {'b': 'x'}::VARIANT]", "[NULL::VARIANT]", "[2::VARIANT, 1::VARIANT]", "['b'::VARIANT, 'a'::VARIANT, NULL]",
	"{'v': 1::VARIANT}", "MAP {'a': 1::VARIANT}", "MAP {1::VARIANT: 1}", "[[1::VARIANT]]", `'{"a":[1,null]}'::JSON::VARIANT`, "range(10000)::VARIANT",
	"{'v': [1::VARIANT, 'x'::VARIANT]}", "[{'v': 1::VARIANT}, {'v': 'x'::VARIANT}]", "array_value(1::VARIANT, 'x'::VARIANT)",
	"'infinity'::TIMESTAMP::VARIANT", "INTERVAL 1 MONTH::VARIANT", "uuid()::VARIANT", "'101'::BIT::VARIANT", "'a'::ENUM('a', 'b')::VARIANT",
	"340282366920938463463374607431768211455::UHUGEINT::VARIANT", "'POINT (1 2)'::GEOMETRY::VARIANT",
	"'9999999999999999999999999999999999999999999'::BIGNUM::VARIANT", "'12:00:00+05'::TIMETZ::VARIANT", "union_value(a := 1)::VARIANT",
}

// lambdas are arguments of functions that take one.
var lambdas = []string{
	"lambda x: x", "lambda x: NULL", "lambda x: [x]", "lambda x: {'a': x}", "lambda x: repeat('a', 100000)", "lambda x: error('e')", "lambda x: x IS NULL",
	"lambda x: true", "lambda x, i: i", "lambda x, i: i % 2 = 0",
	"lambda x, y: x", "lambda x, y: y", "lambda x, y: [x, y]", "lambda x, y: x + y", "lambda x, y, i: i", "lambda x, y: NULL", "lambda x: 1::VARIANT",
	"lambda x: x::VARCHAR", "lambda x: list_transform([x], lambda z: z)", "lambda x: (SELECT 1)", "lambda x: random() > 0.5",
	"lambda x, y: x::VARCHAR || y::VARCHAR",
}

// trees are parse trees for json_deserialize_sql, complete and with parts that are
// missing.
var trees = parseTrees()

const parseTree = `{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},"select_list":[{"class":"CONSTANT","type":"VALUE_CONSTANT","alias":"","query_location":7,"value":{"type":{"id":"INTEGER","type_info":null},"is_null":false,"value":1}}],"from_table":{"type":"EMPTY","alias":"","sample":null,"query_location":18446744073709551615},"where_clause":null,"group_expressions":[],"group_sets":[],"aggregate_handling":"STANDARD_HANDLING","having":null,"sample":null,"qualify":null},"named_param_map":[]}]}`

func parseTrees() []string {
	constant := `{"class":"CONSTANT","type":"VALUE_CONSTANT","alias":"","query_location":7,"value":{"type":{"id":"INTEGER","type_info":null},"is_null":false,"value":1}}`
	from := `{"type":"EMPTY","alias":"","sample":null,"query_location":18446744073709551615}`
	changes := [][2]string{
		{`"from_table":` + from, `"from_table":null`},
		{`"from_table":` + from + ",", ""},
		{constant, "null"},
		{constant, `{"class":"STAR","type":"STAR"}`},
		{constant, `{"class":"FUNCTION","type":"FUNCTION","function_name":"f","children":[null]}`},
		{constant, `{"class":"CASE","type":"CASE_EXPR","case_checks":[{"when_expr":null,"then_expr":null}],"else_expr":null}`},
		{constant, `{"class":"CAST","type":"OPERATOR_CAST","child":null,"cast_type":{"id":"LIST","type_info":null},"try_cast":false}`},
		{constant, `{"class":"COMPARISON","type":"COMPARE_EQUAL","left":null,"right":null}`},
		{constant, `{"class":"SUBQUERY","type":"SUBQUERY","subquery_type":"ANY","subquery":{"node":null},"child":null,"comparison_type":"COMPARE_EQUAL"}`},
		{constant, `{"class":"WINDOW","type":"WINDOW_AGGREGATE","function_name":"sum","children":[null],"partitions":[null],"orders":[{"type":"ASCENDING","null_order":"NULLS_LAST","expression":null}],"start":"UNBOUNDED_PRECEDING","end":"CURRENT_ROW_ROWS","start_expr":null}`},
		{constant, `{"class":"LAMBDA","type":"LAMBDA","lhs":null,"expr":null}`},
		{constant, `{"class":"BETWEEN","type":"COMPARE_BETWEEN","input":null,"lower":null,"upper":null}`},
		{constant, `{"class":"COLUMN_REF","type":"COLUMN_REF","column_names":[]}`},
		{constant, `{"class":"COLLATE","type":"COLLATE","child":null,"collation":""}`},
		{constant, `{"class":"OPERATOR","type":"OPERATOR_NOT","children":[]}`},
		{constant, `{"class":"CONJUNCTION","type":"CONJUNCTION_AND","children":[null]}`},
		{constant, `{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"LIST","type_info":null},"is_null":false,"value":{"children":[]}}}`},
		{from, `{"type":"JOIN","left":null,"right":null,"condition":null,"join_type":"INNER","ref_type":"REGULAR","using_columns":[]}`},
		{from, `{"type":"SUBQUERY","subquery":{"node":null},"column_name_alias":[]}`},
		{from, `{"type":"SUBQUERY","subquery":null,"column_name_alias":[]}`},
		{from, `{"type":"TABLE_FUNCTION","function":null,"column_name_alias":[]}`},
		{from, `{"type":"EXPRESSION_LIST","values":[],"expected_names":[],"expected_types":[]}`},
		{from, `{"type":"PIVOT","source":null,"aggregates":[null],"unpivot_names":[],"pivots":[{"pivot_expressions":[null]}],"groups":[],"column_name_alias":[],"include_nulls":false}`},
		{from, `{"type":"BASE_TABLE","schema_name":"","table_name":"","catalog_name":"","column_name_alias":[]}`},
		{from, `{"type":"SHOW_REF","table_name":"","query":null,"show_type":"DESCRIBE"}`},
		{`"modifiers":[]`, `"modifiers":[{"type":"ORDER_MODIFIER","orders":[{"type":"ASCENDING","null_order":"NULLS_LAST","expression":null}]}]`},
		{`"modifiers":[]`, `"modifiers":[{"type":"LIMIT_MODIFIER","limit":null,"offset":null}]`},
		{`"modifiers":[]`, `"modifiers":[{"type":"DISTINCT_MODIFIER","distinct_on_targets":[null]}]`},
		{`"modifiers":[]`, `"modifiers":[null]`},
		{`"cte_map":{"map":[]}`, `"cte_map":{"map":[{"key":"a","value":null}]}`},
		{`"cte_map":{"map":[]}`, `"cte_map":{"map":[{"key":"a","value":{"aliases":[],"query":{"node":null},"materialized":"CTE_MATERIALIZE_DEFAULT"}}]}`},
		{`"where_clause":null`, `"where_clause":{"class":"COMPARISON","type":"COMPARE_EQUAL","left":null,"right":null}`},
		{`"group_expressions":[]`, `"group_expressions":[null]`},
		{`"group_sets":[]`, `"group_sets":[[99]]`},
		{`"SELECT_NODE"`, `"SET_OPERATION_NODE"`},
		{`"SELECT_NODE"`, `"RECURSIVE_CTE_NODE"`},
		{`"SELECT_NODE"`, `"CTE_NODE"`},
		{`"SELECT_NODE"`, `"BOUND_SUBQUERY_NODE"`},
		{`"statements":[{"node":{`, `"statements":[null,{"node":{`},
	}
	all := []string{
		"'" + parseTree + "'", `'{"error":false,"statements":[{"node":null}]}'`, `'{"statements":[{}]}'`, `'{"error":false,"statements":[]}'`,
		deepTree(constant),
	}
	for _, c := range changes {
		all = append(all, "'"+strings.Replace(parseTree, c[0], c[1], 1)+"'")
	}
	return all
}

// deepTree returns an expression for a parse tree with a NOT in a NOT, many times.
func deepTree(constant string) string {
	before, after, _ := strings.Cut(parseTree, constant)
	return fmt.Sprintf(`('%s' || repeat('{"class":"OPERATOR","type":"OPERATOR_NOT","children":[', 100000) || '%s' || repeat(']}', 100000) || '%s')`, before,
		constant, after)
}
