-- The catalogs of pg_catalog that have rows, in addition to pg_type and pg_settings. tableoid
-- and xmin, hidden columns in PostgreSQL, come last.

CREATE VIEW pg_namespace AS
SELECT oid, name AS nspname, 10::BIGINT AS nspowner, NULL::VARCHAR[] AS nspacl, 2615::BIGINT AS tableoid, 0::BIGINT AS xmin
FROM spice.pgcatalog.declared_schemas;

CREATE VIEW pg_class AS
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
FROM spice.pgcatalog.declared_keys AS k JOIN spice.pgcatalog.declared_schemas AS n ON n.name = k.schema_name;

CREATE VIEW pg_attribute AS
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
) AS c JOIN spice.pgcatalog.pg_type AS t ON t.oid = c.type_oid;

CREATE VIEW pg_proc AS
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
FROM spice.pgcatalog.type_functions;

CREATE VIEW pg_statio_all_tables AS
SELECT oid AS relid, schema_name AS schemaname, name AS relname, NULL::BIGINT AS heap_blks_read, NULL::BIGINT AS heap_blks_hit,
    NULL::BIGINT AS idx_blks_read, NULL::BIGINT AS idx_blks_hit FROM spice.pgcatalog.declared_relations;

CREATE VIEW pg_statio_user_tables AS
FROM spice.pgcatalog.pg_statio_all_tables;

CREATE VIEW pg_description AS
SELECT oid AS objoid, 1259::BIGINT AS classoid, 0 AS objsubid, description
FROM spice.pgcatalog.declared_relations WHERE description IS NOT NULL
UNION ALL SELECT relation_oid, 1259, position, description FROM spice.pgcatalog.declared_columns WHERE description IS NOT NULL
UNION ALL SELECT oid, 1255, 0, description FROM spice.pgcatalog.declared_functions WHERE description IS NOT NULL
UNION ALL SELECT oid, 2615, 0, description FROM spice.pgcatalog.declared_schemas WHERE description IS NOT NULL;

CREATE VIEW pg_database AS
SELECT 16384::BIGINT AS oid, 'spice' AS datname, 10::BIGINT AS datdba, 6 AS encoding, 'c' AS datlocprovider, false AS datistemplate,
    true AS datallowconn, -1 AS datconnlimit, 0::BIGINT AS datfrozenxid, 0::BIGINT AS datminmxid, 1663::BIGINT AS dattablespace,
    'C' AS datcollate, 'C.UTF-8' AS datctype, NULL::VARCHAR AS daticulocale, NULL::VARCHAR AS datcollversion, NULL::VARCHAR[] AS datacl,
    0::BIGINT AS datlastsysoid, 1262::BIGINT AS tableoid, 0::BIGINT AS xmin;

CREATE VIEW pg_roles AS
SELECT 'spice' AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole, false AS rolcreatedb, true AS rolcanlogin,
    false AS rolreplication, -1 AS rolconnlimit, '********' AS rolpassword, NULL::TIMESTAMPTZ AS rolvaliduntil, false AS rolbypassrls,
    NULL::VARCHAR[] AS rolconfig, 10::BIGINT AS oid, 1260::BIGINT AS tableoid, 0::BIGINT AS xmin;

CREATE VIEW pg_authid AS
SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit, NULL::VARCHAR AS rolpassword, rolvaliduntil, tableoid, xmin FROM spice.pgcatalog.pg_roles;

CREATE VIEW pg_user AS
SELECT 'spice' AS usename, 10::BIGINT AS usesysid, false AS usecreatedb, false AS usesuper, false AS userepl, false AS usebypassrls,
    '********' AS passwd, NULL::TIMESTAMPTZ AS valuntil, NULL::VARCHAR[] AS useconfig;

CREATE VIEW pg_shadow AS
SELECT * REPLACE (NULL::VARCHAR AS passwd) FROM spice.pgcatalog.pg_user;

CREATE VIEW pg_group AS
SELECT NULL::VARCHAR AS groname, NULL::BIGINT AS grosysid, NULL::BIGINT[] AS grolist WHERE false;

CREATE VIEW pg_am AS
SELECT oid::BIGINT AS oid, amname, handler AS amhandler, kind AS amtype, 2601::BIGINT AS tableoid, 0::BIGINT AS xmin
FROM (VALUES (2, 'heap', 'heap_tableam_handler', 't'), (403, 'btree', 'bthandler', 'i')) AS a(oid, amname, handler, kind);

CREATE VIEW pg_language AS
SELECT oid::BIGINT AS oid, lanname, 10::BIGINT AS lanowner, lanname <> 'internal' AS lanispl, true AS lanpltrusted, 0::BIGINT AS lanplcallfoid,
    0::BIGINT AS laninline, 0::BIGINT AS lanvalidator, NULL::VARCHAR[] AS lanacl, 2612::BIGINT AS tableoid, 0::BIGINT AS xmin
FROM (VALUES (12, 'internal'), (14, 'sql')) AS l(oid, lanname);

CREATE VIEW pg_collation AS
SELECT oid::BIGINT AS oid, collname, 11::BIGINT AS collnamespace, 10::BIGINT AS collowner, provider AS collprovider, true AS collisdeterministic,
    -1 AS collencoding, locale AS collcollate, locale AS collctype, NULL::VARCHAR AS colliculocale, NULL::VARCHAR AS collversion, 3456::BIGINT AS tableoid, 0::BIGINT AS xmin
FROM (VALUES (100, 'default', 'd', ''), (950, 'C', 'c', 'C'), (951, 'POSIX', 'c', 'POSIX')) AS c(oid, collname, provider, locale);

CREATE VIEW pg_tablespace AS
SELECT 1663::BIGINT AS oid, 'pg_default' AS spcname, 10::BIGINT AS spcowner, NULL::VARCHAR[] AS spcacl, NULL::VARCHAR[] AS spcoptions, 1213::BIGINT AS tableoid, 0::BIGINT AS xmin;

CREATE VIEW pg_tables AS
SELECT schema_name AS schemaname, name AS tablename, 'spice' AS tableowner, NULL::VARCHAR AS tablespace, false AS hasindexes, false AS hasrules,
    false AS hastriggers, false AS rowsecurity FROM spice.pgcatalog.declared_relations WHERE kind = 'r';

CREATE VIEW pg_views AS
SELECT schema_name AS schemaname, name AS viewname, 'spice' AS viewowner, NULL::VARCHAR AS definition
FROM spice.pgcatalog.declared_relations WHERE kind = 'v';

CREATE VIEW pg_timezone_names AS
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names();

-- The catalogs of primary keys and unique constraints, each of which has an index with its OID.

CREATE VIEW pg_constraint AS
SELECT k.oid, k.name AS conname, n.oid AS connamespace, CASE WHEN k.is_primary THEN 'p' ELSE 'u' END AS contype, false AS condeferrable, false AS
    condeferred, true AS convalidated, k.relation_oid AS conrelid, 0::BIGINT AS contypid, k.oid AS conindid, 0::BIGINT AS conparentid, 0::BIGINT
    AS confrelid, ' ' AS confupdtype, ' ' AS confdeltype, ' ' AS confmatchtype, true AS conislocal, 0 AS coninhcount, true AS connoinherit, k.keys
    AS conkey, NULL::SMALLINT[] AS confkey, NULL::BIGINT[] AS conpfeqop, NULL::BIGINT[] AS conppeqop, NULL::BIGINT[] AS conffeqop,
    NULL::SMALLINT[] AS confdelsetcols, NULL::BIGINT[] AS conexclop, NULL::VARCHAR AS conbin, NULL::VARCHAR AS consrc, 2606::BIGINT AS tableoid,
    0::BIGINT AS xmin
FROM spice.pgcatalog.declared_keys AS k JOIN spice.pgcatalog.declared_schemas AS n ON n.name = k.schema_name;

CREATE VIEW pg_index AS
SELECT k.oid AS indexrelid, k.relation_oid AS indrelid, len(k.keys)::SMALLINT AS indnatts, len(k.keys)::SMALLINT AS indnkeyatts, true AS indisunique,
    false AS indnullsnotdistinct, k.is_primary AS indisprimary, false AS indisexclusion, true AS indimmediate, false AS indisclustered, true AS
    indisvalid, false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident, k.keys AS indkey, list_transform(k.keys,
    lambda p: 0::BIGINT) AS indcollation, list_transform(k.keys, lambda p: 0::BIGINT) AS indclass, list_transform(k.keys, lambda p: 0::SMALLINT)
    AS indoption, NULL::VARCHAR AS indexprs, NULL::VARCHAR AS indpred, 0::BIGINT AS xmin
FROM spice.pgcatalog.declared_keys AS k;

CREATE VIEW pg_indexes AS
SELECT k.schema_name AS schemaname, k.relation AS tablename, k.name AS indexname, NULL::VARCHAR AS tablespace,
    spice.pgcatalog.compat_pg_get_indexdef(k.oid) AS indexdef
FROM spice.pgcatalog.declared_keys AS k;

CREATE VIEW table_constraints AS
SELECT 'spice' AS constraint_catalog, k.schema_name AS constraint_schema, k.name AS constraint_name, 'spice' AS table_catalog, k.schema_name AS
    table_schema, k.relation AS table_name, k.kind AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced, 'YES'
    AS nulls_distinct
FROM spice.pgcatalog.declared_keys AS k;

CREATE VIEW key_column_usage AS
SELECT 'spice' AS constraint_catalog, k.schema_name AS constraint_schema, k.name AS constraint_name, 'spice' AS table_catalog, k.schema_name AS
    table_schema, k.relation AS table_name, k.member AS column_name, k.ordinal::INTEGER AS ordinal_position, NULL::INTEGER AS
    position_in_unique_constraint
FROM (SELECT *, unnest(members) AS member, generate_subscripts(members, 1) AS ordinal FROM spice.pgcatalog.declared_keys) AS k;

CREATE VIEW constraint_column_usage AS
SELECT 'spice' AS table_catalog, k.schema_name AS table_schema, k.relation AS table_name, k.member AS column_name, 'spice' AS constraint_catalog,
    k.schema_name AS constraint_schema, k.name AS constraint_name
FROM (SELECT *, unnest(members) AS member, generate_subscripts(members, 1) AS ordinal FROM spice.pgcatalog.declared_keys) AS k;
