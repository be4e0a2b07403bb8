SELECT
    current_database() AS "CONSTRAINT_CATALOG",
    pgn.nspname AS "CONSTRAINT_SCHEMA",
    pgc.conname AS "CONSTRAINT_NAME",
    current_database() AS "TABLE_CATALOG",
    pgtn.nspname AS "TABLE_SCHEMA",
    pgt.relname AS "TABLE_NAME",
    "CONSTRAINT_TYPE",
    pgc.condeferrable AS "IS_DEFERRABLE",
    pgc.condeferred AS "INITIALLY_DEFERRED"
FROM
    pg_catalog.pg_constraint pgc
    JOIN pg_catalog.pg_namespace pgn ON pgc.connamespace = pgn.oid
    JOIN pg_catalog.pg_class pgt ON pgc.conrelid = pgt.oid
    JOIN pg_catalog.pg_namespace pgtn ON pgt.relnamespace = pgtn.oid
    JOIN (
    SELECT 'PRIMARY KEY' AS "CONSTRAINT_TYPE", 'p' AS "contype"
    UNION ALL
    SELECT 'FOREIGN KEY' AS "CONSTRAINT_TYPE", 'f' AS "contype"
    UNION ALL
    SELECT 'UNIQUE KEY' AS "CONSTRAINT_TYPE", 'u' AS "contype"
) mapping_table ON mapping_table.contype = pgc.contype
WHERE "CONSTRAINT_TYPE" IN ('PRIMARY KEY', 'FOREIGN KEY', 'UNIQUE KEY')
