SELECT * FROM (
    SELECT DISTINCT relnamespace, relacl, relname, relkind, (aclexplode(relacl)).grantee AS holder
    FROM pg_class
    WHERE relacl IS NOT NULL AND relnamespace IN (
        SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname != 'information_schema')
    UNION ALL
    SELECT DISTINCT s.oid AS relnamespace, nspacl AS relacl, s.nspname AS relname, cast('C' AS "char") AS relkind,
        (aclexplode(nspacl)).grantee AS holder
    FROM pg_catalog.pg_namespace s
    WHERE s.nspacl IS NOT NULL
) AS e
WHERE pg_get_userbyid(e.holder) = 'spice' AND e.relkind IN ('S', 'm', 'C')
