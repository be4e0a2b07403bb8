SELECT v.viewname AS view_name, v.definition AS view_sql, v.schemaname AS namespace, obj_description(c.oid, 'pg_class') AS description
FROM pg_catalog.pg_views v INNER JOIN pg_catalog.pg_namespace s ON v.schemaname = s.nspname
INNER JOIN pg_catalog.pg_class c ON c.relnamespace = s.oid AND c.relname = v.viewname
WHERE schemaname = ANY ('{public,sales}')
