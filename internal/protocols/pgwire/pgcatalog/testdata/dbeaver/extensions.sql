SELECT x.oid, kept.tbls, s.nspname AS schema_name, x.*
FROM pg_catalog.pg_extension x
JOIN pg_namespace s ON s.oid = x.extnamespace
LEFT JOIN (
    SELECT array_agg(rs.nspname || '.' || r.relname) AS tbls, whose
    FROM (SELECT unnest(each.extconfig) AS oid, each.oid AS whose FROM pg_catalog.pg_extension each) one
    JOIN pg_class r ON r.oid = one.oid
    JOIN pg_namespace rs ON rs.oid = r.relnamespace
    GROUP BY whose
) kept ON kept.whose = x.oid
ORDER BY x.oid
