package pgcatalog

import (
	"slices"
	"strings"
)

// catalogOIDs are the system catalogs' own OIDs, which clients name by a cast
// such as 'pg_class'::regclass.
const catalogOIDs = `MAP {'pg_type': 1247, 'pg_attribute': 1249, 'pg_proc': 1255, 'pg_class': 1259, 'pg_authid': 1260, 'pg_database': 1262,
	'pg_attrdef': 2604, 'pg_constraint': 2606, 'pg_index': 2610, 'pg_namespace': 2615, 'pg_rewrite': 2618, 'pg_trigger': 2620,
	'pg_extension': 3079, 'pg_am': 2601, 'pg_language': 2612, 'pg_operator': 2617, 'pg_opclass': 2616, 'pg_opfamily': 2753, 'pg_cast': 2605,
	'pg_collation': 3456, 'pg_description': 2609, 'pg_enum': 3501, 'pg_foreign_server': 1417, 'pg_foreign_data_wrapper': 2328,
	'pg_policy': 3256, 'pg_statistic_ext': 3381, 'pg_tablespace': 1213, 'pg_ts_config': 3602, 'pg_ts_dict': 3600, 'pg_ts_parser': 3601,
	'pg_ts_template': 3764, 'pg_event_trigger': 3466, 'pg_publication': 6104, 'pg_conversion': 2607, 'pg_sequence': 2224}`

// lookup is a value that a query without parameters finds by a key. It is no
// correlated subquery, so it may stand anywhere, and no column of the query can
// capture a column of the caller's.
func lookup(key, value, from, of string) string {
	return "(SELECT map(list(" + key + "), list(" + value + ")) FROM spice.pgcatalog." + from + ")[" + of + "]"
}

// constant is a function that gives the same for any arguments, of the numbers
// listed.
func constant(name, value string, arities ...int) macro {
	m := macro{name: name}
	for _, n := range arities {
		m.overloads = append(m.overloads, overload{strings.Join([]string{"a", "b", "c", "d", "e"}[:n], ", "), value})
	}
	return m
}

// privilege is a function that reports whether a role has a privilege of those
// named in its last argument. Its other arguments are the object, and before it
// possibly a role.
func privilege(name, held string, arities ...int) macro {
	m := macro{name: name}
	for _, n := range arities {
		params := []string{"a", "b", "c", "d"}[:n]
		m.overloads = append(m.overloads,
			overload{strings.Join(params, ", "), "contains(upper(" + params[n-1] + "), '" + held + "')"})
	}
	return m
}

// reservedWords keeps the words that are identifiers in quotes only.
const reservedWords = "CREATE TABLE spice.pgcatalog.reserved_words AS SELECT list(keyword_name) AS words " +
	"FROM duckdb_keywords() WHERE keyword_category = 'reserved'"

// quoted is a name as an identifier is written.
func quoted(name string) string {
	return "CASE WHEN regexp_full_match(" + name + `, '[a-z_][a-z0-9_$]*')
		AND NOT list_contains((SELECT words FROM spice.pgcatalog.reserved_words), ` + name + ") THEN " + name +
		` ELSE '"' || replace(` + name + `, '"', '""') || '"' END`
}

// bare is the text of a name as a cast takes it: without quotes and pg_catalog.
func bare(name string) string {
	return `regexp_replace(replace(` + name + `, '"', ''), '^(pg_catalog|information_schema)\.', '')`
}

// macros are the functions, in the order in which they use each other.
var macros = slices.Concat(casts, texts, visible, definitions, privileges, session, sizes, arrays)

// numeral is the OID that o is, or NULL if it is a name already.
const numeral = "TRY_CAST(o::VARCHAR AS BIGINT)"

// casts are what the casts to OID alias types become, and their functions: for
// each the OID that a text means and the text of an OID.
var casts = []macro{
	one("to_regclass", "n", `CASE WHEN regexp_full_match(n::VARCHAR, '\d+') THEN TRY_CAST(n::VARCHAR AS BIGINT)
		ELSE coalesce(`+catalogOIDs+`[`+bare("n::VARCHAR")+`]::BIGINT, `+
		lookup("schema_name || '.' || name", "oid", "declared_relations",
			`CASE WHEN contains(n::VARCHAR, '.') THEN regexp_replace(`+bare("n::VARCHAR")+`, '^spice\.', '') ELSE 'public.' || `+
				bare("n::VARCHAR")+` END`)+`) END`),
	one("regclass_name", "o", `coalesce(`+lookup("oid", `CASE schema_name WHEN 'public' THEN '' ELSE `+
		quoted("schema_name")+` || '.' END || `+quoted("name"),
		"declared_relations", numeral)+`, map_from_entries(list_transform(map_entries(`+catalogOIDs+`),
		lambda e: struct_pack(k := e.value::BIGINT, v := e.key)))[`+numeral+`], CASE `+numeral+
		` WHEN 0 THEN '-' ELSE o::VARCHAR END)`),
	one("to_regtype", "n", `CASE WHEN regexp_full_match(n::VARCHAR, '\d+') THEN TRY_CAST(n::VARCHAR AS BIGINT)
		ELSE coalesce(`+lookup("typname", "oid", "pg_type", `CASE `+bare("n::VARCHAR")+
		` WHEN 'int' THEN 'int4' WHEN 'decimal' THEN 'numeric' WHEN 'float' THEN 'float8' ELSE `+bare("n::VARCHAR")+
		` END`)+`, `+
		lookup("spice.pgcatalog.compat_format_type(oid, NULL)", "oid", "pg_type", bare("n::VARCHAR"))+`) END`),
	one("regtype_names", "l", `list_transform(regexp_extract_all(l::VARCHAR, '\d+'), lambda o: spice.pgcatalog.compat_format_type(o::BIGINT, NULL))`), // of a list or a vector
	one("to_regtypes", "l", `(SELECT list(spice.pgcatalog.compat_to_regtype(u.n)) FROM (SELECT unnest(l) AS n) AS u)`),
	one("to_regproc", "n", `CASE WHEN regexp_full_match(n::VARCHAR, '\d+') THEN TRY_CAST(n::VARCHAR AS BIGINT)
		WHEN n::VARCHAR = '-' THEN 0 ELSE coalesce(`+lookup(`"name"`, "oid", "declared_functions",
		`regexp_replace(regexp_replace(`+bare("n::VARCHAR")+`, '^(spice\.)?public\.', ''), '\(.*$', '')`)+`, `+
		lookup("name", "oid", "type_functions", bare("n::VARCHAR"))+`) END`),
	one("regproc_name", "o", `coalesce(`+lookup("oid", `"name"`, "declared_functions", numeral)+`, `+
		lookup("oid", "name", "type_functions", numeral)+`, `+bare("o::VARCHAR")+`)`),
	one("to_regnamespace", "n", `coalesce(TRY_CAST(n::VARCHAR AS BIGINT), `+
		lookup("name", "oid", "declared_schemas", `replace(n::VARCHAR, '"', '')`)+`)`),
	one("regnamespace_name", "o", `coalesce(`+lookup("oid", "name", "declared_schemas", numeral)+`, o::VARCHAR)`),
	one("to_regrole", "n", "10::BIGINT"),
	one("regrole_name", "o", "'spice'"),
}

// texts are about names and patterns. Patterns match DuckDB's ~ as a whole,
// PostgreSQL's anywhere.
var texts = []macro{
	one("quote_ident", "s", quoted("s")),
	one("bpchar", "s", "s::VARCHAR"),
	{"overlay", []overload{{"s, r, n", overlaid("length(r)")}, {"s, r, n, m", overlaid("m")}}},
	one("substring", "s, p", // what matches p
		"CASE WHEN regexp_matches(s, p) THEN regexp_extract(s, p || '()', CASE WHEN contains(p, '(') THEN 1 ELSE 0 END) END"),
	one("quote_literal", "s", `'''' || replace(s::VARCHAR, '''', '''''') || ''''`),
	one("quote_nullable", "s", `coalesce('''' || replace(s::VARCHAR, '''', '''''') || '''', 'NULL')`),
	one("parse_ident", "s", `list_transform(regexp_extract_all(s::VARCHAR, '"(?:[^"]|"")*"|[^."\s]+'), lambda part:
		CASE WHEN starts_with(part, '"') THEN replace(part[2:-2], '""', '"') ELSE lower(part) END)`),
	one("pattern", "p", `'(?s:.*)(?:' || p || ')(?s:.*)'`),
	one("ipattern", "p", `'(?s:.*)(?i:' || p || ')(?s:.*)'`),
	one("pg_encoding_to_char", "n", "CASE n WHEN 6 THEN 'UTF8' ELSE '' END"),
	one("pg_char_to_encoding", "s", "CASE WHEN upper(replace(s, '-', '')) IN ('UTF8', 'UNICODE') THEN 6 ELSE -1 END"),
	{"encode", []overload{
		{"s", "encode(s)"},
		{"b, form", "CASE form WHEN 'hex' THEN lower(hex(b)) WHEN 'base64' THEN base64(b) ELSE b::VARCHAR END"},
	}},
	constant("getdatabaseencoding", "'UTF8'", 0),
	constant("pg_client_encoding", "'UTF8'", 0),
	one("oidvectortypes", "v", `array_to_string(list_transform(list_filter(string_split(v, ' '), lambda e: e <> ''),
		lambda e: spice.pgcatalog.compat_format_type(e::BIGINT, NULL)), ', ')`),
	one("pg_typeof", "v", "spice.pgcatalog.compat_format_type(spice.pgcatalog.compat_type_oid(typeof(v)), NULL)"),
	one("pg_get_userbyid", "o", "CASE o::BIGINT WHEN 10 THEN 'spice' ELSE 'unknown (OID=' || o || ')' END"),
}

// overlaid is s with r in place of the m characters from the n-th.
func overlaid(m string) string {
	return "CASE WHEN n < 1 THEN error('overlay must begin with character 1 or a later one') ELSE left(s, n - 1) || " +
		"r || substr(s, greatest(n + " + m + ", 1)) END"
}

// visible are about what a name without schema finds.
var visible = append([]macro{
	one("pg_table_is_visible",
		"o", "coalesce("+lookup("oid", "schema_name = 'public'", "declared_relations", "o::BIGINT")+", "+
			lookup("oid", "schema_name = 'public'", "declared_keys", "o::BIGINT")+")"), // or an index
}, func() []macro {
	var list []macro
	for _, kind := range strings.Fields("function type operator opclass opfamily collation conversion statistics_obj " +
		"ts_config ts_dict ts_parser ts_template") {
		list = append(list, constant("pg_"+kind+"_is_visible", "true", 1))
	}
	return list
}()...)

// hidden is what clients show instead of the text of a view, which is not shown. It is a
// comment: they take a view without any text for one that is gone.
const hidden = "-- not shown"

// definitions show how an object is written: of a view only that it has a text.
var definitions = []macro{
	{"obj_description", []overload{
		{"o", "coalesce(" + descriptionOf("declared_relations") + ", " + descriptionOf("declared_functions") + ", " +
			descriptionOf("declared_schemas") + ")"},
		{"o, c", "CASE c WHEN 'pg_class' THEN " + descriptionOf("declared_relations") + " WHEN 'pg_proc' THEN " +
			descriptionOf("declared_functions") +
			" WHEN 'pg_namespace' THEN " + descriptionOf("declared_schemas") + " END"},
	}},
	one("col_description", "o, n", lookup("relation_oid || ' ' || position", "description", "declared_columns",
		"o::VARCHAR || ' ' || n::VARCHAR")),
	constant("shobj_description", "NULL::VARCHAR", 2),
	{"pg_get_expr", []overload{{"e, o", "e::VARCHAR"}, {"e, o, pretty", "e::VARCHAR"}}},
	{"pg_get_constraintdef", []overload{{"o", keyText}, {"o, pretty", keyText}}},
	constant("pg_indexam_has_property", "NULL::BOOLEAN", 2),
	one("pg_indexam_has_property", "a, p", "TABLE SELECT NULL::BOOLEAN AS pg_indexam_has_property"), // in FROM too
	{"pg_get_indexdef", []overload{
		{"o", indexText},
		{"o, n, pretty", "CASE n WHEN 0 THEN " + indexText + " ELSE " +
			lookup("oid", "members", "declared_keys", "o::BIGINT") + "[n] END"},
	}},
	{"pg_get_viewdef", []overload{{"o", viewText}, {"o, pretty", viewText}}},
	constant("pg_get_triggerdef", "NULL::VARCHAR", 1, 2),
	constant("pg_get_ruledef", "NULL::VARCHAR", 1, 2),
	constant("pg_get_partkeydef", "NULL::VARCHAR", 1),
	constant("pg_get_partition_constraintdef", "NULL::VARCHAR", 1),
	constant("pg_get_statisticsobjdef", "NULL::VARCHAR", 1),
	constant("pg_get_statisticsobjdef_columns", "NULL::VARCHAR", 1),
	constant("pg_get_serial_sequence", "NULL::VARCHAR", 2),
	one("pg_get_functiondef", "o", ofFunction("definition")),
	constant("pg_get_function_sqlbody", "NULL::VARCHAR", 1),
	one("pg_get_function_arguments", "o", ofFunction("arguments")),
	one("pg_get_function_identity_arguments", "o", ofFunction("identity_arguments")),
	one("pg_get_function_result", "o", ofFunction("result")),
	constant("pg_get_function_arg_default", "NULL::VARCHAR", 2),
	constant("pg_tablespace_location", "''", 1),
	constant("pg_relation_is_publishable", "false", 1),
	constant("pg_relation_is_updatable", "0", 2),
	constant("pg_column_is_updatable", "false", 3),
	constant("row_security_active", "false", 1),
	constant("pg_partition_ancestors", "unnest([]::BIGINT[])", 1),
	one("pg_partition_ancestors", "o", "TABLE SELECT o::BIGINT AS relid WHERE false"),
	constant("pg_partition_root", "NULL::BIGINT", 1),
	one("pg_partition_tree",
		"o", "TABLE SELECT o::BIGINT AS relid, NULL::BIGINT AS parentrelid, true AS isleaf, 0 AS level WHERE false"),
	one("pg_available_extensions", "",
		"TABLE SELECT ''::VARCHAR AS name, ''::VARCHAR AS default_version, ''::VARCHAR AS comment WHERE false"),
	one("pg_available_extension_versions",
		"", `TABLE SELECT ''::VARCHAR AS name, ''::VARCHAR AS version, false AS superuser, false AS trusted, false AS relocatable,
		''::VARCHAR AS schema, []::VARCHAR[] AS requires, ''::VARCHAR AS comment WHERE false`),
	one("pg_get_keywords", "",
		`TABLE SELECT keyword_name AS word, CASE keyword_category WHEN 'reserved' THEN 'R' WHEN 'type_function' THEN 'T'
		WHEN 'column_name' THEN 'C' ELSE 'U' END AS catcode, true AS barelabel, keyword_category AS catdesc, '' AS baredesc FROM duckdb_keywords()`),
}

// keyText and indexText are of a key, by the OID of its constraint and index.
var (
	keyText   = lookup("oid", "definition", "declared_keys", "o::BIGINT")
	indexText = lookup("oid", `'CREATE UNIQUE INDEX ' || `+quoted("name")+` || ' ON ' || schema_name || '.' || `+
		quoted("relation")+
		` || ' USING btree' || regexp_extract(definition, ' \(.*$')`, "declared_keys", "o::BIGINT")
)

var viewText = lookup("oid", "CASE kind WHEN 'v' THEN '"+hidden+"' END", "declared_relations",
	"spice.pgcatalog.compat_to_regclass(o)")

func descriptionOf(from string) string { return lookup("oid", "description", from, "o::BIGINT") }

func ofFunction(column string) string {
	return lookup("oid", column, "declared_signatures", "o::BIGINT")
}

// privileges: everybody may read and call all that they can see. Whether
// a caller may write is decided by the protocol, for each statement.
var privileges = []macro{
	privilege("has_table_privilege", "SELECT", 2, 3),
	privilege("has_any_column_privilege", "SELECT", 2, 3),
	privilege("has_column_privilege", "SELECT", 3, 4),
	privilege("has_schema_privilege", "USAGE", 2, 3),
	privilege("has_database_privilege", "CONNECT", 2, 3),
	privilege("has_function_privilege", "EXECUTE", 2, 3),
	privilege("has_language_privilege", "USAGE", 2, 3),
	privilege("has_type_privilege", "USAGE", 2, 3),
	constant("has_sequence_privilege", "false", 2, 3),
	constant("has_tablespace_privilege", "false", 2, 3),
	constant("has_server_privilege", "false", 2, 3),
	constant("has_foreign_data_wrapper_privilege", "false", 2, 3),
	constant("pg_has_role", "true", 2, 3),
	// No object has a list of privileges. It is called in FROM, too.
	constant("aclexplode",
		"unnest([]::STRUCT(grantor BIGINT, grantee BIGINT, privilege_type VARCHAR, is_grantable BOOLEAN)[])", 1),
	one("aclexplode", "a", "TABLE SELECT 0::BIGINT AS grantor, 0::BIGINT AS grantee, "+
		"'' AS privilege_type, false AS is_grantable WHERE false"),
}

// session are about the server and the caller's session. What only the
// server could tell is unknown or zero.
var session = []macro{
	one("current_timestamp",
		"n", "to_timestamp((epoch_us(now()) + (10 ** (6 - n))::BIGINT // 2) // (10 ** (6 - n))::BIGINT * (10 ** "+
			"(6 - n))::BIGINT / 1e6)"),
	one("localtimestamp", "n", "spice.pgcatalog.compat_current_timestamp(n)::TIMESTAMP"),
	constant("version", "'PostgreSQL "+ServerVersion+" (spiced)'", 0),
	constant("current_database", "'spice'", 0),
	constant("current_catalog", "'spice'", 0),
	one("version", "", "TABLE SELECT 'PostgreSQL "+ServerVersion+" (spiced)' AS version"), // in FROM, as TypeORM asks
	one("current_database", "", "TABLE SELECT 'spice' AS current_database"),
	one("current_schema", "", "TABLE SELECT 'public' AS current_schema"),
	constant("current_schema", "'public'", 0),
	constant("user", "'spice'", 0),
	constant("current_user", "'spice'", 0),
	constant("session_user", "'spice'", 0),
	constant("current_role", "'spice'", 0),
	one("current_schemas", "implicit", "CASE WHEN implicit THEN ['pg_catalog', 'public'] ELSE ['public'] END"),
	{"current_setting", []overload{
		{"n", "coalesce(" + settingOf + ", error('there is no setting ' || n || ' to show'))"},
		{"n, missing_ok", "CASE WHEN missing_ok THEN " + settingOf + " ELSE coalesce(" + settingOf +
			", error('there is no setting ' || n || ' to show')) END"},
	}},
	one("pg_show_all_settings", "", "TABLE FROM spice.pgcatalog.pg_settings"),
	one("set_config", "n, v, is_local", "v::VARCHAR"),
	constant("pg_advisory_unlock_all", "''", 0), // no one holds one
	constant("pg_backend_pid", "0", 0),
	constant("pg_is_in_recovery", "false", 0),
	constant("pg_is_wal_replay_paused", "false", 0),
	constant("pg_blocking_pids", "[]::INTEGER[]", 1),
	constant("pg_is_other_temp_schema", "false", 1),
	constant("pg_my_temp_schema", "0::BIGINT", 0),
	constant("pg_postmaster_start_time", "NULL::TIMESTAMPTZ", 0),
	constant("pg_conf_load_time", "NULL::TIMESTAMPTZ", 0),
	constant("age", "0", 1), // of a transaction
	constant("txid_current", "1::BIGINT", 0),
	constant("txid_current_if_assigned", "NULL::BIGINT", 0),
	constant("pg_current_xact_id", "1::BIGINT", 0),
	constant("pg_jit_available", "false", 0),
	constant("pg_trigger_depth", "0", 0),
	constant("inet_client_addr", "NULL::VARCHAR", 0),
	constant("inet_client_port", "NULL::INTEGER", 0),
	constant("inet_server_addr", "NULL::VARCHAR", 0),
	constant("inet_server_port", "NULL::INTEGER", 0),
}

// sizes are unknown: data is in DuckDB's memory, shared by all relations.
var sizes = []macro{
	constant("pg_relation_size", "NULL::BIGINT", 1, 2),
	constant("pg_total_relation_size", "NULL::BIGINT", 1),
	constant("pg_table_size", "NULL::BIGINT", 1),
	constant("pg_indexes_size", "NULL::BIGINT", 1),
	constant("pg_database_size", "NULL::BIGINT", 1),
	constant("pg_tablespace_size", "NULL::BIGINT", 1),
	one("pg_size_pretty", "n",
		`CASE WHEN abs(n) < 10240 THEN n || ' bytes' WHEN round(abs(n) / 1024) < 10240 THEN round(n / 1024)::BIGINT || ' kB'
		WHEN round(abs(n) / 1024 ** 2) < 10240 THEN round(n / 1024 ** 2)::BIGINT || ' MB' WHEN round(abs(n) / 1024 ** 3) < 10240 THEN round(n / 1024 ** 3)::BIGINT || ' GB'
		WHEN round(abs(n) / 1024 ** 4) < 10240 THEN round(n / 1024 ** 4)::BIGINT || ' TB' ELSE round(n / 1024 ** 5)::BIGINT || ' PB' END`),
	constant("pg_relation_filenode", "NULL::BIGINT", 1),
	constant("pg_stat_get_numscans", "0::BIGINT", 1),
	constant("pg_stat_get_live_tuples", "0::BIGINT", 1),
	constant("pg_stat_get_dead_tuples", "0::BIGINT", 1),
}

// arrays: array is the list that a text such as '{a,b}' means, vector that of
// one such as '20 25'.
var arrays = []macro{
	one("array", "s", `list_transform(CASE WHEN regexp_full_match(s, '\s*\{\s*\}\s*') THEN []::VARCHAR[] ELSE string_split(trim(s, ' {}'), ',') END,
		lambda e: CASE WHEN upper(trim(e)) = 'NULL' THEN NULL ELSE replace(trim(trim(e), '"'), '\"', '"') END)`),
	{"array_length", []overload{{"a", "len(a)"}, {"a, n", "CASE WHEN len(a) > 0 AND n = 1 THEN len(a)::INTEGER END"}}},
	one("array_lower", "a, n", "CASE WHEN len(a) > 0 AND n = 1 THEN 1 END"),
	one("array_upper", "a, n", "CASE WHEN len(a) > 0 AND n = 1 THEN len(a)::INTEGER END"),
	one("array_remove", "a, v", "list_filter(a, lambda e: e IS DISTINCT FROM v)"),
	one("vector", "v", "list_transform(list_filter(string_split(v, ' '), lambda e: e <> ''), lambda e: e::BIGINT)"),
	{"format", []overload{
		{"f, a", formatted("f", "a")},
		{"f, a, b", formatted("f", "a", "b")},
		{"f, a, b, c", formatted("f", "a", "b", "c")},
	}},
	one("string_to_array", "s, mark", "string_split(s, mark)"), // in FROM too
	one("string_to_array", "s, mark", "TABLE SELECT string_split(s, mark) AS s"),
	one("_pg_expandarray", "a", "unnest(list_transform(a, lambda x, i: struct_pack(x := x, n := i)))"),
}

// formatted puts the values into the places %I, %L and %s of a text, in order.
func formatted(text string, values ...string) string {
	for _, v := range values {
		text = "regexp_replace(" + text + ", '%[ILs]', replace(" + v + `::VARCHAR, '\', '\\'))`
	}
	return text
}
