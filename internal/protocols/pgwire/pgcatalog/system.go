package pgcatalog

// systemViews are the catalogs of pg_catalog that have rows, in addition to pg_type and
// pg_settings. tableoid and xmin, hidden columns in PostgreSQL, come last.
var systemViews = []view{
	{"pg_namespace", `
		SELECT oid, name AS nspname, 10::BIGINT AS nspowner, NULL::VARCHAR[] AS nspacl, 2615::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM spice.pgcatalog.declared_schemas`},
	{"pg_class", `
		SELECT r.oid, r.name AS relname, n.oid AS relnamespace, r.oid AS reltype, 0::BIGINT AS reloftype, 10::BIGINT AS relowner,
			CASE r.kind WHEN 'r' THEN 2 ELSE 0 END::BIGINT AS relam, 0::BIGINT AS relfilenode, 0::BIGINT AS reltablespace, 0 AS relpages,
			coalesce(r."rows", -1)::FLOAT AS reltuples, 0 AS relallvisible, 0::BIGINT AS reltoastrelid,
			(r.schema_name, r.name) IN (SELECT ("schema", dataset) FROM spice.spiced.dataset_constraints WHERE kind <> 'NOT NULL') AS relhasindex,
			false AS relisshared, 'p' AS relpersistence, r.kind AS relkind,
			coalesce(c.columns, 0)::SMALLINT AS relnatts, 0::SMALLINT AS relchecks, r.kind = 'v' AS relhasrules, false AS relhastriggers,
			false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity, true AS relispopulated, 'n' AS relreplident,
			false AS relispartition, 0::BIGINT AS relrewrite, 0::BIGINT AS relfrozenxid, 0::BIGINT AS relminmxid, NULL::VARCHAR[] AS relacl,
			NULL::VARCHAR[] AS reloptions, NULL::VARCHAR AS relpartbound, 1259::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM spice.pgcatalog.declared_relations AS r JOIN spice.pgcatalog.declared_schemas AS n ON n.name = r.schema_name
		LEFT JOIN (
			SELECT "schema" AS schema_name, dataset AS relation, count(*) AS columns FROM spice.spiced.dataset_columns GROUP BY ALL
			UNION ALL SELECT 'spiced', relation, count(*) FROM spice.pgcatalog.own_columns GROUP BY relation
		) AS c ON c.schema_name = r.schema_name AND c.relation = r.name
		UNION ALL BY NAME
		SELECT k.oid, k.name AS relname, n.oid AS relnamespace, 0 AS reltype, 0 AS reloftype, 10 AS relowner, 403 AS relam, 0 AS relfilenode, 0 AS reltablespace,
			0 AS relpages, -1 AS reltuples, 0 AS relallvisible, 0 AS reltoastrelid, false AS relhasindex, false AS relisshared, 'p' AS relpersistence, 'i' AS relkind,
			len(k.keys)::SMALLINT AS relnatts, 0::SMALLINT AS relchecks, false AS relhasrules, false AS relhastriggers, false AS relhassubclass,
			false AS relrowsecurity, false AS relforcerowsecurity, true AS relispopulated, 'n' AS relreplident, false AS relispartition, 0 AS relrewrite,
			0 AS relfrozenxid, 0 AS relminmxid, 1259 AS tableoid, 0 AS xmin
		FROM spice.pgcatalog.declared_keys AS k JOIN spice.pgcatalog.declared_schemas AS n ON n.name = k.schema_name`},
	{"pg_attribute", `
		SELECT c.relation_oid AS attrelid, c.name AS attname, c.type_oid AS atttypid, -1 AS attstattarget, t.typlen AS attlen,
			c.position::SMALLINT AS attnum, CASE WHEN t.typelem > 0 THEN 1 ELSE 0 END AS attndims, -1 AS attcacheoff, c.modifier AS atttypmod,
			t.typbyval AS attbyval, t.typalign AS attalign, t.typstorage AS attstorage, '' AS attcompression, c.not_null AS attnotnull,
			false AS atthasdef, false AS atthasmissing, '' AS attidentity, '' AS attgenerated, false AS attisdropped, true AS attislocal,
			0 AS attinhcount, t.typcollation AS attcollation, NULL::VARCHAR[] AS attacl, NULL::VARCHAR[] AS attoptions,
			NULL::VARCHAR[] AS attfdwoptions, NULL::VARCHAR AS attmissingval, 1249::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM (
			SELECT relation_oid, name, type_oid, "position", modifier, not_null FROM spice.pgcatalog.declared_columns
			UNION ALL
			SELECT k.oid, c.name, c.type_oid, k.ordinal, c.modifier, false
			FROM (SELECT *, unnest(keys) AS key, generate_subscripts(keys, 1) AS ordinal FROM spice.pgcatalog.declared_keys) AS k
			JOIN spice.pgcatalog.declared_columns AS c ON c.relation_oid = k.relation_oid AND c."position" = k.key
		) AS c JOIN spice.pgcatalog.pg_type AS t ON t.oid = c.type_oid`},
	{"pg_proc", `
		SELECT oid, "name" AS proname, 2200::BIGINT AS pronamespace, 10::BIGINT AS proowner, 14::BIGINT AS prolang, 1::FLOAT AS procost,
			CASE WHEN is_table THEN 1000 ELSE 0 END::FLOAT AS prorows, 0::BIGINT AS provariadic, '-' AS prosupport, 'f' AS prokind,
			false AS prosecdef, false AS proleakproof, false AS proisstrict, is_table AS proretset,
			CASE volatility WHEN 'immutable' THEN 'i' WHEN 'stable' THEN 's' ELSE 'v' END AS provolatile, 's' AS proparallel,
			len(arg_names)::SMALLINT AS pronargs, coalesce(d.defaults, 0)::SMALLINT AS pronargdefaults, return_oid AS prorettype,
			array_to_string(arg_types, ' ') AS proargtypes, NULL::BIGINT[] AS proallargtypes, NULL::VARCHAR[] AS proargmodes,
			CASE WHEN len(arg_names) > 0 THEN arg_names END AS proargnames, d.exprs AS proargdefaults, NULL::BIGINT[] AS protrftypes,
			'' AS prosrc, NULL::VARCHAR AS probin, NULL::VARCHAR AS prosqlbody, NULL::VARCHAR[] AS proconfig, NULL::VARCHAR[] AS proacl,
			false AS proisagg, false AS proiswindow, 1255::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM spice.pgcatalog.declared_functions AS f
		LEFT JOIN (SELECT "function", count(*) AS defaults, string_agg(coalesce("default", 'NULL'), ', ' ORDER BY "position") AS exprs
			FROM spice.spiced.function_args WHERE NOT "required" GROUP BY "function") AS d ON d."function" = f."name"
		UNION ALL BY NAME
		SELECT oid, name AS proname, 11 AS pronamespace, 10 AS proowner, 12 AS prolang, 1 AS procost, 0 AS prorows, 0 AS provariadic, '-' AS prosupport, 'f' AS prokind,
			false AS prosecdef, false AS proleakproof, true AS proisstrict, false AS proretset, 'i' AS provolatile, 's' AS proparallel, 1::SMALLINT AS pronargs,
			0::SMALLINT AS pronargdefaults, result AS prorettype, argument::VARCHAR AS proargtypes, name AS prosrc, false AS proisagg, false AS proiswindow,
			1255 AS tableoid, 0 AS xmin
		FROM spice.pgcatalog.type_functions`},
	{"pg_statio_all_tables", `
		SELECT oid AS relid, schema_name AS schemaname, name AS relname, NULL::BIGINT AS heap_blks_read, NULL::BIGINT AS heap_blks_hit,
			NULL::BIGINT AS idx_blks_read, NULL::BIGINT AS idx_blks_hit FROM spice.pgcatalog.declared_relations`},
	{"pg_statio_user_tables", "FROM spice.pgcatalog.pg_statio_all_tables"},
	{"pg_description", `
		SELECT oid AS objoid, 1259::BIGINT AS classoid, 0 AS objsubid, description
		FROM spice.pgcatalog.declared_relations WHERE description IS NOT NULL
		UNION ALL SELECT relation_oid, 1259, position, description FROM spice.pgcatalog.declared_columns WHERE description IS NOT NULL
		UNION ALL SELECT oid, 1255, 0, description FROM spice.pgcatalog.declared_functions WHERE description IS NOT NULL
		UNION ALL SELECT oid, 2615, 0, description FROM spice.pgcatalog.declared_schemas WHERE description IS NOT NULL`},
	{"pg_database", `
		SELECT 16384::BIGINT AS oid, 'spice' AS datname, 10::BIGINT AS datdba, 6 AS encoding, 'c' AS datlocprovider, false AS datistemplate,
			true AS datallowconn, -1 AS datconnlimit, 0::BIGINT AS datfrozenxid, 0::BIGINT AS datminmxid, 1663::BIGINT AS dattablespace,
			'C' AS datcollate, 'C.UTF-8' AS datctype, NULL::VARCHAR AS daticulocale, NULL::VARCHAR AS datcollversion, NULL::VARCHAR[] AS datacl,
			0::BIGINT AS datlastsysoid, 1262::BIGINT AS tableoid, 0::BIGINT AS xmin`},
	{"pg_roles", `
		SELECT 'spice' AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole, false AS rolcreatedb, true AS rolcanlogin,
			false AS rolreplication, -1 AS rolconnlimit, '********' AS rolpassword, NULL::TIMESTAMPTZ AS rolvaliduntil, false AS rolbypassrls,
			NULL::VARCHAR[] AS rolconfig, 10::BIGINT AS oid, 1260::BIGINT AS tableoid, 0::BIGINT AS xmin`},
	{"pg_authid", "SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, " +
		"rolbypassrls, rolconnlimit, NULL::VARCHAR AS rolpassword, rolvaliduntil, tableoid, xmin " +
		"FROM spice.pgcatalog.pg_roles"},
	{"pg_user", `
		SELECT 'spice' AS usename, 10::BIGINT AS usesysid, false AS usecreatedb, false AS usesuper, false AS userepl, false AS usebypassrls,
			'********' AS passwd, NULL::TIMESTAMPTZ AS valuntil, NULL::VARCHAR[] AS useconfig`},
	{"pg_shadow", "SELECT * REPLACE (NULL::VARCHAR AS passwd) FROM spice.pgcatalog.pg_user"},
	{"pg_group", "SELECT NULL::VARCHAR AS groname, NULL::BIGINT AS grosysid, NULL::BIGINT[] AS grolist WHERE false"},
	{"pg_am", `
		SELECT oid::BIGINT AS oid, amname, handler AS amhandler, kind AS amtype, 2601::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM (VALUES (2, 'heap', 'heap_tableam_handler', 't'), (403, 'btree', 'bthandler', 'i')) AS a(oid, amname, handler, kind)`},
	{"pg_language", `
		SELECT oid::BIGINT AS oid, lanname, 10::BIGINT AS lanowner, lanname <> 'internal' AS lanispl, true AS lanpltrusted, 0::BIGINT AS lanplcallfoid,
			0::BIGINT AS laninline, 0::BIGINT AS lanvalidator, NULL::VARCHAR[] AS lanacl, 2612::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM (VALUES (12, 'internal'), (14, 'sql')) AS l(oid, lanname)`},
	{"pg_collation", `
		SELECT oid::BIGINT AS oid, collname, 11::BIGINT AS collnamespace, 10::BIGINT AS collowner, provider AS collprovider, true AS collisdeterministic,
			-1 AS collencoding, locale AS collcollate, locale AS collctype, NULL::VARCHAR AS colliculocale, NULL::VARCHAR AS collversion, 3456::BIGINT AS tableoid, 0::BIGINT AS xmin
		FROM (VALUES (100, 'default', 'd', ''), (950, 'C', 'c', 'C'), (951, 'POSIX', 'c', 'POSIX')) AS c(oid, collname, provider, locale)`},
	{"pg_tablespace", `
		SELECT 1663::BIGINT AS oid, 'pg_default' AS spcname, 10::BIGINT AS spcowner, NULL::VARCHAR[] AS spcacl, NULL::VARCHAR[] AS spcoptions, 1213::BIGINT AS tableoid, 0::BIGINT AS xmin`},
	{"pg_tables", `
		SELECT schema_name AS schemaname, name AS tablename, 'spice' AS tableowner, NULL::VARCHAR AS tablespace, false AS hasindexes, false AS hasrules,
			false AS hastriggers, false AS rowsecurity FROM spice.pgcatalog.declared_relations WHERE kind = 'r'`},
	{"pg_views", `
		SELECT schema_name AS schemaname, name AS viewname, 'spice' AS viewowner, NULL::VARCHAR AS definition
		FROM spice.pgcatalog.declared_relations WHERE kind = 'v'`},
	{"pg_timezone_names", "SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names()"},
}

// standardViews are the views of information_schema that have rows. Their
// names do not begin with pg_, so all views live in one schema.
var standardViews = []view{
	{"schemata", `
		SELECT 'spice' AS catalog_name, name AS schema_name, 'spice' AS schema_owner, NULL::VARCHAR AS default_character_set_catalog,
			NULL::VARCHAR AS default_character_set_schema, NULL::VARCHAR AS default_character_set_name, NULL::VARCHAR AS sql_path
		FROM spice.pgcatalog.declared_schemas`},
	{"tables", `
		SELECT 'spice' AS table_catalog, schema_name AS table_schema, name AS table_name, CASE kind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type,
			NULL::VARCHAR AS self_referencing_column_name, NULL::VARCHAR AS reference_generation, NULL::VARCHAR AS user_defined_type_catalog,
			NULL::VARCHAR AS user_defined_type_schema, NULL::VARCHAR AS user_defined_type_name, 'NO' AS is_insertable_into, 'NO' AS is_typed,
			NULL::VARCHAR AS commit_action FROM spice.pgcatalog.declared_relations`},
	{"views", `
		SELECT 'spice' AS table_catalog, schema_name AS table_schema, name AS table_name, NULL::VARCHAR AS view_definition, 'NONE' AS check_option,
			'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into
		FROM spice.pgcatalog.declared_relations WHERE kind = 'v'`},
	{"columns", `
		SELECT 'spice' AS table_catalog, c.schema_name AS table_schema, c.relation AS table_name, c.name AS column_name, c.position AS ordinal_position,
			NULL::VARCHAR AS column_default, CASE WHEN c.not_null THEN 'NO' ELSE 'YES' END AS is_nullable,
			CASE WHEN t.typelem > 0 THEN 'ARRAY' ELSE spice.pgcatalog.compat_format_type(c.type_oid, NULL) END AS data_type,
			NULL::INTEGER AS character_maximum_length, CASE WHEN c.type_oid = 25 THEN 1073741824 END AS character_octet_length,
			CASE c.type_oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
				WHEN 1700 THEN CASE WHEN c.modifier > 4 THEN (c.modifier - 4) >> 16 END END AS numeric_precision,
			CASE WHEN c.type_oid IN (21, 23, 20, 700, 701) THEN 2 WHEN c.type_oid = 1700 THEN 10 END AS numeric_precision_radix,
			CASE WHEN c.type_oid IN (21, 23, 20) THEN 0 WHEN c.type_oid = 1700 AND c.modifier > 4 THEN (c.modifier - 4) & 65535 END AS numeric_scale,
			CASE WHEN c.type_oid = 1082 THEN 0 WHEN t.typcategory IN ('D', 'T') THEN 6 END AS datetime_precision,
			NULL::VARCHAR AS interval_type, NULL::INTEGER AS interval_precision, NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
			NULL::VARCHAR AS character_set_name, NULL::VARCHAR AS collation_catalog, NULL::VARCHAR AS collation_schema, NULL::VARCHAR AS collation_name,
			NULL::VARCHAR AS domain_catalog, NULL::VARCHAR AS domain_schema, NULL::VARCHAR AS domain_name, 'spice' AS udt_catalog, 'pg_catalog' AS udt_schema,
			t.typname AS udt_name, NULL::VARCHAR AS scope_catalog, NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name,
			NULL::INTEGER AS maximum_cardinality, c.position::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity,
			NULL::VARCHAR AS identity_generation, NULL::VARCHAR AS identity_start, NULL::VARCHAR AS identity_increment, NULL::VARCHAR AS identity_maximum,
			NULL::VARCHAR AS identity_minimum, 'NO' AS identity_cycle, 'NEVER' AS is_generated, NULL::VARCHAR AS generation_expression, 'NO' AS is_updatable
		FROM spice.pgcatalog.declared_columns AS c JOIN spice.pgcatalog.pg_type AS t ON t.oid = c.type_oid`},
	{"routines", `
		SELECT 'spice' AS specific_catalog, 'public' AS specific_schema, f."name" || '_' || f.oid AS specific_name, 'spice' AS routine_catalog,
			'public' AS routine_schema, f."name" AS routine_name, 'FUNCTION' AS routine_type, spice.pgcatalog.compat_format_type(f.return_oid, NULL) AS data_type,
			'spice' AS type_udt_catalog, 'pg_catalog' AS type_udt_schema, t.typname AS type_udt_name, 'SQL' AS routine_body, NULL::VARCHAR AS routine_definition,
			NULL::VARCHAR AS external_name, 'SQL' AS external_language, 'GENERAL' AS parameter_style,
			CASE f.volatility WHEN 'immutable' THEN 'YES' ELSE 'NO' END AS is_deterministic, 'MODIFIES' AS sql_data_access, 'NO' AS is_null_call,
			'INVOKER' AS security_type
		FROM spice.pgcatalog.declared_functions AS f LEFT JOIN spice.pgcatalog.pg_type AS t ON t.oid = f.return_oid`},
	{"parameters", `
		SELECT 'spice' AS specific_catalog, 'public' AS specific_schema, f."name" || '_' || f.oid AS specific_name, a."position"::INTEGER AS ordinal_position,
			'IN' AS parameter_mode, 'NO' AS is_result, 'NO' AS as_locator, a."name" AS parameter_name,
			CASE WHEN t.typelem > 0 THEN 'ARRAY' ELSE spice.pgcatalog.compat_format_type(a.type_oid, NULL) END AS data_type,
			'spice' AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, a."default" AS parameter_default
		FROM spice.pgcatalog.declared_arguments AS a JOIN spice.pgcatalog.declared_functions AS f ON f."name" = a."function"
		LEFT JOIN spice.pgcatalog.pg_type AS t ON t.oid = a.type_oid`},
	{"table_privileges", `
		SELECT 'spice' AS grantor, 'spice' AS grantee, 'spice' AS table_catalog, schema_name AS table_schema, name AS table_name,
			'SELECT' AS privilege_type, 'NO' AS is_grantable, 'YES' AS with_hierarchy FROM spice.pgcatalog.declared_relations`},
	{"routine_privileges", `
		SELECT 'spice' AS grantor, 'spice' AS grantee, specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema, routine_name,
			'EXECUTE' AS privilege_type, 'NO' AS is_grantable FROM spice.pgcatalog.routines`},
	{"role_table_grants", "FROM spice.pgcatalog.table_privileges"},
	{"column_privileges", `
		SELECT 'spice' AS grantor, 'spice' AS grantee, 'spice' AS table_catalog, schema_name AS table_schema, relation AS table_name,
			name AS column_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable FROM spice.pgcatalog.declared_columns`},
	{"enabled_roles", "SELECT 'spice' AS role_name"},
	{"applicable_roles", "SELECT 'spice' AS grantee, 'spice' AS role_name, 'NO' AS is_grantable"},
	{"information_schema_catalog_name", "SELECT 'spice' AS catalog_name"},
	{"character_sets", `
		SELECT NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema, 'UTF8' AS character_set_name, 'UCS' AS character_repertoire,
			'UTF8' AS form_of_use, 'spice' AS default_collate_catalog, 'pg_catalog' AS default_collate_schema, 'C' AS default_collate_name`},
	{"collations", `
		SELECT 'spice' AS collation_catalog, 'pg_catalog' AS collation_schema, collname AS collation_name, 'NO PAD' AS pad_attribute
		FROM spice.pgcatalog.pg_collation`},
}
