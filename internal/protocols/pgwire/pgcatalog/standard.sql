-- The views of information_schema that have rows. Their names do not begin with pg_, so
-- all views are in one schema.

CREATE VIEW schemata AS
SELECT 'spice' AS catalog_name, name AS schema_name, 'spice' AS schema_owner, NULL::VARCHAR AS default_character_set_catalog,
    NULL::VARCHAR AS default_character_set_schema, NULL::VARCHAR AS default_character_set_name, NULL::VARCHAR AS sql_path
FROM spice.pgcatalog.declared_schemas;

CREATE VIEW tables AS
SELECT 'spice' AS table_catalog, schema_name AS table_schema, name AS table_name, CASE kind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type,
    NULL::VARCHAR AS self_referencing_column_name, NULL::VARCHAR AS reference_generation, NULL::VARCHAR AS user_defined_type_catalog,
    NULL::VARCHAR AS user_defined_type_schema, NULL::VARCHAR AS user_defined_type_name, 'NO' AS is_insertable_into, 'NO' AS is_typed,
    NULL::VARCHAR AS commit_action FROM spice.pgcatalog.declared_relations;

CREATE VIEW views AS
SELECT 'spice' AS table_catalog, schema_name AS table_schema, name AS table_name, NULL::VARCHAR AS view_definition, 'NONE' AS check_option,
    'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into
FROM spice.pgcatalog.declared_relations WHERE kind = 'v';

CREATE VIEW columns AS
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
FROM spice.pgcatalog.declared_columns AS c JOIN spice.pgcatalog.pg_type AS t ON t.oid = c.type_oid;

CREATE VIEW routines AS
SELECT 'spice' AS specific_catalog, 'public' AS specific_schema, f."name" || '_' || f.oid AS specific_name, 'spice' AS routine_catalog,
    'public' AS routine_schema, f."name" AS routine_name, 'FUNCTION' AS routine_type, spice.pgcatalog.compat_format_type(f.return_oid, NULL) AS data_type,
    'spice' AS type_udt_catalog, 'pg_catalog' AS type_udt_schema, t.typname AS type_udt_name, 'SQL' AS routine_body, NULL::VARCHAR AS routine_definition,
    NULL::VARCHAR AS external_name, 'SQL' AS external_language, 'GENERAL' AS parameter_style,
    CASE f.volatility WHEN 'immutable' THEN 'YES' ELSE 'NO' END AS is_deterministic, 'MODIFIES' AS sql_data_access, 'NO' AS is_null_call,
    'INVOKER' AS security_type
FROM spice.pgcatalog.declared_functions AS f LEFT JOIN spice.pgcatalog.pg_type AS t ON t.oid = f.return_oid;

CREATE VIEW parameters AS
SELECT 'spice' AS specific_catalog, 'public' AS specific_schema, f."name" || '_' || f.oid AS specific_name, a."position"::INTEGER AS ordinal_position,
    'IN' AS parameter_mode, 'NO' AS is_result, 'NO' AS as_locator, a."name" AS parameter_name,
    CASE WHEN t.typelem > 0 THEN 'ARRAY' ELSE spice.pgcatalog.compat_format_type(a.type_oid, NULL) END AS data_type,
    'spice' AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, a."default" AS parameter_default
FROM spice.pgcatalog.declared_arguments AS a JOIN spice.pgcatalog.declared_functions AS f ON f."name" = a."function"
LEFT JOIN spice.pgcatalog.pg_type AS t ON t.oid = a.type_oid;

CREATE VIEW table_privileges AS
SELECT 'spice' AS grantor, 'spice' AS grantee, 'spice' AS table_catalog, schema_name AS table_schema, name AS table_name,
    'SELECT' AS privilege_type, 'NO' AS is_grantable, 'YES' AS with_hierarchy FROM spice.pgcatalog.declared_relations;

CREATE VIEW routine_privileges AS
SELECT 'spice' AS grantor, 'spice' AS grantee, specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema, routine_name,
    'EXECUTE' AS privilege_type, 'NO' AS is_grantable FROM spice.pgcatalog.routines;

CREATE VIEW role_table_grants AS
FROM spice.pgcatalog.table_privileges;

CREATE VIEW column_privileges AS
SELECT 'spice' AS grantor, 'spice' AS grantee, 'spice' AS table_catalog, schema_name AS table_schema, relation AS table_name,
    name AS column_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable FROM spice.pgcatalog.declared_columns;

CREATE VIEW enabled_roles AS
SELECT 'spice' AS role_name;

CREATE VIEW applicable_roles AS
SELECT 'spice' AS grantee, 'spice' AS role_name, 'NO' AS is_grantable;

CREATE VIEW information_schema_catalog_name AS
SELECT 'spice' AS catalog_name;

CREATE VIEW character_sets AS
SELECT NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema, 'UTF8' AS character_set_name, 'UCS' AS character_repertoire,
    'UTF8' AS form_of_use, 'spice' AS default_collate_catalog, 'pg_catalog' AS default_collate_schema, 'C' AS default_collate_name;

CREATE VIEW collations AS
SELECT 'spice' AS collation_catalog, 'pg_catalog' AS collation_schema, collname AS collation_name, 'NO PAD' AS pad_attribute
FROM spice.pgcatalog.pg_collation;
