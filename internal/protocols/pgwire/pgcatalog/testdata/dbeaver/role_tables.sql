SELECT * FROM information_schema.table_privileges WHERE table_catalog = 'spice' AND grantee = 'spice'
UNION ALL
SELECT pg_catalog.pg_get_userbyid(e.grantor) AS grantor, pg_catalog.pg_get_userbyid(e.grantee) AS grantee,
    current_database() AS table_catalog, s.nspname AS table_schema, r.relname AS table_name, e.privilege_type,
    CASE WHEN e.is_grantable THEN 'YES' ELSE 'NO' END AS is_grantable, 'NO' AS with_hierarchy
FROM pg_catalog.pg_class r
JOIN pg_catalog.pg_namespace s ON s.oid = r.relnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(r.relacl) AS e
WHERE r.relacl IS NOT NULL AND r.relkind IN ('r', 'v', 'f', 'p') AND e.privilege_type IN ('MAINTAIN') AND e.grantee = 10;
