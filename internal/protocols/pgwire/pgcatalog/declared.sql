-- What the catalog shows, for the other views. Statements cannot read these.
--
-- An OID is 16384 plus 16 times a slot that a hash chooses, plus the position among the
-- objects of that slot: it is unique as long as no seventeen share one of the 2^27 slots.

CREATE VIEW declared_relations AS
WITH shown AS (
    SELECT "schema" AS schema_name, "name", CASE kind WHEN 'view' THEN 'v' ELSE 'r' END AS kind, description, "rows"
    FROM spice.spiced.datasets WHERE state <> 'error'
    UNION ALL
    SELECT DISTINCT 'spiced', relation, 'r', NULL, NULL FROM spice.pgcatalog.own_columns
)
SELECT *, md5_number_lower('relation ' || schema_name || '.' || "name") % 134000000 AS slot,
    CAST(16384 + 16 * slot + row_number() OVER (PARTITION BY slot ORDER BY schema_name, "name") - 1 AS BIGINT) AS oid
FROM shown;

CREATE VIEW declared_schemas AS
WITH names AS (SELECT 'public' AS name UNION SELECT 'spiced' UNION SELECT "schema" FROM spice.spiced.datasets)
SELECT name, CASE name
        WHEN 'public' THEN 'what the Spicepod declares'
        WHEN 'spiced' THEN 'what the runtime says of itself'
    END AS description,
    CASE name WHEN 'public' THEN 2200 ELSE CAST(16384 + 16 * slot + row_number() OVER (PARTITION BY slot ORDER BY name) - 1 AS BIGINT) END AS oid
FROM (SELECT name, md5_number_lower('schema ' || name) % 134000000 AS slot FROM names)
UNION ALL VALUES ('pg_catalog', 'system catalog schema', 11), ('information_schema', NULL, 13000);

CREATE VIEW declared_columns AS
WITH shown AS (
    SELECT "schema" AS schema_name, dataset AS relation, "name", "position", type, description FROM spice.spiced.dataset_columns
    UNION ALL
    SELECT 'spiced', relation, "name", "position", type, NULL FROM spice.pgcatalog.own_columns
)
SELECT c.*, r.oid AS relation_oid, spice.pgcatalog.compat_type_oid(c.type) AS type_oid,
    spice.pgcatalog.compat_type_modifier(c.type) AS modifier,
    (c.schema_name, c.relation, c."name") IN (SELECT ("schema", dataset, unnest("columns")) FROM spice.spiced.dataset_constraints WHERE kind = 'NOT NULL') AS not_null
FROM shown AS c JOIN spice.pgcatalog.declared_relations AS r ON r.schema_name = c.schema_name AND r."name" = c.relation;

CREATE VIEW declared_constraints AS
WITH members AS (
    SELECT c.*, unnest(c."columns") AS member, generate_subscripts(c."columns", 1) AS ordinal FROM spice.spiced.dataset_constraints AS c
), shown AS (
    SELECT m."schema" AS schema_name, m.dataset AS relation, m."name", m.kind, r.oid AS relation_oid, list(c."position"::SMALLINT ORDER BY m.ordinal) AS keys,
        list(m.member ORDER BY m.ordinal) AS members
    FROM members AS m JOIN spice.spiced.dataset_columns AS c ON c."schema" = m."schema" AND c.dataset = m.dataset AND c."name" = m.member
    JOIN spice.pgcatalog.declared_relations AS r ON r.schema_name = m."schema" AND r."name" = m.dataset
    GROUP BY ALL
)
SELECT *, md5_number_lower('constraint ' || schema_name || '.' || relation || '.' || "name") % 134000000 AS slot,
    CAST(16384 + 16 * slot + 16 - row_number() OVER (PARTITION BY slot ORDER BY schema_name, relation, "name") AS BIGINT) AS oid
FROM shown;

CREATE VIEW declared_keys AS
SELECT *, kind = 'PRIMARY KEY' AS is_primary, kind || ' (' || array_to_string(list_transform(members, lambda m: CASE WHEN regexp_full_match(m, '[a-z_][a-z0-9_$]*') THEN m ELSE '"' || replace(m, '"', '""') || '"' END), ', ') || ')' AS definition
FROM spice.pgcatalog.declared_constraints WHERE kind <> 'NOT NULL';

CREATE VIEW declared_arguments AS
SELECT "function", "position", "name", spice.pgcatalog.compat_type_oid(duckdb_type) AS type_oid,
    CASE duckdb_type WHEN 'table' THEN 'table'
        ELSE spice.pgcatalog.compat_format_type(type_oid, spice.pgcatalog.compat_type_modifier(duckdb_type)) END AS shown, "default", "required"
FROM spice.spiced.function_args;

CREATE VIEW declared_functions AS
WITH slots AS (
    SELECT *, md5_number_lower('function ' || "name") % 134000000 AS slot, kind = 'table' AS is_table FROM spice.spiced.functions
)
SELECT "name", description, is_table, volatility, return_duckdb_type, signature, arg_names, body,
    list_transform(arg_duckdb_types, lambda t: spice.pgcatalog.compat_type_oid(t)) AS arg_types,
    CASE WHEN is_table THEN 2249 ELSE spice.pgcatalog.compat_type_oid(return_duckdb_type) END AS return_oid,
    CAST(16384 + 16 * slot + row_number() OVER (PARTITION BY slot ORDER BY "name") - 1 AS BIGINT) AS oid
FROM slots;

CREATE VIEW declared_signatures AS
WITH arguments AS (
    SELECT "function", string_agg("name" || ' ' || shown, ', ' ORDER BY "position") AS identity,
        string_agg("name" || ' ' || shown || CASE WHEN "required" THEN '' ELSE coalesce(' DEFAULT ' || "default", '') END, ', '
            ORDER BY "position") AS arguments
    FROM spice.pgcatalog.declared_arguments GROUP BY "function"
)
SELECT f.oid, coalesce(a.identity, '') AS identity_arguments, coalesce(a.arguments, '') AS arguments,
    CASE WHEN f.is_table THEN 'TABLE' || regexp_extract(f.signature, '→ table(.*)$', 1)
        ELSE spice.pgcatalog.compat_format_type(f.return_oid, spice.pgcatalog.compat_type_modifier(f.return_duckdb_type)) END AS result,
    concat_ws(chr(10), 'CREATE OR REPLACE FUNCTION public.' || CASE WHEN regexp_full_match(f."name", '[a-z_][a-z0-9_$]*')
            AND NOT list_contains((SELECT words FROM spice.pgcatalog.reserved_words), f."name") THEN f."name"
            ELSE '"' || replace(f."name", '"', '""') || '"' END || '(' || arguments || ')',
        ' RETURNS ' || result, ' LANGUAGE sql', ' ' || upper(f.volatility), 'AS $function$', f.body, '$function$', '') AS definition
FROM spice.pgcatalog.declared_functions AS f LEFT JOIN arguments AS a ON a."function" = f."name";
